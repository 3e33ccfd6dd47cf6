package server

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/store"
	"leakdiff/web/view"
)

// baselineField names the field of a case that holds the baseline of a series: the
// id of a snapshot, behind "CASE/" where it is of another case.
const baselineField = "baseline "

// baseline is the snapshot that figures of a series are compared to: the one that
// was chosen, else the first.
func (s *Server) baseline(ctx context.Context, l *loaded, line *report.JudgedSeries) (view.Baseline, error) {
	out := view.Baseline{Snapshot: line.Snapshots[0]}
	chosen := l.fields[baselineField+seriesKey(line)].Value
	if chosen == "" {
		return out, nil
	}
	snap, of, err := s.snapshotNamed(ctx, l, chosen)
	if err != nil {
		return out, err
	}
	if snap == nil {
		out.Gone = true
		return out, nil
	}
	out.Snapshot, out.Chosen = snap, true
	if of.ID != l.ID {
		out.CaseID, out.CaseTitle = of.ID, of.Title
	}
	return out, nil
}

// snapshotNamed finds "ID" in the case and "CASE/ID" in another one; nil where it is
// not there any more.
func (s *Server) snapshotNamed(ctx context.Context, l *loaded, name string) (*analysis.Snapshot, *loaded, error) {
	caseID, id, elsewhere := strings.Cut(name, "/")
	if !elsewhere {
		caseID, id = l.ID, name
	}
	if caseID != l.ID {
		other, err := s.load(ctx, caseID)
		if _, status := s.fault(err); err != nil && status == http.StatusNotFound {
			return nil, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		l = other
	}
	line, i := l.series(id)
	if line == nil {
		return nil, nil, nil
	}
	return line.Snapshots[i], l, nil
}

// withBaselines are a case and those that its baselines are of: what its pages are
// made of. A case that is gone is no reason to refuse the page.
func (s *Server) withBaselines(ctx context.Context, caseID string) ([]string, error) {
	st, err := s.caseState(ctx, caseID)
	if err != nil {
		return nil, err
	}
	cases := []string{caseID}
	for _, other := range baselineCases(st.fields) {
		if _, err := s.caseState(ctx, other); err == nil && !slices.Contains(cases, other) {
			cases = append(cases, other)
		}
	}
	return cases, nil
}

// baselineCases are the other cases that baselines of a case are of.
func baselineCases(fields map[string]store.Field) []string {
	var out []string
	for name, f := range fields {
		if caseID, _, elsewhere := strings.Cut(f.Value, "/"); elsewhere && strings.HasPrefix(name, baselineField) {
			out = append(out, caseID)
		}
	}
	slices.Sort(out)
	return out
}

// chooseBaseline takes the forms that choose the baseline of a series, or forget the
// choice. The case page sends no series: then it is that of the snapshot.
func (s *Server) chooseBaseline(w http.ResponseWriter, r *http.Request) {
	id := pathValue(r, "id")
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	name := r.FormValue("snapshot")
	if _, asked := r.Form["snapshot"]; !asked {
		name = r.FormValue("a")
	}
	if _, err := s.mayEdit(r, id, r.PostFormValue("key")); err != nil {
		s.fail(w, r, err)
		return
	}
	l, err := s.load(r.Context(), id)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if text := strings.TrimSpace(r.FormValue("find-a")); text != "" {
		name = view.Named(l.choices(), text, r.FormValue("b"))
	}
	key, err := s.seriesToCompare(r, l, r.FormValue("series"), name)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if _, err := s.store.SetField(r.Context(), id, baselineField+key, name); err != nil {
		s.fail(w, r, err)
		return
	}
	s.redirect(w, r, backTo(r.FormValue("back"), "/cases/"+url.PathEscape(id)))
}

// seriesToCompare is the key of the series that gets a baseline. A snapshot that
// does not exist is refused, so that what is kept can be used.
func (s *Server) seriesToCompare(r *http.Request, l *loaded, key, name string) (string, error) {
	if name != "" {
		if snap, _, err := s.snapshotNamed(r.Context(), l, name); err != nil {
			return "", err
		} else if snap == nil {
			return "", noSnapshot(name)
		}
	}
	if key == "" {
		line, _ := l.series(name)
		if line == nil {
			return "", refuse("bad_request", "the series of the baseline is missing", name, "a snapshot of another case does not say it", "choose the baseline on the page of a comparison")
		}
		return seriesKey(line), nil
	}
	for i := range l.built.Series {
		if seriesKey(&l.built.Series[i]) == key {
			return key, nil
		}
	}
	return "", refuse("not_found", "there is no such series", key, "its snapshots were renamed or removed", "choose the baseline on the page of the case")
}

// backTo is a path of this server to return to, else another one.
func backTo(back, otherwise string) string {
	u, err := url.Parse(back)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(back, "//") || strings.ContainsAny(back, "\\\r\n") {
		return otherwise
	}
	return back
}
