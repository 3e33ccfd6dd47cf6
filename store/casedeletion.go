package store

import (
	"context"
	"database/sql"
	"errors"

	"leakdiff/store/blob"
)

// PermalinkFate selects what happens to the permalinks of a deleted case.
type PermalinkFate int

const (
	// WithdrawPermalinks makes them answer "gone".
	WithdrawPermalinks PermalinkFate = iota
	// KeepPermalinks leaves them readable, without their raw lines.
	KeepPermalinks
)

// fates are the stored values.
var fates = map[PermalinkFate]string{WithdrawPermalinks: "withdraw", KeepPermalinks: "keep"}

// DeleteCase removes a case with its bundles, results, jobs and unreferenced blobs. Search
// no longer finds words that only this case used; Reap deletes them. DeleteCase works on a
// full volume: the case becomes invisible at once, and Sweep finishes what had no room.
func (s *Store) DeleteCase(ctx context.Context, id string, fate PermalinkFate) error {
	err := s.deleteRows(ctx, id, fate)
	if IsFull(err) {
		// The log of all deleted rows of a large case does not fit into the reserve. Its uploads
		// occupy far more space and can be deleted without any.
		begun, err := s.beginDeleting(ctx, id, fate)
		if err != nil {
			return err
		}
		if err := s.finishDeleting(ctx, begun, fate); err != nil {
			s.log.WarnContext(ctx, "a case is gone, and its rows are deleted when there is room", "case", id, "error", err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	return s.reclaim(context.WithoutCancel(ctx))
}

// beginDeleting records the deletion of a case. It replaces the ids of the case and its
// bundles by unknown ones and hides results and jobs, so that nobody can add to the case
// meanwhile. It returns the new id of the case.
func (s *Store) beginDeleting(ctx context.Context, id string, fate PermalinkFate) (begun string, err error) {
	if begun, err = s.newID("c"); err != nil {
		return "", err
	}
	return begun, s.writeReserved(ctx, "deleting a case", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, beginDeletingSQL, fates[fate], begun, id)
		if err := affected(result, err, notFound("case", id)); err != nil {
			return err
		}
		if err := s.hideBundles(ctx, tx, begun); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, forgetJobsSQL, begun); err != nil {
			return err
		}
		if err := reviseNamed(ctx, tx, begun); err != nil {
			return err
		}
		if fate == KeepPermalinks {
			return nil
		}
		_, err = tx.ExecContext(ctx, endPermalinksSQL, s.time().UnixMicro(), begun)
		return err
	})
}

const beginDeletingSQL = `
UPDATE cases SET deleting = ?, id = ? WHERE id = ?`

// hideBundles gives the bundles of a case ids that nobody knows, and a generation of which
// no snapshot is.
func (s *Store) hideBundles(ctx context.Context, tx *sql.Tx, caseID string) error {
	all, err := collect(ctx, tx, scanOne[int64], bundlesOfCaseSQL, caseID)
	if err != nil {
		return err
	}
	for _, seq := range all {
		id, err := s.newID("b")
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, hideBundleSQL, id, seq); err != nil {
			return err
		}
	}
	return nil
}

const bundlesOfCaseSQL = `
SELECT b.seq FROM bundle b JOIN cases c ON c.seq = b.case_seq WHERE c.id = ?`

const hideBundleSQL = `
UPDATE bundle SET id = ?, generation = -1 WHERE seq = ?`

const forgetJobsSQL = `
DELETE FROM job
WHERE bundle_seq IN (SELECT b.seq FROM bundle b JOIN cases c ON c.seq = b.case_seq WHERE c.id = ?)`

// finishDeleting deletes their records with the rows of the case.
const endPermalinksSQL = `
UPDATE permalink SET withdrawn_at = coalesce(withdrawn_at, ?)
WHERE case_seq = (SELECT seq FROM cases WHERE id = ?)`

// finishDeleting deletes a case after beginDeleting: first the blobs that only this case
// refers to, then its rows.
func (s *Store) finishDeleting(ctx context.Context, begun string, fate PermalinkFate) error {
	if err := s.deleteOwnBlobs(ctx, begun); err != nil {
		return err
	}
	if err := s.deleteRows(ctx, begun, fate); err != nil {
		return err
	}
	return s.reclaim(context.WithoutCancel(ctx))
}

