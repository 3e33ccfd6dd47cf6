package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// untimedDay is the day of snapshots without a time.
const untimedDay = math.MinInt32

const microsOfDay = 24 * 60 * 60 * 1_000_000

// dayOf returns the day of a time in microseconds.
func dayOf(captured sql.NullInt64) int64 {
	if !captured.Valid {
		return untimedDay
	}
	day := captured.Int64 / microsOfDay
	if captured.Int64%microsOfDay < 0 {
		day--
	}
	return day
}

// seenSums are sums over snapshots, as rows of family_seen.
type seenSums map[seenKey]seenSum

type seenKey struct{ family, series, day int64 }

type seenSum struct{ snapshots, first, last, low, high int64 }

// seriesDay is the unit of the sums.
type seriesDay struct{ series, day int64 }

func (s seenSums) add(at seriesDay, captured, family int64, count int) {
	key := seenKey{family, at.series, at.day}
	n := int64(count)
	sum, known := s[key]
	if !known {
		s[key] = seenSum{1, captured, captured, n, n}
		return
	}
	s[key] = seenSum{
		sum.snapshots + 1, min(sum.first, captured), max(sum.last, captured), min(sum.low, n), max(sum.high, n),
	}
}

// families returns the families of the sums, each once.
func (s seenSums) families() []int64 {
	var out []int64
	for key := range s {
		out = append(out, key.family)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// addFacts adds the facts of a snapshot. It adds nothing for damaged facts.
func (s seenSums) addFacts(p *packer, series int64, captured sql.NullInt64, blob []byte) error {
	type shown struct {
		family int64
		count  int
	}
	var groups []shown
	var r factReader
	for g := range r.read(p, blob) {
		groups = append(groups, shown{g.family, g.count})
	}
	if err := r.done(); err != nil {
		return err
	}
	at := seriesDay{series, dayOf(captured)}
	for _, g := range groups {
		s.add(at, captured.Int64, g.family, g.count)
	}
	return nil
}

// seenRows bounds the rows of one statement.
const seenRows = 4000

// write adds the sums to family_seen, in the order of its primary key.
func (s seenSums) write(ctx context.Context, tx *sql.Tx) error {
	keys := slices.SortedFunc(maps.Keys(s), func(a, b seenKey) int {
		return cmp.Or(cmp.Compare(a.family, b.family), cmp.Compare(a.series, b.series), cmp.Compare(a.day, b.day))
	})
	for chunk := range slices.Chunk(keys, seenRows) {
		rows := make([][8]int64, len(chunk))
		for i, k := range chunk {
			sum := s[k]
			rows[i] = [8]int64{k.family, k.series, k.day, sum.snapshots, sum.first, sum.last, sum.low, sum.high}
		}
		list, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, addSeenSQL, string(list), untimedDay); err != nil {
			return err
		}
	}
	return nil
}

const addSeenSQL = `
INSERT INTO family_seen (family_seq, series_seq, day, case_seq, snapshots, first, last, low, high)
SELECT CAST(list.value ->> 0 AS BIGINT), CAST(list.value ->> 1 AS BIGINT), CAST(list.value ->> 2 AS BIGINT), r.case_seq, CAST(list.value ->> 3 AS BIGINT),
       CASE WHEN CAST(list.value ->> 2 AS BIGINT) <> ?2 THEN CAST(list.value ->> 4 AS BIGINT) END,
       CASE WHEN CAST(list.value ->> 2 AS BIGINT) <> ?2 THEN CAST(list.value ->> 5 AS BIGINT) END,
       CAST(list.value ->> 6 AS BIGINT), CAST(list.value ->> 7 AS BIGINT)
FROM json_each(?1) list
CROSS JOIN series r ON r.seq = CAST(list.value ->> 1 AS BIGINT)
WHERE true
ON CONFLICT (family_seq, series_seq, day) DO UPDATE SET
    snapshots = family_seen.snapshots + excluded.snapshots,
    first = CASE WHEN excluded.first < family_seen.first THEN excluded.first ELSE family_seen.first END,
    last = CASE WHEN excluded.last > family_seen.last THEN excluded.last ELSE family_seen.last END,
    low = CASE WHEN excluded.low < family_seen.low THEN excluded.low ELSE family_seen.low END,
    high = CASE WHEN excluded.high > family_seen.high THEN excluded.high ELSE family_seen.high END`

// shownDays returns the days of a bundle's snapshots of a generation.
func shownDays(ctx context.Context, tx *sql.Tx, bundle, generation int64) ([]seriesDay, error) {
	seen := map[seriesDay]bool{}
	_, err := collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
		var series int64
		var captured sql.NullInt64
		err = rows.Scan(&series, &captured)
		seen[seriesDay{series, dayOf(captured)}] = true
		return none, err
	}, shownDaysSQL, bundle, generation)
	return slices.SortedFunc(maps.Keys(seen), bySeriesAndDay), err
}

