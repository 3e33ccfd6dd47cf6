package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
)

// FleetQuery chooses families over all hosts.
type FleetQuery struct {
	// Since leaves out the series that showed the family earlier for the last time.
	Since time.Time
	// NewSince decides which families are new: no capture showed them earlier.
	NewSince time.Time
	// New leaves out the others.
	New bool
	// Kind is one kind, or empty for all families. KindObject ranks types of objects, which are
	// returned as families.
	Kind analysis.Kind
	// Text is a query as of SearchFunctions, or empty, and Aliases those of its words.
	Text    string
	Aliases Aliases
	// ByHosts sorts by the number of hosts instead of by growth.
	ByHosts       bool
	Limit, Offset int
}

// Fleet is a page of families over all hosts.
type Fleet struct {
	Families []FleetFamily
	// First is the first family of all pages, nil without one.
	First *FleetFamily
	// Total counts the chosen families on all pages, New the new ones among those of the
	// query without its New.
	Total, New int
}

// FleetFamily is a family over all hosts.
type FleetFamily struct {
	Family analysis.Family
	// Hosts counts the named hosts, Unnamed the series without a host name.
	Hosts, Unnamed, Series int
	// Growth is the sum over the series of growthSQL.
	Growth int
	// First is the first sight in the chosen series, Last the last one.
	First, Last time.Time
	New         bool
}

// Fleet returns families with the hosts and series that showed them since a time, ranked.
// It leaves out snapshots without a time, and samples.
func (s *Store) Fleet(ctx context.Context, q FleetQuery) (out Fleet, err error) {
	words := splitQuery(s.engine.lower(q.Text))
	if strings.TrimSpace(q.Text) != "" && len(words) == 0 || q.Limit <= 0 {
		return out, nil
	}
	pairs, err := s.indexedWords(words, q.Aliases)
	if err != nil {
		return out, err
	}
	order := "growth DESC, hosts DESC, fingerprint"
	if q.ByHosts {
		order = "hosts DESC, growth DESC, fingerprint"
	}
	query := `WITH` + rankingSQL(withoutWordsSQL, order)
	if len(words) > 0 {
		query = s.engine.words() + `,` + rankingSQL(ofMatchedSQL, order)
	}
	from, to := fingerprintsOf(q.Kind)
	without := [2]string{"o", "o~"}
	if q.Kind == analysis.KindObject {
		without = [2]string{"~", ""} // none
	}
	type row struct {
		seq, rank int64
		FleetFamily
	}
	err = s.read(ctx, "ranking families over all hosts", func(tx *sql.Tx) error {
		rows, err := collect(ctx, tx, func(rows *sql.Rows) (r row, err error) {
			var first, last int64
			err = rows.Scan(&r.seq, &r.Hosts, &r.Unnamed, &r.Series, &r.Growth, &first, &last, &r.New, &out.Total, &out.New, &r.rank)
			r.First, r.Last = fromMicros(first), fromMicros(last)
			return r, err
		}, query, pairs, q.Since.UnixMicro(), from, to, q.NewSince.UnixMicro(), q.New, q.Limit, max(q.Offset, 0), without[0], without[1])
		if err != nil {
			return err
		}
		seqs := make([]int64, len(rows))
		for i, r := range rows {
			seqs[i] = r.seq
		}
		l := newLoader(tx)
		if err := l.loadFamilies(ctx, seqs); err != nil {
			return err
		}
		for _, r := range rows {
			r.FleetFamily.Family = *l.families[r.seq].family
			if r.rank == 1 {
				out.First = &r.FleetFamily
			}
			if r.rank > int64(q.Offset) {
				out.Families = append(out.Families, r.FleetFamily)
			}
		}
		return nil
	})
	if q.New {
		out.Total = out.New
	}
	return out, err
}

// fingerprintsOf returns the bounds of the fingerprints of a kind, or of all.
func fingerprintsOf(kind analysis.Kind) (from, to string) {
	if kind == "" {
		return "", "~"
	}
	return string(kind[:1]), string(kind[:1]) + "~"
}

