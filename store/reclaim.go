package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"leakdiff/analysis"
	"leakdiff/store/blob"
)

// Sweep deletes the records of expired permalinks, expired answers and old deliveries, finishes
// interrupted deletions, and reaps. A long-running server calls it regularly; of several one
// sweeps at a time. Sweep never deletes an upload because its row is missing.
func (s *Store) Sweep(ctx context.Context) error {
	if err := errors.Join(s.sweep(ctx), s.noteStrays(ctx)); err != nil {
		return err
	}
	return s.reapAll(ctx)
}

// sweep is Sweep without reaping, which would delay the start.
func (s *Store) sweep(ctx context.Context) error {
	if mine, err := s.TakeDuty(ctx, "sweeping"); err != nil || !mine {
		return err
	}
	now := s.time().UnixMicro()
	var given int64
	err := s.writeReserved(ctx, "sweeping", func(tx *sql.Tx) (err error) {
		if _, err := tx.ExecContext(ctx, forgetAnswersSQL, now); err != nil {
			return err
		}
		if given, err = giveUpDeliveries(ctx, tx, fromMicros(now)); err != nil {
			return err
		}
		// Those that have a name of their own are not taken again.
		if _, err := tx.ExecContext(ctx, endOldDutiesSQL, dutyTime.Microseconds()); err != nil {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	var ahead *analysis.Fault
	switch err := s.clockAhead(ctx); {
	case errors.As(err, &ahead):
		s.log.WarnContext(ctx, "frozen results that are over are not dropped", "why", ahead.Why)
	case err != nil:
		return err
	default:
		err := s.writeReserved(ctx, "dropping frozen results", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, expirePermalinksSQL, now)
			return err
		})
		if err != nil {
			return err
		}
	}
	if given > 0 {
		s.log.WarnContext(ctx, "alerts were not delivered within a day and are given up", "alerts", given)
	}
	// The server must start even if the volume has no room for a deletion.
	if err := s.finishDeletions(ctx); err != nil {
		s.log.WarnContext(ctx, "a deletion was not finished", "error", err)
	}
	if err := s.dropBlobs(ctx); err != nil {
		s.log.WarnContext(ctx, "uploads that were deleted were not removed", "error", err)
	}
	s.restoreReserve(ctx)
	return nil
}

// forgetBlobs marks the blobs that no file refers to. dropBlobs removes them after the
// commit, or at the next start after a crash. Objects of a bucket are removed by Reap.
func (s *Store) forgetBlobs(ctx context.Context, tx *sql.Tx, hashes []string) error {
	list, err := json.Marshal(append([]string{}, hashes...))
	if err != nil {
		return err
	}
	if s.uploads.bucket != nil {
		return s.forgetObjects(ctx, tx, string(list))
	}
	_, err = tx.ExecContext(ctx, forgetBlobsSQL, string(list))
	return err
}

const forgetBlobsSQL = `
UPDATE blob SET forgotten = 1
WHERE sha256 IN (SELECT value FROM json_each(?))
  AND NOT EXISTS (SELECT 1 FROM bundle_file f WHERE f.sha256 = blob.sha256)`

// dropBlobs removes the marked blobs, then their rows.
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
			// The row goes first: its foreign key fails if a file refers to the blob again.
			if _, err := tx.ExecContext(ctx, dropBlobSQL, sha); err != nil {
				return err
			}
			if err := s.uploads.directory.Delete(ctx, blob.Name{SHA256: sha}); err != nil {
				failed = append(failed, err)
				if _, err := tx.ExecContext(ctx, rememberBlobSQL, sha); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		s.log.InfoContext(ctx, "uploads removed that nothing refers to any more", "files", len(hashes)-len(failed))
	}
	return errors.Join(append(failed, err)...)
}

const forgottenBlobsSQL = `
SELECT sha256 FROM blob WHERE forgotten = 1`

const dropBlobSQL = `
DELETE FROM blob WHERE sha256 = ?`

// The size does not matter for a blob that will be removed.
const rememberBlobSQL = `
INSERT INTO blob (sha256, size, forgotten) VALUES (?, 0, 1)`

// reclaim finishes a deletion after its transaction: it removes blobs and frees pages. Reap
// removes unused words.
func (s *Store) reclaim(ctx context.Context) error {
	s.deletedRows()
	err := s.dropBlobs(ctx)
	if _, left := s.removeObjects(ctx); left != nil {
		s.log.WarnContext(ctx, "objects of deleted uploads are removed later", "error", left)
	}
	if !s.engine.ownsFile() {
		return err
	}
	// The rows are deleted already; the next deletion frees the space.
	if vacuumErr := shrink(ctx, s.writer); vacuumErr != nil {
		s.log.WarnContext(ctx, "space not reclaimed", "error", vacuumErr)
	}
	if _, logErr := s.emptyLog(ctx); logErr != nil {
		s.log.WarnContext(ctx, "the log was not emptied", "error", logErr)
	}
	s.restoreReserve(ctx)
	return err
}

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

// appendSeqs and readSeqs encode lists of sequence numbers as uvarints.
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
