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
// several bundles is returned once, as the first bundle has it. Equal families
// and stacks share one value, which must not be changed.
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

type depth int

const (
	withoutMembers depth = iota
	withAges
	withPacked
	withMembers
)

func (s *Store) snapshots(ctx context.Context, caseID, key string, d depth) (out []analysis.Snapshot, err error) {
	err = s.read(ctx, "reading snapshots", func(tx *sql.Tx) error {
		var p packer
		defer p.close()
		l := &loader{tx: tx, p: &p, families: map[int64]*analysis.Family{}, stacks: map[int64]*loadedStack{}}
		rows, err := l.heads(ctx, caseID, key)
		if err != nil {
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

type groupRow struct {
	snapshot, family int64
	group            analysis.Group
	// variants alternates stack.seq and count.
	variants []int64
}

func (l *loader) groups(ctx context.Context, rows []snapshotRow) ([]groupRow, error) {
	seqs := make([]int64, len(rows))
	for i, r := range rows {
		seqs[i] = r.seq
	}
	return collect(ctx, l.tx, scanGroup, groupsSQL, listOf(seqs))
}

const groupsSQL = `
SELECT snapshot_seq, family_seq, count, states, waits, oldest, leaked, variants
FROM snapshot_family
WHERE snapshot_seq IN (SELECT value FROM json_each(?))
ORDER BY snapshot_seq, place`

func scanGroup(rows *sql.Rows) (r groupRow, err error) {
	var states, waits, variants []byte
	err = rows.Scan(&r.snapshot, &r.family, &r.group.Count, &states, &waits, &r.group.OldestWait, &r.group.Leaked, &variants)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(states, &r.group.States); err != nil {
		return r, fmt.Errorf("states: %w", err)
	}
	if err := json.Unmarshal(waits, &r.group.Waits); err != nil {
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
	return r, nil
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
		for _, function := range r.loose {
			r.family.Loose = append(r.family.Loose, names[function])
		}
		if r.creator.Valid {
			r.family.LooseCreator = names[r.creator.Int64]
		}
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
		for _, frame := range r.frames {
			r.stack.Frames = append(r.stack.Frames, frames[frame])
		}
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

// assemble hangs groups, families and stacks onto the snapshots.
func (l *loader) assemble(rows []snapshotRow, groups []groupRow) ([]analysis.Snapshot, error) {
	at := map[int64]int{}
	var out []analysis.Snapshot
	for i, r := range rows {
		at[r.seq] = i
		out = append(out, r.head)
	}
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
		snap := &out[at[g.snapshot]]
		snap.Groups = append(snap.Groups, g.group)
	}
	return out, nil
}

type memberDecoder func(p *packer, blob []byte, want int) (analysis.Members, error)

// members decodes the members of every group, one snapshot after the other.
func (l *loader) members(ctx context.Context, rows []snapshotRow, out []analysis.Snapshot, decode memberDecoder) error {
	for i, r := range rows {
		place := 0
		_, err := collect(ctx, l.tx, func(rows *sql.Rows) (struct{}, error) {
			var count int
			var blob sql.RawBytes
			if err := rows.Scan(&count, &blob); err != nil {
				return struct{}{}, err
			}
			m, err := decode(l.p, blob, count)
			if err == nil {
				out[i].Groups[place].Members = m
			}
			place++
			return struct{}{}, err
		}, snapshotMembersSQL, r.seq)
		if err != nil {
			return fmt.Errorf("snapshot %s: %w", r.head.ID, err)
		}
	}
	return nil
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
