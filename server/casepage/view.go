package casepage

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"leakdiff/server/loader"
	"leakdiff/server/response"
)

// purpose is why a view is made: to be shown now or to be frozen. A frozen view has no
// form and no link to a live page.
type purpose bool

const (
	showing  purpose = false
	freezing purpose = true
)

// View is a page to be frozen: the model of its template, and its JSON twin.
type View struct {
	// Kind is case, diff, compare, family, objects, snapshot or flame. It decides the type of
	// Model.
	Kind        string
	Model, Data any
	Headline    string
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
	kind, id, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	inner := r.Clone(r.Context())
	inner.URL = u
	if bare, ok := strings.CutSuffix(id, "/"+flamePath); ok && (kind == "snapshots" || kind == "diff") {
		return s.frozenFlame(inner, kind, bare)
	}
	switch kind {
	case "cases":
		l, err := s.loader.Load(r.Context(), id) // the redactor learns names from the evidence
		if err != nil {
			return View{}, nil, err
		}
		return s.frozenCase(r.Context(), l, u.Query())
	case "diff":
		c, err := s.compare(inner, id)
		if err != nil {
			return View{}, nil, err
		}
		data, err := c.data(u.Query())
		if err != nil {
			return View{}, nil, err
		}
		v := s.diffView(c, u.Query(), freezing)
		return View{"diff", v, data, v.Headline}, c.l, nil
	case "compare":
		c, err := s.several(inner)
		if err != nil {
			return View{}, nil, err
		}
		data, err := s.severalData(inner, c, u.Query())
		if err != nil {
			return View{}, nil, err
		}
		v, err := s.severalView(inner, c, u.Query(), freezing)
		if err != nil {
			return View{}, nil, err
		}
		return View{"compare", v, data, v.Headline}, c.l, nil
	case "families":
		l, series, err := s.familySeries(inner, id)
		if err != nil {
			return View{}, nil, err
		}
		v, err := s.familyView(inner, l, series, id, freezing)
		if err != nil {
			return View{}, nil, err
		}
		return View{"family", v, series.Membership(familyOf(l, series, id), chosen(inner, series, id), maxMembers), v.Headline}, l, nil
	case "objects":
		o, err := s.objects(inner, id)
		if err != nil {
			return View{}, nil, err
		}
		v := s.objectView(o, freezing)
		return View{"objects", v, o.data, v.Headline}, o.l, nil
	case "snapshots":
		l, series, i, err := s.snapshot(inner, id)
		if err != nil {
			return View{}, nil, err
		}
		v := s.snapshotView(l, series, i, u.Query(), freezing)
		return View{"snapshot", v, onlySnapshot(l, series, i), v.Headline}, l, nil
	}
	return View{}, nil, bad
}

func (s *Service) frozenCase(ctx context.Context, l *loader.Loaded, query url.Values) (View, *loader.Loaded, error) {
	v, err := s.caseView(ctx, &loader.Report{Case: l.Case, Bundles: l.Bundles, Fields: l.Fields, Said: l.Built.Said()}, 0, query, nil, freezing)
	if err != nil {
		return View{}, nil, err
	}
	return View{"case", v, l.Built.Report, v.Headline}, l, nil
}
