package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"leakdiff/analysis/say/wording"
	"leakdiff/store"
)

type checkCommand struct {
	Data   string `help:"Data directory of serve." default:"leakdiff-data" type:"path"`
	Blobs  string `help:"Bucket of the uploads, if serve has them there." placeholder:"URL"`
	Repair bool   `help:"Mend what can be mended without losing anything. No server may run on the directory."`
	Format string `help:"text or json." enum:"text,json" default:"text"`
}

// Help stands below the flags in the help of the command.
func (*checkCommand) Help() string {
	return `Verifies database, references, uploads by their hashes, results, reports and counts, also while a server runs. Exit status: 0 sound, 1 something is damaged, 2 it could not be checked.`
}

func (c *checkCommand) Run(ctx context.Context, m *Main) error {
	check := store.Check
	if c.Repair {
		log := slog.New(slog.NewTextHandler(m.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		check = func(ctx context.Context, dir, blobs string) (*store.Checked, error) {
			return store.Repair(ctx, dir, blobs, log)
		}
	}
	found, err := check(ctx, c.Data, c.Blobs)
	if err != nil {
		return err
	}
	if err := printChecked(m.Stdout, found, c.Format, c.Repair); err != nil {
		return err
	}
	if !found.Sound() {
		return &statusError{status: exitVerdict}
	}
	return nil
}

func printChecked(w io.Writer, c *store.Checked, format string, repair bool) error {
	if format == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(struct {
			Schema string `json:"schema"`
			Sound  bool   `json:"sound"`
			*store.Checked
		}{"leakdiff.check/1", c.Sound(), c})
	}
	for _, f := range c.Findings {
		printFinding(w, f, repair)
	}
	verdict := "sound"
	if !c.Sound() {
		verdict = "NOT SOUND"
	}
	fmt.Fprintf(w, "%s: %s, %s, %s verified (%s), %s, %s, %s\n", verdict,
		wording.Plural(c.Cases, "case", "cases"), wording.Plural(c.Bundles, "bundle", "bundles"),
		wording.Plural(c.Uploads, "upload", "uploads"), wording.Bytes(c.UploadBytes), wording.Plural(c.Snapshots, "snapshot", "snapshots"),
		wording.Plural(c.Reports, "stored report", "stored reports"), wording.Plural(c.Permalinks, "permalink", "permalinks"))
	if c.InUse {
		fmt.Fprintln(w, "A server runs on the directory. What it wrote meanwhile may not be checked.")
	}
	return nil
}

func printFinding(w io.Writer, f store.Finding, repair bool) {
	rank := "damage"
	if f.Note {
		rank = "note"
	}
	fmt.Fprintf(w, "%s: %s: %s\n", rank, f.What, wording.Printable(f.Where))
	if f.Why != "" {
		fmt.Fprintf(w, "    why: %s\n", wording.Printable(f.Why))
	}
	switch {
	case f.Mended:
		fmt.Fprintf(w, "    mended: %s\n", f.Mend)
	case f.Mend != "" && !repair:
		fmt.Fprintf(w, "    --repair would %s\n", f.Mend)
	}
	if f.Hint != "" {
		fmt.Fprintf(w, "    %s\n", f.Hint)
	}
}
