package store

import (
	"context"
	"database/sql"
	"slices"

	"leakdiff/analysis"
)

// SnapshotHeads returns the snapshots of a case's finished bundles without families, and with
// the name of each upload. They are in the order of upload and, within a bundle, in the order
// of the result. A snapshot in several bundles is returned once, from the first bundle. There is
// one row for each.
func (s *Store) SnapshotHeads(ctx context.Context, caseID string) (found []SnapshotRow, out []analysis.Snapshot, err error) {
	err = s.read(ctx, "reading snapshots", func(tx *sql.Tx) error {
		if found, err = snapshotRows(ctx, tx, caseID); err != nil || len(found) == 0 {
			return err
		}
		l := newLoader(tx)
		defer l.p.close()
		rows := make([]*snapshotRow, len(found))
		for i, r := range found {
			rows[i] = &snapshotRow{seq: r.seq, id: r.ID}
		}
		if err := l.heads(ctx, rows); err != nil {
			return err
		}
		out = make([]analysis.Snapshot, len(rows))
		for i, r := range rows {
			out[i] = *r.head
			found[i].Families = r.families
			out[i].Upload = found[i].upload // what a snapshot is of is decided by its head
		}
		return nil
	})
	return found, out, err
}

// LongerThan reports whether a case takes more than n snapshots from its bundles.
func (s *Store) LongerThan(ctx context.Context, caseID string, n int) (longer bool, err error) {
	err = s.read(ctx, "counting snapshots", func(tx *sql.Tx) error {
		seen, err := collect(ctx, tx, scanOne[int], someSnapshotsSQL, caseID, n+1)
		longer = len(seen) > n
		return err
	})
	return longer, err
}

const someSnapshotsSQL = `
SELECT 1
FROM visible_snapshot v
JOIN cases c ON c.seq = v.case_seq
WHERE c.id = ?
LIMIT ?`

// FindSnapshot returns the ids of the cases with a snapshot, newest first.
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
// that no earlier bundle of the case contains.
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

// SnapshotRow is the source of a snapshot in a case: the first bundle that contains it.
// Bundle, Generation and ID identify immutable content, because another reading of the
// bundle has another generation.
type SnapshotRow struct {
	ID         string
	Bundle     string
	Generation int64
	// Families is the number of groups, also where they were not read.
	Families int
	seq      int64
	upload   string
}

// snapshotRows are those of the snapshots of a case, each id once.
func snapshotRows(ctx context.Context, tx *sql.Tx, caseID string) ([]SnapshotRow, error) {
	out, err := collect(ctx, tx, func(rows *sql.Rows) (r SnapshotRow, err error) {
		return r, rows.Scan(&r.seq, &r.ID, &r.Bundle, &r.Generation, &r.upload)
	}, snapshotRowsSQL, caseID)
	seen := make(map[string]bool, len(out))
	return slices.DeleteFunc(out, func(r SnapshotRow) bool {
		again := seen[r.ID]
		seen[r.ID] = true
		return again
	}), err
}

const snapshotRowsSQL = `
SELECT v.seq, v.id, b.id, b.generation, b.name
FROM visible_snapshot v
JOIN bundle b ON b.seq = v.bundle_seq
JOIN cases c ON c.seq = v.case_seq
WHERE c.id = ?
ORDER BY v.bundle_seq, v.place`

// FillSnapshots reads the groups of heads from SnapshotHeads, with families, counts, states,
// waits, variants and members, of which goroutines stay packed in about five bytes each.
// rows[i] belongs to snapshots[i].
func (s *Store) FillSnapshots(ctx context.Context, rows []SnapshotRow, snapshots []*analysis.Snapshot) error {
	return s.fill(ctx, rows, snapshots, true)
}

// FillFamilies is FillSnapshots without objects.
func (s *Store) FillFamilies(ctx context.Context, rows []SnapshotRow, snapshots []*analysis.Snapshot) error {
	return s.fill(ctx, rows, snapshots, false)
}

func (s *Store) fill(ctx context.Context, rows []SnapshotRow, snapshots []*analysis.Snapshot, objects bool) error {
	return s.read(ctx, "reading snapshots", func(tx *sql.Tx) error {
		l := newLoader(tx)
		defer l.p.close()
		into := make([]*snapshotRow, len(rows))
		for i, r := range rows {
			into[i] = &snapshotRow{seq: r.seq, id: r.ID, head: snapshots[i]}
		}
		return l.fill(ctx, into, objects)
	})
}
