package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/internal/test/cluster"
	"leakdiff/migrations"
	"leakdiff/samples/corpus"
	"leakdiff/store/blob"
)

func TestAMoveKnowsEveryTableAndItsKey(t *testing.T) {
	f := openFile(t)
	want := map[string]string{}
	rows, err := f.reader.QueryContext(f.ctx, `
		SELECT m.name, (SELECT group_concat(name, ', ') FROM (SELECT name FROM pragma_table_info(m.name) WHERE pk > 0 ORDER BY pk))
		FROM sqlite_schema m
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE '%!_text%' ESCAPE '!'`)
	f.ok(err)
	defer rows.Close()
	for rows.Next() {
		var name, key string
		f.ok(rows.Scan(&name, &key))
		want[name] = key
	}
	f.ok(rows.Err())
	got, before := map[string]string{}, map[string]bool{}
	for _, table := range tables {
		got[table.name] = table.key
		for _, other := range f.texts(f.reader, `SELECT "table" FROM pragma_foreign_key_list(?)`, table.name) {
			if other != table.name && !before[other] {
				t.Errorf("%s is moved before %s, which it refers to", table.name, other)
			}
		}
		before[table.name] = true
	}
	wantEqual(t, want, got)
}

// moving is a store with something in most tables.
func moving(t *testing.T) *fixture {
	f := openFile(t)
	for i, seeds := range [][]string{{"1", "2"}, {"2", "3"}} {
		c := f.newCase(fmt.Sprintf("case %d", i))
		f.filled(c.ID, fmt.Sprintf("content %d", i), kubeletResult(seeds...))
		f.keepReport(c.ID, "report")
		f.mark(c.ID, Mark{Process: "kubelet", Fingerprint: "g1:x", Triage: analysis.Triage{State: analysis.Reviewed, Note: "with a \x00 in it"}})
	}
	f.permalink(Permalink{View: "/cases/x", Title: "frozen"})
	f.reap()
	return f
}

// everything is a sum of each table.
func (f *fixture) everything() map[string]string {
	f.t.Helper()
	out := map[string]string{}
	for _, table := range tables {
		if !table.stays {
			sum := must[tally](f.t)(f.tally(f.ctx, table))
			out[table.name] = fmt.Sprintf("%d rows, %x", sum.Rows, sum.Sum)
		}
	}
	return out
}

func (f *fixture) config() Config { return Config{Dir: f.dir, Database: f.database, Now: f.clock.Now} }

func TestAMoveCopiesEveryRowAndUpload(t *testing.T) {
	corpus.Heavy(t)
	server := cluster.Start(t)
	for _, c := range []struct {
		name  string
		proof func(*testing.T, *fixture, Config)
	}{
		{"from a file to PostgreSQL and back", movesThereAndBack},
		{"goes on where it was interrupted", moveGoesOn},
		{"into what is not empty is refused", moveNeedsAnEmptyPlace},
		{"names the uploads that were lost before, also when it goes on", moveNamesLostUploads},
		{"is refused while servers run", moveIsRefusedBesideServers},
		{"does not go on with another place for the uploads", moveKeepsThePlaceOfUploads},
		{"forgets what a server kept in an empty place", moveForgetsSettings},
		{"is found complete when it is made again", moveIsFoundComplete},
		{"that ends before its first row is not served", moveEndsBeforeItsFirstRow},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.proof(t, moving(t), Config{Dir: t.TempDir(), Database: server.Database(t)})
		})
	}
}

func movesThereAndBack(t *testing.T, f *fixture, there Config) {
	uploads := f.uploadsOf()
	f.close()
	moved, err := Move(t.Context(), MoveConfig{From: f.config(), To: there})
	f.ok(err)
	if moved.Uploads != 2 || len(moved.Missing) > 0 || moved.Rows == 0 {
		t.Errorf("%+v", moved)
	}
	f.reopen()
	want := f.everything()
	other := &fixture{t: t, ctx: t.Context(), dir: there.Dir, database: there.Database, clock: f.clock}
	other.reopen()
	wantEqual(t, want, other.everything())
	wantEqual(t, uploads, other.uploadsOf())
	other.wantSound()
	next := other.newCase("after the move")
	other.filled(next.ID, "new content", kubeletResult("9"))
	want = other.everything()
	other.close()

	back := &fixture{t: t, ctx: t.Context(), dir: t.TempDir(), clock: f.clock}
	_, err = Move(t.Context(), MoveConfig{From: there, To: back.config()})
	f.ok(err)
	back.reopen()
	defer back.close()
	wantEqual(t, want, back.everything())
	back.wantSound()
	found, err := back.SearchFunctions(t.Context(), "prober", nil, 10, 0)
	f.ok(err)
	before, err := f.SearchFunctions(t.Context(), "prober", nil, 10, 0)
	f.ok(err)
	if len(before.Families) == 0 || len(found.Families) < len(before.Families) {
		t.Errorf("%d functions are found, %d were", len(found.Families), len(before.Families))
	}
	back.filled(back.newCase("and here").ID, "more", kubeletResult("10"))
	back.wantSound()
}

