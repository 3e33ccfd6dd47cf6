package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"leakdiff/analysis"
)

// Result is what reading a bundle gave.
type Result struct {
	Artifacts []analysis.Artifact
	Problems  []analysis.Problem
	// Snapshots get the place they have here.
	Snapshots []analysis.Snapshot
	// Groups returns the groups of the snapshot at a place of Snapshots, once. It is nil if
	// the snapshots have theirs.
	Groups func(place int) []analysis.Group
	// Unpacked is the number of bytes after unpacking.
	Unpacked int64
	// Engine is the version of the rules that computed the result.
	Engine int
}

// insertSnapshots writes snapshots behind those that the target has.
func insertSnapshots(ctx context.Context, tx *sql.Tx, p *packer, t target, snaps []*analysis.Snapshot) error {
	// Each of a million queries would start a goroutine that waits for the end of a
	// context that can end: it is asked between families instead.
	quick := context.WithoutCancel(ctx)
	w, err := newWordWriter(quick, tx)
	if err != nil {
		return err
	}
	defer w.close()
	var place int
	if err := tx.QueryRowContext(quick, countGenerationSQL, t.bundle, t.generation).Scan(&place); err != nil {
		return err
	}
	for _, snap := range snaps {
		inserted, err := insertSnapshot(ctx, quick, w, p, t, place, snap)
		if err != nil {
			return err
		}
		if inserted {
			place++
		}
	}
	return w.index(quick)
}

const countGenerationSQL = `
SELECT count(*) FROM snapshot WHERE bundle_seq = ? AND generation = ?`

// FinishJob writes the result of a running job, each snapshot in one transaction that
// small ones share, and makes all of it visible in the last one, in place of an older
// result. Until then, and for ever if the process dies, nobody sees any of it. A job that is
// done already is left alone. Packed members and rows of what is written are let go
// on the way: r is of no further use. *analysis.Fault "cancelled" or "not_found" say that
// the job was taken away in the meantime, "disk_full" that it is to be postponed.
func (s *Store) FinishJob(ctx context.Context, jobID string, r Result) error {
	err := s.finishJob(ctx, jobID, r)
	if IsFull(err) {
		// What was let go cannot be written again. The next attempt finds more room, and
		// deletions keep theirs.
		s.reserve.shrink(reserveForDeleting)
	} else if err == nil {
		s.restoreReserve(ctx)
	}
	return err
}

func (s *Store) finishJob(ctx context.Context, jobID string, r Result) error {
	if done, err := s.isDone(ctx, jobID); done || err != nil {
		return err
	}
	var p packer
	defer p.close()
	seen := map[string]string{}
	problems := r.Problems
	var snaps []*analysis.Snapshot
	var places []int
	for i := range r.Snapshots {
		snap := &r.Snapshots[i]
		if first, again := seen[snap.ID]; again {
			problems = append(problems[:len(problems):len(problems)], sameSnapshot(snap, first))
			continue
		}
		seen[snap.ID] = snap.Label
		snaps, places = append(snaps, snap), append(places, i)
	}
	r.Problems = problems
	defer s.writer.ExecContext(context.WithoutCancel(ctx), checkpointsSQL)
	ready := 0 // of snaps, with their groups
	for published := false; !published; {
		ready = r.openGroups(snaps, places, ready)
		n := together(snaps[:ready])
		published = n == len(snaps)
		err := s.write(ctx, "writing a result", func(tx *sql.Tx) error {
			t, err := runningTarget(ctx, tx, jobID)
			if err != nil {
				return err
			}
			if err := insertSnapshots(ctx, tx, &p, t, snaps[:n]); err != nil || !published {
				return err
			}
			// The next commit copies the log into the database: nobody waits for that one.
			if _, err := tx.ExecContext(ctx, noCheckpointSQL); err != nil {
				return err
			}
			return s.publish(ctx, tx, &p, t, r)
		})
		if err != nil {
			return err
		}
		if r.Groups != nil {
			for _, snap := range snaps[:n] {
				snap.Groups = nil
			}
		}
		snaps, places, ready = snaps[n:], places[n:], ready-n
	}
	return nil
}

