package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/internal/test/cluster"
	"leakdiff/migrations"
	"leakdiff/samples/corpus"
)

// everyFault names a variable; where it is set, tests inject every fault that they have a
// sample of otherwise.
const everyFault = "LEAKDIFF_FAULTS"

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

func (f *fixture) wantCases(cases map[string][]analysis.Snapshot) {
	f.t.Helper()
	for id, want := range cases {
		wantEqual(f.t, want, must[[]analysis.Snapshot](f.t)(f.full(id)))
	}
	f.wantSound()
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
		if strings.HasSuffix(end, ";") && (!trigger || strings.HasSuffix(end, "END;")) && !strings.HasPrefix(end, "--") {
			out = append(out, one.String())
			one.Reset()
			trigger = false
		}
	}
	return out
}

// killedWithin runs the first statements of the schema in a new database, and returns what a
// process leaves that is killed then: a copy of the database with its log, which was not
// committed.
func killedWithin(t *testing.T, first []string) *fixture {
	t.Helper()
	dir := t.TempDir()
	left := &fixture{t: t, ctx: t.Context(), dir: t.TempDir(), clock: newClock()}
	db, err := connect(filepath.Join(dir, databaseFile), 1, ofWriter)
	left.ok(err)
	defer db.Close()
	tx, err := db.BeginTx(left.ctx, nil)
	left.ok(err)
	defer tx.Rollback()
	for _, text := range first {
		if _, err := tx.ExecContext(left.ctx, text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	for _, name := range []string{databaseFile, databaseFile + "-wal"} {
		copyIfThere(t, filepath.Join(dir, name), filepath.Join(left.dir, name))
	}
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

func TestAKillWithinAnyStatementOfTheSchemaIsRepaired(t *testing.T) {
	corpus.Heavy(t)
	schema := must[[]migrations.Migration](t)(migrations.All())[0]
	parts := statements(schema.SQL)
	if joined := strings.Join(parts, ""); joined != schema.SQL || len(parts) < 60 {
		t.Fatalf("%d statements make another text", len(parts))
	}
	kills := 0
	for n := 1; n <= len(parts); n++ {
		// A sample: every tenth statement and the last one.
		if os.Getenv(everyFault) == "" && n != len(parts) && n%10 != 0 {
			continue
		}
		kills++
		f := killedWithin(t, parts[:n])
		f.reopen()
		c := f.newCase("kubelets")
		f.filled(c.ID, "one", kubeletResult("2", "3"))
		f.wantCases(map[string][]analysis.Snapshot{c.ID: kubeletResult("2", "3").Snapshots})
		f.close()
		if got := f.check(); len(got.Findings) > 0 || got.Cases != 1 {
			t.Errorf("after %d statements: %+v", n, got)
		}
	}
	t.Logf("%d kills within %d statements", kills, len(parts))
}

// A context that ends is the same as a kill for whoever waits.
func TestASchemaThatIsCancelledIsMadeAgain(t *testing.T) {
	f := &fixture{t: t, ctx: t.Context(), dir: t.TempDir(), clock: newClock()}
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	if _, err := Open(ctx, Config{Dir: f.dir}); err == nil {
		t.Error("opened")
	}
	f.reopen()
	f.newCase("a")
	f.wantSound()
	f.close()
}

// anOlderDirectory has cases, and a database whose version is the last from before this
// schema. If it is inUse, a copy of the log has a part of it, as after a crash.
func anOlderDirectory(t *testing.T, inUse bool) string {
	f := openFile(t)
	c := f.newCase("kubelets")
	f.filled(c.ID, "one", kubeletResult("2", "3"))
	_, err := f.writer.ExecContext(f.ctx, `PRAGMA user_version = 30`)
	f.ok(err)
	if !inUse {
		f.close()
		return f.dir
	}
	_, err = f.writer.ExecContext(f.ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	f.ok(err)
	f.newCase("in the log")
	dir := t.TempDir()
	f.ok(os.CopyFS(dir, os.DirFS(f.dir)))
	if info, err := os.Stat(filepath.Join(dir, databaseFile+"-wal")); err != nil || info.Size() == 0 {
		t.Fatalf("the log is empty: %v", err)
	}
	return dir
}

// contents are all files below a directory with what they hold.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		out[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestADirectoryFromBeforeTheFirstReleaseIsRefusedAndNotChanged(t *testing.T) {
	for _, inUse := range []bool{false, true} {
		dir := anOlderDirectory(t, inUse)
		before := contents(t, dir)
		for name, use := range map[string]func(ctx context.Context) error{
			"serve":                   func(ctx context.Context) error { return opened(Open(ctx, Config{Dir: dir})) },
			"serve with new database": func(ctx context.Context) error { return opened(Open(ctx, Config{Dir: dir, NewDatabase: true})) },
			"retention":               func(ctx context.Context) error { return opened(Open(ctx, Config{Dir: dir, Existing: true})) },
			"check":                   func(ctx context.Context) error { _, err := Check(ctx, dir, ""); return err },
			"repair":                  func(ctx context.Context) error { _, err := Repair(ctx, dir, "", nil); return err },
			"backup": func(ctx context.Context) error {
				_, err := Backup(ctx, BackupConfig{Dir: dir, To: filepath.Join(t.TempDir(), "copy")})
				return err
			},
			"restore": func(ctx context.Context) error {
				_, err := Restore(ctx, RestoreConfig{From: dir, Dir: filepath.Join(t.TempDir(), "data")})
				return err
			},
			"token": func(ctx context.Context) error { _, err := OpenAccounts(ctx, dir); return err },
			"migrate from it": func(ctx context.Context) error {
				_, err := Move(ctx, MoveConfig{From: Config{Dir: dir}, To: Config{Dir: t.TempDir()}})
				return err
			},
		} {
			t.Run(fmt.Sprint(name, ", in use ", inUse), func(t *testing.T) {
				err := use(t.Context())
				wantCode(t, err, "older_database")
				var told *analysis.Fault
				if errors.As(err, &told) && !strings.Contains(told.Why, "its database has version 30, this program reads versions from 102 on") {
					t.Errorf("the reason is %q", told.Why)
				}
				wantEqual(t, before, contents(t, dir))
			})
		}
	}
}

// opened closes a store that should not be open.
func opened(s *Store, err error) error {
	if s != nil {
		err = errors.Join(err, s.Close())
	}
	return err
}

func TestABackupFromBeforeTheFirstReleaseIsNotRestored(t *testing.T) {
	f, _ := soundStore(t)
	to := backupsOf(t)
	must[*Manifest](t)(Backup(f.ctx, BackupConfig{Dir: f.dir, To: to[0], Now: f.clock.Now}))
	manifest := filepath.Join(to[0], manifestFile)
	text := must[[]byte](t)(os.ReadFile(manifest))
	f.ok(os.WriteFile(manifest, bytes.Replace(text, []byte(fmt.Sprintf(`"database": %d`, migrations.Base+len(must[[]migrations.Migration](t)(migrations.All())))), []byte(`"database": 30`), 1), 0o600))
	f.ok(packTar(f.ctx, to[1], to[0], &Manifest{}))
	for _, from := range to {
		dir := filepath.Join(t.TempDir(), "data")
		_, err := Restore(f.ctx, RestoreConfig{From: from, Dir: dir})
		wantCode(t, err, "older_database")
		if left, err := filepath.Glob(dir + "*"); err != nil || len(left) > 0 {
			t.Errorf("%s left %v, %v", filepath.Base(from), left, err)
		}
	}
}

func TestTheVersionBeforeTheColumnsIsRefused(t *testing.T) {
	all := must[[]migrations.Migration](t)(migrations.All())
	wantCode(t, knownVersion(101, all), "older_database")
	for _, version := range []int{0, 102} {
		if err := knownVersion(version, all); err != nil {
			t.Errorf("version %d: %v", version, err)
		}
	}
}

func TestADatabaseOfPostgreSQLFromBeforeTheFirstReleaseIsRefusedAndNotChanged(t *testing.T) {
	corpus.Heavy(t)
	f := openOn(t, cluster.Start(t).Database(t))
	f.newCase("a")
	f.exec(`DELETE FROM schema_version`)
	for version := range 8 {
		f.exec(`INSERT INTO schema_version VALUES (?)`, version+1)
	}
	address := f.database
	f.close()
	for name, use := range map[string]func() error{
		"serve": func() error { return opened(Open(t.Context(), Config{Dir: f.dir, Database: address})) },
		"token": func() error { _, err := OpenAccountsOf(t.Context(), address); return err },
		"migrate from it": func() error {
			_, err := Move(t.Context(), MoveConfig{From: Config{Dir: f.dir, Database: address}, To: Config{Dir: t.TempDir()}})
			return err
		},
		"migrate to it": func() error {
			from, _ := soundStore(t)
			_, err := Move(t.Context(), MoveConfig{From: Config{Dir: from.dir}, To: Config{Dir: t.TempDir(), Database: address}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { wantCode(t, use(), "older_database") })
	}
	db, err := connectPostgres(address, 1, alongside, usualProgram, nil)
	f.ok(err)
	defer db.Close()
	var cases, versions, last int
	f.ok(db.QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM cases), count(*), max(version) FROM schema_version`).Scan(&cases, &versions, &last))
	if cases != 1 || versions != 8 || last != 8 {
		t.Errorf("%d cases, %d versions up to %d", cases, versions, last)
	}
}
