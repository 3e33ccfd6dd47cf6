package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"leakdiff/analysis"
)

// loader reads snapshots with few queries: heads and facts, members, then the families,
// stacks, frames and functions in the facts.
type loader struct {
	tx    *sql.Tx
	p     *packer
	facts factReader
	// families and stacks are nil until assemble loads them.
	families map[int64]*loadedFamily
	stacks   map[int64]*loadedStack
	// shapes are the shapes of objects, by their encoding.
	shapes map[string]*analysis.ObjectKind
}

func newLoader(tx *sql.Tx) *loader {
	return &loader{tx: tx, p: &packer{}, families: map[int64]*loadedFamily{}, stacks: map[int64]*loadedStack{}, shapes: map[string]*analysis.ObjectKind{}}
}

// A loadedFamily is a family with its values in the last snapshot. Most families are equal
// in successive snapshots, which then share the values.
type loadedFamily struct {
	family *analysis.Family

	// stateCounts are indexes of names and counts.
	names       []string
	stateCounts []int64
	states      map[string]int

	variants *variantList
	// last is the last snapshot with the family.
	last *snapshotRow
}

// A variantList alternates stack.seq and count until its variants are built.
type variantList struct {
	pairs []int64
	made  []analysis.Variant
}

type loadedStack struct {
	fingerprint string
	stack       *analysis.Stack
}

type snapshotRow struct {
	seq  int64
	id   string
	head *analysis.Snapshot
	// families is the number of groups, also of a head without them.
	families int
	// groups are the rows of the groups of head; members are the numbers of their members.
	groups  []groupRow
	members []int
}

type groupRow struct {
	family   *loadedFamily
	variants *variantList
}

// heads reads the heads of snapshots.
func (l *loader) heads(ctx context.Context, rows []*snapshotRow) error {
	var seq int64
	var label string
	var head sql.RawBytes
	return l.all(ctx, rows, headsSQL, []any{&seq, &label, &head}, func(r *snapshotRow) (err error) {
		r.head, r.families, err = unpackHead(l.p, r.id, label, head)
		return err
	})
}

const headsSQL = `
SELECT seq, label, head
FROM snapshot
WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`

