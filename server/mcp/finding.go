package mcp

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/response"
)

type findingsIn struct {
	Case    string `json:"case" jsonschema:"id of a case"`
	Process string `json:"process,omitempty" jsonschema:"only findings of processes whose name holds this"`
	Verdict string `json:"verdict,omitempty" jsonschema:"only findings with this verdict (leaking, saturated, suspicious, scaling, stopped, grew, new, shrinking, gone, stable or too_few_points) or of this kind (fact, possible culprit, follows, observer effect, limit, marked suspicious or no leak)"`
	From    int    `json:"from,omitempty" jsonschema:"leave out so many findings"`
	Limit   int    `json:"limit,omitempty" jsonschema:"findings per answer, 5 if left out, at most 20"`
}

type findingsOut struct {
	Findings []finding `json:"findings"`
	Total    int       `json:"total"`
	More     string    `json:"more,omitempty"`
}

type finding struct {
	Series  int     `json:"series"` // number of the process, for the other tools
	Process string  `json:"process"`
	Host    *string `json:"host"`
	Mark    string  `json:"mark"`           // the verdict, or what kind of finding it is
	Finding any     `json:"finding"`        // as series[].findings[] of leakdiff.report/1, without its evidence, which family and object have; the stack is leaf first; families are for the tool family, the one to examine first in front, object for the tool object
	Left    left    `json:"left,omitempty"` // how many entries of a list are left out, by its name
}

func (t *tools) findings(ctx context.Context, in findingsIn) (findingsOut, error) {
	c, err := t.cases.Report(ctx, in.Case)
	if err != nil {
		return findingsOut{}, err
	}
	if err := response.KnownVerdict(in.Verdict, report.KindMarks()...); err != nil {
		return findingsOut{}, err
	}
	r := c.Report
	if err := checkProcess(r, in.Process); err != nil {
		return findingsOut{}, err
	}
	var all []finding
	for i := range r.Series {
		s := &r.Series[i]
		if !holds(s.Process, in.Process) {
			continue
		}
		for k := range s.Findings {
			f := s.Findings[k]
			if in.Verdict == "" || in.Verdict == f.Mark() {
				x := finding{Series: i, Process: s.Process, Host: s.Host, Mark: f.Mark(), Left: left{}}
				x.Finding = bounded(f, x.Left)
				all = append(all, x)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b finding) int {
		return cmp.Compare(severity(a.Mark), severity(b.Mark))
	})
	out := findingsOut{Total: len(all)}
	rows, after := window(nil, all, in.From, limited(in.Limit, 5, 20))
	out.Findings, out.More = append([]finding{}, rows...), more(in.From, len(rows), after)
	return out, nil
}

// holds reports whether the name of a process holds a part of it, whatever the case.
func holds(process, part string) bool {
	return strings.Contains(strings.ToLower(process), strings.ToLower(part))
}

// checkProcess refuses a part of a name that no process of the case holds: an empty list would
// read as if nothing leaked.
func checkProcess(r *report.Report, part string) error {
	const most = 10
	var names []string
	for i := range r.Series {
		name := r.Series[i].Process
		if holds(name, part) {
			return nil
		}
		if name = cmp.Or(name, r.Series[i].Named()); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if part == "" {
		return nil
	}
	why := "the case has no process"
	if len(names) > 0 {
		why = "its processes are " + wording.Commas(names, most)
	}
	return &analysis.Fault{Code: "not_found", What: "the case has no such process", Where: part, Why: why, Hint: "use one of these, or leave it out"}
}

// severity orders findings: by their verdict, and those without one after them.
func severity(mark string) int { return analysis.Verdict(mark).Rank() }