// uploadsOf are the contents of all uploads by their hashes.
func (f *fixture) uploadsOf() map[string]string {
	f.t.Helper()
	out := map[string]string{}
	for _, sha := range f.texts(f.reader, `SELECT sha256 FROM blob`) {
		r, err := f.Blobs().Open(f.ctx, sha)
		f.ok(err)
		var content bytes.Buffer
		_, err = io.Copy(&content, r)
		f.ok(err)
		f.ok(r.Close())
		out[sha] = content.String()
	}
	return out
}

func moveGoesOn(t *testing.T, f *fixture, there Config) {
	want := f.everything()
	f.close()
	interrupted := 0
	for {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Move(ctx, MoveConfig{From: f.config(), To: there, Progress: func(Moved) { cancel() }})
		cancel()
		if err == nil {
			break
		}
		interrupted++
		// The server frees the lock of a connection that was cut when it notices.
		_, err = Open(t.Context(), there)
		for code(err) == "locked" {
			_, err = Open(t.Context(), there)
		}
		if code(err) != "unfinished_move" {
			t.Fatalf("a server starts on a half: %v", err)
		}
	}
	if interrupted < 10 {
		t.Errorf("it was interrupted %d times", interrupted)
	}
	other := &fixture{t: t, ctx: t.Context(), dir: there.Dir, database: there.Database, clock: f.clock}
	other.reopen()
	defer other.close()
	got := other.everything()
	// The source got its id at the first attempt.
	delete(want, "setting")
	delete(got, "setting")
	wantEqual(t, want, got)
	other.wantSound()
	f.reopen()
}

func moveNeedsAnEmptyPlace(t *testing.T, f *fixture, there Config) {
	other := openOn(t, there.Database)
	there.Dir = other.dir
	other.newCase("not empty")
	other.close()
	f.close()
	_, err := Move(t.Context(), MoveConfig{From: f.config(), To: there})
	wantCode(t, err, "exists")
	if !strings.Contains(fmt.Sprint(err), "cases") {
		t.Error(err)
	}
	_, err = Move(t.Context(), MoveConfig{From: f.config(), To: f.config()})
	wantCode(t, err, "locked")
	f.reopen()
}

func moveNamesLostUploads(t *testing.T, f *fixture, there Config) {
	lost := slices.Sorted(maps.Keys(f.uploadsOf()))[0]
	f.ok(f.uploads.directory.Delete(f.ctx, blob.Name{SHA256: lost}))
	f.close()
	moveUntil(t, f.config(), there, "snapshot")
	moved := moveOn(t, f.config(), there)
	wantEqual(t, []string{lost}, moved.Missing)
	f.reopen()
}

// moveUntil is a move that ends after the first rows of a table.
func moveUntil(t *testing.T, from, to Config, table string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := Move(ctx, MoveConfig{From: from, To: to, Progress: func(m Moved) {
		if m.Table == table {
			cancel()
		}
	}})
	if err == nil {
		t.Fatal("it was not interrupted")
	}
}

// moveOn ends a move, when the server has freed the lock of a connection that was cut.
func moveOn(t *testing.T, from, to Config) Moved {
	t.Helper()
	for {
		moved, err := Move(t.Context(), MoveConfig{From: from, To: to})
		if err == nil {
			return moved
		}
		if code(err) != "locked" {
			t.Fatal(err)
		}
	}
}

func TestAMoveIntoAFileThatEndsBeforeItsFirstRowIsNotServed(t *testing.T) {
	moveEndsBeforeItsFirstRow(t, moving(t), Config{Dir: t.TempDir()})
}

// A process that is killed after the target got its schema leaves what the opening left.
func moveEndsBeforeItsFirstRow(t *testing.T, f *fixture, there Config) {
	want := f.everything()
	f.close()
	opening := there
	opening.moving, opening.NewDatabase, opening.mark = true, true, noRowsYet
	s, err := Open(t.Context(), opening)
	f.ok(err)
	f.ok(s.Close())
	_, err = Open(t.Context(), there)
	for code(err) == "locked" {
		_, err = Open(t.Context(), there)
	}
	wantCode(t, err, "unfinished_move")
	moveOn(t, f.config(), there)
	other := &fixture{t: t, ctx: t.Context(), dir: there.Dir, database: there.Database, clock: f.clock}
	other.reopen()
	defer other.close()
	got := other.everything()
	delete(want, "setting") // the source got its id
	delete(got, "setting")
	wantEqual(t, want, got)
	f.reopen()
}

