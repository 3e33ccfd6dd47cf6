package view

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/filter"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// BundleLine is one bundle of a case. Status is "read", "reading" or "failed";
// Size is ready to print.
type BundleLine struct {
	ID, Name, Status, Size string
	Snapshots, Problems    int
}

// reading reports whether the bundle is still being read.
func (b BundleLine) reading() bool {
	return b.Status == "reading" || b.Status == "queued" || b.Status == "running" || b.Status == "received"
}

// CaseInput is what a case page is made from.
type CaseInput struct {
	ID, Title string
	Sample    bool
	Report    report.Report
	Bundles   []BundleLine
	// Permalinks is how many frozen results were made of the case.
	Permalinks int
	Engine     string
	// More has an entry for each series of the report, or is empty.
	More []CaseMore
	// Baselines are the snapshots that figures are compared to, by the key of the
	// series; only those that a person chose.
	Baselines map[string]Baseline
	Query     url.Values
	// Charts is what the reader asked for of the further charts: "1" for the first
	// processes, else a series; empty for nothing.
	Charts string
	// Metric is the kind that the reader wants the totals of, empty for that of the answer.
	Metric analysis.Kind
	// Frozen drops every form and every link to a live page.
	Frozen bool
	// Fields are what people keep about the case, by name; Over names those whose
	// value of somebody else the last save replaced.
	Fields   map[string]CaseField
	Over     []string
	NeedsKey bool
	// Memories are what other cases know of families that findings lead with, by
	// fingerprint.
	Memories map[string]CaseMemory
}

// CaseMemory is what other cases know of a family.
type CaseMemory struct {
	OtherCases int
	Said       []TriageMemory
}

// Sentence is the memory in words, empty where no other case shows the family.
func (m CaseMemory) Sentence() string {
	if m.OtherCases == 0 {
		return ""
	}
	return memorySentence(m.OtherCases, m.Said)
}

// Case is the page of one case.
type Case struct {
	Shell     Shell
	ID, Title string
	Sample    bool
	Frozen    bool
	Headline  string
	// Lead qualifies the headline, empty mostly.
	Lead string
	// Answer is the first screen, nil where nothing was read.
	Answer *Answer `json:",omitempty"`
	// Form is what the forms that rename and delete the case show.
	Form CaseForm
	// Reading are the bundles that are still being read.
	Reading  []Link
	Timeline chart.TimelineData
	Legend   []LegendItem
	About    string
	Columns  []CaseColumn
	Groups   []CaseGroup
	// ColumnNote says that not every snapshot has a column; Others are the processes
	// that the table has no rows for.
	ColumnNote string
	Others     []CaseOther
	// Pickers says that at least one series has two snapshots to compare.
	Pickers bool
	Choices []ChoiceGroup
	A, B    string
	// MoreChoices says that there are more snapshots than choices.
	MoreChoices bool `json:",omitempty"`
	// Paging is set where the case has more processes than a page shows.
	Paging *Paging `json:",omitempty"`
	// Short is the first finding of each process, for who reads nothing else; ShortNote
	// says that there are more.
	Short     []CaseShort
	ShortNote string
	Findings  []CaseFinding
	// Before counts the findings of the pages before.
	Before int `json:",omitempty"`
	// Listed are further findings in a line, ListedNote counts those that are not there.
	Listed     []CaseLine `json:",omitempty"`
	ListedNote string     `json:",omitempty"`
	// FindingsNote says in which order the findings stand.
	FindingsNote string
	// SetAside are the findings that somebody called benign, with the reasons.
	SetAside []CaseAside
	Quiet    []string
	// Doubts are what the verdicts of each process cannot exclude.
	Doubts []Pair
	// Locks is who waits for whom in the last snapshot of each process.
	Locks []LockGroup `json:",omitempty"`
	// Objects has an entry for each process with kinds of objects that matter.
	Objects []CaseObjects `json:",omitempty"`
	Rising  string
	Minis   []CaseMini
	// MoreMinis are folded behind the first.
	MoreMinis []CaseMini
	MiniMax   string
	MiniNote  string
	// Further are further charts, nil where there is nothing to draw.
	Further *CaseCharts
	Limits  []CaseLimit
	Units   []CaseUnit
	// Families are those outside of units.
	Families []CaseFamily
	// MoreFamilies counts the families that the table leaves out.
	MoreFamilies int
	FamilyCount  int
	// Box filters the families; Applied says on a frozen page what was filtered.
	Box     FilterBox
	Applied string
	// Several is the page with all snapshots of the first series side by side.
	Several string
	Bundles []CaseBundle
	// BundlesNote says that not all bundles are listed.
	BundlesNote string `json:",omitempty"`
	Identity    []CaseIdentity
	NotSeen     []string
	Problems    []Problem
	// MoreProblems counts the kinds of problems that the list leaves out.
	MoreProblems int
	ProblemCount int
	// Context stands beside the proofs, one for each process that has any.
	Context []CaseContext
}

// CaseColumn is one instant of the case. Day is set where the columns are of several
// days and this one is not of the day before it.
type CaseColumn struct {
	Label, Day, Clock, Full string
	// Restart names the processes that were restarted before this instant.
	Restart string
}

// CaseOther is a process in a line: what it had first and last, and the address that
// compares both.
type CaseOther struct {
	Process, About, Course, URL string
}

// CaseGroup is the rows of one series in the table of figures.
type CaseGroup struct {
	Process, About string
	Rows           []CaseFigures
	// Picks has an entry for every column, with an empty Value where the series
	// has no snapshot; nil where there is nothing to compare.
	Picks []CasePick
	Links []Link
	// Baseline names the one that was chosen.
	Baseline string
}

// CaseFigures is one row of figures, a cell for every column.
type CaseFigures struct {
	Name   string
	Strong bool
	Cells  []string
}

// CasePick is one pair of radio buttons.
type CasePick struct {
	Value, Text string
	A, B        bool
}

// CaseFinding is one numbered finding.
type CaseFinding struct {
	Number        string
	Anchor        string
	Verdict       string
	Title, Text   string
	Process, Unit string
	Kind          string
	Classes       []string
	// Triage is what somebody decided about its families, TriageText why.
	Triage, TriageText string
	// Memory says where else the first family was seen, and what it turned out to be.
	Memory       string
	Evidence     []Pair
	MoreEvidence []Pair
	// Stack is where its members are, nil where nothing shows one; results that were frozen
	// by older versions have none.
	Stack          *Trace `json:",omitempty"`
	Next           string
	Spark          *chart.SparkData
	From, To, Peak string
	// Course is From, Peak and To in words where a restart lies between them.
	Course   string
	Families []Link
	// Object is the kind of objects that the finding is about, nil for none.
	Object *Link `json:",omitempty"`
	// Each is one instance of a unit: "1 goroutine, 6 watches each".
	Each      string
	ShareHead string
	Shares    []CaseShare
	// Advice is one for each class of the finding; KnownNote says that no known leak
	// matches, or that there are more.
	Advice    []ClassAdvice
	Known     []KnownLeak
	KnownNote string
	// Behind are the findings of other processes that this one holds.
	Behind []CaseFinding `json:",omitempty"`
}

// CaseShort is a finding in three lines: what grows, how sure that is, what to do.
type CaseShort struct {
	Anchor, Verdict, Process, Title string
	Sure, Todo                      string
}

// CaseAside is a finding that somebody called benign.
type CaseAside struct {
	Title, Process, Verdict, Text string
	Families                      []Link
}

// CaseMini is one small multiple.
type CaseMini struct {
	// Triage is what a person decided about the family, empty for nothing.
	Process, Verdict, Triage string
	// Unit follows the process where the chart is of a unit, which Name leads:
	// ", unit u1, 7 families, led by".
	Unit  string
	Name  FamilyName
	Chart chart.SmallData
	Note  string
}

