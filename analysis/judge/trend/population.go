package trend

import (
	"cmp"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// The thresholds of a population (statistics.md R14): between its families at least leastMoved
// members move, or one of goroutines that began with the same function, which they keep. Creators
// with more than mostFollowed members are left alone.
const (
	leastMoved   = 2
	mostFollowed = 1 << 20
)

var populationKinds = []analysis.Kind{analysis.KindGoroutine, analysis.KindThread, analysis.KindDescriptor, analysis.KindWatch}

// populationOf is what the states of one population share: the creator of goroutines, the pool of
// threads without their state, the ends of sockets, the mount of watches. It is "" where nothing is shared.
func populationOf(f *analysis.Family) string {
	switch a := f.Attributes; f.Kind {
	case analysis.KindGoroutine:
		return f.LooseCreator
	case analysis.KindThread:
		return withoutState(a["pool"])
	case analysis.KindDescriptor:
		if a["state"] == "" || a["role"] == "listen" {
			return ""
		}
		return strings.Join(slices.DeleteFunc([]string{a["local"], a["remote"], a["path"]}, func(s string) bool { return s == "" }), " for ")
	case analysis.KindWatch:
		return a["mount"]
	}
	return ""
}

// withoutState is the pool of threads whose names tell what they do: what follows the counter of a
// thread, and what WebLogic puts before the name.
//
//	"poller-N [waiting for broker N]"         = "poller"
//	"pool-N-thread-N (idle)"                  = "pool-N"
//	"[STANDBY] ExecuteThread: 'N' for queue…" = "ExecuteThread: 'N' for queue…"
func withoutState(pool string) string {
	if name, ok := strings.CutPrefix(pool, "["); ok {
		if _, name, ok = strings.Cut(name, "] "); ok {
			pool = name
		}
	}
	for at := 0; ; at++ {
		next := strings.Index(pool[at:], "N ")
		if next < 0 {
			return pool
		}
		at += next
		own := strings.TrimRight(pool[:at], "-# ")
		if own != "" && (pool[at-1] < 'A' || pool[at-1] > 'Z') {
			return strings.TrimSuffix(own, "-thread")
		}
	}
}

// findPopulations finds the families of one name between which members move: a goroutine that is
// found in a select, in a sleep and in a send is one thing, and its families are its states. So is
// a connection that is closed by its peer, and a thread that works and rests.
func (s *Series) findPopulations() (out []sharing) {
	for _, m := range s.sharing(ByPopulation, nil) {
		if len(m.parts) < 2 {
			continue
		}
		group := make([]int, len(m.parts)) // of each family: the first of those that it shares members with
		for k := range group {
			group[k] = k
		}
		for pair, moved := range s.moved(m.parts) {
			if a, b := group[pair[0]], group[pair[1]]; moved >= leastMoved || sameEntry(m.parts[pair[0]], m.parts[pair[1]]) {
				for k := range group {
					if group[k] == max(a, b) {
						group[k] = min(a, b)
					}
				}
			}
		}
		for k := range group {
			one := sharing{name: m.name, kind: m.kind}
			for n, p := range m.parts {
				if group[n] == k {
					one.parts = append(one.parts, p)
				}
			}
			if len(one.parts) > 1 {
				out = append(out, one)
			}
		}
	}
	return out
}

// sameEntry reports goroutines that began with the same function.
func sameEntry(a, b *part) bool {
	x, y := a.family.Loose, b.family.Loose
	return a.family.Kind == analysis.KindGoroutine && len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1]
}

// moved counts the members that two families have in different snapshots of one epoch, by the
// indexes of the families.
func (s *Series) moved(parts []*part) map[[2]int]int {
	all := 0
	for _, p := range parts {
		if p.tracking != nil {
			all += len(p.tracking.first)
		}
	}
	out := map[[2]int]int{}
	if all > mostFollowed {
		return out
	}
	type member struct {
		epoch int
		analysis.Identity
	}
	in := make(map[member][]int, all)
	for k, p := range parts {
		if p.tracking == nil {
			continue
		}
		for number, first := range p.tracking.first {
			member := member{s.Epochs[first], p.tracking.identity(number)}
			if p.family.Kind == analysis.KindDescriptor && member.Sub == 0 && member.Hash == 0 {
				continue // a number alone, which another socket may have next
			}
			for _, other := range in[member] {
				out[[2]int{other, k}]++
			}
			in[member] = append(in[member], k)
		}
	}
	return out
}

// findMoving are the families of populations.
func (s *Series) findMoving() map[string]bool {
	out := map[string]bool{}
	for _, m := range s.populations() {
		for _, p := range m.parts {
			out[p.family.Fingerprint] = true
		}
	}
	return out
}

// judgePopulations judges the families of each population as one. Those are left out of which a
// family says as much by itself, unless it shows as ended who only moved.
func (s *Series) judgePopulations() (out []Key) {
	for _, kind := range populationKinds {
		var found []Key
		var united []sharing
		for k, m := range s.populations() {
			if m.kind != kind {
				continue
			}
			key := Key{By: ByPopulation, Kind: kind, Name: m.name, Of: len(m.parts), Moving: true}
			if kind == analysis.KindGoroutine {
				key.By = ByCreator
			}
			slices.SortStableFunc(m.parts, func(a, b *part) int { return cmp.Compare(b.gain(), a.gain()) })
			for _, p := range m.parts {
				key.Families = append(key.Families, p.family.Fingerprint)
			}
			found = append(found, key)
			united = append(united, sharing{name: m.name + strings.Repeat(" ", k), kind: kind, parts: m.parts})
		}
		out = append(out, s.judgeUnited(kind, found, united)...)
	}
	return slices.DeleteFunc(out, func(k Key) bool {
		return slices.ContainsFunc(k.Families, func(print string) bool {
			j := s.judgements().byFingerprint[print]
			return j.verdict().Rank() <= k.Judgement.Verdict.Rank() && leftOf(j.part.life(j.signals)) <= leftOf(k.Judgement.Life)
		})
	})
}

func leftOf(l *analysis.Life) int {
	if l == nil {
		return 0
	}
	return l.Gone + l.Away
}
