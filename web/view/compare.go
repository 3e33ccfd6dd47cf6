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
	"leakdiff/analysis/say/document"
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

type compareMaker struct {
	in       CompareInput
	kind     analysis.Kind
	asked    filter.Filter
	columns  columns
	families map[string]*report.Family
	key      string
	here     address
	box      FilterBox
}

// NewCompare makes the page with any number of snapshots side by side.
func NewCompare(in CompareInput) Page {
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
	m.asked, m.box = newFilterBox(in.Query.Get("q"))
	rows := m.rows()
	headline := m.headline()
	out := Page{Shell: m.shell(headline)}
	if n := len(in.Result.Snapshots); n > 0 {
		out.Shell.Captured = capturedFrom(wording.Time(in.Result.Snapshots[0].CapturedAt), wording.Time(in.Result.Snapshots[n-1].CapturedAt))
	}
	d := &out.Body
	d.Title(headline)
	for _, text := range in.Warnings {
		d.Mind(Visible(text))
	}
	if n := len(in.Result.Snapshots); n > 0 && m.columns.show == showBase {
		if foreign := in.Baseline.foreign(in.Result.Snapshots[n-1]); foreign != "" {
			d.Mind(foreign)
		}
	}
	if in.Frozen {
		d.Say("note", m.applied())
	} else {
		d.Add(m.tools(), m.picker(), applied(m.applied()))
	}
	if in.LeftOut > 0 {
		d.Mind(fmt.Sprintf("%s left out: the table has room for %d, the first and the last among them.", wording.PagePlural(int64(in.LeftOut), "chosen snapshot is", "chosen snapshots are"), len(in.Columns)))
	}
	d.Add(document.Heading{Level: 2, Look: document.Hidden, Text: document.Words("Families")})
	switch {
	case len(in.Result.Snapshots) < 2:
		d.Say("empty", "One snapshot alone grows from nothing: choose a second one.")
	case len(rows) == 0 && !m.asked.Empty():
		d.Say("empty", m.box.nothing())
	case len(rows) == 0:
		d.Say("empty", "No snapshot holds a family: nothing was captured that could be compared.")
	}
	var note document.Text
	if figures := m.columns.words(&in.Baseline); figures != "" && !in.Frozen {
		note = document.Text{document.Marked(document.Strong, "Figures: "+figures+"; Δ in members."), document.Plain(" ")}
	}
	d.Add(document.Paragraph{Look: "note cap", Text: append(note, document.Plain("Δ is the last complete figure minus the first, and of what came back the widest change. A dash says that the kind was not captured, ≥ that the dump is cut."))})
	if len(in.Result.Snapshots) > 0 {
		d.Add(m.table(rows))
	}
	return out
}

func (m *compareMaker) shell(headline string) Shell {
	here := printable(m.in.Series.Process) + ", " + wording.PagePlural(int64(len(m.in.Columns)), "snapshot", "snapshots")
	out := Shell{
		Title: here, Description: headline, Section: "cases", Engine: m.in.Engine, Here: here,
		Crumbs: []Link{{Text: "Cases", URL: "/"}, {Text: Visible(m.in.CaseTitle), URL: caseURL(m.in.CaseID)}},
	}
	if !m.in.Frozen {
		out.Offer("/compare", "?"+sameView(m.in.Query, m.in.CaseID), WithoutStacks)
		out.Pictures = ""
	}
	return out
}

func (m *compareMaker) live(address string) string {
	if m.in.Frozen {
		return ""
	}
	return address
}

// head is the head of the column of a snapshot, with the case of a foreign one.
func (m *compareMaker) head(i int) document.Cell {
	s, col := m.in.Result.Snapshots[i], m.in.Columns[i]
	id, note, label := m.in.CaseID, "", Visible(s.Label)
	switch {
	case col.Case != nil:
		id, note = col.CaseID, Visible(col.Case.Text)
	case s.Process.Name.Value != m.in.Series.Process:
		note = printable(s.Process.Name.Value)
	case col.Restart:
		note = "restarted"
	}
	order := m.order(label, col.Value)
	text := document.Text{document.LinkTo(m.live(snapshotURL(s.ID, id)), label)}
	switch {
	case order.URL != "":
		text = append(text, document.Span{URL: order.URL, Text: cmp.Or(order.Arrow, "↕"), Link: &document.Link{Look: "quiet", Label: "Sort by " + order.Text}})
	case order.Arrow != "":
		text = append(text, document.Marked(document.Glyph, order.Arrow))
	}
	text = append(text, document.Marked("sub", clockOf(s)))
	if note != "" {
		text = append(text, document.Marked("sub", note))
	}
	return document.Cell{Look: document.Figured, Title: wording.Time(s.CapturedAt), Plain: strings.TrimSpace(label + " " + note), Sort: document.ID(order.Sort), Text: text}
}

