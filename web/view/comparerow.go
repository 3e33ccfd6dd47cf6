package view

import (
	"cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/filter"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// totals are the rows of sums above the families.
func (m *compareMaker) totals() document.Part {
	out := document.Part{}
	add := func(name string, figures []string) {
		row := document.Row{Look: "plain", Cells: []document.Cell{{Header: true, Text: document.Words(name)}}}
		for _, text := range figures {
			row.Cells = append(row.Cells, document.Cell{Text: document.Text{document.Marked(document.Strong, text)}})
		}
		out.Rows = append(out.Rows, document.Row{Look: row.Look, Cells: append(row.Cells, document.Cell{}, document.Cell{})})
	}
	for _, k := range analysis.Kinds() {
		var figures []string
		known := false
		for _, s := range m.in.Result.Snapshots {
			n := s.Totals.Of(k)
			known = known || n != nil
			figures = append(figures, atLeast(orDash(analysis.CountOf(n)), n != nil && s.Bounded(k)))
		}
		if known && (m.kind == "" || m.kind == k) {
			add(kindTitle(k), figures)
		}
	}
	if l := m.columns.load; l != nil {
		var figures []string
		for _, s := range m.in.Result.Snapshots {
			text := "–"
			if v, ok := l.Values[s.ID]; ok {
				text = decimal(v)
			}
			figures = append(figures, text)
		}
		add(capital(l.Words), figures)
	}
	return out
}

// rows returns those that pass kind and filter.
func (m *compareMaker) rows() []diff.Course {
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
	m.box.passed(len(out), of)
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
		facts.Classes, facts.Unit, facts.Triage, facts.Marked = in.Classes, in.Unit, in.Triage, in.Marked
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

// table is the families over the columns, section by section.
func (m *compareMaker) table(rows []diff.Course) document.Table {
	out := document.Table{Look: "data many-s", Label: "Families over the snapshots", Caption: "Families with their figures in each snapshot", Head: []document.Cell{m.order("Family", "name").cell()}}
	for i := range m.in.Result.Snapshots {
		out.Head = append(out.Head, m.head(i))
	}
	out.Head = append(out.Head, m.order("Δ", "delta").cell(), document.Cell{Words: "Verdict"})
	out.Parts = append(out.Parts, m.totals())
	bySection := map[diff.Section][]diff.Course{}
	for _, r := range rows {
		bySection[r.Section] = append(bySection[r.Section], r)
	}
	order := diff.ManySections()
	if len(bySection[""]) > 0 {
		order = append(order, "")
	}
	shown, more := map[diff.Section][]diff.Course{}, map[diff.Section]int{}
	names, told := map[string]*FamilyName{}, together{}
	for _, section := range order {
		list := m.sorted(bySection[section])
		most := maxRows
		if section == diff.Unchanged {
			most = 0 // folded: they are counted, and asked for
		}
		if bySection[section], shown[section] = list, list; len(list) > most && m.in.Query.Get("all") == "" && !(m.in.Frozen && section != diff.Unchanged) {
			shown[section], more[section] = list[:most], len(list)-most
		}
		for i := range shown[section] {
			r := &shown[section][i]
			f := r.Family
			name := newFamilyName(m.title(f), f.Kind, f.Loose, f.LooseCreator, f.Attributes)
			name.URL = m.live(m.familyURL(r))
			names[f.Fingerprint] = &name
			told.add(&name, f.Fingerprint)
		}
	}
	told.tellApart()
	wide := len(m.in.Result.Snapshots) + 2
	for _, section := range order {
		id := "h-" + string(section)
		part := document.Part{Rows: []document.Row{{Look: "sec plain", Cells: []document.Cell{
			{Group: true, ID: document.ID(id), Text: document.Text{document.Marked(document.Named, sectionTitle(section)), document.Plain(" "), document.Marked("sub", m.note(section, bySection[section]))}}, {Span: wide},
		}}}}
		for i := range shown[section] {
			r := &shown[section][i]
			part.Rows = append(part.Rows, m.row(r, names[r.Family.Fingerprint]))
		}
		if n := more[section]; n > 0 {
			address := m.here.with("all", "1")
			if address != "" {
				address += "#" + id
			}
			text := moreText(wording.PagePlural(int64(n), "family is", "families are")+" not shown.", address)
			part.Rows = append(part.Rows, document.Row{Look: "plain none", Cells: []document.Cell{{Header: true, Look: document.Muted, Text: text}, {Span: wide}}})
		}
		out.Parts = append(out.Parts, part)
	}
	return out
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

// changeOver is the change over the columns. Of what came back it is by how much it was farthest
// from its first figure: "= 0" would deny a leak that ended.
func changeOver(r *diff.Course) document.Text {
	if r.Section != diff.Between {
		return document.Text{deltaSpan(r.Delta, r.Compared)}
	}
	first, widest := r.Counts.FirstAt(), 0
	for _, n := range r.Counts {
		if by := n.N - r.Counts[first].N; n.Known() && max(by, -by) > max(widest, -widest) {
			widest = by
		}
	}
	return document.Text{deltaSpan(widest, true), document.Plain(" "), document.Marked(document.Muted, "and back")}
}

// row is one family over the columns.
func (m *compareMaker) row(r *diff.Course, name *FamilyName) document.Row {
	f := r.Family
	unit, triage := "", ""
	if known := m.families[f.Fingerprint]; known != nil {
		triage = markOf(known.Triage)
		if known.Unit != nil {
			unit = Visible(*known.Unit)
		}
	}
	cells := make([]document.Cell, 0, len(r.Counts)+3)
	cells = append(cells, document.Cell{Header: true, Blocks: name.inUnit(unit), Plain: unit + " " + name.Text()})
	for i, n := range r.Counts {
		span := document.Plain("–")
		if n.Known() {
			figure := m.columns.of(m.in.Result.Snapshots[i], f, n.N)
			span = figureSpan(figure.Text, figure.Sign)
		}
		cells = append(cells, document.Cell{Text: document.Text{span}})
	}
	return document.Row{Cells: append(cells, document.Cell{Text: changeOver(r)}, document.Cell{Look: "ver", Text: judgedText(string(m.in.Verdicts[f.Fingerprint].Verdict), triage)})}
}