// growthSQL is by how much a family grew in a series: the count at the last sight minus that at
// the first one, or what the report says that it rose where restarts hide that.
const growthSQL = `CASE WHEN rise > 0 AND rise > last_count - first_count THEN rise ELSE last_count - first_count END`

// rankingSQL ranks the families of which the rows fulfil one condition more, and chooses those
// of a page and the first one. The rows are read
// in the order of the primary key, which the count of distinct hosts needs alone. A series of
// a case that is being deleted counts no more. The first sight of all is a minimum and no
// EXISTS, which PostgreSQL expects to find at once and searches the whole table for.
func rankingSQL(condition, order string) string {
	chosen := fleetChosenSQL + condition
	return `
host AS (
    SELECT fingerprint, count(DISTINCT host) AS hosts
    FROM family_span
    WHERE host <> '' AND ` + chosen + `
    GROUP BY fingerprint
),
fleet AS (
    SELECT fingerprint, sum(CASE WHEN host = '' THEN 1 ELSE 0 END) AS unnamed, count(*) AS series, sum(` + growthSQL + `) AS growth,
           min(first) AS first, max(last) AS last, max(family_seq) AS family_seq
    FROM family_span
    WHERE ` + chosen + `
    GROUP BY fingerprint
),
ranked AS (
    SELECT fleet.*, coalesce(host.hosts, 0) AS hosts
    FROM fleet
    LEFT JOIN host ON host.fingerprint = fleet.fingerprint
),
aged AS MATERIALIZED (
    SELECT ranked.*, CASE WHEN first >= ?5 AND (
        SELECT min(p.first) FROM family_span p
        WHERE p.fingerprint = ranked.fingerprint AND p.case_seq NOT IN (SELECT seq FROM cases WHERE deleting <> '' OR sample <> '')
    ) >= ?5 THEN 1 ELSE 0 END AS fresh
    FROM ranked
),
counted AS (
    SELECT aged.*, count(*) OVER () AS total, sum(fresh) OVER () AS new
    FROM aged
),
numbered AS (
    SELECT counted.*, row_number() OVER (ORDER BY ` + order + `) AS rank
    FROM counted
    WHERE fresh >= ?6
)
SELECT family_seq, hosts, unnamed, series, growth, first, last, fresh, total, new, rank
FROM numbered
WHERE rank = 1 OR rank > ?8 AND rank <= ?7 + ?8
ORDER BY rank`
}

// Objects are no families: they are chosen by their kind alone. An OR would leave the order of
// the primary key.
const fleetChosenSQL = `last >= ?2 AND fingerprint >= ?3 AND fingerprint < ?4 AND fingerprint NOT BETWEEN ?9 AND ?10
      AND case_seq NOT IN (SELECT seq FROM cases WHERE deleting <> '' OR sample <> '')`

// FleetDay is by how much a family grew on a host on a day.
type FleetDay struct {
	Fingerprint, Host string
	Day               time.Time
	Growth            int
}

// mostFleetDays bounds them.
const mostFleetDays = 2000

// FleetDays returns what grew of a few families since a time, by host and day, most first and at
// most two thousand. A series that several days captured counts on each of them by how much its
// highest count is over that of the day before. Types of objects and series of one day count whole
// on the day of their last capture.
func (s *Store) FleetDays(ctx context.Context, fingerprints []string, since time.Time) (out []FleetDay, err error) {
	list, err := json.Marshal(append([]string{}, fingerprints...))
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, "adding up growth by hosts and days", func(tx *sql.Tx) error {
		out, err = collect(ctx, tx, func(rows *sql.Rows) (x FleetDay, err error) {
			var day int64
			err = rows.Scan(&x.Fingerprint, &x.Host, &day, &x.Growth)
			x.Day = time.Unix(day*secondsOfDay, 0).UTC()
			return x, err
		}, fleetDaysSQL, string(list), since.UnixMicro(), mostFleetDays)
		return err
	})
	return out, err
}

const secondsOfDay = 24 * 60 * 60

