package mcp

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/response"
)

type listIn struct {
	Find    string `json:"find,omitempty" jsonschema:"text in the title, the sentence, or the names of process and host"`
	Verdict string `json:"verdict,omitempty" jsonschema:"only cases with this verdict: leaking, suspicious, scaling, stopped, grew, new, shrinking, gone, stable or too_few_points"`
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
	Case      string    `json:"case" jsonschema:"id for the other tools"`
	Title     string    `json:"title"`
	Sentence  string    `json:"sentence"`
	Verdict   string    `json:"verdict"`
	Processes []process `json:"processes"`
	// More says how many processes are not listed.
	More      string   `json:"more,omitempty"`
	Problems  problems `json:"problems"`
	Forgotten []string `json:"forgotten,omitempty" jsonschema:"ids of cases that made room for this one"`
}

func (t *tools) read(ctx context.Context, in readIn) (readOut, error) {
	c, forgotten, err := t.from(ctx, in.Paths)
	if err != nil {
		return readOut{}, err
	}
	d := &c.Report.Diagnosis
	out := readOut{Case: c.ID, Title: c.Title, Sentence: d.Sentence, Verdict: string(d.Verdict), Problems: problemsOf(c.Report), Forgotten: forgotten}
	out.Processes, out.More = processesOf(c.Report)
	return out, nil
}

// process is one series of a case: a program on a host over time.
type process struct {
	Series    int    `json:"series" jsonschema:"number for the other tools"`
	Process   string `json:"process"`
	Host      string `json:"host,omitempty"`
	PID       int    `json:"pid,omitempty"`
	Snapshots int    `json:"snapshots"`
	First     moment `json:"first"`
	Last      moment `json:"last"`
}

// moment is a snapshot.
type moment struct {
	Snapshot string `json:"snapshot" jsonschema:"id for compare"`
	Label    string `json:"label"`
	At       string `json:"at,omitempty" jsonschema:"RFC 3339"`
}

// mostProcesses is how many series of a case are listed.
const mostProcesses = 12

func processesOf(r *report.Report) (out []process, more string) {
	byID := snapshotsOf(r)
	for i := range r.Series {
		s := &r.Series[i]
		if len(out) == mostProcesses {
			return out, wording.Plural(len(r.Series)-i, "more process is", "more processes are") + " not listed; findings has a filter by process"
		}
		p := process{Series: i, Process: s.Process, Host: text(s.Host), Snapshots: len(s.Snapshots)}
		if s.PID != nil {
			p.PID = *s.PID
		}
		if n := len(s.Snapshots); n > 0 {
			p.First, p.Last = momentOf(byID[s.Snapshots[0]]), momentOf(byID[s.Snapshots[n-1]])
		}
		out = append(out, p)
	}
	return out, ""
}

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
	out := moment{Snapshot: s.ID, Label: s.Label}
	if s.CapturedAt != nil {
		out.At = s.CapturedAt.UTC().Format(time.RFC3339)
	}
	return out
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// problems are those of the reading, the first ones in words.
type problems struct {
	Total int      `json:"total"`
	First []string `json:"first,omitempty"`
}

// mostProblems is how many problems are worded.
const mostProblems = 5

func problemsOf(r *report.Report) problems {
	out := problems{Total: len(r.Problems)}
	worst := slices.Clone(r.Problems)
	slices.SortStableFunc(worst, func(a, b analysis.Problem) int { return rank(a.Severity) - rank(b.Severity) })
	for _, p := range worst[:min(mostProblems, len(worst))] {
		line := p.Path
		if p.Line > 0 {
			line += ":" + strconv.FormatInt(p.Line, 10)
		}
		out.First = append(out.First, line+": "+p.What)
	}
	return out
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

// diagnosis is the answer of a case.
type diagnosis struct {
	Case     string `json:"case" jsonschema:"id for the other tools"`
	Title    string `json:"title"`
	URL      string `json:"url,omitempty"`
	Sentence string `json:"sentence" jsonschema:"the answer in one sentence"`
	Verdict  string `json:"verdict"`
	State    string `json:"state" jsonschema:"the answer in a word or two"`
	Process  string `json:"process,omitempty" jsonschema:"the process that the answer is about"`
	Host     string `json:"host,omitempty"`
	Proof    string `json:"proof,omitempty"`
	Since    string `json:"since,omitempty"`
	Until    string `json:"until,omitempty"`
	Pace     string `json:"pace,omitempty"`
	Limit    string `json:"limit,omitempty" jsonschema:"the limit of the system that is nearest"`
	// Growth and Cause are how sure they are: certain, likely, possible or open.
	Growth string   `json:"growth_certainty,omitempty" jsonschema:"how sure it is that something grew, with the reason"`
	Cause  string   `json:"cause_certainty,omitempty" jsonschema:"how sure the cause is, with the reason"`
	Chain  []string `json:"chain,omitempty" jsonschema:"the cause first, then what hangs on it"`
	Family string   `json:"family,omitempty" jsonschema:"fingerprint of the main growth, for the tool family"`
	Object string   `json:"object,omitempty" jsonschema:"id of the objects that grew, for the tool object"`
	Series *int     `json:"series,omitempty" jsonschema:"number of the process, for the other tools"`
	Where  string   `json:"where,omitempty" jsonschema:"what the stack is of"`
	Stack  []frame  `json:"stack,omitempty" jsonschema:"leaf first"`
	Advice []string `json:"advice,omitempty"`
	Next   *action  `json:"next,omitempty"`
	Also   []string `json:"also,omitempty" jsonschema:"other findings that rose"`
	More   string   `json:"more,omitempty"`
	// Processes are the series of the case, Left those that are not listed.
	Processes []process `json:"processes"`
	Left      string    `json:"processes_left,omitempty"`
	Problems  problems  `json:"problems"`
	Forgotten []string  `json:"forgotten,omitempty" jsonschema:"ids of cases that made room for this one"`
}

type action struct {
	Text    string `json:"text"`
	Command string `json:"command,omitempty"`
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
	out := diagnosis{
		Case: c.ID, Title: c.Title, URL: c.URL, Sentence: d.Sentence, Verdict: string(d.Verdict), State: d.State,
		Proof: d.Proof, Since: d.Since, Until: d.Until, Pace: d.Rate, Limit: d.Limit, Growth: sure(d.Growth), Cause: sure(d.Cause),
		Object: d.Object, Series: d.Series, Also: d.Also, Problems: problemsOf(r),
	}
	for _, l := range d.Chain {
		line := l.Figure + " " + l.Noun
		if l.Text != "" {
			line += ": " + l.Text
		}
		out.Chain = append(out.Chain, line)
	}
	if d.Next != nil {
		out.Next = &action{d.Next.Text, d.Next.Command}
	}
	if d.More > 0 {
		out.More = fmt.Sprintf("%d more: ask findings", d.More)
	}
	out.Processes, out.Left = processesOf(r)
	if d.Series == nil {
		return out
	}
	s := &r.Series[*d.Series]
	out.Process, out.Host = s.Process, text(s.Host)
	for i := range s.Findings {
		f := &s.Findings[i]
		if f.Rank != d.Finding {
			continue
		}
		if len(f.Families) > 0 {
			out.Family = f.Families[0]
		}
		out.Where, out.Stack = stackOf(f, snapshotsOf(r))
		for _, a := range r.Advice(f) {
			if !a.More {
				out.Advice = append(out.Advice, a.Label+": "+a.Text)
			}
		}
	}
	return out
}

func sure(c *report.Certainty) string {
	if c == nil {
		return ""
	}
	return c.Word + ": " + c.Reason
}
