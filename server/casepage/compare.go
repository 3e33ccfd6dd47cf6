package casepage

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/evidence"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/store"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// maxColumns bounds the snapshots side by side, maxChosen those that an address may name.
// defaultColumns is the number of columns if the address names none.
const (
	maxColumns     = 50
	maxChosen      = 500
	defaultColumns = 12
)

// several is the comparison of any number of snapshots.
type several struct {
	l       *loader.Loaded
	series  *report.JudgedSeries
	columns []severalColumn
	leftOut int
	result  diff.Many
}

// severalColumn is a snapshot with its case and series.
type severalColumn struct {
	value  string
	l      *loader.Loaded
	series *report.JudgedSeries
	at     int
}

func (c *severalColumn) snapshot() *analysis.Snapshot { return c.series.Snapshots[c.at] }

// namedSnapshots returns the snapshots that an address names, each once.
func namedSnapshots(q url.Values) []string {
	var out []string
	for _, name := range q["s"] {
		if name != "" && !slices.Contains(out, name) && len(out) < maxChosen {
			out = append(out, name)
		}
	}
	return out
}

func (s *Service) several(r *http.Request) (*several, error) {
	q := r.URL.Query()
	if q.Get("case") == "" {
		return nil, response.Refuse("bad_request", "the case is missing", "", "the address must name it", "start from the page of the case")
	}
	names := namedSnapshots(q)
	l, err := s.loader.Evidence(r.Context(), q.Get("case"), loader.Part{Shown: names})
	if err != nil {
		return nil, err
	}
	c := &several{l: l}
	if len(names) == 0 {
		names = defaultSnapshots(l, q.Get("series"))
	}
	if n := len(names); n > maxColumns {
		names, c.leftOut = evenly(names, maxColumns), n-maxColumns
	}
	for _, name := range names {
		col, err := s.column(r, l, name)
		if err != nil {
			return nil, err
		}
		c.columns = append(c.columns, col)
	}
	if len(c.columns) == 0 || len(l.Built.Series) == 0 {
		return nil, response.Refuse("not_found", "the case has no snapshot to compare", l.ID, "nothing was read yet, or everything was left out", "add files to the case")
	}
	// The table is about the series of the last column of the case itself. Columns of
	// other cases are there to compare with.
	c.series = c.columns[len(c.columns)-1].series
	for _, col := range c.columns {
		if col.l == l {
			c.series = col.series
		}
	}
	var snapshots []*analysis.Snapshot
	for i := range c.columns {
		snapshots = append(snapshots, c.columns[i].snapshot())
	}
	c.result = diff.CompareMany(snapshots, c.series.Judged)
	return c, nil
}

// defaultSnapshots returns the snapshots of a series that are compared if the address names none.
func defaultSnapshots(l *loader.Loaded, key string) []string {
	var series *report.JudgedSeries
	for i := range l.Built.Series {
		if series == nil || seriesKey(&l.Built.Series[i]) == key && seriesKey(series) != key {
			series = &l.Built.Series[i]
		}
	}
	if series == nil {
		return nil
	}
	var out []string
	for _, snap := range evenly(series.Snapshots, defaultColumns) {
		out = append(out, snap.ID)
	}
	return out
}

// evenly returns at most n elements at even distances, with the first and the last.
func evenly[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	out := make([]T, n)
	for i := range out {
		out[i] = all[i*(len(all)-1)/(n-1)]
	}
	return out
}

func (s *Service) column(r *http.Request, l *loader.Loaded, name string) (severalColumn, error) {
	caseID, id, elsewhere := strings.Cut(name, "/")
	if !elsewhere {
		caseID, id = l.ID, name
	}
	of, err := s.loader.Evidence(r.Context(), caseID, loader.Part{Shown: []string{id}})
	if err != nil {
		return severalColumn{}, err
	}
	if of.LeftOut(id) {
		return severalColumn{}, loader.LeftOutFault(id)
	}
	series, at := of.Line(id)
	if series == nil {
		return severalColumn{}, noSnapshot(id)
	}
	return severalColumn{value: name, l: of, series: series, at: at}, nil
}

func (s *Service) severalInput(r *http.Request, c *several, query url.Values, why purpose) (view.CompareInput, error) {
	in := view.CompareInput{
		CaseID: c.l.ID, CaseTitle: c.l.Title, Series: seriesOf(c.columns[len(c.columns)-1].l, c.series), Result: c.result, Verdicts: c.series.Judged, Titles: c.series.Titles,
		LeftOut: c.leftOut, Snapshots: choicesOf(c.l), Query: query, Previous: map[string]*analysis.Snapshot{}, Warnings: c.warnings(),
	}
	for _, col := range c.columns {
		if col.series == c.series {
			in.Series = seriesOf(col.l, col.series)
		}
	}
	var all []*report.JudgedSeries
	for i := range c.columns {
		col := &c.columns[i]
		all = append(all, col.series)
		out := view.CompareColumn{Value: col.value}
		if col.l != c.l {
			out.CaseID, out.Case = col.l.ID, caseLink(col.l, why)
		}
		if i > 0 && c.columns[i-1].series == col.series {
			left := &c.columns[i-1]
			if out.Restart = col.series.Trend.Epochs[left.at] != col.series.Trend.Epochs[col.at]; !out.Restart {
				in.Previous[col.snapshot().ID] = left.snapshot()
			}
		}
		in.Columns = append(in.Columns, out)
	}
	in.Loads = loadsOf(all...)
	var err error
	in.Baseline, err = s.baseline(r.Context(), c.l, c.ownSeries())
	in.Baseline.CaseTitle = otherTitle(in.Baseline.CaseTitle, why)
	return in, err
}

