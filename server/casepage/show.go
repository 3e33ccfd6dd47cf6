package casepage

import (
	"io"
	"net/http"
	"net/url"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// purpose is why a page is made: to be shown now or to be frozen. A frozen page has no form
// and no link to a live one.
type purpose bool

const (
	showing  purpose = false
	freezing purpose = true
)

// loaded is a page whose evidence is at hand: to be shown in every form, or to be frozen.
type loaded struct {
	// l is the case of the page, nil for the page of a case that is shown; caseID is its id.
	l      *loader.Loaded
	caseID string
	make   func(why purpose) (view.Page, error)
	// data returns the JSON twin, or the error of a filter that was not understood; csv writes
	// its table where it holds more rows.
	data func() (any, error)
	csv  func(io.Writer) error
	// report is that of a case, for its ticket. stacks are the snapshots of the page, for
	// other tools. name begins the names of files; nil for the title of the page.
	report *report.Report
	stacks []*analysis.Snapshot
	name   func(view.Shell) string
}

// Page answers for all pages of cases, in the form that the suffix of the address asks for.
func (s *Service) Page(w http.ResponseWriter, r *http.Request) {
	path, suffix := response.Twin(r.URL.Path)
	kind, id, ok := kindAt(path)
	if !ok {
		s.respond.NotFound(w, r)
		return
	}
	made, err := s.answer(w, r, kind, id, suffix)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	made.Tagged(w, r)
}

// reportOf is the report of a case as JSON: whole, or the page of its series that the query
// asks for, with a Link to the next.
func (s *Service) reportOf(w http.ResponseWriter, r *http.Request, d report.Report) (response.Content, error) {
	query := r.URL.Query()
	if query.Has("page") || query.Has("limit") {
		page, err := response.PageOfList(query)
		if err != nil {
			return response.Content{}, err
		}
		limit, err := response.LimitOf(query)
		if err != nil {
			return response.Content{}, err
		}
		var more bool
		if d, more = d.Page(page, limit); more {
			s.respond.NextPage(w, r, page)
		}
	}
	return response.ReportOf(d)
}

func (s *Service) answer(w http.ResponseWriter, r *http.Request, kind Kind, id, suffix string) (response.Content, error) {
	if suffix != "" && suffix != ".json" && kind.unfolds {
		q := r.URL.Query()
		q.Set("all", "1") // a file has no link to unfold
		r = r.Clone(r.Context())
		r.URL.RawQuery = q.Encode()
	}
	p, err := kind.load(s, r, id, showing)
	if err != nil {
		return response.Content{}, err
	}
	if suffix == "" {
		v, err := p.make(showing)
		if err != nil {
			return response.Content{}, err
		}
		response.OfferSharing(&v.Shell, *r.URL, p.caseID)
		return response.PageOf(r.Context(), page.HTML(v))
	}
	data, err := p.data()
	if err != nil {
		return response.Content{}, err
	}
	if suffix == ".json" {
		switch d := data.(type) {
		case report.Report:
			return s.reportOf(w, r, d)
		case *OneSnapshot:
			return response.ReportOf(d.Report)
		}
		return response.JsonOf(data)
	}
	v, err := p.make(showing)
	if err != nil {
		return response.Content{}, err
	}
	kept, err := p.make(freezing)
	if err != nil {
		return response.Content{}, err
	}
	e := response.Export{Page: v, Kept: &kept, Shell: s.respond.Copied(v.Shell), Name: v.Shell.Title, Report: p.report, Stacks: p.stacks, CSV: p.csv, Link: s.respond.Base(r) + "/cases/" + p.caseID}
	if p.name != nil {
		e.Name = p.name(v.Shell)
	}
	if e.CSV == nil {
		e.CSV = func(w io.Writer) error { return CSV(w, v.Body, data) }
	}
	return s.respond.TwinOf(r, suffix, e)
}

// View is a page to be frozen, and its JSON twin.
type View struct {
	// Kind is the name of a Kind, which decides the type of Data.
	Kind     string
	Page     view.Page
	Data     any
	Headline string
}

// FrozenView makes the view of the page at an address. It returns the case of the page and
// all cases that the page shows something of.
func (s *Service) FrozenView(r *http.Request, address string) (View, *loader.Loaded, []*loader.Loaded, error) {
	ctx, cases := loader.WithWholeCases(r.Context())
	v, l, err := s.frozen(r.WithContext(ctx), address)
	return v, l, cases.All, err
}

func (s *Service) frozen(r *http.Request, address string) (View, *loader.Loaded, error) {
	bad := response.Refuse("bad_request", "this page cannot be frozen", address, "only cases, comparisons, families, members, objects and snapshots can", "open one of them and share it from there")
	u, err := url.Parse(address)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return View{}, nil, bad
	}
	kind, id, ok := kindAt(u.Path)
	if !ok {
		return View{}, nil, bad
	}
	inner := r.Clone(r.Context())
	inner.URL = u
	p, err := kind.load(s, inner, id, freezing)
	if err != nil {
		return View{}, nil, err
	}
	data, err := p.data()
	if err != nil {
		return View{}, nil, err
	}
	v, err := p.make(freezing)
	return View{Kind: kind.Name, Page: v, Data: data, Headline: v.Shell.Description}, p.l, err
}

