package view

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// FamilyInput is what a family page is made from. Labels, Times, Counts and
// Groups have one entry per snapshot of the series; Groups are nil where the
// family is absent.
type FamilyInput struct {
	CaseID, CaseTitle, Process string
	Family                     report.Family
	Judgement                  analysis.Judgement
	Labels                     []string
	Times                      []time.Time
	Counts                     []*int
	// Epochs are the epoch of each snapshot, nil for one epoch.
	Epochs []int
	// Lower says of each snapshot whether its count is a lower bound.
	Lower  []bool
	Groups []*analysis.Group
	// Lifelines are in order of first sight.
	Lifelines []trend.Lifeline
	Steps     []family.Step
	// IDs are those of the snapshots, SeriesKey names the series in addresses.
	IDs       []string
	SeriesKey string
	Events    []trend.Event
	// Hours are the births by the ages in snapshot SnapshotIndex.
	Hours []trend.Births
	Kin   FamilyKin
	Locks []trend.Hold
	// Statements are what snapshot SnapshotIndex proves alone.
	Statements []analysis.Statement
	Bisection  trend.Bisection
	Triage     TriageInput
	// Modules are the prefixes of the reader's own functions, separated by blanks.
	Modules string
	// Watched says what the watches of snapshot SnapshotIndex are on.
	Watched []analysis.Target
	// Members are those of snapshot SnapshotIndex.
	Members       []FamilyMember
	SnapshotIndex int
	Sightings     []Sighting
	// MoreSightings counts the places in other cases that Sightings leaves out.
	MoreSightings int
	RawExcerpt    []RawLine
	RawTitle      string
	// RawDeep is the size of the archive that RawTitle lies in, if it is too large to be
	// unpacked unasked.
	RawDeep string
	// RawURL is the excerpt's own page, empty for none.
	RawURL string
	Engine string
	Frozen bool
	// Catalogue is what was asked about the family, nil for nothing.
	Catalogue *knowledge.Catalogue
}

// FamilyMember is a member with the address of its raw lines.
type FamilyMember struct {
	Member analysis.Member
	RawURL string
}

// Sighting is a place where the family was seen as well.
type Sighting struct {
	CaseTitle, URL, Counts string
	// Verdict is how it ended there, Said what people made of it.
	Verdict, Said string
}

// Family is the page of one family.
type Family struct {
	Shell    Shell
	Frozen   bool
	Headline string
	// Sentence is the headline without the name, for below the title.
	Sentence    string
	Name        FamilyName
	Path        string
	Verdict     string
	Chips       []string
	Fingerprint string
	Figures     []KeyFigure
	Why         string
	Lead        string
	Evidence    []Pair
	// Cannot is what the verdict does not exclude, Decides what would change it.
	Cannot, Decides []string
	Onset           string
	Role, RoleText  string
	Unit            *FamilyUnit
	Holders, Behind []CaseShare
	Locks           []FamilyLock
	// Stated is what the snapshot states of these members: whose lock they wait for.
	Stated         []Pair
	Versions       *FamilyVersions
	HourBars, Ages *chart.BarsData
	HourNote       string
	IsThread       bool
	Members        chart.MembersData
	MembersNote    string
	Lifelines      *chart.LifelinesData
	LifeNote       string
	Births         *chart.BarsData
	BirthNote      string
	// StatesOver are the states in every snapshot, nil where there are no two.
	StatesOver     *chart.StackData
	StatesOverNote string
	Waits          *chart.BarsData
	At             string
	States         []State
	StatesBar      *chart.StatesData
	StateNote      string
	Steps          []NormStep
	Attributes     []Pair
	Key            string
	KeyNote        string
	Variants       []FamilyVariant
	Watched        []WatchedRow
	WatchedNote    string
	Rows           []MemberRow
	RowsNote       string
	HasWaits       bool
	IDHead         string
	Raw            []RawLine
	RawTitle       string
	// RawDeep says why there are no raw lines, if a link leads to them.
	RawDeep       string
	RawURL        string
	Sightings     []Sighting
	MoreSightings string
	// Triage is nil on frozen pages where nobody said anything.
	Triage *FamilyTriage
	// Knowledge is nil on pages that were frozen before there was a catalogue.
	Knowledge *FamilyKnowledge
}

