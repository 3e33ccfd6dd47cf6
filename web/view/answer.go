package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// Answer is the first screen of a case: the diagnosis with its proof. Everything else of
// the page is folded below it.
type Answer struct {
	Chips []AnswerChip
	// About is the process or the host, the day and the dumps.
	About string
	// Proved is what the proof begins with, "58 of 58", and Proof the rest of it.
	Proved, Proof string
	// Lanes are the chain of what hangs on what, on one axis, with the totals below; nil for one
	// capture.
	Lanes *chart.LanesData `json:",omitempty"`
	Stack *document.Stack
	// Opened are the stacks of the lanes with their states, Range the time that they are of.
	Opened []AnswerStack `json:",omitempty"`
	Range  *AnswerRange  `json:",omitempty"`
	// Stacks are those of a deadlock, or of the goroutine that failed.
	Stacks []document.Stack
	// Known is what is known where there is no stack.
	KnownTitle string `json:",omitempty"`
	Known      []Pair
	Do         *AnswerDo `json:",omitempty"`
	Facts      []AnswerFact
	// Groups are the largest of a single dump.
	Groups     []AnswerGroup
	GroupsNote string
	// Waits is the first lock of a single dump, nil for none.
	Waits *Pair `json:",omitempty"`
	// Heaps are what the heaps hold, where nothing else was captured.
	Heaps []HeapTable `json:",omitempty"`
	Folds []AnswerFold

	// placed are the findings of the lanes.
	placed []placedRank
}

// AnswerChip is a chip: Look is a verdict, Text its words here.
type AnswerChip struct{ Look, Text string }

// AnswerFact is one of the four lines beside the stack.
type AnswerFact struct {
	Name string
	// Lines are what counts, and the words behind it.
	Lines []Pair
}

// AnswerGroup is a group of a single dump.
type AnswerGroup struct {
	Count, Share, Oldest string
	// Waits reports that Oldest is known.
	Waits   bool
	Name    FamilyName
	Process string
}

// The bounds of what the first screen shows.
const (
	answerFrames = 7
	answerGroups = 7
	nearHours    = 24
)

// answer makes the answer of a case whose parts are made; nil where nothing was read.
func (m *caseMaker) answer(c *Case) *Answer {
	d := &m.in.Report.Diagnosis
	if len(m.columns) == 0 {
		return nil
	}
	a := &Answer{About: m.answerAbout()}
	a.Chips = m.answerChips(d)
	proof := Visible(d.Proof)
	if d.State != string(report.Deadlock) { // which is no matter of growth
		proof = cmp.Or(proof, c.Lead, m.wouldBeSeen())
	}
	if d.Next != nil && d.State != noLeak {
		a.Do = &AnswerDo{Text: Visible(d.Next.Text), Command: Visible(d.Next.Command)}
		for _, step := range d.Steps[min(1, len(d.Steps)):] {
			a.Do.Then = append(a.Do.Then, AnswerDo{Text: Visible(step.Text), Command: Visible(step.Command)})
		}
		if d.Operated && d.Series != nil && !m.in.Frozen {
			if a.Do.Link, a.Do.LinkText = caseURL(m.in.ID)+"/identity", ourProgram; !m.in.NeedsKey { // else that page asks for it
				a.Do.Ours = m.in.Report.Series[*d.Series].Snapshots[0]
			}
		}
		if d.Next.Asks && !m.in.Frozen {
			a.Do.Link, a.Do.LinkText = caseURL(m.in.ID)+"/identity", "Say what they count"
		}
	}
	a.Proved, a.Proof = d.Proved, strings.TrimSpace(strings.TrimPrefix(proof, d.Proved))
	switch {
	case m.number > 1:
		a.Do = nil // the first page shows it
	case d.Series != nil && *d.Series < len(m.in.Report.Series):
		m.accuse(c, a, d)
	case m.single():
		if a.Stacks = m.stuckStacks(d); a.Stacks == nil {
			m.largest(a)
		}
		if len(c.Locks) > 0 && len(c.Locks[0].Lines) > 0 {
			a.Waits = &c.Locks[0].Lines[0]
		}
	default:
		x := m.laneAxis(m.page)
		if a.Lanes = m.drawing(&x, m.page); a.Lanes != nil {
			m.tellRange(a, m.page[0], &x)
		}
		a.Stacks = m.stuckStacks(d)
	}
	if m.number <= 1 && d.Series == nil && d.Limit != "" {
		if d.Since != "" {
			a.Facts = append(a.Facts, AnswerFact{Name: "Since", Lines: []Pair{split(Visible(d.Since), ", ")}})
		}
		a.Facts = append(a.Facts, limitFact(d))
	}
	if a.bare() {
		a.Heaps, c.Heaps = c.Heaps, nil
	}
	m.folds(c, a)
	return a
}

