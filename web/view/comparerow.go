package view

import (
	"cmp"
	"fmt"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/filter"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

func (m *compareMaker) totals(c *Compare) {
	for _, k := range analysis.Kinds() {
		row, known := CompareTotal{Name: kindTitle(k)}, false
		for _, s := range m.in.Result.Snapshots {
			n := s.Totals.Of(k)
			known = known || n != nil
			row.Cells = append(row.Cells, CompareCell{Text: atLeast(orDash(analysis.CountOf(n)), n != nil && s.Bounded(k))})
		}
		if known && (m.kind == "" || m.kind == k) {
			c.Totals = append(c.Totals, row)
		}
	}
	if l := m.columns.load; l != nil {
		row := CompareTotal{Name: capital(l.Words)}
		for _, s := range m.in.Result.Snapshots {
			text := "–"
			if v, ok := l.Values[s.ID]; ok {
				text = decimal(v)
			}
			row.Cells = append(row.Cells, CompareCell{Text: text})
		}
		c.Totals = append(c.Totals, row)
	}
}

// rows returns those that pass kind and filter.
func (m *compareMaker) rows(box *FilterBox) []diff.Course {
	var out []diff.Course
	of := 0
	for i := range m.in.Result.Rows {
		r := &m.in.Result.Rows[i]
		if m.kind != "" && r.Family.Kind != m.kind {
			continue
		}
		of++
		if m.asked.Empty() || m.asked.Match(m.facts(r)) {
			out = append(out, *r)
		}
	}
	box.passed(len(out), of)
	return out
}

// facts returns what the page knows of a family, for filters: the figures of the last
// snapshot that has members, and the change over the columns.
func (m *compareMaker) facts(r *diff.Course) *filter.Facts {
	f := r.Family
	judged := m.in.Verdicts[f.Fingerprint]
	facts := &filter.Facts{
		Title: m.title(f), Kind: f.Kind, Frames: f.Loose, Creator: f.LooseCreator, Attributes: f.Attributes, States: r.States,
		Verdict: judged.Verdict, Rules: rulesOf(judged.Evidence), Process: m.in.Series.Process, Members: r.Members,
	}
	if known := m.families[f.Fingerprint]; known != nil {
		in := report.FactsOf(known)
		facts.Classes, facts.Unit, facts.Triage = in.Classes, in.Unit, in.Triage
	}
	for i, n := range r.Counts {
		if !n.Known() {
			continue
		}
		facts.Count = filter.Known(max(facts.Count.Value, float64(n.N)))
		if n.N > 0 {
			facts.Labels = append(facts.Labels, m.in.Result.Snapshots[i].Label)
		}
	}
	if r.Compared {
		facts.Delta = filter.Known(float64(r.Delta))
	}
	if judged.SlopeUnit == "per hour" {
		facts.Growth = filter.Known(judged.Slope)
	}
	switch {
	case r.OldestWait >= 0:
		facts.Wait = filter.Known(float64(r.OldestWait))
	case f.Kind == analysis.KindGoroutine && r.Members != nil && r.Members.Identified():
		facts.Wait = filter.Known(0)
	}
	return facts
}

func (m *compareMaker) title(f *analysis.Family) string {
	if t := m.in.Titles[f.Fingerprint]; t != "" {
		return t
	}
	return f.Title
}

func (m *compareMaker) sections(c *Compare) {
	rows := m.rows(&c.Box)
	bySection := map[diff.Section][]diff.Course{}
	for _, r := range rows {
		bySection[r.Section] = append(bySection[r.Section], r)
	}
	order := diff.ManySections()
	if len(bySection[""]) > 0 {
		order = append(order, "")
	}
	for _, section := range order {
		list := m.sorted(bySection[section])
		s := CompareSection{Name: string(section), Title: sectionTitle(section), Note: m.note(section, list)}
		most := maxRows
		if section == diff.Unchanged {
			most = 0 // folded: they are counted, and asked for
		}
		shown := list
		if len(list) > most && m.in.Query.Get("all") == "" && !(m.in.Frozen && section != diff.Unchanged) {
			shown = list[:most]
			s.More = fmt.Sprintf("%s not shown.", wording.PagePlural(int64(len(list)-most), "family is", "families are"))
			if s.MoreURL = m.here.with("all", "1"); s.MoreURL != "" {
				s.MoreURL += "#h-" + s.Name
			}
		}
		for i := range shown {
			s.Rows = append(s.Rows, m.row(&shown[i]))
		}
		c.Sections = append(c.Sections, s)
	}
	var names together
	for i := range c.Sections {
		for k := range c.Sections[i].Rows {
			names.add(&c.Sections[i].Rows[k].Name, c.Sections[i].Rows[k].Fingerprint)
		}
	}
	names.tellApart()
	switch {
	case len(m.in.Result.Snapshots) < 2:
		c.Empty = "One snapshot alone grows from nothing: choose a second one."
	case len(rows) == 0 && !m.asked.Empty():
		c.Empty = c.Box.nothing()
	case len(rows) == 0:
		c.Empty = "No snapshot holds a family: nothing was captured that could be compared."
	}
}

func sectionTitle(s diff.Section) string {
	switch s {
	case "":
		return "Not compared"
	case diff.Growing:
		return "Grew" // two snapshots say that it grew, never that it grows
	case diff.Between:
		return "Changed and came back"
	}
	return ruleWord(string(s))
}

func (m *compareMaker) note(section diff.Section, rows []diff.Course) string {
	if len(rows) == 0 {
		return "none"
	}
	text := wording.PagePlural(int64(len(rows)), "family", "families")
	if section == "" {
		return text + "; fewer than two of the snapshots are complete for them"
	}
	sum := map[analysis.Kind]int{}
	for _, r := range rows {
		sum[r.Family.Kind] += r.Delta
	}
	for _, k := range analysis.Kinds() {
		if sum[k] != 0 {
			text += ", " + wording.Signed(sum[k]) + " " + kindWord(k, sum[k])
		}
	}
	return text
}

// familyURL is the page of a family in the series of the table, or in the case of the
// last column that has it.
func (m *compareMaker) familyURL(r *diff.Course) string {
	if m.families[r.Family.Fingerprint] != nil {
		return familyURL(r.Family.Fingerprint, m.in.CaseID, m.key)
	}
	caseID := m.in.CaseID
	for i, n := range r.Counts {
		if n.Any() {
			caseID = cmp.Or(m.in.Columns[i].CaseID, m.in.CaseID)
		}
	}
	return familyURL(r.Family.Fingerprint, caseID, "")
}

func (m *compareMaker) row(r *diff.Course) CompareRow {
	f := r.Family
	row := CompareRow{
		Fingerprint: f.Fingerprint, Name: newFamilyName(m.title(f), f.Kind, f.Loose, f.LooseCreator, f.Attributes),
		Delta: r.Delta, Compared: r.Compared, Verdict: string(m.in.Verdicts[f.Fingerprint].Verdict), Cells: make([]CompareCell, len(r.Counts)),
	}
	row.Name.URL = m.live(m.familyURL(r))
	if known := m.families[f.Fingerprint]; known != nil {
		row.Triage = markOf(known.Triage)
		if known.Unit != nil {
			row.Unit = Visible(*known.Unit)
		}
	}
	for i, n := range r.Counts {
		row.Cells[i].Text = "–"
		if n.Known() {
			cell := m.columns.of(m.in.Result.Snapshots[i], f, n.N)
			row.Cells[i] = CompareCell{Text: cell.Text, Sign: cell.Sign}
		}
	}
	return row
}
