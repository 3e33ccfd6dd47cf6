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
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
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
	// Flame is the merged stacks of the kind that the page opens with, nil for none.
	Flame  *flame.Tree
	Query  url.Values
	Engine string
	Frozen bool
}

// Snapshot is the page of one snapshot.
type Snapshot struct {
	Shell          Shell
	Frozen         bool
	ID, CaseID     string
	Headline       string
	Lead           string
	Previous, Next *Link
	Totals         []Pair
	States         []State
	StatesBar      *chart.StatesData
	// Waits is the histogram of the waits that were printed, nil where none was.
	Waits    *chart.BarsData
	WaitNote string
	// Flame is the upper part of the flame graph, whose page is at FlameURL.
	Flame               *chart.FlameData
	FlameURL, FlameNote string
	FlameLegend         []FlameKey
	Figures             []Pair
	Minds               []string
	// Facts are what this snapshot proves alone: a deadlock and the like.
	Facts        []Pair
	Locks        *LockGroup        `json:",omitempty"`
	Contention   []ContentionGroup `json:",omitempty"`
	Tabs         []DiffTab
	Kind         string
	Box          FilterBox
	Applied      string
	Heads        []DiffHead
	Families     []SnapshotFamily
	FamiliesNote string
	// Single are the families with one member, folded behind SingleNote.
	Single     []SnapshotFamily
	SingleNote string
	Others     []ChoiceGroup
	// MoreOthers says that the case has more snapshots.
	MoreOthers bool `json:",omitempty"`
	Artifacts  []SnapshotArtifact
	Problems   []Problem
	Identity   []SnapshotFact
}

// SnapshotFamily is one row of the table of families.
type SnapshotFamily struct {
	Name         FamilyName
	Count, Share string
	Bar          *chart.StatesData
	States       string
	Wait         string
	// Triage is what a person decided about the family, empty for nothing.
	Triage      string
	fingerprint string
}

// SnapshotArtifact is one file that was read.
type SnapshotArtifact struct {
	Path, Kind, Reason, Outcome, Size, URL, Confidence string
}

// SnapshotFact is one line of the identity with its source.
type SnapshotFact struct {
	Name, Value, Source, Confidence string
}

const maxSnapshotFamilies = 500

type snapshotMaker struct {
	in   SnapshotInput
	kind analysis.Kind
	here address
}

// NewSnapshot makes the page of a snapshot.
func NewSnapshot(in SnapshotInput) Snapshot {
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
	out := Snapshot{
		Frozen: in.Frozen, ID: s.ID, CaseID: in.CaseID, Kind: string(m.kind),
		Headline: m.headline(), Lead: m.lead(), Minds: m.minds(), Problems: unlinkedProblems(s.Problems),
	}
	for _, k := range analysis.Kinds() {
		if v := s.Totals.Of(k); v != nil {
			out.Totals = append(out.Totals, Pair{kindWord(s.Totals.Counted(k), *v), atLeast(wording.Number(int64(*v)), s.Bounded(k))})
		}
	}
	for _, f := range s.Statements {
		out.Facts = append(out.Facts, Pair{Visible(f.Title), Visible(f.Text)})
	}
	if in.Locks != nil {
		group := newLockGroup(in.Locks)
		group.Shapes = lockShapes(in.Locks)
		out.Locks = &group
	}
	out.Contention = contentionGroups(s)
	out.States, out.StatesBar = m.states()
	m.waits(&out)
	m.flame(&out)
	out.Figures = namedFigures(s.Figures)
	count := map[analysis.Kind]int{}
	for i := range s.Groups {
		if f := s.Groups[i].Family; f != nil {
			count[f.Kind]++
		}
	}
	out.Tabs, out.Heads = m.here.kinds(len(s.Groups), count, m.kind), m.heads()
	m.families(&out)
	m.artifacts(&out)
	m.identity(&out)
	if !in.Frozen {
		choices, more := fewChoices(in.Others, s.ID)
		choices = slices.DeleteFunc(slices.Clone(choices), func(c Choice) bool { return c.Value == s.ID })
		out.Others, out.MoreOthers = groupChoices(choices), more
		out.Previous, out.Next = m.neighbour(in.Previous), m.neighbour(in.Next)
	}
	out.Shell = m.shell(out.Headline)
	return out
}