// bare reports an answer that nothing is drawn or listed for.
func (a *Answer) bare() bool {
	return len(a.Groups)+len(a.Stacks)+len(a.Opened)+len(a.Known) == 0 && a.Stack == nil && (a.Lanes == nil || len(a.Lanes.Lanes)+len(a.Lanes.Totals) == 0)
}

// noLeak is the state of what follows its load.
const noLeak = "no leak"

// wouldBeSeen says where nothing grew how small a rise would have been seen; empty where
// several processes differ.
func (m *caseMaker) wouldBeSeen() string {
	if len(m.in.Report.Series) != 1 {
		return ""
	}
	return Visible(m.in.Report.Series[0].Seen)
}

// accuse tells the finding that the diagnosis is about.
func (m *caseMaker) accuse(c *Case, a *Answer, d *report.Diagnosis) {
	s := &m.in.Report.Series[*d.Series]
	i := slices.IndexFunc(s.Findings, func(f report.Finding) bool { return f.Rank == d.Finding })
	if i < 0 {
		return
	}
	f := &s.Findings[i]
	of := []int{*d.Series}
	for _, l := range d.Chain {
		if !slices.Contains(of, l.Series) {
			of = append(of, l.Series)
		}
	}
	for _, ref := range d.Together {
		if ref.Series != *d.Series {
			of = append(of, ref.Series)
		}
	}
	x := m.laneAxis(of)
	if a.Lanes = m.drawing(&x, of); a.Lanes != nil && d.State != noLeak {
		if m.chained(c, a, d, &x); len(d.Together) > 0 {
			a.Lanes.Alike, a.Lanes.Totals = true, nil
		}
		m.marked(c, a)
	}
	m.tellRange(a, *d.Series, &x)
	if m.stacks(a, d, &x); len(a.Opened) == 0 && len(d.Together) == 0 {
		m.withoutStack(a, s, f)
	}
	a.Stacks = m.stuckStacks(d)
	a.Facts = answerFacts(d, paced(d))
}

// paced is the noun that the rate counts: of the first link with a course, empty without.
func paced(d *report.Diagnosis) string {
	for _, l := range d.Chain {
		if l.Course != nil {
			return Visible(l.Noun)
		}
	}
	return ""
}

func (m *caseMaker) labelOf(id string) string {
	if snap := m.snapshots[id]; snap != nil {
		return Visible(snap.Label)
	}
	return ""
}

// placedRank is the place of a finding in the report.
type placedRank struct{ series, rank int }

// anchors returns those of the findings that the page tells in full.
func (m *caseMaker) anchors(c *Case) map[placedRank]string {
	out := map[placedRank]string{}
	list := m.ranked(m.page)
	for i, r := range list[:min(len(list), len(c.Findings))] {
		out[placedRank{r.series, r.f.Rank}] = c.Findings[i].Anchor
		for k, below := range r.below {
			if k < len(c.Findings[i].Behind) {
				out[placedRank{below.series, below.f.Rank}] = c.Findings[i].Behind[k].Anchor
			}
		}
	}
	return out
}