// KeyFigure is one key figure: the value and what it is.
type KeyFigure struct {
	Value, Text string
	// Delta is set where the value is a change.
	Delta    int
	IsChange bool
}

// NormStep is one line of the normalisation table. Kept and Cut are the printed
// text: what the rule left and what it cut off, in pieces.
type NormStep struct {
	Number  string
	Pieces  []NormPiece
	Rule    string
	Title   bool
	Creator bool
	Dropped bool
	To      Func
}

// NormPiece is a stretch of printed text; Cut ones are not part of the key.
type NormPiece struct {
	Text string
	Cut  bool
}

// FamilyVariant is one exact stack of the family.
type FamilyVariant struct {
	Count, Fingerprint string
	Frames             []FrameLine
	Creator            *FrameLine
	// Runs are the same frames with those folded that are not of one's own modules;
	// empty where no modules are known.
	Runs []FrameRun
	// Text is the stack to be copied.
	Text string
}

// FrameRun is a stretch of frames; a folded one is opened by the reader.
type FrameRun struct {
	Fold   string
	Frames []FrameLine
}

// MemberRow is one member of the chosen snapshot.
type MemberRow struct {
	ID, First, Seen, Wait, State, Detail string
	RawText, RawURL                      string
}

const (
	maxMemberRows = 200
	maxVariants   = 8
)

type familyMaker struct {
	in FamilyInput
	// whole are the counts that are no lower bounds.
	whole []*int
}

// NewFamily makes the page of a family.
func NewFamily(in FamilyInput) Family {
	m := familyMaker{in, whole(in.Counts, in.Lower)}
	f := Family{
		Frozen: in.Frozen, Verdict: string(in.Judgement.Verdict), Fingerprint: Visible(in.Family.Fingerprint),
		Key: Visible(in.Family.Fingerprint), RawTitle: Visible(in.RawTitle), Raw: in.RawExcerpt,
		HasWaits: in.Family.Kind == analysis.KindGoroutine, IsThread: in.Family.Kind == analysis.KindThread,
	}
	f.Name = newFamilyName(in.Family.Title, in.Family.Kind, in.Family.Frames, in.Family.CreatedBy, in.Family.Attributes)
	f.Path = f.Name.Package
	if in.SnapshotIndex >= 0 && in.SnapshotIndex < len(in.Labels) {
		f.At = Visible(in.Labels[in.SnapshotIndex])
	}
	f.Sentence = m.sentence()
	f.Headline = f.Name.Text() + " in " + f.Sentence
	m.chips(&f)
	m.figures(&f)
	m.why(&f)
	m.charts(&f)
	m.group(&f)
	m.steps(&f)
	m.variants(&f)
	m.watched(&f)
	m.members(&f)
	m.kin(&f)
	f.Knowledge = newFamilyKnowledge(in.Family, in.Catalogue, in.Frozen)
	m.hourBars(&f)
	if !in.Frozen {
		f.RawURL = in.RawURL
		if in.RawDeep != "" && in.RawURL != "" {
			f.RawDeep = "The lines lie in an archive of " + in.RawDeep + ", which is unpacked when you open them."
		}
	}
	if !in.Frozen {
		// The titles of other cases are nothing that the reader of a shared page shall see.
		if in.MoreSightings > 0 {
			f.MoreSightings = wording.PagePlural(int64(in.MoreSightings), "more place", "more places") + " not listed, in older captures."
		}
		for _, s := range in.Sightings {
			f.Sightings = append(f.Sightings, Sighting{CaseTitle: Visible(s.CaseTitle), Counts: Visible(s.Counts), URL: s.URL, Verdict: s.Verdict, Said: Visible(s.Said)})
		}
	}
	m.triage(&f)
	f.Shell = m.shell(f)
	return f
}

func (m *familyMaker) shell(f Family) Shell {
	s := Shell{Title: f.Name.Text() + ", " + printable(m.in.Process), Description: f.Headline, Section: "cases", Engine: m.in.Engine}
	s.Crumbs = []Link{{"Cases", "/"}, {Visible(m.in.CaseTitle), caseURL(m.in.CaseID)}}
	s.Here = printable(m.in.Process) + ", family"
	if !m.in.Frozen {
		base := "/families/" + url.PathEscape(m.in.Family.Fingerprint)
		q := url.Values{"case": {m.in.CaseID}}
		if m.in.SeriesKey != "" {
			q.Set("series", m.in.SeriesKey)
		}
		if at := m.in.SnapshotIndex; at >= 0 && at < len(m.in.IDs) {
			q.Set("at", m.in.IDs[at])
		}
		s.Offer(base, "?"+q.Encode(), WithoutStacks)
	}
	return s
}

