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

// objectOut is a kind of objects: things of the program with all their goroutines.
type objectOut struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Series   int      `json:"series"`
	Process  string   `json:"process"`
	Verdict  string   `json:"verdict"`
	Counts   string   `json:"counts" jsonschema:"objects over the snapshots of the process"`
	Proof    string   `json:"proof" jsonschema:"how the parts are known to belong together"`
	Evidence []string `json:"evidence,omitempty"`
	Roles    []role   `json:"roles,omitempty" jsonschema:"what the goroutines of one object do"`
	Holders  []string `json:"holders,omitempty" jsonschema:"what the objects hang on"`
	Families []string `json:"families,omitempty" jsonschema:"fingerprints for the tool family"`
	Where    string   `json:"where,omitempty" jsonschema:"what the stack is of"`
	Stack    []frame  `json:"stack,omitempty" jsonschema:"leaf first"`
	At       string   `json:"at" jsonschema:"label of the snapshot that the objects are of"`
	Objects  []object `json:"objects"`
	Total    int      `json:"objects_total"`
	More     string   `json:"more,omitempty"`
}

type role struct {
	Role string `json:"role"`
	N    int    `json:"n" jsonschema:"goroutines of one object that do it"`
}

// object is one object in the snapshot.
type object struct {
	Root       int64   `json:"root" jsonschema:"goroutine that it was first known by"`
	FirstSeen  string  `json:"first_seen"`
	Goroutines []int64 `json:"goroutines,omitempty" jsonschema:"ids, at most 16"`
	At         string  `json:"at,omitempty" jsonschema:"file:line of the first one in the dump"`
}

// mostRoles and mostParts bound the lists of one kind and of one object.
const (
	mostRoles = 12
	mostParts = 16
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
	s := &c.Report.Series[at]
	epochs := epochsOf(s, snapshotsOf(c.Report))
	out := objectOut{
		ID: data.ID, Name: data.Name, Type: data.Type, Title: data.Title(epochs), Series: at, Process: s.Process, Verdict: string(data.Verdict),
		Counts: report.Rises(data.Counts, epochs), Proof: data.Proof(), Evidence: evidenceOf(data.Evidence),
		Families: data.Families[:min(len(data.Families), mostFamilies)], At: data.At, Total: data.MembersTotal,
	}
	for _, p := range data.Each {
		for _, r := range p.Roles[:min(len(p.Roles), mostRoles)] {
			out.Roles = append(out.Roles, role{r.Role, r.N})
		}
	}
	for _, h := range data.Holders[:min(len(data.Holders), mostRoles)] {
		out.Holders = append(out.Holders, h.Text())
	}
	if first := data.FirstStack(); first != nil {
		out.Where, out.Stack = framesOf(first.Located(data.Each[0].Kind, data.At).Trace(data.At))
	}
	var all []object
	for _, m := range data.Members {
		x := object{Root: m.Root, FirstSeen: m.FirstSeen}
		for i, p := range m.Parts[:min(len(m.Parts), mostParts)] {
			x.Goroutines = append(x.Goroutines, p.ID)
			if i == 0 {
				x.At = lineOf(p.Path, p.Line)
			}
		}
		all = append(all, x)
	}
	rows, left := window(all, in.From, limited(in.Limit, 10, 100))
	out.Objects, out.More = append([]object{}, rows...), more(in.From, len(rows), left)
	if left == 0 {
		out.More = unlisted(data.MembersTotal, len(data.Members))
	}
	return out, nil
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
