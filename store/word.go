package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// wordWriter finds or adds the rows that are stored once: functions, frames, families and
// stacks. It lives as long as one transaction, caches the rows it has found, and adds new
// rows to the full-text tables at the end.
type wordWriter struct {
	tx         *sql.Tx
	engine     engine
	statements []*sql.Stmt

	functionRows, familyRows, stackRows wordTable
	findFrame, addFrame                 *sql.Stmt
	link, members                       *sql.Stmt

	functions map[string]int64
	frames    map[analysis.Frame]int64
	// forgot means that the cache is incomplete.
	forgot bool
	// links are the pairs of function and family that writeLinks has not written yet.
	links [][2]int64
	// linked are the functions of the last linked family.
	linked       map[int64]bool
	linkedFamily int64
	// series are the rows of the processes of the case, by name and host.
	series map[[2]string]int64
	// lastFunction and lastFamily are the last rows in the full-text tables.
	lastFunction, lastFamily int64
	// newFamilies are those that this transaction added.
	newFamilies []int64
}

// mostRemembered bounds the cached functions and frames, because a hostile dump has millions
// of distinct ones.
const mostRemembered = 1 << 13

func newWordWriter(ctx context.Context, tx *sql.Tx, engine engine) (*wordWriter, error) {
	w := &wordWriter{tx: tx, engine: engine, functions: map[string]int64{}, frames: map[analysis.Frame]int64{}, linked: map[int64]bool{}, series: map[[2]string]int64{}}
	if err := tx.QueryRowContext(ctx, engine.lastWords()).Scan(&w.lastFunction, &w.lastFamily); err != nil {
		return nil, err
	}
	for _, s := range []struct {
		to  **sql.Stmt
		sql string
	}{
		{&w.functionRows.find, findFunctionSQL}, {&w.functionRows.add, addFunctionSQL},
		{&w.findFrame, findFrameSQL}, {&w.addFrame, addFrameSQL},
		{&w.familyRows.find, findFamilySQL}, {&w.familyRows.add, addFamilySQL},
		{&w.stackRows.find, findStackSQL}, {&w.stackRows.add, addStackSQL},
		{&w.link, linkSQL}, {&w.members, insertMembersSQL},
	} {
		stmt, err := tx.PrepareContext(ctx, s.sql)
		if err != nil {
			w.close()
			return nil, err
		}
		*s.to = stmt
		w.statements = append(w.statements, stmt)
	}
	return w, nil
}

func (w *wordWriter) close() {
	for _, stmt := range w.statements {
		stmt.Close()
	}
}

// A new row has the highest number, because numbers never reach the limit of SQLite.
const lastWordsSQL = `
SELECT coalesce((SELECT max(seq) FROM function), 0), coalesce((SELECT max(seq) FROM family), 0)`

// index adds the new functions and families to the full-text tables in one statement each,
// because every statement flushes the full-text index.
func (w *wordWriter) index(ctx context.Context) error {
	if err := w.engine.indexWords(ctx, w.tx, w.lastFunction, w.lastFamily); err != nil {
		return err
	}
	_, err := w.tx.ExecContext(ctx, noteNewFamiliesSQL, listOf(w.newFamilies))
	return err
}

const indexFunctionsSQL = `
INSERT INTO function_text (rowid, name)
SELECT seq, name FROM function WHERE seq > ?`

const indexFamiliesSQL = `
INSERT INTO family_text (rowid, words)
SELECT seq, words FROM family WHERE seq > ?`

// A family is unused until its snapshots are visible.
const noteNewFamiliesSQL = `
INSERT INTO family_to_forget SELECT CAST(value AS BIGINT) FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`

const findFunctionSQL = `
SELECT seq FROM function WHERE name = ?`

const addFunctionSQL = `
INSERT INTO function (name) VALUES (?)
ON CONFLICT (name) DO NOTHING
RETURNING seq`

const findFrameSQL = `
SELECT seq FROM frame WHERE function_seq = ?1 AND file = ?2 AND line = ?3 AND file_hash = ?4`

const addFrameSQL = `
INSERT INTO frame (function_seq, file, line, file_hash) VALUES (?, ?, ?, ?)
RETURNING seq`

const findFamilySQL = `
SELECT seq FROM family WHERE fingerprint = ? AND digest = ?`

const addFamilySQL = `
INSERT INTO family (fingerprint, digest, kind, title, entry, loose, creator_seq, attributes, words)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (fingerprint, digest) DO NOTHING
RETURNING seq`

const findStackSQL = `
SELECT seq FROM stack WHERE family_seq = ? AND digest = ?`

const addStackSQL = `
INSERT INTO stack (family_seq, digest, fingerprint, printed, frames, creator, elided, unavailable)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (family_seq, digest) DO NOTHING
RETURNING seq`

const linkSQL = `
INSERT INTO function_family (function_seq, family_seq)
SELECT CAST(list.value ->> 0 AS BIGINT), CAST(list.value ->> 1 AS BIGINT)
FROM json_each(?) list
WHERE true
ON CONFLICT DO NOTHING`