// sentence is the family in figures: "containerd: 0 goroutines at t0, 24 at t7,
// 0 at t8."
func (m *familyMaker) sentence() string {
	first, top := bounds(m.whole)
	if at := lastKnown(m.in.Counts); first < 0 && at >= 0 {
		return printable(m.in.Process) + ": " + atLeast(many(m.in.Family.Kind, *m.in.Counts[at]), true) + " at " + m.label(at) + ", a lower bound."
	}
	if first < 0 {
		return printable(m.in.Process) + ": not captured in any snapshot."
	}
	// The epoch that rose most is told with its first, highest and last figure; a
	// restart after it with what the new process began with.
	start, end := m.epochStart(top), len(m.in.Counts)
	for _, at := range m.restarts() {
		if at > top {
			end = at
			break
		}
	}
	if k := m.firstOf(top); start > 0 || m.whole[first] == nil {
		first = k
	}
	var parts []string
	said := map[int]bool{}
	for _, i := range []int{first, top, lastKnown(m.whole[:end])} {
		if said[i] || i < 0 || m.whole[i] == nil {
			continue
		}
		said[i] = true
		text := wording.Number(int64(*m.in.Counts[i]))
		if len(parts) == 0 {
			text = many(m.in.Family.Kind, *m.in.Counts[i])
		}
		parts = append(parts, text+" at "+m.label(i))
	}
	for _, at := range m.restarts() {
		if at >= end && m.whole[at] != nil {
			parts = append(parts, "restarted with "+wording.Number(int64(*m.in.Counts[at]))+" at "+m.label(at))
		}
	}
	if last := lastKnown(m.whole); last > end && !slices.Contains(m.restarts(), last) {
		parts = append(parts, wording.Number(int64(*m.in.Counts[last]))+" at "+m.label(last))
	}
	return printable(m.in.Process) + ": " + strings.Join(parts, ", ") + "."
}

func lastKnown(counts []*int) int {
	for i := len(counts) - 1; i >= 0; i-- {
		if counts[i] != nil {
			return i
		}
	}
	return -1
}

func (m *familyMaker) label(i int) string {
	if i < 0 || i >= len(m.in.Labels) {
		return "?"
	}
	return Visible(m.in.Labels[i])
}

func (m *familyMaker) chips(f *Family) {
	f.Chips = append(f.Chips, printable(m.in.Process), kindWord(m.in.Family.Kind, 2))
	if m.in.Family.Unit != nil {
		f.Chips = append(f.Chips, "unit "+Visible(*m.in.Family.Unit))
	}
	for _, c := range m.in.Family.Classes {
		f.Chips = append(f.Chips, Visible(c))
	}
}

func (m *familyMaker) figures(f *Family) {
	first, top := bounds(m.in.Counts)
	if first < 0 {
		return
	}
	at := m.in.SnapshotIndex
	if at < 0 || at >= len(m.in.Counts) || m.in.Counts[at] == nil {
		at = top
	}
	n := *m.in.Counts[at]
	first = m.firstOf(at)
	cut := isLower(m.in.Lower, at)
	f.Figures = append(f.Figures, KeyFigure{Value: atLeast(wording.Number(int64(n)), cut), Text: "members at " + m.label(at)})
	if cut {
		// A lower bound is no change since anything.
	} else if first != at {
		f.Figures = append(f.Figures, KeyFigure{IsChange: true, Delta: n - *m.in.Counts[first], Text: "since " + m.label(first)})
	} else if m.epochStart(at) > 0 {
		f.Figures = append(f.Figures, KeyFigure{Value: "restarted", Text: "before " + m.label(at) + ": nobody is older"})
	}
	if s := m.in.Judgement.Survivors; s >= 0 {
		f.Figures = append(f.Figures, KeyFigure{Value: wording.Number(int64(s)), Text: "survivors since the growth began"})
	}
	if g := m.chosen(); g != nil && f.HasWaits && g.OldestWait >= 0 {
		f.Figures = append(f.Figures, KeyFigure{Value: wording.Wait(g.OldestWait), Text: "oldest wait at " + m.label(m.in.SnapshotIndex)})
	} else if m.in.Family.OldestWait != nil {
		f.Figures = append(f.Figures, KeyFigure{Value: wording.Wait(*m.in.Family.OldestWait), Text: "oldest wait"})
	}
	if m.in.Judgement.Slope != 0 && grows(m.in.Judgement.Verdict) {
		f.Figures = append(f.Figures, KeyFigure{Value: slope(m.in.Judgement.Slope, m.in.Judgement.SlopeUnit), Text: "slope"})
	}
	if v := m.variantCount(); v > 0 {
		f.Figures = append(f.Figures, KeyFigure{Value: itoa(int64(v)), Text: plainPlural(v, "exact stack", "exact stacks")})
	}
}

