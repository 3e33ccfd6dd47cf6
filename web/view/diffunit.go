package view

import (
	"fmt"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// unitOf is the unit that a family rises with, nil where it rises alone.
func (m *diffMaker) unitOf(fingerprint string) *report.Unit {
	f := m.families[fingerprint]
	if f == nil || f.Unit == nil {
		return nil
	}
	return unitOf(&m.in.Series, *f.Unit)
}

// unitsFirst puts rows in the order in which bands show them.
func (m *diffMaker) unitsFirst(rows []diff.Row) []diff.Row {
	if len(m.in.Series.Units) == 0 {
		return rows
	}
	out := make([]diff.Row, 0, len(rows))
	var alone []diff.Row
	for _, r := range rows {
		if m.unitOf(r.Family.Fingerprint) != nil {
			out = append(out, r)
		} else {
			alone = append(alone, r)
		}
	}
	return append(out, alone...)
}

// band is the row above the families of a unit, with its figures at A and B.
func (m *diffMaker) band(u *report.Unit) DiffUnit {
	out := DiffUnit{ID: Visible(u.ID), Each: each(u), Verdict: string(u.Verdict), Triage: unitMark(&m.in.Series, u)}
	counts, _, _ := told(u)
	a, b := m.bandFigure(counts, m.in.Result.A), m.bandFigure(counts, m.in.Result.B)
	out.A, out.SignA, out.B, out.SignB = a.Text, a.Sign, b.Text, b.Sign
	if x, y := m.unitCount(counts, m.in.Result.A), m.unitCount(counts, m.in.Result.B); x.Known() && y.Known() && m.in.Result.Followed {
		out.Known, out.Delta = true, y.N-x.N
	}
	return out
}

// unitCount returns what a unit counts in a snapshot of its series, not captured where it counts
// nothing there.
func (m *diffMaker) unitCount(counts analysis.Counts, s *analysis.Snapshot) analysis.Count {
	if s == nil {
		return analysis.Count{}
	}
	at := slices.Index(m.in.Series.Snapshots, s.ID)
	if at < 0 || at >= len(counts) {
		return analysis.Count{}
	}
	return counts[at]
}

func (m *diffMaker) bandFigure(counts analysis.Counts, s *analysis.Snapshot) figure {
	n := m.unitCount(counts, s)
	if !n.Known() {
		return figure{Text: "n/a"}
	}
	value, ok := m.columns.scaled(s, n.N)
	if !ok {
		return figure{Text: "n/a"}
	}
	if m.columns.show == showMembers {
		return figure{Text: decimal(value)}
	}
	to := m.columns.against(s)
	before := m.unitCount(counts, to)
	if !before.Known() {
		return figure{Text: "n/a"}
	}
	from, ok := m.columns.scaled(to, before.N)
	if !ok {
		return figure{Text: "n/a"}
	}
	return change(value - from)
}

// countBand names the lead of a band and says how many of its families are shown.
func (m *diffMaker) countBand(u *DiffUnit) {
	u.Lead = u.Rows[0].Name.Title.Path + u.Rows[0].Name.Title.Name
	total := 0
	for i := range m.in.Series.Units {
		if unit := &m.in.Series.Units[i]; Visible(unit.ID) == u.ID {
			total = len(unit.Ratio)
		}
	}
	u.Families = wording.PagePlural(int64(total), "family", "families") + " in step"
	if len(u.Rows) < total {
		u.Families = fmt.Sprintf("%d of %s", len(u.Rows), u.Families)
	}
}
