package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/report"
)

type diffCommand struct {
	A      string `arg:"" name:"a" help:"The capture from before: a file, directory or archive; - is standard input."`
	B      string `arg:"" name:"b" help:"The capture from after."`
	Format string `help:"text, or json: a list with a comparison of each process." enum:"text,json" default:"text"`
	All    bool   `help:"Text: list all groups, also those that are as they were."`
}

// Help stands below the flags in the help of the command.
func (*diffCommand) Help() string {
	return `Compares the first capture of each process with its last one, group by group: what grew, came, shrank and went, and how many of them are new. What leaks is said by report, from all captures.

Exit status: 0 done, 2 error, or no process is in both.

Example:
  leakdiff diff monday.txt tuesday.txt`
}

func (c *diffCommand) Run(ctx context.Context, m *Main) error {
	inputs, err := inputsOf(m, []string{c.A, c.B})
	if err != nil {
		return err
	}
	collectAt(reportPercent)
	result, err := ingest.Run(ctx, ingest.Config{Bundle: bundle.Config{TempDir: os.TempDir()}, Packed: true, Objects: true}, inputs)
	if err != nil {
		return err
	}
	if len(result.Snapshots) == 0 {
		return nothingRead("no dump was found", "leakdiff report says what each file is")
	}
	built := report.Build(result.Snapshots, result.Problems, report.Options{Version: version})
	all := []report.Comparison{}
	for i := range built.Series {
		s := &built.Series[i]
		if last := len(s.Snapshots) - 1; last > 0 {
			options := diff.Options{Judgements: s.Judged, Relation: report.RelationOf(s, 0, s, last)}
			all = append(all, report.NewComparison(diff.Compare(s.Snapshots[0], s.Snapshots[last], options), s))
			if c.Format == "text" {
				fmt.Fprint(m.Stdout, all[len(all)-1].Text(s.Snapshots[0], s.Snapshots[last], c.All))
			}
		}
	}
	if len(all) == 0 {
		return &analysis.Fault{Code: "empty", What: "no process is in both", Where: c.A + ", " + c.B, Why: "each was captured once", Hint: "leakdiff report of both says which processes they are of"}
	}
	if c.Format == "text" {
		return nil
	}
	encoder := json.NewEncoder(m.Stdout)
	encoder.SetIndent("", " ")
	return encoder.Encode(all)
}