// loadCase loads a case. To be frozen it is loaded whole: the redactor learns names from
// the evidence.
func (s *Service) loadCase(r *http.Request, id string, why purpose) (*loaded, error) {
	p := &loaded{caseID: id}
	var c *loader.Report
	var err error
	if why == freezing {
		if p.l, err = s.loader.Evidence(r.Context(), id, loader.Part{Objects: true}); err == nil {
			c = &loader.Report{Case: p.l.Case, Bundles: p.l.Bundles, Fields: p.l.Fields, Said: p.l.Report}
		}
	} else {
		c, err = s.loader.Report(r.Context(), id)
	}
	if err != nil {
		return nil, err
	}
	p.data, p.report, p.name = known(c.Said.Report), &c.Said.Report, func(view.Shell) string { return c.Title }
	p.make = func(why purpose) (view.Page, error) {
		permalinks, elsewhere, err := 0, map[string]view.CaseMemory(nil), error(nil)
		if why == showing {
			if permalinks, err = s.store.PermalinkCount(r.Context(), id); err != nil {
				return view.Page{}, err
			}
			if elsewhere, err = s.memories(r.Context(), id, leading(c.Said.Report)); err != nil {
				return view.Page{}, err
			}
		}
		v, err := s.caseView(r.Context(), c, permalinks, r.URL.Query(), elsewhere, why)
		return v.Page(), err
	}
	return p, nil
}

func (s *Service) loadSnapshot(r *http.Request, id string, _ purpose) (*loaded, error) {
	l, series, i, err := s.snapshot(r, id)
	if err != nil {
		return nil, err
	}
	return &loaded{l: l, caseID: l.ID, data: known(&OneSnapshot{onlySnapshot(l, series, i)}), stacks: []*analysis.Snapshot{series.Snapshots[i]}, make: func(why purpose) (view.Page, error) {
		return s.snapshotView(l, series, i, r.URL.Query(), why), nil
	}}, nil
}

func (s *Service) loadDiff(r *http.Request, id string, _ purpose) (*loaded, error) {
	c, err := s.compare(r, id)
	if err != nil {
		return nil, err
	}
	data := func() (any, error) {
		rows, err := c.data(r.URL.Query())
		return &rows, err
	}
	name := func(shell view.Shell) string { return shell.Here }
	return &loaded{l: c.l, caseID: c.l.ID, data: data, stacks: []*analysis.Snapshot{c.result.A, c.result.B}, name: name, make: func(why purpose) (view.Page, error) {
		return s.diffView(r.Context(), c, r.URL.Query(), why).Page(), nil
	}}, nil
}

func (s *Service) loadSeveral(r *http.Request, _ string, _ purpose) (*loaded, error) {
	c, err := s.several(r)
	if err != nil {
		return nil, err
	}
	data := func() (any, error) {
		rows, err := s.severalData(r, c, r.URL.Query())
		return &rows, err
	}
	return &loaded{l: c.l, caseID: c.l.ID, data: data, make: func(why purpose) (view.Page, error) {
		return s.severalView(r, c, r.URL.Query(), why)
	}}, nil
}

func (s *Service) loadFamily(r *http.Request, id string, _ purpose) (*loaded, error) {
	l, series, err := s.familySeries(r, id)
	if err != nil {
		return nil, err
	}
	members := func(most int) report.Membership {
		return series.Membership(familyOf(l, series, id), chosen(r, series, id), most)
	}
	data := members(maxMembers)
	return &loaded{l: l, caseID: l.ID, data: known(&data), csv: func(w io.Writer) error { return members(0).CSV(w) }, make: func(why purpose) (view.Page, error) {
		v, err := s.familyView(r, l, series, id, why)
		return v.Page(), err
	}}, nil
}

func (s *Service) loadObjects(r *http.Request, id string, _ purpose) (*loaded, error) {
	o, err := s.objects(r, id)
	if err != nil {
		return nil, err
	}
	return &loaded{l: o.l, caseID: o.l.ID, data: known(&o.data), make: func(why purpose) (view.Page, error) { return s.objectView(o, why), nil }}, nil
}

// loadMember follows a member through the captures of a series, or of all series of its case.
func (s *Service) loadMember(r *http.Request, name string, _ purpose) (*loaded, error) {
	m, err := s.member(r, name)
	if err != nil {
		return nil, err
	}
	return &loaded{l: m.l, caseID: m.l.ID, data: known(&m.data), make: func(why purpose) (view.Page, error) {
		return view.NewMember(view.MemberInput{
			CaseID: m.l.ID, CaseTitle: m.l.Title, SeriesKey: r.URL.Query().Get("series"), Name: name, Following: m.data,
			Engine: s.respond.Engine(), Frozen: bool(why),
		}), nil
	}}, nil
}

// known is data that is at hand.
func known(data any) func() (any, error) { return func() (any, error) { return data, nil } }

// OneSnapshot is the report of one snapshot.
type OneSnapshot struct{ report.Report }

func (o *OneSnapshot) csv(w io.Writer) error {
	id := ""
	if len(o.Snapshots) > 0 {
		id = o.Snapshots[0].ID
	}
	return report.SnapshotCSV(w, o.Report, id)
}
