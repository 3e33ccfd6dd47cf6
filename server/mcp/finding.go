package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/response"
)

// frame is one frame of a stack, or several that were left out.
type frame struct {
	Function string `json:"function"`
	At       string `json:"at,omitempty" jsonschema:"file:line as the dump prints it"`
	Own      bool   `json:"own,omitempty" jsonschema:"code of the program's main module"`
	Creator  bool   `json:"created_by,omitempty" jsonschema:"what started the goroutine"`
}

// stackOf is the stack of a finding with what it is of.
func stackOf(f *report.Finding, snapshots map[string]*report.Snapshot) (where string, stack []frame) {
	return framesOf(new(report.Traces).Of(f, func(id string) string {
		if s := snapshots[id]; s != nil {
			return s.Label
		}
		return id
	}))
}

// framesOf are the rows of a stack as pages show it.
func framesOf(t *report.Trace) (where string, stack []frame) {
	if t == nil {
		return "", nil
	}
	for _, row := range t.Rows {
		if len(row.Folded) > 0 {
			stack = append(stack, frame{Function: row.More()})
			continue
		}
		x := frame{Function: row.Function, Own: row.Own, Creator: row.Creator}
		if row.Frame.File != "" {
			x.At = fmt.Sprintf("%s:%d", row.Frame.File, row.Frame.Line)
		}
		stack = append(stack, x)
	}
	return strings.TrimSpace(t.Caption + ". " + t.Note), stack
}

type findingsIn struct {
	Case    string `json:"case" jsonschema:"id of a case"`
	Process string `json:"process,omitempty" jsonschema:"only findings of processes whose name holds this"`
	Verdict string `json:"verdict,omitempty" jsonschema:"only findings with this verdict (leaking, suspicious, scaling, stopped, grew, new, shrinking, gone, stable or too_few_points) or of this kind (fact, possible culprit, follows, observer effect, limit, marked suspicious or no leak)"`
	From    int    `json:"from,omitempty" jsonschema:"leave out so many findings"`
	Limit   int    `json:"limit,omitempty" jsonschema:"findings per answer, 5 if left out, at most 20"`
}

type findingsOut struct {
	Findings []finding `json:"findings"`
	Total    int       `json:"total"`
	More     string    `json:"more,omitempty"`
}

type finding struct {
	Series   int      `json:"series" jsonschema:"number of the process, for the other tools"`
	Process  string   `json:"process"`
	Host     string   `json:"host,omitempty"`
	Rank     int      `json:"rank"`
	Verdict  string   `json:"verdict" jsonschema:"the verdict, or what kind of finding it is"`
	Title    string   `json:"title"`
	Text     string   `json:"text,omitempty"`
	Proof    string   `json:"proof,omitempty"`
	Next     string   `json:"next,omitempty"`
	Counts   string   `json:"counts,omitempty" jsonschema:"members over the snapshots of the process"`
	Families []string `json:"families,omitempty" jsonschema:"fingerprints for the tool family, the one to examine first in front"`
	Left     int      `json:"families_left,omitempty" jsonschema:"families that are not listed"`
	Object   string   `json:"object,omitempty" jsonschema:"id for the tool object"`
	Known    []known  `json:"known_leaks,omitempty"`
	Where    string   `json:"where,omitempty" jsonschema:"what the stack is of"`
	Stack    []frame  `json:"stack,omitempty" jsonschema:"leaf first"`
}

// known is a published leak that matches.
type known struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	Basis     string `json:"basis" jsonschema:"how it matches"`
	Fixed     string `json:"fixed,omitempty"`
	Remedy    string `json:"remedy,omitempty"`
	Reference string `json:"reference,omitempty"`
}

// mostKnown and mostFamilies bound the lists of one finding.
const (
	mostKnown    = 3
	mostFamilies = 8
)

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
	byID := snapshotsOf(r)
	for i := range r.Series {
		s := &r.Series[i]
		if !holds(s.Process, in.Process) {
			continue
		}
		for k := range s.Findings {
			f := &s.Findings[k]
			if in.Verdict == "" || in.Verdict == f.Mark() {
				all = append(all, findingOf(s, i, f, byID))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b finding) int {
		return cmp.Compare(severity(a.Verdict), severity(b.Verdict))
	})
	out := findingsOut{Total: len(all)}
	rows, left := window(all, in.From, limited(in.Limit, 5, 20))
	out.Findings, out.More = append([]finding{}, rows...), more(in.From, len(rows), left)
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

func findingOf(s *report.Series, series int, f *report.Finding, byID map[string]*report.Snapshot) finding {
	out := finding{
		Series: series, Process: s.Process, Host: text(s.Host), Rank: f.Rank, Verdict: f.Mark(), Title: f.Title, Text: f.Text, Proof: f.Proof, Next: f.Next,
		Families: f.Families[:min(len(f.Families), mostFamilies)], Left: max(0, len(f.Families)-mostFamilies), Object: f.Object,
	}
	if len(f.Counts) > 0 {
		out.Counts = report.Rises(f.Counts, epochsOf(s, byID))
	}
	out.Known = knownOf(f.Known)
	out.Where, out.Stack = stackOf(f, byID)
	return out
}

// epochsOf are the numbers of the starts of the process, one per snapshot.
func epochsOf(s *report.Series, byID map[string]*report.Snapshot) []int {
	out := make([]int, len(s.Snapshots))
	for i, id := range s.Snapshots {
		if x := byID[id]; x != nil {
			out[i] = x.Epoch
		}
	}
	return out
}

func knownOf(all []report.KnownLeak) (out []known) {
	for _, k := range all[:min(len(all), mostKnown)] {
		out = append(out, known{ID: k.ID, Title: k.Title, Basis: string(k.Basis), Fixed: k.Fixed, Remedy: k.Remedy, Reference: k.Reference})
	}
	return out
}
