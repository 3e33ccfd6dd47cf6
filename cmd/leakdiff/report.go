package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/filter"
	"leakdiff/analysis/say/redact"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/source"
)

type reportCommand struct {
	Paths           []string           `arg:"" name:"path" help:"Files, directories and archives; - reads standard input."`
	Format          string             `help:"text, md, json, html, csv or jira; ticket and ticket-jira are the answer in a few lines for an issue; sarif and junit are for pipelines and editors." enum:"text,md,json,html,csv,jira,ticket,ticket-jira,sarif,junit" default:"text"`
	FailOn          string             `help:"Exit with status 1 when a family is leaking, when it is or a pool is saturated, when it is at least suspicious, or has more members than before and no load explains it. auto is grew with --baseline and never without." enum:"auto,never,leaking,saturated,suspicious,grew" default:"auto"`
	Baseline        string             `help:"A report (--format json) or captures of the same program from before: only what is new or grew since counts for --fail-on, and what was set aside in it stays aside." placeholder:"PATH" type:"path"`
	Budget          string             `help:"File of what a process may have in its last capture, in families or objects, for each unit of a load. What is over it ends with status 1." placeholder:"FILE" type:"path"`
	Load            map[string]float64 `help:"A load for the budget that the captures do not have. Repeatable." placeholder:"NAME=N"`
	LoadMetric      []string           `help:"A gauge in the metrics of the captures that counts what others ask of the process, such as its tenants: what is in proportion to it is no leak. Repeatable." placeholder:"NAME"`
	Knowledge       string             `help:"Directory with own knowledge files, *.json, that add to the catalogue or replace its entries." type:"path"`
	Filter          string             `help:"Print only families that pass: 'func:prober wait>10m delta>0 -pkg:net/http /re/ a|b'. Findings and --fail-on are of all."`
	Redact          bool               `help:"Replace names of hosts, users and pods, addresses, paths, secrets and the like by pseudonyms, and say on standard error what was replaced."`
	IgnoreRecovered bool               `help:"Families whose cause went away do not trip --fail-on."`
	Before          []string           `help:"Captures of the same program from before a change, such as a fix; PATH is from after it. Says whether the change ended the growth. Repeatable." placeholder:"PATH" type:"path"`
	Bisect          bool               `help:"For git bisect run: exit with status 0 where the leak is not there, 1 where it is, 125 where the captures do not tell. Needs --before or --pace; --fail-on says what is bad (default: leaking)."`
	Pace            string             `help:"With --bisect: how fast the leak grows, such as 24/5m or 3/h. What would have shown it is good." placeholder:"N/TIME"`
	Verbose         bool               `short:"v" help:"Text: print the whole page of the case: counts, every finding in full, families, problems."`
	Source          []string           `help:"Text with --verbose: a module cache or a checkout, of whose Go files the lines that start goroutines are printed at the end. Repeatable; not with --redact." placeholder:"DIR"`
	Top             *int               `help:"Text: list at most N further findings (default: 10)." placeholder:"N"`

	// color is set where a terminal shows colours.
	color bool
	// source has the files below Source.
	source *source.Tree
}

// Help stands below the flags in the help of the command.
func (*reportCommand) Help() string {
	return `Exit status: 0 done, 1 the --fail-on verdict was reached, 2 error, no evidence was found in the input, or not all of the baseline or the budget could be checked.
With --bisect: 0 good, 1 bad, 125 cannot tell or nothing could be read, 129 an error that ends the bisection, such as a wrong flag.

Examples:
  leakdiff report t0.txt t1.txt t2.txt
  leakdiff report --verbose --format md bundle.tar.gz
  leakdiff report --verbose --source . --source ~/go/pkg/mod t0.txt t1.txt
  leakdiff report --fail-on leaking --redact captures/
  leakdiff report --before v1.5.2.tgz v1.5.3.tgz
  leakdiff report --baseline main.json --fail-on grew --format sarif captures/ > leakdiff.sarif
  leakdiff report --budget leakdiff.budget --load connections=20 after.txt
  git bisect run sh -c 'make && ./capture.sh now.tgz && leakdiff report --bisect --before bad.tgz now.tgz'`
}

// reportPercent is lower than servePercent: a report serves no pages meanwhile, and most
// of what it read lives to its end.
const reportPercent = 20

