package store

import (
	"context"
	"database/sql"
	"time"

	"leakdiff/analysis"
)

// Sighting is one snapshot of one case that shows a family.
type Sighting struct {
	CaseID, CaseTitle string
	SnapshotID, Label string
	// CapturedAt is zero where only an order is known.
	CapturedAt    time.Time
	Host, Process string
	Count         int
}

// FamilySightings returns everywhere a family was ever seen, the latest capture
// first, those without time last. A snapshot in several bundles of a case counts
// once.
func (s *Store) FamilySightings(ctx context.Context, fingerprint string) (out []Sighting, err error) {
	err = s.read(ctx, "looking for a family", func(tx *sql.Tx) error {
		out, err = collect(ctx, tx, scanSighting, sightingsSQL, fingerprint)
		return err
	})
	return out, err
}

const sightingsSQL = `
SELECT c.id, c.title, v.id, v.label, v.captured_at, v.host, v.process, max(sf.count)
FROM family f
JOIN snapshot_family sf ON sf.family_seq = f.seq
JOIN visible_snapshot v ON v.seq = sf.snapshot_seq
JOIN cases c ON c.seq = v.case_seq
WHERE f.fingerprint = ?
GROUP BY c.seq, v.id
ORDER BY v.captured_at IS NULL, v.captured_at DESC, c.created_at DESC, v.bundle_seq, v.place`

func scanSighting(rows *sql.Rows) (out Sighting, err error) {
	var captured sql.NullInt64
	err = rows.Scan(&out.CaseID, &out.CaseTitle, &out.SnapshotID, &out.Label, &captured, &out.Host, &out.Process, &out.Count)
	out.CapturedAt = timeOrZero(captured)
	return out, err
}

// Family returns what a fingerprint stands for, as the newest result words it;
// *analysis.Fault "not_found" where no finished bundle shows it.
func (s *Store) Family(ctx context.Context, fingerprint string) (f analysis.Family, err error) {
	err = s.read(ctx, "reading a family", func(tx *sql.Tx) error {
		var seq int64
		if err := tx.QueryRowContext(ctx, familySQL, fingerprint).Scan(&seq); err != nil {
			return orNotFound(err, "family", fingerprint)
		}
		l := &loader{tx: tx, families: map[int64]*analysis.Family{}}
		if err := l.loadFamilies(ctx, []int64{seq}); err != nil {
			return err
		}
		f = *l.families[seq]
		return nil
	})
	return f, err
}

const familySQL = `
SELECT f.seq
FROM family f
JOIN snapshot_family sf ON sf.family_seq = f.seq
JOIN visible_snapshot v ON v.seq = sf.snapshot_seq
WHERE f.fingerprint = ?
ORDER BY f.seq DESC
LIMIT 1`
