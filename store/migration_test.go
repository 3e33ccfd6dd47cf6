package store

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/migrations"
	"leakdiff/samples/corpus"
)

// everyFault names a variable; where it is set, tests inject every fault that they have a
// sample of otherwise.
const everyFault = "LEAKDIFF_FAULTS"

// source is a closed store with its cases, from which older databases are filled.
type source struct {
	*fixture
	cases map[string][]analysis.Snapshot
}

// aPresentStore has cases with goroutines, descriptors, members and an edit.
func aPresentStore(t *testing.T) source {
	f := openFile(t)
	c := f.newCase("kubelets")
	f.filled(c.ID, "one", kubeletResult("2", "3"))
	f.filled(c.ID, "two", kubeletResult("4"))
	other := f.newCase("other")
	f.filled(other.ID, "three", kubeletResult("5"))
	f.edit(other.ID, identity.Host, snapshotID("5"), "node-9")
	cases := map[string][]analysis.Snapshot{}
	for _, id := range []string{c.ID, other.ID} {
		cases[id] = must[[]analysis.Snapshot](t)(f.full(id))
	}
	f.close()
	return source{f, cases}
}

// sourcesOf are the stores that databases of each version are filled from.
func sourcesOf(t *testing.T) func(version int) source {
	before, after := aPresentStore(t), aPresentStore(t)
	before.reopen()
	before.unpackFacts()
	before.ok(before.release())
	before.Store = nil
	return func(version int) source {
		if version < factsVersion {
			return before
		}
		return after
	}
}

// fullEntriesUntil is the migration after which an entry is kept by the functions that it
// names.
const fullEntriesUntil = 11

// parentsFirst are tables that triggers of others need.
var parentsFirst = []string{"setting", "cases", "bundle", "blob", "bundle_file", "job", "function", "frame", "family", "stack", "series", "snapshot"}