// slope writes a rate as the evidence does: "+766/h", "+2.1 per snapshot",
// "−0.04/h".
func slope(v float64, unit string) string {
	s := strconv.FormatFloat(math.Abs(v), 'g', 3, 64)
	if math.Abs(v) >= 100 {
		s = wording.Number(int64(math.Round(math.Abs(v))))
	}
	sign := ""
	switch {
	case v > 0:
		sign = "+"
	case v < 0:
		sign = minus
	}
	switch unit {
	case "per hour":
		return sign + s + "/h"
	case "":
		unit = "per snapshot"
	}
	return sign + s + " " + Visible(unit)
}

func plainPlural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func (m *familyMaker) chosen() *analysis.Group {
	if i := m.in.SnapshotIndex; i >= 0 && i < len(m.in.Groups) {
		return m.in.Groups[i]
	}
	return nil
}

func (m *familyMaker) variantCount() int {
	if g := m.chosen(); g != nil {
		return len(g.Variants)
	}
	return 0
}

func (m *familyMaker) why(f *Family) {
	if f.Verdict == "" {
		f.Why = "No verdict"
	} else {
		f.Why = "Why " + verdictWord(f.Verdict)
	}
	f.Evidence, f.Cannot, f.Decides = reasonsOf(m.in.Judgement.Evidence)
	if o := m.in.Family.Onset; o != nil && o.Text != "" {
		f.Onset = "The growth " + Visible(o.Text) + "."
	}
	switch m.in.Judgement.Verdict {
	case analysis.Leaking, analysis.Scaling:
		if len(m.in.Labels) < 2 {
			f.Lead = "One snapshot shows no growth: the ages of its members are those that only a leak leaves behind."
			break
		}
		f.Lead = "Members born over several intervals that do not leave. A count alone would not be enough."
	case analysis.Suspicious:
		if len(m.in.Labels) < 2 {
			f.Lead = "One snapshot shows no growth: the ages of its members are those that a leak leaves behind."
			break
		}
		f.Lead = "It rises, but what would prove that nobody leaves is missing."
	case analysis.TooFewPoints:
		f.Lead = "Too few snapshots to say whether this grows."
	}
	if at := m.in.Judgement.RecoveredAt; at >= 0 && at < len(m.in.Labels) {
		f.Lead = strings.TrimSpace(f.Lead + " The cause went away at " + m.label(at) + "; the part before it was judged.")
	}
}

