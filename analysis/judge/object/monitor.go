package object

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// countMonitors counts the objects that the threads of a JVM lock and wait for. The JVM
// moves objects, so an address means nothing in another dump: the objects of a class are
// counted, and none is followed. Classes that never have two objects are left out.
func countMonitors(snapshots []*analysis.Snapshot) (out []Kind) {
	kinds := map[string]*Kind{}
	var order []string
	usual := map[string]*analysis.ObjectKind{} // the shape that most objects of a dump have
	for i, s := range snapshots {
		if s.Joined == nil || !s.Joined.Threads {
			continue
		}
		for at := range s.Joined.Kinds {
			dumped := &s.Joined.Kinds[at]
			k := kinds[dumped.Type]
			if k == nil {
				k = &Kind{Name: dumped.Name, Type: dumped.Type, Threads: true, Counts: make(analysis.Counts, len(snapshots)), Born: make(analysis.Counts, len(snapshots)), Ended: make(analysis.Counts, len(snapshots)), roots: make([][]int64, len(snapshots))}
				hash := sha256.Sum256([]byte("monitor\n" + dumped.Type))
				k.family = &analysis.Family{Fingerprint: "o1:" + hex.EncodeToString(hash[:16]), Kind: analysis.KindGoroutine, Title: k.Name}
				kinds[dumped.Type] = k
				order = append(order, dumped.Type)
			}
			k.Counts.Add(i, dumped.Count)
			if usual[dumped.Type] == nil || dumped.Count >= usual[dumped.Type].Count {
				usual[dumped.Type] = dumped
			}
		}
	}
	for _, typ := range order {
		k, shape := kinds[typ], usual[typ]
		if k.Counts.Highest() < 2 {
			continue
		}
		k.Each, k.Parts, k.Level = shape.Each, shape.Parts, shape.Level
		k.PartsLost, k.PartsReplaced = make([]int, len(snapshots)), make([]int, len(snapshots))
		for i, s := range snapshots {
			if s.Joined != nil && s.Joined.Threads {
				k.Counts.Add(i, 0)
			}
		}
		k.best = k.mostAt()
		k.findThreads(snapshots[k.best])
		out = append(out, *k)
	}
	return out
}

// mostAt is the last snapshot with most objects.
func (k *Kind) mostAt() (at int) {
	for i, n := range k.Counts {
		if n.Known() && (!k.Counts[at].Known() || n.N >= k.Counts[at].N) {
			at = i
		}
	}
	return at
}

// findThreads finds the families of which nearly all threads are parts of these objects.
func (k *Kind) findThreads(s *analysis.Snapshot) {
	inside := map[string]int{}
	for i := range s.Joined.Kinds {
		if dumped := &s.Joined.Kinds[i]; dumped.Type == k.Type {
			for _, r := range dumped.Each {
				inside[strings.TrimSuffix(r.Role, analysis.WaitsOnIt)] += r.N * dumped.Count
			}
		}
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		if n := inside[g.Family.Fingerprint]; n > 0 && 100*n >= leastOfFamily*g.Count {
			k.Families = append(k.Families, g.Family.Fingerprint)
		}
	}
	if root := strings.TrimSuffix(k.Each[0].Role, analysis.WaitsOnIt); slices.Contains(k.Families, root) {
		k.RootFamily = root
	}
}
