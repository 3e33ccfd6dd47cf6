package share

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis/say/redact"
	"leakdiff/analysis/say/report"
	"leakdiff/server/casepage"
	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// Record is the record of a permalink. Its page and all twins are printed from it alone.
type Record struct {
	// Kind is the name of a casepage.Kind, which decides the type of Data.
	Kind string `json:"kind"`
	// Page is a document as page.Keep writes it; Scripts are what it needs, Captured says
	// when its evidence was taken.
	Page     json.RawMessage `json:"page"`
	Scripts  []string        `json:"scripts,omitempty"`
	Captured string          `json:"captured,omitempty"`
	// Data is the JSON twin.
	Data     json.RawMessage  `json:"data"`
	Headline string           `json:"headline"`
	Redacted bool             `json:"redacted"`
	Receipt  []redact.Receipt `json:"receipt,omitempty"`
}

// record packs a page.
func record(v casepage.View) (Record, error) {
	text, err := page.Keep(v.Page.Body)
	if err != nil {
		return Record{}, err
	}
	data, err := json.Marshal(v.Data)
	return Record{Kind: v.Kind, Page: text, Scripts: v.Page.Shell.Scripts, Captured: v.Page.Shell.Captured, Data: data, Headline: v.Headline}, err
}

// Unpack decodes the page of a record, with what its twins are written from.
func (f Record) Unpack() (response.Export, error) {
	e, _, err := f.unpack()
	return e, err
}

func (f Record) unpack() (response.Export, any, error) {
	kind, err := casepage.KindNamed(f.Kind)
	if err != nil {
		return response.Export{}, nil, err
	}
	body, err := page.Kept(f.Page)
	if err != nil {
		return response.Export{}, nil, err
	}
	data, err := kind.Data(f.Data)
	if err != nil {
		return response.Export{}, nil, err
	}
	e := response.Export{Page: view.Page{Body: body, Shell: view.Shell{Scripts: f.Scripts, Captured: f.Captured}}, CSV: func(w io.Writer) error { return casepage.CSV(w, body, data) }}
	e.Report, _ = data.(*report.Report)
	return e, data, nil
}

// redacted replaces secrets in a whole page and its data. It works on the values before
// markup: escapes would hide secrets from it.
func redacted(v casepage.View, r *redact.Redactor) (Record, error) {
	f, err := record(v)
	if err != nil {
		return Record{}, err
	}
	// What is decoded shares no memory with the case.
	e, data, err := f.unpack()
	if err != nil {
		return Record{}, err
	}
	if m, ok := data.(*report.Membership); ok {
		for i := range m.Members {
			r.LearnEvidence(m.Members[i].Detail)
		}
	}
	if v.Page.Raw != nil {
		for _, line := range v.Page.Raw.Lines {
			r.LearnEvidence(strings.TrimSpace(line.Text))
		}
		for _, line := range v.Page.Raw.Lines {
			if n, err := strconv.ParseInt(onlyDigits(line.Number), 10, 64); err == nil {
				r.Locate(line.Text, v.Page.Raw.File, n)
			}
		}
	}
	r.Value([]any{&e.Page.Body, data})
	v.Page.Body, v.Data, v.Headline = e.Page.Body, data, r.Text(v.Headline)
	f, err = record(v)
	f.Redacted, f.Receipt = true, r.Receipt()
	return f, err
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
		out.Series = append(out.Series, series.Captures())
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
