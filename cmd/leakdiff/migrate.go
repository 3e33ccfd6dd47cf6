package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
	"leakdiff/store"
)

type migrateCommand struct {
	From     string `required:"" placeholder:"DIR|URL" help:"What is moved: a data directory, or postgres://user@host/name."`
	FromData string `placeholder:"DIR" type:"path" help:"Data directory with the uploads of a PostgreSQL database."`
	To       string `required:"" placeholder:"DIR|URL" help:"Where it is moved to: a new directory, or an empty PostgreSQL database."`
	ToData   string `placeholder:"DIR" type:"path" help:"Data directory for the uploads of a PostgreSQL database."`
}

// Help stands below the flags in the help of the command.
func (*migrateCommand) Help() string {
	return `Copies everything, and verifies the copy row by row and upload by upload. The
source stays as it is. Links stay valid: ids do not change. No server may run on
either. What was interrupted goes on when the same command is given again, and no
server starts on what is not complete. Own knowledge files are copied from
directory to directory; password files are not touched.

Exit status: 0 done, 1 done, but uploads were missing or damaged before, 2 not
done.

Examples:
  leakdiff migrate --from /var/lib/leakdiff --to postgres://leakdiff@db/leakdiff --to-data /srv/leakdiff
  leakdiff migrate --from postgres://leakdiff@db/leakdiff --from-data /srv/leakdiff --to /var/lib/leakdiff`
}

func (c *migrateCommand) Run(ctx context.Context, m *Main) error {
	from, err := place("--from", c.From, c.FromData)
	if err != nil {
		return err
	}
	to, err := place("--to", c.To, c.ToData)
	if err != nil {
		return err
	}
	began, said := time.Now(), time.Now()
	moved, err := store.Move(ctx, store.MoveConfig{From: from, To: to, Progress: func(so store.Moved) {
		if time.Since(said) >= time.Second {
			said = time.Now()
			fmt.Fprintf(m.Stderr, "leakdiff: %s, %s of %s, at table %s\n", wording.Plural(int(so.Rows), "row", "rows"), wording.Plural(int(so.Uploads), "upload", "uploads"), wording.Bytes(so.Bytes), so.Table)
		}
	}})
	if err != nil {
		return err
	}
	if err := moveKnowledge(from, to); err != nil {
		return err
	}
	fmt.Fprintf(m.Stdout, "Moved and verified: %s and %s of %s in %s. Links stay valid.\n", wording.Plural(int(moved.Rows), "row", "rows"),
		wording.Plural(int(moved.Uploads), "upload", "uploads"), wording.Bytes(moved.Bytes), wording.Duration(time.Since(began)))
	if len(moved.Missing) == 0 {
		return nil
	}
	for _, sha := range moved.Missing {
		fmt.Fprintf(m.Stderr, "leakdiff: an upload was missing or damaged before, and is missing now: sha256 %s\n", sha)
	}
	fmt.Fprintln(m.Stderr, "leakdiff: the same upload puts each back")
	return &statusError{status: exitVerdict}
}

// place is a data directory, or a database with the data directory of its uploads.
func place(flag, where, data string) (store.Config, error) {
	isDatabase := strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://")
	switch {
	case isDatabase && data == "":
		return store.Config{}, &analysis.Fault{Code: "usage", What: "nothing was moved", Where: flag, Why: "it is not said where the uploads of the database are", Hint: "Give " + flag + "-data their data directory."}
	case isDatabase:
		return store.Config{Dir: data, Database: where}, nil
	case data != "":
		return store.Config{}, &analysis.Fault{Code: "usage", What: "nothing was moved", Where: flag + "-data", Why: "the uploads of a data directory are in it", Hint: "Leave " + flag + "-data out."}
	}
	return store.Config{Dir: where}, nil
}

// moveKnowledge copies the own knowledge files of a data directory.
func moveKnowledge(from, to store.Config) error {
	source := filepath.Join(from.Dir, "knowledge")
	if _, err := os.Stat(source); os.IsNotExist(err) {
		return nil
	}
	target := filepath.Join(to.Dir, "knowledge")
	if err := os.MkdirAll(target, 0o700); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(source, "*.json"))
	if err != nil {
		return err
	}
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(target, filepath.Base(path)), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
