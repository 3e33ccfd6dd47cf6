package report

import (
	"slices"

	"leakdiff/analysis"
)

// holderRef names the finding that holds another one while ranks are not yet final.
type holderRef struct {
	series   int
	title    string
	families []string
	kind     analysis.Kind
}

// refer names in each finding that stands behind another one which that is. Of findings that
// would stand behind each other in a circle the last one stands alone.
func (r *Report) refer(names []string) {
	for i := range r.Series {
		for k := range r.Series[i].Findings {
			f := &r.Series[i].Findings[k]
			h := f.holder
			if f.holder = nil; h == nil {
				continue
			}
			at := slices.IndexFunc(r.Series[h.series].Findings, func(x Finding) bool { return x.Title == h.title && slices.Equal(x.Families, h.families) })
			if at < 0 {
				continue
			}
			f.BehindOf = &FindingRef{Process: names[h.series], Series: h.series, Rank: r.Series[h.series].Findings[at].Rank}
			if r.head(f) == nil {
				f.BehindOf = nil
			}
		}
	}
}

// finding is the one that a reference names, nil for none.
func (r *Report) finding(ref *FindingRef) *Finding {
	if ref.Series < 0 || ref.Series >= len(r.Series) {
		return nil
	}
	findings := r.Series[ref.Series].Findings
	at := slices.IndexFunc(findings, func(f Finding) bool { return f.Rank == ref.Rank })
	if at < 0 {
		return nil
	}
	return &findings[at]
}

// head is the reference to the finding at the head of those that f stands behind, nil for
// none and for a circle.
func (r *Report) head(f *Finding) *FindingRef {
	var last *FindingRef
	for steps, at := 0, f; at != nil && at.BehindOf != nil; steps++ {
		if steps > mostBehind {
			return nil
		}
		last = at.BehindOf
		if at = r.finding(last); at == f {
			return nil
		}
	}
	return last
}

// mostBehind is how many findings may stand behind one another.
const mostBehind = 100

// Held is a finding that stands behind another one, with the index of its series.
type Held struct {
	*Finding
	Series int
}

// Behind lists the findings that stand behind one that itself stands behind none, those
// behind these included.
func (r *Report) Behind(series, rank int) (out []Held) {
	for i := range r.Series {
		for k := range r.Series[i].Findings {
			f := &r.Series[i].Findings[k]
			if f.BehindOf == nil {
				continue
			}
			if head := r.head(f); head != nil && head.Series == series && head.Rank == rank {
				out = append(out, Held{f, i})
			}
		}
	}
	return out
}
