package view

import (
	"fmt"

	"leakdiff/analysis/say/report"
)

// folded takes the findings that stand behind one of the list out of it, and puts them below
// that one.
func (m *caseMaker) folded(list []placedFinding) []placedFinding {
	type place struct{ series, rank int }
	at := map[place]int{}
	for i, p := range list {
		at[place{p.series, p.f.Rank}] = i
	}
	below := map[int][]placedFinding{}
	gone := map[*report.Finding]bool{}
	for i, p := range list {
		if p.f.BehindOf != nil {
			continue
		}
		for _, held := range m.in.Report.Behind(p.series, p.f.Rank) {
			if k, ok := at[place{held.Series, held.Rank}]; ok {
				below[i] = append(below[i], list[k])
				gone[held.Finding] = true
			}
		}
	}
	out := list[:0:0]
	for i, p := range list {
		if !gone[p.f] {
			p.below = below[i]
			out = append(out, p)
		}
	}
	return out
}

// below makes the findings that stand behind the one with a number.
func (m *caseMaker) below(list []placedFinding, number int) (out []CaseFinding) {
	for i, p := range list {
		f := m.finding(&m.in.Report.Series[p.series], p.series, p.f, number)
		f.Number = fmt.Sprintf("%d.%d", number, i+1)
		f.Anchor = fmt.Sprintf("f-%d-%d", number, i+1)
		if f.Spark != nil {
			f.Spark.ID += fmt.Sprintf("-%d", i+1)
		}
		out = append(out, f)
	}
	return out
}