// answerChips are the state, a limit that is near, the release that mends it, and the end.
func (m *caseMaker) answerChips(d *report.Diagnosis) []AnswerChip {
	out := []AnswerChip{stateChip(d.State)}
	if l := d.LimitClaim; l != nil && d.State != string(report.AtItsLimit) && (l.State == report.LimitReached || l.State == report.LimitSoon && l.HoursLeft <= nearHours) {
		out = append(out, AnswerChip{Look: "limit", Text: Visible(l.Chip())})
	}
	if fix := m.in.Report.Fix(); fix != "" {
		out = append(out, AnswerChip{Look: "limit", Text: Visible(fix)})
	}
	if series, at := d.End(); at >= 0 {
		out = append(out, AnswerChip{Look: "ended", Text: "ended at " + m.labelOf(m.in.Report.Series[series].Snapshots[at])})
	}
	return out
}

// answerAbout says in a few words what was captured where and when.
func (m *caseMaker) answerAbout() string {
	all := m.in.Report.Series
	hosts := map[string]bool{}
	for i := range all {
		if all[i].Host != nil && *all[i].Host != "" {
			hosts[Visible(*all[i].Host)] = true
		}
	}
	what := named(&all[0])
	if len(all) > 1 {
		what = wording.PagePlural(int64(len(all)), "process", "processes")
	}
	if len(hosts) == 1 {
		for host := range hosts {
			what += " on " + host
		}
	} else if len(hosts) > 1 {
		what += " on " + wording.PagePlural(int64(len(hosts)), "host", "hosts")
	}
	parts := []string{what}
	var times []column
	for _, k := range m.columns {
		if !k.at.IsZero() {
			times = append(times, k)
		}
	}
	if len(times) > 0 {
		parts = append(parts, wording.Day(times[0].at))
	}
	more := 0 // captures that are not judged, which have no column
	for _, i := range m.aligned() {
		more = max(more, len(all[i].Captures)-len(all[i].Snapshots))
	}
	dumps := wording.PagePlural(int64(len(m.columns)+more), "dump", "dumps")
	if len(times) > 1 {
		if span := times[len(times)-1].at.Sub(times[0].at); span > 0 {
			if span >= 5*time.Minute {
				span = span.Round(time.Minute)
			}
			dumps += " in " + wording.PageDuration(span)
		}
	}
	if more > 0 {
		dumps += ", " + wording.Judged(len(m.columns))
	}
	return strings.Join(append(parts, dumps), ", ")
}

// withoutStack lists what is known of a finding that has no stack.
func (m *caseMaker) withoutStack(a *Answer, s *report.Series, f *report.Finding) {
	a.KnownTitle = "Open files by kind"
	for _, print := range f.Families {
		for i := range s.Families {
			x := &s.Families[i]
			if x.Fingerprint != print || len(a.Known) == 4 || analysis.IsWhole(x.Attributes) {
				continue
			}
			if x.Kind != analysis.KindDescriptor {
				a.KnownTitle = "What grew, by kind"
			}
			n, all := -1, -1
			if last := x.Counts.LastAt(); last >= 0 {
				n = x.Counts[last].N
				if totals := m.totals(s, x.Kind); totals[last].Known() {
					all = totals[last].N
				}
			}
			count := ""
			if n >= 0 && all >= n {
				count = wording.Number(int64(n)) + " of " + wording.Number(int64(all)) + " " + kindWord(x.Kind.Worded(x.Attributes), all)
			}
			a.Known = append(a.Known, Pair{m.name(s, x).Text(), count})
		}
	}
}

