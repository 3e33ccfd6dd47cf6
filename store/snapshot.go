package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"leakdiff/analysis"
)

// AllProcesses is the process key that SnapshotsFull takes for "every process".
const AllProcesses = ""

// Snapshots returns the snapshots of a case's finished bundles without members:
// with families, counts, states, waits and variants. They come in the order of
// upload and, within a bundle, in the order of the result. A snapshot that is in
// several bundles is returned once, as the first bundle has it. Equal families,
// stacks and states share one value, which must not be changed.
func (s *Store) Snapshots(ctx context.Context, caseID string) ([]analysis.Snapshot, error) {
	return s.snapshots(ctx, caseID, AllProcesses, withoutMembers)
}

// SnapshotsFull is Snapshots with members, of the process with this key
// (analysis.Process.Key) or of AllProcesses.
func (s *Store) SnapshotsFull(ctx context.Context, caseID, processKey string) ([]analysis.Snapshot, error) {
	return s.snapshots(ctx, caseID, processKey, withMembers)
}

// SnapshotsPacked is SnapshotsFull of all processes with goroutines left packed, in
// about five bytes each.
func (s *Store) SnapshotsPacked(ctx context.Context, caseID string) ([]analysis.Snapshot, error) {
	return s.snapshots(ctx, caseID, AllProcesses, withPacked)
}

// SnapshotsAged is Snapshots with nothing of the members but Wait and Age: all that
// a snapshot that stands alone can say of growth, in four bytes a goroutine.
func (s *Store) SnapshotsAged(ctx context.Context, caseID string) ([]analysis.Snapshot, error) {
	return s.snapshots(ctx, caseID, AllProcesses, withAges)
}

// SnapshotHeads is Snapshots without families: what each says of itself.
func (s *Store) SnapshotHeads(ctx context.Context, caseID string) ([]analysis.Snapshot, error) {
	return s.snapshots(ctx, caseID, AllProcesses, headsOnly)
}

type depth int

const (
	headsOnly depth = iota
	withoutMembers
	withAges
	withPacked
	withMembers
)

func (s *Store) snapshots(ctx context.Context, caseID, key string, d depth) (out []analysis.Snapshot, err error) {
	err = s.read(ctx, "reading snapshots", func(tx *sql.Tx) error {
		var p packer
		defer p.close()
		l := &loader{tx: tx, p: &p, families: map[int64]*analysis.Family{}, stacks: map[int64]*loadedStack{}, states: map[string]map[string]int{}}
		rows, err := l.heads(ctx, caseID, key)
		if err != nil {
			return err
		}
		if d == headsOnly {
			out, err = l.assemble(rows, nil)
			return err
		}
		groups, err := l.groups(ctx, rows)
		if err != nil {
			return err
		}
		if err := l.words(ctx, groups); err != nil {
			return err
		}
		if out, err = l.assemble(rows, groups); err != nil {
			return err
		}
		switch d {
		case withMembers:
			return l.members(ctx, rows, out, decodeMembers)
		case withPacked:
			return l.members(ctx, rows, out, openMembers)
		case withAges:
			return l.members(ctx, rows, out, decodeAges)
		}
		return nil
	})
	return out, err
}

// loader reads snapshots with few queries: heads, groups, then the families,
// stacks, frames and functions that the groups name.
type loader struct {
	tx       *sql.Tx
	p        *packer
	families map[int64]*analysis.Family
	stacks   map[int64]*loadedStack
	// states are by their text.
	states map[string]map[string]int
}

type loadedStack struct {
	fingerprint string
	stack       *analysis.Stack
}

type snapshotRow struct {
	seq  int64
	head analysis.Snapshot
}

// heads reads the snapshots of a case, each id once.
func (l *loader) heads(ctx context.Context, caseID, key string) ([]snapshotRow, error) {
	host, name, _ := strings.Cut(key, "\x00")
	rows, err := collect(ctx, l.tx, func(rows *sql.Rows) (r snapshotRow, err error) {
		var blob []byte
		if err := rows.Scan(&r.seq, &blob); err != nil {
			return r, err
		}
		r.head, err = unpackHead(l.p, blob)
		return r, err
	}, caseSnapshotsSQL, caseID, key == AllProcesses, host, name)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []snapshotRow
	for _, r := range rows {
		if !seen[r.head.ID] {
			seen[r.head.ID] = true
			out = append(out, r)
		}
	}
	return out, nil
}

const caseSnapshotsSQL = `
SELECT v.seq, v.head
FROM visible_snapshot v
JOIN cases c ON c.seq = v.case_seq
WHERE c.id = ?1 AND (?2 OR (v.host = ?3 AND v.process = ?4))
ORDER BY v.bundle_seq, v.place`

// groupRow is what a group refers to; the group itself stands in its snapshot.
type groupRow struct {
	group  *analysis.Group
	family int64
	// variants alternates stack.seq and count.
	variants []int64
}

