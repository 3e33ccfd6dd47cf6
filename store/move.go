package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/column"
	"leakdiff/store/blob"
)

// MoveConfig says what is moved where. No server may run on either.
type MoveConfig struct {
	// From has what is copied. It is not changed, but for what a start does: it is migrated
	// and repaired.
	From Config
	// To is new, or holds what an interrupted move from the same place left.
	To Config
	// Progress is called after each batch, nil for never.
	Progress func(Moved)
}

// Moved is what a move has copied.
type Moved struct {
	// Table is the one that is being copied.
	Table string
	// Rows and Uploads are those that this run copied; Bytes is the size of those uploads.
	Rows, Uploads, Bytes int64
	// Missing are the hashes of uploads that were missing or damaged before.
	Missing []string
	// Before reports that an earlier move was complete, and that nothing has changed since.
	Before bool
}

// Move copies a database and its uploads to another engine or place, and verifies the copy.
// Ids stay as they are, so links stay valid. If it is interrupted, the next Move goes on; a
// server refuses to start on what is not complete.
func Move(ctx context.Context, cfg MoveConfig) (moved Moved, err error) {
	if err := isThere(cfg.From); err != nil {
		return moved, err
	}
	cfg.From.program, cfg.To.program = moveProgram, moveProgram
	from, err := Open(ctx, cfg.From)
	if err != nil {
		return moved, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	m := &move{from: from, report: cfg.Progress}
	if err := from.unserved(ctx, "--from"); err != nil {
		return moved, err
	}
	if err := m.source(ctx); err != nil {
		return moved, fault("moving the database", err)
	}
	cfg.To.moving, cfg.To.NewDatabase, cfg.To.mark = true, true, noRowsYet
	to, err := Open(ctx, cfg.To)
	if err != nil {
		return moved, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	m.to = to
	if m.uploads = cfg.To.Blobs; m.uploads == "" {
		if m.uploads, err = filepath.Abs(cfg.To.Dir); err != nil {
			return moved, err
		}
	}
	if err := to.unserved(ctx, "--to"); err != nil {
		return moved, err
	}
	err = m.run(ctx)
	return m.moved, fault("moving the database", err)
}

// isThere refuses a source that is none, of which a start would make one.
func isThere(from Config) error {
	switch {
	case from.Database == "":
		return isDataDir(from.Dir)
	case from.Blobs != "":
		return nil
	}
	if _, err := os.Stat(filepath.Join(from.Dir, blobDir)); err != nil {
		return &analysis.Fault{Code: "not_found", What: "nothing was moved", Where: from.Dir, Why: "it has no " + blobDir, Hint: "Give the data directory of the server, which has the uploads of its database.", Err: err}
	}
	return nil
}

// unserved refuses a database that servers have open. What they write later is found by compare.
func (s *Store) unserved(ctx context.Context, where string) error {
	if !s.Shared() {
		return nil
	}
	var servers int
	if err := s.reader.QueryRowContext(ctx, serversSQL, usualProgram).Scan(&servers); err != nil || servers == 0 {
		return err
	}
	return &analysis.Fault{Code: "locked", What: "nothing was moved", Where: where, Why: "leakdiff servers have the database open", Hint: "Stop them, and move again."}
}

const serversSQL = `
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = ?`

// The settings of a move: which database the rows come from, and how far it came.
const (
	originSetting = "database id"
	moveSetting   = "unfinished move"
)

// noRowsYet is the state of a move whose target has its schema and no more.
const noRowsYet = `{}`

type move struct {
	from, to *Store
	// uploads is the place of the uploads that are copied.
	uploads string
	report  func(Moved)
	moved   Moved
	origin  string
}

// moveMark is the state of an unfinished move in the database that it writes.
type moveMark struct {
	// Origin is the id of the database that is copied, Uploads where its uploads go.
	Origin  string `json:"origin"`
	Uploads string `json:"uploads"`
	// Table is the last that rows were copied of, Last the key of the last of them.
	Table string `json:"table"`
	Last  []byte `json:"last"`
}

func (m *move) run(ctx context.Context) error {
	mark, err := m.begin(ctx)
	if err != nil {
		return err
	}
	if m.moved.Before {
		return errors.Join(m.compareAll(ctx), m.lookForUploads(ctx))
	}
	at := slices.IndexFunc(tables, func(t table) bool { return t.name == mark.Table })
	for i, t := range tables {
		if t.stays || i < at {
			continue
		}
		var last []any
		if i == at {
			last = make([]any, 1+strings.Count(t.key, ","))
			c := column.Reader(mark.Last)
			if codeRow(c, last); c.End() != nil {
				return c.End()
			}
		}
		m.moved.Table = t.name
		if err := t.export(ctx, m.from.reader, last, func(b *batch) error { return m.copy(ctx, t, b) }); err != nil {
			return explained(fmt.Errorf("table %s: %w", t.name, err))
		}
	}
	if err := errors.Join(m.compareAll(ctx), m.lookForUploads(ctx)); err != nil {
		return err
	}
	return m.to.write(ctx, "ending a move", func(tx *sql.Tx) error {
		if err := m.to.imported(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM setting WHERE name = ?`, moveSetting)
		return err
	})
}

// source names the source, and refuses one that has nothing to copy.
func (m *move) source(ctx context.Context) error {
	used, err := m.from.hasRows(ctx, "cases", "permalink", "token")
	if err != nil {
		return err
	}
	if used == "" {
		return &analysis.Fault{Code: "not_found", What: "nothing was moved", Where: "--from", Why: "it has no case, no permalink and no token", Hint: "Give --from the database that the server used."}
	}
	var set bool
	if m.origin, set, err = m.from.Setting(ctx, originSetting); err != nil || set {
		return err
	}
	if m.origin, err = m.from.newID("d"); err != nil {
		return err
	}
	return m.from.SetSetting(ctx, originSetting, m.origin)
}

// begin finds how far an earlier move came.
func (m *move) begin(ctx context.Context) (mark moveMark, err error) {
	text, set, err := m.to.Setting(ctx, moveSetting)
	if err != nil {
		return mark, err
	}
	if set && text != noRowsYet {
		if err := json.Unmarshal([]byte(text), &mark); err != nil {
			return mark, err
		}
		if mark.Uploads != m.uploads {
			return mark, &analysis.Fault{Code: "exists", What: "nothing was moved", Where: "--to", Why: "the move was begun with another place for the uploads", Hint: "Give it as before: " + mark.Uploads + "."}
		}
		if mark.Origin != m.origin {
			return mark, &analysis.Fault{Code: "exists", What: "nothing was moved", Where: "--to", Why: "a move of another database into it is not complete", Hint: "Go on with that one, or give --to an empty database."}
		}
		return mark, nil
	}
	var names []string
	for _, t := range tables {
		if t.name != "setting" && !t.stays { // a start keeps some
			names = append(names, t.name)
		}
	}
	full, err := m.to.hasRows(ctx, names...)
	if err != nil {
		return mark, err
	}
	if origin, _, err := m.to.Setting(ctx, originSetting); err != nil {
		return mark, err
	} else if m.moved.Before = full != "" && origin == m.origin; m.moved.Before {
		return mark, nil
	}
	if full != "" {
		return mark, &analysis.Fault{Code: "exists", What: "nothing was moved", Where: "--to", Why: "there is something in its table " + full, Hint: "Give --to an empty database or a new directory."}
	}
	mark.Origin, mark.Uploads = m.origin, m.uploads
	begun, err := json.Marshal(mark)
	if err != nil {
		return mark, err
	}
	return mark, m.to.write(ctx, "beginning a move", func(tx *sql.Tx) error {
		// A server that was started there may have kept some.
		if _, err := tx.ExecContext(ctx, `DELETE FROM setting WHERE name <> ?`, ownerSetting); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, setSettingSQL, moveSetting, string(begun))
		return err
	})
}

// hasRows is the first of these tables that has a row, "" for none.
func (s *Store) hasRows(ctx context.Context, tables ...string) (string, error) {
	for _, name := range tables {
		var has bool
		if err := s.reader.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM `+name+`)`).Scan(&has); err != nil || has {
			return name, err
		}
	}
	return "", nil
}

// moving drops what is about the database that the rows are in, and where it has its uploads.
func (b *batch) moving() {
	switch b.table {
	case "setting":
		b.rows = slices.DeleteFunc(b.rows, func(row []any) bool {
			name := record{b, row}.text("name")
			return name == moveSetting || name == ownerSetting
		})
	case "blob":
		for _, row := range b.rows {
			record{b, row}.set("object", nil)
		}
	}
}

// copy writes a batch and how far the move came in one transaction, after the uploads that
// its rows name.
func (m *move) copy(ctx context.Context, t table, b *batch) error {
	if b.moving(); len(b.rows) == 0 {
		return nil
	}
	if t.name == "blob" {
		for _, row := range b.rows {
			object, err := m.upload(ctx, record{b, row}.text("sha256"))
			if err != nil {
				return err
			}
			if object != "" {
				record{b, row}.set("object", object)
			}
		}
	}
	var last []any
	for name := range strings.SplitSeq(t.key, ", ") {
		last = append(last, record{b, b.rows[len(b.rows)-1]}.value(name))
	}
	c := column.Writer(0)
	codeRow(c, last)
	text, err := json.Marshal(moveMark{Origin: m.origin, Uploads: m.uploads, Table: t.name, Last: c.Data()})
	if err = errors.Join(err, c.Err()); err != nil {
		return err
	}
	err = m.to.write(ctx, "copying rows", func(tx *sql.Tx) error {
		if err := b.insert(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, setSettingSQL, moveSetting, string(text))
		return err
	})
	if err != nil {
		return err
	}
	m.moved.Rows += int64(len(b.rows))
	if m.report != nil {
		m.report(m.moved)
	}
	return ctx.Err()
}

// upload copies the bytes of an upload, unless they are there, and returns the object that has
// them in a bucket. Put hashes what it writes.
func (m *move) upload(ctx context.Context, sha string) (object string, err error) {
	directory := m.to.uploads.bucket == nil
	if directory && m.to.uploads.Look(ctx, sha) == nil {
		return "", nil
	}
	r, err := m.from.uploads.Open(ctx, sha)
	if err == nil {
		defer r.Close()
		var ref blob.Ref
		if ref, err = m.to.uploads.Put(ctx, r, 0); err == nil {
			m.moved.Uploads++
			m.moved.Bytes += ref.Size
			if directory {
				m.to.uploads.directory.Claim(ref.SHA256)
			}
			return ref.Object, nil
		}
	}
	if code := codeOf(err); code != blob.Damaged && code != "not_found" {
		return "", err
	}
	if directory {
		return "", nil
	}
	return "lost/" + sha, nil // its row names an object as all do, which the same upload replaces
}

// lookForUploads notes which uploads did not arrive, in this run or an earlier one.
func (m *move) lookForUploads(ctx context.Context) error {
	var hashes []string
	err := m.to.read(ctx, "looking for uploads", func(tx *sql.Tx) (err error) {
		hashes, err = collect(ctx, tx, scanOne[string], blobsSQL)
		return err
	})
	for _, sha := range hashes {
		switch err := m.to.uploads.Look(ctx, sha); {
		case codeOf(err) == "not_found":
			m.moved.Missing = append(m.moved.Missing, sha)
		case err != nil:
			return err
		}
	}
	return err
}

func (m *move) compareAll(ctx context.Context) error {
	for _, t := range tables {
		if t.stays || m.moved.Before && t.name == "setting" {
			continue // what is known of leaks came after the move
		}
		if err := m.compare(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// explained says what to do about an error that has no advice of its own.
func explained(err error) error {
	var f *analysis.Fault
	if !errors.As(err, &f) || f.Hint != "" {
		return err
	}
	other := *f
	other.Hint = changedHint
	return &other
}

const changedHint = "Something wrote to one of them meanwhile, or since. Stop all servers, and move again into an empty database or a new directory."

// compare counts the rows of a table in both databases and adds up their hashes.
func (m *move) compare(ctx context.Context, t table) error {
	before, err := m.from.tally(ctx, t)
	if err != nil {
		return err
	}
	after, err := m.to.tally(ctx, t)
	if err != nil || before == after {
		return err
	}
	why := fmt.Sprintf("the table %s has %d rows there and %d here", t.name, before.Rows, after.Rows)
	if before.Rows == after.Rows {
		why = fmt.Sprintf("the %d rows of the table %s differ", before.Rows, t.name)
	}
	return &analysis.Fault{Code: "differs", What: "the copy is not what was copied", Why: why, Hint: changedHint}
}

// tally is that of the rows of a table that a move copies.
func (s *Store) tally(ctx context.Context, t table) (out tally, err error) {
	err = t.export(ctx, s.reader, nil, func(b *batch) error {
		b.moving()
		return out.add(b)
	})
	return out, fault("comparing rows", err)
}

// mayServe refuses a database that a move has not completed.
func (s *Store) mayServe(ctx context.Context) error {
	_, unfinished, err := s.Setting(ctx, moveSetting)
	if err != nil || !unfinished {
		return err
	}
	return unfinishedMove()
}

func unfinishedMove() *analysis.Fault {
	return &analysis.Fault{Code: "unfinished_move", What: "the database is not complete", Why: "leakdiff migrate was interrupted while it wrote it", Hint: "Run leakdiff migrate again with the same --from and --to: it goes on where it was."}
}