// caseLink links to another case than that of the page.
func caseLink(l *loader.Loaded, why purpose) *view.Link {
	return &view.Link{Text: otherTitle(l.Title, why), URL: "/cases/" + url.PathEscape(l.ID)}
}

// otherTitle is the title of another case than that of the page. A frozen page does not
// show it: its readers may not know that case.
func otherTitle(title string, why purpose) string {
	if why == freezing && title != "" {
		return "not named here"
	}
	return title
}

// ownSeries is the series of the case itself that the table is about.
func (c *several) ownSeries() *report.JudgedSeries {
	for i := len(c.columns) - 1; i >= 0; i-- {
		if c.columns[i].l == c.l {
			return c.columns[i].series
		}
	}
	return &c.l.Built.Series[0]
}

// warnings returns the warnings of the first and the last column, and those of cut dumps
// between them.
func (c *several) warnings() []string {
	if len(c.columns) < 2 {
		return nil
	}
	first, last := &c.columns[0], &c.columns[len(c.columns)-1]
	relation := diff.Unstated
	if first.l != last.l {
		relation = diff.Unproven
	}
	if first.series == last.series {
		relation = diff.SameEpoch
		if first.series.Trend.Epochs[first.at] != last.series.Trend.Epochs[last.at] {
			relation = diff.OtherEpoch
		}
	}
	out := evidence.Warnings(diff.Warnings(first.snapshot(), last.snapshot(), relation))
	for _, refused := range []bool{false, true} {
		how := "are cut"
		if refused {
			how = "were not understood as a whole"
		}
		var bounded []string
		for _, col := range c.columns[1 : len(c.columns)-1] {
			if snap := col.snapshot(); snap.LowerBound && snap.Refused > 0 == refused {
				bounded = append(bounded, snap.Label)
			}
		}
		if len(bounded) > 0 {
			out = append(out, fmt.Sprintf("The dumps of %s %s: their figures are lower bounds, marked ≥, and nothing is compared with them.", wording.Commas(bounded, len(bounded)), how))
		}
	}
	return out
}

func (s *Service) severalView(r *http.Request, c *several, query url.Values, why purpose) (view.Page, error) {
	in, err := s.severalInput(r, c, query, why)
	in.Engine, in.Frozen = s.respond.Engine(), bool(why)
	if err != nil {
		return view.Page{}, err
	}
	return view.NewCompare(in), nil
}

// severalData returns the rows that pass the filter, as data.
func (s *Service) severalData(r *http.Request, c *several, query url.Values) (report.Several, error) {
	in, err := s.severalInput(r, c, query, freezing)
	if err != nil {
		return report.Several{}, err
	}
	passes, err := view.CompareFilter(in)
	if err != nil {
		return report.Several{}, err
	}
	var rows []diff.Course
	for _, course := range c.result.Rows {
		if passes(course) {
			rows = append(rows, course)
		}
	}
	out := report.NewSeveral(rows, c.series)
	out.LeftOut, out.Warnings = c.leftOut, append(out.Warnings, in.Warnings...)
	out.Filter = report.NewFiltered(query.Get("q"), len(rows), len(c.result.Rows))
	for i := range c.columns {
		snap := c.columns[i].snapshot()
		out.Snapshots = append(out.Snapshots, report.SeveralSnapshot{ID: snap.ID, Label: snap.Label, Case: c.columns[i].l.ID})
	}
	return out, nil
}

// Bounds of the page that lists other cases: cases and snapshots in its list, and cases
// that it searches.
const (
	listedCases     = 8
	listedSnapshots = 40
	soughtCases     = 1000
)

