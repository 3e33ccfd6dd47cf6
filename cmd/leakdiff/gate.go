package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/gate"
	"leakdiff/analysis/say/report"
)

// mostBudget bounds the file of a budget in bytes.
const mostBudget = 1 << 20

// gated reports whether the report is held against something, may fail, or is written for a pipeline.
func (r *reportCommand) gated() bool {
	return r.FailOn != "auto" && r.FailOn != "never" && !r.Bisect || r.Baseline != "" || r.Budget != "" || r.Format == "sarif" || r.Format == "junit"
}

// gateOptions reads the baseline and the budget, nil if there is nothing to hold the report
// against.
func (r *reportCommand) gateOptions(ctx context.Context, m *Main, known *knowledge.Catalogue) (*gate.Options, error) {
	switch {
	case r.Bisect && (r.Baseline != "" || r.Budget != ""):
		return nil, &analysis.Fault{Code: "usage", What: "--bisect does not go together with --baseline and --budget", Hint: "it judges each commit by its own captures; drop them"}
	case len(r.Load) > 0 && r.Budget == "":
		return nil, &analysis.Fault{Code: "usage", What: "--load is for --budget", Hint: "add --budget FILE"}
	case !r.gated():
		return nil, nil
	}
	for name, value := range r.Load {
		if !(value >= 0) || math.IsInf(value, 0) {
			return nil, &analysis.Fault{Code: "usage", What: "this is no load", Where: fmt.Sprintf("--load %s=%v", name, value), Hint: "write how many there were: --load " + name + "=20"}
		}
	}
	held := &gate.Options{Loads: r.Load, IgnoreRecovered: r.IgnoreRecovered}
	var err error
	if r.Budget != "" {
		if held.Budget, err = readBudget(r.Budget); err != nil {
			return nil, err
		}
	}
	if r.Baseline != "" {
		if err = r.readBaseline(ctx, m, known, held); err != nil {
			return nil, err
		}
	}
	return held, nil
}

func readBudget(name string) (*gate.Budget, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, &analysis.Fault{Code: "not_found", What: "the budget cannot be read", Where: name, Why: whyUnread(err), Hint: "name a file of lines such as: 20 func:net/http.(*persistConn)", Err: err}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostBudget+1))
	if err == nil && len(text) > mostBudget {
		err = fmt.Errorf("it has more than %d bytes", mostBudget)
	}
	if err != nil {
		return nil, &analysis.Fault{Code: "usage", What: "the budget cannot be read", Where: name, Why: err.Error(), Hint: "name a file of lines such as: 20 func:net/http.(*persistConn)", Err: err}
	}
	return gate.ParseBudget(name, string(text))
}

// whyUnread is why a file cannot be opened.
func whyUnread(err error) string {
	if errors.Is(err, os.ErrNotExist) {
		return "there is no such file"
	}
	return err.Error()
}

// readBaseline reads a report of --format json, or makes that of captures.
func (r *reportCommand) readBaseline(ctx context.Context, m *Main, known *knowledge.Catalogue, held *gate.Options) (err error) {
	if held.Baseline, err = readReport(r.Baseline); held.Baseline != nil || err != nil {
		return err
	}
	inputs, err := inputsOf(m, []string{r.Baseline})
	if err != nil {
		return err
	}
	result, err := read(ctx, m, inputs, "reading the baseline")
	if err == nil && len(result.Snapshots) == 0 {
		err = nothingRead("no dump and no report was found in what --baseline names", "name captures of the same program, or what `leakdiff report --format json` wrote")
	}
	if err != nil {
		return err
	}
	nameUpload(result.Snapshots, []string{r.Baseline})
	c := report.Build(result.Snapshots, result.Problems, report.Options{Version: version, Knowledge: known, LoadMetrics: r.LoadMetric})
	held.Baseline, held.Captures = &c.Report, map[int][]analysis.Snapshot{}
	for i := range c.Series {
		held.Captures[i] = c.Ends(i)
	}
	return nil
}

