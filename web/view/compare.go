package view

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/filter"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// CompareInput is the input of the page with any number of snapshots.
type CompareInput struct {
	CaseID, CaseTitle string
	// Series is the one that most of the snapshots are of: verdicts, units and titles
	// come from it.
	Series   report.Series
	Result   diff.Many
	Verdicts map[string]analysis.Judgement
	Titles   map[string]string
	// Columns say of each snapshot where it comes from.
	Columns []CompareColumn
	// LeftOut says how many chosen snapshots have no column.
	LeftOut  int
	Warnings []string
	Baseline Baseline
	// Previous are the snapshots in the columns to the left, by id, where both are of
	// one process start.
	Previous map[string]*analysis.Snapshot
	Loads    []Load
	// Snapshots are what can be chosen, Value as in the address.
	Snapshots []Choice
	Query     url.Values
	Engine    string
	Frozen    bool
}

// CompareColumn is one chosen snapshot. Value is what the address says, Case the
// case where it is of another one, Restart that the process was restarted before it.
type CompareColumn struct {
	Value   string
	Case    *Link
	CaseID  string
	Restart bool
}

// Compare is the page with any number of snapshots side by side.
type Compare struct {
	Shell    Shell
	Headline string
	Frozen   bool
	CaseID   string
	Heads    []CompareHead
	// Name and Delta are the heads of the other columns that sort.
	Name, Delta DiffHead
	Totals      []CompareTotal
	Minds       []string
	Box         FilterBox
	Tabs        []DiffTab
	Shows       []DiffTab
	Pers        []DiffTab
	Figures     string
	Applied     string
	Sections    []CompareSection
	Picks       []PickGroup
	// PicksNote says that not every snapshot is among them.
	PicksNote string `json:",omitempty"`
	Hidden    []Pair
	LeftOut   string
	// Elsewhere is the page on which snapshots of other cases are found.
	Elsewhere string
	Empty     string
}

// CompareHead is the head of a column.
type CompareHead struct {
	Label, Clock, Full, URL string
	// Note is the case of a foreign snapshot, or says that the process was restarted.
	Note string
	// Order sorts by the counts of the column.
	Order DiffHead
}

// CompareTotal is a row of sums above the families.
type CompareTotal struct {
	Name  string
	Cells []CompareCell
}

// CompareCell is one figure; Sign is of a change.
type CompareCell struct {
	Text string
	Sign int
}

// CompareSection is one group of families.
type CompareSection struct {
	Name, Title, Note string
	Rows              []CompareRow
	More, MoreURL     string
}

// CompareRow is one family over the columns.
type CompareRow struct {
	Fingerprint string
	Name        FamilyName
	Cells       []CompareCell
	Delta       int
	// Compared says that at least two columns are complete.
	Compared bool
	Verdict  string
	// Triage is what a person decided about the family, empty for nothing.
	Triage string
	Unit   string
}

// PickGroup is the snapshots of one process to choose from.
type PickGroup struct {
	Name  string
	Picks []Pick
}

// Pick is one snapshot to choose.
type Pick struct {
	Value, Text string
	Checked     bool
}

type compareMaker struct {
	in       CompareInput
	kind     analysis.Kind
	asked    filter.Filter
	columns  columns
	families map[string]*report.Family
	key      string
	here     address
}

