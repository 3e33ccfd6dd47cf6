package casepage

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/report"
	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/web/view"
)

func queryEscape(s string) string { return url.QueryEscape(s) }

// PickDiff redirects from the form that chooses two snapshots to their comparison.
func (s *Service) PickDiff(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a, err := s.pickedSnapshot(r, q.Get("case"), "a", "b")
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	b, err := s.pickedSnapshot(r, q.Get("case"), "b", "a")
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	if a == "" || b == "" {
		s.respond.Fail(w, r, response.Refuse("bad_request", "two snapshots must be chosen", "", "A or B is missing", "go back and choose one of each"))
		return
	}
	s.respond.Redirect(w, r, "/diff/"+url.PathEscape(a)+".."+url.PathEscape(b)+"?case="+queryEscape(q.Get("case")))
}

// pickedSnapshot returns the snapshot that a form names in a field. A label typed beside the
// select box goes before the selection. If several snapshots have the label, the process
// of the other field decides.
func (s *Service) pickedSnapshot(r *http.Request, caseID, field, other string) (string, error) {
	text := strings.TrimSpace(r.FormValue("find-" + field))
	if text == "" {
		return r.FormValue(field), nil
	}
	l, err := s.loader.Heads(r.Context(), caseID)
	if err != nil {
		return "", err
	}
	return view.Named(choicesOf(l), text, r.FormValue(other)), nil
}

// compared is the comparison of two snapshots.
type compared struct {
	// l is the case of B, la that of A. They are mostly the same.
	l, la            *loader.Loaded
	seriesA, seriesB *report.JudgedSeries
	a, b             int
	result           diff.Result
	baseline         view.Baseline
}