// CaseFamily is one row of the table of all families.
type CaseFamily struct {
	Process, Kind, Verdict string
	// Triage is what a person decided about it, empty for nothing.
	Triage string
	// Role is victim or possible_culprit, Each the members in one instance of a unit.
	Role, Each string
	Name       FamilyName
	Counts     []string
	Rise       string
	// Handle is a short name of the family: "g-3".
	Handle string

	fingerprint string
}

// CaseBundle is one bundle in the side column.
type CaseBundle struct {
	Name, URL, Status, Size, Snapshots, Problems string
	Reading                                      bool
}

// CaseIdentity says whose evidence a series is.
type CaseIdentity struct {
	Process string
	Facts   []Pair
}

const (
	maxCaseFamilies = 400
	// maxPagedFamilies are those of a page of several.
	maxPagedFamilies = 250
	maxCaseCells     = 3600 // of the table of families
	maxCaseProblems  = 8
	maxCaseBundles   = 60
	maxCaseReading   = 8
)

// grows reports whether a verdict says that a family has more members than before. New
// families are everyday: they have no charts of their own.
func grows(v analysis.Verdict) bool { return v.Rose() && v != analysis.New }

// MoreOf is what the page draws of each series beside its report. members finds those of a
// family for filters that look into them; nil where the page has no such filter.
func MoreOf(c *report.CaseReport, members func(series int, fingerprint string) *analysis.Members) []CaseMore {
	out := make([]CaseMore, len(c.Series))
	for i := range c.Series {
		facts := c.Facts(i)
		out[i] = CaseMore{Events: c.Series[i].Events, Points: c.Series[i].Points, Facts: func(f *report.Family) *filter.Facts {
			known := facts(f)
			if members != nil {
				known.Members = members(i, f.Fingerprint)
			}
			return known
		}}
		if c.Series[i].Drawn != nil {
			out[i].Lives = c.Series[i].Drawn.Lives
		}
	}
	return out
}

// caseMaker holds what the parts of a case page share.
type caseMaker struct {
	in        CaseInput
	snapshots map[string]*report.Snapshot
	columns   []column
	// place gives the column of a snapshot.
	place map[string]int
	// shown are the columns that the tables show, in order.
	shown []int
	// dated says that the columns are of several days.
	dated bool
	// told is the finding that tells a class in full, by process and class.
	told   map[string]string
	traces report.Traces
	// page are the numbers of the series that the page shows, order those of all by rank
	// where the case has several pages; number is the one shown then, from 1, and before
	// counts the findings of those in front of it.
	page, order    []int
	number, before int
	// passing are the families of the table, passed counts those that pass the filter.
	passing []passingFamily
	passed  int
	worked  map[*report.Series]*caseSeries
}

// column is one instant at which at least one series has a snapshot.
type column struct {
	label string
	at    time.Time
}

// NewCase makes the page of a case.
func NewCase(in CaseInput) Case {
	m := caseMaker{in: in, snapshots: make(map[string]*report.Snapshot, len(in.Report.Snapshots)), told: map[string]string{}, worked: map[*report.Series]*caseSeries{}}
	for i := range in.Report.Snapshots {
		m.snapshots[in.Report.Snapshots[i].ID] = &in.Report.Snapshots[i]
	}
	c := Case{ID: in.ID, Title: Visible(in.Title), Sample: in.Sample, Frozen: in.Frozen}
	m.paginate(&c)
	m.filter(&c)
	m.align()
	times := make([]time.Time, len(m.columns))
	for i, k := range m.columns {
		times[i] = k.at
	}
	m.dated = severalDays(times)
	c.Headline, c.Lead = m.headline()
	if !in.Frozen {
		c.Form = m.form()
	}
	for _, b := range in.Bundles {
		if b.reading() && len(c.Reading) < maxCaseReading {
			c.Reading = append(c.Reading, Link{Text: Visible(b.Name), URL: m.live(bundleURL(b.ID))})
		}
	}
	m.figures(&c)
	m.timeline(&c)
	m.findings(&c)
	m.locks(&c)
	m.objects(&c)
	m.context(&c)
	m.minis(&c)
	m.limits(&c)
	m.charts(&c)
	m.families(&c)
	if len(m.page) > 0 && !in.Frozen {
		if s := &in.Report.Series[m.page[0]]; len(s.Snapshots) > 1 {
			c.Several = "/compare?" + url.Values{"case": {in.ID}, "series": {m.seriesKey(s)}}.Encode()
		}
	}
	m.side(&c)
	c.Answer = m.answer(&c)
	c.Shell = Shell{
		Title: c.Title, Description: c.Headline, Section: "cases", Engine: in.Engine,
		Crumbs: []Link{{Text: "Cases", URL: "/"}}, Here: c.Title,
	}
	if !in.Frozen {
		query := ""
		if m.number > 1 {
			query = "?page=" + strconv.Itoa(m.number)
		}
		c.Shell.Offer(caseURL(in.ID), query, WithoutStacks)
		c.Shell.OfferTicket(caseURL(in.ID), query)
		if len(c.Reading) > 0 {
			c.Shell.Refresh = 3
		}
	}
	return c
}

// live keeps an address on live pages and drops it on frozen ones.
func (m *caseMaker) live(address string) string {
	if m.in.Frozen {
		return ""
	}
	return address
}

// sameInstant is how far apart the captures of one directory may lie: a hung
// endpoint can put minutes between the processes of one capture.
const sameInstant = 15 * time.Minute

// align gives every snapshot a column. Snapshots of different series with the
// same label and about the same time share one.
func (m *caseMaker) align() {
	m.place = map[string]int{}
	type entry struct {
		column
		order float64
		ids   []string
		// series is the last one with a snapshot there: a series has one in a column.
		series int
	}
	var entries []entry
	// Entries by label, and those of a label by time: thousands may have the same label.
	labelled := map[string][]int{}
	timed := map[instant][]int{}
	for _, series := range m.aligned() {
		s := &m.in.Report.Series[series]
		before := -1.0
		for i, id := range s.Snapshots {
			snap := m.snapshots[id]
			if snap == nil {
				continue
			}
			at := timeOf(snap)
			found := -1
			for _, list := range candidates(labelled, timed, snap.Label, at) {
				for _, k := range list {
					if entries[k].series != series && near(entries[k].at, at) && (found < 0 || k < found) {
						found = k
					}
				}
			}
			if found < 0 {
				entries = append(entries, entry{column: column{label: snap.Label, at: at}, order: orderOf(at, before, i), series: -1})
				found = len(entries) - 1
				labelled[snap.Label] = append(labelled[snap.Label], found)
				timed[instantOf(snap.Label, at)] = append(timed[instantOf(snap.Label, at)], found)
			}
			e := &entries[found]
			if !at.IsZero() && (e.at.IsZero() || at.Before(e.at)) {
				if before, now := instantOf(snap.Label, e.at), instantOf(snap.Label, at); before != now {
					timed[now] = append(timed[now], found)
				}
				e.at = at
			}
			e.ids = append(e.ids, id)
			e.series = series
			before = e.order
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.order, b.order) })
	for k, e := range entries {
		m.columns = append(m.columns, e.column)
		for _, id := range e.ids {
			m.place[id] = k
		}
	}
}

// instant is a label with the stretch of time, as long as sameInstant, in which its
// snapshot lies; 0 for an unknown time.
type instant struct {
	label string
	part  int64
}

func instantOf(label string, at time.Time) instant {
	if at.IsZero() {
		return instant{label: label}
	}
	return instant{label, at.Unix()/int64(sameInstant/time.Second) + 1}
}

// candidates are the entries that may be of the instant of a snapshot.
func candidates(labelled map[string][]int, timed map[instant][]int, label string, at time.Time) [][]int {
	if at.IsZero() {
		return [][]int{labelled[label]}
	}
	own := instantOf(label, at)
	before, after := instant{label, own.part - 1}, instant{label, own.part + 1}
	return [][]int{timed[before], timed[own], timed[after], timed[instant{label: label}]}
}