func (r *reportCommand) Run(ctx context.Context, m *Main) error {
	if r.Bisect {
		return aborting(func() error { return r.run(ctx, m) })
	}
	return r.run(ctx, m)
}

// read reads inputs while the terminal shows how far it is.
func read(ctx context.Context, m *Main, inputs []bundle.Input, doing string) (ingest.Result, error) {
	bar := m.progress(doing, "read, comparing", inputs)
	defer bar.end()
	return ingest.Run(ctx, ingest.Config{Bundle: bundle.Config{TempDir: os.TempDir()}, Packed: true, Objects: true, Progress: bar.step}, inputs)
}

func (r *reportCommand) run(ctx context.Context, m *Main) error {
	perHour, err := r.checkBisect()
	if err != nil {
		return err
	}
	asked, err := filter.Parse(r.Filter)
	if err != nil {
		return filterFault(r.Filter, err)
	}
	inputs, err := inputsOf(m, r.Paths)
	if err != nil {
		return err
	}
	known, problems, err := knowledgeIn(r.Knowledge)
	if err != nil {
		return err
	}
	if r.Format == "sarif" && len(r.Source) == 0 {
		r.Source = []string{"."} // a pipeline runs in its checkout
	}
	roots, err := openSources(r.Source)
	if err != nil {
		return err
	}
	defer roots.close()
	if !r.Redact {
		r.source = roots.tree()
	}
	collectAt(reportPercent)
	held, err := r.gateOptions(ctx, m, known)
	if err != nil {
		return err
	}
	r.color = m.colored()
	before, problemsBefore, err := r.readBefore(ctx, m)
	if err != nil {
		return err
	}
	bar := m.progress("reading", "read, comparing", inputs)
	result, err := ingest.Run(ctx, ingest.Config{Bundle: bundle.Config{TempDir: os.TempDir()}, Packed: true, Objects: true, Progress: bar.step}, inputs)
	if err != nil {
		bar.end()
		return err
	}
	nothing := len(result.Snapshots) == 0
	nameUpload(result.Snapshots, r.Paths)
	if len(before) > 0 {
		result.Snapshots = report.Change(before, result.Snapshots)
		before = result.Snapshots[:len(before)]
		problems = append(problemsBefore, problems...)
	}
	options := report.Options{Version: version, Knowledge: known, LoadMetrics: r.LoadMetric}
	c := report.Build(result.Snapshots, append(result.Problems, problems...), options)
	bar.end()
	if !asked.Empty() {
		c = c.Listing(asked)
	}
	counted := r.hold(&c, held)
	passed := !counted.Reached(r.accused())
	var answer error
	if r.Bisect && !nothing {
		answer = r.bisected(m, &c, before, perHour, !passed, options)
	}
	var hide *redact.Redactor
	if r.Redact {
		names := r.names(c)
		if names.Said, err = known.OwnTexts(); err != nil {
			return err
		}
		hide = redact.New(names)
	}
	if r.Format == "json" {
		// The report needs no members and trends, which would take memory beside its text.
		result, c.Series = ingest.Result{}, nil
	}
	out := &bytes.Buffer{}
	err = r.write(ctx, out, c, hide)
	if err != nil {
		return err
	}
	if _, err := m.Stdout.Write(out.Bytes()); err != nil {
		return err
	}
	if r.Redact {
		writeReceipt(m.Stderr, hide.Receipt())
	}
	if nothing {
		return nothingRead("no dump was found", "the report says what each file is")
	}
	if r.Bisect {
		return answer
	}
	if !passed {
		return errVerdictReached
	}
	open, err := redact.Copy(hide, counted.Open(r.accused()))
	if err != nil {
		return err
	}
	return uncheckedFault(open)
}

// nothingRead is the error of input without evidence.
func nothingRead(what, hint string) error {
	return &analysis.Fault{Code: "empty", What: what, Hint: hint}
}

// names returns the parts of a case from which a redactor learns.
func (r *reportCommand) names(c report.Case) redact.Case {
	out := redact.Case{Problems: c.Report.Problems}
	for _, series := range c.Series {
		out.Series = append(out.Series, series.Snapshots)
	}
	for _, p := range slices.Concat(r.Before, r.Paths) {
		if p != "-" {
			out.Files = append(out.Files, filepath.Base(p))
		}
	}
	return out
}

