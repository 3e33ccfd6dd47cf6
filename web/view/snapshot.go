package view

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/flame"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// SnapshotInput is the input of the snapshot page.
type SnapshotInput struct {
	CaseID, CaseTitle string
	Snapshot          *analysis.Snapshot
	// Titles are by fingerprint.
	Titles map[string]string
	// Families are those of the series, for what one snapshot alone does not know of
	// a family: verdict, unit, triage.
	Families []report.Family
	// Previous and Next are ids of the neighbours in the series, empty at its ends.
	Previous, Next Choice
	// Others are the entries of "Compare with", Value is an id.
	Others   []Choice
	BundleID string
	// Locks is who waits for whom, nil for nobody.
	Locks *report.Locks
	// Heap is what its heap holds, nil where nothing shows it.
	Heap *report.Heap
	// Flame is the merged stacks of the kind that the page opens with, nil for none.
	Flame  *flame.Tree
	Query  url.Values
	Engine string
	Frozen bool
}

const maxSnapshotFamilies = 500

type snapshotMaker struct {
	in   SnapshotInput
	kind analysis.Kind
	here address
}

// NewSnapshot makes the page of a snapshot.
func NewSnapshot(in SnapshotInput) Page {
	m := snapshotMaker{in: in, kind: analysis.Kind(in.Query.Get("kind")), here: address{"/snapshots/" + url.PathEscape(in.Snapshot.ID), url.Values{"case": {in.CaseID}}, in.Frozen}}
	for _, part := range []string{"kind", "q", "sort", "dir"} {
		if v := in.Query.Get(part); v != "" {
			m.here.query.Set(part, v)
		}
	}
	if !slices.Contains(analysis.Kinds(), m.kind) {
		m.kind = ""
	}
	s := in.Snapshot
	headline := m.headline()
	out := Page{Shell: m.shell(headline)}
	d := &out.Body
	hero := document.Group{Role: "header", Look: "hero"}
	hero.Title(headline)
	hero.Add(document.Paragraph{Look: "soft sub", Text: document.Words(m.lead())})
	d.Add(hero)
	for _, text := range m.minds() {
		d.Mind(text)
	}
	if !in.Frozen {
		d.Add(m.steps()...)
	}
	figures := document.Figures{}
	for _, k := range analysis.Kinds() {
		if v := s.Totals.Of(k); v != nil {
			figures.Rows = append(figures.Rows, document.Figure{Text: kindWord(s.Totals.Counted(k), *v), Value: atLeast(wording.Number(int64(*v)), s.Bounded(k))})
		}
	}
	d.Add(figures)
	d.Add(m.states()...)
	if len(s.Statements) > 0 {
		var facts []Pair
		for _, f := range s.Statements {
			facts = append(facts, Pair{Visible(f.Title), Visible(f.Text)})
		}
		d.Add(document.NewSection("h-fact", "What this snapshot proves alone", "", factList(facts)))
	}
	if in.Locks != nil {
		d.Add(locksDrawn(in.Locks))
	}
	for i, g := range contentionGroups(s) {
		d.Add(g.section(fmt.Sprintf("h-contention-%d", i+1)))
	}
	if in.Heap != nil {
		t := newHeapTable(in.Heap)
		d.Add(t.section("h-heap"))
	}
	d.Add(m.flame()...)
	d.Add(m.families())
	d.Add(m.labels()...)
	d.Add(m.waits()...)
	d.Add(document.Group{Look: "cols2 below", Blocks: document.Blocks{m.sources(), m.facts()}})
	return out
}

func (m *snapshotMaker) live(address string) string {
	if m.in.Frozen {
		return ""
	}
	return address
}

// steps lead to the neighbours in time.
func (m *snapshotMaker) steps() document.Blocks {
	nav := document.Group{Role: "navigation", Look: "steps", Label: "Neighbours in time"}
	if c := m.in.Previous; c.Value != "" {
		nav.Add(document.Text{{URL: snapshotURL(c.Value, m.in.CaseID), Text: "← " + Visible(c.Text), Link: &document.Link{Rel: "prev"}}})
	}
	if c := m.in.Next; c.Value != "" {
		nav.Add(document.Text{{URL: snapshotURL(c.Value, m.in.CaseID), Text: Visible(c.Text) + " →", Link: &document.Link{Rel: "next"}}})
	}
	if len(nav.Blocks) == 0 {
		return nil
	}
	return document.Blocks{nav}
}

