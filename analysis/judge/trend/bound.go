package trend

import (
	"cmp"
	"slices"

	"leakdiff/analysis"
)

// mostCells bounds the families of a series times its snapshots: each of them takes some
// hundred bytes while it is judged.
const mostCells = 1 << 20

// span is how far the count of a family moves. A snapshot without it counts 0.
type span struct {
	print     string
	low, high int
	snapshots int
}

// tooMany returns the families that are not judged because there are too many, by
// fingerprint: those that move least.
func (s *Series) tooMany() map[string]bool {
	groups := 0
	for _, snap := range s.Snapshots {
		groups += len(snap.Groups)
	}
	if groups*len(s.Snapshots) <= mostCells {
		return nil
	}
	by, spans := map[*analysis.Family]*span{}, map[string]*span{}
	for _, snap := range s.Snapshots {
		for i := range snap.Groups {
			g := &snap.Groups[i]
			w := by[g.Family]
			if w == nil {
				if w = spans[g.Family.Fingerprint]; w == nil {
					w = &span{print: g.Family.Fingerprint, low: g.Count}
					spans[w.print] = w
				}
				by[g.Family] = w
			}
			w.low, w.high = min(w.low, g.Count), max(w.high, g.Count)
			w.snapshots++
		}
	}
	most := max(1, mostCells/len(s.Snapshots))
	if len(spans) <= most {
		return nil
	}
	all := make([]*span, 0, len(spans))
	for _, w := range spans {
		if w.snapshots < len(s.Snapshots) {
			w.low = 0
		}
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *span) int {
		return cmp.Or((b.high-b.low)-(a.high-a.low), b.high-a.high, b.snapshots-a.snapshots, cmp.Compare(a.print, b.print))
	})
	left := map[string]bool{}
	for _, w := range all[most:] {
		left[w.print] = true
	}
	s.LeftOut = len(left)
	return left
}
