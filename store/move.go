package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leakdiff/analysis"
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
	cfg.To.moving, cfg.To.NewDatabase = true, true
	to, err := Open(ctx, cfg.To)
	if err != nil {
		return moved, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	m := &move{from: from, to: to, report: cfg.Progress}
	if m.uploads = cfg.To.Blobs; m.uploads == "" {
		if m.uploads, err = filepath.Abs(cfg.To.Dir); err != nil {
			return moved, err
		}
	}
	if err := errors.Join(from.unserved(ctx, "--from"), to.unserved(ctx, "--to")); err != nil {
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

// movedTables are all tables with their keys, each after those that it refers to, but for
// object_to_forget and duty, which are about the bucket and the servers that are left.
var movedTables = []movedTable{
	{"setting", "name"},
	{"cases", "seq"},
	{"blob", "sha256"},
	{"bundle", "seq"},
	{"job", "seq"},
	{"function", "seq"},
	{"family", "seq"},
	{"stack", "seq"},
	{"frame", "seq"},
	{"function_family", "function_seq, family_seq"},
	{"permalink", "id"},
	{"answer", "key_hash"},
	{"edit", "seq"},
	{"case_field", "case_seq, field"},
	{"triage", "case_seq, process, fingerprint"},
	{"benign", "process, fingerprint"},
	{"ending", "case_seq, fingerprint, process"},
	{"bundle_kind", "bundle_seq, path"},
	{"bundle_file", "bundle_seq, place"},
	{"dropped_file", "bundle_seq, place"},
	{"series", "seq"},
	{"series_ending", "fingerprint, series_seq"},
	{"snapshot", "seq"},
	{"snapshot_members", "snapshot_seq"},
	{"snapshot_objects", "snapshot_seq"},
	{"family_seen", "family_seq, series_seq, day"},
	{"family_span", "fingerprint, host, series_seq"},
	{"family_to_forget", "family_seq"},
	{"frame_to_forget", "frame_seq"},
	{"function_to_forget", "function_seq"},
	{"case_report", "case_seq"},
	{"series_judgement", "case_seq, made_of"},
	{"token", "seq"},
	{"session", "hash"},
	{"audit", "seq"},
	{"alert", "fingerprint"},
	{"alert_delivery", "seq"},
}

type movedTable struct{ name, key string }

// The settings of a move: which database the rows come from, and how far it came.
const (
	originSetting = "database id"
	moveSetting   = "unfinished move"
)

// stays reports whether a row is about the database that it is in.
func (t movedTable) stays(columns []string, row []any) bool {
	if t.name != "setting" {
		return false
	}
	name := row[slices.Index(columns, "name")]
	return name == moveSetting || name == ownerSetting
}

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
	Table string     `json:"table"`
	Last  []keyValue `json:"last"`
}

// keyValue is a part of a key: one of the three.
type keyValue struct {
	Number *int64  `json:"number,omitempty"`
	Text   *string `json:"text,omitempty"`
	Bytes  []byte  `json:"bytes,omitempty"`
}

func (k keyValue) value() any {
	switch {
	case k.Number != nil:
		return *k.Number
	case k.Text != nil:
		return *k.Text
	}
	return k.Bytes
}

func keyValueOf(v any) keyValue {
	switch x := v.(type) {
	case int64:
		return keyValue{Number: &x}
	case string:
		return keyValue{Text: &x}
	}
	return keyValue{Bytes: v.([]byte)}
}

func (m *move) run(ctx context.Context) error {
	mark, err := m.begin(ctx)
	if err != nil {
		return err
	}
	if m.moved.Before {
		return errors.Join(m.compareAll(ctx), m.lookForUploads(ctx))
	}
	first := slices.IndexFunc(movedTables, func(t movedTable) bool { return t.name == mark.Table })
	for i := max(first, 0); i < len(movedTables); i++ {
		last := []keyValue(nil)
		if i == first {
			last = mark.Last
		}
		if err := m.copy(ctx, movedTables[i], last); err != nil {
			return explained(fmt.Errorf("table %s: %w", movedTables[i].name, err))
		}
	}
	if err := errors.Join(m.compareAll(ctx), m.lookForUploads(ctx)); err != nil {
		return err
	}
	return m.to.write(ctx, "ending a move", func(tx *sql.Tx) error {
		for _, t := range movedTables {
			if t.key == "seq" {
				if err := m.to.engine.continueNumbers(ctx, tx, t.name); err != nil {
					return err
				}
			}
		}
		if err := m.to.engine.indexWords(ctx, tx, 0, 0); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM setting WHERE name = ?`, moveSetting)
		return err
	})
}

// begin names the source, and finds how far an earlier move came.
func (m *move) begin(ctx context.Context) (mark moveMark, err error) {
	used, err := m.from.hasRows(ctx, "cases", "permalink", "token")
	if err != nil {
		return mark, err
	}
	if used == "" {
		return mark, &analysis.Fault{Code: "not_found", What: "nothing was moved", Where: "--from", Why: "it has no case, no permalink and no token", Hint: "Give --from the database that the server used."}
	}
	var set bool
	if m.origin, set, err = m.from.Setting(ctx, originSetting); err != nil {
		return mark, err
	}
	if !set {
		if m.origin, err = m.from.newID("d"); err != nil {
			return mark, err
		}
		if err := m.from.SetSetting(ctx, originSetting, m.origin); err != nil {
			return mark, err
		}
	}
	text, set, err := m.to.Setting(ctx, moveSetting)
	if err != nil {
		return mark, err
	}
	if set {
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
	for _, t := range movedTables {
		if t.name != "setting" { // a start keeps some
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
	if text, err = m.markText(mark); err != nil {
		return mark, err
	}
	return mark, m.to.write(ctx, "beginning a move", func(tx *sql.Tx) error {
		// A server that was started there may have kept some.
		if _, err := tx.ExecContext(ctx, `DELETE FROM setting WHERE name <> ?`, ownerSetting); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, setSettingSQL, moveSetting, text)
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

func (m *move) markText(mark moveMark) (string, error) {
	text, err := json.Marshal(mark)
	return string(text), err
}

// A batch is written when it has so many rows, or so many bytes of the longest values.
const (
	rowsOfBatch  = 500
	bytesOfBatch = 4 << 20
	// parametersOfInsert are what each engine takes in one statement.
	parametersOfInsert = 2000
)

// copy writes the rows of a table after the key last, in the order of their keys.
func (m *move) copy(ctx context.Context, t movedTable, last []keyValue) error {
	m.moved.Table = t.name
	tx, err := m.from.reader.BeginTx(ctx, m.from.engine.reading())
	if err != nil {
		return err
	}
	defer tx.Rollback()
	query, args := `SELECT * FROM `+t.name, []any(nil)
	if last != nil {
		query += ` WHERE (` + t.key + `) > (` + parameters(len(last)) + `)`
		for _, k := range last {
			args = append(args, k.value())
		}
	}
	rows, err := tx.QueryContext(ctx, query+` ORDER BY `+t.key, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	b := batch{table: t, columns: columns}
	for rows.Next() {
		row, err := valuesOf(rows, len(columns))
		if err != nil {
			return err
		}
		if t.stays(columns, row) {
			continue
		}
		b.add(row)
		if t.name == "blob" {
			b.size += int(row[slices.Index(columns, "size")].(int64))
		}
		if len(b.rows) >= rowsOfBatch || b.size >= bytesOfBatch {
			if err := m.flush(ctx, &b); err != nil {
				return err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return m.flush(ctx, &b)
}

// batch are rows of one table.
type batch struct {
	table   movedTable
	columns []string
	rows    [][]any
	size    int
}

func (b *batch) add(row []any) {
	b.rows = append(b.rows, row)
	for _, v := range row {
		switch x := v.(type) {
		case string:
			b.size += len(x)
		case []byte:
			b.size += len(x)
		}
	}
}

// flush writes a batch and how far the move came in one transaction, after the uploads that
// its rows name.
func (m *move) flush(ctx context.Context, b *batch) error {
	if len(b.rows) == 0 {
		return nil
	}
	if b.table.name == "blob" {
		sha, object := slices.Index(b.columns, "sha256"), slices.Index(b.columns, "object")
		for _, row := range b.rows {
			where, err := m.upload(ctx, row[sha].(string))
			if err != nil {
				return err
			}
			if row[object] = nil; where != "" {
				row[object] = where
			}
		}
	}
	mark := moveMark{Origin: m.origin, Uploads: m.uploads, Table: b.table.name}
	newest := b.rows[len(b.rows)-1]
	for _, column := range strings.Split(b.table.key, ", ") {
		mark.Last = append(mark.Last, keyValueOf(newest[slices.Index(b.columns, column)]))
	}
	text, err := m.markText(mark)
	if err != nil {
		return err
	}
	err = m.to.write(ctx, "copying rows", func(tx *sql.Tx) error {
		for rows := range slices.Chunk(b.rows, max(parametersOfInsert/len(b.columns), 1)) {
			group := `(` + parameters(len(b.columns)) + `)`
			query := `INSERT INTO ` + b.table.name + ` (` + strings.Join(b.columns, ", ") + `) VALUES ` +
				strings.TrimSuffix(strings.Repeat(group+`, `, len(rows)), `, `)
			if _, err := tx.ExecContext(ctx, query, slices.Concat(rows...)...); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, setSettingSQL, moveSetting, text)
		return err
	})
	if err != nil {
		return err
	}
	m.moved.Rows += int64(len(b.rows))
	b.rows, b.size = nil, 0
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
	for _, t := range movedTables {
		if m.moved.Before && t.name == "setting" {
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
func (m *move) compare(ctx context.Context, t movedTable) error {
	var columns []string
	before, sumBefore, err := m.from.sumOf(ctx, t, &columns)
	if err != nil {
		return err
	}
	after, sumAfter, err := m.to.sumOf(ctx, t, &columns)
	if err != nil {
		return err
	}
	if before != after || sumBefore != sumAfter {
		why := fmt.Sprintf("the table %s has %d rows there and %d here", t.name, before, after)
		if before == after {
			why = fmt.Sprintf("the %d rows of the table %s differ", before, t.name)
		}
		return &analysis.Fault{Code: "differs", What: "the copy is not what was copied", Why: why, Hint: changedHint}
	}
	return nil
}

// sumOf is the number of rows of a table and the sum of their hashes, which does not depend
// on their order. columns are those of the first call.
func (s *Store) sumOf(ctx context.Context, t movedTable, columns *[]string) (n int, sum [4]uint64, err error) {
	err = s.read(ctx, "comparing rows", func(tx *sql.Tx) error {
		chosen := "*"
		if *columns != nil {
			chosen = strings.Join(*columns, ", ")
		}
		rows, err := tx.QueryContext(ctx, `SELECT `+chosen+` FROM `+t.name)
		if err != nil {
			return err
		}
		defer rows.Close()
		if *columns, err = rows.Columns(); err != nil {
			return err
		}
		for rows.Next() {
			row, err := valuesOf(rows, len(*columns))
			if err != nil {
				return err
			}
			if t.stays(*columns, row) {
				continue
			}
			if object := slices.Index(*columns, "object"); t.name == "blob" {
				row[object] = nil // each place has its own
			}
			n++
			hash := hashOfRow(row)
			for i := range sum {
				sum[i] += binary.LittleEndian.Uint64(hash[8*i:])
			}
		}
		return rows.Err()
	})
	return n, sum, err
}

// hashOfRow hashes text as PostgreSQL can store it. Bytes are text where SQLite has them so.
func hashOfRow(row []any) [sha256.Size]byte {
	h := sha256.New()
	for _, v := range row {
		switch x := v.(type) {
		case nil:
			fmt.Fprint(h, "null ")
		case int64:
			fmt.Fprintf(h, "number %d ", x)
		case string:
			text := textOfPostgres(x)
			fmt.Fprintf(h, "bytes %d %s ", len(text), text)
		case []byte:
			fmt.Fprintf(h, "bytes %d %s ", len(x), x)
		default:
			panic(fmt.Sprintf("a column has a %T", v)) // a migration added it: see movedTables
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// valuesOf are the values of the current row: nil, int64, string or []byte.
func valuesOf(rows *sql.Rows, n int) ([]any, error) {
	row, places := make([]any, n), make([]any, n)
	for i := range row {
		places[i] = &row[i]
	}
	err := rows.Scan(places...)
	for i, v := range row {
		if b, is := v.([]byte); is && b == nil {
			row[i] = []byte{} // nil would be written as NULL
		}
	}
	return row, err
}

func parameters(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// mayServe refuses a database that a move has not completed.
func (s *Store) mayServe(ctx context.Context) error {
	_, unfinished, err := s.Setting(ctx, moveSetting)
	if err != nil || !unfinished {
		return err
	}
	return &analysis.Fault{Code: "unfinished_move", What: "the database is not complete", Why: "leakdiff migrate was interrupted while it wrote it", Hint: "Run leakdiff migrate again with the same --from and --to: it goes on where it was."}
}
