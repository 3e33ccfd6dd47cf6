package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A reaper deletes words that nothing refers to, in small transactions: first families with
// their stacks and links, then functions and frames. The tables family_to_forget,
// frame_to_forget and function_to_forget list the candidates. It is a duty: of several
// servers one reaps at a time.
type reaper struct {
	// turn serializes batches.
	turn sync.Mutex
	// marking is the running search for unused frames, nil if none runs.
	marking *marking
	// tidy requests a vacuum and a truncation of the log.
	tidy bool
	// deleted counts the deletions since the start, reaped those of which the files of the
	// database contain nothing any more.
	deleted, reaped atomic.Int64
	// wanted has an entry if a deletion is not reaped.
	wanted chan struct{}
}

// reaping is the duty to reap.
const reaping = "reaping"

// jobSums adds up the snapshots that a job has written.
type jobSums struct {
	seen  seenSums
	spans familySpans
	// snapshots counts them.
	snapshots int
}

func newJobSums() *jobSums { return &jobSums{seen: seenSums{}, spans: familySpans{}} }

// Limits of one batch.
const (
	reapFamilies  = 40
	reapFunctions = 500
	reapFrames    = 500
	// markStacks is the number of stacks that one batch reads, markFrames the number of frames
	// in one query.
	markStacks = 4000
	markFrames = 1 << 16
	// untilSettled is how long a batch waits for other transactions.
	untilSettled = 20 * time.Millisecond
	// vacuumPages is the number of pages that one transaction frees.
	vacuumPages = 500
)

// Deletions counts the deleted cases and bundles since the start, and those of which the
// data directory contains no byte any more.
func (s *Store) Deletions() (deleted, reaped int64) {
	reaped = s.reaper.reaped.Load() // first: it never exceeds the other
	return s.reaper.deleted.Load(), reaped
}

// Deleted receives after a deletion until it is reaped.
func (s *Store) Deleted() <-chan struct{} { return s.reaper.wanted }

// deletedRows requests the rest of a deletion from Reap.
func (s *Store) deletedRows() {
	s.reaper.turn.Lock()
	defer s.reaper.turn.Unlock()
	s.reaper.tidy = true
	s.reaper.deleted.Add(1)
	select {
	case s.reaper.wanted <- struct{}{}:
	default:
	}
}

// Reap deletes a batch of unused words and reports whether more are left. Once none are
// left, the files no longer contain what was deleted. Reap does not wait for writers, and
// its transactions are short. It does nothing while another server reaps.
func (s *Store) Reap(ctx context.Context) (more bool, err error) {
	s.reaper.turn.Lock()
	defer s.reaper.turn.Unlock()
	for _, batch := range []func(context.Context) (bool, error){s.reapFamilies, s.reapFrames, s.reapFunctions, s.tidy, s.removeObjects} {
		more, err := batch(ctx)
		if errors.Is(err, errOffDuty) {
			return false, nil
		}
		if more || err != nil {
			return err == nil, err
		}
	}
	return false, nil
}

// reapAll reaps until nothing is left.
func (s *Store) reapAll(ctx context.Context) error {
	for {
		if more, err := s.Reap(ctx); !more || err != nil {
			return err
		}
	}
}

// reapFamilies deletes families without a row of family_seen, and object types without one
// of family_span.
func (s *Store) reapFamilies(ctx context.Context) (more bool, err error) {
	var noted bool
	if err := s.reader.QueryRowContext(ctx, anyNotedFamilySQL).Scan(&noted); err != nil || !noted {
		return false, fault("looking for words to forget", err)
	}
	// A frame that was in use may be unused after this batch.
	s.reaper.marking = nil
	err = s.write(ctx, "forgetting families", func(tx *sql.Tx) error {
		more = false
		if _, err := s.onDuty(ctx, tx, reaping); err != nil {
			return err
		}
		written, err := beingWritten(ctx, tx)
		if err != nil {
			return err
		}
		noted, err := collect(ctx, tx, scanOne[int64], notedFamiliesSQL, reapFamilies+len(written))
		if err != nil {
			return err
		}
		n := 0
		for _, family := range noted {
			if written[family] || n == reapFamilies {
				continue
			}
			n++
			if err := s.reapFamily(ctx, tx, family); err != nil {
				return err
			}
		}
		more = n > 0
		return nil
	})
	return more, err
}