// fill reads the groups of snapshots into their heads, with members, and with objects if they
// are wanted. Equal families, stacks, states and variants share one value, which must not be
// changed.
func (l *loader) fill(ctx context.Context, rows []*snapshotRow, objects bool) error {
	var seq int64
	var facts sql.RawBytes
	err := l.all(ctx, rows, groupsSQL, []any{&seq, &facts}, func(r *snapshotRow) error {
		if err := l.groups(r, facts); err != nil {
			return fmt.Errorf("snapshot %s: %w", r.id, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := l.members(ctx, rows); err != nil {
		return err
	}
	if objects {
		if err := l.objects(ctx, rows); err != nil {
			return err
		}
	}
	return l.assemble(ctx, rows)
}

const groupsSQL = `
SELECT seq, facts
FROM snapshot
WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`

// each reads a query for the numbers of the rows, which returns the number first, and calls
// visit for each. It returns the rows that the query did not.
func (l *loader) each(ctx context.Context, rows []*snapshotRow, query string, into []any, visit func(*snapshotRow) error) (map[int64]*snapshotRow, error) {
	seqs := make([]int64, len(rows))
	left := make(map[int64]*snapshotRow, len(rows))
	for i, r := range rows {
		seqs[i], left[r.seq] = r.seq, r
	}
	_, err := collect(ctx, l.tx, func(rows *sql.Rows) (none struct{}, err error) {
		if err := rows.Scan(into...); err != nil {
			return none, err
		}
		seq := *into[0].(*int64)
		r := left[seq]
		delete(left, seq)
		return none, visit(r)
	}, query, listOf(seqs))
	return left, err
}

// all is each for rows that must be there.
func (l *loader) all(ctx context.Context, rows []*snapshotRow, query string, into []any, visit func(*snapshotRow) error) error {
	left, err := l.each(ctx, rows, query, into, visit)
	if err != nil {
		return err
	}
	for _, r := range left {
		return fmt.Errorf("snapshot %s is missing", r.id)
	}
	return nil
}

// groups reads the facts of a snapshot into its groups.
func (l *loader) groups(row *snapshotRow, blob []byte) error {
	groups := l.facts.read(l.p, blob)
	n := l.facts.groups()
	i := 0
	row.head.Groups, row.groups, row.members = make([]analysis.Group, n), make([]groupRow, n), make([]int, n)
	for g := range groups {
		family := l.families[g.family]
		if family == nil {
			family = &loadedFamily{}
			l.families[g.family] = family
		}
		if family.last == row {
			return fmt.Errorf("family row %d twice", g.family)
		}
		family.last = row
		group := &row.head.Groups[i]
		group.Count, group.Waits, group.OldestWait, group.Leaked = g.count, g.waits, g.oldest, g.leaked
		group.States = family.statesOf(l.facts.names, g.states)
		row.groups[i] = groupRow{family, l.variantsOf(family, g.stacks)}
		row.members[i] = g.members
		i++
	}
	return l.facts.done()
}

// statesOf reuses the states of the previous snapshot if they are equal.
func (f *loadedFamily) statesOf(names []string, counts []int64) map[string]int {
	if len(counts) == 0 {
		return nil
	}
	same := len(f.names) > 0 && &f.names[0] == &names[0]
	if same && slices.Equal(f.stateCounts, counts) {
		return f.states
	}
	f.names, f.stateCounts = names, append(f.stateCounts[:0], counts...)
	f.states = make(map[string]int, len(counts)/2)
	for i := 0; i < len(counts); i += 2 {
		f.states[names[counts[i]]] = int(counts[i+1])
	}
	return f.states
}

func (l *loader) variantsOf(f *loadedFamily, pairs []int64) *variantList {
	if f.variants != nil && slices.Equal(f.variants.pairs, pairs) {
		return f.variants
	}
	f.variants = &variantList{pairs: slices.Clone(pairs)}
	for i := 0; i < len(pairs); i += 2 {
		l.stacks[pairs[i]] = nil
	}
	return f.variants
}

// members reads members into the groups.
func (l *loader) members(ctx context.Context, rows []*snapshotRow) error {
	var seq int64
	var value sql.RawBytes
	at, err := l.each(ctx, rows, membersSQL, []any{&seq, &value}, func(r *snapshotRow) error { return l.membersOf(r, value) })
	if err != nil {
		return err
	}
	// Snapshots without a row must have no members, or had them.
	for seq, r := range at {
		if slices.Max(append(r.members, 0)) == 0 {
			delete(at, seq)
		}
	}
	if len(at) == 0 {
		return nil
	}
	_, err = collect(ctx, l.tx, func(rows *sql.Rows) (none struct{}, err error) {
		var thinned int64
		if err := rows.Scan(&seq, &thinned); err != nil {
			return none, err
		}
		at[seq].head.Thinned = fromMicros(thinned)
		delete(at, seq)
		return none, nil
	}, thinnedSQL, listOf(slices.Collect(maps.Keys(at))))
	for _, r := range at {
		return errors.Join(err, fmt.Errorf("snapshot %s: its members are missing", r.id))
	}
	return err
}

const thinnedSQL = `
SELECT seq, thinned_at
FROM snapshot
WHERE thinned_at IS NOT NULL AND seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`

const membersSQL = `
SELECT snapshot_seq, members
FROM snapshot_members
WHERE snapshot_seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`

func (l *loader) membersOf(row *snapshotRow, value []byte) error {
	r := memberReader{p: l.p, value: value}
	for i, n := range row.members {
		m, err := r.next(n)
		if err != nil {
			return fmt.Errorf("snapshot %s: %w", row.id, err)
		}
		row.head.Groups[i].Members = m
	}
	return r.done()
}

// listOf encodes numbers for json_each.
func listOf(seqs []int64) string {
	text, err := json.Marshal(append([]int64{}, seqs...))
	if err != nil {
		return "[]"
	}
	return string(text)
}

// A set preserves the order of insertion.
type set struct {
	has  map[int64]bool
	list []int64
}

func newSet() *set { return &set{has: map[int64]bool{}} }

func (s *set) add(values ...int64) {
	for _, v := range values {
		if !s.has[v] {
			s.has[v] = true
			s.list = append(s.list, v)
		}
	}
}

type familyRow struct {
	seq     int64
	family  analysis.Family
	loose   []int64
	creator sql.NullInt64
}

func (l *loader) loadFamilies(ctx context.Context, seqs []int64) error {
	if len(seqs) == 0 {
		return nil
	}
	rows, err := collect(ctx, l.tx, scanFamily, familiesSQL, listOf(seqs))
	if err != nil {
		return err
	}
	used := newSet()
	for _, r := range rows {
		used.add(r.loose...)
		if r.creator.Valid {
			used.add(r.creator.Int64)
		}
	}
	names, err := l.functions(ctx, used.list)
	if err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		if len(r.loose) > 0 {
			r.family.Loose = make([]string, len(r.loose))
		}
		for i, function := range r.loose {
			r.family.Loose[i] = names[function]
		}
		r.loose = nil // frees memory: the family keeps its row
		if r.creator.Valid {
			r.family.LooseCreator = names[r.creator.Int64]
		}
		r.family.Entry = wholeEntry(&r.family, r.family.Entry)
		if l.families[r.seq] == nil {
			l.families[r.seq] = &loadedFamily{}
		}
		l.families[r.seq].family = &r.family
	}
	return nil
}

const familiesSQL = `
SELECT seq, fingerprint, kind, title, entry, loose, creator_seq, attributes
FROM family
WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`

func scanFamily(rows *sql.Rows) (r familyRow, err error) {
	var loose, attributes []byte
	f := &r.family
	err = rows.Scan(&r.seq, &f.Fingerprint, &f.Kind, &f.Title, &f.Entry, &loose, &r.creator, &attributes)
	if err != nil {
		return r, err
	}
	if r.loose, err = readSeqs(loose); err != nil {
		return r, err
	}
	return r, json.Unmarshal(attributes, &f.Attributes)
}

func (l *loader) functions(ctx context.Context, seqs []int64) (map[int64]string, error) {
	names := map[int64]string{}
	_, err := collect(ctx, l.tx, func(rows *sql.Rows) (struct{}, error) {
		var seq int64
		var name string
		err := rows.Scan(&seq, &name)
		names[seq] = name
		return struct{}{}, err
	}, functionsSQL, listOf(seqs))
	return names, err
}

const functionsSQL = `
SELECT seq, name FROM function
WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`

type stackRow struct {
	seq         int64
	fingerprint string
	printed     bool
	frames      []int64
	creator     int64
	stack       analysis.Stack
}

func (l *loader) loadStacks(ctx context.Context, seqs []int64) error {
	if len(seqs) == 0 {
		return nil
	}
	rows, err := collect(ctx, l.tx, scanStack, stacksSQL, listOf(seqs))
	if err != nil {
		return err
	}
	used := newSet()
	for _, r := range rows {
		used.add(r.frames...)
		used.add(r.creator)
	}
	frames, err := l.frames(ctx, used.list)
	if err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		loaded := &loadedStack{fingerprint: r.fingerprint}
		l.stacks[r.seq] = loaded
		if !r.printed {
			continue
		}
		if len(r.frames) > 0 {
			r.stack.Frames = make([]analysis.Frame, len(r.frames))
		}
		for i, frame := range r.frames {
			r.stack.Frames[i] = frames[frame]
		}
		r.frames = nil // frees memory: the stack keeps its row
		r.stack.CreatedBy = frames[r.creator]
		loaded.stack = &r.stack
	}
	return nil
}

const stacksSQL = `
SELECT seq, fingerprint, printed, frames, creator, elided, unavailable
FROM stack
WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`

func scanStack(rows *sql.Rows) (r stackRow, err error) {
	var frames []byte
	err = rows.Scan(&r.seq, &r.fingerprint, &r.printed, &frames, &r.creator, &r.stack.Elided, &r.stack.Unavailable)
	if err != nil {
		return r, err
	}
	r.frames, err = readSeqs(frames)
	return r, err
}

func (l *loader) frames(ctx context.Context, seqs []int64) (map[int64]analysis.Frame, error) {
	frames := map[int64]analysis.Frame{}
	_, err := collect(ctx, l.tx, func(rows *sql.Rows) (struct{}, error) {
		var seq int64
		var f analysis.Frame
		err := rows.Scan(&seq, &f.Func, &f.File, &f.Line)
		frames[seq] = f
		return struct{}{}, err
	}, framesSQL, listOf(seqs))
	return frames, err
}

const framesSQL = `
SELECT frame.seq, function.name, frame.file, frame.line
FROM frame
JOIN function ON function.seq = frame.function_seq
WHERE frame.seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`

// assemble adds families and stacks to the groups of the snapshots.
func (l *loader) assemble(ctx context.Context, rows []*snapshotRow) error {
	if err := l.loadFamilies(ctx, slices.Sorted(maps.Keys(l.families))); err != nil {
		return err
	}
	if err := l.loadStacks(ctx, slices.Sorted(maps.Keys(l.stacks))); err != nil {
		return err
	}
	for _, r := range rows {
		for k := range r.groups {
			if err := l.hang(&r.head.Groups[k], r.groups[k]); err != nil {
				return fmt.Errorf("snapshot %s: %w", r.id, err)
			}
		}
	}
	return nil
}

func (l *loader) hang(g *analysis.Group, row groupRow) error {
	if g.Family = row.family.family; g.Family == nil {
		return errors.New("a family is missing")
	}
	if list := row.variants; list.made == nil && len(list.pairs) > 0 {
		list.made = make([]analysis.Variant, 0, len(list.pairs)/2)
		for i := 0; i < len(list.pairs); i += 2 {
			loaded := l.stacks[list.pairs[i]]
			if loaded == nil {
				return fmt.Errorf("stack row %d is missing", list.pairs[i])
			}
			list.made = append(list.made, analysis.Variant{
				Fingerprint: loaded.fingerprint, Stack: loaded.stack, Count: int(list.pairs[i+1]),
			})
		}
	}
	g.Variants = row.variants.made
	return nil
}
