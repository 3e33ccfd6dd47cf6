package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis/column"
)

// tables are all tables, each after those that it refers to: the order in which rows are
// checked, backed up, restored and moved.
var tables = []table{
	{name: "setting", key: "name"},
	{name: "cases", key: "seq"},
	{name: "blob", key: "sha256"},
	{name: "object_to_forget", key: "object", stays: true},
	{name: "bundle", key: "seq"},
	{name: "job", key: "seq"},
	{name: "duty", key: "name", stays: true},
	{name: "function", key: "seq"},
	{name: "family", key: "seq"},
	{name: "stack", key: "seq"},
	{name: "frame", key: "seq"},
	{name: "function_family", key: "function_seq, family_seq"},
	{name: "permalink", key: "id"},
	{name: "answer", key: "key_hash"},
	{name: "edit", key: "seq"},
	{name: "case_field", key: "case_seq, field"},
	{name: "triage", key: "case_seq, process, fingerprint"},
	{name: "benign", key: "process, fingerprint"},
	{name: "ending", key: "case_seq, fingerprint, process"},
	{name: "bundle_kind", key: "bundle_seq, path"},
	{name: "bundle_file", key: "bundle_seq, place"},
	{name: "dropped_file", key: "bundle_seq, place"},
	{name: "series", key: "seq"},
	{name: "series_ending", key: "fingerprint, series_seq"},
	{name: "snapshot", key: "seq"},
	{name: "snapshot_members", key: "snapshot_seq"},
	{name: "snapshot_objects", key: "snapshot_seq"},
	{name: "family_seen", key: "family_seq, series_seq, day"},
	{name: "family_span", key: "fingerprint, host, series_seq"},
	{name: "family_to_forget", key: "family_seq"},
	{name: "frame_to_forget", key: "frame_seq"},
	{name: "function_to_forget", key: "function_seq"},
	{name: "case_report", key: "case_seq"},
	{name: "series_judgement", key: "case_seq, made_of"},
	{name: "token", key: "seq"},
	{name: "session", key: "hash"},
	{name: "audit", key: "seq"},
	{name: "alert", key: "fingerprint"},
	{name: "alert_delivery", key: "seq"},
}