// beingWritten returns the families of results that are being written, by any server: they
// are not visible yet, so family_seen does not know them. A transaction that reads this and
// one that writes a result see each other, or one of them is repeated.
func beingWritten(ctx context.Context, tx *sql.Tx) (map[int64]bool, error) {
	var p packer
	defer p.close()
	var r factReader
	out := map[int64]bool{}
	_, err := collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
		var facts sql.RawBytes
		if err := rows.Scan(&facts); err != nil {
			return none, err
		}
		for g := range r.read(&p, facts) {
			out[g.family] = true
		}
		return none, r.done()
	}, beingWrittenSQL)
	return out, err
}

const beingWrittenSQL = `
SELECT s.facts
FROM job j
CROSS JOIN snapshot s ON s.bundle_seq = j.bundle_seq AND s.generation = j.generation
WHERE j.status = 'running'`

const anyNotedFamilySQL = `
SELECT EXISTS (SELECT 1 FROM family_to_forget)`

const notedFamiliesSQL = `
SELECT family_seq FROM family_to_forget ORDER BY family_seq LIMIT ?`

func (s *Store) reapFamily(ctx context.Context, tx *sql.Tx, family int64) error {
	var seen bool
	if err := tx.QueryRowContext(ctx, familyIsSeenSQL, family).Scan(&seen); err != nil {
		return err
	}
	if !seen {
		s.reaper.tidy = true
		if err := forgetFamily(ctx, tx, family); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, familyForgottenSQL, family)
	return err
}

const familyIsSeenSQL = `
SELECT EXISTS (SELECT 1 FROM family_seen WHERE family_seq = ?1)
    OR EXISTS (SELECT 1 FROM family f CROSS JOIN family_span p ON p.fingerprint = f.fingerprint WHERE f.seq = ?1 AND f.kind = 'object')`

const familyForgottenSQL = `
DELETE FROM family_to_forget WHERE family_seq = ?`

// forgetFamily deletes a family with its stacks and links, and lists their functions and
// frames as candidates.
func forgetFamily(ctx context.Context, tx *sql.Tx, family int64) error {
	functions, frames := newSet(), newSet()
	_, err := collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
		var list []byte
		var one sql.NullInt64
		var ofFrames bool
		if err := rows.Scan(&ofFrames, &list, &one); err != nil {
			return none, err
		}
		seqs, err := readSeqs(list)
		if one.Valid && one.Int64 != 0 {
			seqs = append(seqs, one.Int64)
		}
		if ofFrames {
			frames.add(seqs...)
		} else {
			functions.add(seqs...)
		}
		return none, err
	}, wordsOfFamilySQL, family)
	if err != nil {
		return err
	}
	frameList := listOf(frames.list)
	of, err := collect(ctx, tx, scanOne[int64], functionsOfFramesSQL, frameList)
	if err != nil {
		return err
	}
	functions.add(of...)
	functionList := listOf(functions.list)
	for _, do := range []struct {
		query string
		args  []any
	}{
		{noteFramesSQL, []any{frameList}}, {noteFunctionsSQL, []any{functionList}},
		{forgetLinksSQL, []any{functionList, family}}, {forgetFamilySQL, []any{family}},
	} {
		if _, err := tx.ExecContext(ctx, do.query, do.args...); err != nil {
			return err
		}
	}
	return nil
}

const wordsOfFamilySQL = `
SELECT 0, loose, creator_seq FROM family WHERE seq = ?1
UNION ALL
SELECT 1, frames, creator FROM stack WHERE family_seq = ?1`

const functionsOfFramesSQL = `
SELECT DISTINCT function_seq FROM frame WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`

const noteFramesSQL = `
INSERT INTO frame_to_forget SELECT CAST(value AS BIGINT) FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`