// Days are counted only for series that grew. A family has several rows of a day if its attributes
// changed.
const fleetDaysSQL = `
WITH grown AS MATERIALIZED (
    SELECT p.fingerprint, p.host, p.series_seq, p.last / 86400000000 AS last_day, ` + growthSQL + ` AS growth
    FROM json_each(?1) word
    CROSS JOIN family_span p ON p.fingerprint = word.value
    WHERE p.last >= ?2 AND p.case_seq NOT IN (SELECT seq FROM cases WHERE deleting <> '' OR sample <> '')
      AND ` + growthSQL + ` > 0
),
daily AS MATERIALIZED (
    SELECT g.fingerprint, g.host, g.series_seq, d.day, min(d.low) AS low, max(d.high) AS high
    FROM grown g
    CROSS JOIN family f ON f.fingerprint = g.fingerprint
    CROSS JOIN family_seen d ON d.family_seq = f.seq AND d.series_seq = g.series_seq
    WHERE d.first IS NOT NULL
    GROUP BY g.fingerprint, g.host, g.series_seq, d.day
),
booked AS (
    SELECT fingerprint, host, series_seq, day, high - lag(high, 1, low) OVER (PARTITION BY fingerprint, series_seq ORDER BY day) AS growth,
           count(*) OVER (PARTITION BY fingerprint, series_seq) AS days
    FROM daily
),
counted AS (
    SELECT fingerprint, host, day, growth FROM booked WHERE days > 1
    UNION ALL
    SELECT g.fingerprint, g.host, g.last_day, g.growth FROM grown g
    WHERE NOT EXISTS (SELECT 1 FROM booked b WHERE b.fingerprint = g.fingerprint AND b.series_seq = g.series_seq AND b.days > 1)
)
SELECT fingerprint, host, day, sum(growth) AS growth
FROM counted
WHERE day >= ?2 / 86400000000
GROUP BY fingerprint, host, day
HAVING sum(growth) > 0
ORDER BY growth DESC, fingerprint, host, day
LIMIT ?3`

// The list of words is empty.
const withoutWordsSQL = ` AND CAST(?1 AS TEXT) = '[]'`

const ofMatchedSQL = `
      AND fingerprint IN (SELECT f.fingerprint FROM matched CROSS JOIN family f ON f.seq = matched.family_seq)`

// FleetSeries is one series with a family.
type FleetSeries struct {
	Host, Process, CaseID string
	First, Last           time.Time
	// Growth is growthSQL.
	Growth, LastCount int
	// Version is that of the program at the last sight, or empty.
	Version string
	// Verdict is how the family ended in the series. It is empty if that is open. Without a
	// stored ending it is stable if several captures show no growth.
	Verdict string
	// Recovered is true if the cause went away within the captures, Benign if a person called
	// the family that.
	Recovered, Benign bool
	// Decisive is true if the series has enough captures to say that a leak of an earlier one is
	// over.
	Decisive bool
}

// decisiveCaptures is how many captures of a later series say that a leak is over. Fewer do
// not show a slow leak.
const decisiveCaptures = 5

// mostFleetSeries bounds the series of one family.
const mostFleetSeries = 20_000

// FleetSeries returns the series that showed a family since a time, and the title of the
// family, by host. There are at most twenty thousand, those that were seen last; cut is true
// if there are more.
func (s *Store) FleetSeries(ctx context.Context, fingerprint string, since time.Time) (family analysis.Family, out []FleetSeries, cut bool, err error) {
	var seq int64
	err = s.read(ctx, "reading a family over all hosts", func(tx *sql.Tx) error {
		out, err = collect(ctx, tx, func(rows *sql.Rows) (x FleetSeries, err error) {
			var first, last, numbered int64
			var summarised bool
			if err := rows.Scan(&numbered, &x.Host, &x.Process, &x.CaseID, &first, &last, &x.Growth, &x.LastCount, &x.Version, &x.Verdict, &x.Recovered, &x.Benign, &summarised, &x.Decisive); err != nil {
				return x, err
			}
			seq = max(seq, numbered)
			x.First, x.Last = fromMicros(first), fromMicros(last)
			if x.Verdict == "" && summarised && x.Growth <= 0 && x.Last.After(x.First) {
				x.Verdict = string(analysis.Stable)
			}
			return x, nil
		}, fleetSeriesSQL, fingerprint, since.UnixMicro(), mostFleetSeries+1, decisiveCaptures-1)
		if err != nil || len(out) == 0 {
			return err
		}
		l := newLoader(tx)
		if err := l.loadFamilies(ctx, []int64{seq}); err != nil {
			return err
		}
		family = *l.families[seq].family
		return nil
	})
	if cut = len(out) > mostFleetSeries; cut {
		out = out[:mostFleetSeries]
	}
	slices.SortStableFunc(out, func(a, b FleetSeries) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Process, b.Process), a.First.Compare(b.First))
	})
	return family, out, cut, err
}