type table struct {
	name, key string
	// stays is true for rows about the bucket and the servers of a database, which a move leaves.
	stays bool
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// A batch has so many rows at most, and some more bytes than these in its longest values.
const (
	rowsOfBatch  = 500
	bytesOfBatch = 4 << 20
	// parametersOfInsert are what each engine takes in one statement.
	parametersOfInsert = 2000
)

// export passes the rows of a table to visit in batches, in the order of the key. It begins
// after the row with the key last, or with the first row for nil.
func (t table) export(ctx context.Context, from querier, last []any, visit func(*batch) error) error {
	query := `SELECT * FROM ` + quoted(t.name)
	if last != nil {
		query += ` WHERE (` + t.key + `) > (` + parameters(len(last)) + `)`
	}
	if t.key != "" {
		query += ` ORDER BY ` + t.key
	}
	rows, err := from.QueryContext(ctx, query, last...)
	if err != nil {
		return err
	}
	defer rows.Close()
	b := &batch{table: t.name}
	if b.columns, err = rows.Columns(); err != nil {
		return err
	}
	for size := 0; rows.Next(); {
		row, err := valuesOf(rows, len(b.columns))
		if err != nil {
			return err
		}
		b.rows = append(b.rows, row)
		if size += sizeOf(b, row); len(b.rows) < rowsOfBatch && size < bytesOfBatch {
			continue
		}
		if err := visit(b); err != nil {
			return err
		}
		b.rows, size = nil, 0
	}
	if err := rows.Err(); err != nil || len(b.rows) == 0 {
		return err
	}
	return visit(b)
}

// sizeOf is the number of bytes of a row, with those of the upload that it names.
func sizeOf(b *batch, row []any) (n int) {
	for _, v := range row {
		switch x := v.(type) {
		case string:
			n += len(x)
		case []byte:
			n += len(x)
		}
	}
	if b.table == "blob" {
		n += int((record{b, row}).int("size"))
	}
	return n
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

// batch are rows of one table.
type batch struct {
	table   string
	columns []string
	rows    [][]any
}

// record is a row of a batch. A column that is missing, and one of another type, is the zero value.
type record struct {
	*batch
	row []any
}

func (r record) value(column string) any {
	if i := slices.Index(r.columns, column); i >= 0 {
		return r.row[i]
	}
	return nil
}

func (r record) null(column string) bool    { return r.value(column) == nil }
func (r record) int(column string) int64    { v, _ := r.value(column).(int64); return v }
func (r record) text(column string) string  { v, _ := r.value(column).(string); return v }
func (r record) bytes(column string) []byte { v, _ := r.value(column).([]byte); return v }
func (r record) set(column string, v any)   { r.row[slices.Index(r.columns, column)] = v }

// insert writes the rows of a batch.
func (b *batch) insert(ctx context.Context, tx *sql.Tx) error {
	names := make([]string, len(b.columns))
	for i, column := range b.columns {
		names[i] = quoted(column)
	}
	group := `(` + parameters(len(names)) + `)`
	for rows := range slices.Chunk(b.rows, max(parametersOfInsert/len(names), 1)) {
		query := `INSERT INTO ` + quoted(b.table) + ` (` + strings.Join(names, ", ") + `) VALUES ` +
			strings.TrimSuffix(strings.Repeat(group+`, `, len(rows)), `, `)
		if _, err := tx.ExecContext(ctx, query, slices.Concat(rows...)...); err != nil {
			return err
		}
	}
	return nil
}

func parameters(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// imported completes a database whose rows were inserted.
func (s *Store) imported(ctx context.Context, tx *sql.Tx) error {
	for _, t := range tables {
		if t.key == "seq" {
			if err := s.engine.continueNumbers(ctx, tx, t.name); err != nil {
				return err
			}
		}
	}
	return s.engine.indexWords(ctx, tx, 0, 0)
}

// codeRow writes or reads the values of a row.
func codeRow(c *column.Codec, row []any) {
	const null, number, text, bytes = 0, 1, 2, 3
	for i := range row {
		var kind uint64
		var n int64
		var s string
		var b []byte
		switch x := row[i].(type) {
		case nil:
		case int64:
			kind, n = number, x
		case string:
			kind, s = text, x
		case []byte:
			kind, b = bytes, x
		default: // a migration added it
			c.Fail(fmt.Errorf("a column has a %T", x))
		}
		switch c.Uint(&kind); kind {
		case null:
			row[i] = nil
		case number:
			c.Int(&n)
			row[i] = n
		case text:
			c.Text(&s)
			row[i] = s
		case bytes:
			c.Bytes(&b)
			row[i] = b
		default:
			c.Fail(fmt.Errorf("a value of the kind %d", kind))
		}
	}
}

// tally is the number of rows of a table and the sum of their hashes, which depends neither
// on the order of rows nor on that of columns.
type tally struct {
	Rows int       `json:"rows"`
	Sum  [4]uint64 `json:"sum"`
}

// add hashes text as PostgreSQL can store it. Bytes are text where SQLite has them so.
func (t *tally) add(b *batch) error {
	order := make([]int, len(b.columns))
	for i, name := range slices.Sorted(slices.Values(b.columns)) {
		order[i] = slices.Index(b.columns, name)
	}
	var buffer []byte
	row := make([]any, len(order))
	for _, values := range b.rows {
		for i, from := range order {
			if row[i] = values[from]; row[i] == nil {
				continue
			}
			if s, is := row[i].(string); is {
				row[i] = []byte(textOfPostgres(s))
			}
		}
		c := column.Appender(buffer[:0])
		if codeRow(c, row); c.Err() != nil {
			return c.Err()
		}
		buffer = c.Data()
		hash := sha256.Sum256(buffer)
		for i := range t.Sum {
			t.Sum[i] += binary.LittleEndian.Uint64(hash[8*i:])
		}
	}
	t.Rows += len(b.rows)
	return nil
}
