package view

import (
	"cmp"
	"maps"
	"net/url"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/evidence"
	"leakdiff/analysis/say/filter"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// DiffInput is the input of the diff page. The maps are by fingerprint.
type DiffInput struct {
	CaseID, CaseTitle string
	// Series is the one that A and B belong to; of two series, that of B.
	Series   report.Series
	Result   diff.Result
	Verdicts map[string]analysis.Judgement
	// Evidence is that of the verdict on a family.
	Evidence func(*analysis.Family) []report.Evidence
	Titles   map[string]string
	// Counts gives the members of a family over the snapshots of the series, for the
	// small lines; nil for none. Labels names these snapshots, AIndex and BIndex are -1
	// where A or B is none of them.
	Counts         func(fingerprint string) analysis.Counts
	Labels         []string
	AIndex, BIndex int
	// Restarts are the snapshots of the series that begin a new process start.
	Restarts []int
	// Lower says of each snapshot of the series whether its counts are lower bounds.
	Lower []bool
	// Snapshots are the entries of the select boxes, Value is an id.
	Snapshots []Choice
	// Other is the case that A is of where it is another one than that of B.
	Other *Link
	// OtherID is the id of that case.
	OtherID  string
	Baseline Baseline
	// Previous are the snapshots before A and B in their series, by the ids of these,
	// where both are of one process start.
	Previous map[string]*analysis.Snapshot
	Loads    []Load
	Query    url.Values
	Engine   string
	Frozen   bool
	// NeedsKey says that forms ask for the owner key.
	NeedsKey  bool
	Catalogue *knowledge.Catalogue
}

// Diff is the page that compares two snapshots.
type Diff struct {
	Shell    Shell
	Headline string
	Frozen   bool
	CaseID   string
	A, B     DiffSide
	// Advice repeats findings about what grows; they are of the series that AdviceOf
	// names.
	Advice   []DiffAdvice
	AdviceOf string
	// Objects are the kinds of objects that changed; ObjectsNote counts further ones.
	Objects        []DiffObject `json:",omitempty"`
	ObjectsNote    string       `json:",omitempty"`
	Total          int
	HasTotal       bool
	Percent        string
	Unit           string
	Swap           string
	Summary        *chart.SummaryData
	Ended, Survive string
	Born           string
	// Unfollowed says why nobody can be followed from A to B, where that is so.
	Unfollowed string
	// Dropped says that a policy of retention dropped members that would be followed.
	Dropped string `json:",omitempty"`
	Totals  []DiffTotal
	Minds   []string
	Tabs    []DiffTab
	Box     FilterBox
	// Shows are the choices of what the figures are, Pers what they may be divided by,
	// Figures what they are now in words, "" for members.
	Shows, Pers []DiffTab
	Figures     string
	// Stacks is split or unified, "" where the width of the page decides; Split and
	// Unified are the addresses that say so.
	Stacks, Split, Unified string
	// Applied says in words what the reader chose of the page: filter, order, figures.
	Applied  string
	Why      *DiffWhy
	Baseline *DiffBaseline
	// Several is the page with any number of snapshots, Elsewhere the one on which
	// snapshots of other cases are found.
	Several, Elsewhere string
	Kind               string
	Heads              []DiffHead
	Sections           []DiffSection
	Spread             string
	Choices            []ChoiceGroup
	// MoreChoices says that the case has more snapshots than there are choices.
	MoreChoices bool `json:",omitempty"`
	Twin        chart.Table
	Empty       string
}

// DiffSide is A or B.
type DiffSide struct {
	ID, Label, Clock, Full, Process, URL string
	Count                                string
	// Case is set where the side is of another case.
	Case *Link
}

// DiffBaseline is the form that chooses the baseline of a series.
type DiffBaseline struct {
	Text string
	// Series is the key of the series, Back the address to return to.
	Series, Back string
	// A and B are the values that name the sides, empty where one is the baseline.
	A, B string
	// Chosen says that there is a choice to forget, NeedsKey that choosing asks for the
	// owner key.
	Chosen, NeedsKey bool
}

// DiffTotal is the total of one kind in A and B.
type DiffTotal struct {
	Kind, A, B string
	Delta      int
	Known      bool
}

// DiffTab is one kind in the filter.
type DiffTab struct {
	Text, URL string
	Current   bool
}

// DiffHead is one column head; Sort is the value of aria-sort.
type DiffHead struct {
	Text, URL, Sort, Arrow, Mark string
	Numeric                      bool
}

// DiffSection is one group of rows.
type DiffSection struct {
	Name, Title, Note string
	// Units are families that rise together; Rows are the others.
	Units  []DiffUnit
	Rows   []DiffRow
	Folded bool
	// More says how many families are left out, MoreURL shows them.
	More, MoreURL string
}

// Empty reports a section without a row.
func (s DiffSection) Empty() bool { return len(s.Units) == 0 && len(s.Rows) == 0 }

// DiffUnit is a band above the families that rise together.
type DiffUnit struct {
	ID, Each string
	// Lead is the title of the family that rises most; Families says how many there
	// are, and how many of them the page shows.
	Lead, Families string
	A, B           string
	SignA, SignB   int
	Delta          int
	Known          bool
	Verdict        string
	// Triage is what a person decided about all of its families alike.
	Triage string
	Rows   []DiffRow
}

// DiffRow is one family in A and B.
type DiffRow struct {
	Anchor, Fingerprint string
	Name                FamilyName
	Spark               chart.SparkData
	A, B                string
	// SignA and SignB are of figures that are changes.
	SignA, SignB        int
	Delta               int
	Percent             string
	New, Gone, Survived string
	// Unit names the unit where the rows are not grouped by it.
	Unit    string
	Wait    string
	Verdict string
	// Triage is what a person decided about the family, empty for nothing.
	Triage string
	// Fate replaces the verdict where the series lost after B what it won from A
	// to B: "gone by t8".
	Fate string
	// Unknown says that A or B is a lower bound: there is no difference to tell.
	Unknown bool
	// Toggle opens or closes the row, empty where there is nothing to open. It leads to
	// itself, whose id is the anchor of the row and "-o", so that the focus stays there.
	Toggle string
	// Detail is shown when Open; on frozen pages the reader opens it.
	Open   bool
	Detail *DiffDetail
}

// DiffDetail is what an open row shows.
type DiffDetail struct {
	Lead      string
	FamilyURL string
	// Triage is what a person said about the family, in a sentence.
	Triage string
	// Why explains the key of the family, Nearest where it parts from the nearest one.
	Why, WhyNot      string
	HeadA, HeadB     string
	LabelA, LabelB   string
	Stack            []StackRun
	Elided           string
	Attributes       []Pair
	StatesA, StatesB []State
	BarA, BarB       *chart.StatesData
	Waits            *chart.BarsData
	WaitNote         string
	Evidence         []Pair
	HasStacks        bool
	// HasWaits says that members of this kind print how long they wait.
	HasWaits bool
}

// StackRun is a stretch of aligned lines; a folded one is opened by the reader.
type StackRun struct {
	Fold  string
	Lines []StackLine
}

// StackLine is one pair of frames. Mark is "del" (only in A), "add" (only in B),
// "chg" (same function, other line) or "same"; A and B are nil where padded.
type StackLine struct {
	Mark string
	A, B *FrameLine
	// Creator marks the line that names who started the goroutine.
	Creator bool
}

// FrameLine is one frame.
type FrameLine struct {
	Func Func
	Loc  string
}

type diffMaker struct {
	in   DiffInput
	kind analysis.Kind
	open map[string]bool
	key  string
	here address
	// query is the address without the rows that it opens, opens those, familyQuery what
	// follows the path of a family.
	query, opens, familyQuery string

	asked    filter.Filter
	columns  columns
	families map[string]*report.Family
	// groups are those of B, by fingerprint; see groupOfB.
	groups map[string]*analysis.Group
}

// maxFrozenDetails bounds the stacks of a frozen page.
const maxFrozenDetails = 60

// NewDiff makes the page that compares two snapshots.
func NewDiff(in DiffInput) Diff {
	m := diffMaker{in: in, open: map[string]bool{}, kind: analysis.Kind(in.Query.Get("kind"))}
	for _, fp := range in.Query["open"] {
		m.open[fp] = true
	}
	host := ""
	if in.Series.Host != nil {
		host = *in.Series.Host
	}
	m.key = SeriesKey(host, in.Series.Process)
	if !slices.Contains(analysis.Kinds(), m.kind) {
		m.kind = ""
	}
	d := Diff{CaseID: in.CaseID, Frozen: in.Frozen, Kind: string(m.kind)}
	m.asked, d.Box = newFilterBox(in.Query.Get("q"))
	if in.Result.A == nil || in.Result.B == nil {
		d.Headline = "There is nothing to compare: two snapshots are needed."
		d.Shell = m.shell(d.Headline, "nothing to compare")
		return d
	}
	m.prepare()
	main := m.mainKind()
	d.A, d.B = m.side(in.Result.A, cmp.Or(in.OtherID, in.CaseID), main), m.side(in.Result.B, in.CaseID, main)
	if in.Other != nil {
		d.A.Case = &Link{Text: Visible(in.Other.Text), URL: m.live(in.Other.URL)}
	}
	d.Headline = m.headline(main)
	d.Unit = kindWord(main, 2)
	if a, b := in.Result.TotalA.Of(main), in.Result.TotalB.Of(main); a != nil && b != nil && len(m.cut(main)) == 0 {
		d.HasTotal, d.Total, d.Percent = true, *b-*a, wording.Percent(*a, *b)
	}
	if in.Result.Followed {
		d.Dropped = m.dropped()
	}
	m.summary(&d, main)
	m.totals(&d)
	for _, w := range evidence.Warnings(in.Result.Warnings) {
		d.Minds = append(d.Minds, Visible(w))
	}
	if foreign := in.Baseline.foreign(in.Result.B); m.columns.show == showBase && foreign != "" {
		d.Minds = append(d.Minds, foreign)
	}
	rows := m.rows(&d.Box)
	m.advice(&d, rows)
	m.objects(&d)
	m.tools(&d)
	count := map[analysis.Kind]int{}
	for _, r := range in.Result.Rows {
		if r.Family != nil {
			count[r.Family.Kind]++
		}
	}
	d.Tabs = m.here.kinds(len(in.Result.Rows), count, m.kind)
	d.Heads = m.heads()
	d.Sections = m.sections(rows)
	tellRowsApart(d.Sections)
	d.Why = m.why()
	d.Spread = m.spreadName()
	d.Twin = m.twin(d.Sections)
	d.Applied = m.applied(&d.Box)
	if len(rows) == 0 {
		d.Empty = m.empty(&d.Box)
	}
	here := d.B.Process + ", " + d.A.Label + " to " + d.B.Label
	d.Shell = m.shell(m.change(&d, main)+here, here)
	d.Shell.Description = d.Headline
	return d
}

// prepare works out what every row needs.
func (m *diffMaker) prepare() {
	in := &m.in
	q := ofCases(in.CaseID, in.OtherID)
	for k, v := range in.Query {
		if k != "case" && k != "acase" {
			q[k] = slices.Clone(v)
		}
	}
	m.here = address{"/diff/" + url.PathEscape(in.Result.A.ID) + ".." + url.PathEscape(in.Result.B.ID), q, in.Frozen}
	m.columns = newColumns(in.Query.Get("show"), in.Query.Get("per"), in.Baseline.Snapshot, in.Previous, in.Loads)
	m.families = make(map[string]*report.Family, len(in.Series.Families))
	for i := range in.Series.Families {
		m.families[in.Series.Families[i].Fingerprint] = &in.Series.Families[i]
	}
	q = maps.Clone(q)
	q.Del("open")
	m.query, m.opens = q.Encode(), m.opened("")
	m.familyQuery = familyQuery(in.CaseID, m.key)
}

// groupOfB is a family as B lists it, nil where it does not. Most pages ask for none.
func (m *diffMaker) groupOfB(fingerprint string) *analysis.Group {
	if m.groups == nil {
		m.groups = make(map[string]*analysis.Group, len(m.in.Result.B.Groups))
		for i := range m.in.Result.B.Groups {
			if g := &m.in.Result.B.Groups[i]; g.Family != nil {
				m.groups[g.Family.Fingerprint] = g
			}
		}
	}
	return m.groups[fingerprint]
}

// counts are the members of a family over the snapshots of the series, nil where it has
// none.
func (m *diffMaker) counts(fingerprint string) analysis.Counts {
	if m.in.Counts == nil {
		return nil
	}
	return m.in.Counts(fingerprint)
}

// familyURL is the page of a family: in the case of B, or in that of A where the series
// of B never has it.
func (m *diffMaker) familyURL(fingerprint string) string {
	if m.in.OtherID != "" && m.counts(fingerprint).FirstWithAny() < 0 {
		return m.live(familyURL(fingerprint, m.in.OtherID, ""))
	}
	return m.live(familyPath(fingerprint) + m.familyQuery)
}

func (m *diffMaker) swap() string {
	q := ofCases(m.in.CaseID, "")
	if m.in.OtherID != "" {
		q = ofCases(m.in.OtherID, m.in.CaseID)
	}
	for _, k := range []string{"q", "kind", "stacks", "per"} {
		if v := m.in.Query.Get(k); v != "" {
			q.Set(k, v)
		}
	}
	return "/diff/" + url.PathEscape(m.in.Result.B.ID) + ".." + url.PathEscape(m.in.Result.A.ID) + "?" + q.Encode()
}

func (m *diffMaker) baseline() *DiffBaseline {
	b, r := &m.in.Baseline, &m.in.Result
	out := &DiffBaseline{Text: b.words(), Series: m.key, Back: m.here.with(), Chosen: b.Chosen || b.Gone, NeedsKey: m.in.NeedsKey}
	if b.Snapshot == nil || b.Snapshot.ID != r.A.ID || !b.Chosen {
		out.A = r.A.ID
		if m.in.OtherID != "" {
			out.A = m.in.OtherID + "/" + r.A.ID
		}
	}
	if b.Snapshot == nil || b.Snapshot.ID != r.B.ID {
		out.B = r.B.ID
	}
	return out
}

func (m *diffMaker) live(address string) string {
	if m.in.Frozen {
		return ""
	}
	return address
}

func (m *diffMaker) shell(title, here string) Shell {
	s := Shell{Title: title, Section: "cases", Engine: m.in.Engine, Here: here}
	s.Crumbs = []Link{{Text: "Cases", URL: "/"}, {Text: Visible(m.in.CaseTitle), URL: caseURL(m.in.CaseID)}}
	if !m.in.Frozen && m.here.path != "" {
		q := ofCases(m.in.CaseID, m.in.OtherID).Encode()
		if len(FlameKinds(m.in.Result.A, m.in.Result.B)) > 0 {
			s.Actions = append(s.Actions, Link{Text: "Flame graph", URL: m.here.path + "/flame?" + q})
		}
		s.Offer(m.here.path, "?"+sameView(m.here.query, m.in.CaseID), Stacks(hasStacks(m.in.Result.A, m.in.Result.B)))
	}
	return s
}

// mainKind is the kind the headline speaks of: the filtered one, or the first
// that both sides captured, or the first that either did.
func (m *diffMaker) mainKind() analysis.Kind {
	if m.kind != "" {
		return m.kind
	}
	for _, k := range analysis.Kinds() {
		if m.in.Result.TotalA.Of(k) != nil && m.in.Result.TotalB.Of(k) != nil {
			return k
		}
	}
	for _, k := range analysis.Kinds() {
		if m.in.Result.TotalA.Of(k) != nil || m.in.Result.TotalB.Of(k) != nil {
			return k
		}
	}
	return analysis.KindGoroutine
}

func (m *diffMaker) side(s *analysis.Snapshot, caseID string, kind analysis.Kind) DiffSide {
	out := DiffSide{
		ID: s.ID, Label: Visible(s.Label), Full: wording.Time(s.CapturedAt), Process: printable(s.Process.Name.Value),
		URL: m.live(snapshotURL(s.ID, caseID)), Count: atLeast(orDash(analysis.CountOf(s.Totals.Of(kind))), s.Bounded(kind)),
	}
	if !s.CapturedAt.IsZero() {
		out.Clock = wording.Clock(s.CapturedAt)
	}
	if out.Label == "" {
		out.Label = "?"
	}
	return out
}

// dropped says which side has no members any more, empty if both have them.
func (m *diffMaker) dropped() string {
	return wording.PairDropped(m.in.Result.A.Thinned, m.in.Result.B.Thinned)
}

func (m *diffMaker) summary(d *Diff, kind analysis.Kind) {
	if cut := m.cutWords(kind); cut != "" && m.in.Result.Followed {
		d.Unfollowed = "How many ended and were born cannot be said: " + cut + "."
		return
	}
	born, ok := m.in.Result.Born[kind]
	if !ok && d.Dropped != "" {
		d.Unfollowed = "Who ended, survived and was born cannot be said. " + d.Dropped
		return
	}
	if !ok {
		d.Unfollowed = "Who ended, survived and was born cannot be said: this evidence names no ids that could be followed from A to B."
		if !m.in.Result.Followed {
			d.Unfollowed = "Nobody is followed from A to B: they are of two process starts."
			if m.in.OtherID != "" {
				d.Unfollowed = "Nobody is followed from A to B: they are of two cases."
			}
		}
		return
	}
	ended, survived := m.in.Result.Ended[kind], m.in.Result.Survived[kind]
	d.Summary = &chart.SummaryData{ID: "flow", Ended: ended, Survived: survived, Born: born}
	d.Ended, d.Survive, d.Born = wording.Number(int64(ended)), wording.Number(int64(survived)), wording.Number(int64(born))
}

func (m *diffMaker) totals(d *Diff) {
	for _, k := range analysis.Kinds() {
		a, b := m.in.Result.TotalA.Of(k), m.in.Result.TotalB.Of(k)
		if a == nil && b == nil {
			continue
		}
		t := DiffTotal{
			Kind: kindTitle(k), A: atLeast(orDash(analysis.CountOf(a)), m.in.Result.A.Bounded(k)), B: atLeast(orDash(analysis.CountOf(b)), m.in.Result.B.Bounded(k)),
			Known: a != nil && b != nil && len(m.cut(k)) == 0,
		}
		if t.Known {
			t.Delta = *b - *a
		}
		d.Totals = append(d.Totals, t)
	}
}

func (m *diffMaker) empty(box *FilterBox) string {
	switch {
	case !m.asked.Empty():
		return box.nothing()
	case m.kind != "":
		return "No " + kindWord(m.kind, 2) + " were captured in A or B."
	}
	return "Neither snapshot holds a family: nothing was captured that could be compared."
}

func ofCase(l *Link) string {
	if l == nil {
		return ""
	}
	return ", of the case " + l.Text
}
