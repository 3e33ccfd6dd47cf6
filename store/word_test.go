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
	frames := []int{mostRemembered + 50, 200}
	for k := range 2 {
		family := &analysis.Family{Fingerprint: "g1:" + strings.Repeat(fmt.Sprint(k), 32), Kind: analysis.KindGoroutine, Title: fmt.Sprint("hostile ", k)}
		s := &analysis.Stack{}
		for i := range frames[k] {
			s.Frames = append(s.Frames, analysis.Frame{Func: name(i * (k + 1)), File: "/f.go", Line: 1 + i*(k+1)%3})
		}
		g := analysis.Group{
			Family: family, Count: 1, OldestWait: -1, Members: analysis.Members{Columns: &analysis.Columns{ID: []int64{int64(k)}}},
			Variants: []analysis.Variant{{Fingerprint: "e1:" + strings.Repeat(fmt.Sprint(k), 32), Stack: s, Count: 1}},
		}
		r.Snapshots[0].Groups = append(r.Snapshots[0].Groups, g)
	}
	f.filled(c.ID, "x", r)
	wantEqual(t, r.Snapshots, must[[]analysis.Snapshot](t)(f.full(c.ID)))
	for k := range 2 {
		family := r.Snapshots[0].Groups[len(r.Snapshots[0].Groups)-2+k].Family.Fingerprint
		var links int
		f.ok(f.writer.QueryRowContext(f.ctx, `
			SELECT count(*) FROM function_family ff JOIN family f ON f.seq = ff.family_seq WHERE f.fingerprint = ?`, family).Scan(&links))
		if links != frames[k] {
			t.Errorf("family %d is linked with %d functions, want %d", k, links, frames[k])
		}
	}
	f.wantSound()
}
