package mcp

import (
	"context"
	"fmt"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
)

type familyIn struct {
	Case   string `json:"case" jsonschema:"id of a case"`
	Family string `json:"family" jsonschema:"fingerprint, or short name such as g-3"`
	Series *int   `json:"series,omitempty" jsonschema:"number of the process; if left out, the one in which the family has its worst verdict"`
	From   int    `json:"from,omitempty" jsonschema:"leave out so many members"`
	Limit  int    `json:"limit,omitempty" jsonschema:"members per answer, 10 if left out, at most 100"`
}

type familyOut struct {
	Series  int    `json:"series"`
	Process string `json:"process"`
	Family  any    `json:"family"` // as series[].families[] of leakdiff.report/1, with the members of one snapshot (at), their most frequent stack, leaf first, and what it is of
	rest
}

func (t *tools) family(ctx context.Context, in familyIn) (familyOut, error) {
	c, err := t.cases.Report(ctx, in.Case)
	if err != nil {
		return familyOut{}, err
	}
	i, f, err := findFamily(c.Report, in.Family, in.Series)
	if err != nil {
		return familyOut{}, err
	}
	data, err := t.cases.Family(ctx, c, i, f.Fingerprint)
	if err != nil {
		return familyOut{}, err
	}
	out := familyOut{Series: i, Process: c.Report.Series[i].Process, rest: rest{Left: left{}}}
	data.Stack = frames(out.Left, data.Stack)
	data.Counts = counts(out.Left, data.Counts)
	data.Frames = cut(out.Left, "frames", data.Frames, mostFrames)
	data.Variants = cut(out.Left, "variants", data.Variants, 0)
	data.Evidence = evidence(out.Left, data.Evidence)
	data.KnownLeaks = cut(out.Left, "known_leaks", data.KnownLeaks, mostKnown)
	data.Watched = cut(out.Left, "watched", data.Watched, mostRoles)
	data.Ancestries = cut(out.Left, "ancestries", data.Ancestries, 1)
	data.Labels = cut(out.Left, "labels", data.Labels, mostRoles)
	members := data.Members
	data.Members = nil
	rows, after := window(data, members, in.From, limited(in.Limit, 10, 100))
	out.More = more(in.From, len(rows), after)
	if after == 0 {
		out.More = unlisted(data.MembersTotal, len(members))
	}
	data.Members = rows
	out.Family = data
	return out, nil
}

// findFamily finds a family by its fingerprint or short name: in a series, or in the one in
// which it has its worst verdict.
func findFamily(r *report.Report, name string, series *int) (int, *report.Family, error) {
	if err := checkSeries(r, series); err != nil {
		return 0, nil, err
	}
	at, found := -1, (*report.Family)(nil)
	for i := range r.Series {
		if series != nil && i != *series {
			continue
		}
		for k := range r.Series[i].Families {
			f := &r.Series[i].Families[k]
			if (f.Fingerprint == name || strings.EqualFold(f.Handle, name)) && (found == nil || f.Verdict.Rank() < found.Verdict.Rank()) {
				at, found = i, f
			}
		}
	}
	if found == nil {
		return 0, nil, &analysis.Fault{Code: "not_found", What: "the case has no such family", Where: name, Hint: "findings and compare name families"}
	}
	return at, found, nil
}

func checkSeries(r *report.Report, series *int) error {
	if series != nil && (*series < 0 || *series >= len(r.Series)) {
		return &analysis.Fault{Code: "not_found", What: "the case has no such process", Where: fmt.Sprint("series ", *series), Why: fmt.Sprintf("it has %d, from 0 on", len(r.Series)), Hint: "diagnose lists them"}
	}
	return nil
}