func (m *familyMaker) charts(f *Family) {
	labels := make([]string, len(m.in.Labels))
	for i := range labels {
		labels[i] = m.label(i)
	}
	f.Members = chart.MembersData{ID: "members", Title: "Members per snapshot", Labels: labels, Times: m.in.Times, Values: m.in.Counts, RecoveredAt: m.in.Judgement.RecoveredAt, A: -1, B: -1}
	f.Members.Epochs, f.Members.Lower = m.restarts(), m.in.Lower
	f.Members.Onset = spanOf(m.in.Family.Onset, func(id string) int { return slices.Index(m.in.IDs, id) })
	f.Members.Events = eventMarks(m.in.Events, m.in.Times)
	f.MembersNote = m.membersNote(f)
	m.statesOver(f)
	if len(labels) < 2 {
		f.LifeNote = "One snapshot has no lifelines: a second one shows who stays."
		return
	}
	if len(m.in.Lifelines) == 0 {
		f.LifeNote = "The members cannot be followed: this evidence names no ids."
		return
	}
	life := &chart.LifelinesData{ID: "life", Title: "Members from birth to last sight", Labels: labels, Values: m.in.Counts, RecoveredAt: m.in.Judgement.RecoveredAt}
	births := make([]int, len(labels))
	for _, l := range m.in.Lifelines {
		life.Lives = append(life.Lives, chart.Life{Name: identityText(m.in.Family.Kind, l.Identity), First: l.First, Last: l.Last})
		if l.First >= 0 && l.First < len(births) {
			births[l.First]++
		}
	}
	f.Lifelines = life
	f.LifeNote = "One line per " + kindWord(m.in.Family.Kind, 1) + ", from birth to last sight; the first of each cohort is named."
	if len(labels) < 2 {
		return
	}
	bars := &chart.BarsData{ID: "births", Title: "Births per interval", What: "First seen at", Growth: true}
	known := m.firstSeen()
	for i := known + 1; i < len(births); i++ {
		if slices.Contains(f.Members.Epochs, i) {
			continue // a new process: all that it has were first seen here
		}
		bars.Bars = append(bars.Bars, chart.Bar{Label: labels[i], Count: births[i]})
	}
	f.Births = bars
	f.BirthNote = "First seen at this snapshot and not at the one before."
	if births[known] > 0 {
		f.BirthNote += fmt.Sprintf(" %d were there at %s already.", births[known], labels[known])
	}
	for _, at := range f.Members.Epochs {
		f.BirthNote += fmt.Sprintf(" %d are of the process that was started before %s and are not counted here.", births[at], labels[at])
	}
	if gaps := chart.Gaps(m.in.Times); len(gaps) > 0 {
		f.BirthNote += " The interval before " + labels[gaps[0].At] + " lasted " + wording.PageDuration(gaps[0].Duration) + "."
	}
}

// statesOver stacks the states of the members, where there are several of both.
func (m *familyMaker) statesOver(f *Family) {
	if len(m.in.Labels) < 2 {
		return
	}
	d := chart.StackData{ID: "states-over", Title: "States per snapshot", Unit: kindWord(m.in.Family.Kind, 2), Labels: f.Members.Labels, Times: m.in.Times, Totals: m.in.Counts, Epochs: m.restarts(), Lower: m.in.Lower}
	states := make([]map[string]int, len(m.in.Groups))
	for i, g := range m.in.Groups {
		if g != nil {
			states[i] = g.States
		}
	}
	if stackStates(&d, states) {
		f.StatesOver, f.StatesOverNote = &d, stackNote(d, statesWords)
	}
}

// membersNote explains the marks that the chart of members has.
func (m *familyMaker) membersNote(f *Family) string {
	note := "True time scale"
	for _, mark := range []struct {
		words string
		shown bool
	}{
		{"dotted: no evidence", len(chart.Gaps(m.in.Times)) > 0},
		{"orange band: the growth began there", f.Members.Onset != nil},
		{"△: a cut dump, at least as many", slices.Contains(m.in.Lower, true)},
		{"blue band: recovery", f.Members.RecoveredAt >= 0},
		{"dashed: restart", len(f.Members.Epochs) > 0},
	} {
		if mark.shown {
			note += "; " + mark.words
		}
	}
	for _, e := range f.Members.Events {
		note += "; " + e.Text + " " + e.When(f.Members.Labels)
	}
	return note + "."
}

// firstSeen is the first snapshot that captured the kind at all.
func (m *familyMaker) firstSeen() int {
	first, _ := bounds(m.in.Counts)
	return max(first, 0)
}

// identityText names a member: "14140" for a goroutine, "fd 25, wd 3" for a
// watch.
func identityText(k analysis.Kind, id analysis.Identity) string {
	switch k {
	case analysis.KindDescriptor:
		return "fd " + itoa(id.ID)
	case analysis.KindWatch:
		return fmt.Sprintf("fd %d, wd %d", id.ID, id.Sub)
	case analysis.KindThread:
		return "#" + itoa(id.ID)
	}
	return itoa(id.ID)
}