// A wordTable has unique rows by key.
type wordTable struct {
	find, add *sql.Stmt
	// growing means that the last row was new. The next row is then inserted without a lookup;
	// the insert does nothing if the row exists.
	growing bool
}

// row finds or adds the row of a key; rest returns its other columns.
func (t *wordTable) row(ctx context.Context, key []any, rest func() ([]any, error)) (seq int64, isNew bool, err error) {
	if !t.growing {
		err = t.find.QueryRowContext(ctx, key...).Scan(&seq)
		if !errors.Is(err, sql.ErrNoRows) {
			return seq, false, err
		}
	}
	columns, err := rest()
	if err != nil {
		return 0, false, err
	}
	err = t.add.QueryRowContext(ctx, slices.Concat(key, columns)...).Scan(&seq)
	if t.growing = err == nil; t.growing {
		return seq, true, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return 0, false, err
	}
	return seq, false, t.find.QueryRowContext(ctx, key...).Scan(&seq)
}

func (w *wordWriter) function(ctx context.Context, name string) (int64, error) {
	if seq, known := w.functions[name]; known {
		return seq, nil
	}
	seq, _, err := w.functionRows.row(ctx, []any{name}, func() ([]any, error) { return nil, nil })
	if err == nil {
		remember(w, w.functions, name, seq)
	}
	return seq, err
}

// seriesOf returns the row of the series that a snapshot of a case belongs to.
func (w *wordWriter) seriesOf(ctx context.Context, caseSeq int64, snap *analysis.Snapshot) (seq int64, err error) {
	name := [2]string{snap.Process.Name.Value, snap.Process.Host.Value}
	if seq, known := w.series[name]; known {
		return seq, nil
	}
	seq, err = seriesRow(ctx, w.tx, caseSeq, name[0], name[1])
	w.series[name] = seq
	return seq, err
}

func remember[K comparable](w *wordWriter, known map[K]int64, key K, seq int64) {
	if len(known) >= mostRemembered {
		clear(known)
		w.forgot = true
	}
	known[key] = seq
}

// frame returns the rows of a frame and of its function.
func (w *wordWriter) frame(ctx context.Context, f analysis.Frame) (seq, function int64, err error) {
	function, err = w.function(ctx, f.Func)
	if err != nil {
		return 0, 0, err
	}
	if seq, known := w.frames[f]; known {
		return seq, function, nil
	}
	columns := []any{function, f.File, f.Line, textHash(f.File)}
	err = sql.ErrNoRows
	// A function that this transaction added has all its frames in the cache.
	if function <= w.lastFunction || w.forgot {
		err = w.findFrame.QueryRowContext(ctx, columns...).Scan(&seq)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = w.addFrame.QueryRowContext(ctx, columns...).Scan(&seq)
	}
	if err == nil {
		remember(w, w.frames, f, seq)
	}
	return seq, function, err
}

// family returns the row of a family.
func (w *wordWriter) family(ctx context.Context, f *analysis.Family) (seq int64, err error) {
	var functions []int64
	seq, isNew, err := w.familyRows.row(ctx, []any{f.Fingerprint, digestFamily(f)}, func() ([]any, error) {
		for _, name := range f.Loose {
			function, err := w.function(ctx, name)
			if err != nil {
				return nil, err
			}
			functions = append(functions, function)
		}
		loose := appendSeqs([]byte{}, functions...)
		var creator sql.NullInt64
		if f.LooseCreator != "" {
			function, err := w.function(ctx, f.LooseCreator)
			if err != nil {
				return nil, err
			}
			creator = sql.NullInt64{Int64: function, Valid: true}
			functions = append(functions, function)
		}
		attributes, err := json.Marshal(f.Attributes)
		return []any{f.Kind, f.Title, keptEntry(f), loose, creator, string(attributes), searchWords(f)}, err
	})
	if err != nil || !isNew {
		return seq, err
	}
	w.newFamilies = append(w.newFamilies, seq)
	return seq, w.linkAll(ctx, seq, functions)
}

// keptEntry shortens the entry of a family if its functions contain the name: "#2" is the
// third function, "#2<" the third function and the creator. Any other entry stays unchanged,
// with an extra "#" if it starts with one.
func keptEntry(f *analysis.Family) string {
	for i, name := range f.Loose {
		switch f.Entry {
		case name:
			return "#" + strconv.Itoa(i)
		case name + entryArrow + f.LooseCreator:
			return "#" + strconv.Itoa(i) + "<"
		}
	}
	if strings.HasPrefix(f.Entry, "#") {
		return "#" + f.Entry
	}
	return f.Entry
}

const entryArrow = " <- "

// wholeEntry undoes keptEntry.
func wholeEntry(f *analysis.Family, kept string) string {
	number, short := strings.CutPrefix(kept, "#")
	if !short || strings.HasPrefix(number, "#") {
		return number
	}
	number, created := strings.CutSuffix(number, "<")
	i, err := strconv.Atoi(number)
	switch {
	case err != nil || i < 0 || i >= len(f.Loose):
		return kept
	case created:
		return f.Loose[i] + entryArrow + f.LooseCreator
	}
	return f.Loose[i]
}

