package mcp

import (
	"context"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
)

type objectIn struct {
	Case   string `json:"case" jsonschema:"id of a case"`
	Object string `json:"object" jsonschema:"id such as o1"`
	Series *int   `json:"series,omitempty" jsonschema:"number of the process; if left out, the first one that has the id"`
	From   int    `json:"from,omitempty" jsonschema:"leave out so many objects"`
	Limit  int    `json:"limit,omitempty" jsonschema:"objects per answer, 10 if left out, at most 100"`
}

type objectOut struct {
	Series int    `json:"series"`
	Title  string `json:"title"`
	Proof  string `json:"proof"`  // how the parts are known to belong together
	Object any    `json:"object"` // as series[].objects[] of leakdiff.report/1, with those of one snapshot (at), their goroutines, and the stacks of their roles, leaf first
	rest
}

// mostRoles, mostParts and mostStacks bound the lists of one kind and of one object.
const (
	mostRoles  = 12
	mostParts  = 16
	mostStacks = 3
)

func (t *tools) object(ctx context.Context, in objectIn) (objectOut, error) {
	c, err := t.cases.Report(ctx, in.Case)
	if err != nil {
		return objectOut{}, err
	}
	at, err := findObject(c.Report, in)
	if err != nil {
		return objectOut{}, err
	}
	data, err := t.cases.Object(ctx, c, at, in.Object)
	if err != nil {
		return objectOut{}, err
	}
	out := objectOut{Series: at, Title: data.Title(epochsOf(c.Report, at)), Proof: data.Proof(), rest: rest{Left: left{}}}
	data.Counts, data.Born, data.Ended = counts(out.Left, data.Counts), counts(nil, data.Born), counts(nil, data.Ended)
	data.Snapshots = cut(out.Left, "snapshots", data.Snapshots, mostCounts)
	data.Each = slices.Clone(data.Each)
	for i := range data.Each {
		data.Each[i].Roles = cut(out.Left, "roles", data.Each[i].Roles, mostRoles)
	}
	data.Holders = cut(out.Left, "holders", data.Holders, mostRoles)
	data.Families = cut(out.Left, "families", data.Families, mostFamilies)
	data.InStep = cut(out.Left, "in_step", data.InStep, mostFamilies)
	data.Evidence = evidence(out.Left, data.Evidence)
	data.Lifelines = cut(out.Left, "lifelines", data.Lifelines, 0)
	if first := data.FirstStack(); first != nil { // the one that shows most is kept
		data.Stacks = append([]report.RoleStack{*first}, slices.DeleteFunc(slices.Clone(data.Stacks), func(s report.RoleStack) bool { return s.ObjectRole == first.ObjectRole })...)
	}
	data.Stacks = slices.Clone(cut(out.Left, "stacks", data.Stacks, mostStacks))
	for i := range data.Stacks {
		data.Stacks[i].Stack = frames(out.Left, data.Stacks[i].Stack)
	}
	members := slices.Clone(data.Members)
	data.Members = nil
	for i := range members {
		members[i].Parts = cut(out.Left, "parts", members[i].Parts, mostParts)
	}
	rows, after := window(data, members, in.From, limited(in.Limit, 10, 100))
	out.More = more(in.From, len(rows), after)
	if after == 0 {
		out.More = unlisted(data.MembersTotal, len(members))
	}
	data.Members = rows
	out.Object = data
	return out, nil
}

// epochsOf are the numbers of the starts of a process, one per snapshot.
func epochsOf(r *report.Report, series int) []int {
	byID := snapshotsOf(r)
	out := make([]int, len(r.Series[series].Snapshots))
	for i, id := range r.Series[series].Snapshots {
		if x := byID[id]; x != nil {
			out[i] = x.Epoch
		}
	}
	return out
}

// findObject finds the series whose objects are asked for.
func findObject(r *report.Report, in objectIn) (series int, err error) {
	if err := checkSeries(r, in.Series); err != nil {
		return 0, err
	}
	for i := range r.Series {
		if in.Series != nil && i != *in.Series {
			continue
		}
		if slices.ContainsFunc(r.Series[i].Objects, func(o report.Object) bool { return o.ID == in.Object }) {
			return i, nil
		}
	}
	return 0, &analysis.Fault{Code: "not_found", What: "the case has no such objects", Where: in.Object, Why: "only goroutines of Go, and locks of a JVM, show objects", Hint: "findings names them; family shows groups of stacks"}
}
