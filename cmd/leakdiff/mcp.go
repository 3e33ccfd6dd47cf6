package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/mcp"
)

type mcpCommand struct {
	Knowledge string `help:"Directory with own knowledge files, *.json, that add to the catalogue or replace its entries." type:"path"`
}

// Help stands below the flags in the help of the command.
func (*mcpCommand) Help() string {
	return `The agent starts the program and names files of this machine, which stay here: nothing is stored and nothing is sent but the answers.
A server answers agents at /mcp.

Example, in the configuration of an agent:
  {"mcpServers": {"leakdiff": {"command": "leakdiff", "args": ["mcp"]}}}`
}

func (c *mcpCommand) Run(ctx context.Context, m *Main) error {
	known, problems, err := knowledgeIn(c.Knowledge)
	if err != nil {
		return err
	}
	collectAt(reportPercent)
	cases := &readCases{knowledge: known, problems: problems}
	s := mcp.New(mcp.Config{Cases: cases, Version: version, Read: cases.read, Panicked: m.panicked})
	return s.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(m.Stdin), Writer: written{m.Stdout}})
}

// panicked reports a panic of a tool. The session goes on: what one file does to it is not to
// end the others.
func (m *Main) panicked(v any) error {
	fmt.Fprintf(m.Stderr, "leakdiff: a tool panicked: %v\n%s", v, debug.Stack())
	return &analysis.Fault{Code: "internal", What: "something went wrong inside leakdiff", Hint: "its standard error says what"}
}

// written closes nothing: standard output is not the session's.
type written struct{ io.Writer }

func (written) Close() error { return nil }

// mostRead is how many cases stay in memory.
const mostRead = 4

// readCases are the cases that were read for an agent, the latest last.
type readCases struct {
	knowledge *knowledge.Catalogue
	// problems are those of the knowledge files.
	problems []analysis.Problem

	// reading lets one case be read at a time.
	reading sync.Mutex
	mu      sync.Mutex
	count   int
	all     []readCase
}

type readCase struct {
	id, title string
	built     *report.Case
}

// read reads paths as one case, as the command report does, and forgets the oldest case if
// there are too many.
func (c *readCases) read(ctx context.Context, paths []string) (mcp.Case, []string, error) {
	if len(paths) == 0 {
		return mcp.Case{}, nil, &analysis.Fault{Code: "bad_request", What: "no path was given", Where: "paths", Hint: "name files, directories or archives of this machine"}
	}
	if slices.Contains(paths, "-") {
		return mcp.Case{}, nil, &analysis.Fault{Code: "bad_request", What: "standard input cannot be read", Where: "-", Why: "the agent speaks there", Hint: "name a file"}
	}
	inputs, err := inputsOf(nil, paths)
	if err != nil {
		return mcp.Case{}, nil, err
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	result, err := ingest.Run(ctx, ingest.Config{Bundle: bundle.Config{TempDir: os.TempDir()}, Packed: true, Objects: true}, inputs)
	if err != nil {
		return mcp.Case{}, nil, err
	}
	if len(result.Snapshots) == 0 {
		return mcp.Case{}, nil, nothingRead("no dump was found in "+wording.Commas(paths, 3), "leakdiff report says what each file is")
	}
	nameUpload(result.Snapshots, paths)
	built := report.Build(result.Snapshots, slices.Concat(result.Problems, c.problems), report.Options{Version: version, Knowledge: c.knowledge})
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = filepath.Base(p)
	}
	return c.keep(wording.Commas(names, 3), &built)
}

func (c *readCases) keep(title string, built *report.Case) (mcp.Case, []string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	read := readCase{fmt.Sprintf("case-%d", c.count), title, built}
	c.all = append(c.all, read)
	var forgotten []string
	for len(c.all) > mostRead {
		forgotten = append(forgotten, c.all[0].id)
		c.all = slices.Delete(c.all, 0, 1)
	}
	return read.said(), forgotten, nil
}

func (r readCase) said() mcp.Case {
	return mcp.Case{ID: r.id, Title: r.title, Report: &r.built.Report}
}

// find returns a case by its id.
func (c *readCases) find(id string) (readCase, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.all {
		if r.id == id {
			return r, nil
		}
	}
	return readCase{}, &analysis.Fault{Code: "not_found", What: "there is no such case", Where: id, Why: fmt.Sprintf("it was not read, or made room for others: the last %d stay", mostRead), Hint: "read_dump reads files, list_cases names what was read"}
}

// List lists the cases in memory, the latest first.
func (c *readCases) List(_ context.Context, q mcp.Query) ([]mcp.Listed, int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []mcp.Listed
	for _, r := range slices.Backward(c.all) {
		d := &r.built.Report.Diagnosis
		if contains := strings.Contains(strings.ToLower(r.title+" "+d.Sentence), strings.ToLower(q.Find)); !contains || q.Verdict != "" && q.Verdict != string(d.Verdict) {
			continue
		}
		out = append(out, mcp.Listed{Case: r.id, Title: r.title, Sentence: d.Sentence, Verdict: string(d.Verdict), Snapshots: len(r.built.Report.Snapshots)})
	}
	first := min((q.Page-1)*q.Limit, len(out))
	return out[first:min(first+q.Limit, len(out))], len(out), nil
}

// Report returns the report of a case.
func (c *readCases) Report(_ context.Context, id string) (mcp.Case, error) {
	r, err := c.find(id)
	if err != nil {
		return mcp.Case{}, err
	}
	return r.said(), nil
}

// Family returns a family with its oldest members.
func (c *readCases) Family(_ context.Context, of mcp.Case, series int, fingerprint string) (report.Membership, error) {
	r, err := c.find(of.ID)
	if err != nil {
		return report.Membership{}, err
	}
	j := &r.built.Series[series]
	for _, f := range r.built.Report.Series[series].Families {
		if at := j.FamilySnapshot(fingerprint); f.Fingerprint == fingerprint && at >= 0 {
			return j.Membership(f, at, mostListed), nil
		}
	}
	return report.Membership{}, &analysis.Fault{Code: "not_found", What: "the process has no such family", Where: fingerprint, Hint: "findings names them"}
}

// mostListed is how many members of a family, or objects of a kind, are prepared.
const mostListed = 100

// Object returns a kind of objects with those of one snapshot.
func (c *readCases) Object(_ context.Context, of mcp.Case, series int, id string) (report.ObjectMembership, error) {
	r, err := c.find(of.ID)
	if err != nil {
		return report.ObjectMembership{}, err
	}
	j := &r.built.Series[series]
	for _, o := range r.built.Report.Series[series].Objects {
		if o.ID == id {
			return j.ObjectMembership(o, j.ObjectSnapshot(o), mostListed), nil
		}
	}
	return report.ObjectMembership{}, &analysis.Fault{Code: "not_found", What: "the process has no such objects", Where: id, Hint: "findings names them"}
}

// Compare compares two snapshots of a case.
func (c *readCases) Compare(_ context.Context, of mcp.Case, a, b string) (report.Comparison, error) {
	r, err := c.find(of.ID)
	if err != nil {
		return report.Comparison{}, err
	}
	from, i := r.built.Snapshot(a)
	to, k := r.built.Snapshot(b)
	if from == nil || to == nil {
		return report.Comparison{}, &analysis.Fault{Code: "not_found", What: "the case has no such snapshot", Where: a + ".." + b, Hint: "diagnose names the first and the last of each process"}
	}
	options := diff.Options{Judgements: to.Judged, Relation: report.RelationOf(from, i, to, k)}
	return report.NewComparison(diff.Compare(from.Snapshots[i], to.Snapshots[k], options), to), nil
}
