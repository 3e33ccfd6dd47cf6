package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis/say/redact"
	"leakdiff/analysis/say/report"
	"leakdiff/web/view"
)

// purpose says whether a view is shown now or kept: what is kept has no form and
// no link to a live page.
type purpose bool

const (
	showing purpose = false
	keeping purpose = true
)

// frozen is the record of a permalink: all that its page and its twins are
// rendered from.
type frozen struct {
	// Kind is case, diff, compare, family, snapshot or flame, and says what Model is.
	Kind  string          `json:"kind"`
	Model json.RawMessage `json:"model"`
	// Data is the twin for programs.
	Data     json.RawMessage  `json:"data"`
	Headline string           `json:"headline"`
	Redacted bool             `json:"redacted"`
	Receipt  []redact.Receipt `json:"receipt,omitempty"`
}

// frozenView computes what the page at an address shows, ready to be kept, and gives
// the case that it is of and all that it tells of.
func (s *Server) frozenView(r *http.Request, address string) (frozen, *loaded, []*loaded, error) {
	ctx, cases := onShelf(r.Context())
	f, l, err := s.frozenPage(r.WithContext(ctx), address)
	return f, l, cases.all, err
}

func (s *Server) frozenPage(r *http.Request, address string) (frozen, *loaded, error) {
	bad := refuse("bad_request", "this page cannot be frozen", address, "only cases, comparisons, families and snapshots can", "open one of them and share it from there")
	u, err := url.Parse(address)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return frozen{}, nil, bad
	}
	kind, id, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	inner := r.Clone(r.Context())
	inner.URL = u
	if bare, ok := strings.CutSuffix(id, "/"+flamePath); ok && (kind == "snapshots" || kind == "diff") {
		return s.freezeFlame(inner, kind, bare)
	}
	switch kind {
	case "cases":
		l, err := s.load(r.Context(), id)
		if err != nil {
			return frozen{}, nil, err
		}
		return s.freezeCase(r.Context(), l, u.Query())
	case "diff":
		c, err := s.compare(inner, id)
		if err != nil {
			return frozen{}, nil, err
		}
		data, err := c.data(u.Query())
		if err != nil {
			return frozen{}, nil, err
		}
		v := s.diffView(c, u.Query(), keeping)
		f, err := pack("diff", v, data, v.Headline)
		return f, c.l, err
	case "compare":
		c, err := s.several(inner)
		if err != nil {
			return frozen{}, nil, err
		}
		data, err := s.severalData(inner, c, u.Query())
		if err != nil {
			return frozen{}, nil, err
		}
		v, err := s.severalView(inner, c, u.Query(), keeping)
		if err != nil {
			return frozen{}, nil, err
		}
		f, err := pack("compare", v, data, v.Headline)
		return f, c.l, err
	case "families":
		l, line, err := s.familyLine(inner, id)
		if err != nil {
			return frozen{}, nil, err
		}
		v, err := s.familyView(inner, l, line, id, keeping)
		if err != nil {
			return frozen{}, nil, err
		}
		f, err := pack("family", v, line.Membership(familyOf(l, line, id), chosen(inner, line, id), maxMembers), v.Headline)
		return f, l, err
	case "snapshots":
		l, line, i, err := s.snapshot(inner, id)
		if err != nil {
			return frozen{}, nil, err
		}
		v := s.snapshotView(l, line, i, u.Query(), keeping)
		f, err := pack("snapshot", v, onlySnapshot(l, line, i), v.Headline)
		return f, l, err
	}
	return frozen{}, nil, bad
}

func (s *Server) freezeCase(ctx context.Context, l *loaded, query url.Values) (frozen, *loaded, error) {
	v, err := s.caseView(ctx, l, 0, query, nil, keeping)
	if err != nil {
		return frozen{}, nil, err
	}
	f, err := pack("case", v, l.built.Report, v.Headline)
	return f, l, err
}

func pack(kind string, model, data any, headline string) (frozen, error) {
	m, err := json.Marshal(model)
	if err != nil {
		return frozen{}, err
	}
	d, err := json.Marshal(data)
	if err != nil {
		return frozen{}, err
	}
	return frozen{Kind: kind, Model: m, Data: d, Headline: headline}, nil
}

