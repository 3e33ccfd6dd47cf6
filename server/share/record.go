package share

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis/say/redact"
	"leakdiff/analysis/say/report"
	"leakdiff/server/casepage"
	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/web/view"
)

// Record is the record of a permalink. Its page and all twins are rendered from it alone.
type Record struct {
	// Kind is the name of a casepage.Kind, which decides the types of Model and Data.
	Kind  string          `json:"kind"`
	Model json.RawMessage `json:"model"`
	// Data is the JSON twin.
	Data     json.RawMessage  `json:"data"`
	Headline string           `json:"headline"`
	Redacted bool             `json:"redacted"`
	Receipt  []redact.Receipt `json:"receipt,omitempty"`
}

// record makes the record of the page at an address. It returns the case of the page and
// all cases that the page shows something of.
func (s *Service) record(r *http.Request, address string) (Record, *loader.Loaded, []*loader.Loaded, error) {
	v, l, cases, err := s.pages.FrozenView(r, address)
	if err != nil {
		return Record{}, nil, nil, err
	}
	f, err := pack(v.Kind, v.Model, v.Data, v.Headline)
	return f, l, cases, err
}

func pack(kind string, model, data any, headline string) (Record, error) {
	m, err := json.Marshal(model)
	if err != nil {
		return Record{}, err
	}
	d, err := json.Marshal(data)
	if err != nil {
		return Record{}, err
	}
	return Record{Kind: kind, Model: m, Data: d, Headline: headline}, nil
}

// Unpack decodes the page of a record, with what its twins are written from.
func (f Record) Unpack() (response.Export, error) {
	kind, err := casepage.KindNamed(f.Kind)
	if err != nil {
		return response.Export{}, err
	}
	return kind.Open(f.Model, f.Data)
}

// redactedFor replaces secrets in the whole record of a page of these cases.
func (f Record) redactedFor(cases []*loader.Loaded) (Record, error) {
	r, err := redactor(cases)
	if err != nil {
		return f, err
	}
	return f.redacted(r)
}

// redacted replaces secrets in the whole record. It works on the values before markup:
// escapes would hide secrets from it.
func (f Record) redacted(r *redact.Redactor) (Record, error) {
	kind, err := casepage.KindNamed(f.Kind)
	if err != nil {
		return f, err
	}
	model, data := kind.Empty()
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
	var links []*string
	if v, ok := model.(interface{ Sources() []*string }); ok {
		links = v.Sources()
	}
	before := make([]string, len(links))
	for i, link := range links {
		before[i] = *link
	}
	r.Value([]any{model, data})
	for i, link := range links {
		if *link != before[i] {
			*link = "" // it would lead elsewhere
		}
	}
	f.Headline = r.Text(f.Headline)
	out, err := pack(f.Kind, model, data, f.Headline)
	out.Redacted, out.Receipt = true, r.Receipt()
	return out, err
}

// onlyDigits removes the separators from a number.
func onlyDigits(s string) string {
	return strings.Map(func(c rune) rune {
		if c < '0' || c > '9' {
			return -1
		}
		return c
	}, s)
}

// redactor knows the names in the evidence of the cases and in what people wrote.
func redactor(cases []*loader.Loaded) (*redact.Redactor, error) {
	known := make([]redact.Case, len(cases))
	for i, l := range cases {
		known[i] = namesOf(l)
		if l.Known == nil {
			continue
		}
		own, err := l.Known.OwnTexts()
		if err != nil {
			return nil, err
		}
		known[i].Said = append(known[i].Said, own...)
	}
	return redact.New(known...), nil
}

// namesOf returns the parts of a case from which a redactor learns.
func namesOf(l *loader.Loaded) redact.Case {
	out := redact.Case{Problems: l.Built.Report.Problems, Hosts: l.Said.Hosts}
	for _, series := range l.Built.Series {
		out.Series = append(out.Series, series.Snapshots)
	}
	for _, b := range l.Bundles {
		out.Files = append(out.Files, b.Name)
	}
	if !slices.Contains(out.Files, l.Title) {
		out.Said = append(out.Said, l.Title)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Fields)) {
		out.Said = append(out.Said, l.Fields[name].Value)
	}
	for _, m := range l.Marks {
		out.Said = append(out.Said, m.Note, m.Outcome)
	}
	for _, e := range l.Edits {
		out.Said = append(out.Said, e.Note)
	}
	for _, e := range l.Said.Events {
		out.Said = append(out.Said, e.Text)
	}
	out.Said = append(out.Said, slices.Sorted(maps.Keys(l.Said.Loads))...)
	return out
}
