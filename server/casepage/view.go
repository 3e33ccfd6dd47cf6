package casepage

import (
	"net/http"
	"net/url"

	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/web/view"
)

// purpose is why a view is made: to be shown now or to be frozen. A frozen view has no
// form and no link to a live page.
type purpose bool

const (
	showing  purpose = false
	freezing purpose = true
)

// View is a page to be frozen, and its JSON twin.
type View struct {
	// Kind is the name of a Kind, which decides the type of Data.
	Kind     string
	Page     view.Page
	Data     any
	Headline string
	// Raw are the lines of the evidence on the page, nil for none.
	Raw *view.RawLines
}

// FrozenView makes the view of the page at an address. It returns the case of the page and
// all cases that the page shows something of.
func (s *Service) FrozenView(r *http.Request, address string) (View, *loader.Loaded, []*loader.Loaded, error) {
	ctx, cases := loader.WithWholeCases(r.Context())
	f, l, err := s.frozenPage(r.WithContext(ctx), address)
	return f, l, cases.All, err
}

func (s *Service) frozenPage(r *http.Request, address string) (View, *loader.Loaded, error) {
	bad := response.Refuse("bad_request", "this page cannot be frozen", address, "only cases, comparisons, families, objects and snapshots can", "open one of them and share it from there")
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
	v, l, err := kind.freeze(s, inner, id)
	v.Kind = kind.Name
	return v, l, err
}

func (s *Service) freezeCase(r *http.Request, id string) (View, *loader.Loaded, error) {
	l, err := s.loader.Load(r.Context(), id) // the redactor learns names from the evidence
	if err != nil {
		return View{}, nil, err
	}
	v, err := s.caseView(r.Context(), &loader.Report{Case: l.Case, Bundles: l.Bundles, Fields: l.Fields, Said: l.Built.Said()}, 0, r.URL.Query(), nil, freezing)
	return View{Page: v.Page(), Data: l.Built.Report, Headline: v.Headline}, l, err
}

func (s *Service) freezeDiff(r *http.Request, id string) (View, *loader.Loaded, error) {
	c, err := s.compare(r, id)
	if err != nil {
		return View{}, nil, err
	}
	data, err := c.data(r.URL.Query())
	v := s.diffView(r.Context(), c, r.URL.Query(), freezing)
	return View{Page: v.Page(), Data: data, Headline: v.Headline}, c.l, err
}

func (s *Service) freezeSeveral(r *http.Request, _ string) (View, *loader.Loaded, error) {
	c, err := s.several(r)
	if err != nil {
		return View{}, nil, err
	}
	data, err := s.severalData(r, c, r.URL.Query())
	if err != nil {
		return View{}, nil, err
	}
	v, err := s.severalView(r, c, r.URL.Query(), freezing)
	return View{Page: v.Page(), Data: data, Headline: v.Headline}, c.l, err
}

func (s *Service) freezeFamily(r *http.Request, id string) (View, *loader.Loaded, error) {
	l, series, err := s.familySeries(r, id)
	if err != nil {
		return View{}, nil, err
	}
	v, err := s.familyView(r, l, series, id, freezing)
	if err != nil {
		return View{}, nil, err
	}
	return View{Page: v.Page(), Data: series.Membership(familyOf(l, series, id), chosen(r, series, id), maxMembers), Headline: v.Headline, Raw: v.RawLines()}, l, nil
}

func (s *Service) freezeObjects(r *http.Request, id string) (View, *loader.Loaded, error) {
	o, err := s.objects(r, id)
	if err != nil {
		return View{}, nil, err
	}
	v := s.objectView(o, freezing)
	return View{Page: v.Page(), Data: o.data, Headline: v.Headline}, o.l, nil
}

func (s *Service) freezeSnapshot(r *http.Request, id string) (View, *loader.Loaded, error) {
	l, series, i, err := s.snapshot(r, id)
	if err != nil {
		return View{}, nil, err
	}
	v := s.snapshotView(l, series, i, r.URL.Query(), freezing)
	return View{Page: v.Page(), Data: onlySnapshot(l, series, i), Headline: v.Headline}, l, nil
}
