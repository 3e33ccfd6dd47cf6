package mcp

import (
	"cmp"
	"context"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
)

type compareIn struct {
	Case   string `json:"case" jsonschema:"id of a case"`
	A      string `json:"a,omitempty" jsonschema:"snapshot to compare with, by id or by label; the first of the process if left out"`
	B      string `json:"b,omitempty" jsonschema:"snapshot to compare, by id or by label; the last of the process if left out"`
	Series *int   `json:"series,omitempty" jsonschema:"number of the process whose labels and snapshots are meant; that of the diagnosis if left out"`
	From   int    `json:"from,omitempty" jsonschema:"leave out so many families"`
	Limit  int    `json:"limit,omitempty" jsonschema:"families per answer, 20 if left out, at most 100"`
}

type compareOut struct {
	Process string `json:"process"`
	A       moment `json:"a"`
	B       moment `json:"b"`
	// Comparison has the rows of families that changed, in the order of the page.
	Comparison any `json:"comparison"` // as leakdiff.diff/1, with the rows of families that changed; their fingerprints are for the tool family
	Changed    int `json:"changed"`    // families that changed
	Unchanged  int `json:"unchanged"`  // families that have as many members as before, which are not listed
	rest
}

func (t *tools) compare(ctx context.Context, in compareIn) (compareOut, error) {
	c, err := t.cases.Report(ctx, in.Case)
	if err != nil {
		return compareOut{}, err
	}
	r := c.Report
	if err := checkSeries(r, in.Series); err != nil {
		return compareOut{}, err
	}
	a, b, err := pair(r, in)
	if err != nil {
		return compareOut{}, err
	}
	data, err := t.cases.Compare(ctx, c, a.ID, b.ID)
	if err != nil {
		return compareOut{}, err
	}
	changed := slices.DeleteFunc(slices.Clone(data.Rows), func(r report.ComparisonRow) bool { return r.Delta == 0 })
	out := compareOut{Process: b.Process, A: momentOf(a), B: momentOf(b), Changed: len(changed), Unchanged: len(data.Rows) - len(changed)}
	data.Rows = nil
	rows, after := window(data, changed, in.From, limited(in.Limit, 20, 100))
	data.Rows, out.More = append([]report.ComparisonRow{}, rows...), more(in.From, len(rows), after)
	out.Comparison = data
	return out, nil
}

// pair are the snapshots that are to be compared.
func pair(r *report.Report, in compareIn) (a, b *report.Snapshot, err error) {
	series := 0
	if at := cmp.Or(in.Series, r.Diagnosis.Series); at != nil {
		series = *at
	}
	if len(r.Series) == 0 {
		return nil, nil, &analysis.Fault{Code: "not_found", What: "the case has no snapshot to compare", Hint: "diagnose says what was read"}
	}
	ids := r.Series[series].Snapshots
	byID := snapshotsOf(r)
	named := func(name, other string) (*report.Snapshot, error) {
		if name == "" {
			return byID[other], nil
		}
		if s := byID[name]; s != nil {
			return s, nil
		}
		for _, id := range ids {
			if s := byID[id]; s != nil && s.Label == name {
				return s, nil
			}
		}
		return nil, &analysis.Fault{Code: "not_found", What: "the process has no such snapshot", Where: name, Hint: "diagnose names the first and the last of each process; labels are those of one process"}
	}
	if a, err = named(in.A, ids[0]); err == nil {
		b, err = named(in.B, ids[len(ids)-1])
	}
	if err == nil && a == b {
		err = &analysis.Fault{Code: "bad_request", What: "both snapshots are the same", Where: a.Label, Hint: "name two, or capture the process once more"}
	}
	return a, b, err
}