// orderOf sorts by time; an untimed snapshot stays just behind the one before.
func orderOf(at time.Time, before float64, index int) float64 {
	if !at.IsZero() {
		return float64(at.UnixMilli()) / 1000
	}
	if before >= 0 {
		return before + 1e-4
	}
	return float64(index) * 1e-4
}

func near(a, b time.Time) bool {
	return a.IsZero() || b.IsZero() || a.Sub(b).Abs() <= sameInstant
}

func timeOf(s *report.Snapshot) time.Time {
	if s.CapturedAt == nil {
		return time.Time{}
	}
	return *s.CapturedAt
}

// aligned are the series whose snapshots have columns: those of the page, and where a
// filter looks into all those of the families that pass.
func (m *caseMaker) aligned() []int {
	out := slices.Clone(m.page)
	have := make([]bool, len(m.in.Report.Series))
	for _, i := range out {
		have[i] = true
	}
	for _, p := range m.passing {
		if !have[p.series] {
			have[p.series], out = true, append(out, p.series)
		}
	}
	return out
}

// spreadOut puts one value per snapshot of a series into the case's columns.
func (m *caseMaker) spreadOut(s *report.Series, values []*int) []*int {
	out := make([]*int, len(m.columns))
	for i, id := range s.Snapshots {
		if k, ok := m.place[id]; ok && i < len(values) {
			out[k] = values[i]
		}
	}
	return out
}

// spreadLower does the same for what is said of the values.
func (m *caseMaker) spreadLower(s *report.Series, lower []bool) []bool {
	if lower == nil {
		return nil
	}
	out := make([]bool, len(m.columns))
	for i, id := range s.Snapshots {
		if k, ok := m.place[id]; ok {
			out[k] = isLower(lower, i)
		}
	}
	return out
}

func (m *caseMaker) totals(s *report.Series, k analysis.Kind) []*int {
	out := make([]*int, len(s.Snapshots))
	for i, snap := range m.known(s).snapshots {
		if snap != nil {
			out[i] = snap.Totals.Of(k)
		}
	}
	return out
}

// complete are the totals that are no lower bounds.
func (m *caseMaker) complete(s *report.Series, k analysis.Kind) []*int {
	return whole(m.totals(s, k), m.lower(s, k))
}

func (m *caseMaker) label(s *report.Series, i int) string {
	if i < 0 || i >= len(s.Snapshots) {
		return ""
	}
	return m.known(s).labels[i]
}

// headline is the sentence of the case and what qualifies it.
func (m *caseMaker) headline() (text, lead string) {
	if len(m.in.Report.Series) == 0 {
		return m.nothing()
	}
	if m.single() {
		lead = "One snapshot shows what is there, not what grows. One more of the same process, taken some minutes later, is needed to say what grows."
	}
	return Visible(m.in.Report.Diagnosis.Sentence), lead
}

func (m *caseMaker) nothing() (string, string) {
	for _, b := range m.in.Bundles {
		if b.reading() {
			return Visible(b.Name) + " is being read.", "The figures appear here as soon as it is done."
		}
	}
	if len(m.in.Bundles) == 0 {
		return "This case is empty: no file was added to it yet.", ""
	}
	return m.in.Report.Diagnosis.Sentence, "The problems of each bundle say what was looked at and what to upload instead."
}

// restarted reports whether two snapshots are of different process starts: what
// fell between them did not recover.
func (m *caseMaker) restarted(s *report.Series, i, j int) bool {
	a, b := m.known(s).snapshots[i], m.known(s).snapshots[j]
	return a != nil && b != nil && a.Epoch != b.Epoch
}

// bounds are the first captured value and the largest.
func bounds(values []*int) (first, top int) {
	first, top = -1, -1
	for i, v := range values {
		if v == nil {
			continue
		}
		if first < 0 {
			first = i
		}
		if top < 0 || *v > *values[top] {
			top = i
		}
	}
	return first, top
}

// topFamily is the worst family that grows, one that a person called benign only where
// no other does; nil where none does.
func topFamily(s *report.Series) *report.Family {
	var out *report.Family
	for i := range s.Families {
		f := &s.Families[i]
		if !grows(f.Verdict) {
			continue
		}
		if out != nil && out.Benign() != f.Benign() {
			if out.Benign() {
				out = f
			}
			continue
		}
		if out == nil || f.Verdict.Rank() < out.Verdict.Rank() || f.Verdict.Rank() == out.Verdict.Rank() && kindRank(f.Kind) < kindRank(out.Kind) {
			out = f
		}
	}
	return out
}

func kindRank(k analysis.Kind) int { return slices.Index(analysis.Kinds(), k) }

func (m *caseMaker) single() bool {
	for _, s := range m.in.Report.Series {
		if len(s.Snapshots) > 1 {
			return false
		}
	}
	return true
}

// What the table of figures shows at most: more columns and rows are no table any
// more. The rest stands in the lists below it and in lines of their own.
const (
	maxColumns = 24
	maxGroups  = 12
)

// figures fills the table below the timeline, which is also the picker.
func (m *caseMaker) figures(c *Case) {
	columns := make([]CaseColumn, len(m.columns))
	for _, i := range m.page {
		s := &m.in.Report.Series[i]
		for _, at := range m.restarts(s) {
			if k := m.column(s.Snapshots[at]); k >= 0 {
				columns[k].Restart = strings.TrimPrefix(columns[k].Restart+", "+named(s), ", ")
			}
		}
	}
	c.A, c.B = m.defaultPick()
	m.shown = m.worthAColumn(columns, c.A, c.B)
	for _, i := range m.shown {
		k, column := m.columns[i], columns[i]
		column.Label, column.Clock, column.Full = Visible(k.label), "–", wording.Time(k.at)
		if !k.at.IsZero() {
			column.Clock = wording.Clock(k.at)
		}
		c.Columns = append(c.Columns, column)
	}
	m.days(c.Columns)
	if len(c.Columns) < len(columns) {
		c.ColumnNote = fmt.Sprintf("%d of %d snapshots have a column; the lists below hold all of them.", len(c.Columns), len(columns))
		if m.in.Frozen {
			c.ColumnNote = fmt.Sprintf("%d of %d snapshots have a column; the JSON of this result has the figures of all.", len(c.Columns), len(columns))
		}
	}
	rows := m.worthRows()
	var choices []Choice
	var places []placedSnapshot
	for _, i := range m.page {
		s := &m.in.Report.Series[i]
		if !rows[i] {
			c.Others = append(c.Others, m.other(s))
			continue
		}
		g := m.group(s, c.A, c.B)
		c.Pickers = c.Pickers || len(g.Picks) > 0
		c.Groups = append(c.Groups, g)
		for k, id := range s.Snapshots {
			if m.snapshots[id] != nil {
				choices = append(choices, Choice{Value: id, Group: named(s)})
				places = append(places, placedSnapshot{s, k})
			}
		}
	}
	texts := map[string]placedSnapshot{}
	for i, p := range places {
		texts[choices[i].Value] = p
	}
	choices, c.MoreChoices = fewChoices(choices, c.A, c.B)
	for i := range choices {
		p := texts[choices[i].Value]
		choices[i].Text = m.choice(p.s, p.index)
	}
	c.Choices = groupChoices(choices)
	c.MoreChoices = c.MoreChoices || c.Paging != nil
}

// placedSnapshot is the snapshot of a series with its place there.
type placedSnapshot struct {
	s     *report.Series
	index int
}

// days names the day of the first of the shown columns and of each where it changes.
func (m *caseMaker) days(shown []CaseColumn) {
	if !m.dated {
		return
	}
	before := ""
	for i := range shown {
		at := m.columns[m.shown[i]].at
		if at.IsZero() || wording.Day(at) == before {
			continue
		}
		before = wording.Day(at)
		shown[i].Day = ShortDay(at)
	}
}