// NewCompare makes the page.
func NewCompare(in CompareInput) Compare {
	host := ""
	if in.Series.Host != nil {
		host = *in.Series.Host
	}
	m := compareMaker{
		in: in, kind: analysis.Kind(in.Query.Get("kind")), families: map[string]*report.Family{},
		columns: newColumns(in.Query.Get("show"), in.Query.Get("per"), in.Baseline.Snapshot, in.Previous, in.Loads),
		key:     SeriesKey(host, in.Series.Process),
	}
	q := maps.Clone(in.Query)
	if q == nil {
		q = url.Values{}
	}
	q.Set("case", in.CaseID)
	m.here = address{"/compare", q, in.Frozen}
	if !slices.Contains(analysis.Kinds(), m.kind) {
		m.kind = ""
	}
	for i := range in.Series.Families {
		m.families[in.Series.Families[i].Fingerprint] = &in.Series.Families[i]
	}
	c := Compare{CaseID: in.CaseID, Frozen: in.Frozen}
	m.asked, c.Box = newFilterBox(in.Query.Get("q"))
	for _, w := range in.Warnings {
		c.Minds = append(c.Minds, Visible(w))
	}
	if n := len(in.Result.Snapshots); n > 0 && m.columns.show == showBase {
		if foreign := in.Baseline.foreign(in.Result.Snapshots[n-1]); foreign != "" {
			c.Minds = append(c.Minds, foreign)
		}
	}
	m.heads(&c)
	c.Name, c.Delta = m.order("Family", "name"), m.order("Δ", "delta")
	m.totals(&c)
	m.sections(&c)
	m.tools(&c)
	c.Headline = m.headline()
	c.Applied = m.applied(&c.Box)
	if in.LeftOut > 0 {
		c.LeftOut = fmt.Sprintf("%s left out: the table has room for %d, the first and the last among them.", wording.PagePlural(int64(in.LeftOut), "chosen snapshot is", "chosen snapshots are"), len(in.Columns))
	}
	here := printable(in.Series.Process) + ", " + wording.PagePlural(int64(len(in.Columns)), "snapshot", "snapshots")
	c.Shell = Shell{
		Title: here, Description: c.Headline, Section: "cases", Engine: in.Engine, Here: here,
		Crumbs: []Link{{Text: "Cases", URL: "/"}, {Text: Visible(in.CaseTitle), URL: caseURL(in.CaseID)}},
	}
	if !in.Frozen {
		c.Shell.Offer("/compare", "?"+sameView(in.Query, in.CaseID), WithoutStacks)
		c.Shell.Pictures = ""
	}
	return c
}

func (m *compareMaker) live(address string) string {
	if m.in.Frozen {
		return ""
	}
	return address
}

func (m *compareMaker) heads(c *Compare) {
	for i, s := range m.in.Result.Snapshots {
		col := m.in.Columns[i]
		h := CompareHead{Label: Visible(s.Label), Full: wording.Time(s.CapturedAt)}
		if !s.CapturedAt.IsZero() {
			h.Clock = wording.Clock(s.CapturedAt)
		}
		id := m.in.CaseID
		switch {
		case col.Case != nil:
			id, h.Note = col.CaseID, Visible(col.Case.Text)
		case s.Process.Name.Value != m.in.Series.Process:
			h.Note = printable(s.Process.Name.Value)
		case col.Restart:
			h.Note = "restarted"
		}
		h.URL = m.live(snapshotURL(s.ID, id))
		h.Order = m.order(h.Label, col.Value)
		c.Heads = append(c.Heads, h)
	}
}

// order is a link that sorts by a column: by "name", "delta", or the counts of a
// snapshot. The tables come by the size of the change.
func (m *compareMaker) order(text, by string) DiffHead {
	now, down := m.sorting()
	return m.here.order(text, by, now, down, "delta")
}

// sorting returns what the address asks for, "" for the order of the tables.
func (m *compareMaker) sorting() (by string, down bool) {
	by = m.in.Query.Get("sort")
	named := slices.ContainsFunc(m.in.Columns, func(c CompareColumn) bool { return c.Value == by })
	if by != "name" && by != "delta" && !named {
		return "", false
	}
	return by, m.in.Query.Get("dir") != "asc"
}

// sorted brings the rows of a section into the order that was asked for.
func (m *compareMaker) sorted(rows []diff.Course) []diff.Course {
	by, down := m.sorting()
	if by == "" {
		return rows
	}
	at := slices.IndexFunc(m.in.Columns, func(c CompareColumn) bool { return c.Value == by })
	slices.SortStableFunc(rows, func(a, b diff.Course) int {
		var order int
		switch by {
		case "name":
			order = cmp.Compare(m.title(a.Family), m.title(b.Family))
		case "delta":
			order = cmp.Compare(a.Delta, b.Delta)
		default:
			// What was not counted comes last, whichever way.
			x, y := a.Counts[at], b.Counts[at]
			if !x.Known() || !y.Known() {
				return cmp.Compare(y.State, x.State)
			}
			order = cmp.Compare(x.N, y.N)
		}
		if down {
			return -order
		}
		return order
	})
	return rows
}

// tools are the controls above the table.
func (m *compareMaker) tools(c *Compare) {
	c.Figures = m.columns.words(&m.in.Baseline)
	if m.in.Frozen {
		return
	}
	count := map[analysis.Kind]int{}
	for i := range m.in.Result.Rows {
		count[m.in.Result.Rows[i].Family.Kind]++
	}
	c.Tabs = m.here.kinds(len(m.in.Result.Rows), count, m.kind)
	c.Shows = m.here.shows(m.columns.show)
	c.Pers = m.here.pers(m.in.Loads, m.columns.load, func(l *Load) bool {
		known := 0
		for _, s := range m.in.Result.Snapshots {
			if l.Values[s.ID] > 0 {
				known++
			}
		}
		return known >= 2
	})
	c.Box.Hidden, c.Hidden = m.here.hidden("q"), m.here.hidden("s", "series", "all")
	m.picks(c)
	q := url.Values{"case": {m.in.CaseID}, "into": {"compare"}, "series": {m.key}}
	for _, col := range m.in.Columns {
		q.Add("s", col.Value)
	}
	c.Elsewhere = "/diff-other?" + q.Encode()
}