func TestASchemaAndTheMarkOfItsMoveAreOneTransaction(t *testing.T) {
	db, err := connect(filepath.Join(t.TempDir(), databaseFile), 1, ofWriter)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	noSettings := []migrations.Migration{{Version: 102, Name: "without settings", SQL: `CREATE TABLE extra (a INTEGER) STRICT;`}}
	if err := migrate(t.Context(), db, noSettings, noRowsYet); err == nil {
		t.Fatal("a mark was set without a table for it")
	}
	var version, made int
	err = db.QueryRowContext(t.Context(), `SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`).Scan(&version, &made)
	if version != 0 || made != 0 || err != nil {
		t.Errorf("version %d with %d tables, %v: a schema without its mark", version, made, err)
	}
}

// What is refused for the sake of its source leaves its target as it was.
func TestAMoveOfNothingMarksNothing(t *testing.T) {
	f := openFile(t)
	f.close()
	there := Config{Dir: t.TempDir(), Now: f.clock.Now}
	_, err := Move(t.Context(), MoveConfig{From: f.config(), To: there})
	wantCode(t, err, "not_found")
	other := &fixture{t: t, ctx: t.Context(), dir: there.Dir, clock: f.clock}
	other.reopen()
	other.close()
	f.reopen()
}

func moveIsRefusedBesideServers(t *testing.T, f *fixture, there Config) {
	f.close()
	there.shared = true
	s, err := Open(t.Context(), there)
	f.ok(err)
	_, err = Move(t.Context(), MoveConfig{From: f.config(), To: there})
	wantCode(t, err, "locked")
	f.ok(s.Close())
	f.reopen()
}

func moveKeepsThePlaceOfUploads(t *testing.T, f *fixture, there Config) {
	f.close()
	moveUntil(t, f.config(), there, "snapshot")
	other := there
	other.Dir = t.TempDir()
	_, err := Move(t.Context(), MoveConfig{From: f.config(), To: other})
	for code(err) == "locked" {
		_, err = Move(t.Context(), MoveConfig{From: f.config(), To: other})
	}
	wantCode(t, err, "exists")
	if !strings.Contains(fmt.Sprint(err), there.Dir) {
		t.Errorf("it does not say where they go: %v", err)
	}
	if moved := moveOn(t, f.config(), there); len(moved.Missing) > 0 {
		t.Errorf("%+v", moved)
	}
	f.reopen()
}

func moveForgetsSettings(t *testing.T, f *fixture, there Config) {
	f.ok(f.SetSetting(f.ctx, "samples", "these"))
	other := openOn(t, there.Database)
	there.Dir = other.dir
	other.ok(other.SetSetting(f.ctx, "samples", "those"))
	other.ok(other.SetSetting(f.ctx, "of the server alone", "yes"))
	other.close()
	f.close()
	moveOn(t, f.config(), there)
	other.reopen()
	if value, _, err := other.Setting(f.ctx, "samples"); err != nil || value != "these" {
		t.Errorf("%q, %v", value, err)
	}
	if _, set, err := other.Setting(f.ctx, "of the server alone"); err != nil || set {
		t.Errorf("a setting of the empty place is left: %v", err)
	}
	other.close()
	f.reopen()
}

func moveIsFoundComplete(t *testing.T, f *fixture, there Config) {
	f.close()
	moveOn(t, f.config(), there)
	if again := moveOn(t, f.config(), there); !again.Before || again.Rows > 0 {
		t.Errorf("%+v", again)
	}
	f.reopen()
	f.newCase("later")
	f.close()
	_, err := Move(t.Context(), MoveConfig{From: f.config(), To: there})
	wantCode(t, err, "differs")
	f.reopen()
}

func TestAMoveThatGoesOnWarnsOfNothing(t *testing.T) {
	f := moving(t)
	f.close()
	var said strings.Builder
	there := Config{Dir: t.TempDir(), Now: f.clock.Now, Log: slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	moveUntil(t, f.config(), there, "snapshot")
	moveOn(t, f.config(), there)
	if said.Len() > 0 {
		t.Errorf("it says %s", said.String())
	}
	f.reopen()
}

func TestAMoveThatFindsOtherRowsSaysSo(t *testing.T) {
	f := moving(t)
	f.close()
	there := Config{Dir: t.TempDir(), Now: f.clock.Now}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Move(ctx, MoveConfig{From: f.config(), To: there, Progress: func(m Moved) {
		if m.Table == "job" {
			cancel()
		}
	}})
	cancel()
	if err == nil {
		t.Fatal("it was not interrupted")
	}
	f.reopen()
	f.ok(f.RenameCase(f.ctx, f.texts(f.reader, `SELECT id FROM cases`)[0], "renamed meanwhile"))
	f.close()
	_, err = Move(t.Context(), MoveConfig{From: f.config(), To: there})
	wantCode(t, err, "differs")
	if !strings.Contains(fmt.Sprint(err), "cases") {
		t.Error(err)
	}
	f.reopen()
}
