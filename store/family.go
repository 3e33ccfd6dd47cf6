package store

import (
	"context"
	"database/sql"
	"time"
)

// Sighting is one snapshot of one case that shows a family.
type Sighting struct {
	CaseID, CaseTitle string
	SnapshotID, Label string
	// CapturedAt is zero where only an order is known.
	CapturedAt    time.Time
	Host, Process string
	// Highest is the largest Count of all snapshots of the process in the case.
	Count, Highest int
}

// Sightings are where a family was seen.
type Sightings struct {
	List []Sighting
	// Cases and Places count all cases, and all processes in them, listed or not.
	Cases, Places int
}

// mostCourse is how many sightings of one process in one case are listed.
const mostCourse = 100

// FamilySightings returns where a family was ever seen, the latest capture first, those
// without time last: at most limit snapshots in all, and of one process in a case the
// latest hundred. A snapshot in several bundles of a case counts once.
func (s *Store) FamilySightings(ctx context.Context, fingerprint string, limit int) (out Sightings, err error) {
	err = s.read(ctx, "looking for a family", func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, countSightingsSQL, fingerprint).Scan(&out.Places, &out.Cases); err != nil {
			return err
		}
		out.List, err = collect(ctx, tx, scanSighting, sightingsSQL, fingerprint, mostCourse, max(limit, 0))
		return err
	})
	return out, err
}

// FamilyCases is the number of cases in which a family was ever seen.
func (s *Store) FamilyCases(ctx context.Context, fingerprint string) (n int, err error) {
	err = s.reader.QueryRowContext(ctx, familyCasesSQL, fingerprint).Scan(&n)
	return n, fault("looking for a family", err)
}

const familyCasesSQL = `
SELECT count(DISTINCT b.case_seq)
FROM family f
JOIN family_bundle fb ON fb.family_seq = f.seq
JOIN bundle b ON b.seq = fb.bundle_seq AND b.generation = fb.generation
WHERE f.fingerprint = ?`

const sightingsSQL = `
SELECT id, title, snapshot, label, captured_at, host, process, count, highest
FROM (
    SELECT c.id AS id, c.title AS title, v.id AS snapshot, v.label AS label, v.captured_at AS captured_at,
           v.host AS host, v.process AS process, max(sf.count) AS count,
           c.created_at AS created_at, v.bundle_seq AS bundle_seq, v.place AS place,
           max(max(sf.count)) OVER (PARTITION BY c.seq, v.process) AS highest,
           row_number() OVER (
               PARTITION BY c.seq, v.process
               ORDER BY v.captured_at IS NULL, v.captured_at DESC, v.bundle_seq, v.place) AS nth
    FROM family f
    JOIN snapshot_family sf ON sf.family_seq = f.seq
    JOIN visible_snapshot v ON v.seq = sf.snapshot_seq
    JOIN cases c ON c.seq = v.case_seq
    WHERE f.fingerprint = ?1
    GROUP BY c.seq, v.id)
WHERE nth <= ?2
ORDER BY captured_at IS NULL, captured_at DESC, created_at DESC, bundle_seq, place
LIMIT ?3`

const countSightingsSQL = `
SELECT count(*), count(DISTINCT case_seq)
FROM (
    SELECT DISTINCT v.case_seq, v.process
    FROM family f
    JOIN snapshot_family sf ON sf.family_seq = f.seq
    JOIN visible_snapshot v ON v.seq = sf.snapshot_seq
    WHERE f.fingerprint = ?)`

func scanSighting(rows *sql.Rows) (out Sighting, err error) {
	var captured sql.NullInt64
	err = rows.Scan(&out.CaseID, &out.CaseTitle, &out.SnapshotID, &out.Label, &captured, &out.Host, &out.Process, &out.Count, &out.Highest)
	out.CapturedAt = timeOrZero(captured)
	return out, err
}