func (m *snapshotMaker) who() string { return printable(m.in.Snapshot.Process.Name.Value) }

func (m *snapshotMaker) shell(headline string) Shell {
	here := m.who()
	if m.in.Snapshot.Label != "" {
		here += ", " + Visible(m.in.Snapshot.Label)
	}
	s := Shell{
		Title: here, Description: headline, Section: "cases", Engine: m.in.Engine, Here: here,
		Crumbs: []Link{{"Cases", "/"}, {Visible(m.in.CaseTitle), caseURL(m.in.CaseID)}},
	}
	if !m.in.Frozen {
		s.Offer(m.here.path, "?"+sameView(m.in.Query, m.in.CaseID), Stacks(hasStacks(m.in.Snapshot)))
	}
	return s
}

// headline counts the snapshot: "kubelet at t6 has 243 goroutines in 77
// families, 29 descriptors and 355 inotify watches."
func (m *snapshotMaker) headline() string {
	s := m.in.Snapshot
	count := map[analysis.Kind]int{}
	for i := range s.Groups {
		if s.Groups[i].Family != nil {
			count[s.Groups[i].Family.Kind]++
		}
	}
	var parts []string
	for _, k := range analysis.Kinds() {
		v := s.Totals.Of(k)
		if v == nil {
			continue
		}
		text := many(s.Totals.Counted(k), *v)
		if s.Bounded(k) {
			text = "at least " + text
		}
		if len(parts) == 0 && count[k] > 0 {
			text += " in " + wording.PagePlural(int64(count[k]), "family", "families")
		}
		parts = append(parts, text)
	}
	at := ""
	if s.Label != "" {
		at = " at " + Visible(s.Label)
	}
	if len(parts) == 0 {
		return m.who() + at + ": nothing that could be counted was captured."
	}
	return m.who() + at + " has " + wording.List(parts, len(parts)) + "."
}

// lead says when, and what the largest family is.
func (m *snapshotMaker) lead() string {
	s := m.in.Snapshot
	text := "The time is unknown; its place among the others is by order."
	if !s.CapturedAt.IsZero() {
		text = "Captured " + wording.Time(s.CapturedAt) + " UTC"
		if s.TimeFact.Source != "" {
			text += ", known from " + Visible(s.TimeFact.Source)
		}
		text += "."
	}
	var top *analysis.Group
	for i := range s.Groups {
		if g := &s.Groups[i]; g.Family != nil && g.Family.Kind == m.main() && (top == nil || g.Count > top.Count) {
			top = g
		}
	}
	if total := s.Totals.Of(m.main()); top != nil && total != nil && *total > 0 {
		text += fmt.Sprintf(" The largest family, %s, holds %s of %s.", Visible(arrow(m.title(top.Family))), wording.Number(int64(top.Count)), many(s.Totals.Counted(m.main()), *total))
	}
	switch n := m.unfamilied(); {
	case n == 1:
		text += " One of them wrote the dump and is in no family."
	case n > 1:
		text += fmt.Sprintf(" %s of them are in no family: they wrote the dump or have no stack.", wording.Number(int64(n)))
	}
	return text
}

// unfamilied returns how many of the goroutines that the dump counts are in no family: those
// that wrote it.
func (m *snapshotMaker) unfamilied() int {
	s := m.in.Snapshot
	total := s.Totals.Of(analysis.KindGoroutine)
	if total == nil || m.main() != analysis.KindGoroutine {
		return 0
	}
	n := *total
	for i := range s.Groups {
		if f := s.Groups[i].Family; f != nil && f.Kind == analysis.KindGoroutine {
			n -= s.Groups[i].Count
		}
	}
	return n
}

// main is the kind that the page opens with.
func (m *snapshotMaker) main() analysis.Kind {
	if m.kind != "" {
		return m.kind
	}
	for _, k := range analysis.Kinds() {
		if m.in.Snapshot.Totals.Of(k) != nil {
			return k
		}
	}
	return analysis.KindGoroutine
}

