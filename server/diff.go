package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/diff"
	"leakdiff/analysis/report"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

func queryEscape(s string) string { return url.QueryEscape(s) }

// pickDiff turns the choice of a form into the address of its page.
func (s *Server) pickDiff(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a, b := q.Get("a"), q.Get("b")
	if a == "" || b == "" {
		s.fail(w, r, refuse("bad_request", "two snapshots must be chosen", "", "A or B is missing", "go back and choose one of each"))
		return
	}
	http.Redirect(w, r, "/diff/"+url.PathEscape(a)+".."+url.PathEscape(b)+"?case="+queryEscape(q.Get("case")), http.StatusSeeOther)
}

// compared is two snapshots with what was computed of the pair.
type compared struct {
	l            *loaded
	lineA, lineB *report.Line
	a, b         int
	result       diff.Result
}

// diffPage compares two snapshots side by side.
func (s *Server) diffPage(w http.ResponseWriter, r *http.Request) {
	pair, suffix := twin(pathValue(r, "pair"))
	s.show(w, r, func() (string, error) { return s.caseOfPair(r, pair) }, func() (written, error) {
		c, err := s.compare(r, pair)
		if err != nil {
			return written{}, err
		}
		if suffix == ".json" {
			return jsonOf(c.data())
		}
		v := s.diffView(c, r.URL.Query(), showing)
		if suffix != "" {
			return s.twinOf(r, suffix, exported{
				page: v, alone: aloneDiff(s.diffView(c, r.URL.Query(), keeping)), shell: s.copied(v.Shell), name: v.Shell.Here,
				csv: c.data().CSV, stacks: []*analysis.Snapshot{c.result.A, c.result.B},
			})
		}
		offerSharing(&v.Shell, r, c.l.ID)
		return pageOf(r.Context(), page.Diff(v))
	})
}

// caseOfPair is the case that the query names, or the newest one that holds both
// snapshots; where none does, one that holds the first, so that the answer can say
// what is wrong.
func (s *Server) caseOfPair(r *http.Request, pair string) (string, error) {
	idA, idB, ok := strings.Cut(pair, "..")
	if !ok {
		return "", refuse("not_found", "there is no such comparison", pair, "the address must name two snapshots with two dots between them", "choose them on the page of the case")
	}
	if r.URL.Query().Get("case") == "" {
		if common, err := s.commonCase(r, idA, idB); common != "" || err != nil {
			return common, err
		}
	}
	return s.caseOf(r, idA)
}

func (s *Server) compare(r *http.Request, pair string) (*compared, error) {
	caseID, err := s.caseOfPair(r, pair)
	if err != nil {
		return nil, err
	}
	idA, idB, _ := strings.Cut(pair, "..")
	l, err := s.load(r.Context(), caseID)
	if err != nil {
		return nil, err
	}
	lineA, a := l.line(idA)
	lineB, b := l.line(idB)
	switch {
	case l.leftOut(idA):
		return nil, leftOutFault(idA)
	case l.leftOut(idB):
		return nil, leftOutFault(idB)
	case lineA == nil:
		return nil, noSnapshot(idA)
	case lineB == nil:
		return nil, refuse("not_found", "the two snapshots are in different cases", idB, "only snapshots of one case are compared", "upload both into one case")
	}
	c := &compared{l: l, lineA: lineA, lineB: lineB, a: a, b: b}
	c.result = diff.Compare(lineA.Snapshots[a], lineB.Snapshots[b], diff.Options{Judgements: lineB.Judged, Relation: c.relation()})
	return c, nil
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
	case c.lineA != c.lineB:
		return diff.Unstated
	case c.lineA.Trend.Epochs[c.a] != c.lineA.Trend.Epochs[c.b]:
		return diff.OtherEpoch
	}
	return diff.SameEpoch
}

func (s *Server) diffView(c *compared, query url.Values, why purpose) view.Diff {
	counts := map[string][]*int{}
	for _, row := range c.result.Rows {
		counts[row.Family.Fingerprint] = c.lineB.Trend.Counts(row.Family.Fingerprint)
	}
	in := view.DiffInput{
		CaseID: c.l.ID, CaseTitle: c.l.Title, Series: seriesOf(c.l, c.lineB), Result: c.result, Verdicts: c.lineB.Judged,
		Titles: c.lineB.Titles, Counts: counts, AIndex: -1, BIndex: c.b, Snapshots: choices(c.l), Query: query, Engine: s.engine(), Frozen: bool(why),
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
	return view.NewDiff(in)
}

func seriesOf(l *loaded, line *report.Line) report.Series {
	for i := range l.built.Lines {
		if &l.built.Lines[i] == line {
			return l.built.Report.Series[i]
		}
	}
	return report.Series{}
}

// data is the comparison as data; rows as on the page.
func (c *compared) data() report.Comparison { return report.NewComparison(c.result, c.lineB) }
