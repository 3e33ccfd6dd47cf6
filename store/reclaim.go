package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// blobGrace is how long a blob may wait for the row that refers to it.
const blobGrace = time.Hour

// Sweep removes what time has made useless: blobs that nothing refers to and
// that are older than an hour (an upload that ended between blob and row),
// records of expired permalinks, remembered answers. Open does it; a server that
// runs for weeks calls it now and then.
func (s *Store) Sweep(ctx context.Context) error {
	now := s.time().UnixMicro()
	err := s.write(ctx, "sweeping", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, forgetAnswersSQL, now); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, expirePermalinksSQL, now)
		return err
	})
	if err != nil {
		return err
	}
	entries, err := s.blobs.List()
	if err != nil {
		return err
	}
	var old []string
	for _, e := range entries {
		if s.now().Sub(e.Touched) > blobGrace {
			old = append(old, e.SHA256)
		}
	}
	return s.dropBlobs(ctx, old)
}

// dropBlobs deletes those of the blobs that no bundle refers to.
func (s *Store) dropBlobs(ctx context.Context, hashes []string) error {
	s.referring.Lock()
	defer s.referring.Unlock()
	var errs []error
	for _, sha := range hashes {
		var used bool
		if err := s.reader.QueryRowContext(ctx, blobUsedSQL, sha).Scan(&used); err != nil {
			return fault("looking for uses of a blob", err)
		}
		if used {
			continue
		}
		if err := s.blobs.Delete(sha); err != nil {
			errs = append(errs, err)
			continue
		}
		s.log.InfoContext(ctx, "blob removed", "sha256", sha)
	}
	return errors.Join(errs...)
}

const blobUsedSQL = `
SELECT EXISTS (SELECT 1 FROM bundle_file WHERE sha256 = ?)`

// reclaim finishes a deletion outside its transaction: blobs, then the pages that
// became free, so that nothing of what was deleted stays in the files.
func (s *Store) reclaim(ctx context.Context, hashes []string) error {
	err := s.dropBlobs(ctx, hashes)
	for _, pragma := range []string{`PRAGMA incremental_vacuum`, `PRAGMA wal_checkpoint(TRUNCATE)`} {
		if vacuumErr := s.pragma(ctx, pragma); vacuumErr != nil {
			// Space comes back with the next deletion; the rows are gone already.
			s.log.WarnContext(ctx, "space not reclaimed", "pragma", pragma, "error", vacuumErr)
		}
	}
	return err
}

// pragma steps through all rows: incremental_vacuum frees one page per step.
func (s *Store) pragma(ctx context.Context, text string) error {
	rows, err := s.writer.QueryContext(ctx, text)
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
WHERE NOT EXISTS (SELECT 1 FROM snapshot_family sf WHERE sf.family_seq = family.seq)`

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
