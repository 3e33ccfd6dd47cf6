package view

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/filter"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// DiffInput is what a diff page is made from. The maps are by fingerprint.
type DiffInput struct {
	CaseID, CaseTitle string
	// Series is the one that A and B belong to; of two series, that of B.
	Series   report.Series
	Result   diff.Result
	Verdicts map[string]analysis.Judgement
	Titles   map[string]string
	// Counts gives the members of a family over the snapshots of the series, for the
	// small lines; nil for none. Labels names these snapshots, AIndex and BIndex are -1
	// where A or B is none of them.
	Counts         func(fingerprint string) []*int
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
	Totals     []DiffTotal
	Minds      []string
	Tabs       []DiffTab
	Box        FilterBox
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
	base string
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
	m.summary(&d, main)
	m.totals(&d)
	for _, w := range in.Result.Warnings {
		d.Minds = append(d.Minds, Visible(w))
	}
	if foreign := in.Baseline.foreign(in.Result.B); m.columns.show == showBase && foreign != "" {
		d.Minds = append(d.Minds, foreign)
	}
	rows := m.rows(&d.Box)
	m.advice(&d, rows)
	m.objects(&d)
	m.tools(&d)
	d.Tabs = m.tabs()
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

// change begins the title of the page: by how much the family grew that grew most, or
// else the total, and on which host. What is frozen has its title from elsewhere, which
// says no more than its preview may.
//
//	"Δ +412 prober.(*worker).run · node-a · "
func (m *diffMaker) change(d *Diff, kind analysis.Kind) string {
	if !d.HasTotal {
		return ""
	}
	text := "Δ " + wording.Signed(d.Total) + " " + d.Unit
	if m.in.Frozen {
		return text + ", "
	}
	var most *diff.Row
	for i := range m.in.Result.Rows {
		r := &m.in.Result.Rows[i]
		if r.Family != nil && r.Family.Kind == kind && r.Delta > 0 && (most == nil || r.Delta > most.Delta) {
			most = r
		}
	}
	if most != nil {
		f := most.Family
		name := newFamilyName(m.title(f), f.Kind, f.Loose, f.LooseCreator, f.Attributes).Title
		text = "Δ " + wording.Signed(most.Delta) + " " + name.Path + name.Name
	}
	if host := m.in.Series.Host; host != nil && *host != "" {
		text += " · " + Visible(*host)
	}
	return text + " · "
}

// tellRowsApart lets no two rows of the page look alike.
func tellRowsApart(sections []DiffSection) {
	var t together
	add := func(rows []DiffRow) {
		for i := range rows {
			t.add(&rows[i].Name, rows[i].Fingerprint)
		}
	}
	for i := range sections {
		for k := range sections[i].Units {
			add(sections[i].Units[k].Rows)
		}
		add(sections[i].Rows)
	}
	t.tellApart()
}

// prepare works out what every row needs.
func (m *diffMaker) prepare() {
	in := &m.in
	m.base = "/diff/" + url.PathEscape(in.Result.A.ID) + ".." + url.PathEscape(in.Result.B.ID)
	m.columns = newColumns(in.Query.Get("show"), in.Query.Get("per"), in.Baseline.Snapshot, in.Previous, in.Loads)
	m.families = make(map[string]*report.Family, len(in.Series.Families))
	for i := range in.Series.Families {
		m.families[in.Series.Families[i].Fingerprint] = &in.Series.Families[i]
	}
	q := m.parts()
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

// parts is the query of this page, with its cases.
func (m *diffMaker) parts() url.Values {
	q := ofCases(m.in.CaseID, m.in.OtherID)
	for k, v := range m.in.Query {
		if k != "case" && k != "acase" {
			q[k] = slices.Clone(v)
		}
	}
	return q
}

// tools are the controls above the tables.
func (m *diffMaker) tools(d *Diff) {
	d.Figures = m.columns.words(&m.in.Baseline)
	d.Stacks = m.in.Query.Get("stacks")
	if d.Stacks != "split" && d.Stacks != "unified" {
		d.Stacks = ""
	}
	if m.in.Frozen {
		return
	}
	in := &m.in
	d.Swap = m.swap()
	choices, more := fewChoices(in.Snapshots, d.A.ID, d.B.ID)
	d.Choices, d.MoreChoices = groupChoices(choices), more
	d.Split, d.Unified = m.address(map[string]string{"stacks": "split"}), m.address(map[string]string{"stacks": "unified"})
	for k, values := range m.parts() {
		for _, v := range values {
			if k != "q" && k != "open" {
				d.Box.Hidden = append(d.Box.Hidden, Pair{k, v})
			}
		}
	}
	slices.SortFunc(d.Box.Hidden, func(a, b Pair) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value)) })
	for _, s := range []struct{ show, text string }{{showMembers, "Members"}, {showBase, "Change to base"}, {showPrevious, "Change to previous"}} {
		d.Shows = append(d.Shows, DiffTab{Text: s.text, URL: m.address(map[string]string{"show": s.show}), Current: m.columns.show == s.show})
	}
	d.Pers = m.pers()
	d.Baseline = m.baseline()
	d.Several = "/compare?" + url.Values{"case": {in.CaseID}, "series": {m.key}}.Encode()
	d.Elsewhere = "/diff-other?" + url.Values{"case": {in.CaseID}, "b": {in.Result.B.ID}}.Encode()
}