// The rows are chosen before more is read of them.
const fleetSeriesSQL = `
WITH chosen AS MATERIALIZED (
    SELECT p.*
    FROM family_span p
    CROSS JOIN cases c ON c.seq = p.case_seq
    WHERE p.fingerprint = ?1 AND p.last >= ?2 AND c.deleting = '' AND c.sample = ''
    ORDER BY p.last DESC, p.series_seq
    LIMIT ?3
)
SELECT p.family_seq, p.host, r.process, c.id, p.first, p.last, ` + growthSQL + `, p.last_count, p.version, coalesce(e.verdict, ''), coalesce(e.recovered, 0),
       EXISTS (SELECT 1 FROM benign b WHERE b.process = r.process AND b.fingerprint = p.fingerprint), c.summarised,
       EXISTS (SELECT 1 FROM snapshot s JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation WHERE s.series_seq = r.seq LIMIT 1 OFFSET ?4)
FROM chosen p
CROSS JOIN series r ON r.seq = p.series_seq
CROSS JOIN cases c ON c.seq = p.case_seq
LEFT JOIN series_ending e ON e.fingerprint = p.fingerprint AND e.series_seq = p.series_seq
ORDER BY p.last DESC, p.series_seq`

// familySpans are first and last sights, as rows of family_span.
type familySpans map[spanKey]familySpan

type spanKey struct{ family, series int64 }

type familySpan struct {
	first, last, firstCount, lastCount int64
	version                            string
}

// add adds a sight. One without a time adds nothing. Of two at the same time the larger
// count holds.
func (s familySpans) add(key spanKey, captured sql.NullInt64, count int, version string) {
	if !captured.Valid {
		return
	}
	at, n := captured.Int64, int64(count)
	span, known := s[key]
	if !known {
		s[key] = familySpan{at, at, n, n, version}
		return
	}
	if at < span.first || at == span.first && n > span.firstCount {
		span.first, span.firstCount = at, n
	}
	if at > span.last || at == span.last && n > span.lastCount {
		span.last, span.lastCount, span.version = at, n, version
	}
	s[key] = span
}

// write adds the sights to family_span, in the order of families and series.
func (s familySpans) write(ctx context.Context, tx *sql.Tx) error {
	if len(s) == 0 {
		return nil
	}
	add, err := tx.PrepareContext(ctx, addSpanSQL)
	if err != nil {
		return err
	}
	defer add.Close()
	keys := slices.SortedFunc(maps.Keys(s), func(a, b spanKey) int {
		return cmp.Or(cmp.Compare(a.family, b.family), cmp.Compare(a.series, b.series))
	})
	for _, k := range keys {
		x := s[k]
		if _, err := add.ExecContext(ctx, k.family, k.series, x.first, x.last, x.firstCount, x.lastCount, x.version); err != nil {
			return err
		}
	}
	return nil
}

