package mcp

import (
	"context"
	"fmt"
	"slices"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/server/response"
)

type listIn struct {
	Find    string `json:"find,omitempty" jsonschema:"text in the title, the sentence, or the names of process and host"`
	Verdict string `json:"verdict,omitempty" jsonschema:"only cases with this verdict: leaking, saturated, suspicious, scaling, stopped, grew, new, shrinking, gone, stable or too_few_points"`
	Limit   int    `json:"limit,omitempty" jsonschema:"cases per page, 20 if left out, at most 50"`
	Page    int    `json:"page,omitempty" jsonschema:"page, from 1 on"`
}

type listOut struct {
	Cases []Listed `json:"cases"`
	Total int      `json:"total"`
	More  string   `json:"more,omitempty"`
}

// mostPages bounds the page that is asked for.
const mostPages = 1_000_000

func (t *tools) list(ctx context.Context, in listIn) (listOut, error) {
	if err := response.KnownVerdict(in.Verdict); err != nil {
		return listOut{}, err
	}
	q := Query{Find: in.Find, Verdict: in.Verdict, Limit: limited(in.Limit, 20, 50), Page: limited(in.Page, 1, mostPages)}
	cases, total, err := t.cases.List(ctx, q)
	out := listOut{Cases: append([]Listed{}, cases...), Total: total}
	if left := total - (q.Page-1)*q.Limit - len(cases); left > 0 && len(cases) > 0 {
		out.More = fmt.Sprintf("%d more: ask again with page=%d", left, q.Page+1)
	}
	return out, err
}

type readIn struct {
	Paths []string `json:"paths" jsonschema:"files, directories or archives on this machine, absolute; together they are one case"`
}

type readOut struct {
	Case     string `json:"case"` // id for the other tools
	Title    string `json:"title"`
	Sentence string `json:"sentence"`
	Verdict  string `json:"verdict"`
	reading
}

// reading lists the processes and the worst problems of a case.
type reading struct {
	Processes []process `json:"processes"`
	Problems  []any     `json:"problems,omitempty"`  // as problems[] of leakdiff.report/1, the worst
	Left      left      `json:"left,omitempty"`      // how many entries of a list are left out, by its name
	Forgotten []string  `json:"forgotten,omitempty"` // ids of cases that made room for this one
}

// readingOf lists the first processes of a case; findings has a filter for the others.
func readingOf(r *report.Report) reading {
	out := reading{Left: left{}}
	byID := snapshotsOf(r)
	for i := range cut(out.Left, "processes", r.Series, mostProcesses) {
		s := &r.Series[i]
		p := process{Series: i, Process: s.Process, Host: s.Host, PID: s.PID, Snapshots: len(s.Snapshots)}
		if n := len(s.Snapshots); n > 0 {
			p.First, p.Last = momentOf(byID[s.Snapshots[0]]), momentOf(byID[s.Snapshots[n-1]])
		}
		out.Processes = append(out.Processes, p)
	}
	worst := slices.Clone(r.Problems)
	slices.SortStableFunc(worst, func(a, b analysis.Problem) int { return rank(a.Severity) - rank(b.Severity) })
	for _, p := range cut(out.Left, "problems", worst, mostProblems) {
		out.Problems = append(out.Problems, p)
	}
	return out
}

func (t *tools) read(ctx context.Context, in readIn) (readOut, error) {
	c, forgotten, err := t.from(ctx, in.Paths)
	if err != nil {
		return readOut{}, err
	}
	d := &c.Report.Diagnosis
	out := readOut{Case: c.ID, Title: c.Title, Sentence: d.Sentence, Verdict: string(d.Verdict), reading: readingOf(c.Report)}
	out.Forgotten = forgotten
	return out, nil
}

// process is one series of a case: a program on a host over time.
type process struct {
	Series    int     `json:"series"` // number for the other tools
	Process   string  `json:"process"`
	Host      *string `json:"host"`
	PID       *int    `json:"pid,omitempty"`
	Snapshots int     `json:"snapshots"` // how many
	First     moment  `json:"first"`
	Last      moment  `json:"last"`
}

// moment is a snapshot, in fields of the contract.
type moment struct {
	ID         string     `json:"id"` // for compare
	Label      string     `json:"label"`
	CapturedAt *time.Time `json:"captured_at"`
}

// mostProcesses and mostProblems are how many of a case are listed.
const (
	mostProcesses = 12
	mostProblems  = 5
)

func snapshotsOf(r *report.Report) map[string]*report.Snapshot {
	out := make(map[string]*report.Snapshot, len(r.Snapshots))
	for i := range r.Snapshots {
		out[r.Snapshots[i].ID] = &r.Snapshots[i]
	}
	return out
}

func momentOf(s *report.Snapshot) moment {
	if s == nil {
		return moment{}
	}
	return moment{s.ID, s.Label, s.CapturedAt}
}

func rank(s analysis.Severity) int {
	return slices.Index([]analysis.Severity{analysis.Error, analysis.Warning, analysis.Note}, s)
}

type caseIn struct {
	Case string `json:"case" jsonschema:"id of a case"`
}

type casePathsIn struct {
	Case  string   `json:"case,omitempty" jsonschema:"id of a case that was read"`
	Paths []string `json:"paths,omitempty" jsonschema:"instead of a case: files, directories or archives on this machine to read as one case"`
}

// diagnosis is the answer of a case with the finding that it is about.
type diagnosis struct {
	Case      string   `json:"case"` // id for the other tools
	Title     string   `json:"title"`
	URL       string   `json:"url,omitempty"`
	Diagnosis any      `json:"diagnosis"`         // as diagnosis of leakdiff.report/1: sentence, verdict, state, proof, since, rate, limit, how certain, chain, next step, other findings; series is the number of its process
	Finding   any      `json:"finding,omitempty"` // the finding that it is about, as series[].findings[] of leakdiff.report/1, with its stack leaf first; families are for the tool family, object for the tool object
	Advice    []string `json:"advice,omitempty"`
	reading
}

func (t *tools) diagnosePaths(ctx context.Context, in casePathsIn) (diagnosis, error) {
	switch {
	case len(in.Paths) > 0 && in.Case != "":
		return diagnosis{}, &analysis.Fault{Code: "bad_request", What: "a case and paths were given", Hint: "give the id of a case, or paths to read"}
	case len(in.Paths) == 0:
		return t.diagnose(ctx, caseIn{in.Case})
	}
	c, forgotten, err := t.from(ctx, in.Paths)
	if err != nil {
		return diagnosis{}, err
	}
	out := diagnosisOf(c)
	out.Forgotten = forgotten
	return out, nil
}

func (t *tools) diagnose(ctx context.Context, in caseIn) (diagnosis, error) {
	c, err := t.cases.Report(ctx, in.Case)
	if err != nil {
		return diagnosis{}, err
	}
	return diagnosisOf(c), nil
}

func diagnosisOf(c Case) diagnosis {
	r := c.Report
	d := &r.Diagnosis
	out := diagnosis{Case: c.ID, Title: c.Title, URL: c.URL, Diagnosis: *d, reading: readingOf(r)}
	if d.Series == nil {
		return out
	}
	for _, f := range r.Series[*d.Series].Findings {
		if f.Rank != d.Finding {
			continue
		}
		for _, a := range r.Advice(&f) {
			if !a.More {
				out.Advice = append(out.Advice, a.Label+": "+a.Text)
			}
		}
		out.Finding = bounded(f, out.Left)
	}
	return out
}