// unpack reads the page of a record and what its twins are written from.
func (f frozen) unpack() (exported, error) {
	switch f.Kind {
	case "case":
		v, r, err := opened[view.Case, report.Report](f)
		return exported{page: v, alone: aloneCase(v), csv: func(w io.Writer) error { return report.CSV(w, r) }}, err
	case "diff":
		v, c, err := opened[view.Diff, report.Comparison](f)
		return exported{page: v, alone: aloneDiff(v), csv: c.CSV}, err
	case "compare":
		v, c, err := opened[view.Compare, report.Several](f)
		return exported{page: v, alone: aloneCompare(v), csv: c.CSV}, err
	case "family":
		v, m, err := opened[view.Family, report.Membership](f)
		table := m.CSV
		if m.At == "" {
			table = func(io.Writer) error {
				return refuse("not_found", "this frozen result has no table", "", "an earlier version froze it without the members", "take its text, or freeze the family again")
			}
		}
		return exported{page: v, alone: aloneFamily(v), csv: table}, err
	case "snapshot":
		v, r, err := opened[view.Snapshot, report.Report](f)
		return exported{page: v, alone: aloneSnapshot(v), csv: func(w io.Writer) error {
			id := ""
			if len(r.Snapshots) > 0 {
				id = r.Snapshots[0].ID
			}
			return report.SnapshotCSV(w, r, id)
		}}, err
	case "flame":
		v, _, err := opened[view.Flame, flameGraph](f)
		return exported{page: v, alone: aloneFlame(v), csv: flameCSV(v)}, err
	}
	return exported{}, unknownKind(f.Kind)
}

// opened decodes the page of a record and its data.
func opened[Page, Data any](f frozen) (v Page, d Data, err error) {
	if err = json.Unmarshal(f.Model, &v); err == nil {
		err = json.Unmarshal(f.Data, &d)
	}
	return v, d, err
}

// redacted replaces secrets in everything that the record holds. Its texts are written
// from what is left of the page: behind the escapes of a markup secrets look different.
func (f frozen) redacted(r *redact.Redactor) (frozen, error) {
	model, data := f.shapes()
	if model == nil {
		return f, unknownKind(f.Kind)
	}
	if err := errors.Join(json.Unmarshal(f.Model, model), json.Unmarshal(f.Data, data)); err != nil {
		return f, err
	}
	if m, ok := data.(*report.Membership); ok {
		for i := range m.Members {
			r.LearnEvidence(m.Members[i].Detail)
		}
	}
	if v, ok := model.(*view.Family); ok {
		for _, line := range v.Raw {
			r.LearnEvidence(strings.TrimSpace(line.Text))
		}
		for _, line := range v.Raw {
			if n, err := strconv.ParseInt(onlyDigits(line.Number), 10, 64); err == nil {
				r.Locate(line.Text, v.RawTitle, n)
			}
		}
	}
	r.Value([]any{model, data})
	f.Headline = r.Text(f.Headline)
	out, err := pack(f.Kind, model, data, f.Headline)
	out.Redacted, out.Receipt = true, r.Receipt()
	return out, err
}

// shapes are what the page and the data of a record are, empty.
func (f frozen) shapes() (model, data any) {
	switch f.Kind {
	case "case":
		return new(view.Case), new(report.Report)
	case "diff":
		return new(view.Diff), new(report.Comparison)
	case "compare":
		return new(view.Compare), new(report.Several)
	case "family":
		return new(view.Family), new(report.Membership)
	case "snapshot":
		return new(view.Snapshot), new(report.Report)
	case "flame":
		return new(view.Flame), new(flameGraph)
	}
	return nil, nil
}

func unknownKind(kind string) error {
	return fmt.Errorf("a frozen record has the unknown kind %q", kind)
}

// onlyDigits is a number without what groups its digits.
func onlyDigits(s string) string {
	return strings.Map(func(c rune) rune {
		if c < '0' || c > '9' {
			return -1
		}
		return c
	}, s)
}

// redactor knows the names in the evidence of the cases, and those that people wrote.
func redactor(cases []*loaded) *redact.Redactor {
	known := make([]redact.Case, len(cases))
	for i, l := range cases {
		known[i] = l.names()
	}
	return redact.New(known...)
}

// names are the parts of a case from which a redactor learns.
func (l *loaded) names() redact.Case {
	out := redact.Case{Problems: l.built.Report.Problems, Hosts: l.said.Hosts}
	for _, line := range l.built.Series {
		out.Series = append(out.Series, line.Snapshots)
	}
	for _, b := range l.bundles {
		out.Files = append(out.Files, b.Name)
	}
	if !slices.Contains(out.Files, l.Title) {
		out.Said = append(out.Said, l.Title)
	}
	for _, name := range slices.Sorted(maps.Keys(l.fields)) {
		out.Said = append(out.Said, l.fields[name].Value)
	}
	for _, m := range l.marks {
		out.Said = append(out.Said, m.Note, m.Outcome)
	}
	for _, e := range l.edits {
		out.Said = append(out.Said, e.Note)
	}
	for _, e := range l.said.Events {
		out.Said = append(out.Said, e.Text)
	}
	out.Said = append(out.Said, slices.Sorted(maps.Keys(l.said.Loads))...)
	return out
}