// atVersion makes the database of a version by its migrations, and fills each of its tables
// with the rows of the source.
func (f source) atVersion(t *testing.T, version int) *fixture {
	t.Helper()
	of := &fixture{t: t, ctx: t.Context(), dir: t.TempDir(), clock: f.clock}
	of.ok(os.CopyFS(filepath.Join(of.dir, blobDir), os.DirFS(filepath.Join(f.dir, blobDir))))
	db, err := connect(filepath.Join(of.dir, databaseFile), 1, ofWriter)
	of.ok(err)
	defer db.Close()
	all := must[[]migrations.Migration](t)(migrations.All())
	for _, m := range all[:version] {
		of.ok(step(of.ctx, db, m))
	}
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(of.ctx, query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	exec(`PRAGMA foreign_keys = OFF`)
	exec(`ATTACH ? AS src`, filepath.Join(f.dir, databaseFile))
	exec(`BEGIN`)
	for _, table := range of.tables(db) {
		columns := of.texts(db, `SELECT name FROM pragma_table_info(?1) WHERE name IN (SELECT name FROM pragma_table_info(?1, 'src'))`, table)
		if len(columns) > 0 {
			exec(fmt.Sprintf(`INSERT OR REPLACE INTO main.%[1]s (%[2]s) SELECT %[2]s FROM src.%[1]s`, table, strings.Join(columns, ", ")))
		}
	}
	if version < fullEntriesUntil {
		for _, snaps := range f.cases {
			for _, snap := range snaps {
				for _, g := range snap.Groups {
					exec(`UPDATE family SET entry = ? WHERE fingerprint = ?`, g.Family.Entry, g.Family.Fingerprint)
				}
			}
		}
	}
	exec(`INSERT INTO function_text (function_text) VALUES ('rebuild')`)
	exec(`INSERT INTO family_text (family_text) VALUES ('rebuild')`)
	exec(`COMMIT`)
	exec(`DETACH src`)
	return of
}

// tables are those with rows of their own, parents before children.
func (f *fixture) tables(db *sql.DB) []string {
	all := f.texts(db, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%\_text%' ESCAPE '\' AND name NOT LIKE 'sqlite%' ORDER BY name`)
	rank := func(table string) int {
		if i := slices.Index(parentsFirst, table); i >= 0 {
			return i
		}
		return len(parentsFirst)
	}
	slices.SortStableFunc(all, func(a, b string) int { return rank(a) - rank(b) })
	return all
}

func (f *fixture) texts(db *sql.DB, query string, args ...any) (out []string) {
	f.t.Helper()
	rows, err := db.QueryContext(f.ctx, query, args...)
	f.ok(err)
	defer rows.Close()
	for rows.Next() {
		var text string
		f.ok(rows.Scan(&text))
		out = append(out, text)
	}
	f.ok(rows.Err())
	return out
}

func TestADatabaseOfEveryEarlierVersionIsBroughtUpToDate(t *testing.T) {
	corpus.Heavy(t)
	from := sourcesOf(t)
	for version := 1; version < len(must[[]migrations.Migration](t)(migrations.All())); version++ {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			src := from(version)
			f := src.atVersion(t, version)
			f.reopen()
			f.wantCases(src.cases)
			f.close()
			if got := f.check(); len(got.Findings) > 0 || got.Cases < len(src.cases) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// statements takes a migration apart. A trigger ends with END.
//
//	"CREATE TABLE a (b);\n-- c\nDROP TABLE d;"  ->  "CREATE TABLE a (b);", "-- c\nDROP TABLE d;"
func statements(text string) (out []string) {
	var one strings.Builder
	trigger := false
	for line := range strings.Lines(text) {
		one.WriteString(line)
		trigger = trigger || strings.HasPrefix(line, "CREATE TRIGGER")
		end := strings.TrimSpace(line)
		if cut := strings.Index(end, " -- "); cut >= 0 {
			end = strings.TrimSpace(end[:cut])
		}
		if strings.HasSuffix(end, ";") && (!trigger || strings.HasSuffix(end, "END;")) && !strings.HasPrefix(end, "--") {
			out = append(out, one.String())
			one.Reset()
			trigger = false
		}
	}
	return out
}

// killedWithin runs the first statements of a step and returns what a process leaves that is
// killed then: a copy of the database with its log, which was not committed.
func (f *fixture) killedWithin(t *testing.T, first []string) *fixture {
	t.Helper()
	db, err := connect(filepath.Join(f.dir, databaseFile), 1, ofWriter)
	f.ok(err)
	defer db.Close()
	tx, err := db.BeginTx(f.ctx, nil)
	f.ok(err)
	defer tx.Rollback()
	for _, text := range first {
		if _, err := tx.ExecContext(f.ctx, text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	left := &fixture{t: t, ctx: t.Context(), dir: t.TempDir(), clock: f.clock}
	for _, name := range []string{databaseFile, databaseFile + "-wal"} {
		copyIfThere(t, filepath.Join(f.dir, name), filepath.Join(left.dir, name))
	}
	left.ok(os.CopyFS(filepath.Join(left.dir, blobDir), os.DirFS(filepath.Join(f.dir, blobDir))))
	return left
}

func copyIfThere(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if os.IsNotExist(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err == nil {
		_, err = io.Copy(out, in)
		out.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAKillWithinAnyStatementOfAMigrationLosesNothing(t *testing.T) {
	corpus.Heavy(t)
	from := sourcesOf(t)
	all := must[[]migrations.Migration](t)(migrations.All())
	kills := 0
	for _, m := range all[1:] {
		t.Run(m.Name, func(t *testing.T) {
			src := from(m.Version - 1)
			before := src.atVersion(t, m.Version-1)
			if m.Version == factsVersion {
				db, err := connect(filepath.Join(before.dir, databaseFile), 1, ofWriter)
				before.ok(err)
				before.ok(repack(before.ctx, db, slog.New(slog.DiscardHandler), sayEvery))
				before.ok(db.Close())
			}
			parts := statements(m.SQL)
			if joined := strings.Join(parts, ""); joined != m.SQL {
				t.Fatalf("%d statements make another text", len(parts))
			}
			for n := 1; n <= len(parts); n++ {
				// A sample: the last statement of each step, and another one.
				if os.Getenv(everyFault) == "" && n != len(parts) && n != 1+m.Version%len(parts) {
					continue
				}
				kills++
				f := before.killedWithin(t, parts[:n])
				f.reopen()
				f.wantCases(src.cases)
				f.close()
			}
		})
	}
	t.Logf("%d kills within %d migrations", kills, len(all)-1)
}

// A context that ends is the same as a kill for whoever waits.
func TestAMigrationThatIsCancelledIsRepeated(t *testing.T) {
	corpus.Heavy(t)
	src := sourcesOf(t)(1)
	f := src.atVersion(t, 1)
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	if _, err := Open(ctx, Config{Dir: f.dir}); err == nil {
		t.Error("opened")
	}
	f.reopen()
	f.wantCases(src.cases)
	f.close()
}
