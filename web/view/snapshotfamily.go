package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/filter"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

func (m *snapshotMaker) title(f *analysis.Family) string {
	if t := m.in.Titles[f.Fingerprint]; t != "" {
		return t
	}
	return f.Title
}

func (m *snapshotMaker) sorting() (by string, down bool) {
	by = m.in.Query.Get("sort")
	if !slices.Contains([]string{"name", "count", "wait"}, by) {
		return "count", true
	}
	if dir := m.in.Query.Get("dir"); dir != "" {
		return by, dir == "desc"
	}
	return by, by != "name"
}

func (m *snapshotMaker) heads() []DiffHead {
	by, down := m.sorting()
	head := func(text, key string) DiffHead { return m.here.order(text, key, by, down, "") }
	return []DiffHead{head("Family", "name"), head("Members", "count"), {Text: "Share", Numeric: true}, {Text: "States"}, head("Oldest wait", "wait")}
}

// families are the tables with the filter, those with one member folded.
func (m *snapshotMaker) families() document.Section {
	var list []*analysis.Group
	asked, box := newFilterBox(m.in.Query.Get("q"))
	families := make(map[string]*report.Family, len(m.in.Families))
	for i := range m.in.Families {
		families[m.in.Families[i].Fingerprint] = &m.in.Families[i]
	}
	of := 0
	for i := range m.in.Snapshot.Groups {
		g := &m.in.Snapshot.Groups[i]
		if g.Family == nil || m.kind != "" && g.Family.Kind != m.kind {
			continue
		}
		if of++; asked.Empty() || asked.Match(m.known(g, families[g.Family.Fingerprint])) {
			list = append(list, g)
		}
	}
	box.unknown(asked, "one snapshot has no change; compare it with another", filter.Delta, filter.Growth)
	box.passed(len(list), of)
	by, down := m.sorting()
	slices.SortStableFunc(list, func(a, b *analysis.Group) int {
		n := 0
		switch by {
		case "name":
			n = cmp.Compare(m.title(a.Family), m.title(b.Family))
		case "wait":
			n = cmp.Compare(a.OldestWait, b.OldestWait)
		default:
			n = cmp.Compare(a.Count, b.Count)
		}
		if down {
			n = -n
		}
		return cmp.Or(n, cmp.Compare(a.Family.Fingerprint, b.Family.Fingerprint))
	})
	var several, single []snapshotFamily
	for i, g := range list[:min(len(list), maxSnapshotFamilies)] {
		if g.Count == 1 && asked.Empty() {
			single = append(single, m.family(g, i, families[g.Family.Fingerprint]))
		} else {
			several = append(several, m.family(g, i, families[g.Family.Fingerprint]))
		}
	}
	var names together
	for _, rows := range [][]snapshotFamily{several, single} {
		for i := range rows {
			names.add(&rows[i].name, rows[i].fingerprint)
		}
	}
	names.tellApart()
	if len(several) == 0 {
		several, single = single, nil
	}
	note := wording.PagePlural(int64(len(list)), "family", "families") + "."
	switch {
	case len(list) == 0 && !asked.Empty():
		note = box.nothing()
	case len(list) == 0:
		note = "No family: nothing of this kind was captured here."
	case len(list) > maxSnapshotFamilies:
		note = fmt.Sprintf("%d of %s; filter to see the others.", maxSnapshotFamilies, wording.PagePlural(int64(len(list)), "family", "families"))
	}
	out := document.NewSection("h-fam", "Families", note)
	if !m.in.Frozen {
		out.Add(m.tools(box))
	} else if box.Text != "" && box.Error == "" {
		out.Say("note", "Filter "+box.Text+": "+box.Note)
	}
	if len(several) > 0 {
		out.Add(m.table(several, "Families"))
	}
	if len(single) > 0 {
		summary := wording.PagePlural(int64(len(single)), "family", "families") + " with one member"
		out.Add(document.Fold{Look: "rest", Summary: document.Words(summary), Blocks: document.Blocks{m.table(single, "Families with one member")}})
	}
	return out
}

// tools choose families, and another snapshot to compare with.
func (m *snapshotMaker) tools(box FilterBox) document.Group {
	box.Hidden = m.here.hidden("q")
	out := document.Group{Look: "tools", Blocks: box.Blocks()}
	count := map[analysis.Kind]int{}
	for i := range m.in.Snapshot.Groups {
		if f := m.in.Snapshot.Groups[i].Family; f != nil {
			count[f.Kind]++
		}
	}
	out.Add(tabBlocks("Kind", m.here.kinds(len(m.in.Snapshot.Groups), count, m.kind))...)
	id := m.in.Snapshot.ID
	choices, more := fewChoices(m.in.Others, id)
	choices = slices.DeleteFunc(slices.Clone(choices), func(c Choice) bool { return c.Value == id })
	if others := groupChoices(choices); len(others) > 0 {
		form := document.Form{Look: "compare inline", Action: "/diff-pick"}
		form.Add(document.Hide("case", m.in.CaseID), document.Hide("b", id), document.Text{document.Marked(document.Muted, "Compare with")})
		form.Add(chooseBlocks("a", "Compare this snapshot with", "", others, more, "Compare this snapshot with another one")...)
		form.Add(document.Press{Look: "btn primary", Type: "submit", Text: "Compare", Key: "d", KeyLabel: "Compare with the chosen snapshot"})
		out.Add(form)
	}
	return out
}