// openGroups gets the groups of more snapshots than one transaction writes, or of all. The
// first ones are ready; it returns how many then are.
func (r *Result) openGroups(snaps []*analysis.Snapshot, places []int, ready int) int {
	if r.Groups == nil {
		return len(snaps)
	}
	rows := 0
	for i, snap := range snaps {
		if rows > smallBatch {
			break
		}
		if i >= ready {
			snap.Groups = r.Groups(places[i])
			ready++
		}
		rows += 1 + len(snap.Groups)
	}
	return ready
}

// After how many pages of log a commit copies them into the database.
const (
	checkpointsSQL  = `PRAGMA wal_autocheckpoint = 1000`
	noCheckpointSQL = `PRAGMA wal_autocheckpoint = 0`
)

// smallBatch is about how many rows one transaction writes: a wait for the disk costs
// more than that of a hundred, and other writers wait as long.
const smallBatch = 500

// together is how many of the next snapshots are written in one transaction.
func together(snaps []*analysis.Snapshot) int {
	rows := 0
	for n, snap := range snaps {
		if rows += 1 + len(snap.Groups); rows > smallBatch && n > 0 {
			return n
		}
	}
	return len(snaps)
}

func (s *Store) isDone(ctx context.Context, jobID string) (bool, error) {
	job, err := s.Job(ctx, jobID)
	return err == nil && job.Status == Done, err
}

func sameSnapshot(snap *analysis.Snapshot, first string) analysis.Problem {
	path := ""
	if len(snap.Artifacts) > 0 {
		path = snap.Artifacts[0].Path
	}
	return analysis.Problem{
		Path: path, Offset: -1, Severity: analysis.Note,
		What: fmt.Sprintf("snapshot %s is left out", snap.Label),
		Why:  fmt.Sprintf("its files hold the same bytes as those of snapshot %s", first),
		Hint: "nothing to do if the files were copied; otherwise the capture was written twice",
	}
}

// publish flips the bundle to the new generation.
func (s *Store) publish(ctx context.Context, tx *sql.Tx, p *packer, t target, r Result) error {
	artifacts, err := p.packJSON(r.Artifacts)
	if err != nil {
		return err
	}
	problems, err := p.packJSON(r.Problems)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, publishSQL, t.generation, r.Engine, r.Unpacked, len(r.Problems), artifacts, problems, t.bundle)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, endJobSQL, Done, t.job); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, touchCaseOfJobSQL, s.time().UnixMicro(), t.bundle); err != nil {
		return err
	}
	replaced, err := rowsOf(tx.ExecContext(ctx, deleteOtherGenerationsSQL, t.bundle, t.generation))
	if err != nil || replaced == 0 {
		return err
	}
	return forgetWords(ctx, tx)
}

const publishSQL = `
UPDATE bundle
SET status = 'done', fault = '', generation = ?1, engine = ?2, unpacked = ?3,
    snapshot_count = (SELECT count(*) FROM snapshot s WHERE s.bundle_seq = ?7 AND s.generation = ?1),
    problem_count = ?4, artifacts = ?5, problems = ?6
WHERE seq = ?7`

const touchCaseOfJobSQL = `
UPDATE cases SET updated_at = ?, summarised = 0
WHERE seq = (SELECT case_seq FROM bundle WHERE seq = ?)`

const deleteOtherGenerationsSQL = `
DELETE FROM snapshot WHERE bundle_seq = ? AND generation <> ?`