func (m *snapshotMaker) minds() []string {
	s := m.in.Snapshot
	var out []string
	switch {
	case s.Refused > 0:
		out = append(out, fmt.Sprintf("%s in the dump and not understood: the figures are lower bounds. The problems name the line.", wording.PagePlural(int64(s.Refused), "member was seen", "members were seen")))
	case s.LowerBound:
		out = append(out, "The dump is cut and nothing complete stands beside it: its figures are lower bounds.")
	case s.Truncated:
		out = append(out, "The goroutine dump is cut; totals come from a complete one of the same instant, ids and waits from what was read.")
	}
	if !s.Thinned.IsZero() {
		out = append(out, wording.MembersDropped(s.Thinned))
	}
	for _, k := range analysis.Kinds() {
		if at, ok := s.Times[k]; ok && !s.CapturedAt.IsZero() && !at.Equal(s.CapturedAt) {
			word := "later"
			if at.Before(s.CapturedAt) {
				word = "earlier"
			}
			out = append(out, fmt.Sprintf("The %s were read %s %s than the snapshot's own time.", kindWord(k, 2), wording.PageDuration(at.Sub(s.CapturedAt).Abs()), word))
		}
	}
	if total := s.Totals.Descriptors; total != nil {
		sum := 0
		for i := range s.Groups {
			if s.Groups[i].Family != nil && s.Groups[i].Family.Kind == analysis.KindDescriptor {
				sum += s.Groups[i].Count
			}
		}
		if sum > 0 && sum < *total {
			out = append(out, capital(many(analysis.KindDescriptor, *total-sum))+" not in the listing: the total is counted, the families come from the listing that names endpoints.")
		}
	}
	return out
}

// states are those of all families of the main kind, added up.
func (m *snapshotMaker) states() document.Blocks {
	sum := map[string]int{}
	for i := range m.in.Snapshot.Groups {
		g := &m.in.Snapshot.Groups[i]
		if g.Family == nil || g.Family.Kind != m.main() {
			continue
		}
		for s, n := range g.States {
			sum[s] += n
		}
	}
	out, bar := states("states", sum)
	if bar == nil {
		return nil
	}
	bar.Width = 1216
	const most = 8
	if len(out) > most {
		rest := fmt.Sprintf("%d more states", len(out)-most)
		n := 0
		for _, p := range bar.Parts[most:] {
			n += p.Count
		}
		out = append(out[:most:most], State{rest, wording.Number(int64(n))})
	}
	line := document.Group{Look: "statesline"}
	line.Add(document.Heading{Level: 2, Look: document.Hidden, Text: document.Words("States")}, document.Drawing{Chart: *bar},
		document.Paragraph{Look: "legendline", Text: append(stateText(out), pictureLink(bar.ID, "States")...)})
	return document.Blocks{line}
}

// waits are the histograms of the waits of all families, added up.
func (m *snapshotMaker) waits() document.Blocks {
	if m.main() != analysis.KindGoroutine {
		return nil
	}
	var sum analysis.Group
	for i := range m.in.Snapshot.Groups {
		g := &m.in.Snapshot.Groups[i]
		if g.Family == nil || g.Family.Kind != analysis.KindGoroutine {
			continue
		}
		for k, n := range g.Waits {
			sum.Waits[k] += n
		}
	}
	bars := waitBars("waits", &sum)
	if bars == nil {
		return nil
	}
	note := "All goroutines of this snapshot. A lower bound: it counts from the first garbage collection after parking; “<1” holds those that print none as well."
	return document.Blocks{document.NewSection("h-wait", "Waiting at least, minutes", note, document.Drawing{Chart: *bars})}
}

// flame is the upper part of the flame graph.
func (m *snapshotMaker) flame() document.Blocks {
	if m.in.Flame == nil {
		return nil
	}
	in := FlameInput{CaseID: m.in.CaseID, B: m.in.Snapshot, Tree: m.in.Flame, Titles: m.in.Titles, Query: url.Values{"kind": {string(m.in.Flame.Kind)}}, Frozen: m.in.Frozen}
	drawing := flameExcerpt(in)
	if drawing == nil {
		return nil
	}
	note := fmt.Sprintf("%s by what they call: who created them on top, the first rows of it.", capital(many(m.in.Flame.Kind, m.in.Flame.Root.Count)))
	out := document.NewSection("h-flame", "Flame graph", note, flameLegend(newFlameMaker(in).legend()), document.Drawing{Chart: *drawing})
	if address := m.live(m.here.path + "/flame?" + url.Values{"case": {m.in.CaseID}, "kind": {string(m.in.Flame.Kind)}}.Encode()); address != "" {
		out.End.Add(document.Paragraph{Look: "end", Text: document.Text{document.LinkTo(address, "Open the flame graph")}})
	}
	return document.Blocks{out}
}