// caseOfPair returns the cases of B and A: those that the query names, else the newest
// case with both snapshots, else the newest of each.
func (s *Service) caseOfPair(r *http.Request, pair string) (caseB, caseA string, err error) {
	idA, idB, ok := strings.Cut(pair, "..")
	if !ok {
		return "", "", response.Refuse("not_found", "there is no such comparison", pair, "the address must name two snapshots with two dots between them", "choose them on the page of the case")
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

func (s *Service) newestCase(r *http.Request, id string) (string, error) {
	cases, err := s.store.FindSnapshot(r.Context(), id)
	if err == nil && len(cases) == 0 {
		err = noSnapshot(id)
	}
	if err != nil {
		return "", err
	}
	return cases[0], nil
}

func (s *Service) compare(r *http.Request, pair string) (*compared, error) {
	caseB, caseA, err := s.caseOfPair(r, pair)
	if err != nil {
		return nil, err
	}
	idA, idB, _ := strings.Cut(pair, "..")
	c := &compared{}
	if c.l, err = s.loader.Evidence(r.Context(), caseB, loader.PartOf(idA, idB)); err != nil {
		return nil, err
	}
	if c.la = c.l; caseA != caseB {
		if c.la, err = s.loader.Evidence(r.Context(), caseA, loader.PartOf(idA, idB)); err != nil {
			return nil, err
		}
	}
	c.seriesA, c.a = c.la.Line(idA)
	c.seriesB, c.b = c.l.Line(idB)
	switch {
	case c.la.LeftOut(idA):
		return nil, loader.LeftOutFault(idA)
	case c.l.LeftOut(idB):
		return nil, loader.LeftOutFault(idB)
	case c.seriesA == nil && c.seriesB != nil && caseA == caseB:
		return nil, response.Refuse("not_found", "A is no snapshot of this case", idA, "the case of A must be named where it is another one", "choose A with “A snapshot of another case” on a comparison, or add &acase= and its case to the address")
	case c.seriesA == nil:
		return nil, noSnapshot(idA)
	case c.seriesB == nil:
		return nil, noSnapshot(idB)
	}
	c.result = c.l.Pair(c.la, idA, idB, func() diff.Result {
		return diff.Compare(c.seriesA.Snapshots[c.a], c.seriesB.Snapshots[c.b], diff.Options{Judgements: c.seriesB.Judged, Relation: c.relation()})
	})
	if c.la != c.l {
		c.result.Warnings = append([]diff.Warning{{Form: "other_case"}}, c.result.Warnings...)
	}
	c.baseline, err = s.baseline(r.Context(), c.l, c.seriesB)
	return c, err
}

// commonCase returns the newest case that holds both snapshots, or "". Ids are made from
// the content, so several cases may hold one snapshot.
func (s *Service) commonCase(r *http.Request, idA, idB string) (string, error) {
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

// relation reports whether members can be followed from A to B.
func (c *compared) relation() diff.Relation {
	if c.la != c.l {
		return diff.Unproven
	}
	return report.RelationOf(c.seriesA, c.a, c.seriesB, c.b)
}

func (s *Service) diffView(ctx context.Context, c *compared, query url.Values, why purpose) view.Diff {
	in := diffInput(c, query, why)
	in.Engine, in.Frozen, in.NeedsKey = s.respond.Engine(), bool(why), s.access.NeedsKey(ctx, c.l.ID)
	return view.NewDiff(in)
}

func diffInput(c *compared, query url.Values, why purpose) view.DiffInput {
	in := view.DiffInput{
		CaseID: c.l.ID, CaseTitle: c.l.Title, Series: seriesOf(c.l, c.seriesB), Result: c.result, Verdicts: c.seriesB.Judged, Evidence: c.seriesB.Evidence,
		Catalogue: c.l.Known, Titles: c.seriesB.Titles, Counts: c.seriesB.Trend.Counts, AIndex: -1, BIndex: c.b, Snapshots: choicesOf(c.l), Query: query,
	}
	in.Baseline, in.Loads = c.baseline, loadsOf(c.seriesA, c.seriesB)
	in.Baseline.CaseTitle = otherTitle(in.Baseline.CaseTitle, why)
	in.Previous = map[string]*analysis.Snapshot{}
	before(in.Previous, c.seriesA, c.a)
	before(in.Previous, c.seriesB, c.b)
	if c.la != c.l {
		in.OtherID, in.Other = c.la.ID, caseLink(c.la, why)
	}
	if c.seriesA == c.seriesB {
		in.AIndex = c.a
	}
	for i, snap := range c.seriesB.Snapshots {
		in.Labels = append(in.Labels, snap.Label)
		in.Lower = append(in.Lower, snap.Bounded(analysis.KindGoroutine))
		if i > 0 && c.seriesB.Trend.Epochs[i] != c.seriesB.Trend.Epochs[i-1] {
			in.Restarts = append(in.Restarts, i)
		}
	}
	return in
}

// before adds the snapshot before snapshot i of a series, if the process did not restart
// between them.
func before(out map[string]*analysis.Snapshot, series *report.JudgedSeries, i int) {
	if i > 0 && series.Trend.Epochs[i] == series.Trend.Epochs[i-1] {
		out[series.Snapshots[i].ID] = series.Snapshots[i-1]
	}
}

// loadsOf returns the loads by which figures of the series can be divided.
func loadsOf(all ...*report.JudgedSeries) []view.Load {
	var out []view.Load
	add := func(name, words string, series *report.JudgedSeries, values []float64) {
		at := slices.IndexFunc(out, func(l view.Load) bool { return l.Name == name })
		if at < 0 {
			at = len(out)
			out = append(out, view.Load{Name: name, Words: words, Values: map[string]float64{}})
		}
		for i, v := range values {
			if !math.IsNaN(v) {
				out[at].Values[series.Snapshots[i].ID] = v
			}
		}
	}
	for i, series := range all {
		if slices.Contains(all[:i], series) {
			continue
		}
		for _, load := range series.Trend.Loads() {
			add(load.Name, load.Name, series, load.Values)
		}
		add("uptime", "hour of uptime", series, series.Trend.Uptimes())
	}
	return out
}

func seriesOf(l *loader.Loaded, series *report.JudgedSeries) report.Series {
	for i := range l.Built.Series {
		if &l.Built.Series[i] == series {
			return l.Built.Report.Series[i]
		}
	}
	return report.Series{}
}

// data returns the rows that pass the filter of the page, as data.
func (c *compared) data(query url.Values) (report.Comparison, error) {
	passes, err := view.DiffFilter(diffInput(c, query, freezing))
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
	out := report.NewComparison(result, c.seriesB)
	out.Filter = report.NewFiltered(query.Get("q"), len(result.Rows), len(c.result.Rows))
	return out, nil
}