func (m *snapshotMaker) live(address string) string {
	if m.in.Frozen {
		return ""
	}
	return address
}

func (m *snapshotMaker) neighbour(c Choice) *Link {
	if c.Value == "" {
		return nil
	}
	return &Link{Text: Visible(c.Text), URL: snapshotURL(c.Value, m.in.CaseID)}
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

// states adds the states of all families of the main kind up.
func (m *snapshotMaker) states() ([]State, *chart.StatesData) {
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
	if bar != nil {
		bar.Width = 1216
	}
	const most = 8
	if len(out) > most {
		rest := fmt.Sprintf("%d more states", len(out)-most)
		n := 0
		for _, p := range bar.Parts[most:] {
			n += p.Count
		}
		out = append(out[:most:most], State{rest, wording.Number(int64(n))})
	}
	return out, bar
}

// waits adds the wait histograms of all families up.
func (m *snapshotMaker) waits(out *Snapshot) {
	if m.main() != analysis.KindGoroutine {
		return
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
	if out.Waits = waitBars("waits", &sum); out.Waits == nil {
		return
	}
	out.WaitNote = "All goroutines of this snapshot. A lower bound: it counts from the first garbage collection after parking; “<1” holds those that print none as well."
}

// flame adds the upper part of the flame graph.
func (m *snapshotMaker) flame(out *Snapshot) {
	if m.in.Flame == nil {
		return
	}
	in := FlameInput{CaseID: m.in.CaseID, B: m.in.Snapshot, Tree: m.in.Flame, Titles: m.in.Titles, Query: url.Values{"kind": {string(m.in.Flame.Kind)}}, Frozen: m.in.Frozen}
	if out.Flame = flameExcerpt(in); out.Flame == nil {
		return
	}
	out.FlameLegend = newFlameMaker(in).legend()
	out.FlameURL = m.live(m.here.path + "/flame?" + url.Values{"case": {m.in.CaseID}, "kind": {string(m.in.Flame.Kind)}}.Encode())
	out.FlameNote = fmt.Sprintf("%s by what they call: who created them on top, the first rows of it.", capital(many(m.in.Flame.Kind, m.in.Flame.Root.Count)))
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

func (m *snapshotMaker) artifacts(out *Snapshot) {
	for _, a := range m.in.Snapshot.Artifacts {
		row := SnapshotArtifact{
			Path: Visible(a.Path), Kind: Visible(a.Kind), Reason: Visible(a.Reason), Outcome: Visible(a.Outcome),
			Size: wording.Bytes(a.Size), Confidence: string(a.Confidence),
		}
		if m.in.BundleID != "" && !strings.HasSuffix(a.Path, "/") && a.Size > 0 {
			row.URL = m.live(RawURL(m.in.BundleID, a.Path, 0, min(a.Size, MaxExcerpt)))
		}
		out.Artifacts = append(out.Artifacts, row)
	}
}

func (m *snapshotMaker) identity(out *Snapshot) {
	p := m.in.Snapshot.Process
	for _, f := range []struct {
		name string
		fact analysis.Fact
	}{{"Host", p.Host}, {"Program", p.Name}, {"pid", p.PID}, {"Started", p.Start}, {"Version", p.Version}, {"Captured", m.in.Snapshot.TimeFact}} {
		fact := SnapshotFact{Name: f.name, Value: Visible(f.fact.Value), Source: Visible(f.fact.Source), Confidence: string(f.fact.Confidence)}
		if f.name == "Captured" && !m.in.Snapshot.CapturedAt.IsZero() {
			fact.Value = wording.Time(m.in.Snapshot.CapturedAt) + " UTC"
		}
		if f.name == "Started" {
			fact.Value = startWords(fact.Value)
		}
		if fact.Value == "" {
			fact.Value, fact.Source = "not known", "not in this snapshot's files"
			fact.Confidence = ""
		}
		out.Identity = append(out.Identity, fact)
	}
}