// ElsewherePage lists recent cases with their snapshots, to compare with or to choose as
// baseline.
func (s *Service) ElsewherePage(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	l, err := s.loader.Evidence(r.Context(), q.Get("case"), loader.Part{})
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	v := view.Elsewhere{
		NeedsKey: s.access.NeedsKey(r.Context(), l.ID), CaseID: l.ID, Find: strings.TrimSpace(q.Get("find")), Headline: "Choose a snapshot of another case as A",
		Lead: "A healthy node, or the same program before an upgrade. Members cannot be followed from one process to another: counts are compared.",
	}
	series, _ := l.Line(q.Get("b"))
	if series == nil && len(l.Built.Series) > 0 {
		series = &l.Built.Series[0]
	}
	if series == nil {
		s.respond.Fail(w, r, noSnapshot(q.Get("b")))
		return
	}
	v.Series = q.Get("series")
	if v.Series == "" {
		v.Series = seriesKey(series)
	}
	into := func(name string) string {
		caseID, id, _ := strings.Cut(name, "/")
		return "/diff/" + url.PathEscape(id) + ".." + url.PathEscape(q.Get("b")) + "?" + url.Values{"case": {l.ID}, "acase": {caseID}}.Encode()
	}
	v.Back = "/diff/" + url.PathEscape(series.Snapshots[0].ID) + ".." + url.PathEscape(q.Get("b")) + "?" + url.Values{"case": {l.ID}, "show": {"base"}}.Encode()
	if q.Get("into") == "compare" || q.Get("b") == "" {
		v.Headline = "Add a snapshot of another case"
		with := func(first []string) string {
			return "/compare?" + url.Values{"case": {l.ID}, "series": {v.Series}, "s": append(first, namedSnapshots(q)...)}.Encode()
		}
		into = func(name string) string { return with([]string{name}) }
		v.Back = with(nil) + "&show=base"
	}
	for _, name := range []string{"case", "b", "into", "series", "s"} {
		for _, value := range q[name] {
			v.Hidden = append(v.Hidden, view.Pair{Name: name, Value: value})
		}
	}
	if err := s.listElsewhere(r, &v, l, into); err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	v.Shell = view.Shell{Title: v.Headline, Section: "cases", Here: v.Headline, Engine: s.respond.Engine(), Crumbs: []view.Link{{Text: "Cases", URL: "/"}, {Text: view.Visible(l.Title), URL: "/cases/" + url.PathEscape(l.ID)}}}
	s.respond.Page(w, r, http.StatusOK, page.HTML(v.Page()))
}

// listElsewhere adds the cases that match the search, the newest first.
func (s *Service) listElsewhere(r *http.Request, v *view.Elsewhere, l *loader.Loaded, into func(name string) string) error {
	cases, _, err := s.store.Cases(r.Context(), store.CaseQuery{Everything: true, Limit: soughtCases})
	if err != nil {
		return err
	}
	more := 0
	for _, c := range cases {
		if c.ID == l.ID || c.Snapshots == 0 {
			continue
		}
		named := containsFold(c.Title, v.Find) || containsFold(c.Headline, v.Find)
		if len(v.Cases) == listedCases {
			if named {
				more++
			}
			continue
		}
		listed, err := s.elsewhereCase(r, c.Case, named, v.Find, into)
		if response.IsNotFound(err) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return err
		}
		if len(listed.Snapshots) > 0 {
			v.Cases = append(v.Cases, listed)
		}
	}
	switch {
	case more > 0:
		v.More = wording.PagePlural(int64(more), "more case is", "more cases are") + " not listed; search by title, process or snapshot."
	case len(v.Cases) == 0 && v.Find != "":
		v.Empty = "No other case holds “" + view.Visible(v.Find) + "” in its title, sentence, processes or snapshots."
	case len(v.Cases) == 0:
		v.Empty = "There is no other case on this server. Upload the capture of a healthy node as a case of its own."
	}
	return nil
}

func containsFold(text, wanted string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(wanted))
}

// elsewhereCase lists the snapshots of a case: all if its title or headline matches the
// search, else those that match.
func (s *Service) elsewhereCase(r *http.Request, c store.Case, named bool, find string, into func(name string) string) (view.ElsewhereCase, error) {
	out := view.ElsewhereCase{Title: view.Visible(SampleTitle(c)), About: view.Visible(c.Headline)}
	outcome, err := s.loader.Brief(r.Context(), c.ID)
	if err != nil {
		return out, err
	}
	var all []*analysis.Snapshot
	for i := range outcome.Snapshots {
		all = append(all, &outcome.Snapshots[i])
	}
	left := 0
	for _, choice := range choices(all) {
		if !named && !containsFold(choice.Group, find) && !containsFold(choice.Text, find) {
			continue
		}
		if len(out.Snapshots) == listedSnapshots {
			left++
			continue
		}
		name := c.ID + "/" + choice.Value
		out.Snapshots = append(out.Snapshots, view.ElsewhereSnapshot{Text: view.Visible(choice.Group + " " + choice.Text), URL: into(name), Value: name})
	}
	if left > 0 {
		out.More = wording.PagePlural(int64(left), "more snapshot", "more snapshots") + "; search for its label."
	}
	return out, nil
}

// SampleTitle is the title of a case, marked if the case is a sample.
func SampleTitle(c store.Case) string {
	if c.Sample == "" {
		return c.Title
	}
	return c.Title + " (sample)"
}