// writeReceipt prints what was replaced, in the words of the page that freezes a result.
func writeReceipt(w io.Writer, receipt []redact.Receipt) {
	var b strings.Builder
	fmt.Fprintln(&b, redact.Sum(receipt))
	for _, x := range receipt {
		if x.Places > 0 {
			fmt.Fprintf(&b, "  %s: %s; %s\n", x.Title(), x.Count(), x.Become())
		}
	}
	io.WriteString(w, strings.ReplaceAll(b.String(), "\u00a0", " ")) // hard spaces are for pages
}

// filterFault explains an error in a filter, before anything is read.
func filterFault(text string, err error) error {
	var e *filter.Error
	if !errors.As(err, &e) {
		return err
	}
	return &analysis.Fault{Code: "usage", What: e.Said(), Where: fmt.Sprintf("--filter %q, column %d", text, e.Column), Hint: e.Hint, Err: err}
}

// failsOn lists the verdicts that trip each word of --fail-on. Growth that only follows
// its load trips none.
var failsOn = map[string][]analysis.Verdict{
	"leaking":    {analysis.Leaking},
	"saturated":  {analysis.Leaking, analysis.Saturated},
	"suspicious": {analysis.Leaking, analysis.Suspicious},
	"grew":       {analysis.Leaking, analysis.Suspicious, analysis.Stopped, analysis.Grew, analysis.New},
}

// inputsOf lists the files that the arguments name and opens none. The files of a single
// directory have paths below it; with several arguments, each has its name in front.
func inputsOf(m *Main, paths []string) ([]bundle.Input, error) {
	var inputs []bundle.Input
	under := prefixes(paths)
	for i, name := range paths {
		if name == "-" {
			inputs = append(inputs, bundle.Input{Name: "standard input", Size: -1, Open: func() (io.ReadCloser, error) { return io.NopCloser(m.Stdin), nil }})
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			why := err.Error()
			if errors.Is(err, fs.ErrNotExist) {
				why = "there is no such file or directory"
			}
			return nil, &analysis.Fault{Code: "not_found", What: "cannot be read", Where: name, Why: why, Hint: "name files, directories or archives", Err: err}
		}
		if err := checkKernelFile(name, info.IsDir()); err != nil {
			return nil, err
		}
		if info.IsDir() {
			below, err := bundle.FromFS(os.DirFS(name), under[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			inputs = append(inputs, below...)
			continue
		}
		inputs = append(inputs, bundle.Input{Name: under[i], Size: info.Size(), ModTime: info.ModTime(), Open: func() (io.ReadCloser, error) { return os.Open(name) }})
	}
	return inputs, nil
}

// nameUpload tells the snapshots of a single argument its name, which their paths lack.
func nameUpload(snapshots []analysis.Snapshot, paths []string) {
	if len(paths) != 1 || paths[0] == "-" {
		return
	}
	whole, err := filepath.Abs(paths[0])
	if err != nil {
		return
	}
	for i := range snapshots {
		snapshots[i].Upload = filepath.Base(whole)
	}
}

// prefixes are put before the paths of the files of each argument: nothing for a single
// directory, else the last element of its path, and more of it if these are equal
// ("a/kubelet", "b/kubelet"), or if more of it says whose a file is ("pods/web-1/app.txt").
func prefixes(paths []string) []string {
	out := make([]string, len(paths))
	parts := make([][]string, len(paths))
	for i, p := range paths {
		if whole, err := filepath.Abs(p); err == nil {
			p = whole
		}
		parts[i] = strings.Split(strings.Trim(filepath.ToSlash(p), "/"), "/")
	}
	if len(paths) == 1 {
		if info, err := os.Stat(paths[0]); err == nil && info.IsDir() {
			return out
		}
	}
	for depth := 1; ; depth++ {
		seen := map[string]bool{}
		longest := 0
		for i, p := range parts {
			out[i] = strings.Join(p[max(0, len(p)-max(depth, ingest.Telling(p))):], "/")
			seen[out[i]] = true
			longest = max(longest, len(p))
		}
		if len(seen) == len(paths) || depth >= longest {
			return out
		}
	}
}