const noteFunctionsSQL = `
INSERT INTO function_to_forget SELECT CAST(value AS BIGINT) FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`

const forgetLinksSQL = `
DELETE FROM function_family
WHERE function_seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?1)) AND family_seq = ?2`

// The foreign key deletes the stacks of the family.
const forgetFamilySQL = `
DELETE FROM family WHERE seq = ?`

// A marking finds the candidate frames that no stack uses. It scans the stacks up to a
// number, some thousand at a time, outside of write transactions; the transaction that deletes
// frames reads those after it. Only the reaper deletes stacks. The scan starts again after a
// family was deleted, and after another server has reaped.
type marking struct {
	noted  []int64
	unused map[int64]bool
	// settled waits for the transactions that may still write stacks up to last, which have
	// taken their number and are not seen yet.
	settled barrier
	// at is the last stack scanned of those up to last; done is set when no more follows.
	at, last int64
	done     bool
}

func (s *Store) reapFrames(ctx context.Context) (more bool, err error) {
	m := s.reaper.marking
	if m == nil {
		if m, err = s.beginMarking(ctx); m == nil || err != nil {
			return false, err
		}
		s.reaper.marking = m
	}
	if !m.done {
		err := s.read(ctx, "looking for words to forget", func(tx *sql.Tx) error {
			settled, err := s.engine.settled(ctx, tx, m.settled)
			if err != nil {
				return err
			}
			if !settled {
				time.Sleep(untilSettled)
				return nil
			}
			n, err := m.look(ctx, tx, &m.at, m.last, markStacks)
			m.done = err == nil && n < markStacks
			return err
		})
		return true, err
	}
	batch := m.noted[:min(len(m.noted), reapFrames)]
	anew := false
	err = s.write(ctx, "forgetting frames", func(tx *sql.Tx) error {
		if anew, err = s.onDuty(ctx, tx, reaping); anew || err != nil {
			return err
		}
		after := m.last
		if _, err := m.look(ctx, tx, &after, math.MaxInt64, math.MaxInt); err != nil {
			return err
		}
		var unused []int64
		for _, frame := range batch {
			if m.unused[frame] {
				unused = append(unused, frame)
			}
		}
		if _, err := tx.ExecContext(ctx, forgetFramesSQL, listOf(unused)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, framesForgottenSQL, listOf(batch))
		return err
	})
	if anew || err != nil {
		s.reaper.marking = nil
		return anew, err
	}
	s.reaper.tidy = true
	if m.noted = m.noted[len(batch):]; len(m.noted) == 0 {
		s.reaper.marking = nil
	}
	return true, nil
}

// beginMarking returns nil if no frame is a candidate.
func (s *Store) beginMarking(ctx context.Context) (*marking, error) {
	var noted bool
	if err := s.reader.QueryRowContext(ctx, anyNotedFrameSQL).Scan(&noted); err != nil || !noted {
		return nil, fault("looking for words to forget", err)
	}
	var m *marking
	err := s.write(ctx, "looking for words to forget", func(tx *sql.Tx) (err error) {
		m = &marking{unused: map[int64]bool{}}
		if _, err := s.onDuty(ctx, tx, reaping); err != nil {
			return err
		}
		if m.noted, err = collect(ctx, tx, scanOne[int64], notedFramesSQL, markFrames); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, lastStackSQL).Scan(&m.last); err != nil {
			return err
		}
		m.settled, err = s.engine.barrier(ctx, tx)
		return err
	})
	if err != nil || len(m.noted) == 0 {
		return nil, err
	}
	for _, frame := range m.noted {
		m.unused[frame] = true
	}
	return m, nil
}

const anyNotedFrameSQL = `
SELECT EXISTS (SELECT 1 FROM frame_to_forget)`

const lastStackSQL = `
SELECT coalesce(max(seq), 0) FROM stack`

const notedFramesSQL = `
SELECT frame_seq FROM frame_to_forget ORDER BY frame_seq LIMIT ?`

const forgetFramesSQL = `
DELETE FROM frame WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`