func (m *snapshotMaker) table(families []snapshotFamily, name string) document.Table {
	out := document.Table{Look: "data sfam", Label: "Table: " + name, Caption: name + " of this snapshot", Head: sortCells(m.heads()), Parts: []document.Part{{Rows: make([]document.Row, len(families))}}}
	for i := range families {
		f := &families[i]
		var named document.Blocks
		if f.triage != "" {
			named.Add(document.Text{document.Marked(document.Mark, f.triage)})
		}
		named.Add(f.name.titleBlock(), f.name.byBlock())
		out.Parts[0].Rows[i].Cells = append([]document.Cell{{Look: "fam", Blocks: named, Plain: marked(f.name.Text(), f.triage) + ", " + f.name.Kind}}, f.cells...)
	}
	return out
}

// snapshotFamily is a row of the table of families: its name, and the cells after it.
type snapshotFamily struct {
	name                FamilyName
	triage, fingerprint string
	cells               []document.Cell
}

// known returns what is known of a family in this snapshot, for filters.
func (m *snapshotMaker) known(g *analysis.Group, in *report.Family) *filter.Facts {
	f := g.Family
	facts := &filter.Facts{
		Title: m.title(f), Kind: f.Kind, Frames: f.Loose, Creator: f.LooseCreator, Attributes: f.Attributes, States: g.States,
		Labels: []string{m.in.Snapshot.Label}, Process: m.in.Snapshot.Process.Name.Value, Members: &g.Members, Count: filter.Known(float64(g.Count)),
	}
	switch {
	case g.OldestWait >= 0:
		facts.Wait = filter.Known(float64(g.OldestWait))
	case f.Kind == analysis.KindGoroutine && g.Members.Identified():
		facts.Wait = filter.Known(0)
	}
	if in != nil {
		known := report.FactsOf(in)
		facts.Verdict, facts.Rules, facts.Unit, facts.Classes, facts.Triage = known.Verdict, known.Rules, known.Unit, known.Classes, known.Triage
	}
	facts.Mark(m.in.Snapshot.Labels[f.Fingerprint])
	return facts
}

func (m *snapshotMaker) family(g *analysis.Group, i int, known *report.Family) snapshotFamily {
	f := g.Family
	key := SeriesKey(m.in.Snapshot.Process.Host.Value, m.in.Snapshot.Process.Name.Value)
	row := snapshotFamily{name: newFamilyName(m.title(f), f.Kind, f.Loose, f.LooseCreator, f.Attributes), fingerprint: f.Fingerprint}
	share, wait := "n/a", wording.Wait(g.OldestWait)
	row.name.URL = m.live(familyURL(f.Fingerprint, m.in.CaseID, key))
	if known != nil {
		row.triage = markOf(known.Triage)
	}
	if total := m.in.Snapshot.Totals.Of(f.Kind); total != nil && *total > 0 {
		share = wording.PageShare(float64(g.Count), float64(*total), 1)
	}
	if g.OldestWait < 0 && f.Kind == analysis.KindGoroutine && g.Members.Identified() {
		wait = shortWait(f, g.States, known)
	}
	row.cells = []document.Cell{
		{Look: "num", Name: "Members", Text: document.Words(wording.Number(int64(g.Count)))}, {Look: "num soft", Name: "Share", Text: document.Words(share)},
		statesCell(fmt.Sprintf("st-%d", i), g.States), {Look: "num soft", Name: "Oldest wait", Text: orNone(wait)},
	}
	return row
}

// statesCell is the distribution of states, drawn if there are several.
func statesCell(id string, counts map[string]int) document.Cell {
	list, bar := states(id, counts)
	out := document.Cell{Look: "stt none", Name: "States"}
	if bar != nil && len(list) > 1 {
		bar.Width = 120
		out.Blocks.Add(document.Drawing{Chart: *bar})
	}
	var words []string
	for k, s := range list {
		if k == 3 {
			words = append(words, fmt.Sprintf("%d more", len(list)-3))
			break
		}
		words = append(words, s.Name+" "+s.Count)
	}
	text := "n/a"
	if len(words) > 0 {
		out.Look, text = "stt", strings.Join(words, ", ")
	}
	out.Blocks.Add(document.Text{document.Marked(document.Muted, text)})
	return out
}