// answerFacts are since when, how fast, until which limit and how sure, in this order.
func answerFacts(d *report.Diagnosis, noun string) []AnswerFact {
	since := AnswerFact{Name: "Since", Lines: []Pair{split(cmp.Or(Visible(d.Since), "not known"), ", ")}}
	rate := cmp.Or(Visible(d.Rate), "not known")
	if c := d.Claims; c != nil && c.PerHour > 0 && noun != "" {
		figure, unit := wording.Pace(c.PerHour)
		if figure == "1" && c.One != "" {
			noun = c.One
		}
		rate = "+" + figure + " " + noun + " " + unit
	}
	fast := AnswerFact{Name: "How fast", Lines: []Pair{{rate, ""}}}
	sure := AnswerFact{Name: "How sure"}
	for _, x := range []struct {
		name string
		of   *report.Certainty
	}{{"Growing", d.Growth}, {"Cause", d.Cause}} {
		if x.of != nil && !(x.name == "Cause" && d.State == noLeak) {
			sure.Lines = append(sure.Lines, Pair{x.name + ": " + x.of.Word, ", " + Visible(x.of.Reason)})
		}
	}
	if d.Beside != "" {
		beside := AnswerFact{Name: "Beside"}
		for text := range strings.SplitSeq(d.Beside, "; ") {
			beside.Lines = append(beside.Lines, Pair{"", Visible(text)})
		}
		return []AnswerFact{since, fast, limitFact(d), beside, sure}
	}
	return []AnswerFact{since, fast, limitFact(d), sure}
}

func limitFact(d *report.Diagnosis) AnswerFact {
	return AnswerFact{Name: "Limit", Lines: []Pair{split(cmp.Or(Visible(d.Limit), "none is known"), ": ")}}
}

// split divides a line behind what counts.
func split(text, at string) Pair {
	if i := strings.Index(text, at); i >= 0 {
		return Pair{text[:i], text[i:]}
	}
	return Pair{text, ""}
}

// stuckStacks returns where those in the deadlock of an answer wait, where the goroutine failed, or
// where one waits for a connection for good; nil for any other answer.
func (m *caseMaker) stuckStacks(d *report.Diagnosis) (out []document.Stack) {
	if d.State != string(report.Deadlock) && d.State != string(report.Crashed) && d.State != string(report.Saturated) {
		return nil
	}
	for _, i := range m.page {
		for _, t := range m.in.Report.Series[i].StuckTraces() {
			out = append(out, *newStack(t.Short(answerFrames), nil))
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// largest lists the largest groups of single dumps.
func (m *caseMaker) largest(a *Answer) {
	type group struct {
		s      *report.Series
		series int
		f      *report.Family
		n      int
	}
	var all []group
	for _, i := range m.page {
		s := &m.in.Report.Series[i]
		for _, f := range s.Largest() {
			all = append(all, group{s, i, f, f.Counts[0].N})
		}
	}
	slices.SortStableFunc(all, func(x, y group) int { return report.LargerFirst(x.f, y.f) })
	for _, g := range all[:min(len(all), answerGroups)] {
		row := AnswerGroup{Count: wording.Number(int64(g.n)), Name: m.name(g.s, g.f)}
		if len(m.in.Report.Series) > 1 {
			row.Process = m.processName(g.s)
		}
		if total := m.totals(g.s, g.f.Kind)[0]; total.Any() {
			row.Share = wording.PageShare(float64(g.n), float64(total.N), 0)
		}
		w := g.f.OldestWait
		row.Waits = w != nil
		switch {
		case w == nil:
			row.Oldest = "n/a"
		case *w == 0:
			row.Oldest = "< 1 min"
		default:
			row.Oldest = "≥ " + wording.PagePlural(int64(*w), "min", "min")
		}
		a.Groups = append(a.Groups, row)
	}
	if len(all) > 0 {
		if t := m.more(all[0].series).Largest; t != nil {
			a.Stack = newStack(t.Short(answerFrames), nil)
		}
	}
	names := &together{}
	for i := range a.Groups {
		names.add(&a.Groups[i].Name, all[i].f.Fingerprint)
	}
	names.tellApart()
	if more := len(all) - len(a.Groups); more > 0 {
		a.GroupsNote = wording.PagePlural(int64(more), "more group", "more groups") + " below, in Groups."
	}
}
