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
// answers, finishes deletions that were begun, and reaps. A server that runs for weeks
// calls it now and then. No upload goes because a row about it is missing.
func (s *Store) Sweep(ctx context.Context) error {
	if err := s.sweep(ctx); err != nil {
		return err
	}
	return s.reapAll(ctx)
}

// sweep is Sweep without reaping, for which nobody waits at the start.
func (s *Store) sweep(ctx context.Context) error {
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
// became free. Words that only it had go with Reap.
func (s *Store) reclaim(ctx context.Context) error {
	err := s.dropBlobs(ctx)
	// Space comes back with the next deletion if not now; the rows are gone already.
	if vacuumErr := shrink(ctx, s.writer); vacuumErr != nil {
		s.log.WarnContext(ctx, "space not reclaimed", "error", vacuumErr)
	}
	if logErr := s.pragma(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`); logErr != nil {
		s.log.WarnContext(ctx, "the log was not emptied", "error", logErr)
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
