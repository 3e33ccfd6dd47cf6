package casepage

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/web/view"
)

// maxObjects bounds the objects in the list of an object page.
const maxObjects = 200

// ofType begins the fingerprints of types of objects.
const ofType = "o1:"

// ObjectPage leads from a type of objects to the kind of it that grew most, and shows a kind.
func (s *Service) ObjectPage(w http.ResponseWriter, r *http.Request) {
	if id, _ := response.Twin(response.PathValue(r, "id")); strings.HasPrefix(id, ofType) {
		s.objectsOfType(w, r, id)
		return
	}
	s.Page(w, r)
}

// objectsOfType leads from a type of objects to the kind of it that grew most: in the series
// of the query, else in any other one. A case that lists none is shown itself: there never was
// a second one, or its family says as much.
func (s *Service) objectsOfType(w http.ResponseWriter, r *http.Request, fingerprint string) {
	caseID, wanted := r.URL.Query().Get("case"), r.URL.Query().Get("series")
	if caseID == "" {
		s.respond.Fail(w, r, noCase(fingerprint))
		return
	}
	all, err := s.loader.Report(r.Context(), caseID)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	address, found := "/cases/"+url.PathEscape(caseID), false
	for i := range all.Said.Report.Series {
		series := &all.Said.Report.Series[i]
		at := slices.IndexFunc(series.Objects, func(o report.Object) bool { return analysis.ObjectFamily(o.Name, o.Type).Fingerprint == fingerprint })
		if at < 0 {
			continue
		}
		key := keyOf(series)
		if !found || key == wanted {
			address, found = view.ObjectURL(series.Objects[at].ID, caseID, key), true
		}
		if key == wanted {
			break
		}
	}
	s.respond.Redirect(w, r, address)
}

func noCase(id string) error {
	return response.Refuse("bad_request", "the address names no case", id, "the ids of objects are those of one process in one case", "open the case and follow its objects")
}

// objects is a kind of objects of a series in one snapshot.
type objects struct {
	l      *loader.Loaded
	series *report.JudgedSeries
	at     int
	data   report.ObjectMembership
}

// objects finds a kind of objects. The snapshot is that of the query, else the last one
// with an object before the cause of their growth went away.
func (s *Service) objects(r *http.Request, id string) (objects, error) {
	caseID := r.URL.Query().Get("case")
	if caseID == "" {
		return objects{}, noCase(id)
	}
	wanted := r.URL.Query().Get("series")
	find := func(all *report.Report) (series int, found report.Object) {
		for i := range all.Series {
			if s := &all.Series[i]; wanted == "" || keyOf(s) == wanted {
				for _, o := range s.Objects {
					if o.ID == id {
						return i, o
					}
				}
			}
		}
		return -1, report.Object{}
	}
	l, err := s.loader.Evidence(r.Context(), caseID, loader.Part{Objects: true, Series: func(all *report.Report) []int {
		if i, _ := find(all); i >= 0 {
			return []int{i}
		}
		return []int{}
	}})
	if err != nil {
		return objects{}, err
	}
	out := objects{l: l}
	at, found := find(&l.Built.Report)
	if at >= 0 {
		out.series = &l.Built.Series[at]
	}
	if out.series == nil {
		return objects{}, response.Refuse("not_found", "there are no such objects", id, "the case was judged anew, or the address is wrong", "open the case and follow its objects")
	}
	if err := snapshotAsked(r, l); err != nil {
		return objects{}, err
	}
	out.at = out.series.ObjectSnapshot(found)
	for i, snap := range out.series.Snapshots {
		if snap.ID == r.URL.Query().Get("at") {
			out.at = i
		}
	}
	out.data = out.series.ObjectMembership(found, out.at, maxObjects)
	return out, nil
}

// snapshotAsked fails where the query names a snapshot that the case does not have.
func snapshotAsked(r *http.Request, l *loader.Loaded) error {
	wanted := r.URL.Query().Get("at")
	if wanted == "" {
		return nil
	}
	for i := range l.Built.Series {
		if slices.ContainsFunc(l.Built.Series[i].Snapshots, func(snap *analysis.Snapshot) bool { return snap.ID == wanted }) {
			return nil
		}
	}
	return response.Refuse("not_found", "the case has no such snapshot", wanted, "it was left out of the case or removed, or the address is wrong", "leave “at” out of the address, or choose a snapshot on the page of the case")
}

func (s *Service) objectView(o objects, why purpose) view.Page {
	in := view.ObjectInput{
		CaseID: o.l.ID, CaseTitle: o.l.Title, SeriesKey: seriesKey(o.series), Objects: o.data, Epochs: o.series.Trend.Epochs,
		SnapshotIndex: o.at, Families: seriesOf(o.l, o.series).Families, Places: seriesOf(o.l, o.series).Places(), Engine: s.respond.Engine(), Frozen: bool(why), Taken: o.series.Taken(),
	}
	for _, snap := range o.series.Snapshots {
		in.IDs = append(in.IDs, snap.ID)
		in.Times = append(in.Times, snap.CapturedAt)
	}
	snap := o.series.Snapshots[o.at]
	if first := o.data.FirstStack(); first != nil {
		in.Code = s.code(o.l, o.series, o.at, first.Located(o.data.Each[0].Kind, snap.ID), why)
	}
	bundleID := o.l.BundleOf[snap.ID]
	in.RawURL = func(p *report.ObjectPart) string {
		place := p.Place()
		if p.Path == "" || place.Length == 0 {
			return ""
		}
		return view.RawURL(bundleID, p.Path, place.Offset, place.Length)
	}
	return view.NewObject(in)
}