// worthAColumn chooses the columns of the table, in order: the ends, what is
// proposed as A and B, restarts, and others evenly spread between.
func (m *caseMaker) worthAColumn(all []CaseColumn, a, b string) []int {
	var out []int
	add := func(k int) {
		if k >= 0 && k < len(all) && len(out) < maxColumns && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	if len(all) > maxColumns {
		for _, k := range []int{0, len(all) - 1, m.column(a), m.column(b)} {
			add(k)
		}
		for k := range all {
			if all[k].Restart != "" && len(out) < maxColumns/2 {
				add(k)
			}
		}
		for n := maxColumns - len(out); len(out) < maxColumns; n++ {
			for k := range n {
				add(k * (len(all) - 1) / max(n-1, 1))
			}
		}
	} else {
		for k := range all {
			add(k)
		}
	}
	slices.Sort(out)
	return out
}

// worthRows says which series have rows in the table: those that grow, and the
// first of the others.
func (m *caseMaker) worthRows() []bool {
	out := make([]bool, len(m.in.Report.Series))
	n := 0
	for _, growing := range []bool{true, false} {
		for _, i := range m.page {
			if !out[i] && n < maxGroups && (!growing || topFamily(&m.in.Report.Series[i]) != nil) {
				out[i], n = true, n+1
			}
		}
	}
	return out
}

func (m *caseMaker) other(s *report.Series) CaseOther {
	out := CaseOther{Process: named(s), About: strings.TrimPrefix(m.about(s)+", "+wording.PagePlural(int64(len(s.Snapshots)), "snapshot", "snapshots"), ", ")}
	for _, k := range analysis.Kinds() {
		if values := m.complete(s, k); lastKnown(values) >= 0 {
			out.Course = kindWord(k, 2) + " " + course(values, m.restarts(s))
			break
		}
	}
	if last := len(s.Snapshots) - 1; last > 0 {
		out.URL = m.live("/diff/" + s.Snapshots[0] + ".." + s.Snapshots[last] + "?case=" + m.in.ID)
	} else {
		out.URL = m.live(snapshotURL(s.Snapshots[0], m.in.ID))
	}
	return out
}

// choice describes a snapshot: "t1, 02:58:36, 115 goroutines", with the date where
// the case spans several days.
func (m *caseMaker) choice(s *report.Series, i int) string {
	snap := m.snapshots[s.Snapshots[i]]
	parts := []string{Visible(snap.Label)}
	if at := timeOf(snap); !at.IsZero() {
		clock := wording.Clock(at)
		if m.dated {
			clock = ShortDay(at) + " " + clock
		}
		parts = append(parts, clock)
	}
	for _, k := range analysis.Kinds() {
		if v := snap.Totals.Of(k); v != nil {
			parts = append(parts, atLeast(many(k, *v), bounded(snap, k)))
			break
		}
	}
	return strings.Join(parts, ", ")
}

// defaultPick proposes A and B: the first snapshot and the peak of the first
// series that grows, else its ends; a cut one only where no two others are there.
func (m *caseMaker) defaultPick() (a, b string) {
	for _, want := range []bool{true, false} {
		for _, i := range m.page {
			s := &m.in.Report.Series[i]
			f := topFamily(s)
			if len(s.Snapshots) < 2 || want && f == nil {
				continue
			}
			a, b = m.endsOf(s)
			if f != nil {
				if first, top := bounds(whole(f.Counts, m.lower(s, f.Kind))); first >= 0 && top > first && top < len(s.Snapshots) {
					a, b = s.Snapshots[first], s.Snapshots[top]
				}
			}
			if base, chosen := m.in.Baselines[m.seriesKey(s)]; chosen && base.CaseID == "" && base.Snapshot.ID != b {
				a = base.Snapshot.ID
			}
			return a, b
		}
	}
	return "", ""
}

func (m *caseMaker) seriesKey(s *report.Series) string {
	host := ""
	if s.Host != nil {
		host = *s.Host
	}
	return SeriesKey(host, s.Process)
}

// endsOf are the first and the last snapshot that are not cut, or of all.
func (m *caseMaker) endsOf(s *report.Series) (a, b string) {
	var complete []string
	lower := m.lower(s, analysis.KindGoroutine, analysis.KindThread)
	for i, id := range s.Snapshots {
		if !isLower(lower, i) {
			complete = append(complete, id)
		}
	}
	if len(complete) < 2 {
		complete = s.Snapshots
	}
	return complete[0], complete[len(complete)-1]
}

func (m *caseMaker) group(s *report.Series, a, b string) CaseGroup {
	g := CaseGroup{Process: named(s), About: m.about(s)}
	if b, chosen := m.in.Baselines[m.seriesKey(s)]; chosen {
		g.Baseline = b.words()
	}
	for _, k := range analysis.Kinds() {
		values := m.totals(s, k)
		if first, _ := bounds(values); first < 0 {
			continue
		}
		row := CaseFigures{Name: kindTitle(k), Strong: len(g.Rows) == 0}
		row.Cells = m.shownCells(s, values, m.lower(s, k))
		g.Rows = append(g.Rows, row)
	}
	g.Links = make([]Link, len(m.shown))
	for _, x := range m.shownOf(s) {
		g.Links[x.place] = Link{Text: m.label(s, x.snapshot), URL: m.live(snapshotURL(s.Snapshots[x.snapshot], m.in.ID))}
	}
	if len(s.Snapshots) < 2 || m.in.Frozen {
		return g
	}
	g.Picks = make([]CasePick, len(m.shown))
	for _, x := range m.shownOf(s) {
		id := s.Snapshots[x.snapshot]
		g.Picks[x.place] = CasePick{Value: id, Text: named(s) + " " + m.label(s, x.snapshot), A: id == a, B: id == b}
	}
	return g
}

// about says host, pid and restarts in a few words.
func (m *caseMaker) about(s *report.Series) string {
	var parts []string
	pids := map[int]bool{}
	epochs := map[int]bool{}
	for _, id := range s.Snapshots {
		if snap := m.snapshots[id]; snap != nil {
			epochs[snap.Epoch] = true
			if snap.PID != nil {
				pids[*snap.PID] = true
				if len(pids) == 1 && len(parts) == 0 {
					parts = append(parts, "pid "+itoa(int64(*snap.PID)))
				}
			}
		}
	}
	switch {
	case len(pids) > 1:
		parts = []string{itoa(int64(len(pids))) + " pids"}
	case s.PID != nil:
		parts = nil // the name has it
	}
	if s.Host != nil && *s.Host != "" {
		parts = append(parts, "on "+Visible(*s.Host))
	}
	if len(epochs) > 1 {
		parts = append(parts, wording.PagePlural(int64(len(epochs)-1), "restart", "restarts"))
	}
	return strings.Join(parts, ", ")
}

// timeline draws the kind of the worst finding, or goroutines first, for every
// series with at least two snapshots.
func (m *caseMaker) timeline(c *Case) {
	t := chart.TimelineData{ID: "tl", Title: "Totals of each process over time", A: -1, B: -1, TableBelow: true}
	for _, k := range m.columns {
		t.Labels = append(t.Labels, Visible(k.label))
		t.Times = append(t.Times, k.at)
	}
	if a, ok := m.place[c.A]; ok {
		t.A = a
	}
	if b, ok := m.place[c.B]; ok {
		t.B = b
	}
	const most = 8
	for _, i := range m.page {
		if len(t.Lanes) == most {
			break
		}
		if lane, ok := m.lane(&m.in.Report.Series[i], i, t.Times); ok {
			t.Lanes = append(t.Lanes, lane)
		}
	}
	if len(m.columns) > 1 {
		c.Timeline, c.Legend = t, legend(t)
	}
	c.About = m.span(len(t.Lanes))
}

// legend explains the marks that the timeline has, and no others.
func legend(t chart.TimelineData) []LegendItem {
	if len(t.Lanes) == 0 {
		return nil
	}
	out := []LegendItem{{"base", "first snapshot"}}
	has := func(f func(chart.Lane) bool) bool { return slices.ContainsFunc(t.Lanes, f) }
	if has(func(l chart.Lane) bool { return l.Onset != nil }) {
		out = append(out, LegendItem{"ons", "growth began"})
	}
	if has(func(l chart.Lane) bool { return l.RecoveredAt >= 0 }) {
		out = append(out, LegendItem{"rec", "recovery"})
	}
	if has(func(l chart.Lane) bool { return slices.Contains(l.Lower, true) }) {
		out = append(out, LegendItem{"", "△ ≥ a cut dump: at least as many, off the line"})
	}
	return out
}

func (m *caseMaker) lane(s *report.Series, series int, times []time.Time) (chart.Lane, bool) {
	kind := analysis.Kind("")
	if f := topFamily(s); f != nil {
		kind = f.Kind
	}
	for _, k := range analysis.Kinds() {
		if first, _ := bounds(m.totals(s, k)); kind == "" && first >= 0 {
			kind = k
		}
	}
	if kind == "" || len(s.Snapshots) < 2 {
		return chart.Lane{}, false
	}
	lane := chart.Lane{Name: named(s), Unit: strings.ToLower(kindTitle(kind)), Values: m.spreadOut(s, m.totals(s, kind)), RecoveredAt: -1}
	lane.Lower = m.spreadLower(s, m.lower(s, kind))
	if f := topFamily(s); f != nil && f.RecoveredAt != nil {
		if at, ok := m.place[*f.RecoveredAt]; ok {
			lane.RecoveredAt = at
		}
	}
	if f := topFamily(s); f != nil {
		lane.Onset = spanOf(f.Onset, m.column)
		if f.Unit != nil {
			if u := unitOf(s, *f.Unit); u != nil {
				lane.Onset = spanOf(u.Onset, m.column)
			}
		}
	}
	lane.Events = m.columnEvents(s, m.more(series).Events, times)
	for _, b := range s.Bounds {
		if b.What == "open files" && kind == analysis.KindDescriptor || b.What == "threads" && kind == analysis.KindThread || b.What == "inotify watches" && kind == analysis.KindWatch {
			lane.Limit = int(b.Bound)
		}
	}
	for i, id := range s.Snapshots {
		if i > 0 && m.snapshots[id] != nil && m.snapshots[s.Snapshots[i-1]] != nil && m.snapshots[id].Epoch != m.snapshots[s.Snapshots[i-1]].Epoch {
			lane.Epochs = append(lane.Epochs, m.place[id])
		}
	}
	return lane, true
}

// column is the place of a snapshot, -1 for none.
func (m *caseMaker) column(id string) int {
	if at, ok := m.place[id]; ok {
		return at
	}
	return -1
}

// span says when the evidence was taken.
func (m *caseMaker) span(lanes int) string {
	var first, last time.Time
	untimed := 0
	for _, k := range m.columns {
		switch {
		case k.at.IsZero():
			untimed++
		case first.IsZero():
			first, last = k.at, k.at
		default:
			last = k.at
		}
	}
	if first.IsZero() {
		return "No time is known for these snapshots; they stand in the order of their names."
	}
	text := wording.Day(first)
	if wording.Day(last) != wording.Day(first) {
		text += " to " + wording.Day(last)
	}
	text += ", " + m.counted()
	if d := last.Sub(first); d > 0 {
		text += " over " + wording.PageDuration(d)
	}
	text += "."
	if lanes > 1 {
		text += " All processes on one scale; dotted: no evidence in between."
	}
	if untimed > 0 {
		text += fmt.Sprintf(" %s without a time placed by order.", wording.PagePlural(int64(untimed), "snapshot", "snapshots"))
	}
	return text
}

// counted: "9 snapshots", or "18 snapshots of 2 processes at 9 instants".
func (m *caseMaker) counted() string {
	snapshots, instants := m.placed()
	text := wording.PagePlural(snapshots, "snapshot", "snapshots")
	if n := len(m.page); n > 1 {
		text += " of " + wording.PagePlural(int64(n), "process", "processes")
	}
	if snapshots == instants {
		return text
	}
	return text + " at " + wording.PagePlural(instants, "instant", "instants")
}

// placed counts the snapshots of the page and their columns.
func (m *caseMaker) placed() (snapshots, instants int64) {
	columns := make([]bool, len(m.columns))
	for _, i := range m.page {
		for _, id := range m.in.Report.Series[i].Snapshots {
			if at, ok := m.place[id]; ok {
				snapshots++
				if !columns[at] {
					columns[at] = true
					instants++
				}
			}
		}
	}
	return snapshots, instants
}

// named is the process of a series, told from others of its name by its pid.
func named(s *report.Series) string {
	text := printable(s.Process)
	if s.PID != nil {
		text += ", pid " + itoa(int64(*s.PID))
	}
	return text
}

// placedFinding is a finding with its series.
type placedFinding struct {
	series int
	f      *report.Finding
	rank   int
	// below are those that stand behind it.
	below []placedFinding
}

// The ranks of findings of all processes of a case: what grows, what the capture adds,
// and what is merely so.
const (
	causeRank = iota
	observerRank
	factRank
)

// ranked are the findings of series in the order in which they are told: those that another
// process was seen to hold behind the others of their rank. Else they keep the order of
// their process.
func (m *caseMaker) ranked(series []int) []placedFinding {
	var out []placedFinding
	for _, i := range series {
		s := &m.in.Report.Series[i]
		for k := range s.Findings {
			f := &s.Findings[k]
			rank := causeRank
			switch {
			case f.Kind == report.ObserverFinding:
				rank = observerRank
			case f.Kind == report.FactFinding || f.Kind == report.LimitFinding || f.Kind == report.NoLeakFinding:
				rank = factRank
			}
			out = append(out, placedFinding{series: i, f: f, rank: rank})
		}
	}
	held := func(p placedFinding) int {
		if p.f.Behind {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b placedFinding) int { return cmp.Or(cmp.Compare(a.rank, b.rank), held(a)-held(b)) })
	return m.folded(out)
}

func (m *caseMaker) findings(c *Case) {
	growing, rose, aged, aside, all := 0, 0, 0, 0, 0
	list := m.ranked(m.page)
	c.Before = m.before
	for _, r := range list[:min(len(list), maxFindings)] {
		number := m.before + len(c.Findings) + 1
		found := m.finding(&m.in.Report.Series[r.series], r.series, r.f, number)
		found.Behind = m.below(r.below, number)
		c.Findings = append(c.Findings, found)
		if m.number < 2 {
			m.short(c, r)
		}
	}
	m.listed(c, list[len(c.Findings):])
	found := 0
	for i := range m.in.Report.Series {
		found += len(m.in.Report.Series[i].Findings)
	}
	if more := found - len(c.Short); len(c.Short) > 0 && more > 0 {
		c.ShortNote = wording.PagePlural(int64(more), "more finding stands", "more findings stand") + " below."
		if m.number > 0 {
			c.ShortNote = strings.TrimSuffix(c.ShortNote, ".") + " and on the other pages."
		}
	}
	for _, i := range m.page {
		s := &m.in.Report.Series[i]
		if s.Quiet != "" {
			c.Quiet = append(c.Quiet, named(s)+": "+Visible(s.Quiet))
		}
		if len(s.Limits) > 0 {
			c.Doubts = append(c.Doubts, Pair{Name: named(s), Value: Visible(strings.Join(s.Limits, " "))})
		}
		for k := range s.SetAside {
			c.SetAside = append(c.SetAside, m.setAside(s, &s.SetAside[k]))
		}
	}
	for i := range m.in.Report.Series {
		s := &m.in.Report.Series[i]
		all += len(s.Families)
		for k := range s.Families {
			f := &s.Families[k]
			switch {
			case !f.Verdict.Rose():
			case f.Benign():
				aside++
			case len(s.Snapshots) < 2:
				aged++
			case f.Verdict.Rank() <= analysis.Scaling.Rank():
				growing++
			default:
				rose++
			}
		}
	}
	switch n := int64(found); {
	case n > 0 && m.number > 0:
		c.FindingsNote = fmt.Sprintf("%s, %s of them of the processes of this page, worst first.", wording.PagePlural(n, "finding", "findings"), wording.Exact(int64(len(list))))
	case n > 0 && growing > 0:
		c.FindingsNote = fmt.Sprintf("%d: what grows, worst first, then what may hold it and what follows.", n)
	case n > 0:
		c.FindingsNote = wording.PagePlural(n, "finding", "findings") + "."
	}
	c.Rising = risingWords(growing, rose, aged, aside, all, m.single())
}

// maxShort is how many processes are told in short.
const maxShort = 3

// short tells the finding that was added last, where it is the first of its process that
// says what grows.
func (m *caseMaker) short(c *Case, r placedFinding) {
	f := &c.Findings[len(c.Findings)-1]
	told := slices.ContainsFunc(c.Short, func(s CaseShort) bool { return s.Process == f.Process })
	if r.rank != causeRank || r.f.Kind != "" || !grows(r.f.Verdict) || told || len(c.Short) == maxShort {
		return
	}
	s := CaseShort{Anchor: f.Anchor, Verdict: f.Verdict, Process: f.Process, Title: f.Title, Todo: f.Next}
	s.Sure = Visible(strings.TrimSuffix(r.f.Proof, "."))
	for _, a := range f.Advice {
		if a.Cause != "" && len(a.Remedy) > 0 {
			s.Todo = strings.TrimSuffix(a.Cause, ".") + ". " + a.Remedy[0]
			break
		}
	}
	c.Short = append(c.Short, s)
}

// risingWords counts what grows, what rose without accusing anybody, and of processes with
// one snapshot, of which nothing can be seen to grow, what the ages of the members say
// instead. Those set aside are told apart.
func risingWords(growing, rose, aged, aside, all int, single bool) string {
	if all == 0 {
		return ""
	}
	if aside > 0 {
		return asideWords(growing+rose, aged, aside, all, single)
	}
	families := wording.PagePlural(int64(all), "family", "families")
	alike := fmt.Sprintf("%d of %s %s like a leak by the ages of %s members.", aged, families, plainPlural(aged, "looks", "look"), plainPlural(aged, "its", "their"))
	text := fmt.Sprintf("%d of %s grow", growing, families)
	switch {
	case single && aged == 0:
		return fmt.Sprintf("None of %s looks like a leak by the ages of its members.", families)
	case single:
		return alike
	case growing == 0 && rose == 0:
		text = fmt.Sprintf("None of %s grew", families)
	case growing == 0:
		text = fmt.Sprintf("%d of %s rose", rose, families)
	case rose > 0:
		text += fmt.Sprintf(", %d more rose", rose)
	}
	if aged > 0 {
		return text + ". " + alike
	}
	return text + "."
}

// asideWords is risingWords where a person called some of what grows benign.
func asideWords(growing, aged, aside, all int, single bool) string {
	grow := "grow"
	if single {
		grow = "look like a leak by the ages of their members"
	}
	text := fmt.Sprintf("%d of %s %s, ", growing+aged+aside, wording.PagePlural(int64(all), "family", "families"), grow)
	switch rest := growing + aged; {
	case rest > 0:
		return text + fmt.Sprintf("%d of them marked benign by a person.", aside)
	case aside == 1:
		return text + "which a person marked benign."
	}
	return text + "all of them marked benign by a person."
}

func (m *caseMaker) finding(s *report.Series, series int, f *report.Finding, number int) CaseFinding {
	out := CaseFinding{
		Number: itoa(int64(number)), Anchor: fmt.Sprintf("f-%d", number), Verdict: f.Mark(),
		Title: Visible(arrow(f.Title)), Text: Visible(arrow(f.Text)), Next: Visible(f.Next), Process: named(s),
	}
	byPrint := map[string]*report.Family{}
	for i := range s.Families {
		byPrint[s.Families[i].Fingerprint] = &s.Families[i]
	}
	for i, fp := range f.Families {
		family := byPrint[fp]
		if family == nil {
			continue
		}
		out.Families = append(out.Families, Link{Text: Visible(arrow(family.Title)), URL: m.live(m.familyURL(s, fp))})
		if i > 0 {
			continue
		}
		evidence, counts := f.Evidence, f.Counts
		if counts == nil {
			counts = family.Counts
		}
		if evidence == nil {
			evidence = family.Evidence
		}
		if f.Kind != report.HolderFinding && f.Kind != report.ObserverFinding {
			// What a holder's own counts show says nothing about what it holds, and those
			// of the capture's families are told together.
			m.evidence(&out, evidence)
		}
		if f.Unit == "" {
			out.Kind = kindWord(family.Kind, 2)
		}
		if family.Unit != nil {
			out.Unit = Visible(*family.Unit)
		}
		if f.Kind != report.HolderFinding && counts != nil {
			lower := m.lower(s, kindsOf(s, func(fp string) bool { return slices.Contains(f.Families, fp) })...)
			out.spark(fmt.Sprintf("fs-%d-%d", series, number), m.labels(s), counts, lower, m.restarts(s))
		}
	}
	out.Triage, out.TriageText = triaged(marksOf(f, byPrint))
	if len(f.Families) > 0 {
		known := m.in.Memories[f.Families[0]]
		out.Memory = known.Sentence()
	}
	for _, class := range f.Classes {
		out.Classes = append(out.Classes, Visible(class))
	}
	out.Stack = newTrace(m.traces.Of(f, func(id string) string {
		if snap := m.snapshots[id]; snap != nil {
			return snap.Label
		}
		return id
	}))
	m.advice(&out, s, f)
	if u := unitOf(s, f.Unit); u != nil {
		out.Unit, out.Each = Visible(u.ID), each(u)
	}
	m.shares(&out, s, series, f, byPrint)
	out.Object = m.objectLink(s, f)
	return out
}

func marksOf(f *report.Finding, byPrint map[string]*report.Family) []*analysis.Triage {
	var out []*analysis.Triage
	for _, print := range f.Families {
		if family := byPrint[print]; family != nil {
			out = append(out, family.Triage)
		}
	}
	return out
}

// setAside tells a finding that somebody called benign in a line.
func (m *caseMaker) setAside(s *report.Series, f *report.Finding) CaseAside {
	out := CaseAside{Title: Visible(arrow(f.Title)), Process: named(s), Verdict: f.Mark()}
	var marks []*analysis.Triage
	for i := range s.Families {
		if family := &s.Families[i]; slices.Contains(f.Families, family.Fingerprint) {
			marks = append(marks, family.Triage)
			out.Families = append(out.Families, Link{Text: Visible(arrow(family.Title)), URL: m.live(m.familyURL(s, family.Fingerprint))})
		}
	}
	_, out.Text = triaged(marks)
	out.Text = Visible(out.Text)
	return out
}

// evidence puts the first three reasons into cells and takes them out of the
// running text, which repeats them for readers without cells.
func (m *caseMaker) evidence(out *CaseFinding, evidence []analysis.Evidence) {
	for i, e := range evidence {
		text := Visible(arrow(e.Text))
		p := Pair{Name: ruleWord(e.Rule), Value: text}
		if i < 3 {
			out.Evidence = append(out.Evidence, p)
		} else {
			out.MoreEvidence = append(out.MoreEvidence, p)
		}
		for _, form := range []string{capital(text) + ".", capital(text), text} {
			if form != "" && strings.Contains(out.Text, " "+form) {
				out.Text = strings.Replace(out.Text, " "+form, "", 1)
				break
			}
		}
	}
}

func capital(s string) string {
	if s == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(s)
	if word, _, _ := strings.Cut(s, " "); first == utf8.RuneError || strings.ContainsAny(strings.TrimRight(word, ".,:;"), "_.(*/") {
		return s // a name of the program: with a capital it is another one
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

// ruleWord is an evidence rule as a label: "rose_once" gives "Rose once".
func ruleWord(rule string) string { return capital(strings.ReplaceAll(Visible(rule), "_", " ")) }

// spark draws a finding's counts and tells their course: of those that are no lower
// bounds, and of two at least, as one alone has none.
func (f *CaseFinding) spark(id string, labels []string, all []*int, lower []bool, epochs []int) {
	counts := whole(all, lower)
	first, top := bounds(counts)
	if first < 0 || len(labels) < 2 {
		return
	}
	f.Spark = &chart.SparkData{ID: id, Labels: labels, Values: all, A: -1, B: -1, Large: true, Epochs: epochs, Lower: lower}
	if len(epochs) > 0 {
		f.Course = course(counts, epochs)
	}
	f.From, f.Peak = wording.Number(int64(*counts[first])), wording.Number(int64(*counts[top]))
	for i := len(counts) - 1; i >= 0; i-- {
		if counts[i] != nil {
			f.To = wording.Number(int64(*counts[i]))
			break
		}
	}
}

func (m *caseMaker) labels(s *report.Series) []string { return m.known(s).labels }

func (m *caseMaker) familyURL(s *report.Series, fingerprint string) string {
	return familyURL(fingerprint, m.in.ID, m.seriesKey(s))
}

// passingFamily is a family of the table with the number of its series.
type passingFamily struct {
	series int
	s      *report.Series
	f      *report.Family
}

// filter chooses the families of the table, the worst first: those of the page, and where
// a filter asks those of the whole case.
func (m *caseMaker) filter(c *Case) {
	asked, box := newFilterBox(m.in.Query.Get("q"))
	series := m.page
	if !asked.Empty() && m.order != nil {
		series = m.order
	}
	for _, i := range series {
		s := &m.in.Report.Series[i]
		c.FamilyCount += len(s.Families)
		for k := range s.Families {
			if asked.Empty() || asked.Match(m.facts(i, &s.Families[k])) {
				m.passing = append(m.passing, passingFamily{i, s, &s.Families[k]})
			}
		}
	}
	m.passed = len(m.passing)
	box.passed(m.passed, c.FamilyCount)
	box.Anchor = "#h-all"
	if m.number > 1 {
		box.Hidden = append(box.Hidden, Pair{"page", strconv.Itoa(m.number)})
	}
	if c.Box = box; m.in.Frozen && !asked.Empty() {
		c.Applied = "Filter " + box.Text + ": " + box.Note
	}
	slices.SortStableFunc(m.passing, func(a, b passingFamily) int {
		return cmp.Or(cmp.Compare(a.f.Verdict.Rank(), b.f.Verdict.Rank()), cmp.Compare(b.f.Rise, a.f.Rise))
	})
	m.passing = m.passing[:min(len(m.passing), maxCaseFamilies)]
}

// families fills the folded table: units first, then families alone.
func (m *caseMaker) families(c *Case) {
	most := min(len(m.passing), maxCaseCells/max(len(m.shown), 1))
	if m.order != nil {
		most = min(most, maxPagedFamilies)
	}
	c.MoreFamilies = m.passed - most
	unit := map[*report.Unit]int{}
	for _, r := range m.passing[:most] {
		row := CaseFamily{Process: named(r.s), Kind: kindWord(r.f.Kind, 1), Verdict: string(r.f.Verdict), Triage: markOf(r.f.Triage), Role: r.f.Role, Name: m.name(r.s, r.f), Rise: wording.Signed(r.f.Rise), Handle: r.f.Handle, fingerprint: r.f.Fingerprint}
		row.Counts = m.shownCells(r.s, r.f.Counts, m.lower(r.s, r.f.Kind))
		var u *report.Unit
		if r.f.Unit != nil {
			u = unitOf(r.s, *r.f.Unit)
		}
		if u == nil {
			c.Families = append(c.Families, row)
			continue
		}
		at, ok := unit[u]
		if !ok {
			at = len(c.Units)
			unit[u], c.Units = at, append(c.Units, m.unitRow(r.s, u, at))
		}
		if u.Each != "" {
			row.Each = ratio(u.Ratio[r.f.Fingerprint])
		}
		c.Units[at].Families = append(c.Units[at].Families, row)
	}
	names := map[string]*together{} // of each process
	tell := func(rows []CaseFamily) {
		for i := range rows {
			if names[rows[i].Process] == nil {
				names[rows[i].Process] = &together{}
			}
			names[rows[i].Process].add(&rows[i].Name, rows[i].fingerprint)
		}
	}
	for i := range c.Units {
		tell(c.Units[i].Families)
	}
	tell(c.Families)
	for _, t := range names {
		t.tellApart()
	}
}

// facts are what is known of a family, for filters.
func (m *caseMaker) facts(series int, f *report.Family) *filter.Facts {
	if ask := m.more(series).Facts; ask != nil {
		return ask(f)
	}
	facts := report.FactsOf(f)
	facts.Process = m.in.Report.Series[series].Process
	return facts
}

func (m *caseMaker) name(s *report.Series, f *report.Family) FamilyName {
	n := newFamilyName(f.Title, f.Kind, f.Frames, f.CreatedBy, f.Attributes)
	n.URL = m.live(m.familyURL(s, f.Fingerprint))
	return n
}

// side fills the column beside the findings.
func (m *caseMaker) side(c *Case) {
	bundles := m.in.Bundles
	if len(bundles) > maxCaseBundles {
		c.BundlesNote = fmt.Sprintf("%d of %s, those that were added last.", maxCaseBundles, wording.PagePlural(int64(len(bundles)), "bundle", "bundles"))
		bundles = bundles[len(bundles)-maxCaseBundles:]
	}
	for _, b := range bundles {
		c.Bundles = append(c.Bundles, CaseBundle{
			Name: Visible(b.Name), URL: m.live(bundleURL(b.ID)), Status: Visible(b.Status), Size: b.Size, Reading: b.reading(),
			Snapshots: wording.PagePlural(int64(b.Snapshots), "snapshot", "snapshots"), Problems: wording.PagePlural(int64(b.Problems), "problem", "problems"),
		})
	}
	for _, i := range m.page {
		c.Identity = append(c.Identity, m.identity(&m.in.Report.Series[i]))
	}
	truncated, completed, refused := 0, 0, 0
	missing := map[analysis.Kind]bool{}
	for i := range m.in.Report.Series {
		s := &m.in.Report.Series[i]
		for _, id := range s.Snapshots {
			if snap := m.snapshots[id]; snap != nil && snap.Refused > 0 {
				refused++
			} else if snap != nil && snap.LowerBound {
				truncated++
			} else if snap != nil && snap.Truncated {
				completed++
			}
		}
	}
	for _, k := range []analysis.Kind{analysis.KindGoroutine, analysis.KindDescriptor, analysis.KindWatch} {
		missing[k] = true
		for i := range m.in.Report.Series {
			if m.captured(&m.in.Report.Series[i], k) {
				missing[k] = false
				break
			}
		}
		if k == analysis.KindGoroutine && m.threaded() {
			continue // a Java process has none
		}
		if missing[k] && len(m.in.Report.Series) > 0 {
			c.NotSeen = append(c.NotSeen, fmt.Sprintf("No %s were captured.", kindWord(k, 2)))
		}
	}
	if completed > 0 {
		c.NotSeen = append(c.NotSeen, capital(wording.PagePlural(int64(completed), "dump is", "dumps are"))+" cut; totals come from a whole twin, ids and waits from what was read.")
	}
	if refused > 0 {
		c.NotSeen = append(c.NotSeen, capital(wording.PagePlural(int64(refused), "snapshot was", "snapshots were"))+" not understood as a whole: their figures are lower bounds.")
	}
	if truncated == 0 && completed == 0 && len(m.in.Report.Series) > 0 {
		c.NotSeen = append(c.NotSeen, "No dump is cut.")
	} else if truncated > 0 {
		c.NotSeen = append(c.NotSeen, capital(wording.PagePlural(int64(truncated), "snapshot is", "snapshots are"))+" cut: their figures are lower bounds.")
	}
	c.ProblemCount = len(m.in.Report.Problems)
	c.Problems = unlinkedProblems(m.in.Report.Problems)
	if len(c.Problems) > maxCaseProblems {
		c.MoreProblems = len(c.Problems) - maxCaseProblems
		c.Problems = c.Problems[:maxCaseProblems]
	}
}

// captured reports whether any snapshot of a series has the kind.
func (m *caseMaker) captured(s *report.Series, k analysis.Kind) bool {
	return slices.ContainsFunc(s.Snapshots, func(id string) bool {
		snap := m.snapshots[id]
		return snap != nil && snap.Totals.Of(k) != nil
	})
}

// threaded reports whether any process was captured by its threads.
func (m *caseMaker) threaded() bool {
	return slices.ContainsFunc(m.in.Report.Snapshots, func(s report.Snapshot) bool { return s.Totals.Threads != nil })
}

func (m *caseMaker) identity(s *report.Series) CaseIdentity {
	out := CaseIdentity{Process: named(s)}
	add := func(name, value string) {
		if value != "" {
			out.Facts = append(out.Facts, Pair{name, value})
		}
	}
	if s.Host != nil {
		add("Host", Visible(*s.Host))
	}
	add("Process", m.about(s))
	add("Snapshots", itoa(int64(len(s.Snapshots))))
	sources := map[string]bool{}
	first := ""
	for _, id := range s.Snapshots {
		if snap := m.snapshots[id]; snap != nil && snap.TimeSource != "" && !sources[snap.TimeSource] {
			sources[snap.TimeSource] = true
			first = cmp.Or(first, Visible(snap.TimeSource))
		}
	}
	if len(sources) > 1 {
		first += " and " + wording.PagePlural(int64(len(sources)-1), "other source", "other sources")
	}
	add("Times", first)
	return out
}

var limitHeads = [...]string{"Limit of", "Used", "Limit", "Share", "Per hour (95 %)", "Time left (95 %)"}

// Document is the case as text for a ticket.
func (c Case) Document() document.Document {
	var m document.Document
	m.Heading(1, c.Headline)
	if c.Answer != nil {
		c.Answer.write(&m)
	} else {
		m.Paragraph(c.Lead)
	}
	if c.Paging != nil {
		m.Paragraph(c.Paging.Text + ". " + c.Paging.Note)
	}
	for _, s := range c.Short {
		m.Paragraph(capital(s.Verdict) + ", " + s.Process + ": " + s.Title + ".")
		for _, p := range []Pair{{"How sure", s.Sure}, {"What to do", s.Todo}} {
			if p.Value != "" {
				m.Item(p.Name + ": " + p.Value)
			}
		}
		m.Gap()
	}
	m.Paragraph(c.ShortNote)
	m.Paragraph(c.About)
	if len(c.Columns) > 0 {
		head := []string{"Snapshot"}
		times := []string{"Taken at (UTC)"}
		for _, k := range c.Columns {
			label := k.Label
			if k.Restart != "" {
				label += " (restarted: " + k.Restart + ")"
			}
			head = append(head, label)
			times = append(times, strings.TrimSpace(k.Day+" "+k.Clock))
		}
		rows := [][]string{times}
		for _, g := range c.Groups {
			for _, r := range g.Rows {
				rows = append(rows, append([]string{g.Process + ", " + strings.ToLower(r.Name)}, r.Cells...))
			}
		}
		m.Table(1, head, rows)
		m.Paragraph(c.ColumnNote)
		for _, o := range c.Others {
			m.Item(o.Process + ", " + o.About + ": " + o.Course)
		}
	}
	told := len(c.Findings) == 0 && len(c.SetAside) > 0
	if len(c.Findings) > 0 || told {
		m.Heading(2, "Findings")
	}
	if told {
		m.Paragraph(c.Rising)
		for _, q := range c.Quiet {
			m.Paragraph(q)
		}
	}
	for _, f := range c.Findings {
		m.Heading(3, f.Number+". "+f.Title+" ("+f.Verdict+", "+f.Process+")")
		f.write(&m)
		for _, held := range f.Behind {
			m.Heading(4, held.Number+". Behind it: "+held.Title+" ("+held.Verdict+", "+held.Process+")")
			held.write(&m)
		}
	}
	for _, l := range c.Listed {
		m.Item(l.Number + ". " + l.Title + " (" + l.Verdict + ", " + l.Process + ")")
	}
	if c.ListedNote != "" {
		m.Gap()
		m.Paragraph(c.ListedNote)
	}
	for _, a := range c.SetAside {
		m.Item("set aside: " + a.Title + " (" + a.Process + "). " + a.Text)
	}
	m.Gap()
	for _, d := range c.Doubts {
		m.Paragraph(doubtWords + d.Name + ": " + d.Value)
	}
	c.listLocks(&m)
	c.listObjects(&m)
	if len(c.Limits) > 0 {
		m.Heading(2, "Limits")
		var rows [][]string
		for _, l := range c.Limits {
			rows = append(rows, []string{l.Process + ", " + l.What, l.Used, l.Bound, l.Share, l.Rate, l.Left})
		}
		m.Table(1, limitHeads[:], rows)
	}
	for _, q := range c.Quiet {
		if !told {
			m.Paragraph(q)
		}
	}
	for _, x := range c.Context {
		m.Heading(2, x.Process+": beside the proof")
		for _, t := range x.Thresholds {
			m.Item(t.Name + ": " + t.Value)
		}
		m.Gap()
		m.Paragraph(x.Healthy)
	}
	c.listFamilies(&m)
	if c.ProblemCount > 0 {
		m.Heading(2, "Problems")
		for _, p := range c.Problems {
			m.Item(problemLine(p))
		}
		if c.MoreProblems > 0 {
			m.Item(fmt.Sprintf("and %d more kinds of problems", c.MoreProblems))
		}
		m.Gap()
	}
	return m
}

// write adds what stands below the heading of a finding.
func (f *CaseFinding) write(m *document.Document) {
	m.Paragraph(f.Text)
	m.Paragraph(f.TriageText)
	m.Paragraph(f.Memory)
	for _, e := range append(slices.Clone(f.Evidence), f.MoreEvidence...) {
		m.Item(e.Name + ": " + e.Value)
	}
	writeTrace(m, f.Stack)
	writeShares(m, f.Shares)
	writeKnown(m, f.Advice, f.Known, f.KnownNote)
	if f.Next != "" {
		m.Paragraph("Next: " + f.Next)
	}
}

// maxListed bounds the families in a text, which is read in a ticket.
const maxListed = 60

const doubtWords = "What the verdicts cannot exclude of "

// listFamilies adds the families that a filter passes, without one those that changed.
func (c Case) listFamilies(m *document.Document) {
	var rows [][]string
	more := c.MoreFamilies
	add := func(all []CaseFamily) {
		for _, f := range all {
			still := f.Verdict == string(analysis.Stable) || f.Verdict == string(analysis.TooFewPoints)
			switch {
			case c.Applied == "" && still:
			case len(rows) == maxListed:
				more++
			default:
				rows = append(rows, []string{f.Handle, f.Name.Text(), f.Process, f.Kind, strings.Join(f.Counts, " "), f.Verdict})
			}
		}
	}
	for _, u := range c.Units {
		add(u.Families)
	}
	add(c.Families)
	if len(rows) == 0 && c.Applied == "" {
		return
	}
	m.Heading(2, "Families")
	m.Paragraph(c.Applied)
	if len(rows) > 0 {
		m.Table(6, []string{"", "Family", "Process", "Kind", "Counts", "Verdict"}, rows)
	}
	if len(rows) == maxListed && more > 0 {
		m.Paragraph(wording.PagePlural(int64(more), "more family is", "more families are") + " left out here.")
	}
}
