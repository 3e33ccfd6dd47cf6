package view

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

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
	// Taken of Bytes are read, Progress says it in words. Error is why it was not read.
	Taken, Bytes    int64
	Progress, Error string
}

// reading reports whether the bundle is still being read.
func (b BundleLine) reading() bool {
	return b.Status == "reading" || b.Status == "queued" || b.Status == "running" || b.Status == "received"
}

// CaseInput is the input of the case page.
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
	// Frozen drops every form and every link to a live page.
	Frozen bool
	// Fields are what people keep about the case, by name; Over names those whose
	// value of somebody else the last save replaced.
	Fields   map[string]CaseField
	Over     []string
	NeedsKey bool
	// KeepMembers and KeepUploads are the days of the server, 0 for ever.
	KeepMembers, KeepUploads int
	// Memories are what other cases know of families that findings lead with, by
	// fingerprint.
	Memories map[string]CaseMemory
	// RangeStack finds the stack of a family between two snapshots, nil where the evidence has
	// none. It is nil itself where the address asks for no range.
	RangeStack func(fingerprint, first, last string) *report.RangeStack
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
	// Progress is that of the bundle that is being read, nil for none.
	Progress *CaseReading `json:"-"`
	// Nothing stands in place of an answer where no dump was found, Lost is what the uploads
	// had that could not be read.
	Nothing  *CaseNothing `json:"-"`
	Lost     *Link        `json:"-"`
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
	Paging   *Paging `json:",omitempty"`
	Findings []CaseFinding
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
	// Contention has the mutex and block profiles of the last snapshot of each process.
	Contention []ContentionGroup `json:",omitempty"`
	// Heaps has what the heap of each process holds.
	Heaps []HeapTable `json:",omitempty"`
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
	// Versions has a row for each version of the program.
	Versions [][]string `json:",omitempty"`
	// Stack is where its members are, nil where nothing shows one.
	Stack          *document.Stack
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
	// Answered says that the answer above tells it already, with its stack and what to do.
	Answered bool `json:",omitempty"`
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

	// Lane is the look of what belongs to a lane.
	Lane document.Look `json:",omitempty"`

	fingerprint string
	series      *report.Series
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
)

// grows reports whether a verdict says that a family has more members than before. New
// families are everyday: they have no charts of their own.
func grows(v analysis.Verdict) bool { return v.Rose() && v != analysis.New }

// MoreOf returns what the page draws of each series beside its report. members finds those of a
// family for filters that look into them; nil where the page has no such filter.
func MoreOf(c *report.CaseReport, members func(series int, fingerprint string) *analysis.Members) []CaseMore {
	out := make([]CaseMore, len(c.Series))
	for i := range c.Series {
		facts := c.Facts(i)
		out[i] = CaseMore{Events: c.Series[i].Events, Points: c.Series[i].Points, Largest: c.Series[i].Largest, Facts: func(f *report.Family) *filter.Facts {
			known := facts(f)
			if members != nil {
				known.Members = members(i, f.Fingerprint)
			}
			return known
		}}
		if c.Series[i].Drawn != nil {
			out[i].Lives, out[i].States = c.Series[i].Drawn.Lives, c.Series[i].Drawn.FamilyStates
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
	told map[string]string
	// short are the series that are told in short.
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
	c.Progress, c.Nothing, c.Lost = m.reading(), m.empty(), m.lost()
	m.figures(&c)
	m.timeline(&c)
	m.findings(&c)
	m.locks(&c)
	m.contention(&c)
	m.heaps(&c)
	m.objects(&c)
	m.context(&c)
	m.minis(&c)
	m.limits(&c)
	m.charts(&c)
	m.families(&c)
	if len(m.page) > 0 && !in.Frozen {
		if s := &in.Report.Series[m.page[0]]; len(s.Snapshots) > 1 {
			c.Several = "/compare?" + url.Values{"case": {in.ID}, "series": {seriesKeyOf(s)}}.Encode()
		}
	}
	m.side(&c)
	c.Answer = m.answer(&c)
	c.Shell = Shell{
		Title: c.titled(), Description: c.Headline, Section: "cases", Engine: in.Engine,
		Crumbs: []Link{{Text: "Cases", URL: "/"}}, Here: c.Title,
	}
	if !in.Frozen {
		query := ""
		if m.number > 1 {
			query = "?page=" + strconv.Itoa(m.number)
		}
		c.Shell.Offer(caseURL(in.ID), query, WithoutStacks)
		c.Shell.OfferTicket(caseURL(in.ID), query)
		if c.Progress != nil {
			c.Shell.Refresh = refreshSeconds
		}
	}
	return c
}

// titled is the answer as the title of the page and of links to it; the name of the upload
// where nothing was read yet.
func (c *Case) titled() string {
	if c.Answer == nil || c.Headline == "" {
		return c.Title
	}
	return wording.Clause(c.Headline)
}

// live keeps an address on live pages and drops it on frozen ones.
func (m *caseMaker) live(address string) string {
	if m.in.Frozen {
		return ""
	}
	return address
}

// headline is the sentence of the case and what qualifies it.
func (m *caseMaker) headline() (text, lead string) {
	if len(m.in.Report.Series) == 0 {
		return m.nothing()
	}
	if m.single() && !m.in.Report.Diagnosis.OfCounts() && m.in.Report.Series[0].Died == nil {
		lead = "One snapshot shows what is there, not what grows. One more of the same process, taken some minutes later, is needed to say what grows."
	}
	return Visible(m.in.Report.Diagnosis.Sentence), lead
}

func (m *caseMaker) nothing() (string, string) {
	for _, b := range m.in.Bundles {
		if b.reading() {
			return Visible(b.Name) + " is being read.", ""
		}
	}
	if len(m.in.Bundles) == 0 {
		return "This case is empty: no file was added to it yet.", ""
	}
	for _, b := range m.in.Bundles {
		if b.Error != "" && len(m.in.Report.Problems) == 0 {
			return Visible(b.Name) + " could not be read.", ""
		}
	}
	return Visible(m.in.Report.Diagnosis.Sentence), "The problems of each bundle say what was looked at and what to upload instead."
}

func (m *caseMaker) single() bool {
	for _, s := range m.in.Report.Series {
		if len(s.Snapshots) > 1 {
			return false
		}
	}
	return true
}

func (m *caseMaker) labels(s *report.Series) []string { return m.known(s).labels }

func (m *caseMaker) familyURL(s *report.Series, fingerprint string) string {
	return familyURL(fingerprint, m.in.ID, seriesKeyOf(s))
}

// side fills the column beside the findings.
func (m *caseMaker) side(c *Case) {
	bundles := m.in.Bundles
	if len(bundles) > maxCaseBundles {
		c.BundlesNote = fmt.Sprintf("%d of %s, those that were added last.", maxCaseBundles, wording.PagePlural(int64(len(bundles)), "bundle", "bundles"))
		bundles = bundles[len(bundles)-maxCaseBundles:]
	}
	for _, b := range bundles {
		problems := wording.PagePlural(int64(b.Problems), "problem or note", "problems or notes")
		if len(bundles) == 1 {
			problems = wording.ProblemCounts(m.in.Report.Problems)
		}
		c.Bundles = append(c.Bundles, CaseBundle{
			Name: Visible(b.Name), URL: m.live(bundleURL(b.ID)), Status: Visible(b.Status), Size: b.Size, Reading: b.reading(),
			Snapshots: wording.PagePlural(int64(b.Snapshots), "snapshot", "snapshots"), Problems: problems,
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