// linkAll links a family to functions. It skips functions that the family is linked to
// already, because most functions of a stack belong to its family too.
func (w *wordWriter) linkAll(ctx context.Context, family int64, functions []int64) error {
	if family != w.linkedFamily || len(w.linked) >= mostRemembered {
		clear(w.linked)
		w.linkedFamily = family
	}
	for _, function := range functions {
		if w.linked[function] {
			continue
		}
		w.linked[function] = true
		w.links = append(w.links, [2]int64{function, family})
	}
	if len(w.links) < mostRemembered {
		return nil
	}
	return w.writeLinks(ctx)
}

// writeLinks writes all links in one statement, in the order of their primary key.
func (w *wordWriter) writeLinks(ctx context.Context) error {
	if len(w.links) == 0 {
		return nil
	}
	slices.SortFunc(w.links, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
	list, err := json.Marshal(w.links)
	if err != nil {
		return err
	}
	w.links = w.links[:0]
	_, err = w.link.ExecContext(ctx, string(list))
	return err
}

// stack returns the row of a variant's exact stack within a family.
func (w *wordWriter) stack(ctx context.Context, family int64, v *analysis.Variant) (seq int64, err error) {
	printed := v.Stack
	if printed == nil {
		printed = &analysis.Stack{}
	}
	var functions []int64
	seq, isNew, err := w.stackRows.row(ctx, []any{family, digestStack(v)}, func() ([]any, error) {
		frames := []byte{}
		for _, f := range printed.Frames {
			frame, function, err := w.frame(ctx, f)
			if err != nil {
				return nil, err
			}
			frames = appendSeqs(frames, frame)
			functions = append(functions, function)
		}
		var creator int64
		if printed.CreatedBy != (analysis.Frame{}) {
			frame, function, err := w.frame(ctx, printed.CreatedBy)
			if err != nil {
				return nil, err
			}
			creator = frame
			functions = append(functions, function)
		}
		return []any{v.Fingerprint, v.Stack != nil, frames, creator, printed.Elided, printed.Unavailable}, nil
	})
	if err != nil || !isNew {
		return seq, err
	}
	return seq, w.linkAll(ctx, family, functions)
}

// groupWords are the rows of a group.
type groupWords struct {
	family int64
	// variants alternates stack.seq and count.
	variants []int64
}

// words returns the rows of a group's family and stacks.
func (w *wordWriter) words(ctx context.Context, g *analysis.Group) (words groupWords, err error) {
	if words.family, err = w.family(ctx, g.Family); err != nil {
		return words, err
	}
	words.variants = make([]int64, 0, 2*len(g.Variants))
	for i := range g.Variants {
		v := &g.Variants[i]
		stack, err := w.stack(ctx, words.family, v)
		if err != nil {
			return words, err
		}
		if v.Count < 0 {
			return words, fmt.Errorf("variant with count %d", v.Count)
		}
		words.variants = append(words.variants, stack, int64(v.Count))
	}
	return words, nil
}

// searchWords returns the words of a family that its function names do not contain, because
// a search finds those by the functions. Most words of a title are function names.
func searchWords(f *analysis.Family) string {
	var words []string
	for _, word := range strings.Fields(f.Title) {
		within := func(name string) bool { return strings.Contains(name, word) }
		if !within(f.LooseCreator) && !slices.ContainsFunc(f.Loose, within) {
			words = append(words, word)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Attributes)) {
		words = append(words, f.Attributes[name])
	}
	return strings.Join(words, "\n")
}

// digest is a hash of length-prefixed texts and numbers.
type digest struct{ h hash.Hash }

func (d digest) text(s string) {
	d.number(int64(len(s)))
	d.h.Write([]byte(s))
}

func (d digest) number(v int64) {
	var b [binary.MaxVarintLen64]byte
	d.h.Write(b[:binary.PutVarint(b[:], v)])
}

func (d digest) frame(f analysis.Frame) {
	d.text(f.Func)
	d.text(f.File)
	d.number(int64(f.Line))
}

func (d digest) sum() []byte { return d.h.Sum(nil)[:16] }

func digestFamily(f *analysis.Family) []byte {
	d := digest{sha256.New()}
	for _, s := range []string{string(f.Kind), f.Title, f.Entry, f.LooseCreator} {
		d.text(s)
	}
	d.number(int64(len(f.Loose)))
	for _, name := range f.Loose {
		d.text(name)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Attributes)) {
		d.text(name)
		d.text(f.Attributes[name])
	}
	return d.sum()
}

func digestStack(v *analysis.Variant) []byte {
	d := digest{sha256.New()}
	d.text(v.Fingerprint)
	if v.Stack == nil {
		return d.sum()
	}
	d.number(int64(len(v.Stack.Frames)))
	for _, f := range v.Stack.Frames {
		d.frame(f)
	}
	d.frame(v.Stack.CreatedBy)
	d.number(int64(v.Stack.Elided))
	d.text(v.Stack.Unavailable)
	return d.sum()
}
