package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"

	"leakdiff/analysis"
)

// Types of objects are rows of family and of family_span, so that the fleet and alerts count
// them like families. They have none of family_seen, from which everything else is read. The
// summary of a case writes them, because its report knows the objects and how they ended.

// countObjects makes the types of objects of a case, and how they ended, those of its summary.
func (s *Store) countObjects(ctx context.Context, tx *sql.Tx, caseID string, counts []ObjectCount) error {
	shown, err := sightsOf(ctx, tx, caseID, counts)
	if err != nil {
		return err
	}
	var types []*analysis.Family
	place := map[string]int{} // in types, by fingerprint
	want := familySpans{}     // by place in types
	for _, c := range counts {
		f := analysis.ObjectFamily(c.Name, c.Type)
		n, known := place[f.Fingerprint]
		if !known {
			n = len(types)
			place[f.Fingerprint], types = n, append(types, f)
		}
		for _, x := range []ObjectSight{c.First, c.Last} {
			if at, ok := shown[x.Snapshot]; ok {
				want.add(spanKey{int64(n), at.series}, at.captured, x.Count, c.Version)
			}
		}
		if c.Verdict == "" {
			continue
		}
		if _, err := tx.ExecContext(ctx, addSeriesEndingSQL, caseID, c.Last.Snapshot, f.Fingerprint, c.Verdict, c.Recovered); err != nil {
			return err
		}
	}
	rows := make([]int64, len(types)) // of family
	if err := keepObjects(ctx, tx, caseID, place, want, rows); err != nil || len(want) == 0 {
		return err
	}
	if err := s.objectRows(ctx, tx, types, want, rows); err != nil {
		return err
	}
	spans := familySpans{}
	used := newSet()
	for key, span := range want {
		spans[spanKey{rows[key.family], key.series}] = span
		used.add(rows[key.family])
	}
	if err := spans.write(ctx, tx); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, familiesSeenSQL, listOf(used.list))
	return err
}

// sight is the series and the time of a snapshot.
type sight struct {
	series   int64
	captured sql.NullInt64
}

// sightsOf finds the snapshots of the counts, by id.
func sightsOf(ctx context.Context, tx *sql.Tx, caseID string, counts []ObjectCount) (map[string]sight, error) {
	shown := map[string]sight{}
	for _, c := range counts {
		shown[c.First.Snapshot], shown[c.Last.Snapshot] = sight{}, sight{}
	}
	ids, err := json.Marshal(slices.AppendSeq([]string{}, maps.Keys(shown)))
	if err != nil {
		return nil, err
	}
	clear(shown)
	_, err = collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
		var id string
		var x sight
		err = rows.Scan(&id, &x.series, &x.captured)
		shown[id] = x
		return none, err
	}, sightsSQL, caseID, string(ids))
	return shown, err
}

const sightsSQL = `
SELECT s.id, s.series_seq, s.captured_at
FROM json_each(?2) word
CROSS JOIN snapshot s ON s.id = word.value
CROSS JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation
CROSS JOIN cases c ON c.seq = b.case_seq
WHERE c.id = ?1`

// keepObjects takes what the case has already out of want, and deletes the other rows of its
// objects. It sets the rows of the types that it finds.
func keepObjects(ctx context.Context, tx *sql.Tx, caseID string, place map[string]int, want familySpans, rows []int64) error {
	type row struct {
		fingerprint    string
		series, family int64
	}
	var others []row
	_, err := collect(ctx, tx, func(found *sql.Rows) (none struct{}, err error) {
		var r row
		var has familySpan
		if err := found.Scan(&r.fingerprint, &r.series, &r.family, &has.first, &has.last, &has.firstCount, &has.lastCount, &has.version); err != nil {
			return none, err
		}
		n, wanted := place[r.fingerprint]
		if wanted {
			rows[n] = r.family
		}
		key := spanKey{int64(n), r.series}
		if span, same := want[key]; wanted && same && span == has {
			delete(want, key)
		} else {
			others = append(others, r)
		}
		return none, nil
	}, objectSpansSQL, caseID)
	if err != nil {
		return err
	}
	if len(others) == 0 {
		return nil
	}
	unused := make([]int64, 0, len(others))
	for _, r := range others {
		if _, err := tx.ExecContext(ctx, forgetObjectSQL, r.series, r.fingerprint); err != nil {
			return err
		}
		unused = append(unused, r.family)
	}
	// Those that another series shows are found to be in use.
	_, err = tx.ExecContext(ctx, noteNewFamiliesSQL, listOf(unused))
	return err
}

const objectSpansSQL = `
SELECT p.fingerprint, p.series_seq, p.family_seq, p.first, p.last, p.first_count, p.last_count, p.version
FROM cases c
CROSS JOIN series r ON r.case_seq = c.seq
CROSS JOIN family_span p ON p.series_seq = r.seq
WHERE c.id = ? AND p.fingerprint >= 'o' AND p.fingerprint < 'p'`

const forgetObjectSQL = `
DELETE FROM family_span WHERE series_seq = ? AND fingerprint = ?`

// objectRows finds or adds the rows of the wanted types that have none yet.
func (s *Store) objectRows(ctx context.Context, tx *sql.Tx, types []*analysis.Family, want familySpans, rows []int64) error {
	open := newSet()
	for key := range want {
		if rows[key.family] == 0 {
			open.add(key.family)
		}
	}
	if len(open.list) == 0 {
		return nil
	}
	w, err := newWordWriter(ctx, tx, s.engine)
	if err != nil {
		return err
	}
	defer w.close()
	slices.Sort(open.list)
	for _, n := range open.list {
		if rows[n], err = w.family(ctx, types[n]); err != nil {
			return err
		}
	}
	return w.index(ctx)
}

// forgetObjects deletes what is known of the objects of a case, until it is summed up again.
func forgetObjects(ctx context.Context, tx *sql.Tx, caseSeq int64) error {
	for _, query := range []string{objectsOfCaseSQL, forgetObjectsSQL} {
		if _, err := tx.ExecContext(ctx, query, caseSeq); err != nil {
			return err
		}
	}
	return nil
}

// The types of the case are candidates for deletion.
const objectsOfCaseSQL = `
INSERT INTO family_to_forget (family_seq)
SELECT DISTINCT p.family_seq
FROM series r
CROSS JOIN family_span p ON p.series_seq = r.seq
WHERE r.case_seq = ? AND p.fingerprint >= 'o' AND p.fingerprint < 'p'
ON CONFLICT DO NOTHING`

const objectsOfEmptySeriesSQL = `
INSERT INTO family_to_forget (family_seq)
SELECT DISTINCT p.family_seq
FROM series r
CROSS JOIN family_span p ON p.series_seq = r.seq
WHERE r.case_seq = ? AND p.fingerprint >= 'o' AND p.fingerprint < 'p'
  AND NOT EXISTS (SELECT 1 FROM snapshot s WHERE s.series_seq = r.seq)
ON CONFLICT DO NOTHING`

const forgetObjectsSQL = `
DELETE FROM family_span
WHERE series_seq IN (SELECT seq FROM series WHERE case_seq = ?) AND fingerprint >= 'o' AND fingerprint < 'p'`