// insertSnapshot writes a snapshot and its groups as rows of the target's
// generation, unless they are there. It looks at ctx between the groups and asks the
// database under quick, which does not end.
func insertSnapshot(ctx, quick context.Context, w *wordWriter, p *packer, t target, at int, snap *analysis.Snapshot) (inserted bool, err error) {
	e := encodeAhead(p, snap)
	defer e.stop()
	// First all words, then all groups: what the page cache had to give up for the members
	// is not written to again, or the commit would read back and sum up all of the log.
	known := map[string]bool{}
	rows := make([]groupWords, len(snap.Groups))
	for place := range snap.Groups {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		g := &snap.Groups[place]
		if g.Family == nil || known[g.Family.Fingerprint] {
			return false, malformed(snap, place, errors.New("a family twice, or none"))
		}
		known[g.Family.Fingerprint] = true
		if rows[place], err = w.words(quick, g); err != nil {
			return false, malformed(snap, place, err)
		}
	}
	if err := w.writeLinks(quick); err != nil {
		return false, fmt.Errorf("snapshot %s: %w", snap.ID, err)
	}
	head := <-e.head
	if head.err != nil {
		return false, fmt.Errorf("snapshot %s: %w", snap.ID, head.err)
	}
	captured := utc(snap.CapturedAt)
	seqs, err := collect(quick, w.tx, scanOne[int64], insertSnapshotSQL, t.bundle, t.generation, snap.ID, at,
		snap.Process.Host.Value, snap.Process.Name.Value, snap.Label, microsOrNull(captured), head.blob)
	if err != nil || len(seqs) == 0 {
		return false, err
	}
	if err := sumUp(quick, w, t, snap.Groups, rows, microsOrNull(captured)); err != nil {
		return false, fmt.Errorf("snapshot %s: %w", snap.ID, err)
	}
	for place := range snap.Groups {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if err := insertGroup(quick, w, seqs[0], place, &snap.Groups[place], rows[place], <-e.members); err != nil {
			return false, malformed(snap, place, err)
		}
	}
	return true, nil
}

const insertSnapshotSQL = `
INSERT INTO snapshot (bundle_seq, generation, id, place, host, process, label, captured_at, head)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (bundle_seq, generation, id) DO NOTHING
RETURNING seq`

// sumUp adds the groups of a snapshot to what the bundle has of their families.
func sumUp(ctx context.Context, w *wordWriter, t target, groups []analysis.Group, rows []groupWords, captured any) error {
	if len(groups) == 0 {
		return nil
	}
	counts := make([][2]int64, len(groups))
	for place := range groups {
		counts[place] = [2]int64{rows[place].family, int64(groups[place].Count)}
	}
	list, err := json.Marshal(counts)
	if err != nil {
		return err
	}
	_, err = w.sum.ExecContext(ctx, string(list), t.bundle, t.generation, captured)
	return err
}

const sumUpSQL = `
INSERT INTO family_bundle (family_seq, bundle_seq, generation, snapshots, highest, last_seen)
SELECT list.value ->> 0, ?2, ?3, 1, list.value ->> 1, ?4
FROM json_each(?1) list
WHERE true
ON CONFLICT (family_seq, bundle_seq, generation) DO UPDATE SET
    snapshots = snapshots + 1,
    highest = max(highest, excluded.highest),
    last_seen = coalesce(max(last_seen, excluded.last_seen), last_seen, excluded.last_seen)`

func malformed(snap *analysis.Snapshot, place int, why error) error {
	return fmt.Errorf("snapshot %s, family %d: %w", snap.ID, place, why)
}

// encoded is the head of a snapshot or the members of a group, which are count, on their way
// to their row.
type encoded struct {
	blob  []byte
	count int
	err   error
}

// mostAhead bounds how many groups have their members encoded before they are written.
// Encoded, many members take no more memory than the columns or packings that are let go
// for them; few take some hundred bytes.
const mostAhead = 1 << 10

// An encodingAhead encodes the head of a snapshot and the members of its groups, in their
// order, while the rows before them are written.
type encodingAhead struct {
	head    chan encoded
	members chan encoded
	stopped chan struct{}
}