func bySeriesAndDay(a, b seriesDay) int {
	return cmp.Or(cmp.Compare(a.series, b.series), cmp.Compare(a.day, b.day))
}

const shownDaysSQL = `
SELECT DISTINCT series_seq, captured_at
FROM snapshot
WHERE bundle_seq = ? AND generation = ?`

// sumAgain recomputes the rows of family_seen for these days, and of family_span for their
// series, from the facts of the visible snapshots. It skips damaged ones.
func sumAgain(ctx context.Context, tx *sql.Tx, days []seriesDay) error {
	var p packer
	defer p.close()
	for _, at := range days {
		if _, err := tx.ExecContext(ctx, familiesOfDaySQL, at.series, at.day); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, forgetSeenSQL, at.series, at.day); err != nil {
			return err
		}
		from, to := at.bounds()
		sums := seenSums{}
		_, err := collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
			var captured sql.NullInt64
			var facts sql.RawBytes
			if err := rows.Scan(&captured, &facts); err != nil {
				return none, err
			}
			// Damaged facts are invisible and must not block the removal of a bundle.
			_ = sums.addFacts(&p, at.series, captured, facts)
			return none, nil
		}, factsOfDaySQL, at.series, from, to)
		if err != nil {
			return err
		}
		if err := sums.write(ctx, tx); err != nil {
			return err
		}
	}
	if err := spanAgain(ctx, tx, days); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, familiesInUseSQL)
	return err
}

// bounds returns the first microsecond of a day and of the next one, NULL without a time.
func (d seriesDay) bounds() (from, to sql.NullInt64) {
	if d.day == untimedDay {
		return from, to
	}
	return sql.NullInt64{Int64: d.day * microsOfDay, Valid: true}, sql.NullInt64{Int64: (d.day + 1) * microsOfDay, Valid: true}
}

// The families of the day are candidates for deletion.
const familiesOfDaySQL = `
INSERT INTO family_to_forget (family_seq)
SELECT family_seq FROM family_seen WHERE series_seq = ? AND day = ?
ON CONFLICT DO NOTHING`

const forgetSeenSQL = `
DELETE FROM family_seen WHERE series_seq = ? AND day = ?`

const factsOfDaySQL = `
SELECT s.captured_at, s.facts
FROM snapshot s
JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation
WHERE s.series_seq = ?1 AND s.captured_at IS NULL AND CAST(?2 AS BIGINT) IS NULL
UNION ALL
SELECT s.captured_at, s.facts
FROM snapshot s
JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation
WHERE s.series_seq = ?1 AND s.captured_at >= ?2 AND s.captured_at < ?3`

// forgetSeries deletes the series of a case without a snapshot.
func forgetSeries(ctx context.Context, tx *sql.Tx, caseSeq int64) error {
	if _, err := tx.ExecContext(ctx, objectsOfEmptySeriesSQL, caseSeq); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, forgetSeriesSQL, caseSeq)
	return err
}

const forgetSeriesSQL = `
DELETE FROM series
WHERE case_seq = ? AND NOT EXISTS (SELECT 1 FROM snapshot s WHERE s.series_seq = series.seq)`

// seriesRow finds or adds the series of a process in a case.
func seriesRow(ctx context.Context, tx *sql.Tx, caseSeq int64, process, host string) (seq int64, err error) {
	if _, err := tx.ExecContext(ctx, addSeriesSQL, caseSeq, process, host); err != nil {
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, findSeriesSQL, caseSeq, process, host).Scan(&seq); err != nil {
		return 0, fmt.Errorf("series: %w", err)
	}
	return seq, nil
}

const addSeriesSQL = `
INSERT INTO series (case_seq, process, host) VALUES (?, ?, ?)
ON CONFLICT DO NOTHING`

const findSeriesSQL = `
SELECT seq FROM series WHERE case_seq = ? AND process = ? AND host = ?`
