package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/catalogue"
	"leakdiff/store"
)

type migrateCommand struct {
	From      string `required:"" placeholder:"DIR|URL" help:"What is moved: a data directory, or postgres://user@host/name."`
	FromData  string `placeholder:"DIR" type:"path" help:"Data directory with the uploads of a PostgreSQL database."`
	FromBlobs string `placeholder:"URL" help:"Bucket with the uploads, s3://…."`
	To        string `required:"" placeholder:"DIR|URL" help:"Where it is moved to: a new directory, or an empty PostgreSQL database."`
	ToData    string `placeholder:"DIR" type:"path" help:"Data directory for the uploads of a PostgreSQL database."`
	ToBlobs   string `name:"blobs" placeholder:"URL" help:"Bucket for the uploads, s3://…."`
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
  leakdiff migrate --from /var/lib/leakdiff --to postgres://leakdiff@db/leakdiff --blobs s3://bucket/leakdiff
  leakdiff migrate --from postgres://leakdiff@db/leakdiff --from-blobs s3://bucket/leakdiff --to /var/lib/leakdiff
  leakdiff migrate --from /var/lib/leakdiff --to postgres://leakdiff@db/leakdiff --to-data /srv/leakdiff`
}

func (c *migrateCommand) Run(ctx context.Context, m *Main) error {
	from, clean, err := place("--from", c.From, "--from-data", c.FromData, "--from-blobs", c.FromBlobs)
	if err != nil {
		return err
	}
	defer clean()
	to, clean, err := place("--to", c.To, "--to-data", c.ToData, "--blobs", c.ToBlobs)
	if err != nil {
		return err
	}
	defer clean()
	// Why a database or a bucket does not answer stands in the log alone.
	from.Log = slog.New(slog.NewTextHandler(m.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	to.Log = from.Log
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
	if err := moveKnowledge(ctx, m, from, to); err != nil {
		return err
	}
	if moved.Before {
		fmt.Fprintln(m.Stdout, "The move was complete before. Both are the same: every row was compared again.")
	} else {
		fmt.Fprintf(m.Stdout, "Moved and verified: %s and %s of %s in %s. Links stay valid.\n", wording.Plural(int(moved.Rows), "row", "rows"),
			wording.Plural(int(moved.Uploads), "upload", "uploads"), wording.Bytes(moved.Bytes), wording.Duration(time.Since(began)))
	}
	if len(moved.Missing) == 0 {
		return nil
	}
	for _, sha := range moved.Missing {
		fmt.Fprintf(m.Stderr, "leakdiff: an upload was missing or damaged before, and is missing now: sha256 %s\n", sha)
	}
	fmt.Fprintln(m.Stderr, "leakdiff: the same upload puts each back")
	return &statusError{status: exitVerdict}
}

// databaseAddress matches both forms that serve --database takes.
const databaseAddress = `^postgres(ql)?://|(^|\s)(host|hostaddr|port|dbname|user|password|service|sslmode)\s*=`

// place is a data directory or a database, and where its uploads are. A database with a bucket
// needs a directory for a moment, which clean removes.
func place(flag, where, dataFlag, data, blobsFlag, blobs string) (cfg store.Config, clean func(), err error) {
	refused := func(where, why, hint string) (store.Config, func(), error) {
		return cfg, nil, &analysis.Fault{Code: "usage", What: "nothing was moved", Where: where, Why: why, Hint: hint}
	}
	cfg, clean = store.Config{Dir: where, Blobs: blobs}, func() {}
	isDatabase := regexp.MustCompile(databaseAddress).MatchString(where)
	switch {
	case !isDatabase && strings.Contains(where, "://"):
		// It may have a password in it.
		return refused(flag, "it is neither a directory nor postgres://…", "Write postgres://user@host/name, and the bucket of the uploads with "+blobsFlag+".")
	case !isDatabase && data != "":
		return refused(dataFlag, "the uploads of a data directory are in it", "Leave "+dataFlag+" out.")
	case isDatabase && data == "" && blobs == "":
		return refused(flag, "it is not said where the uploads of the database are", "Give "+blobsFlag+" their bucket, or "+dataFlag+" their data directory.")
	case isDatabase && data != "" && blobs != "":
		return refused(dataFlag, "the uploads of a database are in one place", "Give "+blobsFlag+" or "+dataFlag+".")
	case isDatabase && data != "":
		cfg.Dir, cfg.Database = data, where
	case isDatabase:
		if cfg.Dir, err = os.MkdirTemp("", "leakdiff-migrate-"); err != nil {
			return cfg, nil, err
		}
		cfg.Database, clean = where, func() { os.RemoveAll(cfg.Dir) }
	}
	return cfg, clean, nil
}

// moveKnowledge moves what people know of leaks: files go from directory to directory, and what
// was entered on pages goes from its file to a setting, where servers share a database, or back.
// What has no place is named.
func moveKnowledge(ctx context.Context, m *Main, from, to store.Config) error {
	target := filepath.Join(to.Dir, "knowledge")
	files, err := filepath.Glob(filepath.Join(from.Dir, "knowledge", "*.json"))
	if err != nil {
		return err
	}
	contents := map[string][]byte{}
	for _, path := range files {
		if contents[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			return err
		}
	}
	st, err := store.Open(ctx, to)
	if err != nil {
		return err
	}
	defer st.Close()
	entered, set, err := st.Setting(ctx, catalogue.InRows)
	if err != nil {
		return err
	}
	file := contents[catalogue.Remembered]
	switch {
	case to.Database == "" && set && file == nil:
		contents[catalogue.Remembered] = []byte(entered)
	case to.Database != "" && file != nil:
		delete(contents, catalogue.Remembered)
		if set {
			break // it came with an earlier move
		}
		if err := st.SetSetting(ctx, catalogue.InRows, string(file)); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		if to.Database != "" && to.Blobs != "" {
			fmt.Fprintf(m.Stderr, "leakdiff: own knowledge stays where it is: copy %s to the directory that --knowledge names on each server\n", filepath.Join(from.Dir, "knowledge", name))
			continue
		}
		if err := os.MkdirAll(target, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(target, name), contents[name], 0o600); err != nil {
			return err
		}
	}
	return nil
}
