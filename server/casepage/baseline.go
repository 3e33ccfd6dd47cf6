package casepage

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/web/view"
)

// baselineField begins the name of the field that holds the baseline of a series. Its
// value is the id of a snapshot, or "CASE/ID" for a snapshot of another case.
const baselineField = "baseline "

// baseline returns the snapshot that a series is compared to: the chosen one, else the
// first.
func (s *Service) baseline(ctx context.Context, l *loader.Loaded, series *report.JudgedSeries) (view.Baseline, error) {
	out := view.Baseline{Snapshot: series.Snapshots[0]}
	chosen := l.Fields[baselineField+seriesKey(series)].Value
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

// snapshotNamed finds "ID" in the case and "CASE/ID" in another case. It returns nil if
// that snapshot no longer exists.
func (s *Service) snapshotNamed(ctx context.Context, l *loader.Loaded, name string) (*analysis.Snapshot, *loader.Loaded, error) {
	caseID, id, elsewhere := strings.Cut(name, "/")
	if !elsewhere {
		caseID, id = l.ID, name
	}
	if caseID != l.ID {
		other, err := s.loader.Evidence(ctx, caseID, loader.Part{})
		if _, status := s.respond.Fault(err); err != nil && status == http.StatusNotFound {
			return nil, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		l = other
	}
	series, i := l.Line(id)
	if series == nil || series.Trend == nil { // its families were not read
		other, err := s.loader.Evidence(ctx, l.ID, loader.PartOf(id))
		if err != nil {
			return nil, nil, err
		}
		if series, i = other.Line(id); series == nil {
			return nil, nil, nil
		}
	}
	return series.Snapshots[i], l, nil
}

// ChooseBaseline handles the forms that set or clear the baseline of a series. The case
// page sends no series: the series of the snapshot is used.
func (s *Service) ChooseBaseline(w http.ResponseWriter, r *http.Request) {
	id := response.PathValue(r, "id")
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	name := r.FormValue("snapshot")
	if _, asked := r.Form["snapshot"]; !asked {
		name = r.FormValue("a")
	}
	if _, err := s.access.Edit(r, id, r.PostFormValue("key")); err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	l, err := s.loader.Heads(r.Context(), id)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	if text := strings.TrimSpace(r.FormValue("find-a")); text != "" {
		name = view.Named(choicesOf(l), text, r.FormValue("b"))
	}
	key, err := s.seriesToCompare(r, l, r.FormValue("series"), name)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	if _, err := s.store.SetField(r.Context(), id, baselineField+key, name); err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	s.respond.Redirect(w, r, backTo(r.FormValue("back"), "/cases/"+url.PathEscape(id)))
}

// seriesToCompare returns the key of the series that gets the baseline. It refuses a
// snapshot that does not exist, so that every stored baseline can be used.
func (s *Service) seriesToCompare(r *http.Request, l *loader.Loaded, key, name string) (string, error) {
	if name != "" {
		if snap, _, err := s.snapshotNamed(r.Context(), l, name); err != nil {
			return "", err
		} else if snap == nil {
			return "", noSnapshot(name)
		}
	}
	if key == "" {
		series, _ := l.Line(name)
		if series == nil {
			return "", response.Refuse("bad_request", "the series of the baseline is missing", name, "a snapshot of another case does not say it", "choose the baseline on the page of a comparison")
		}
		return seriesKey(series), nil
	}
	for i := range l.Built.Series {
		if seriesKey(&l.Built.Series[i]) == key {
			return key, nil
		}
	}
	return "", response.Refuse("not_found", "there is no such series", key, "its snapshots were renamed or removed", "choose the baseline on the page of the case")
}

// backTo returns the path to return to if it is one of this server, else otherwise.
func backTo(back, otherwise string) string {
	u, err := url.Parse(back)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(back, "//") || strings.ContainsAny(back, "\\\r\n") {
		return otherwise
	}
	return back
}
