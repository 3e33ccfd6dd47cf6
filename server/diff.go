package server

import (
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/report"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

func queryEscape(s string) string { return url.QueryEscape(s) }

// pickDiff turns the choice of a form into the address of its page.
func (s *Server) pickDiff(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a, err := s.picked(r, q.Get("case"), "a", "b")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	b, err := s.picked(r, q.Get("case"), "b", "a")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if a == "" || b == "" {
		s.fail(w, r, refuse("bad_request", "two snapshots must be chosen", "", "A or B is missing", "go back and choose one of each"))
		return
	}
	s.redirect(w, r, "/diff/"+url.PathEscape(a)+".."+url.PathEscape(b)+"?case="+queryEscape(q.Get("case")))
}

// picked is the snapshot that a form names in a field: by the label that was typed beside
// its select box, else by what is chosen there. Of several with the label it is that of the
// process of the other field.
func (s *Server) picked(r *http.Request, caseID, field, other string) (string, error) {
	text := strings.TrimSpace(r.FormValue("find-" + field))
	if text == "" {
		return r.FormValue(field), nil
	}
	l, err := s.load(r.Context(), caseID)
	if err != nil {
		return "", err
	}
	return view.Named(l.choices(), text, r.FormValue(other)), nil
}

// compared is two snapshots with what was computed of the pair.
type compared struct {
	// l is the case of B, la that of A: mostly the same.
	l, la        *loaded
	lineA, lineB *report.JudgedSeries
	a, b         int
	result       diff.Result
	baseline     view.Baseline
}

// diffPage compares two snapshots side by side.
func (s *Server) diffPage(w http.ResponseWriter, r *http.Request) {
	pair, suffix := twin(pathValue(r, "pair"))
	s.show(w, r, func() ([]string, error) { return s.casesOfPair(r, pair) }, func() (written, error) {
		c, err := s.compare(r, pair)
		if err != nil {
			return written{}, err
		}
		query := r.URL.Query()
		if suffix == ".json" {
			data, err := c.data(query)
			if err != nil {
				return written{}, err
			}
			return jsonOf(data)
		}
		if suffix != "" {
			query.Set("all", "1") // a file has no link to unfold
			data, err := c.data(query)
			if err != nil {
				return written{}, err
			}
			v := s.diffView(c, query, showing)
			return s.twinOf(r, suffix, exported{
				page: v, alone: aloneDiff(s.diffView(c, query, keeping)), shell: s.copied(v.Shell), name: v.Shell.Here,
				csv: data.CSV, stacks: []*analysis.Snapshot{c.result.A, c.result.B},
			})
		}
		v := s.diffView(c, query, showing)
		offerSharing(&v.Shell, *r.URL, c.l.ID)
		return pageOf(r.Context(), page.Diff(v))
	})
}

// casesOfPair are the cases that a comparison depends on: that of B, that of A, and
// that of the baseline.
func (s *Server) casesOfPair(r *http.Request, pair string) ([]string, error) {
	caseB, caseA, err := s.caseOfPair(r, pair)
	if err != nil {
		return nil, err
	}
	cases, err := s.withBaselines(r.Context(), caseB)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(cases, caseA) {
		cases = append(cases, caseA)
	}
	return cases, nil
}

// caseOfPair is the case of B and the one of A: those that the query names, or the
// newest one that holds both snapshots, or the newest of each.
func (s *Server) caseOfPair(r *http.Request, pair string) (caseB, caseA string, err error) {
	idA, idB, ok := strings.Cut(pair, "..")
	if !ok {
		return "", "", refuse("not_found", "there is no such comparison", pair, "the address must name two snapshots with two dots between them", "choose them on the page of the case")
	}
	q := r.URL.Query()
	caseB, caseA = q.Get("case"), q.Get("acase")
	if caseB == "" && caseA == "" {
		if caseB, err = s.commonCase(r, idA, idB); caseB != "" || err != nil {
			return caseB, caseB, err
		}
		if caseA, err = s.newestCase(r, idA); err != nil {
			return "", "", err
		}
	}
	if caseB == "" {
		if caseB, err = s.newestCase(r, idB); err != nil {
			return "", "", err
		}
	}
	if caseA == "" {
		caseA = caseB
	}
	return caseB, caseA, nil
}

func (s *Server) newestCase(r *http.Request, id string) (string, error) {
	cases, err := s.store.FindSnapshot(r.Context(), id)
	if err == nil && len(cases) == 0 {
		err = noSnapshot(id)
	}
	if err != nil {
		return "", err
	}
	return cases[0], nil
}

func (s *Server) compare(r *http.Request, pair string) (*compared, error) {
	caseB, caseA, err := s.caseOfPair(r, pair)
	if err != nil {
		return nil, err
	}
	idA, idB, _ := strings.Cut(pair, "..")
	c := &compared{}
	if c.l, err = s.load(r.Context(), caseB); err != nil {
		return nil, err
	}
	if c.la = c.l; caseA != caseB {
		if c.la, err = s.load(r.Context(), caseA); err != nil {
			return nil, err
		}
	}
	c.lineA, c.a = c.la.series(idA)
	c.lineB, c.b = c.l.series(idB)
	switch {
	case c.la.leftOut(idA):
		return nil, leftOutFault(idA)
	case c.l.leftOut(idB):
		return nil, leftOutFault(idB)
	case c.lineA == nil && c.lineB != nil && caseA == caseB:
		return nil, refuse("not_found", "A is no snapshot of this case", idA, "the case of A must be named where it is another one", "choose A with “A snapshot of another case” on a comparison, or add &acase= and its case to the address")
	case c.lineA == nil:
		return nil, noSnapshot(idA)
	case c.lineB == nil:
		return nil, noSnapshot(idB)
	}
	c.result = c.l.pair(c.la, idA, idB, func() diff.Result {
		return diff.Compare(c.lineA.Snapshots[c.a], c.lineB.Snapshots[c.b], diff.Options{Judgements: c.lineB.Judged, Relation: c.relation()})
	})
	if c.la != c.l {
		c.result.Warnings = append([]string{"A is of another case. Verdicts and small lines are those of B's case."}, c.result.Warnings...)
	}
	c.baseline, err = s.baseline(r.Context(), c.l, c.lineB)
	return c, err
}

// maxPairs bounds the comparisons that a computed case keeps.
const maxPairs = 4

// pairs are the comparisons that were last asked for of a computed case: the same
// one is written anew for every filter, order and opened row.
type pairs struct {
	mu    sync.Mutex
	order []string
	by    map[string]diff.Result
}

// pair compares two snapshots of a case once.
func (l *loaded) pair(other *loaded, idA, idB string, compare func() diff.Result) diff.Result {
	if other != l || l.pairs == nil {
		return compare()
	}
	key := idA + ".." + idB
	l.pairs.mu.Lock()
	found, ok := l.pairs.by[key]
	l.pairs.mu.Unlock()
	if ok {
		return found
	}
	found = compare()
	l.pairs.mu.Lock()
	defer l.pairs.mu.Unlock()
	if l.pairs.by == nil {
		l.pairs.by = map[string]diff.Result{}
	}
	if len(l.pairs.order) == maxPairs {
		delete(l.pairs.by, l.pairs.order[0])
		l.pairs.order = l.pairs.order[1:]
	}
	if _, twice := l.pairs.by[key]; !twice {
		l.pairs.order = append(l.pairs.order, key)
	}
	l.pairs.by[key] = found
	return found
}

// commonCase is the newest case that holds both snapshots; ids come from the
// content, so that one may stand in several cases. Empty where there is none.
func (s *Server) commonCase(r *http.Request, idA, idB string) (string, error) {
	casesA, err := s.store.FindSnapshot(r.Context(), idA)
	if err != nil {
		return "", err
	}
	casesB, err := s.store.FindSnapshot(r.Context(), idB)
	if err != nil {
		return "", err
	}
	for _, c := range casesA {
		if slices.Contains(casesB, c) {
			return c, nil
		}
	}
	return "", nil
}

// relation says whether members may be followed from A to B.
func (c *compared) relation() diff.Relation {
	switch {
	case c.la != c.l:
		return diff.Unproven
	case c.lineA != c.lineB:
		return diff.Unstated
	case c.lineA.Trend.Epochs[c.a] != c.lineA.Trend.Epochs[c.b]:
		return diff.OtherEpoch
	}
	return diff.SameEpoch
}

func (s *Server) diffView(c *compared, query url.Values, why purpose) view.Diff {
	in := diffInput(c, query, why)
	in.Engine, in.Frozen, in.NeedsKey = s.engine(), bool(why), !s.loopback()
	return view.NewDiff(in)
}

func diffInput(c *compared, query url.Values, why purpose) view.DiffInput {
	in := view.DiffInput{
		CaseID: c.l.ID, CaseTitle: c.l.Title, Series: seriesOf(c.l, c.lineB), Result: c.result, Verdicts: c.lineB.Judged,
		Catalogue: c.l.known, Titles: c.lineB.Titles, Counts: c.lineB.Trend.Counts, AIndex: -1, BIndex: c.b, Snapshots: c.l.choices(), Query: query,
	}
	in.Baseline, in.Loads = c.baseline, loadsOf(c.lineA, c.lineB)
	in.Baseline.CaseTitle = otherTitle(in.Baseline.CaseTitle, why)
	in.Previous = map[string]*analysis.Snapshot{}
	before(in.Previous, c.lineA, c.a)
	before(in.Previous, c.lineB, c.b)
	if c.la != c.l {
		in.OtherID, in.Other = c.la.ID, caseLink(c.la, why)
	}
	if c.lineA == c.lineB {
		in.AIndex = c.a
	}
	for i, snap := range c.lineB.Snapshots {
		in.Labels = append(in.Labels, snap.Label)
		in.Lower = append(in.Lower, snap.Bounded(analysis.KindGoroutine))
		if i > 0 && c.lineB.Trend.Epochs[i] != c.lineB.Trend.Epochs[i-1] {
			in.Restarts = append(in.Restarts, i)
		}
	}
	return in
}

// before adds the snapshot in front of number i of a series, where both are of one
// process start.
func before(out map[string]*analysis.Snapshot, line *report.JudgedSeries, i int) {
	if i > 0 && line.Trend.Epochs[i] == line.Trend.Epochs[i-1] {
		out[line.Snapshots[i].ID] = line.Snapshots[i-1]
	}
}

// loadsOf are what figures of the series can be divided by.
func loadsOf(lines ...*report.JudgedSeries) []view.Load {
	var out []view.Load
	add := func(name, words string, line *report.JudgedSeries, values []float64) {
		at := slices.IndexFunc(out, func(l view.Load) bool { return l.Name == name })
		if at < 0 {
			at = len(out)
			out = append(out, view.Load{Name: name, Words: words, Values: map[string]float64{}})
		}
		for i, v := range values {
			if !math.IsNaN(v) {
				out[at].Values[line.Snapshots[i].ID] = v
			}
		}
	}
	for i, line := range lines {
		if slices.Contains(lines[:i], line) {
			continue
		}
		for _, load := range line.Trend.Loads() {
			add(load.Name, load.Name, line, load.Values)
		}
		add("uptime", "hour of uptime", line, line.Trend.Uptimes())
	}
	return out
}

func seriesOf(l *loaded, line *report.JudgedSeries) report.Series {
	for i := range l.built.Series {
		if &l.built.Series[i] == line {
			return l.built.Report.Series[i]
		}
	}
	return report.Series{}
}

// data is the comparison as data: the rows of the page that pass its filter.
func (c *compared) data(query url.Values) (report.Comparison, error) {
	passes, err := view.DiffFilter(diffInput(c, query, keeping))
	if err != nil {
		return report.Comparison{}, err
	}
	result := c.result
	result.Rows = nil
	for _, row := range c.result.Rows {
		if passes(row) {
			result.Rows = append(result.Rows, row)
		}
	}
	out := report.NewComparison(result, c.lineB)
	out.Filter = report.NewFiltered(query.Get("q"), len(result.Rows), len(c.result.Rows))
	return out, nil
}