// groups reads the groups into their snapshots. A group is large, and a case may have
// a million: no list of them grows.
func (l *loader) groups(ctx context.Context, rows []snapshotRow) ([]groupRow, error) {
	seqs := make([]int64, len(rows))
	at := make(map[int64]*analysis.Snapshot, len(rows))
	for i := range rows {
		seqs[i], at[rows[i].seq] = rows[i].seq, &rows[i].head
	}
	list, total := listOf(seqs), 0
	_, err := collect(ctx, l.tx, func(rows *sql.Rows) (struct{}, error) {
		var seq int64
		var n int
		if err := rows.Scan(&seq, &n); err != nil {
			return struct{}{}, err
		}
		at[seq].Groups = make([]analysis.Group, 0, n)
		total += n
		return struct{}{}, nil
	}, countGroupsSQL, list)
	if err != nil {
		return nil, err
	}
	out := make([]groupRow, 0, total)
	_, err = collect(ctx, l.tx, func(rows *sql.Rows) (struct{}, error) {
		r, err := l.scanGroup(rows, at)
		out = append(out, r)
		return struct{}{}, err
	}, groupsSQL, list)
	return out, err
}

const countGroupsSQL = `
SELECT snapshot_seq, count(*)
FROM snapshot_family
WHERE snapshot_seq IN (SELECT value FROM json_each(?))
GROUP BY snapshot_seq`

const groupsSQL = `
SELECT snapshot_seq, family_seq, count, states, waits, oldest, leaked, variants
FROM snapshot_family
WHERE snapshot_seq IN (SELECT value FROM json_each(?))
ORDER BY snapshot_seq, place`

// scanGroup appends a group to its snapshot.
func (l *loader) scanGroup(rows *sql.Rows, at map[int64]*analysis.Snapshot) (r groupRow, err error) {
	var snapshot int64
	var states, waits, variants sql.RawBytes
	var g analysis.Group
	err = rows.Scan(&snapshot, &r.family, &g.Count, &states, &waits, &g.OldestWait, &g.Leaked, &variants)
	if err != nil {
		return r, err
	}
	if g.States, err = l.statesOf(states); err != nil {
		return r, fmt.Errorf("states: %w", err)
	}
	if err := json.Unmarshal(waits, &g.Waits); err != nil {
		return r, fmt.Errorf("waits: %w", err)
	}
	list, err := readSeqs(variants)
	if err != nil {
		return r, err
	}
	if len(list) == 0 || int64(len(list)-1) != 2*list[0] {
		return r, errors.New("list of variants is damaged")
	}
	r.variants = list[1:]
	snap := at[snapshot]
	snap.Groups = append(snap.Groups, g)
	r.group = &snap.Groups[len(snap.Groups)-1]
	return r, nil
}

// mostStates bounds the states that are remembered.
const mostStates = 1 << 12

// statesOf shares equal states: most families of a large case are small and in one state.
func (l *loader) statesOf(text []byte) (states map[string]int, err error) {
	if known, ok := l.states[string(text)]; ok {
		return known, nil
	}
	if err := json.Unmarshal(text, &states); err != nil {
		return nil, err
	}
	if len(l.states) < mostStates {
		l.states[string(text)] = states
	}
	return states, nil
}

// listOf passes numbers to json_each.
func listOf(seqs []int64) string {
	text, err := json.Marshal(append([]int64{}, seqs...))
	if err != nil {
		return "[]"
	}
	return string(text)
}

// words reads the families and stacks of groups.
func (l *loader) words(ctx context.Context, groups []groupRow) error {
	families, stacks := newSet(), newSet()
	for _, g := range groups {
		families.add(g.family)
		for i := 0; i < len(g.variants); i += 2 {
			stacks.add(g.variants[i])
		}
	}
	if err := l.loadFamilies(ctx, families.list); err != nil {
		return err
	}
	return l.loadStacks(ctx, stacks.list)
}

// A set keeps the order in which its numbers came.
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
		r.loose = nil // the row stays with its family
		if r.creator.Valid {
			r.family.LooseCreator = names[r.creator.Int64]
		}
		r.family.Entry = wholeEntry(&r.family, r.family.Entry)
		l.families[r.seq] = &r.family
	}
	return nil
}

const familiesSQL = `
SELECT seq, fingerprint, kind, title, entry, loose, creator_seq, attributes
FROM family
WHERE seq IN (SELECT value FROM json_each(?))`

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
WHERE seq IN (SELECT value FROM json_each(?))`

type stackRow struct {
	seq         int64
	fingerprint string
	printed     bool
	frames      []int64
	creator     int64
	stack       analysis.Stack
}

func (l *loader) loadStacks(ctx context.Context, seqs []int64) error {
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
		r.frames = nil // the row stays with its stack
		r.stack.CreatedBy = frames[r.creator]
		loaded.stack = &r.stack
	}
	return nil
}

const stacksSQL = `
SELECT seq, fingerprint, printed, frames, creator, elided, unavailable
FROM stack
WHERE seq IN (SELECT value FROM json_each(?))`

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
WHERE frame.seq IN (SELECT value FROM json_each(?))`

