package report

import (
	"io"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
)

// severalSchema names the JSON contract of Several. Additions keep the name.
const severalSchema = "leakdiff.compare/1"

// Several is the comparison of any number of snapshots as data.
type Several struct {
	Schema    string            `json:"schema"`
	Snapshots []SeveralSnapshot `json:"snapshots"`
	// LeftOut counts the requested snapshots without a column.
	LeftOut  int          `json:"left_out"`
	Rows     []SeveralRow `json:"rows"`
	Warnings []string     `json:"warnings"`
	// Filter is the filter of the rows, or nil.
	Filter *Filtered `json:"filter,omitempty"`
}

// SeveralSnapshot is one column. Case is the case of the snapshot.
type SeveralSnapshot struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Case  string `json:"case"`
}

// SeveralRow is one family. Counts are null if its kind was not captured. Delta is null
// if no two columns are complete.
type SeveralRow struct {
	Fingerprint string           `json:"fingerprint"`
	Kind        analysis.Kind    `json:"kind"`
	Title       string           `json:"title"`
	Section     string           `json:"section"`
	Counts      analysis.Counts  `json:"counts"`
	Delta       *int             `json:"delta"`
	Verdict     analysis.Verdict `json:"verdict"`
	// Triage is a person's decision about the family, or nil.
	Triage *analysis.Triage `json:"triage,omitempty"`
}

// NewSeveral makes a comparison of any number of snapshots with the names of one
// series, without its columns.
func NewSeveral(rows []diff.Course, series *JudgedSeries) Several {
	out := Several{Schema: severalSchema, Snapshots: []SeveralSnapshot{}, Rows: []SeveralRow{}, Warnings: []string{}}
	for i := range rows {
		course := &rows[i]
		f := course.Family
		row := SeveralRow{
			Fingerprint: f.Fingerprint, Kind: f.Kind, Title: series.Titles[f.Fingerprint], Section: string(course.Section),
			Counts: course.Counts, Verdict: series.Judged[f.Fingerprint].Verdict, Triage: series.said(f.Fingerprint),
		}
		if row.Title == "" {
			row.Title = f.Title
		}
		if course.Compared {
			row.Delta = &course.Delta
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// CSV writes the families, one row each, with a column for each snapshot.
func (c Several) CSV(w io.Writer) error {
	head := []string{"section", "kind", "family", "fingerprint"}
	for _, s := range c.Snapshots {
		head = append(head, s.Label)
	}
	s := newSheet(w, append(head, "delta", "verdict"))
	for _, r := range c.Rows {
		row := []any{r.Section, string(r.Kind), r.Title, r.Fingerprint}
		for _, n := range r.Counts {
			row = append(row, n)
		}
		s.row(append(row, r.Delta, string(r.Verdict)))
	}
	return s.end()
}