// counts are the members of a family over the snapshots of the series, nil where it has
// none.
func (m *diffMaker) counts(fingerprint string) []*int {
	if m.in.Counts == nil {
		return nil
	}
	return m.in.Counts(fingerprint)
}

// familyURL is the page of a family: in the case of B, or in that of A where the series
// of B never has it.
func (m *diffMaker) familyURL(fingerprint string) string {
	has := func(n *int) bool { return n != nil && *n > 0 }
	if m.in.OtherID != "" && !slices.ContainsFunc(m.counts(fingerprint), has) {
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

// pers are what figures may be divided by, none where A or B does not know it.
func (m *diffMaker) pers() []DiffTab {
	var out []DiffTab
	for i := range m.in.Loads {
		l := &m.in.Loads[i]
		if l.Values[m.in.Result.A.ID] > 0 && l.Values[m.in.Result.B.ID] > 0 {
			out = append(out, DiffTab{Text: "per " + l.Words, URL: m.address(map[string]string{"per": l.Name}), Current: m.columns.load == l})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return append([]DiffTab{{Text: "as counted", URL: m.address(map[string]string{"per": ""}), Current: m.columns.load == nil}}, out...)
}

func (m *diffMaker) baseline() *DiffBaseline {
	b, r := &m.in.Baseline, &m.in.Result
	out := &DiffBaseline{Text: b.words(), Series: m.key, Back: m.address(nil), Chosen: b.Chosen || b.Gone, NeedsKey: m.in.NeedsKey}
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

// applied says what was chosen of the page: "Filter func:prober: 3 of 77 families
// pass. Sorted by New, descending."
func (m *diffMaker) applied(box *FilterBox) string {
	var words []string
	if box.Text != "" && box.Error == "" {
		words = append(words, "Filter "+box.Text+": "+box.Note)
	}
	if m.kind != "" {
		words = append(words, "Only "+kindWord(m.kind, 2)+".")
	}
	if by, down := m.sorting(); by != "" {
		order := "ascending"
		if down {
			order = "descending"
		}
		words = append(words, "Sorted by "+sortWord(by)+", "+order+".")
	}
	if figures := m.columns.words(&m.in.Baseline); figures != "" {
		words = append(words, "A and B: "+figures+"; Δ in members.")
	}
	return strings.Join(words, " ")
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
	if !m.in.Frozen && m.base != "" {
		q := ofCases(m.in.CaseID, m.in.OtherID).Encode()
		if len(FlameKinds(m.in.Result.A, m.in.Result.B)) > 0 {
			s.Actions = append(s.Actions, Link{Text: "Flame graph", URL: m.base + "/flame?" + q})
		}
		s.Offer(m.base, "?"+sameView(m.parts(), m.in.CaseID), Stacks(hasStacks(m.in.Result.A, m.in.Result.B)))
		s.offerExpert(m.base, q)
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
		URL: m.live(snapshotURL(s.ID, caseID)), Count: atLeast(orDash(s.Totals.Of(kind)), s.Bounded(kind)),
	}
	if !s.CapturedAt.IsZero() {
		out.Clock = wording.Clock(s.CapturedAt)
	}
	if out.Label == "" {
		out.Label = "?"
	}
	return out
}

// cut are the sides whose figures of a kind are lower bounds.
func (m *diffMaker) cut(kind analysis.Kind) []*analysis.Snapshot {
	var out []*analysis.Snapshot
	for _, s := range []*analysis.Snapshot{m.in.Result.A, m.in.Result.B} {
		if s.Bounded(kind) && s.Totals.Of(kind) != nil {
			out = append(out, s)
		}
	}
	return out
}

// cutWords says which sides are cut: "t5 is cut (at least 255 goroutines)".
func (m *diffMaker) cutWords(kind analysis.Kind) string {
	var out []string
	for _, s := range m.cut(kind) {
		how := "is cut"
		if s.Refused > 0 {
			how = "was not understood as a whole"
		}
		out = append(out, fmt.Sprintf("%s %s (at least %s)", Visible(s.Label), how, many(kind, *s.Totals.Of(kind))))
	}
	return wording.List(out, len(out))
}

// headline says the change: "kubelet grew by 128 goroutines in 7 min 20 s: 131
// were born, 3 ended."
func (m *diffMaker) headline(kind analysis.Kind) string {
	r := m.in.Result
	who := printable(r.B.Process.Name.Value)
	if r.A.Process.Key() != r.B.Process.Key() {
		return fmt.Sprintf("A is %s and B is %s: two processes, %s and %s.", printable(r.A.Process.Name.Value), who, m.count(r.TotalA, kind), m.count(r.TotalB, kind))
	}
	a, b := r.TotalA.Of(kind), r.TotalB.Of(kind)
	switch {
	case a == nil && b == nil:
		return fmt.Sprintf("%s: no %s were captured in A or B.", who, kindWord(kind, 2))
	case a == nil:
		return fmt.Sprintf("%s has %s in B; none were captured in A, so nothing can be compared.", who, many(kind, *b))
	case b == nil:
		return fmt.Sprintf("%s has %s in A; none were captured in B, so nothing can be compared.", who, many(kind, *a))
	}
	if cut := m.cutWords(kind); cut != "" {
		return fmt.Sprintf("%s: %s and %s cannot be compared: %s.", who, Visible(r.A.Label), Visible(r.B.Label), cut)
	}
	if !r.Followed && m.in.OtherID != "" {
		return fmt.Sprintf("%s of two cases: %s in A, %s in B; members are not followed.", who, many(kind, *a), wording.Number(int64(*b)))
	}
	if !r.Followed {
		return fmt.Sprintf("%s was restarted between A and B: %s before, %s after.", who, many(kind, *a), wording.Number(int64(*b)))
	}
	var text string
	if back := r.A.CapturedAt.Sub(r.B.CapturedAt); back > 0 && !r.B.CapturedAt.IsZero() {
		return m.backwards(who, kind, *a, *b, back)
	}
	switch delta := *b - *a; {
	case delta > 0:
		text = fmt.Sprintf("%s grew by %s", who, many(kind, delta))
	case delta < 0:
		text = fmt.Sprintf("%s shrank by %s", who, many(kind, -delta))
	default:
		text = fmt.Sprintf("%s has %s in both", who, many(kind, *a))
	}
	if !r.A.CapturedAt.IsZero() && !r.B.CapturedAt.IsZero() && !r.A.CapturedAt.Equal(r.B.CapturedAt) {
		text += " in " + wording.PageDuration(r.B.CapturedAt.Sub(r.A.CapturedAt).Abs())
		text = strings.Replace(text, " in both in ", " in both, ", 1)
		if strings.Contains(text, " in both, ") {
			text += " apart"
		}
	}
	born, ok := r.Born[kind]
	if !ok {
		return text + "."
	}
	was := "were"
	if born == 1 {
		was = "was"
	}
	return fmt.Sprintf("%s: %s %s born, %s ended.", text, wording.Number(int64(born)), was, wording.Number(int64(r.Ended[kind])))
}

// backwards is the headline where B is the earlier snapshot: nothing was born or ended on
// the way back.
func (m *diffMaker) backwards(who string, kind analysis.Kind, a, b int, back time.Duration) string {
	text := fmt.Sprintf("%s, backwards: %s in A, %s in B, which is %s earlier", who, many(kind, a), wording.Number(int64(b)), wording.PageDuration(back))
	if only, ok := m.in.Result.Ended[kind]; ok {
		text += fmt.Sprintf("; %s only in A, %s only in B", wording.Number(int64(only)), wording.Number(int64(m.in.Result.Born[kind])))
	}
	return text + "."
}

func (m *diffMaker) count(t analysis.Totals, kind analysis.Kind) string {
	if v := t.Of(kind); v != nil {
		return many(kind, *v)
	}
	return "no " + kindWord(kind, 2)
}

func (m *diffMaker) summary(d *Diff, kind analysis.Kind) {
	if cut := m.cutWords(kind); cut != "" && m.in.Result.Followed {
		d.Unfollowed = "How many ended and were born cannot be said: " + cut + "."
		return
	}
	born, ok := m.in.Result.Born[kind]
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
			Kind: kindTitle(k), A: atLeast(orDash(a), m.in.Result.A.Bounded(k)), B: atLeast(orDash(b), m.in.Result.B.Bounded(k)),
			Known: a != nil && b != nil && len(m.cut(k)) == 0,
		}
		if t.Known {
			t.Delta = *b - *a
		}
		d.Totals = append(d.Totals, t)
	}
}

// rows are those that pass the filter, sorted within their sections.
func (m *diffMaker) rows(box *FilterBox) []diff.Row {
	out := make([]diff.Row, 0, len(m.in.Result.Rows))
	of := 0
	for _, r := range m.in.Result.Rows {
		if r.Family == nil || m.kind != "" && r.Family.Kind != m.kind {
			continue
		}
		of++
		if m.asked.Empty() || m.asked.Match(m.facts(&r)) {
			out = append(out, r)
		}
	}
	box.unknown(m.asked, "the time between A and B is not known, or nobody can be followed", m.unknownFields()...)
	box.passed(len(out), of)
	by, down := m.sorting()
	if by == "" {
		return out
	}
	slices.SortStableFunc(out, func(x, y diff.Row) int {
		n := m.compare(x, y, by)
		if down {
			n = -n
		}
		return n
	})
	return out
}

func (m *diffMaker) unknownFields() []filter.Field {
	if m.hours(m.mainKind()) > 0 {
		return nil
	}
	return []filter.Field{filter.Growth}
}

// hours is the time from A to B in which a kind may have grown, 0 where it is not
// known.
func (m *diffMaker) hours(k analysis.Kind) float64 {
	a, b := m.in.Result.A, m.in.Result.B
	from, to := a.CapturedAt, b.CapturedAt
	if at, ok := a.Times[k]; ok {
		from = at
	}
	if at, ok := b.Times[k]; ok {
		to = at
	}
	if from.IsZero() || to.IsZero() || !m.in.Result.Followed {
		return 0
	}
	return max(0, to.Sub(from).Hours())
}

// facts are what the page knows of a family, for filters.
func (m *diffMaker) facts(r *diff.Row) *filter.Facts {
	f := r.Family
	facts := &filter.Facts{
		Title: m.title(f), Kind: f.Kind, Frames: f.Loose, Creator: f.LooseCreator, Attributes: f.Attributes, States: r.StatesB,
		Verdict: m.in.Verdicts[f.Fingerprint].Verdict, Evidence: m.in.Verdicts[f.Fingerprint].Evidence,
		Process: m.in.Result.B.Process.Name.Value, Count: filter.Known(float64(r.B)),
	}
	if facts.States == nil {
		facts.States = r.StatesA
	}
	if len(m.cut(f.Kind)) == 0 {
		facts.Delta = filter.Known(float64(r.Delta))
		if hours := m.hours(f.Kind); hours > 0 {
			facts.Growth = filter.Known(float64(r.Delta) / hours)
		}
	}
	if r.OldestWait >= 0 {
		facts.Wait = filter.Known(float64(r.OldestWait))
	} else if m.wait(*r) != "n/a" {
		facts.Wait = filter.Known(0)
	}
	if known := m.families[f.Fingerprint]; known != nil {
		in := report.FactsOf(known)
		facts.Classes, facts.Unit, facts.Triage = in.Classes, in.Unit, in.Triage
	}
	if m.asked.Uses(filter.Label) {
		for i, n := range m.counts(f.Fingerprint) {
			if n != nil && *n > 0 && i < len(m.in.Labels) {
				facts.Labels = append(facts.Labels, m.in.Labels[i])
			}
		}
	}
	if m.asked.Uses(filter.FD) || m.asked.Uses(filter.Inode) {
		if g := cmp.Or(m.groupOfB(f.Fingerprint), report.GroupOf(m.in.Result.A, f.Fingerprint)); g != nil {
			facts.Members = &g.Members
		}
	}
	return facts
}

func (m *diffMaker) title(f *analysis.Family) string {
	if t := m.in.Titles[f.Fingerprint]; t != "" {
		return t
	}
	return f.Title
}

// sortWord is an order that an address may ask for, in words; "" for any other.
func sortWord(by string) string {
	switch by {
	case "name", "new", "gone":
		return by
	case "a", "b":
		return strings.ToUpper(by)
	case "delta":
		return "Δ"
	case "wait":
		return "oldest wait"
	}
	return ""
}

func (m *diffMaker) sorting() (by string, down bool) {
	by = m.in.Query.Get("sort")
	if sortWord(by) == "" {
		return "", false
	}
	if dir := m.in.Query.Get("dir"); dir != "" {
		return by, dir == "desc"
	}
	return by, by != "name"
}

func (m *diffMaker) compare(x, y diff.Row, by string) int {
	switch by {
	case "a":
		return cmp.Compare(x.A, y.A)
	case "b":
		return cmp.Compare(x.B, y.B)
	case "new":
		return cmp.Compare(x.New, y.New)
	case "gone":
		return cmp.Compare(x.Gone, y.Gone)
	case "wait":
		return cmp.Compare(x.OldestWait, y.OldestWait)
	case "name":
		return cmp.Compare(m.title(x.Family), m.title(y.Family))
	}
	return cmp.Compare(x.Delta, y.Delta)
}

// address is this page with one part of its query changed; an empty value drops
// the part.
func (m *diffMaker) address(change map[string]string) string {
	if m.in.Frozen {
		return ""
	}
	q := m.parts()
	for k, v := range change {
		if v == "" {
			q.Del(k)
		} else {
			q.Set(k, v)
		}
	}
	return m.base + "?" + q.Encode()
}

func (m *diffMaker) tabs() []DiffTab {
	count := map[analysis.Kind]int{}
	for _, r := range m.in.Result.Rows {
		if r.Family != nil {
			count[r.Family.Kind]++
		}
	}
	tabs := []DiffTab{{Text: "All " + wording.Number(int64(len(m.in.Result.Rows))), URL: m.address(map[string]string{"kind": ""}), Current: m.kind == ""}}
	for _, k := range analysis.Kinds() {
		if count[k] > 0 || k == m.kind {
			tabs = append(tabs, DiffTab{Text: kindTitle(k) + " " + wording.Number(int64(count[k])), URL: m.address(map[string]string{"kind": string(k)}), Current: m.kind == k})
		}
	}
	return tabs
}

func (m *diffMaker) heads() []DiffHead {
	by, down := m.sorting()
	head := func(text, key, mark string) DiffHead {
		h := DiffHead{Text: text, Mark: mark, Numeric: key != "name"}
		if key == "" {
			return h
		}
		dir := "desc"
		if key == "name" {
			dir = "asc"
		}
		if by == key {
			h.Sort, h.Arrow, dir = "ascending", "↑", "desc"
			if down {
				h.Sort, h.Arrow, dir = "descending", "↓", "asc"
			}
		} else if by == "" && key == "delta" {
			h.Sort, h.Arrow = "descending", "↓"
		}
		h.URL = m.address(map[string]string{"sort": key, "dir": dir})
		return h
	}
	return []DiffHead{
		head("Family", "name", ""), {Text: m.spreadName()}, head("A", "a", "a"), head("B", "b", "b"), head("Δ", "delta", ""),
		{Text: "%", Numeric: true}, head("New", "new", ""), head("Gone", "gone", ""), {Text: "Surv.", Numeric: true}, head("Oldest wait", "wait", ""), {Text: "Verdict"},
	}
}

func (m *diffMaker) spreadName() string {
	if len(m.in.Labels) < 2 {
		return "Over time"
	}
	s := Visible(m.in.Labels[0]) + " to " + Visible(m.in.Labels[len(m.in.Labels)-1])
	if len([]rune(s)) > 16 {
		return "Over time"
	}
	return s
}

func (m *diffMaker) sections(rows []diff.Row) []DiffSection {
	byName := map[diff.Section][]diff.Row{}
	order := diff.Sections()
	for _, r := range rows {
		section := r.Section
		if len(m.cut(r.Family.Kind)) > 0 {
			section = notCompared
		}
		byName[section] = append(byName[section], r)
	}
	if cut := byName[notCompared]; len(cut) > 0 {
		// Sections that are empty because of the cut would say that nothing grows.
		order = slices.DeleteFunc(order, func(s diff.Section) bool { return len(byName[s]) == 0 })
		order = append(order, notCompared)
		if by, _ := m.sorting(); by == "" {
			slices.SortStableFunc(cut, func(x, y diff.Row) int { return cmp.Compare(max(y.A, y.B), max(x.A, x.B)) })
		}
	}
	details := 0
	var out []DiffSection
	for _, section := range order {
		s := DiffSection{Name: string(section), Title: sectionTitle(section), Folded: section == diff.Unchanged, Note: m.note(section, byName[section])}
		m.fillSection(&s, section, byName[section], &details)
		out = append(out, s)
	}
	return out
}

// maxRows bounds the families that a section shows before they are asked for, by
// what a reader looks through; what did not change is looked through least.
const (
	maxRows      = 100
	maxUnchanged = 50
)

// fillSection makes the rows of a section. Families of a unit stand under its band,
// those that rise alone follow; in an order of the reader's own there are no bands.
func (m *diffMaker) fillSection(s *DiffSection, section diff.Section, rows []diff.Row, details *int) {
	most := maxRows
	if section == diff.Unchanged {
		most = maxUnchanged
	}
	by, _ := m.sorting()
	banded := by == "" && (section == diff.Growing || section == diff.New)
	shown := rows
	if left := len(rows) - most; left > 0 && !m.in.Frozen && m.in.Query.Get("all") == "" {
		if banded {
			rows = m.unitsFirst(rows)
		}
		shown = rows[:most]
		for _, r := range rows[most:] {
			if m.open[r.Family.Fingerprint] {
				shown = append(shown[:len(shown):len(shown)], r)
			}
		}
		s.More = fmt.Sprintf("%s not shown.", wording.PagePlural(int64(len(rows)-len(shown)), "more family is", "more families are"))
		s.MoreURL = m.address(map[string]string{"all": "1"}) + "#h-" + s.Name
	}
	s.Rows = slices.Grow(s.Rows, len(shown))
	for i, r := range shown {
		row := m.row(r, section, i)
		if m.wantDetail(row, section, details) {
			row.Detail = m.detail(r, row)
		}
		if row.Open && s.Folded {
			s.Folded = false
		}
		unit := m.unitOf(r.Family.Fingerprint)
		switch {
		case unit == nil:
			s.Rows = append(s.Rows, row)
		case !banded:
			row.Unit = Visible(unit.ID)
			s.Rows = append(s.Rows, row)
		default:
			at := slices.IndexFunc(s.Units, func(u DiffUnit) bool { return u.ID == Visible(unit.ID) })
			if at < 0 {
				at = len(s.Units)
				s.Units = append(s.Units, m.band(unit))
			}
			s.Units[at].Rows = append(s.Units[at].Rows, row)
		}
	}
	for i := range s.Units {
		m.countBand(&s.Units[i])
	}
}

// notCompared is the section of the families that a cut dump counts too low: they
// neither grow nor shrink.
const notCompared diff.Section = "not_compared"

// wantDetail decides which rows carry their stacks: those opened by address,
// and on frozen pages all that changed, up to a bound.
func (m *diffMaker) wantDetail(row DiffRow, section diff.Section, used *int) bool {
	if row.Open {
		return true
	}
	if !m.in.Frozen || section == diff.Unchanged || *used >= maxFrozenDetails {
		return false
	}
	*used++
	return true
}

// note counts a section in words.
func (m *diffMaker) note(section diff.Section, rows []diff.Row) string {
	if len(rows) == 0 {
		if section == diff.Gone && m.in.Result.Ended[m.mainKind()] > 0 {
			return "none; what ended was replaced in its own family"
		}
		return "none"
	}
	text := wording.PagePlural(int64(len(rows)), "family", "families")
	if section == notCompared {
		return text + "; " + m.cutWords(rows[0].Family.Kind) + ", its figures prove neither growth nor shrinking"
	}
	sum := map[analysis.Kind]int{}
	for _, r := range rows {
		if section == diff.Unchanged {
			sum[r.Family.Kind] += r.B
		} else {
			sum[r.Family.Kind] += r.Delta
		}
	}
	for _, k := range analysis.Kinds() {
		if sum[k] == 0 {
			continue
		}
		if section == diff.Unchanged {
			text += ", " + many(k, sum[k])
		} else {
			text += ", " + wording.Signed(sum[k]) + " " + kindWord(k, sum[k])
		}
	}
	return text
}

func (m *diffMaker) row(r diff.Row, section diff.Section, i int) DiffRow {
	f := r.Family
	row := DiffRow{
		Anchor: string(section) + "-" + strconv.Itoa(i+1), Fingerprint: f.Fingerprint,
		Name:  newFamilyName(m.title(f), f.Kind, f.Loose, f.LooseCreator, f.Attributes),
		Delta: r.Delta, Percent: wording.Percent(r.A, r.B),
		New: "n/a", Gone: "n/a", Survived: "n/a", Wait: m.wait(r), Verdict: string(m.in.Verdicts[f.Fingerprint].Verdict),
		Open: m.open[f.Fingerprint],
	}
	a, b := m.columns.of(m.in.Result.A, f, r.A), m.columns.of(m.in.Result.B, f, r.B)
	row.A, row.SignA, row.B, row.SignB = a.Text, a.Sign, b.Text, b.Sign
	row.Unknown = section == notCompared
	if !row.Unknown {
		row.Fate = m.fate(r)
	}
	row.Spark = chart.SparkData{ID: "sp-" + row.Anchor, Labels: m.in.Labels, Values: m.counts(f.Fingerprint), A: m.in.AIndex, B: m.in.BIndex, Epochs: m.in.Restarts}
	if f.Kind == analysis.KindGoroutine || f.Kind == analysis.KindThread {
		row.Spark.Lower = m.lower(f.Kind)
	}
	if r.Identified {
		row.New, row.Gone, row.Survived = wording.Number(int64(r.New)), wording.Number(int64(r.Gone)), wording.Number(int64(r.Survived))
	}
	if row.Unknown {
		m.unknown(&row, r)
	}
	if known := m.families[f.Fingerprint]; known != nil {
		row.Triage = markOf(known.Triage)
	}
	row.Name.URL = m.familyURL(f.Fingerprint)
	if section != diff.Unchanged || row.Open {
		row.Toggle = m.toggle(f.Fingerprint, row.Anchor, row.Open)
	}
	return row
}

// lower says of each snapshot of the series whether it counts too few of a kind; of A
// and B it is known in any case.
func (m *diffMaker) lower(k analysis.Kind) []bool {
	out := make([]bool, len(m.in.Labels))
	copy(out, m.in.Lower)
	for _, side := range []struct {
		at   int
		snap *analysis.Snapshot
	}{{m.in.AIndex, m.in.Result.A}, {m.in.BIndex, m.in.Result.B}} {
		if side.at >= 0 && side.at < len(out) && side.snap.Bounded(k) {
			out[side.at] = true
		}
	}
	return out
}

// unknown leaves in a row only what a cut dump proves: how many there were at least,
// and where members are followed, that those it names were there.
func (m *diffMaker) unknown(row *DiffRow, r diff.Row) {
	cutA, cutB := m.in.Result.A.Bounded(r.Family.Kind), m.in.Result.B.Bounded(r.Family.Kind)
	row.Delta, row.Percent = 0, "n/a"
	if !r.Identified {
		return
	}
	row.Survived = proven(r.Survived)
	row.New, row.Gone = proven(r.New), proven(r.Gone)
	if cutA {
		row.New = "n/a" // the cut may have taken it from A
	}
	if cutB {
		row.Gone = "n/a" // the cut may have taken it from B
	}
}

// proven writes a count of which there may be more; none proves nothing.
func proven(n int) string {
	if n == 0 {
		return "n/a"
	}
	return atLeast(wording.Number(int64(n)), true)
}

// fate says what became of a row that rises from A to B in a series that falls
// as a whole, so that the verdict does not contradict the row.
func (m *diffMaker) fate(r diff.Row) string {
	if r.B <= r.A {
		return ""
	}
	if verdict := m.in.Verdicts[r.Family.Fingerprint].Verdict; verdict != analysis.Gone && verdict != analysis.Shrinking {
		return ""
	}
	counts := m.counts(r.Family.Fingerprint)
	at, word := -1, "shrunk"
	for i := max(m.in.BIndex, 0); i < min(len(counts), len(m.in.Labels)); i++ {
		if counts[i] == nil {
			continue
		}
		at = i
		if *counts[i] == 0 {
			word = "gone"
			break
		}
	}
	if at < 0 || at == m.in.BIndex {
		return word + " later"
	}
	return word + " by " + Visible(m.in.Labels[at])
}

// verdictOf is the verdict of a row in words, or its fate.
func (r DiffRow) verdictOf() string {
	if r.Fate != "" {
		return marked(r.Fate, r.Triage)
	}
	return marked(verdictWord(r.Verdict), r.Triage)
}

// toggle is this page with one row opened or closed, at the link that does so.
func (m *diffMaker) toggle(fingerprint, anchor string, isOpen bool) string {
	if m.in.Frozen {
		return ""
	}
	to := "#" + anchor + "-o"
	if isOpen {
		return "?" + m.query + m.opened(fingerprint) + to
	}
	return "?" + m.query + m.opens + "&open=" + url.QueryEscape(fingerprint) + to
}

// opened are the open rows but for one, as they stand in an address.
func (m *diffMaker) opened(without string) string {
	var text string
	for _, fp := range slices.Sorted(maps.Keys(m.open)) {
		if fp != without {
			text += "&open=" + url.QueryEscape(fp)
		}
	}
	return text
}

func (m *diffMaker) wait(r diff.Row) string {
	if r.OldestWait >= 0 {
		return wording.Wait(r.OldestWait)
	}
	if r.Family.Kind == analysis.KindGoroutine && r.B > 0 && (r.Identified || m.listed(r.Family.Fingerprint)) {
		return shortWait(r.Family, r.StatesB, m.families[r.Family.Fingerprint])
	}
	return "n/a"
}

// listed reports whether B lists the members of a family one by one: then the
// absence of a wait is known, even where nobody can be followed from A.
func (m *diffMaker) listed(fingerprint string) bool {
	g := m.groupOfB(fingerprint)
	return g != nil && g.Members.Identified()
}

func (m *diffMaker) detail(r diff.Row, row DiffRow) *DiffDetail {
	d := &DiffDetail{
		FamilyURL: row.Name.URL, LabelA: Visible(m.in.Result.A.Label), LabelB: Visible(m.in.Result.B.Label),
		HeadA: m.stackHead(r.Family.Kind, r.A, r.VariantA), HeadB: m.stackHead(r.Family.Kind, r.B, r.VariantB),
	}
	d.Lead = m.lead(r, row)
	if known := m.families[r.Family.Fingerprint]; known != nil && known.Triage != nil {
		d.Triage = "Triage: " + Visible(triageSentence(*known.Triage))
	}
	d.Why = m.whyURL(r.Family.Fingerprint)
	if r.A == 0 {
		r.VariantA = m.nearest(r.Family, d)
	}
	d.HasStacks = r.VariantA != nil || r.VariantB != nil
	d.HasWaits = d.HasStacks && r.Family.Kind == analysis.KindGoroutine
	if d.HasStacks {
		d.Stack = foldStack(diff.Align(r.VariantA, r.VariantB), r.VariantA, r.VariantB)
		d.Elided = elided(r.VariantA, r.VariantB)
	} else {
		d.Attributes = attributePairs(r.Family.Attributes)
	}
	d.StatesA, d.BarA = states(row.Anchor+"-sa", r.StatesA)
	d.StatesB, d.BarB = states(row.Anchor+"-sb", r.StatesB)
	if g := m.groupOfB(r.Family.Fingerprint); g != nil {
		d.Waits = waitBars(row.Anchor+"-w", g)
	}
	for _, e := range m.in.Verdicts[r.Family.Fingerprint].Evidence {
		d.Evidence = append(d.Evidence, Pair{ruleWord(e.Rule), Visible(arrow(e.Text))})
	}
	return d
}

// nearest sets what is most like the family at A beside it where A has none.
func (m *diffMaker) nearest(f *analysis.Family, d *DiffDetail) *analysis.Stack {
	g, why := diff.Nearest(m.in.Result.A, f)
	if g == nil {
		d.Lead += " Nothing near it either: " + Visible(why) + "."
		return nil
	}
	d.Lead += fmt.Sprintf(" Nearest at A: %s, %s.", many(f.Kind, g.Count), Visible(why))
	d.WhyNot = m.whyURL(f.Fingerprint, g.Family.Fingerprint)
	if len(g.Variants) == 0 {
		return nil
	}
	d.HeadA = m.stackHead(f.Kind, g.Count, g.Variants[0].Stack) + ", nearest"
	return g.Variants[0].Stack
}

func (m *diffMaker) stackHead(k analysis.Kind, n int, s *analysis.Stack) string {
	text := many(k, n)
	if s != nil {
		text += ", " + wording.PagePlural(int64(len(s.Frames)), "frame", "frames")
	}
	return text
}

// lead says in one sentence what the two sides have to do with each other.
func (m *diffMaker) lead(r diff.Row, row DiffRow) string {
	switch {
	case row.Unknown:
		return "A dump is cut: who is not in it may still have been there."
	case r.A == 0:
		return "No member of this family at A."
	case r.B == 0:
		return "No member of this family at B."
	case !m.in.Result.Followed && m.in.OtherID != "":
		return "The members are not followed: A and B are of two cases."
	case !m.in.Result.Followed:
		return "The members are not followed: the process was restarted between A and B."
	case !r.Identified:
		return "The members cannot be followed: this evidence names no ids."
	case r.Survived == 0:
		return fmt.Sprintf("Nobody of A is still there: %s are gone, %s are new.", row.Gone, row.New)
	case r.Gone == 0:
		return fmt.Sprintf("Nobody left: all %s of A are still there, %s are new.", row.Survived, row.New)
	}
	return fmt.Sprintf("%s of A are still there, %s are gone, %s are new.", row.Survived, row.Gone, row.New)
}

// foldStack turns aligned frames into runs and folds four or more frames in a
// row that are of one plumbing package and of one mark.
func foldStack(pairs []diff.Pair, a, b *analysis.Stack) []StackRun {
	const least = 4
	var runs []StackRun
	for i := 0; i < len(pairs); {
		j := i + 1
		pkg := plumbing(pairs[i])
		for pkg != "" && j < len(pairs) && plumbing(pairs[j]) == pkg && pairs[j].Mark == pairs[i].Mark {
			j++
		}
		var lines []StackLine
		for _, p := range pairs[i:j] {
			lines = append(lines, StackLine{Mark: markWord(p.Mark), A: frameLine(p.A), B: frameLine(p.B), Creator: isCreator(p, a, b)})
		}
		switch n := len(runs); {
		case j-i >= least:
			runs = append(runs, StackRun{Fold: fmt.Sprintf("%d frames of %s", j-i, pkg), Lines: lines})
		case n > 0 && runs[n-1].Fold == "":
			runs[n-1].Lines = append(runs[n-1].Lines, lines...)
		default:
			runs = append(runs, StackRun{Lines: lines})
		}
		i = j
	}
	return runs
}

// markWord is a mark of diff.Align as a class name.
func markWord(mark string) string {
	switch mark {
	case diff.OtherLine:
		return "chg"
	case diff.OnlyA:
		return "del"
	case diff.OnlyB:
		return "add"
	}
	return "same"
}

// isCreator tells the line of the creator, which Align puts under the frames.
func isCreator(p diff.Pair, a, b *analysis.Stack) bool {
	return a != nil && p.A == &a.CreatedBy || b != nil && p.B == &b.CreatedBy
}

// plumbingPackages say nothing about who leaks; runs of their frames fold.
var plumbingPackages = [...]string{
	"google.golang.org/grpc", "google.golang.org/protobuf", "golang.org/x/net", "github.com/containerd/ttrpc",
	"go.opentelemetry.io", "github.com/grpc-ecosystem", "github.com/emicklei/go-restful", "k8s.io/apiserver/pkg",
	"k8s.io/apimachinery/pkg/util", "net/http", "internal/poll", "crypto/tls", "runtime", "net",
}

// plumbing is the package that a pair belongs to, empty where it tells something.
func plumbing(p diff.Pair) string {
	f := p.A
	if f == nil {
		f = p.B
	}
	if f == nil {
		return ""
	}
	path, _ := funcName(f.Func)
	path = strings.TrimSuffix(path, ".")
	for _, pkg := range plumbingPackages {
		if path == pkg || strings.HasPrefix(path, pkg+"/") {
			return pkg
		}
	}
	return ""
}

func frameLine(f *analysis.Frame) *FrameLine {
	if f == nil {
		return nil
	}
	out := &FrameLine{Func: longFunc(f.Func)}
	if f.File != "" {
		out.Loc = Visible(f.File[strings.LastIndexByte(f.File, '/')+1:])
		if f.Line > 0 {
			out.Loc += ":" + itoa(int64(f.Line))
		}
	}
	return out
}

func elided(stacks ...*analysis.Stack) string {
	for _, s := range stacks {
		switch {
		case s == nil:
		case s.Elided > 0:
			return wording.PagePlural(int64(s.Elided), "frame was", "frames were") + " left out by the runtime."
		case s.Elided < 0:
			return "The runtime left out an unknown number of frames."
		case s.Unavailable != "":
			return Visible(s.Unavailable)
		}
	}
	return ""
}

// states orders a distribution, largest first, with its bar.
func states(id string, counts map[string]int) ([]State, *chart.StatesData) {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	if len(names) == 0 {
		return nil, nil
	}
	bar := &chart.StatesData{ID: id, Width: 160}
	var out []State
	for _, n := range names {
		name := Visible(n)
		if name == "" {
			name = "no state"
		}
		out = append(out, State{name, wording.Number(int64(counts[n]))})
		bar.Parts = append(bar.Parts, chart.Bar{Label: name, Count: counts[n]})
	}
	return out, bar
}

// waitBars is the histogram of header minutes, without the empty end.
func waitBars(id string, g *analysis.Group) *chart.BarsData {
	last, total := -1, 0
	for i, n := range g.Waits {
		if n > 0 {
			last = i
		}
		total += n
	}
	if total == 0 {
		return nil
	}
	names := [...]string{"<1", "1–2", "3–5", "6–10", "11–30", "31–60", "1–4 h", "4–24 h", ">24 h"}
	b := &chart.BarsData{ID: id, Title: "Waiting at least, minutes", What: "Minutes"}
	for i := range g.Waits[:max(last+1, 3)] {
		b.Bars = append(b.Bars, chart.Bar{Label: names[i], Count: g.Waits[i]})
	}
	return b
}

// twin holds the figures of the small lines.
func (m *diffMaker) twin(all []DiffSection) chart.Table {
	t := chart.Table{Caption: "Members of each family per snapshot", Head: []string{"Family"}}
	columns := chart.Fewer(len(m.in.Labels), m.in.AIndex, m.in.BIndex)
	if columns != nil {
		t.Caption += fmt.Sprintf(", %d of %d snapshots", len(columns), len(m.in.Labels))
	}
	for i, l := range m.in.Labels {
		if slices.Contains(m.in.Restarts, i) {
			l += " (restarted)"
		}
		t.Head = append(t.Head, l)
	}
	t.Head = slices.Concat(t.Head[:1], visibles(few(t.Head[1:], columns)))
	for _, s := range all {
		if s.Name == string(diff.Unchanged) {
			continue
		}
		rows := s.all()
		t.Rows = slices.Grow(t.Rows, len(rows))
		for i := range rows {
			if r := &rows[i]; len(r.Spark.Values) == len(m.in.Labels) {
				t.Rows = append(t.Rows, withCells([]string{r.Name.Text()}, few(r.Spark.Values, columns), few(r.Spark.Lower, columns)))
			}
		}
	}
	return t
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

// all are the rows of a section in the order of the page.
func (s DiffSection) all() []DiffRow {
	if len(s.Units) == 0 {
		return s.Rows
	}
	var out []DiffRow
	for _, u := range s.Units {
		out = append(out, u.Rows...)
	}
	return append(out, s.Rows...)
}

func ofCase(l *Link) string {
	if l == nil {
		return ""
	}
	return ", of the case " + l.Text
}

// DiffFilter is what the filter of a comparison's address lets pass; a Fault with
// Code "bad_request" where it is not understood.
func DiffFilter(in DiffInput) (func(diff.Row) bool, error) {
	m := diffMaker{in: in, kind: analysis.Kind(in.Query.Get("kind"))}
	asked, err := filter.Parse(in.Query.Get("q"))
	if err != nil {
		return nil, filterFault(err)
	}
	m.asked = asked
	if !slices.Contains(analysis.Kinds(), m.kind) {
		m.kind = ""
	}
	m.prepare()
	return func(r diff.Row) bool {
		return (m.kind == "" || r.Family.Kind == m.kind) && (asked.Empty() || asked.Match(m.facts(&r)))
	}, nil
}
