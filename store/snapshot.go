package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"leakdiff/analysis"
)

// Snapshots returns the snapshots of a case's finished bundles without members:
// with families, counts, states, waits and variants. They come in the order of
// upload and, within a bundle, in the order of the result. A snapshot that is in
// several bundles is returned once, as the first bundle has it. Equal families,
// stacks and states share one value, which must not be changed.
func (s *Store) Snapshots(ctx context.Context, caseID string) ([]analysis.Snapshot, error) {
	return s.snapshots(ctx, caseID, withoutMembers)
}

// SnapshotsPacked is Snapshots with members, goroutines left packed in about five
// bytes each.
func (s *Store) SnapshotsPacked(ctx context.Context, caseID string) ([]analysis.Snapshot, error) {
	return s.snapshots(ctx, caseID, withPacked)
}

// SnapshotsAged is Snapshots with nothing of the members but Wait and Age: all that
// a snapshot that stands alone can say of growth, in four bytes a goroutine.
func (s *Store) SnapshotsAged(ctx context.Context, caseID string) ([]analysis.Snapshot, error) {
	return s.snapshots(ctx, caseID, withAges)
}

// SnapshotHeads is Snapshots without families: what each says of itself.
func (s *Store) SnapshotHeads(ctx context.Context, caseID string) ([]analysis.Snapshot, error) {
	return s.snapshots(ctx, caseID, headsOnly)
}

type depth int

const (
	headsOnly depth = iota
	withoutMembers
	withAges
	withPacked
)

func (s *Store) snapshots(ctx context.Context, caseID string, d depth) (out []analysis.Snapshot, err error) {
	err = s.read(ctx, "reading snapshots", func(tx *sql.Tx) error {
		var p packer
		defer p.close()
		l := &loader{tx: tx, p: &p, families: map[int64]*analysis.Family{}, stacks: map[int64]*loadedStack{}, states: map[string]map[string]int{}, waits: map[string]waits{}}
		rows, err := l.heads(ctx, caseID)
		if err != nil {
			return err
		}
		if d == headsOnly {
			out, err = l.assemble(rows, nil)
			return err
		}
		groups, err := l.groups(ctx, rows, decoders[d])
		if err != nil {
			return err
		}
		if err := l.words(ctx, groups); err != nil {
			return err
		}
		out, err = l.assemble(rows, groups)
		return err
	})
	return out, err
}

// decoders are how members are read; those of other depths are not.
var decoders = map[depth]memberDecoder{withAges: decodeAges, withPacked: openMembers}

// loader reads snapshots with few queries: heads, groups, then the families,
// stacks, frames and functions that the groups name.
type loader struct {
	tx       *sql.Tx
	p        *packer
	families map[int64]*analysis.Family
	stacks   map[int64]*loadedStack
	// states and waits are by their text.
	states map[string]map[string]int
	waits  map[string]waits
}

// waits are the histogram of a group.
type waits = [len(analysis.WaitBuckets)]int

type loadedStack struct {
	fingerprint string
	stack       *analysis.Stack
}

type snapshotRow struct {
	seq  int64
	head *analysis.Snapshot
}

