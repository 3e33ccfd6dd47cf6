package view

import (
	"net/url"
	"slices"
)

// Home is the start page.
type Home struct {
	Shell  Shell
	Upload Upload
	// Base is the server's own address for lines to paste into a shell.
	Base    string
	Limits  []Limit
	Cases   []CaseRow
	More    string
	Samples []Sample
}

// Limit is one line of the limits table: "Files in a bundle", "200 000".
type Limit struct {
	Name, Value string
}

// CaseRow is a case in the table of recent cases.
type CaseRow struct {
	URL, Title, Sentence string
	// Points are the totals of the series that rose most, one per snapshot.
	Points []int
	// Range is "87 → 263", empty without points.
	Range     string
	Snapshots string
	Verdict   string
}

// Sample is a capture that comes with leakdiff.
type Sample struct {
	ID, Name, Text, Size string
	// Loaded says that one of the cases shown was made of it.
	Loaded bool
}

// CaseSummary is what the store knows about a case without opening it.
type CaseSummary struct {
	ID, Title, Sentence, Verdict string
	Points                       []int
	Snapshots                    int
}

// HomeInput is what the start page is made of. Total is the number of all cases,
// of which Cases are the most recent.
type HomeInput struct {
	Base    string
	Upload  UploadInput
	Limits  []Limit
	Cases   []CaseSummary
	Total   int
	Samples []Sample
}

// NewHome makes the start page; the caller adds the shell's engine line.
func NewHome(in HomeInput) Home {
	h := Home{
		Shell:   Shell{Title: "What is leaking?", Section: "cases"},
		Upload:  NewUpload(in.Upload),
		Base:    in.Base,
		Limits:  in.Limits,
		Samples: slices.Clone(in.Samples),
	}
	for i := range h.Samples {
		h.Samples[i].Loaded = slices.ContainsFunc(in.Cases, func(c CaseSummary) bool { return c.Title == h.Samples[i].Name+" (sample)" })
	}
	for _, c := range in.Cases {
		h.Cases = append(h.Cases, newCaseRow(c))
	}
	if in.Total > len(in.Cases) {
		h.More = "The most recent " + Exact(int64(len(in.Cases))) + " of " + Exact(int64(in.Total)) + " cases. The search box finds the others."
	}
	return h
}

func newCaseRow(c CaseSummary) CaseRow {
	row := CaseRow{
		URL: "/cases/" + url.PathEscape(c.ID), Title: Visible(c.Title), Sentence: Visible(c.Sentence),
		Points: c.Points, Snapshots: Number(int64(c.Snapshots)), Verdict: c.Verdict,
	}
	if row.Title == "" {
		row.Title = "untitled case"
	}
	if row.Sentence == "" {
		row.Sentence = "Nothing has been read yet."
	}
	if len(c.Points) > 0 {
		row.Range = Number(int64(slices.Min(c.Points))) + " → " + Number(int64(slices.Max(c.Points)))
	}
	return row
}

func query(s string) string { return url.QueryEscape(s) }
