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

// familyOut is one family: stacks, descriptors or watches that are alike, over time.
type familyOut struct {
	Fingerprint string   `json:"fingerprint"`
	Name        string   `json:"name" jsonschema:"short name in this case"`
	Kind        string   `json:"kind"`
	Title       string   `json:"title"`
	Series      int      `json:"series"`
	Process     string   `json:"process"`
	Verdict     string   `json:"verdict"`
	Counts      string   `json:"counts" jsonschema:"members over the snapshots of the process"`
	Evidence    []string `json:"evidence,omitempty" jsonschema:"why it has its verdict"`
	Since       string   `json:"since,omitempty" jsonschema:"when the growth began"`
	Survivors   *int     `json:"survivors,omitempty"`
	OldestWait  *int     `json:"oldest_wait_minutes,omitempty"`
	Role        string   `json:"role,omitempty"`
	Classes     []string `json:"classes,omitempty" jsonschema:"known classes of leaks that it shows"`
	Known       []known  `json:"known_leaks,omitempty"`
	Marked      string   `json:"marked,omitempty" jsonschema:"what a person decided about it"`
	Where       string   `json:"where,omitempty" jsonschema:"what the stack is of"`
	Stack       []frame  `json:"stack,omitempty" jsonschema:"leaf first"`
	At          string   `json:"at" jsonschema:"label of the snapshot that members are of"`
	Members     []member `json:"members"`
	Total       int      `json:"members_total"`
	More        string   `json:"more,omitempty"`
}

// member is one goroutine, thread, descriptor or watch.
type member struct {
	ID        *int64 `json:"id,omitempty" jsonschema:"goroutine id, number of the thread or descriptor"`
	State     string `json:"state,omitempty"`
	Wait      *int   `json:"wait_minutes,omitempty"`
	FirstSeen string `json:"first_seen,omitempty" jsonschema:"label of the first snapshot that shows it"`
	At        string `json:"at,omitempty" jsonschema:"file:line of the dump"`
	Detail    string `json:"detail,omitempty"`
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
	s := &c.Report.Series[i]
	out := familyOut{
		Fingerprint: f.Fingerprint, Name: f.Handle, Kind: string(f.Kind), Title: f.Title, Series: i, Process: s.Process, Verdict: string(f.Verdict),
		Counts: report.Rises(f.Counts, epochsOf(s, snapshotsOf(c.Report))), Survivors: f.Survivors, OldestWait: f.OldestWait,
		Role: f.Role, Classes: f.Classes, Known: knownOf(f.KnownLeaks), At: data.At, Total: data.MembersTotal, Evidence: evidenceOf(f.Evidence),
	}
	if f.Onset != nil {
		out.Since = f.Onset.Text
	}
	if f.Triage != nil {
		out.Marked = f.Triage.Words()
	}
	if data.StackOf != nil {
		located := report.LocatedStack{Stack: data.Stack, Of: *data.StackOf}
		out.Where, out.Stack = framesOf(located.Trace(data.At))
	}
	var all []member
	for _, m := range data.Members {
		x := member{ID: m.ID, State: m.State, Wait: m.Wait, FirstSeen: m.FirstSeen, At: lineOf(m.Path, m.Line), Detail: m.Detail}
		all = append(all, x)
	}
	rows, left := window(all, in.From, limited(in.Limit, 10, 100))
	out.Members, out.More = append([]member{}, rows...), more(in.From, len(rows), left)
	if left == 0 {
		out.More = unlisted(data.MembersTotal, len(data.Members))
	}
	return out, nil
}

// lineOf is the place of a line in a dump.
func lineOf(path string, line int64) string {
	if path == "" || line <= 0 {
		return path
	}
	return fmt.Sprintf("%s:%d", path, line)
}

// mostEvidence is how many lines of evidence are listed.
const mostEvidence = 12

func evidenceOf(all []report.Evidence) (out []string) {
	for _, e := range all[:min(len(all), mostEvidence)] {
		out = append(out, e.Text)
	}
	return out
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