func (m *familyMaker) group(f *Family) {
	g := m.chosen()
	if g == nil {
		return
	}
	f.States, f.StatesBar = states("states", g.States)
	if f.StatesBar != nil {
		f.StatesBar.Width = 320
	}
	f.Waits, f.Ages = waitBars("waits", g), ageBars(g)
	if g.Leaked > 0 {
		f.StateNote = fmt.Sprintf("The runtime marked %d of them (leaked).", g.Leaked)
	}
	if n := g.Members.Len(); n > 0 && n < g.Count {
		f.StateNote = strings.TrimSpace(f.StateNote + fmt.Sprintf(" %d members could be read, %d were counted.", n, g.Count))
	}
}

func (m *familyMaker) steps(f *Family) {
	if len(m.in.Steps) == 0 {
		f.Attributes = attributePairs(m.in.Family.Attributes)
		return
	}
	steps, n := normSteps(m.in.Steps)
	f.Steps = steps
	if m.in.Family.Kind == analysis.KindThread {
		// Threads are titled by another rule than goroutines, and compared by more.
		title := threadTitle(m.in.Family.Title)
		for i := range f.Steps {
			s := &f.Steps[i]
			s.Title = title != "" && !s.Dropped && strings.HasSuffix(s.To.Full, title)
		}
		f.Attributes = attributePairs(m.in.Family.Attributes)
		f.KeyNote = fmt.Sprintf("over the sort of the thread, the pattern of its name, running, waiting or blocked, and %s. Line numbers are not in it.", wording.PagePlural(int64(n), "compared frame", "compared frames"))
		return
	}
	f.KeyNote = fmt.Sprintf("over %s and the creator. State and line numbers are not in it.", wording.PagePlural(int64(n), "compared frame", "compared frames"))
}

// normSteps writes the rules that made a key, and counts the frames that are in it.
func normSteps(steps []family.Step) (out []NormStep, n int) {
	for _, s := range steps {
		step := NormStep{Pieces: pieces(s.Printed, s.Compared), Rule: Visible(s.Rule), Title: s.Title, Creator: s.Creator, Dropped: s.Compared == ""}
		if !step.Dropped {
			step.To = longFunc(s.Compared)
			if !s.Creator {
				n++
				step.Number = itoa(int64(n))
			}
		}
		out = append(out, step)
	}
	return out, n
}

// pieces marks what of the printed name is not compared:
//
//	"a/vendor/b.(*T).Run.func1(0x1)" compared as "b.(*T).Run"
//	→ "a/vendor/" cut, "b.(*T).Run", ".func1(0x1)" cut
func pieces(printed, compared string) []NormPiece {
	if compared == "" {
		return []NormPiece{{Text: Visible(printed), Cut: true}}
	}
	if at := strings.Index(printed, compared); at >= 0 {
		return keep(NormPiece{printed[:at], true}, NormPiece{compared, false}, NormPiece{printed[at+len(compared):], true})
	}
	n := 0
	for n < len(printed) && n < len(compared) && printed[n] == compared[n] {
		n++
	}
	if n == 0 {
		return []NormPiece{{Text: Visible(printed)}}
	}
	return keep(NormPiece{printed[:n], false}, NormPiece{printed[n:], true})
}

func keep(all ...NormPiece) []NormPiece {
	var out []NormPiece
	for _, p := range all {
		if p.Text != "" {
			out = append(out, NormPiece{Visible(p.Text), p.Cut})
		}
	}
	return out
}

func (m *familyMaker) variants(f *Family) {
	g := m.chosen()
	if g == nil {
		return
	}
	for _, v := range g.Variants[:min(len(g.Variants), maxVariants)] {
		if v.Stack == nil {
			continue
		}
		out := FamilyVariant{Count: many(m.in.Family.Kind, v.Count), Fingerprint: Visible(v.Fingerprint)}
		for i := range v.Stack.Frames {
			out.Frames = append(out.Frames, *frameLine(&v.Stack.Frames[i]))
		}
		if v.Stack.CreatedBy.Func != "" {
			out.Creator = frameLine(&v.Stack.CreatedBy)
		}
		out.Runs = ownRuns(v.Stack.Frames, out.Frames, strings.Fields(m.in.Modules))
		out.Text = out.plain()
		f.Variants = append(f.Variants, out)
	}
}

