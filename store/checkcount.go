package store

import (
	"context"
	"database/sql"
	"fmt"

	"leakdiff/analysis/say/wording"
)

const seriesFactsSQL = `
SELECT s.captured_at, s.facts
FROM snapshot s
JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation
WHERE s.series_seq = ?`

const seriesSeenSQL = `
SELECT family_seq, day, snapshots, coalesce(first, 0), coalesce(last, 0), low, high
FROM family_seen
WHERE series_seq = ?`

// sums compares what search says of the families of a series with the snapshots that it sums
// up.
func (c *checker) sums(ctx context.Context, series int64) error {
	want, have := seenSums{}, seenSums{}
	_, err := collect(ctx, c.tx, func(rows *sql.Rows) (none struct{}, err error) {
		var captured sql.NullInt64
		var facts sql.RawBytes
		if err := rows.Scan(&captured, &facts); err != nil {
			return none, err
		}
		// Damaged facts are a finding about their snapshot.
		_ = want.addFacts(&c.packer, series, captured, facts)
		return none, nil
	}, seriesFactsSQL, series)
	if err != nil {
		return err
	}
	_, err = collect(ctx, c.tx, func(rows *sql.Rows) (none struct{}, err error) {
		key, sum := seenKey{series: series}, seenSum{}
		err = rows.Scan(&key.family, &key.day, &sum.snapshots, &sum.first, &sum.last, &sum.low, &sum.high)
		have[key] = sum
		return none, err
	}, seriesSeenSQL, series)
	if err != nil {
		return err
	}
	days := map[seriesDay]bool{}
	for _, key := range differing(want, have) {
		days[seriesDay{series, key.day}] = true
	}
	if len(days) == 0 { // a repair of the sums makes the spans again
		return c.spans(ctx, series)
	}
	f := Finding{Subject: OfCount, What: "what search knows of a process differs from its snapshots", Where: fmt.Sprintf("series %d", series),
		Why: wording.Plural(len(days), "day", "days"), Mend: "sum it up again"}
	for day := range days {
		f.days = append(f.days, day)
	}
	c.add(f)
	return nil
}

// differing are the keys that one of two maps lacks, or has with another value.
func differing[K, V comparable](a, b map[K]V) (out []K) {
	for key, value := range a {
		if other, known := b[key]; !known || other != value {
			out = append(out, key)
		}
	}
	for key := range b {
		if _, known := a[key]; !known {
			out = append(out, key)
		}
	}
	return out
}

const seriesSpansSQL = `
SELECT p.fingerprint, p.first, p.last, p.first_count, p.last_count, p.host <> r.host OR p.case_seq <> r.case_seq
FROM family_span p
JOIN series r ON r.seq = p.series_seq
WHERE p.series_seq = ? AND (p.fingerprint < 'o' OR p.fingerprint >= 'p')`

// spans compares what the fleet says of the families of a series with its snapshots. What it
// says of objects is of the case's report.
func (c *checker) spans(ctx context.Context, series int64) error {
	spans, err := spansOf(ctx, c.tx, &c.packer, series)
	if err != nil {
		return err
	}
	// A family has other numbers in captures with other attributes.
	merged, numbers := familySpans{}, map[string]int64{}
	_, err = collect(ctx, c.tx, func(rows *sql.Rows) (none struct{}, err error) {
		var family int64
		var fingerprint string
		err = rows.Scan(&family, &fingerprint)
		if x, seen := spans[spanKey{family, series}]; seen {
			if _, known := numbers[fingerprint]; !known {
				numbers[fingerprint] = family
			}
			key := spanKey{numbers[fingerprint], series}
			merged.add(key, sql.NullInt64{Int64: x.first, Valid: true}, int(x.firstCount), "")
			merged.add(key, sql.NullInt64{Int64: x.last, Valid: true}, int(x.lastCount), "")
		}
		return none, err
	}, familiesOfSeriesSQL, series)
	if err != nil {
		return err
	}
	want := map[string]familySpan{}
	for fingerprint, number := range numbers {
		want[fingerprint] = merged[spanKey{number, series}]
	}
	have := map[string]familySpan{}
	_, err = collect(ctx, c.tx, func(rows *sql.Rows) (none struct{}, err error) {
		var fingerprint string
		var x familySpan
		var displaced bool
		err = rows.Scan(&fingerprint, &x.first, &x.last, &x.firstCount, &x.lastCount, &displaced)
		if displaced { // the row is of another host or case than its series
			x = familySpan{}
		}
		have[fingerprint] = x
		return none, err
	}, seriesSpansSQL, series)
	if wrong := len(differing(want, have)); err == nil && wrong > 0 {
		c.add(Finding{Subject: OfCount, What: "what the fleet knows of a process differs from its snapshots", Where: fmt.Sprintf("series %d", series),
			Why: wording.Plural(wrong, "family", "families"), Mend: "sum it up again", days: []seriesDay{{series: series}}})
	}
	return err
}

const familiesOfSeriesSQL = `
SELECT DISTINCT f.seq, f.fingerprint
FROM family_seen s
JOIN family f ON f.seq = s.family_seq
WHERE s.series_seq = ?`