// clockOf is the time of day of a snapshot, empty where its time is unknown.
func clockOf(s *analysis.Snapshot) string {
	if s.CapturedAt.IsZero() {
		return ""
	}
	return wording.Clock(s.CapturedAt)
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
func (m *compareMaker) tools() document.Group {
	count := map[analysis.Kind]int{}
	for i := range m.in.Result.Rows {
		count[m.in.Result.Rows[i].Family.Kind]++
	}
	box := m.box
	box.Hidden = m.here.hidden("q")
	out := document.Group{Look: "tools", Blocks: box.Blocks()}
	out.Add(tabBlocks("Kind", m.here.kinds(len(m.in.Result.Rows), count, m.kind))...)
	out.Add(tabBlocks("Figures", m.here.shows(m.columns.show))...)
	out.Add(tabBlocks("Figures divided", m.here.pers(m.in.Loads, m.columns.load, func(l *Load) bool {
		known := 0
		for _, s := range m.in.Result.Snapshots {
			if l.Values[s.ID] > 0 {
				known++
			}
		}
		return known >= 2
	}))...)
	return out
}

// picker chooses the snapshots of the columns: of those of the case, and the foreign ones that
// have a column.
func (m *compareMaker) picker() document.Group {
	form := document.Form{Action: "/compare"}
	for _, h := range m.here.hidden("s", "series", "all") {
		form.Add(document.Hide(h.Name, h.Value))
	}
	group, name := document.Group{Look: "picks"}, ""
	close := func() {
		if len(group.Blocks) > 0 {
			form.Add(document.Fieldset{LegendLook: "h4", Legend: document.Words(name), Blocks: document.Blocks{group}})
		}
		group.Blocks = nil
	}
	pick := func(value, text string, checked bool) {
		group.Add(document.Label{Blocks: document.Blocks{document.Field{Type: "checkbox", Name: "s", Value: value, Checked: checked}, document.Words(text)}})
	}
	chosen, q := map[string]bool{}, url.Values{"case": {m.in.CaseID}, "into": {"compare"}, "series": {m.key}}
	for i, col := range m.in.Columns {
		chosen[col.Value] = true
		q.Add("s", col.Value)
		if col.Case == nil {
			continue
		}
		if other := "Case " + Visible(col.Case.Text); other != name {
			close()
			name = other
		}
		s := m.in.Result.Snapshots[i]
		pick(col.Value, Visible(s.Label)+", "+clockOf(s), true)
	}
	close()
	choices, more := fewChoices(m.in.Snapshots, q["s"]...)
	for _, g := range groupChoices(choices) {
		name = printable(g.Name)
		for _, s := range g.Choices {
			pick(s.Value, Visible(s.Text), chosen[s.Value])
		}
		close()
	}
	if more {
		form.Say("note", fmt.Sprintf("%s of %s are listed; another one is shown with &s= and its id in the address.", wording.Number(int64(len(choices))), wording.PagePlural(int64(len(m.in.Snapshots)), "snapshot", "snapshots")))
	}
	form.Add(document.Line{Look: "act", Blocks: document.Blocks{
		document.Press{Look: "btn", Type: "submit", Text: "Show these"},
		document.Text{document.LinkButton("btn quiet", "/diff-other?"+q.Encode(), "Add a snapshot of another case")},
	}})
	return document.Group{Look: "withs", Blocks: document.Blocks{document.Fold{Look: "with", Open: len(m.in.Columns) < 2, Summary: document.Words("Snapshots…"), Blocks: document.Blocks{form}}}}
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

func (m *compareMaker) applied() string {
	var words []string
	if m.box.Text != "" && m.box.Error == "" {
		words = append(words, "Filter "+m.box.Text+": "+m.box.Note)
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
