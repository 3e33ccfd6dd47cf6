package view

import (
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

// FamilyInput is the input of the family page. Labels, Times, Counts and
// Groups have one entry per snapshot of the series; Groups are nil where the
// family is absent.
type FamilyInput struct {
	CaseID, CaseTitle, Process string
	Family                     report.Family
	Judgement                  analysis.Judgement
	// Evidence is that of the judgement.
	Evidence []report.Evidence
	Labels   []string
	Times    []time.Time
	// Taken are the times of all captures where not all are judged, nil otherwise.
	Taken []time.Time
	// Places are those of the snapshots among all captures, nil where all are judged.
	Places []int
	Counts analysis.Counts
	// Epochs are the epoch of each snapshot, nil for one epoch.
	Epochs []int
	// Lower says of each snapshot whether its count is a lower bound.
	Lower  []bool
	Groups []*analysis.Group
	// Thinned is when a policy of retention dropped the members of each snapshot, zero if
	// none did.
	Thinned []time.Time
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
	// Facts are the findings without a verdict that name the family.
	Facts     []report.Finding
	Bisection trend.Bisection
	Triage    TriageInput
	// Code is the stack of snapshot SnapshotIndex.
	Code CodeInput
	// Watched says what the watches of snapshot SnapshotIndex are on.
	Watched []analysis.Target
	// Ancestries are the stacks of who started the goroutines of snapshot SnapshotIndex, or of what
	// opened its descriptors.
	Ancestries []report.Trace
	// PprofLabels are those of the goroutines of snapshot SnapshotIndex.
	PprofLabels []analysis.LabelCount
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
	// First is the first screen.
	First FirstScreen
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
	Ancestries     []document.Stack
	// Opened says that Ancestries are of descriptors.
	Opened bool
	// PprofLabels are those of the Count goroutines of the snapshot.
	PprofLabels []analysis.LabelCount
	Count       int
	Rows        []MemberRow
	RowsNote    string
	HasWaits    bool
	IDHead      string
	Raw         []RawLine
	RawTitle    string
	// RawDeep says why there are no raw lines, if a link leads to them.
	RawDeep       string
	RawURL        string
	Sightings     []Sighting
	MoreSightings string
	// Triage is nil on frozen pages where nobody said anything.
	Triage    *FamilyTriage
	Knowledge *FamilyKnowledge
}

// FirstScreen is what stands directly below the figures of a page.
type FirstScreen struct {
	// Code is nil where there is no stack.
	Code *Code `json:",omitempty"`
	// Folds are the folded parts of the page.
	Folds []AnswerFold
}

// KeyFigure is one key figure: the value and what it is.
type KeyFigure struct {
	Value, Text string
	// Delta is set where the value is a change.
	Delta    int
	IsChange bool
}

type familyMaker struct {
	in FamilyInput
	// whole are the counts that are no lower bounds.
	whole analysis.Counts
}

// worded is the kind as members of the family are worded.
func (m *familyMaker) worded() analysis.Kind {
	return m.in.Family.Kind.Worded(m.in.Family.Attributes)
}

// NewFamily makes the page of a family.
func NewFamily(in FamilyInput) Family {
	m := familyMaker{in, whole(in.Counts, in.Lower)}
	f := Family{
		Frozen: in.Frozen, Verdict: string(in.Judgement.Verdict), Fingerprint: Visible(in.Family.Fingerprint),
		Key: Visible(in.Family.Fingerprint), RawTitle: Visible(in.RawTitle), Raw: in.RawExcerpt,
		PprofLabels: in.PprofLabels, HasWaits: in.Family.Kind == analysis.KindGoroutine, IsThread: in.Family.Kind == analysis.KindThread, Opened: in.Family.Kind == analysis.KindDescriptor,
	}
	f.Name = newFamilyName(in.Family.Title, in.Family.Kind, in.Family.Frames, in.Family.CreatedBy, in.Family.Attributes)
	f.Path = f.Name.Package
	if in.SnapshotIndex >= 0 && in.SnapshotIndex < len(in.Labels) {
		f.At = Visible(in.Labels[in.SnapshotIndex])
	}
	if g := m.chosen(); g != nil {
		f.Count = g.Count
	}
	for i := range in.Ancestries {
		f.Ancestries = append(f.Ancestries, *newStack(&in.Ancestries[i], nil))
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
	f.First = m.first(&f)
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
	first, top := m.whole.FirstAt(), m.whole.HighestAt()
	if at := m.in.Counts.LastAt(); first < 0 && at >= 0 {
		return printable(m.in.Process) + ": " + atLeast(many(m.worded(), m.in.Counts[at].N), true) + " at " + m.label(at) + ", a lower bound."
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
	if k := m.firstOf(top); start > 0 || !m.whole[first].Known() {
		first = k
	}
	var parts []string
	said := map[int]bool{}
	for _, i := range []int{first, top, (m.whole[:end]).LastAt()} {
		if said[i] || i < 0 || !m.whole[i].Known() {
			continue
		}
		said[i] = true
		text := wording.Number(int64(m.in.Counts[i].N))
		if len(parts) == 0 {
			text = many(m.worded(), m.in.Counts[i].N)
		}
		parts = append(parts, text+" at "+m.label(i))
	}
	for _, at := range m.restarts() {
		if at >= end && m.whole[at].Known() {
			parts = append(parts, "restarted with "+wording.Number(int64(m.in.Counts[at].N))+" at "+m.label(at))
		}
	}
	if last := m.whole.LastAt(); last > end && !slices.Contains(m.restarts(), last) {
		parts = append(parts, wording.Number(int64(m.in.Counts[last].N))+" at "+m.label(last))
	}
	return printable(m.in.Process) + ": " + strings.Join(parts, ", ") + "."
}

func (m *familyMaker) label(i int) string {
	if i < 0 || i >= len(m.in.Labels) {
		return "?"
	}
	return Visible(m.in.Labels[i])
}

func (m *familyMaker) chips(f *Family) {
	f.Chips = append(f.Chips, printable(m.in.Process), kindWord(m.worded(), 2))
	if m.in.Family.Unit != nil {
		f.Chips = append(f.Chips, "unit "+Visible(*m.in.Family.Unit))
	}
	for _, c := range m.in.Family.Classes {
		f.Chips = append(f.Chips, Visible(c))
	}
}

func (m *familyMaker) figures(f *Family) {
	first, top := m.in.Counts.FirstAt(), m.in.Counts.HighestAt()
	if first < 0 {
		return
	}
	at := m.in.SnapshotIndex
	if at < 0 || at >= len(m.in.Counts) || !m.in.Counts[at].Known() {
		at = top
	}
	n := m.in.Counts[at].N
	first = m.firstOf(at)
	cut := isLower(m.in.Lower, at)
	f.Figures = append(f.Figures, KeyFigure{Value: atLeast(wording.Number(int64(n)), cut), Text: "members at " + m.label(at)})
	if cut {
		// A lower bound is no change since anything.
	} else if first != at {
		f.Figures = append(f.Figures, KeyFigure{IsChange: true, Delta: n - m.in.Counts[first].N, Text: "since " + m.label(first)})
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
	f.Evidence, f.Cannot, f.Decides = reasonsOf(m.in.Evidence)
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
