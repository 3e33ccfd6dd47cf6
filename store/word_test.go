package store

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/analysis"
)

// TestWordsThatAreNoLongerRememberedAreKeptOnce has more functions than a transaction
// remembers, of which some come again, in other frames and in other families.
func TestWordsThatAreNoLongerRememberedAreKeptOnce(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	r := kubeletResult("2")
	name := func(i int) string { return fmt.Sprintf("example.org/hostile.f%05d", i) }
	for k := range 3 {
		family := &analysis.Family{Fingerprint: "g1:" + strings.Repeat(fmt.Sprint(k), 32), Kind: analysis.KindGoroutine, Title: fmt.Sprint("hostile ", k)}
		g := analysis.Group{Family: family, Count: 2, OldestWait: -1}
		for v := range 2 {
			s := &analysis.Stack{}
			for i := range mostRemembered + 100 {
				s.Frames = append(s.Frames, analysis.Frame{Func: name(i * (k + 1)), File: "/f.go", Line: 1 + i%3 + v})
			}
			g.Variants = append(g.Variants, analysis.Variant{Fingerprint: "e1:" + strings.Repeat(fmt.Sprint(v), 32), Stack: s, Count: 1})
		}
		g.Members = analysis.Members{ID: []int64{int64(10 * k), int64(10*k + 1)}}
		r.Snapshots[0].Groups = append(r.Snapshots[0].Groups, g)
	}
	f.filled(c.ID, "x", r)
	wantEqual(t, r.Snapshots, must[[]analysis.Snapshot](t)(f.SnapshotsFull(f.ctx, c.ID, AllProcesses)))
	for k := range 3 {
		family := r.Snapshots[0].Groups[len(r.Snapshots[0].Groups)-3+k].Family.Fingerprint
		var links int
		f.ok(f.writer.QueryRowContext(f.ctx, `
			SELECT count(*) FROM function_family ff JOIN family f ON f.seq = ff.family_seq WHERE f.fingerprint = ?`, family).Scan(&links))
		if links != mostRemembered+100 {
			t.Errorf("family %d is linked with %d functions, want %d", k, links, mostRemembered+100)
		}
	}
	f.wantSound()
}
