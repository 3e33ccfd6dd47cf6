package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// Sweep removes what time has made useless, records of expired permalinks and remembered
// answers, and finishes deletions that were begun. Open does it; a server that runs for
// weeks calls it now and then. No upload goes because a row about it is missing.
func (s *Store) Sweep(ctx context.Context) error {
	now := s.time().UnixMicro()
	err := s.writeReserved(ctx, "sweeping", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, forgetAnswersSQL, now); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, expirePermalinksSQL, now)
		return err
	})
	if err != nil {
		return err
	}
	// A deletion that still does not fit must not keep the server from starting.
	if err := s.finishDeletions(ctx); err != nil {
		s.log.WarnContext(ctx, "a deletion was not finished", "error", err)
	}
	if err := s.dropBlobs(ctx); err != nil {
		s.log.WarnContext(ctx, "uploads that were deleted were not removed", "error", err)
	}
	s.restoreReserve(ctx)
	return nil
}

// forgetBlobs marks those of the blobs that no file refers to any more: dropBlobs removes
// them when the transaction is durable, after a crash at the next start.
func forgetBlobs(ctx context.Context, tx *sql.Tx, hashes []string) error {
	list, err := json.Marshal(append([]string{}, hashes...))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, forgetBlobsSQL, string(list))
	return err
}

const forgetBlobsSQL = `
UPDATE blob SET forgotten = 1
WHERE sha256 IN (SELECT value FROM json_each(?))
  AND NOT EXISTS (SELECT 1 FROM bundle_file f WHERE f.sha256 = blob.sha256)`

// dropBlobs removes the blobs that are forgotten, then their rows.
func (s *Store) dropBlobs(ctx context.Context) error {
	s.referring.Lock()
	defer s.referring.Unlock()
	var hashes []string
	err := s.read(ctx, "looking for forgotten uploads", func(tx *sql.Tx) (err error) {
		hashes, err = collect(ctx, tx, scanOne[string], forgottenBlobsSQL)
		return err
	})
	if err != nil || len(hashes) == 0 {
		return err
	}
	var failed []error
	err = s.writeReserved(ctx, "removing forgotten uploads", func(tx *sql.Tx) error {
		failed = nil
		for _, sha := range hashes {
			// The row first: its foreign key refuses where a file refers to it after all.
			if _, err := tx.ExecContext(ctx, dropBlobSQL, sha); err != nil {
				return err
			}
			if err := s.blobs.Delete(sha); err != nil {
				failed = append(failed, err)
				if _, err := tx.ExecContext(ctx, rememberBlobSQL, sha); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		s.log.InfoContext(ctx, "uploads removed that only deleted cases referred to", "files", len(hashes)-len(failed))
	}
	return errors.Join(append(failed, err)...)
}

const forgottenBlobsSQL = `
SELECT sha256 FROM blob WHERE forgotten = 1`

const dropBlobSQL = `
DELETE FROM blob WHERE sha256 = ?`

// The size of what is only to be removed says nothing.
const rememberBlobSQL = `
INSERT INTO blob (sha256, size, forgotten) VALUES (?, 0, 1)`

// reclaim finishes a deletion outside its transaction: blobs, then the pages that
// became free, so that nothing of what was deleted stays in the files.
func (s *Store) reclaim(ctx context.Context) error {
	err := s.dropBlobs(ctx)
	for _, pragma := range []string{`PRAGMA incremental_vacuum`, `PRAGMA wal_checkpoint(TRUNCATE)`} {
		if vacuumErr := s.pragma(ctx, pragma); vacuumErr != nil {
			// Space comes back with the next deletion; the rows are gone already.
			s.log.WarnContext(ctx, "space not reclaimed", "pragma", pragma, "error", vacuumErr)
		}
	}
	s.restoreReserve(ctx)
	return err
}

func (s *Store) pragma(ctx context.Context, text string) error { return stepAll(ctx, s.writer, text) }

// stepAll steps through all rows: incremental_vacuum frees one page per step.
func stepAll(ctx context.Context, db *sql.DB, text string) error {
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// forgetWords removes families that no snapshot shows, then the frames and
// function names that only they used. File paths and names are evidence too:
// they go with the last case that holds them.
func forgetWords(ctx context.Context, tx *sql.Tx) error {
	n, err := rowsOf(tx.ExecContext(ctx, forgetFamiliesSQL))
	if err != nil || n == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, forgetLinksSQL); err != nil {
		return err
	}
	if err := forgetFrames(ctx, tx); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, forgetFunctionsSQL)
	return err
}

// Stacks go with the family.
const forgetFamiliesSQL = `
DELETE FROM family
WHERE NOT EXISTS (SELECT 1 FROM family_bundle fb WHERE fb.family_seq = family.seq)`

const forgetLinksSQL = `
DELETE FROM function_family
WHERE NOT EXISTS (SELECT 1 FROM family WHERE family.seq = function_family.family_seq)`

const forgetFunctionsSQL = `
DELETE FROM function
WHERE NOT EXISTS (SELECT 1 FROM function_family ff WHERE ff.function_seq = function.seq)
  AND NOT EXISTS (SELECT 1 FROM frame f WHERE f.function_seq = function.seq)`

// forgetFrames marks the frames that remaining stacks hold and deletes the rest.
func forgetFrames(ctx context.Context, tx *sql.Tx) error {
	used := map[int64]bool{}
	_, err := collect(ctx, tx, func(rows *sql.Rows) (struct{}, error) {
		var frames []byte
		var creator int64
		if err := rows.Scan(&frames, &creator); err != nil {
			return struct{}{}, err
		}
		used[creator] = true
		seqs, err := readSeqs(frames)
		for _, seq := range seqs {
			used[seq] = true
		}
		return struct{}{}, err
	}, stackFramesSQL)
	if err != nil {
		return err
	}
	all, err := collect(ctx, tx, scanOne[int64], allFramesSQL)
	if err != nil {
		return err
	}
	drop, err := tx.PrepareContext(ctx, deleteFrameSQL)
	if err != nil {
		return err
	}
	defer drop.Close()
	for _, seq := range all {
		if used[seq] {
			continue
		}
		if _, err := drop.ExecContext(ctx, seq); err != nil {
			return err
		}
	}
	return nil
}

const stackFramesSQL = `
SELECT frames, creator FROM stack`

const allFramesSQL = `
SELECT seq FROM frame`

const deleteFrameSQL = `
DELETE FROM frame WHERE seq = ?`

// appendSeqs and readSeqs keep lists of sequence numbers as uvarints.
func appendSeqs(blob []byte, seqs ...int64) []byte {
	for _, seq := range seqs {
		blob = binary.AppendUvarint(blob, uint64(seq))
	}
	return blob
}

func readSeqs(blob []byte) ([]int64, error) {
	var out []int64
	for len(blob) > 0 {
		v, n := binary.Uvarint(blob)
		if n <= 0 || v > 1<<62 {
			return nil, fmt.Errorf("list of rows is damaged after %d entries", len(out))
		}
		out = append(out, int64(v))
		blob = blob[n:]
	}
	return out, nil
}