func (s *Store) deleteOwnBlobs(ctx context.Context, caseID string) error {
	if s.uploads.bucket != nil {
		return nil // they take no room on the volume
	}
	s.referring.Lock()
	defer s.referring.Unlock()
	var hashes []string
	err := s.read(ctx, "deleting a case", func(tx *sql.Tx) (err error) {
		hashes, err = collect(ctx, tx, scanOne[string], ownBlobsSQL, caseID)
		return err
	})
	for _, sha := range hashes {
		err = errors.Join(err, s.uploads.directory.Delete(ctx, blob.Name{SHA256: sha}))
	}
	return err
}

const ownBlobsSQL = `
SELECT DISTINCT f.sha256
FROM cases c
JOIN bundle b ON b.case_seq = c.seq
JOIN bundle_file f ON f.bundle_seq = b.seq
WHERE c.id = ? AND NOT EXISTS (
    SELECT 1
    FROM bundle_file g
    JOIN bundle d ON d.seq = g.bundle_seq
    WHERE g.sha256 = f.sha256 AND d.case_seq <> c.seq)`

// finishDeletions finishes all deletions that have begun.
func (s *Store) finishDeletions(ctx context.Context) error {
	type begun struct{ id, fate string }
	var all []begun
	err := s.read(ctx, "looking for deletions", func(tx *sql.Tx) (err error) {
		all, err = collect(ctx, tx, func(rows *sql.Rows) (b begun, err error) {
			return b, rows.Scan(&b.id, &b.fate)
		}, casesToDeleteSQL)
		return err
	})
	for _, b := range all {
		fate := WithdrawPermalinks
		if b.fate == fates[KeepPermalinks] {
			fate = KeepPermalinks
		}
		if failed := s.finishDeleting(ctx, b.id, fate); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		s.log.InfoContext(ctx, "case deleted, as was begun on a full volume")
	}
	return err
}

const casesToDeleteSQL = `
SELECT id, deleting FROM cases WHERE deleting <> ''`

func (s *Store) deleteRows(ctx context.Context, id string, fate PermalinkFate) error {
	return s.writeReserved(ctx, "deleting a case", func(tx *sql.Tx) error {
		hashes, err := collect(ctx, tx, scanOne[string], caseBlobsSQL, id)
		if err != nil {
			return err
		}
		if err := s.partPermalinks(ctx, tx, id, fate); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, familiesOfCaseSQL, id); err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, deleteCaseSQL, id)
		if err := affected(result, err, notFound("case", id)); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, familiesInUseSQL); err != nil {
			return err
		}
		return s.forgetBlobs(ctx, tx, hashes)
	})
}

const caseBlobsSQL = `
SELECT DISTINCT f.sha256
FROM cases c
JOIN bundle b ON b.case_seq = c.seq
JOIN bundle_file f ON f.bundle_seq = b.seq
WHERE c.id = ?`

// The families of the case, and its types of objects, are candidates for deletion.
const familiesOfCaseSQL = `
INSERT INTO family_to_forget (family_seq)
SELECT fs.family_seq
FROM cases c
JOIN series r ON r.case_seq = c.seq
JOIN family_seen fs ON fs.series_seq = r.seq
WHERE c.id = ?1
UNION
SELECT p.family_seq
FROM cases c
JOIN series r ON r.case_seq = c.seq
JOIN family_span p ON p.series_seq = r.seq
WHERE c.id = ?1 AND p.fingerprint >= 'o' AND p.fingerprint < 'p'
ON CONFLICT DO NOTHING`

const deleteCaseSQL = `
DELETE FROM cases WHERE id = ?`

func (s *Store) partPermalinks(ctx context.Context, tx *sql.Tx, caseID string, fate PermalinkFate) error {
	if fate == KeepPermalinks {
		_, err := tx.ExecContext(ctx, stripPermalinksSQL, caseID)
		return err
	}
	_, err := tx.ExecContext(ctx, withdrawPermalinksSQL, s.time().UnixMicro(), caseID)
	return err
}

// The address of the page names parts of the case, and leads nowhere without it.
const stripPermalinksSQL = `
UPDATE permalink SET raw = NULL, view = ''
WHERE case_seq = (SELECT seq FROM cases WHERE id = ?)`

// A title that was not redacted may quote the evidence.
const withdrawPermalinksSQL = `
UPDATE permalink SET withdrawn_at = coalesce(withdrawn_at, ?), record = NULL, raw = NULL, view = '', title = CASE redacted WHEN 0 THEN '' ELSE title END
WHERE case_seq = (SELECT seq FROM cases WHERE id = ?)`
