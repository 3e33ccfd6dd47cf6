package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/web/chart"
)

// answerTotals draws the totals of some series, of the kind of a finding in the first.
func (m *caseMaker) answerTotals(a *Answer, f *report.Finding, of []int) {
	top := 1
	for _, i := range of {
		s := &m.in.Report.Series[i]
		if len(a.Totals) == answerTotals || len(s.Snapshots) < 2 {
			continue
		}
		kind := analysis.Kind("")
		lead := topFamily(s)
		if f != nil && len(a.Totals) == 0 {
			for k := range s.Families {
				if len(f.Families) > 0 && s.Families[k].Fingerprint == f.Families[0] {
					lead = &s.Families[k]
				}
			}
		}
		if lead != nil {
			kind = lead.Kind
		}
		drawn := m.allCaptures(s)
		if first := m.totals(s, m.in.Metric).FirstAt(); m.in.Metric != "" && first >= 0 {
			kind = m.in.Metric
		}
		for _, k := range analysis.Kinds() {
			if first := m.totals(s, k).FirstAt(); kind == "" && first >= 0 {
				kind = k
			}
		}
		if kind == "" {
			continue
		}
		title := kindTitle(kind)
		switch {
		case len(a.Totals) > 0 && a.Totals[0].kind == kind:
			title = named(s)
		case len(of) > 1:
			title += ": " + named(s)
		}
		d := m.small(drawn, i, title, m.totals(drawn, kind))
		d.ID, d.Lower = fmt.Sprintf("total-%d", len(a.Totals)), m.lower(drawn, kind)
		if lead != nil && lead.RecoveredAt != nil {
			d.RecoveredAt = slices.Index(drawn.Snapshots, *lead.RecoveredAt)
		}
		top = max(top, d.Top())
		a.Totals = append(a.Totals, AnswerTotal{Title: title, Chart: d, Process: named(s), kind: kind})
	}
	m.answerMetrics(a, of)
	for i := range a.Totals {
		a.Totals[i].Chart.Max = top
	}
}

// answerMetrics offers the kinds that the drawn series have. The chosen one is that of the
// first total.
func (m *caseMaker) answerMetrics(a *Answer, of []int) {
	if len(a.Totals) == 0 || m.in.Frozen {
		return
	}
	for _, k := range analysis.Kinds() {
		if !slices.ContainsFunc(of, func(i int) bool {
			first, top := m.totals(&m.in.Report.Series[i], k).FirstAt(), m.totals(&m.in.Report.Series[i], k).HighestAt()
			return first >= 0 && m.totals(&m.in.Report.Series[i], k)[top].N > 0 && len(m.in.Report.Series[i].Snapshots) > 1
		}) {
			continue
		}
		address := m.pageAddress(m.number)
		join := "?"
		if strings.Contains(address, "?") {
			join = "&"
		}
		a.Metrics = append(a.Metrics, AnswerMetric{Text: kindTitle(k), URL: address + join + "m=" + string(k), Chosen: k == a.Totals[0].kind})
	}
	if len(a.Metrics) < 2 {
		a.Metrics = nil
		return
	}
	for i := range a.Totals { // the chosen kind stands above them
		if a.Totals[i].Title = ""; len(of) > 1 {
			a.Totals[i].Title = a.Totals[i].Process
		}
	}
}

// answerLives draws the members of the thing that the answer is about: those of its groups whose
// counts are the figure of the sentence. Without such groups nothing is drawn.
func (m *caseMaker) answerLives(a *Answer, s *report.Series, series int, f *report.Finding) {
	told := m.lived(s, series, f)
	if len(told) == 0 {
		return
	}
	d := &chart.LivesData{ID: "lives", Title: kindTitle(told[0].Kind) + ", each from start to end", Labels: m.labels(s), At: s.Places(), RecoveredAt: -1}
	for _, x := range told {
		for _, r := range m.more(series).Lives[x.Fingerprint] {
			d.Runs = append(d.Runs, chart.Run(r))
		}
		if x.RecoveredAt != nil {
			d.RecoveredAt = slices.Index(s.Snapshots, *x.RecoveredAt)
		}
	}
	slices.SortStableFunc(d.Runs, func(x, y chart.Run) int { return cmp.Or(cmp.Compare(x.First, y.First), cmp.Compare(x.Last, y.Last)) })
	if per := d.PerLine(); per > 1 {
		a.LivesNote = fmt.Sprintf("one line = %d", per)
	}
	a.Lives, a.LivesTitle = d, d.Title
}

// lived are the groups of a finding, with identities, that are the thing of the answer: one of
// as many members as it has at its peak, else all of one kind that have as many together.
func (m *caseMaker) lived(s *report.Series, series int, f *report.Finding) []*report.Family {
	c := m.in.Report.Diagnosis.Claims
	if c == nil || c.Top < 0 {
		return nil
	}
	prints := f.Families
	if f.StackOf != nil {
		prints = append([]string{f.StackOf.Family}, prints...)
	}
	together, n := map[analysis.Kind][]*report.Family{}, map[analysis.Kind]int{}
	for _, print := range prints {
		i := slices.IndexFunc(s.Families, func(x report.Family) bool { return x.Fingerprint == print })
		if i < 0 || len(m.more(series).Lives[print]) == 0 || c.Top >= len(s.Families[i].Counts) || !s.Families[i].Counts[c.Top].Known() {
			continue
		}
		x := &s.Families[i]
		if x.Counts[c.Top].N == c.N {
			return []*report.Family{x}
		}
		if !slices.Contains(together[x.Kind], x) {
			together[x.Kind] = append(together[x.Kind], x)
			n[x.Kind] += x.Counts[c.Top].N
		}
	}
	for kind, of := range together {
		if n[kind] == c.N {
			return of
		}
	}
	return nil
}