const framesForgottenSQL = `
DELETE FROM frame_to_forget WHERE frame_seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`

// look removes the frames of the stacks after one number, up to another, from the unused ones.
func (m *marking) look(ctx context.Context, tx *sql.Tx, after *int64, last int64, limit int) (n int, err error) {
	_, err = collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
		var frames sql.RawBytes
		var creator int64
		if err := rows.Scan(after, &frames, &creator); err != nil {
			return none, err
		}
		n++
		delete(m.unused, creator)
		seqs, err := readSeqs(frames)
		for _, frame := range seqs {
			delete(m.unused, frame)
		}
		return none, err
	}, stackFramesSQL, *after, last, limit)
	return n, err
}

const stackFramesSQL = `
SELECT seq, frames, creator FROM stack WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`

// reapFunctions deletes functions without a family and without a frame.
func (s *Store) reapFunctions(ctx context.Context) (more bool, err error) {
	var batch []int64
	err = s.read(ctx, "looking for words to forget", func(tx *sql.Tx) error {
		batch, err = collect(ctx, tx, scanOne[int64], notedFunctionsSQL, reapFunctions)
		return err
	})
	if err != nil || len(batch) == 0 {
		return false, err
	}
	s.reaper.tidy = true
	return true, s.write(ctx, "forgetting functions", func(tx *sql.Tx) error {
		if _, err := s.onDuty(ctx, tx, reaping); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, forgetFunctionsSQL, listOf(batch)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, functionsForgottenSQL, listOf(batch))
		return err
	})
}

const notedFunctionsSQL = `
SELECT function_seq FROM function_to_forget ORDER BY function_seq LIMIT ?`

const forgetFunctionsSQL = `
DELETE FROM function
WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))
  AND NOT EXISTS (SELECT 1 FROM function_family ff WHERE ff.function_seq = function.seq)
  AND NOT EXISTS (SELECT 1 FROM frame f WHERE f.function_seq = function.seq)`

const functionsForgottenSQL = `
DELETE FROM function_to_forget WHERE function_seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`

// tidy frees pages, then empties the log, which still contains the deleted words.
func (s *Store) tidy(ctx context.Context) (more bool, err error) {
	if !s.reaper.tidy {
		return false, nil
	}
	if !s.engine.ownsFile() {
		s.reaper.tidy = false
		s.reaper.reaped.Store(s.reaper.deleted.Load())
		return false, nil
	}
	before, after, err := vacuum(ctx, s.writer)
	if err != nil {
		return false, s.orFull(fault("giving space back", err))
	}
	if after > 0 && after < before {
		return true, nil
	}
	emptied, err := s.emptyLog(ctx)
	if err != nil {
		return false, fault("emptying the log", err)
	}
	if !emptied {
		return true, nil // somebody reads an older state, for which emptyLog has waited
	}
	s.reaper.tidy = false
	s.reaper.reaped.Store(s.reaper.deleted.Load())
	s.restoreReserve(ctx)
	return false, nil
}

// emptyLog writes the log into the database and truncates it. It waits for readers of an
// older state for the busy timeout at most, and reports whether it could.
func (s *Store) emptyLog(ctx context.Context) (emptied bool, err error) {
	var busy, pages, written int
	err = s.writer.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &written)
	return err == nil && busy == 0, err
}

// vacuum frees some pages and returns the number of free pages before and after.
func vacuum(ctx context.Context, db *sql.DB) (before, after int, err error) {
	const count = `PRAGMA freelist_count`
	if err := db.QueryRowContext(ctx, count).Scan(&before); err != nil || before == 0 {
		return before, before, err
	}
	if err := stepAll(ctx, db, fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, vacuumPages)); err != nil {
		return before, before, err
	}
	return before, after, db.QueryRowContext(ctx, count).Scan(&after)
}

// shrink frees all unused pages.
func shrink(ctx context.Context, db *sql.DB) error {
	for {
		before, after, err := vacuum(ctx, db)
		if err != nil || after == 0 || after >= before {
			return err
		}
	}
}
