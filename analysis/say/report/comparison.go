package report

import (
	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/evidence"
	"leakdiff/analysis/say/wording"
)

// comparisonSchema names the public JSON contract of Comparison. Additions keep the
// name.
const comparisonSchema = "leakdiff.diff/1"

// Comparison is the comparison of two snapshots as data.
type Comparison struct {
	Schema   string          `json:"schema"`
	A        string          `json:"a"`
	B        string          `json:"b"`
	TotalsA  analysis.Totals `json:"totals_a"`
	TotalsB  analysis.Totals `json:"totals_b"`
	Rows     []ComparisonRow `json:"rows"`
	Warnings []string        `json:"warnings"`
	// Filter is the filter of the rows, or nil.
	Filter *Filtered `json:"filter,omitempty"`
}

// ComparisonRow is one family in A and B. Counts by identity are null if its members
// cannot be followed.
type ComparisonRow struct {
	Fingerprint string           `json:"fingerprint"`
	Kind        analysis.Kind    `json:"kind"`
	Title       string           `json:"title"`
	Section     string           `json:"section"`
	A           int              `json:"a"`
	B           int              `json:"b"`
	Delta       int              `json:"delta"`
	New         *int             `json:"new"`
	Gone        *int             `json:"gone"`
	Survived    *int             `json:"survived"`
	OldestWait  *int             `json:"oldest_wait_minutes"`
	Verdict     analysis.Verdict `json:"verdict"`
	// Triage is a person's decision about the family, or nil.
	Triage *analysis.Triage `json:"triage,omitempty"`
}

// NewComparison makes a comparison with the names of the series that B belongs to.
func NewComparison(result diff.Result, series *JudgedSeries) Comparison {
	out := Comparison{
		Schema: comparisonSchema, A: result.A.ID, B: result.B.ID, TotalsA: result.TotalA, TotalsB: result.TotalB,
		Rows: []ComparisonRow{}, Warnings: append([]string{}, evidence.Warnings(result.Warnings)...),
	}
	if dropped := wording.PairDropped(result.A.Thinned, result.B.Thinned); dropped != "" && result.Followed {
		out.Warnings = append(out.Warnings, dropped)
	}
	for _, d := range result.Rows {
		r := ComparisonRow{
			Fingerprint: d.Family.Fingerprint, Kind: d.Family.Kind, Title: series.Titles[d.Family.Fingerprint], Section: string(d.Section),
			A: d.A, B: d.B, Delta: d.Delta, Verdict: series.Judged[d.Family.Fingerprint].Verdict, Triage: series.said(d.Family.Fingerprint),
		}
		if r.Title == "" {
			r.Title = d.Family.Title
		}
		if d.Identified {
			born, gone, survived := d.New, d.Gone, d.Survived
			r.New, r.Gone, r.Survived = &born, &gone, &survived
		}
		if d.OldestWait >= 0 {
			oldest := d.OldestWait
			r.OldestWait = &oldest
		}
		out.Rows = append(out.Rows, r)
	}
	return out
}

// RelationOf says whether members can be followed from snapshot i of a series to snapshot k of
// another series of the same case, or of the same one.
func RelationOf(a *JudgedSeries, i int, b *JudgedSeries, k int) diff.Relation {
	switch {
	case a != b:
		return diff.Unstated
	case a.Trend.Epochs[i] != a.Trend.Epochs[k]:
		return diff.OtherEpoch
	}
	return diff.SameEpoch
}

// Snapshot finds the series of a snapshot and its index there, nil and -1 for none. A capture
// that is not judged is a series of its own: its families must have been read.
func (c *Case) Snapshot(id string) (*JudgedSeries, int) {
	for i := range c.Series {
		for k, s := range c.Series[i].Snapshots {
			if s.ID == id {
				return &c.Series[i], k
			}
		}
		for _, s := range c.Series[i].all {
			if s.ID == id {
				alone := &JudgedSeries{Key: c.Series[i].Key, Snapshots: []*analysis.Snapshot{s}}
				alone.judge(c.options)
				alone.consult(c.options.Knowledge, c.options.matcher)
				return alone, 0
			}
		}
	}
	return nil, -1
}
