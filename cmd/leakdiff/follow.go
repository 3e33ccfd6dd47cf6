package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/report"
)

type followCommand struct {
	ID     string   `arg:"" name:"id" help:"Whom to follow: the id of a goroutine (42), or goroutine:42, thread:31, fd:12, inode:90112, watch:5.3."`
	Paths  []string `arg:"" name:"path" help:"Files, directories and archives; - is standard input."`
	Format string   `help:"text or json." enum:"text,json" default:"text"`
}

// Help stands below the flags in the help of the command.
func (*followCommand) Help() string {
	return `Prints where one goroutine, thread, descriptor or watch was in each capture: the place in the code, the state, how long it waits, the locks that it waits for and holds, who started or opened it, and its labels. After a restart the same number is another one.
Exit status: 0 done, 2 nobody has that number.

Example:
  leakdiff follow 4711 captures/`
}

func (f *followCommand) Run(ctx context.Context, m *Main) error {
	if _, err := report.ParseWanted(f.ID); err != nil {
		return err // before anything is read
	}
	inputs, err := inputsOf(m, f.Paths)
	if err != nil {
		return err
	}
	collectAt(reportPercent)
	result, err := ingest.Run(ctx, ingest.Config{Bundle: bundle.Config{TempDir: os.TempDir()}, Packed: true}, inputs)
	if err != nil {
		return err
	}
	if len(result.Snapshots) == 0 {
		return nothingRead("no dump was found", "leakdiff report says what each file is")
	}
	c := report.Build(result.Snapshots, result.Problems, report.Options{Version: version})
	found, err := c.Follow(f.ID)
	if err != nil {
		return err
	}
	if f.Format == "json" {
		encoder := json.NewEncoder(m.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(found)
	}
	for i := range found.Tracks {
		if i > 0 {
			fmt.Fprintln(m.Stdout)
		}
		fmt.Fprint(m.Stdout, found.Tracks[i].Text())
	}
	return nil
}
