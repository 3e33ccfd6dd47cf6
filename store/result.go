package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"leakdiff/analysis"
)

// Result is the result of reading a bundle.
type Result struct {
	Artifacts []analysis.Artifact
	Problems  []analysis.Problem
	// Snapshots are stored in this order.
	Snapshots []analysis.Snapshot
	// Groups returns the groups of the snapshot at an index of Snapshots; it is called once for
	// each. It is nil if the snapshots contain their groups.
	Groups func(place int) []analysis.Group
	// Unpacked is the number of bytes after unpacking.
	Unpacked int64
	// Engine is the version of the rules that computed the result.
	Engine int
}

// insertSnapshots appends snapshots to those of the target.
func (s *Store) insertSnapshots(ctx context.Context, tx *sql.Tx, p *packer, t target, job *jobSums, snaps []*analysis.Snapshot, done encodings) error {
	// Each query under a context that can end starts a goroutine. A million queries make that
	// expensive, so the code checks the context between families instead.
	quick := context.WithoutCancel(ctx)
	w, err := newWordWriter(quick, tx, s.engine)
	if err != nil {
		return err
	}
	defer w.close()
	var place int
	if err := tx.QueryRowContext(quick, countGenerationSQL, t.bundle, t.generation).Scan(&place); err != nil {
		return err
	}
	for _, snap := range snaps {
		inserted, err := s.insertSnapshot(ctx, quick, w, p, t, job, place, snap, done)
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

// FinishJob writes the result of a claimed job. Each snapshot is written in one transaction;
// small snapshots share one. The last transaction makes the result visible and replaces an
// older one. Readers see nothing before that, even after a crash. FinishJob ignores a job
// that is done. It releases packed members and rows as it writes them, so r cannot be used
// again. *analysis.Fault "cancelled" or "not_found" means that the job was cancelled or
// deleted meanwhile, "lost" that another server has it, "disk_full" or "busy" that it must be
// postponed.
func (s *Store) FinishJob(ctx context.Context, job Job, r Result) error {
	err := s.finishJob(ctx, job, r)
	if IsFull(err) {
		// Released members cannot be written again. The next attempt has more room, and the reserve
		// for deletions stays.
		s.reserve.shrink(reserveForDeleting)
	} else if err == nil {
		s.restoreReserve(ctx)
	}
	return err
}

func (s *Store) finishJob(ctx context.Context, job Job, r Result) error {
	if done, err := s.isDone(ctx, job.ID); done || err != nil {
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
	defer s.engine.release(context.WithoutCancel(ctx), s.writer)
	sums := newJobSums()
	ready := 0 // the number of snaps with loaded groups
	for published := false; !published; {
		ready = r.openGroups(snaps, places, ready)
		n := together(snaps[:ready])
		done := encodings{}
		published = n == len(snaps)
		err := s.write(ctx, "writing a result", func(tx *sql.Tx) error {
			t, err := s.own(ctx, tx, job)
			if err != nil {
				return err
			}
			if err := s.insertSnapshots(ctx, tx, &p, t, sums, snaps[:n], done); err != nil {
				return err
			}
			if !published {
				// What was written may have taken as long as the lease.
				_, err := s.own(ctx, tx, job)
				return err
			}
			// The next commit would checkpoint the log, and the caller should not wait for that.
			if err := s.engine.holdLog(ctx, tx); err != nil {
				return err
			}
			return s.publish(ctx, tx, &p, t, sums, r)
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

// openGroups loads the groups of more snapshots than one transaction writes, or of all. The
// first ready snapshots have theirs; the new number of ready snapshots is returned.
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

// Pages of log after which a commit checkpoints.
const (
	checkpointsSQL  = `PRAGMA wal_autocheckpoint = 1000`
	noCheckpointSQL = `PRAGMA wal_autocheckpoint = 0`
)

// smallBatch is the approximate number of rows in one transaction. A sync costs more than a
// hundred rows, but other writers wait for the whole batch.
const smallBatch = 500

// together returns how many of the next snapshots share one transaction.
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

// publish switches the bundle to the new generation.
func (s *Store) publish(ctx context.Context, tx *sql.Tx, p *packer, t target, job *jobSums, r Result) error {
	artifacts, err := packList(p, r.Artifacts)
	if err != nil {
		return err
	}
	problems, err := packList(p, r.Problems)
	if err != nil {
		return err
	}
	var replaced int64
	if err := tx.QueryRowContext(ctx, generationSQL, t.bundle).Scan(&replaced); err != nil {
		return err
	}
	before, err := shownDays(ctx, tx, t.bundle, replaced)
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
	if err := revise(ctx, tx, t.caseSeq); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, deleteOtherGenerationsSQL, t.bundle, t.generation); err != nil {
		return err
	}
	return sumUp(ctx, tx, t, job, before)
}

// sumUp updates family_seen for the published generation. It adds the sums of an upload's
// first result; for a replaced result it recomputes the days.
func sumUp(ctx context.Context, tx *sql.Tx, t target, job *jobSums, before []seriesDay) error {
	var written int
	if err := tx.QueryRowContext(ctx, countGenerationSQL, t.bundle, t.generation).Scan(&written); err != nil {
		return err
	}
	if len(before) == 0 && written == job.snapshots {
		if err := job.seen.write(ctx, tx); err != nil {
			return err
		}
		if err := job.spans.write(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, familiesSeenSQL, listOf(job.seen.families()))
		return err
	}
	now, err := shownDays(ctx, tx, t.bundle, t.generation)
	if err != nil {
		return err
	}
	days := append(before, now...)
	slices.SortFunc(days, bySeriesAndDay)
	if err := sumAgain(ctx, tx, slices.Compact(days)); err != nil {
		return err
	}
	return forgetSeries(ctx, tx, t.caseSeq)
}

const generationSQL = `
SELECT generation FROM bundle WHERE seq = ?`

// Families that are visible are no candidates for deletion.
const familiesInUseSQL = `
DELETE FROM family_to_forget
WHERE EXISTS (SELECT 1 FROM family_seen fs WHERE fs.family_seq = family_to_forget.family_seq)`

const familiesSeenSQL = `
DELETE FROM family_to_forget WHERE family_seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`

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

// insertSnapshot writes a snapshot and its members as rows of the target's generation,
// unless they exist. It checks ctx between groups and runs queries under quick, which never
// ends.
func (s *Store) insertSnapshot(ctx, quick context.Context, w *wordWriter, p *packer, t target, job *jobSums, at int, snap *analysis.Snapshot, done encodings) (inserted bool, err error) {
	e := done.of(p, snap)
	defer e.wait()
	// Words are written before members. Otherwise pages that the cache evicted for the members
	// would be written again, and the commit would reread and checksum the whole log.
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
	e.wait()
	head, members := e.head, e.members
	if err := errors.Join(head.err, members.err); err != nil {
		return false, fmt.Errorf("snapshot %s: %w", snap.ID, err)
	}
	facts, err := packFacts(p, snap.Groups, rows, members.counts)
	if err != nil {
		return false, fmt.Errorf("snapshot %s: %w", snap.ID, err)
	}
	series, err := w.seriesOf(quick, t.caseSeq, snap)
	if err != nil {
		return false, fmt.Errorf("snapshot %s: %w", snap.ID, err)
	}
	captured := microsOrNull(utc(snap.CapturedAt))
	seqs, err := collect(quick, w.tx, scanOne[int64], insertSnapshotSQL, t.bundle, t.generation, snap.ID, at,
		series, snap.Process.Host.Value, snap.Process.Name.Value, snap.Label, captured, head.blob, facts)
	if err != nil || len(seqs) == 0 {
		return false, err
	}
	job.snapshots++
	for i := range rows {
		job.seen.add(seriesDay{series, dayOf(captured)}, captured.Int64, rows[i].family, snap.Groups[i].Count)
		job.spans.add(spanKey{rows[i].family, series}, captured, snap.Groups[i].Count, snap.Process.Release())
	}
	if snap.Joined != nil || len(snap.Pairs) > 0 {
		objects, err := packObjects(p, snap)
		if err == nil {
			_, err = w.tx.ExecContext(quick, insertObjectsSQL, seqs[0], objects)
		}
		if err != nil {
			return false, fmt.Errorf("snapshot %s: its objects: %w", snap.ID, err)
		}
	}
	if len(members.blob) == 0 {
		return true, nil
	}
	if _, err := w.members.ExecContext(quick, seqs[0], members.blob); err != nil {
		return false, fmt.Errorf("snapshot %s: %w", snap.ID, err)
	}
	return true, nil
}

const insertSnapshotSQL = `
INSERT INTO snapshot (bundle_seq, generation, id, place, series_seq, host, process, label, captured_at, head, facts)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (bundle_seq, generation, id) DO NOTHING
RETURNING seq`

const insertMembersSQL = `
INSERT INTO snapshot_members (snapshot_seq, members) VALUES (?, ?)`

func malformed(snap *analysis.Snapshot, place int, why error) error {
	return fmt.Errorf("snapshot %s, family %d: %w", snap.ID, place, why)
}

// encoded is an encoded head of a snapshot, or the encoded members of its groups.
type encoded struct {
	blob []byte
	// counts are the numbers of members of the groups.
	counts []int
	err    error
}

// encodings are those of the snapshots of one transaction. A transaction that is repeated
// finds them done: encoding has released the members.
type encodings map[*analysis.Snapshot]*encodingAhead

// of returns the encoding of a snapshot, which it begins at the first call.
func (e encodings) of(p *packer, snap *analysis.Snapshot) *encodingAhead {
	if e[snap] == nil {
		e[snap] = encodeAhead(p, snap)
	}
	return e[snap]
}

// An encodingAhead encodes the head of a snapshot and the members of its groups while the
// caller writes their words.
type encodingAhead struct {
	head, members encoded
	ended         chan struct{}
}

// encodeAhead releases packed members and rows once they are encoded. It owns p and the
// members of the groups until wait returns.
func encodeAhead(p *packer, snap *analysis.Snapshot) *encodingAhead {
	e := &encodingAhead{ended: make(chan struct{})}
	go func() {
		defer close(e.ended)
		e.head = encodeHead(p, snap)
		e.members = encodeAndRelease(p, snap.Groups)
	}()
	return e
}

func (e *encodingAhead) wait() { <-e.ended }

// kept turns a panic into an error, so that it fails only this result, like a panic in the
// goroutine that saves it.
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

// encodeAndRelease encodes members. The encoded bytes need no more memory than the released
// columns or packings.
func encodeAndRelease(p *packer, groups []analysis.Group) (e encoded) {
	defer e.kept("members")
	w := memberWriter{p: p}
	e.counts = make([]int, len(groups))
	for i := range groups {
		m := &groups[i].Members
		e.counts[i] = m.Len()
		if e.err = w.add(m); e.err != nil {
			return e
		}
		// The database needs as much memory to write the members as they occupied.
		m.Release()
	}
	e.err = w.flush()
	e.blob = w.out
	return e
}