// assemble hangs families and stacks onto the groups of the snapshots.
func (l *loader) assemble(rows []snapshotRow, groups []groupRow) ([]analysis.Snapshot, error) {
	for _, g := range groups {
		g.group.Family = l.families[g.family]
		if g.group.Family == nil {
			return nil, fmt.Errorf("family row %d is missing", g.family)
		}
		for i := 0; i < len(g.variants); i += 2 {
			loaded := l.stacks[g.variants[i]]
			if loaded == nil {
				return nil, fmt.Errorf("stack row %d is missing", g.variants[i])
			}
			g.group.Variants = append(g.group.Variants, analysis.Variant{
				Fingerprint: loaded.fingerprint, Stack: loaded.stack, Count: int(g.variants[i+1]),
			})
		}
	}
	var out []analysis.Snapshot
	for _, r := range rows {
		out = append(out, r.head)
	}
	return out, nil
}

type memberDecoder func(p *packer, blob []byte, want int) (analysis.Members, error)

// members decodes the members of every group, one snapshot after the other.
func (l *loader) members(ctx context.Context, rows []snapshotRow, out []analysis.Snapshot, decode memberDecoder) error {
	ask, err := l.tx.PrepareContext(ctx, snapshotMembersSQL)
	if err != nil {
		return err
	}
	defer ask.Close()
	for i, r := range rows {
		if err := l.membersOf(ctx, ask, r.seq, out[i].Groups, decode); err != nil {
			return fmt.Errorf("snapshot %s: %w", r.head.ID, err)
		}
	}
	return nil
}

func (l *loader) membersOf(ctx context.Context, ask *sql.Stmt, snapshot int64, groups []analysis.Group, decode memberDecoder) error {
	rows, err := ask.QueryContext(ctx, snapshot)
	if err != nil {
		return err
	}
	defer rows.Close()
	for place := 0; rows.Next(); place++ {
		var count int
		var blob sql.RawBytes
		if err := rows.Scan(&count, &blob); err != nil {
			return err
		}
		m, err := decode(l.p, blob, count)
		if err != nil {
			return err
		}
		groups[place].Members = m
	}
	return rows.Err()
}

const snapshotMembersSQL = `
SELECT member_count, members
FROM snapshot_family
WHERE snapshot_seq = ?
ORDER BY place`

// Members returns the members of a family in a snapshot of a case;
// *analysis.Fault "not_found" where the snapshot does not show the family.
func (s *Store) Members(ctx context.Context, caseID, snapshotID, fingerprint string) (analysis.Members, error) {
	var count int
	var blob []byte
	err := s.reader.QueryRowContext(ctx, membersSQL, caseID, snapshotID, fingerprint).Scan(&count, &blob)
	if err != nil {
		return analysis.Members{}, fault("reading members", orNotFound(err, "family in this snapshot", fingerprint))
	}
	var p packer
	defer p.close()
	return decodeMembers(&p, blob, count)
}

const membersSQL = `
SELECT sf.member_count, sf.members
FROM visible_snapshot v
JOIN cases c ON c.seq = v.case_seq
JOIN snapshot_family sf ON sf.snapshot_seq = v.seq
JOIN family f ON f.seq = sf.family_seq
WHERE c.id = ? AND v.id = ? AND f.fingerprint = ?
ORDER BY v.bundle_seq
LIMIT 1`

// FindSnapshot returns the ids of the cases that show a snapshot, newest first.
func (s *Store) FindSnapshot(ctx context.Context, id string) (caseIDs []string, err error) {
	err = s.read(ctx, "looking for a snapshot", func(tx *sql.Tx) error {
		caseIDs, err = collect(ctx, tx, scanOne[string], findSnapshotSQL, id)
		return err
	})
	return caseIDs, err
}

const findSnapshotSQL = `
SELECT c.id
FROM cases c
WHERE c.seq IN (SELECT v.case_seq FROM visible_snapshot v WHERE v.id = ?)
ORDER BY c.created_at DESC, c.seq DESC`

// SnapshotBundles returns the bundle that Snapshots takes each snapshot of a case
// from: the first of the case that shows it.
func (s *Store) SnapshotBundles(ctx context.Context, caseID string) (map[string]string, error) {
	type row struct{ snapshot, bundle string }
	out := map[string]string{}
	err := s.read(ctx, "looking for the bundles of snapshots", func(tx *sql.Tx) error {
		rows, err := collect(ctx, tx, func(rows *sql.Rows) (r row, err error) {
			return r, rows.Scan(&r.snapshot, &r.bundle)
		}, snapshotBundlesSQL, caseID)
		for _, r := range rows {
			if _, first := out[r.snapshot]; !first {
				out[r.snapshot] = r.bundle
			}
		}
		return err
	})
	return out, err
}

const snapshotBundlesSQL = `
SELECT v.id, v.bundle_id
FROM visible_snapshot v
JOIN cases c ON c.seq = v.case_seq
WHERE c.id = ?
ORDER BY v.bundle_seq`