// namedFigures are limits and metrics in words and order.
func namedFigures(in map[string]float64) []Pair {
	var out []Pair
	for _, k := range slices.Sorted(maps.Keys(in)) {
		v := in[k]
		text := strconv.FormatFloat(v, 'g', 6, 64)
		switch {
		case strings.HasSuffix(k, "start_time_seconds"):
			k, text = strings.TrimSuffix(k, "_seconds"), wording.Time(time.Unix(int64(v), 0))+" UTC"
		case strings.Contains(k, "bytes"):
			text = wording.Bytes(int64(v))
		case v == float64(int64(v)):
			text = wording.Number(int64(v))
		}
		out = append(out, Pair{strings.ReplaceAll(Visible(k), "_", " "), text})
	}
	return out
}

// sources are the files that were read, with their problems.
func (m *snapshotMaker) sources() document.Group {
	files := document.NewSection("h-art", "Read from", "")
	if len(m.in.Snapshot.Artifacts) == 0 {
		files.Say("empty", "No file is known for this snapshot.")
	}
	list := document.List{Look: "arts"}
	for _, a := range m.in.Snapshot.Artifacts {
		address := ""
		if m.in.BundleID != "" && !strings.HasSuffix(a.Path, "/") && a.Size > 0 {
			address = m.live(RawURL(m.in.BundleID, a.Path, 0, min(a.Size, MaxExcerpt)))
		}
		item := document.Item{}
		item.Add(document.Text{document.Made("path", document.LinkTo(address, Visible(a.Path))), document.Plain(" "), document.Marked(document.Muted, Visible(a.Outcome)+", "+wording.Bytes(a.Size))},
			document.Paragraph{Look: document.Soft, Text: document.Text{document.Marked(document.Strong, Visible(a.Kind)), document.Plain(" "), document.Marked(document.Confidence, string(a.Confidence)), document.Plain(" " + Visible(a.Reason))}})
		list.Items = append(list.Items, item)
	}
	files.Add(list)
	problems := document.NewSection("h-prob", "Problems", "")
	if all := unlinkedProblems(m.in.Snapshot.Problems); len(all) > 0 {
		problems.Add(problemBlock("", all))
	} else {
		problems.Say("empty", "None: every line of these files was understood.")
	}
	return document.Group{Blocks: document.Blocks{files, problems}}
}

// facts are the identity with its sources, and figures.
func (m *snapshotMaker) facts() document.Group {
	p := m.in.Snapshot.Process
	who := document.Terms{}
	for _, f := range []struct {
		name string
		fact analysis.Fact
	}{{"Host", p.Host}, {"Program", p.Name}, {"pid", p.PID}, {"Started", p.Start}, {"Version", p.Version}, {"Captured", m.in.Snapshot.TimeFact}} {
		value, source, sure := Visible(f.fact.Value), Visible(f.fact.Source), string(f.fact.Confidence)
		if f.name == "Captured" && !m.in.Snapshot.CapturedAt.IsZero() {
			value = wording.Time(m.in.Snapshot.CapturedAt) + " UTC"
		}
		if f.name == "Started" {
			value = startWords(value)
		}
		if value == "" {
			value, source, sure = "not known", "not in this snapshot's files", ""
		}
		text := document.Text{document.Plain(value + " "), document.Marked(document.Confidence, sure)}
		if source != "" {
			text = append(text, document.Span{Look: document.NewLine}, document.Marked(document.Muted, source))
		}
		who.Rows = append(who.Rows, document.Term{Name: document.Words(f.name), Blocks: document.Blocks{text}})
	}
	out := document.Group{Role: "complementary", Look: "facts", Label: "Identity and figures", Blocks: document.Blocks{document.NewSection("h-id", "Identity", "", who)}}
	figures := document.Terms{Look: "wide"}
	for _, f := range namedFigures(m.in.Snapshot.Figures) {
		row := f.term()
		row.Look = document.Figured
		figures.Rows = append(figures.Rows, row)
	}
	if len(figures.Rows) > 0 {
		out.Add(document.NewSection("h-fig", "Limits and metrics", "", figures))
	}
	return out
}
