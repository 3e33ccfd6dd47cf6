package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
)

// capture is one goroutine dump of a kubelet: 66 families, 250 goroutines, most of which
// live on from one capture to the next.
func capture(i int) analysis.Snapshot {
	const families, goroutines = 66, 250
	random := rand.New(rand.NewPCG(uint64(i), 7))
	at := instant.Add(time.Duration(i) * 10 * time.Minute)
	snap := kubelet(fmt.Sprintf("%06d", i), at, 0)
	total := goroutines
	snap.Label, snap.LowerBound, snap.Truncated, snap.Problems, snap.Times = at.Format("15:04:05"), false, false, nil, nil
	snap.Totals = analysis.Totals{Goroutines: &total}
	snap.Figures = map[string]float64{"go_goroutines": goroutines, "process_open_fds": float64(31 + i%5)}
	snap.Artifacts = []analysis.Artifact{{
		Path: "kubelet/goroutines.txt", Kind: "goroutine-debug2", Reason: "goroutine headers with states", Confidence: analysis.High,
		Status: analysis.Read, Outcome: "250 goroutines", Size: 181234 + int64(i%100), Files: 1, Members: goroutines,
		SHA256: fmt.Sprintf("%016x%016x%016x%016x", random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64()), Modified: at,
	}}
	snap.Groups = nil
	left, offset, line := goroutines-families, int64(0), int64(1)
	for k := range families {
		n := 1
		if k%6 == 0 {
			n += min(left, 16+k%3)
		}
		left -= n - 1
		name := fmt.Sprintf("k8s.io/kubernetes/pkg/kubelet/part%02d.(*worker).run", k)
		state := []string{"select", "chan receive", "IO wait", "sync.Cond.Wait"}[k%4]
		g := analysis.Group{
			Family: &analysis.Family{
				Fingerprint: fmt.Sprintf("g1:%032x", k*7919), Kind: analysis.KindGoroutine, Title: name,
				Loose: []string{"net/http.(*Transport).RoundTrip", name}, LooseCreator: fmt.Sprintf("k8s.io/kubernetes/pkg/kubelet/part%02d.New", k), Entry: name,
			},
			Count: n, States: map[string]int{state: n}, OldestWait: -1,
		}
		stack := &analysis.Stack{Frames: []analysis.Frame{
			{Func: "net/http.(*Transport).RoundTrip", File: "/usr/local/go/src/net/http/transport.go", Line: 600},
			{Func: name, File: fmt.Sprintf("/build/pkg/kubelet/part%02d/worker.go", k), Line: 167},
		}}
		g.Variants = []analysis.Variant{{Fingerprint: fmt.Sprintf("e1:%032x", k*104729), Stack: stack, Count: n}}
		packed := &analysis.Packed{}
		id := int64(100 + 40*k)
		for range n {
			id += 1 + random.Int64N(30)
			wait := int32(-1)
			if k%2 == 0 {
				wait = int32(10*i + k)
				g.OldestWait = int(wait)
				g.Waits[len(g.Waits)-1]++
			}
			length := int32(700 + 13*k%900 + random.IntN(3))
			packed.Append(analysis.PackedMember{ID: id, Parent: id - 1 - random.Int64N(9), State: uint16(k % 4), Wait: wait, Line: line, Offset: offset, Length: length})
			between := 1 + random.Int64N(3)*731
			offset += int64(length) + between
			line += 12 + between/60
		}
		g.Members = analysis.Members{States: []string{"select", "chan receive", "IO wait", "sync.Cond.Wait"}, Packed: []analysis.Packing{{Packed: packed}}}
		snap.Groups = append(snap.Groups, g)
	}
	return snap
}

// captured is a case of n captures of one kubelet, each pushed by itself or all at once.
func (f *fixture) captured(n int, single bool) Case {
	f.t.Helper()
	c := f.newCase("kubelet")
	var r Result
	for i := range n {
		r.Snapshots = append(r.Snapshots, capture(i))
		if single || i == n-1 {
			r.Artifacts, r.Engine = r.Snapshots[0].Artifacts, 1
			f.filled(c.ID, fmt.Sprint("dump ", i, strings.Repeat(" of a kubelet", 9)), r)
			r = Result{}
		}
	}
	return c
}

// BenchmarkLoad reads a case of 1,000 captures of a kubelet.
func BenchmarkLoad(b *testing.B) {
	f := open(b)
	c := f.captured(1000, false)
	for name, load := range map[string]func() ([]analysis.Snapshot, error){
		"packed":  func() ([]analysis.Snapshot, error) { return f.SnapshotsPacked(f.ctx, c.ID) },
		"without": func() ([]analysis.Snapshot, error) { return f.Snapshots(f.ctx, c.ID) },
		"heads":   func() ([]analysis.Snapshot, error) { _, heads, err := f.SnapshotHeads(f.ctx, c.ID); return heads, err },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got, err := load(); err != nil || len(got) != 1000 {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}

// BenchmarkSnapshotSize says how much one more push of a kubelet adds to the database.
func BenchmarkSnapshotSize(b *testing.B) {
	for b.Loop() {
		f := open(b)
		c := f.captured(200, true)
		before := f.pageBytes()
		for i := range 200 {
			f.filled(c.ID, fmt.Sprint("later dump ", i), Result{Snapshots: []analysis.Snapshot{capture(200 + i)}, Engine: 1})
		}
		b.ReportMetric(float64(f.pageBytes()-before)/200, "bytes/snapshot")
		f.close()
	}
}