// encodeAhead lets packed members and rows go once they are encoded. Until stop returned, p
// and the members of the groups are its own.
func encodeAhead(p *packer, snap *analysis.Snapshot) *encodingAhead {
	groups := snap.Groups
	e := &encodingAhead{
		head:    make(chan encoded, 1),
		members: make(chan encoded, min(len(groups), mostAhead)),
		stopped: make(chan struct{}),
	}
	go func() {
		defer close(e.members)
		e.head <- encodeHead(p, snap)
		for i := range groups {
			select {
			case <-e.stopped:
				return
			case e.members <- encodeAndRelease(p, &groups[i].Members):
			}
		}
	}()
	return e
}

func (e *encodingAhead) stop() {
	close(e.stopped)
	for range e.members {
	}
}

// kept makes a panic an error: it costs this result alone, as one of whoever saves it would.
func (e *encoded) kept(what string) {
	if v := recover(); v != nil {
		e.err = fmt.Errorf("encoding %s panicked: %v", what, v)
	}
}

func encodeHead(p *packer, snap *analysis.Snapshot) (e encoded) {
	defer e.kept("a snapshot")
	e.blob, e.err = packHead(p, snap)
	return e
}

func encodeAndRelease(p *packer, m *analysis.Members) (e encoded) {
	defer e.kept("members")
	e.count = m.Len()
	e.blob, e.err = encodeMembers(p, m)
	// The database takes as much memory for what it writes as the members held.
	m.Release()
	return e
}

func insertGroup(ctx context.Context, w *wordWriter, snapshot int64, place int, g *analysis.Group, words groupWords, members encoded) error {
	if members.err != nil {
		return members.err
	}
	states, err := json.Marshal(g.States)
	if err != nil {
		return err
	}
	waits, err := json.Marshal(g.Waits)
	if err != nil {
		return err
	}
	_, err = w.group.ExecContext(ctx, snapshot, words.family, place, g.Count, string(states), string(waits),
		g.OldestWait, g.Leaked, words.variants, members.count, blobOf(members.blob))
	return err
}

const insertGroupSQL = `
INSERT INTO snapshot_family (snapshot_seq, family_seq, place, count, states, waits, oldest, leaked,
                             variants, member_count, members)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// blobOf keeps the driver from storing an empty blob as NULL.
func blobOf(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// snapshotHead is a snapshot without its groups, as JSON that can hold every
// figure.
type snapshotHead struct {
	analysis.Snapshot
	Figures map[string]figure `json:"figures,omitempty"`
}

// figure is a number in text, because metrics may be NaN and limits infinite.
type figure float64

func (f figure) MarshalText() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(f), 'g', -1, 64), nil
}

func (f *figure) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	*f = figure(v)
	return err
}

func packHead(p *packer, snap *analysis.Snapshot) ([]byte, error) {
	head := snapshotHead{Snapshot: *snap}
	head.Groups = nil
	head.Snapshot.Figures = nil
	if len(snap.Figures) > 0 {
		head.Figures = map[string]figure{}
		for name, v := range snap.Figures {
			head.Figures[name] = figure(v)
		}
	}
	head.CapturedAt = utc(snap.CapturedAt)
	if len(snap.Times) > 0 {
		head.Times = maps.Clone(snap.Times)
		for kind, t := range head.Times {
			head.Times[kind] = utc(t)
		}
	}
	head.Artifacts = append(snap.Artifacts[:0:0], snap.Artifacts...)
	for i := range head.Artifacts {
		head.Artifacts[i].Modified = utc(head.Artifacts[i].Modified)
	}
	return p.packJSON(head)
}

func unpackHead(p *packer, blob []byte) (*analysis.Snapshot, error) {
	var head snapshotHead
	if err := p.unpackJSON(blob, &head); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if len(head.Figures) > 0 {
		head.Snapshot.Figures = map[string]float64{}
		for name, v := range head.Figures {
			head.Snapshot.Figures[name] = float64(v)
		}
	}
	return &head.Snapshot, nil
}

// utc drops times that no JSON can hold: RFC 3339 ends with year 9999, and so do
// honest clocks.
func utc(t time.Time) time.Time {
	if t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t.UTC()
}