// picks are the snapshots to choose from: those of the case, and the foreign ones
// that have a column.
func (m *compareMaker) picks(c *Compare) {
	chosen := map[string]bool{}
	for i, col := range m.in.Columns {
		chosen[col.Value] = true
		if col.Case == nil {
			continue
		}
		name := "Case " + Visible(col.Case.Text)
		if n := len(c.Picks); n == 0 || c.Picks[n-1].Name != name {
			c.Picks = append(c.Picks, PickGroup{Name: name})
		}
		last := &c.Picks[len(c.Picks)-1]
		last.Picks = append(last.Picks, Pick{Value: col.Value, Text: c.Heads[i].Label + ", " + c.Heads[i].Clock, Checked: true})
	}
	var keep []string
	for _, col := range m.in.Columns {
		keep = append(keep, col.Value)
	}
	choices, more := fewChoices(m.in.Snapshots, keep...)
	if more {
		c.PicksNote = fmt.Sprintf("%s of %s are listed; another one is shown with &s= and its id in the address.", wording.Number(int64(len(choices))), wording.PagePlural(int64(len(m.in.Snapshots)), "snapshot", "snapshots"))
	}
	for _, g := range groupChoices(choices) {
		group := PickGroup{Name: printable(g.Name)}
		for _, s := range g.Choices {
			group.Picks = append(group.Picks, Pick{Value: s.Value, Text: Visible(s.Text), Checked: chosen[s.Value]})
		}
		c.Picks = append(c.Picks, group)
	}
}

// headline counts what happened: "kubelet, t0 to t8, 9 snapshots: 15 families grew,
// 2 are new, 1 shrank."
func (m *compareMaker) headline() string {
	snapshots := m.in.Result.Snapshots
	who := printable(m.in.Series.Process)
	if len(snapshots) < 2 {
		return who + ": choose at least two snapshots."
	}
	count := map[diff.Section]int{}
	for i := range m.in.Result.Rows {
		count[m.in.Result.Rows[i].Section]++
	}
	var parts []string
	say := func(s diff.Section, one, many string) {
		if n := count[s]; n > 0 {
			parts = append(parts, wording.PagePlural(int64(n), "family "+one, "families "+many))
		}
	}
	say(diff.Growing, "grew", "grew")
	say(diff.New, "is new", "are new")
	say(diff.Between, "changed and came back", "changed and came back")
	say(diff.Shrunk, "shrank", "shrank")
	say(diff.Gone, "is gone", "are gone")
	if len(parts) == 0 {
		parts = []string{"no family changed"}
	}
	return fmt.Sprintf("%s, %s to %s, %s: %s.", who, Visible(snapshots[0].Label), Visible(snapshots[len(snapshots)-1].Label),
		wording.PagePlural(int64(len(snapshots)), "snapshot", "snapshots"), wording.List(parts, len(parts)))
}

func (m *compareMaker) applied(box *FilterBox) string {
	var words []string
	if box.Text != "" && box.Error == "" {
		words = append(words, "Filter "+box.Text+": "+box.Note)
	}
	if m.kind != "" {
		words = append(words, "Only "+kindWord(m.kind, 2)+".")
	}
	if figures := m.columns.words(&m.in.Baseline); figures != "" {
		words = append(words, "Figures: "+figures+"; Δ in members.")
	}
	return strings.Join(words, " ")
}

// CompareFilter returns what the filter of the address lets pass; a Fault with Code
// "bad_request" where it is not understood.
func CompareFilter(in CompareInput) (func(diff.Course) bool, error) {
	asked, err := filter.Parse(in.Query.Get("q"))
	if err != nil {
		return nil, filterFault(err)
	}
	m := compareMaker{in: in, families: map[string]*report.Family{}}
	for i := range in.Series.Families {
		m.families[in.Series.Families[i].Fingerprint] = &in.Series.Families[i]
	}
	kind := analysis.Kind(in.Query.Get("kind"))
	return func(r diff.Course) bool {
		return (!slices.Contains(analysis.Kinds(), kind) || r.Family.Kind == kind) && (asked.Empty() || asked.Match(m.facts(&r)))
	}, nil
}