// plain is the stack in lines, leaf first.
func (v FamilyVariant) plain() string {
	var lines []string
	for _, fr := range v.Frames {
		lines = append(lines, strings.TrimSpace(fr.Func.Full+"  "+fr.Loc))
	}
	if v.Creator != nil {
		lines = append(lines, strings.TrimSpace("created by "+v.Creator.Func.Full+"  "+v.Creator.Loc))
	}
	return strings.Join(lines, "\n")
}

// ownRuns folds what lies between frames of one's own modules, given by the prefixes
// of their functions.
func ownRuns(frames []analysis.Frame, lines []FrameLine, modules []string) []FrameRun {
	var out []FrameRun
	own := false
	for i, f := range frames {
		is := slices.ContainsFunc(modules, func(prefix string) bool { return strings.HasPrefix(f.Func, prefix) })
		own = own || is
		if len(out) == 0 || (out[len(out)-1].Fold == "") != is {
			out = append(out, FrameRun{})
			if !is {
				out[len(out)-1].Fold = "folded"
			}
		}
		last := &out[len(out)-1]
		last.Frames = append(last.Frames, lines[i])
	}
	if !own {
		return nil // a stack without own frames is shown whole
	}
	for i := range out {
		if out[i].Fold != "" {
			out[i].Fold = wording.PagePlural(int64(len(out[i].Frames)), "frame of other modules", "frames of other modules")
		}
	}
	return out
}

func (m *familyMaker) members(f *Family) {
	f.IDHead = capital(kindWord(m.in.Family.Kind, 1))
	lives := map[analysis.Identity]trend.Lifeline{}
	for _, l := range m.in.Lifelines {
		if l.First <= m.in.SnapshotIndex && m.in.SnapshotIndex <= l.Last {
			lives[l.Identity] = l
		}
	}
	all := slices.Clone(m.in.Members)
	slices.SortStableFunc(all, func(a, b FamilyMember) int {
		if a.Member.Wait != b.Member.Wait {
			return b.Member.Wait - a.Member.Wait
		}
		return int(min(max(a.Member.Identity.ID-b.Member.Identity.ID, -1), 1))
	})
	for _, fm := range all[:min(len(all), maxMemberRows)] {
		f.Rows = append(f.Rows, m.memberRow(fm, lives))
	}
	total := len(all)
	if g := m.chosen(); g != nil {
		total = max(total, g.Members.Len())
	}
	switch {
	case len(all) == 0:
		f.RowsNote = "No member is listed: counts came from a dump without ids, or the family is absent here."
	case total > len(f.Rows):
		f.RowsNote = fmt.Sprintf("The oldest %d of %s, longest wait first.", len(f.Rows), wording.Number(int64(total)))
	default:
		f.RowsNote = fmt.Sprintf("All %s, longest wait first.", wording.Number(int64(len(all))))
	}
	if !f.HasWaits {
		f.RowsNote = strings.Replace(f.RowsNote, ", longest wait first", "", 1)
	}
}

func (m *familyMaker) memberRow(fm FamilyMember, lives map[analysis.Identity]trend.Lifeline) MemberRow {
	row := MemberRow{ID: "no id", First: "unknown", Seen: "unknown", Wait: wording.Wait(fm.Member.Wait), State: Visible(fm.Member.State), Detail: Visible(fm.Member.Detail)}
	if fm.Member.Identity != (analysis.Identity{}) {
		row.ID = identityText(m.in.Family.Kind, fm.Member.Identity)
		// A listing that repeats the identity says it once.
		row.Detail = strings.TrimPrefix(row.Detail, row.ID+", ")
	}
	if fm.Member.Wait < 0 && m.in.Family.Kind == analysis.KindGoroutine {
		row.Wait = wording.Wait(0)
		if g := m.chosen(); g != nil && g.Family != nil {
			row.Wait = shortWait(g.Family, map[string]int{fm.Member.State: 1}, &m.in.Family)
		}
	}
	if row.State == "" {
		row.State = "none"
	}
	if l, ok := lives[fm.Member.Identity]; ok {
		row.First = m.label(l.First)
		if l.First >= 0 && l.First < len(m.in.Times) && !m.in.Times[l.First].IsZero() {
			row.First += ", " + wording.Clock(m.in.Times[l.First])
		}
		row.Seen = wording.PagePlural(int64(l.Seen), "snapshot", "snapshots")
	}
	if line := fm.Member.Place.Line; line > 0 {
		row.RawText = "line " + wording.Exact(line)
	} else if fm.Member.Place.Offset > 0 {
		row.RawText = "byte " + wording.Exact(fm.Member.Place.Offset)
	} else if fm.RawURL != "" {
		row.RawText = "raw"
	}
	if !m.in.Frozen {
		row.RawURL = fm.RawURL
	}
	return row
}