// reportSchema is at the beginning of a report in JSON.
var reportSchema = expression.Lazy(`"schema":\s*"(leakdiff\.report/[^"]*)"`)

// readReport reads a file that is a report in JSON, and returns nil for anything else.
func readReport(name string) (*report.Report, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil // whoever reads it next says so
	}
	defer f.Close()
	in := bufio.NewReader(f)
	head, _ := in.Peek(4096)
	schema := reportSchema.FindSubmatch(head)
	if !bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) || schema == nil {
		return nil, nil
	}
	if string(schema[1]) != report.Schema {
		return nil, &analysis.Fault{Code: "unreadable", What: "the baseline is of another version", Where: name, Why: "it is " + string(schema[1]) + ", and this program knows " + report.Schema, Hint: "write it with this version: leakdiff report --format json"}
	}
	out := &report.Report{}
	decoder := json.NewDecoder(in)
	err = decoder.Decode(out)
	if _, more := decoder.Token(); err == nil && more != io.EOF {
		err = errors.New("something stands behind the report")
	}
	if err != nil {
		return nil, &analysis.Fault{Code: "unreadable", What: "the baseline cannot be read", Where: name, Why: err.Error(), Hint: "write it again: leakdiff report --format json … > " + filepath.Base(name), Err: err}
	}
	if out.Filter != nil {
		return nil, &analysis.Fault{Code: "usage", What: "the baseline lists only some families", Where: name, Why: "it was written with --filter " + out.Filter.Text, Hint: "write it without --filter"}
	}
	return out, nil
}

// hold holds the case against the baseline and the budget and adds what they say to its report.
func (r *reportCommand) hold(c *report.Case, held *gate.Options) report.Gate {
	if held == nil {
		held = &gate.Options{IgnoreRecovered: r.IgnoreRecovered}
	}
	result := gate.Check(c, *held)
	if r.gated() {
		c.Hold(&result)
	}
	return result
}

// uncheckedFault is nil if everything was checked that decides.
func uncheckedFault(open []report.GateUnchecked) error {
	const most = 3
	var said []string
	for k, u := range open {
		if k == most {
			said = append(said, fmt.Sprintf("%d more could not be compared or checked.", len(open)-most))
			break
		}
		said = append(said, u.Text)
	}
	if said == nil {
		return nil
	}
	return &analysis.Fault{Code: "unchecked", What: strings.Join(said, "\n")}
}

// places finds files for the readers of a SARIF log: sources that are below --source, or below
// the current directory without it; others are as the dump names them.
func (r *reportCommand) places() gate.Places {
	here, err := os.Getwd()
	if err != nil {
		here = ""
	}
	capture, _ := address(here, r.Paths[0])
	if r.Redact {
		capture = "capture" // where it lies names people
	}
	return gate.Places{
		Capture: capture,
		File: func(file string) (string, bool) {
			if root, name := r.source.Find(file); root >= 0 && (strings.Contains(name, "/") || inModule(r.Source[root], file, name)) {
				return address(here, filepath.Join(r.Source[root], filepath.FromSlash(name)))
			}
			return address(here, file)
		},
	}
}

// inModule reports that a file at the top of a directory is that of the module there: its name
// alone would fit any.
//
//	inModule(".", "example.com/shop/main.go", "main.go") = true beside a go.mod of example.com/shop
func inModule(dir, file, name string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if module, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return file == strings.Trim(strings.TrimSpace(module), `"`)+"/"+name
		}
	}
	return false
}

// address is a path as a URI reference, relative where the file is below the directory.
func address(here, file string) (uri string, within bool) {
	if !filepath.IsAbs(file) {
		file = filepath.ToSlash(filepath.Clean(file))
		return (&url.URL{Path: file}).EscapedPath(), file != ".." && !strings.HasPrefix(file, "../")
	}
	if below, err := filepath.Rel(here, file); err == nil && filepath.IsLocal(below) {
		return (&url.URL{Path: filepath.ToSlash(below)}).EscapedPath(), true
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String(), false
}