const addSpanSQL = `
INSERT INTO family_span (fingerprint, host, series_seq, case_seq, family_seq, first, last, first_count, last_count, version)
SELECT f.fingerprint, r.host, r.seq, r.case_seq, f.seq, ?3, ?4, ?5, ?6, ?7
FROM family f
CROSS JOIN series r
WHERE f.seq = ?1 AND r.seq = ?2
ON CONFLICT (fingerprint, host, series_seq) DO UPDATE SET
    first_count = CASE WHEN excluded.first < family_span.first THEN excluded.first_count
                       WHEN excluded.first = family_span.first AND excluded.first_count > family_span.first_count THEN excluded.first_count
                       ELSE family_span.first_count END,
    first = CASE WHEN excluded.first < family_span.first THEN excluded.first ELSE family_span.first END,
    last_count = CASE WHEN excluded.last > family_span.last THEN excluded.last_count
                      WHEN excluded.last = family_span.last AND excluded.last_count > family_span.last_count THEN excluded.last_count
                      ELSE family_span.last_count END,
    version = CASE WHEN excluded.last >= family_span.last THEN excluded.version ELSE family_span.version END,
    family_seq = CASE WHEN excluded.last >= family_span.last THEN excluded.family_seq ELSE family_span.family_seq END,
    last = CASE WHEN excluded.last > family_span.last THEN excluded.last ELSE family_span.last END`

// spanAgain recomputes the rows of family_span of the series of these days from family_seen,
// and from the snapshots that show a family first or last. It skips damaged ones.
func spanAgain(ctx context.Context, tx *sql.Tx, days []seriesDay) error {
	var p packer
	defer p.close()
	done := map[int64]bool{}
	for _, d := range days {
		if done[d.series] {
			continue
		}
		done[d.series] = true
		if err := spanSeriesAgain(ctx, tx, &p, d.series); err != nil {
			return err
		}
	}
	return nil
}

func spanSeriesAgain(ctx context.Context, tx *sql.Tx, p *packer, series int64) error {
	if _, err := tx.ExecContext(ctx, forgetSpansSQL, series); err != nil {
		return err
	}
	spans, err := spansOf(ctx, tx, p, series)
	if err != nil {
		return err
	}
	return spans.write(ctx, tx)
}

// spansOf computes the spans of a series from family_seen and from the snapshots that show a
// family first or last. It skips damaged ones.
func spansOf(ctx context.Context, tx *sql.Tx, p *packer, series int64) (familySpans, error) {
	ends := map[int64]bool{}
	_, err := collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
		var first, last int64
		err = rows.Scan(&first, &last)
		ends[first], ends[last] = true, true
		return none, err
	}, endsOfSeriesSQL, series)
	if err != nil {
		return nil, err
	}
	spans := familySpans{}
	for _, at := range slices.Sorted(maps.Keys(ends)) {
		_, err := collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
			var head, facts sql.RawBytes
			if err := rows.Scan(&head, &facts); err != nil {
				return none, err
			}
			spans.addFacts(p, series, at, head, facts)
			return none, nil
		}, snapshotsAtSQL, series, at)
		if err != nil {
			return nil, err
		}
	}
	return spans, nil
}

// addFacts adds the facts of a snapshot. It adds nothing for damaged facts.
func (s familySpans) addFacts(p *packer, series, at int64, head, facts []byte) {
	version := ""
	if snap, _, err := unpackHead(p, "", "", head); err == nil {
		version = snap.Process.Release()
	}
	seen := seenSums{}
	captured := sql.NullInt64{Int64: at, Valid: true}
	if seen.addFacts(p, series, captured, facts) != nil {
		return
	}
	for k, sum := range seen {
		s.add(spanKey{k.family, series}, captured, int(sum.high), version)
	}
}

// The rows of objects are written with the summary of their case.
const forgetSpansSQL = `
DELETE FROM family_span WHERE series_seq = ? AND (fingerprint < 'o' OR fingerprint >= 'p')`

const endsOfSeriesSQL = `
SELECT min(first), max(last)
FROM family_seen
WHERE series_seq = ? AND first IS NOT NULL
GROUP BY family_seq`

const snapshotsAtSQL = `
SELECT s.head, s.facts
FROM snapshot s
JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation
WHERE s.series_seq = ? AND s.captured_at = ?`