// Document is the family as text for a ticket.
func (f Family) Document() document.Document {
	var m document.Document
	m.Heading(1, f.Headline)
	m.Paragraph("Verdict: " + verdictWord(f.Verdict) + ". " + f.Lead)
	for _, e := range f.Evidence {
		m.Item(e.Name + ": " + e.Value)
	}
	m.Gap()
	if f.Triage != nil && f.Triage.Text != "" {
		m.Paragraph("Triage: " + f.Triage.Text)
	}
	head, row := []string{"Snapshot"}, []string{"Members"}
	for i, l := range f.Members.Labels {
		head = append(head, l)
		if i < len(f.Members.Values) {
			row = append(row, atLeast(orDash(f.Members.Values[i]), isLower(f.Members.Lower, i)))
		}
	}
	for _, at := range f.Members.Epochs {
		if at < len(f.Members.Labels) {
			head[at+1] += " (restarted)"
		}
	}
	m.Table(1, head, [][]string{row})
	for _, text := range slices.Concat([]string{f.Onset}, f.Cannot, f.Decides, []string{f.HourNote}) {
		m.Paragraph(text)
	}
	if k := f.Knowledge; k != nil {
		m.Heading(2, "What is known of it")
		for _, b := range k.Belongs {
			m.Paragraph("Belongs to: " + b.Text + ".")
		}
		writeKnown(&m, k.Advice, slices.Concat(k.Known, k.Alike), k.KnownNote)
		if k.Normal != nil {
			m.Paragraph(k.Normal.Reason)
		}
	}
	if f.Unit != nil {
		m.Heading(2, "Unit "+f.Unit.ID)
		m.Paragraph(f.Unit.Text)
		writeShares(&m, f.Unit.Rows)
	}
	if len(f.Holders) > 0 {
		m.Heading(2, "Possible holders of what it waits for")
		writeShares(&m, f.Holders)
	}
	if len(f.Behind) > 0 {
		m.Heading(2, "Who may wait for it")
		writeShares(&m, f.Behind)
	}
	if f.Versions != nil {
		m.Heading(2, "Versions")
		m.Paragraph(f.Versions.Text)
		var rows [][]string
		for _, v := range f.Versions.Rows {
			rows = append(rows, []string{v.Version, v.Rate, v.Exposure, v.Verdict, v.Share})
		}
		m.Table(1, []string{"Version", "Per hour", "Exposure", "Verdict", "First bad"}, rows)
	}
	if len(f.Attributes) > 0 {
		var rows [][]string
		for _, a := range f.Attributes {
			rows = append(rows, []string{a.Name, a.Value})
		}
		m.Table(2, []string{"Attribute", "Value"}, rows)
	}
	if len(f.Watched) > 0 {
		m.Heading(2, "What they watch at "+f.At)
		m.Paragraph(f.WatchedNote)
		var rows [][]string
		for _, w := range f.Watched {
			rows = append(rows, []string{w.What, w.Watches, w.Still, w.Pod})
		}
		m.Table(1, []string{"Target", "Watches", "Still there?", "Pod"}, rows)
	}
	for i, v := range f.Variants {
		if i > 0 {
			break
		}
		m.Heading(2, "Stack ("+v.Count+")")
		m.Fence(strings.Split(v.plain(), "\n"))
	}
	if len(f.Raw) > 0 {
		m.Heading(2, "Raw: "+f.RawTitle)
		lines := make([]string, len(f.Raw))
		for i, l := range f.Raw {
			lines[i] = l.Text
		}
		m.Fence(lines)
	}
	m.Paragraph("Fingerprint: " + f.Fingerprint)
	return m
}