// heads reads the snapshots of a case, each id once.
func (l *loader) heads(ctx context.Context, caseID string) ([]snapshotRow, error) {
	rows, err := collect(ctx, l.tx, func(rows *sql.Rows) (r snapshotRow, err error) {
		var blob []byte
		if err := rows.Scan(&r.seq, &blob); err != nil {
			return r, err
		}
		r.head, err = unpackHead(l.p, blob)
		return r, err
	}, caseSnapshotsSQL, caseID)
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
WHERE c.id = ?
ORDER BY v.bundle_seq, v.place`

// groupRow is what a group refers to; the group itself stands in its snapshot.
type groupRow struct {
	group  *analysis.Group
	family int64
	// variants alternates stack.seq and count.
	variants []int64
}

// groups reads the groups into their snapshots, with their members where decode says how.
// A group is large, and a case may have a million: no list of them grows.
func (l *loader) groups(ctx context.Context, rows []snapshotRow, decode memberDecoder) ([]groupRow, error) {
	seqs := make([]int64, len(rows))
	at := make(map[int64]*analysis.Snapshot, len(rows))
	for i, r := range rows {
		seqs[i], at[r.seq] = r.seq, r.head
	}
	list, total := listOf(seqs), 0
	_, err := collect(ctx, l.tx, func(rows *sql.Rows) (struct{}, error) {
		var seq int64
		var n int
		if err := rows.Scan(&seq, &n); err != nil {
			return struct{}{}, err
		}
		at[seq].Groups = make([]analysis.Group, n)
		total += n
		return struct{}{}, nil
	}, countGroupsSQL, list)
	if err != nil {
		return nil, err
	}
	query := groupsSQL
	if decode != nil {
		query = groupsWithMembersSQL
	}
	out := make([]groupRow, 0, total)
	scanned := newScannedGroup(decode != nil)
	_, err = collect(ctx, l.tx, func(rows *sql.Rows) (struct{}, error) {
		if err := rows.Scan(scanned.into...); err != nil {
			return struct{}{}, err
		}
		r, err := l.place(scanned, at, decode)
		out = append(out, r)
		return struct{}{}, err
	}, query, list)
	return out, err
}

const countGroupsSQL = `
SELECT snapshot_seq, count(*)
FROM snapshot_family
WHERE snapshot_seq IN (SELECT value FROM json_each(?))
GROUP BY snapshot_seq`

// Rows come in the order of the index, and name their place: to sort them would take a
// copy of all their members.
const (
	groupColumns = `
SELECT snapshot_seq, place, family_seq, count, states, waits, oldest, leaked, variants`
	groupsOf = `
FROM snapshot_family
WHERE snapshot_seq IN (SELECT value FROM json_each(?))`

	groupsSQL            = groupColumns + groupsOf
	groupsWithMembersSQL = groupColumns + `, member_count, members` + groupsOf
)

// A scannedGroup is one row of groupsSQL, read into again and again.
type scannedGroup struct {
	snapshot, family                 int64
	place, count, oldest, leaked     int
	states, waits, variants, members sql.RawBytes
	memberCount                      int
	// into is where the columns go.
	into []any
}

func newScannedGroup(members bool) *scannedGroup {
	g := &scannedGroup{}
	g.into = []any{&g.snapshot, &g.place, &g.family, &g.count, &g.states, &g.waits, &g.oldest, &g.leaked, &g.variants}
	if members {
		g.into = append(g.into, &g.memberCount, &g.members)
	}
	return g
}

// place puts a group into its place in its snapshot.
func (l *loader) place(scanned *scannedGroup, at map[int64]*analysis.Snapshot, decode memberDecoder) (r groupRow, err error) {
	snap := at[scanned.snapshot]
	if scanned.place < 0 || scanned.place >= len(snap.Groups) {
		return r, fmt.Errorf("snapshot %s: family %d of %d", snap.ID, scanned.place, len(snap.Groups))
	}
	g := &snap.Groups[scanned.place]
	g.Count, g.OldestWait, g.Leaked = scanned.count, scanned.oldest, scanned.leaked
	if g.States, err = l.statesOf(scanned.states); err != nil {
		return r, fmt.Errorf("states: %w", err)
	}
	if g.Waits, err = l.waitsOf(scanned.waits); err != nil {
		return r, fmt.Errorf("waits: %w", err)
	}
	list, err := readSeqs(scanned.variants)
	if err != nil {
		return r, err
	}
	if len(list) == 0 || int64(len(list)-1) != 2*list[0] {
		return r, errors.New("list of variants is damaged")
	}
	if decode != nil {
		if g.Members, err = decode(l.p, scanned.members, scanned.memberCount); err != nil {
			return r, fmt.Errorf("snapshot %s: %w", snap.ID, err)
		}
	}
	return groupRow{group: g, family: scanned.family, variants: list[1:]}, nil
}

// mostStates bounds the states, and the histograms of waits, that are remembered.
const mostStates = 1 << 12

// statesOf shares equal states: most families of a large case are small and in one state.
func (l *loader) statesOf(text []byte) (map[string]int, error) {
	if known, ok := l.states[string(text)]; ok {
		return known, nil
	}
	var states map[string]int
	if err := json.Unmarshal(text, &states); err != nil {
		return nil, err
	}
	if len(l.states) < mostStates {
		l.states[string(text)] = states
	}
	return states, nil
}

// waitsOf remembers equal histograms like equal states.
func (l *loader) waitsOf(text []byte) (waits, error) {
	if known, ok := l.waits[string(text)]; ok {
		return known, nil
	}
	var w waits
	if err := json.Unmarshal(text, &w); err != nil {
		return waits{}, err
	}
	if len(l.waits) < mostStates {
		l.waits[string(text)] = w
	}
	return w, nil
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
		if g.group.Family != nil {
			return nil, fmt.Errorf("family %s shares its place in a snapshot", g.group.Family.Fingerprint)
		}
		g.group.Family = l.families[g.family]
		if g.group.Family == nil {
			return nil, fmt.Errorf("family row %d is missing", g.family)
		}
		if len(g.variants) > 0 {
			g.group.Variants = make([]analysis.Variant, 0, len(g.variants)/2)
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
	if len(rows) == 0 {
		return nil, nil
	}
	out := make([]analysis.Snapshot, len(rows))
	for i, r := range rows {
		out[i] = *r.head
	}
	return out, nil
}

type memberDecoder func(p *packer, blob []byte, want int) (analysis.Members, error)

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

// BundleSnapshots returns the ids of the snapshots that a case takes from a bundle: those
// that no earlier bundle of the case shows.
func (s *Store) BundleSnapshots(ctx context.Context, bundleID string) (map[string]bool, error) {
	own := map[string]bool{}
	err := s.read(ctx, "looking for the snapshots of a bundle", func(tx *sql.Tx) error {
		ids, err := collect(ctx, tx, scanOne[string], bundleSnapshotsSQL, bundleID)
		for _, id := range ids {
			own[id] = true
		}
		return err
	})
	return own, err
}

const bundleSnapshotsSQL = `
SELECT v.id
FROM visible_snapshot v
WHERE v.bundle_seq = (SELECT seq FROM bundle WHERE id = ?)
  AND NOT EXISTS (
    SELECT 1 FROM visible_snapshot earlier
    WHERE earlier.id = v.id AND earlier.case_seq = v.case_seq AND earlier.bundle_seq < v.bundle_seq)`

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
