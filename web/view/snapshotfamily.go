package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
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

func (m *snapshotMaker) families(out *Snapshot) {
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
		if of++; asked.Empty() || asked.Match(m.facts(g, families[g.Family.Fingerprint])) {
			list = append(list, g)
		}
	}
	box.unknown(asked, "one snapshot has no change; compare it with another", filter.Delta, filter.Growth)
	box.passed(len(list), of)
	m.box(out, box)
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
	for i, g := range list[:min(len(list), maxSnapshotFamilies)] {
		if g.Count == 1 && asked.Empty() {
			out.Single = append(out.Single, m.family(g, i, families[g.Family.Fingerprint]))
		} else {
			out.Families = append(out.Families, m.family(g, i, families[g.Family.Fingerprint]))
		}
	}
	var names together
	for _, rows := range [][]SnapshotFamily{out.Families, out.Single} {
		for i := range rows {
			names.add(&rows[i].Name, rows[i].fingerprint)
		}
	}
	names.tellApart()
	if len(out.Families) == 0 {
		out.Families, out.Single = out.Single, nil
	}
	out.SingleNote = wording.PagePlural(int64(len(out.Single)), "family", "families") + " with one member"
	switch {
	case len(list) == 0 && !asked.Empty():
		out.FamiliesNote = box.nothing()
	case len(list) == 0:
		out.FamiliesNote = "No family: nothing of this kind was captured here."
	case len(list) > maxSnapshotFamilies:
		out.FamiliesNote = fmt.Sprintf("%d of %s; filter to see the others.", maxSnapshotFamilies, wording.PagePlural(int64(len(list)), "family", "families"))
	default:
		out.FamiliesNote = wording.PagePlural(int64(len(list)), "family", "families") + "."
	}
}

// box adds the other parts of the address to the filter; on a frozen page words take
// its place.
func (m *snapshotMaker) box(out *Snapshot, box FilterBox) {
	if m.in.Frozen {
		if box.Text != "" && box.Error == "" {
			out.Applied = "Filter " + box.Text + ": " + box.Note
		}
		return
	}
	box.Hidden = m.here.hidden("q")
	out.Box = box
}

// facts returns what is known of a family in this snapshot, for filters.
func (m *snapshotMaker) facts(g *analysis.Group, in *report.Family) *filter.Facts {
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
	return facts
}

func (m *snapshotMaker) family(g *analysis.Group, i int, known *report.Family) SnapshotFamily {
	f := g.Family
	key := SeriesKey(m.in.Snapshot.Process.Host.Value, m.in.Snapshot.Process.Name.Value)
	row := SnapshotFamily{
		Name:  newFamilyName(m.title(f), f.Kind, f.Loose, f.LooseCreator, f.Attributes),
		Count: wording.Number(int64(g.Count)), Share: "n/a", Wait: wording.Wait(g.OldestWait), fingerprint: f.Fingerprint,
	}
	row.Name.URL = m.live(familyURL(f.Fingerprint, m.in.CaseID, key))
	if known != nil {
		row.Triage = markOf(known.Triage)
	}
	if total := m.in.Snapshot.Totals.Of(f.Kind); total != nil && *total > 0 {
		row.Share = wording.PageShare(float64(g.Count), float64(*total), 1)
	}
	if g.OldestWait < 0 && f.Kind == analysis.KindGoroutine && g.Members.Identified() {
		row.Wait = shortWait(f, g.States, known)
	}
	list, bar := states(fmt.Sprintf("st-%d", i), g.States)
	if bar != nil && len(list) > 1 {
		bar.Width = 120
		row.Bar = bar
	}
	var words []string
	for k, s := range list {
		if k == 3 {
			words = append(words, fmt.Sprintf("%d more", len(list)-3))
			break
		}
		words = append(words, s.Name+" "+s.Count)
	}
	row.States = strings.Join(words, ", ")
	return row
}
