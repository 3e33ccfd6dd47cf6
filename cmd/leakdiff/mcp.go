package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
	cases := &readCases{knowledge: known, problems: problems, turn: make(chan struct{}, 1), panicked: m.panicked}
	s := mcp.New(mcp.Config{Cases: cases, Version: version, Read: cases.read, Panicked: m.panicked})
	out := &written{to: m.Stdout}
	return s.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(newMessages(m.Stdin, out)), Writer: out})
}

// panicked reports a panic of a tool. The session goes on: what one file does to it is not to
// end the others.
func (m *Main) panicked(v any) error {
	fmt.Fprintf(m.Stderr, "leakdiff: a tool panicked: %v\n%s", v, debug.Stack())
	return &analysis.Fault{Code: "internal", What: "something went wrong inside leakdiff", Hint: "its standard error says what"}
}

// written writes one line at a time. It closes nothing: standard output is not the session's.
type written struct {
	mu sync.Mutex
	to io.Writer
}

func (w *written) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(line)
}

func (*written) Close() error { return nil }

// messages reads the lines of the protocol. A line that is no message is answered here, because
// the SDK ends the session at one.
type messages struct {
	in   *bufio.Reader
	out  io.Writer
	rest []byte
}

func newMessages(in io.Reader, out io.Writer) *messages {
	return &messages{in: bufio.NewReaderSize(in, 64<<10), out: out}
}

func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, fits, err := m.line()
		line = bytes.TrimSpace(line)
		if err != nil && len(line) == 0 {
			return 0, err
		}
		if len(line) == 0 {
			continue
		}
		refused := tooLong
		if fits {
			refused = refusedLine(line)
		}
		if refused == nil {
			m.rest = append(line, '\n')
			continue
		}
		answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": refused})
		if err != nil {
			return 0, err
		}
		if _, err := m.out.Write(append(answer, '\n')); err != nil {
			return 0, err
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// longestLine is what the SDK reads of a message, with the end of its line.
const longestLine = sdk.DefaultMaxLineLength - 1

var tooLong = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "invalid request: the line is longer than " + wording.Size(sdk.DefaultMaxLineLength) + "; name files by their paths"}

// line reads to the end of a line. Of one that does not fit it returns the beginning alone.
func (m *messages) line() (line []byte, fits bool, err error) {
	for fits = true; ; {
		part, err := m.in.ReadSlice('\n')
		if room := longestLine - len(line); len(part) > room {
			part, fits = part[:room], false
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, fits, err
		}
	}
}

// refusedLine returns the error that answers a line, nil for a message.
func refusedLine(line []byte) *jsonrpc.Error {
	if !json.Valid(line) {
		return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "parse error: the line is no JSON; send each message as one line"}
	}
	if line[0] == '[' { // an old version of the protocol had batches
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "invalid request: several messages came at once; send each by itself, as one line"}
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "invalid request: the line is no message of JSON-RPC 2.0"}
	}
	return nil
}

// mostRead is how many cases stay in memory.
const mostRead = 4

// readCases are the cases that were read for an agent, the latest last.
type readCases struct {
	knowledge *knowledge.Catalogue
	// problems are those of the knowledge files.
	problems []analysis.Problem

	// turn lets one case be read at a time.
	turn     chan struct{}
	panicked func(v any) error

	mu    sync.Mutex
	count int
	all   []readCase
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
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	built, err := c.alone(ctx, func() (*report.Case, error) { return c.build(ctx, paths) })
	if err != nil {
		return mcp.Case{}, nil, err
	}
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = filepath.Base(p)
	}
	return c.keep(wording.Commas(names, 3), built)
}

// readTime bounds one reading and the wait for its turn. The budget of the bundle ends most that
// take long earlier, with what they found.
const readTime = 12 * time.Minute

// alone runs work when no other runs. When ctx ends it gives up at once, also on work that hangs
// in the system, such as a file of a network that does not answer: the next one has its turn then.
func (c *readCases) alone(ctx context.Context, work func() (*report.Case, error)) (*report.Case, error) {
	gaveUp := func() error {
		return &analysis.Fault{Code: "stopping", What: "the files were not read", Why: "the request was cancelled, or took longer than " + wording.Duration(readTime), Hint: "name fewer files, on a disk of this machine", Err: ctx.Err()}
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, gaveUp()
	}
	type result struct {
		built *report.Case
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if v := recover(); v != nil {
				r = result{err: c.panicked(v)}
			}
			done <- r
		}()
		r.built, r.err = work()
	}()
	select {
	case r := <-done:
		return r.built, r.err
	case <-ctx.Done():
		return nil, gaveUp()
	}
}

// build reads files and directories as one case.
func (c *readCases) build(ctx context.Context, paths []string) (*report.Case, error) {
	if err := checkFiles(paths); err != nil {
		return nil, err
	}
	inputs, err := inputsOf(nil, paths)
	if err != nil {
		return nil, err
	}
	result, err := ingest.Run(ctx, ingest.Config{Bundle: bundle.Config{TempDir: os.TempDir()}, Packed: true, Objects: true}, inputs)
	if err != nil {
		return nil, err
	}
	if len(result.Snapshots) == 0 {
		return nil, nothingRead("no dump was found in "+wording.Commas(paths, 3), "leakdiff report says what each file is")
	}
	nameUpload(result.Snapshots, paths)
	built := report.Build(result.Snapshots, slices.Concat(result.Problems, c.problems), report.Options{Version: version, Knowledge: c.knowledge})
	return &built, nil
}

// checkFiles refuses what is neither file nor directory: a pipe or a device may have no end, and
// standard input, which has many names, is the protocol itself. Below directories such files are
// left out.
func checkFiles(paths []string) error {
	for _, name := range paths {
		info, err := os.Stat(name)
		if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			return &analysis.Fault{Code: "bad_request", What: "cannot be read", Where: name, Why: "it is neither a file nor a directory, but a pipe, a socket or a device", Hint: "write what comes from there to a file and name that"}
		}
	}
	return nil
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

// Follow is a member through the captures of a series, or of all.
func (c *readCases) Follow(_ context.Context, of mcp.Case, series *int, member string) (report.Following, error) {
	r, err := c.find(of.ID)
	if err != nil {
		return report.Following{}, err
	}
	if series != nil {
		return r.built.Follow(member, *series)
	}
	return r.built.Follow(member)
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
