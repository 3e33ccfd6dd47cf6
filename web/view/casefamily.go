package view

import (
	"cmp"
	"slices"
	"strconv"

	"leakdiff/analysis/say/filter"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// passingFamily is a family of the table with the number of its series.
type passingFamily struct {
	series int
	s      *report.Series
	f      *report.Family
}

// filter chooses the families of the table, the worst first: those of the page, and where
// a filter asks those of the whole case.
func (m *caseMaker) filter(c *Case) {
	asked, box := newFilterBox(m.in.Query.Get("q"))
	series := m.page
	if !asked.Empty() && m.order != nil {
		series = m.order
	}
	for _, i := range series {
		s := &m.in.Report.Series[i]
		c.FamilyCount += len(s.Families)
		for k := range s.Families {
			if asked.Empty() || asked.Match(m.facts(i, &s.Families[k])) {
				m.passing = append(m.passing, passingFamily{i, s, &s.Families[k]})
			}
		}
	}
	m.passed = len(m.passing)
	box.passed(m.passed, c.FamilyCount)
	box.Anchor = "#h-all"
	if m.number > 1 {
		box.Hidden = append(box.Hidden, Pair{"page", strconv.Itoa(m.number)})
	}
	if c.Box = box; m.in.Frozen && !asked.Empty() {
		c.Applied = "Filter " + box.Text + ": " + box.Note
	}
	slices.SortStableFunc(m.passing, func(a, b passingFamily) int {
		return cmp.Or(cmp.Compare(a.f.Verdict.Rank(), b.f.Verdict.Rank()), cmp.Compare(b.f.Rise, a.f.Rise))
	})
	m.passing = m.passing[:min(len(m.passing), maxCaseFamilies)]
}

// families fills the folded table: units first, then families alone.
func (m *caseMaker) families(c *Case) {
	most := min(len(m.passing), maxCaseCells/max(len(m.shown), 1))
	if m.order != nil {
		most = min(most, maxPagedFamilies)
	}
	c.MoreFamilies = m.passed - most
	unit := map[*report.Unit]int{}
	for _, r := range m.passing[:most] {
		row := CaseFamily{Process: named(r.s), Kind: kindWord(r.f.Kind.Worded(r.f.Attributes), 1), Verdict: string(r.f.Verdict), Triage: markOf(r.f.Triage), Role: r.f.Role, Name: m.name(r.s, r.f), Rise: wording.Signed(r.f.Rise), Handle: r.f.Handle, fingerprint: r.f.Fingerprint, series: r.s}
		row.Counts = m.shownCells(r.s, r.f.Counts, m.lower(r.s, r.f.Kind))
		var u *report.Unit
		if r.f.Unit != nil {
			u = unitOf(r.s, *r.f.Unit)
		}
		if u == nil {
			c.Families = append(c.Families, row)
			continue
		}
		at, ok := unit[u]
		if !ok {
			at = len(c.Units)
			unit[u], c.Units = at, append(c.Units, m.unitRow(r.s, u, at))
		}
		if u.Each != "" {
			row.Each = ratio(u.Ratio[r.f.Fingerprint])
		}
		c.Units[at].Families = append(c.Units[at].Families, row)
	}
	names := map[*report.Series]*together{}
	tell := func(rows []CaseFamily) {
		for i := range rows {
			if names[rows[i].series] == nil {
				names[rows[i].series] = &together{}
			}
			names[rows[i].series].add(&rows[i].Name, rows[i].fingerprint)
		}
	}
	for i := range c.Units {
		tell(c.Units[i].Families)
	}
	tell(c.Families)
	for _, t := range names {
		t.tellApart()
	}
}

// facts returns what is known of a family, for filters.
func (m *caseMaker) facts(series int, f *report.Family) *filter.Facts {
	if ask := m.more(series).Facts; ask != nil {
		return ask(f)
	}
	facts := report.FactsOf(f)
	facts.Process = m.in.Report.Series[series].Process
	return facts
}

func (m *caseMaker) name(s *report.Series, f *report.Family) FamilyName {
	n := newFamilyName(f.Title, f.Kind, f.Frames, f.CreatedBy, f.Attributes)
	n.URL = m.live(m.familyURL(s, f.Fingerprint))
	return n
}
