package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"
)

// Sighting is one snapshot of one case with a family.
type Sighting struct {
	CaseID, CaseTitle string
	SnapshotID, Label string
	// CapturedAt is zero if only the order is known.
	CapturedAt    time.Time
	Host, Process string
	// Highest is the largest Count of the process in the case.
	Count, Highest int
}

// Sightings lists the sightings of a family.
type Sightings struct {
	List []Sighting
	// Cases and Places count all cases and all processes in them, listed or not.
	Cases, Places int
}

// mostCourse bounds the listed sightings of one process in one case.
const mostCourse = 100

// FamilySightings returns the sightings of a family, latest capture first, those without a
// time last: at most limit snapshots, and the latest hundred of one process in a case. A
// snapshot in several bundles of a case counts once.
func (s *Store) FamilySightings(ctx context.Context, fingerprint string, limit int) (out Sightings, err error) {
	err = s.read(ctx, "looking for a family", func(tx *sql.Tx) error {
		families, err := collect(ctx, tx, scanOne[int64], familyRowsSQL, fingerprint)
		if err != nil || len(families) == 0 {
			return err
		}
		days, err := collect(ctx, tx, scanSeenDay, seenDaysSQL, listOf(families))
		if err != nil {
			return err
		}
		c := course{tx: tx, families: families, p: &packer{}, places: map[place]*placeCourse{}, best: map[shown]*seenSnapshot{}}
		defer c.p.close()
		out.Places, out.Cases = c.measure(days)
		out.List, err = c.sightings(ctx, days, max(limit, 0))
		return err
	})
	return out, err
}

const familyRowsSQL = `
SELECT seq FROM family WHERE fingerprint = ?`

// The query skips cases that are being deleted. It sorts rows like sightings as far as a
// day's sums allow: no snapshot of a row is later than its last one.
const seenDaysSQL = `
SELECT fs.case_seq, r.process, fs.series_seq, fs.day, max(fs.last), max(fs.high), c.created_at
FROM family_seen fs
CROSS JOIN series r ON r.seq = fs.series_seq
CROSS JOIN cases c ON c.seq = fs.case_seq
WHERE fs.family_seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) AND c.deleting = ''
GROUP BY fs.case_seq, r.process, fs.series_seq, fs.day, c.created_at
ORDER BY max(fs.last) IS NULL, max(fs.last) DESC, c.created_at DESC, fs.case_seq, r.process`

// A seenDay is a series on a day with a family.
type seenDay struct {
	place
	seriesDay
	last          sql.NullInt64
	high, created int64
}

// A place is a process in a case, on any host.
type place struct {
	caseSeq int64
	process string
}

func scanSeenDay(rows *sql.Rows) (d seenDay, err error) {
	return d, rows.Scan(&d.caseSeq, &d.process, &d.series, &d.day, &d.last, &d.high, &d.created)
}

// A course collects the snapshots with a family.
type course struct {
	tx       *sql.Tx
	families []int64
	p        *packer
	facts    factReader
	places   map[place]*placeCourse
	best     map[shown]*seenSnapshot
}

// A placeCourse is the state of one place.
type placeCourse struct {
	highest int
	found   []*seenSnapshot
}

// shown identifies a snapshot in a case, in any bundle.
type shown struct {
	caseSeq  int64
	snapshot string
}

// A seenSnapshot is a sighting with its sort keys.
type seenSnapshot struct {
	Sighting
	place
	created, bundle, at int64
}

// measure counts places and cases, and finds the largest count in each place.
func (c *course) measure(days []seenDay) (places, cases int) {
	inCases := map[int64]bool{}
	for _, d := range days {
		at := c.places[d.place]
		if at == nil {
			at = &placeCourse{highest: int(d.high)}
			c.places[d.place] = at
		}
		at.highest = max(at.highest, int(d.high))
		inCases[d.caseSeq] = true
	}
	return len(c.places), len(inCases)
}

// sightings reads days until no later day can change the first limit sightings.
func (c *course) sightings(ctx context.Context, days []seenDay, limit int) (out []Sighting, err error) {
	for n := 1; len(days) > 0; n = min(2*n, mostDays) {
		if len(c.best) >= limit && c.laterThan(&days[0]) >= limit {
			break
		}
		next := days[:min(n, len(days))]
		days = days[len(next):]
		wanted := make([]*seenDay, 0, len(next))
		for i := range next {
			if at := c.places[next[i].place]; len(at.found) < mostCourse || laterThan(at.found, &next[i]) < mostCourse {
				wanted = append(wanted, &next[i])
			}
		}
		if err := c.read(ctx, wanted); err != nil {
			return nil, err
		}
	}
	var list []*seenSnapshot
	for _, at := range c.places {
		list = append(list, at.latest()...)
	}
	slices.SortFunc(list, func(a, b *seenSnapshot) int {
		return cmp.Or(latest(a, b), cmp.Compare(b.created, a.created), inBundles(a, b))
	})
	for _, x := range list[:min(len(list), limit)] {
		x.Highest = c.places[x.place].highest
		out = append(out, x.Sighting)
	}
	return out, nil
}

// mostDays is the number of days in one query.
const mostDays = 256

// latest returns the latest hundred sightings of a place.
func (at *placeCourse) latest() []*seenSnapshot {
	slices.SortFunc(at.found, func(a, b *seenSnapshot) int { return cmp.Or(latest(a, b), inBundles(a, b)) })
	return at.found[:min(len(at.found), mostCourse)]
}

// laterThan counts the sightings that sort before all of a day.
func (c *course) laterThan(d *seenDay) (n int) {
	for _, at := range c.places {
		n += min(laterThan(at.found, d), mostCourse)
	}
	return n
}

func laterThan(found []*seenSnapshot, d *seenDay) (n int) {
	for _, x := range found {
		switch {
		case x.CapturedAt.IsZero():
			if !d.last.Valid && x.created > d.created {
				n++
			}
		case !d.last.Valid || x.CapturedAt.UnixMicro() > d.last.Int64:
			n++
		}
	}
	return n
}

// read loads the snapshots of some days.
func (c *course) read(ctx context.Context, days []*seenDay) error {
	list := make([][4]*int64, len(days))
	for i, d := range days {
		list[i][0], list[i][3] = &d.series, new(int64(i))
		if from, to := d.bounds(); from.Valid {
			list[i][1], list[i][2] = &from.Int64, &to.Int64
		}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	_, err = collect(ctx, c.tx, func(rows *sql.Rows) (none struct{}, err error) {
		var captured sql.NullInt64
		var facts sql.RawBytes
		var at int
		x := &seenSnapshot{}
		err = rows.Scan(&at, &x.CaseID, &x.CaseTitle, &x.bundle, &x.at, &x.SnapshotID, &x.Label, &captured, &x.Host, &x.Process, &facts)
		if err != nil {
			return none, err
		}
		x.place, x.created, x.CapturedAt = days[at].place, days[at].created, timeOrZero(captured)
		count, seen, err := c.count(facts)
		if err == nil && seen {
			x.Count = count
			c.keep(x)
		}
		return none, nil // family_seen does not count damaged snapshots
	}, snapshotsOfDaysSQL, string(text))
	return err
}

// keep adds a snapshot, but only once if several bundles contain it.
func (c *course) keep(x *seenSnapshot) {
	key := shown{x.caseSeq, x.SnapshotID}
	known := c.best[key]
	if known != nil && known.Count >= x.Count {
		return
	}
	c.best[key] = x
	at := c.places[x.place]
	if known == nil {
		at.found = append(at.found, x)
		return
	}
	of := c.places[known.place]
	of.found = slices.DeleteFunc(of.found, func(y *seenSnapshot) bool { return y == known })
	at.found = append(at.found, x)
}

const sightingColumns = `
SELECT CAST(list.value ->> 3 AS BIGINT), c.id, c.title, s.bundle_seq, s.place, s.id, s.label, s.captured_at, s.host, s.process, s.facts
FROM json_each(?1) list
CROSS JOIN snapshot s ON s.series_seq = CAST(list.value ->> 0 AS BIGINT)`

const ofVisible = `
CROSS JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation
CROSS JOIN cases c ON c.seq = b.case_seq`

const snapshotsOfDaysSQL = sightingColumns + `
    AND s.captured_at >= CAST(list.value ->> 1 AS BIGINT) AND s.captured_at < CAST(list.value ->> 2 AS BIGINT)` + ofVisible + `
UNION ALL` + sightingColumns + `
    AND s.captured_at IS NULL AND CAST(list.value ->> 1 AS BIGINT) IS NULL` + ofVisible + `
`

// count returns the largest count of the families in the facts, and whether they occur.
func (c *course) count(blob []byte) (count int, seen bool, err error) {
	for g := range c.facts.read(c.p, blob) {
		if !slices.Contains(c.families, g.family) {
			continue
		}
		if !seen || g.count > count {
			count = g.count
		}
		seen = true
	}
	return count, seen, c.facts.done()
}

// latest sorts by time, sightings without a time last.
func latest(a, b *seenSnapshot) int {
	switch {
	case a.CapturedAt.IsZero() == b.CapturedAt.IsZero():
		return b.CapturedAt.Compare(a.CapturedAt)
	case a.CapturedAt.IsZero():
		return 1
	}
	return -1
}

// inBundles sorts by upload.
func inBundles(a, b *seenSnapshot) int {
	return cmp.Or(cmp.Compare(a.bundle, b.bundle), cmp.Compare(a.at, b.at))
}

// FamilyCases returns the number of cases with a family.
func (s *Store) FamilyCases(ctx context.Context, fingerprint string) (n int, err error) {
	err = s.reader.QueryRowContext(ctx, familyCasesSQL, fingerprint).Scan(&n)
	return n, fault("looking for a family", err)
}

const familyCasesSQL = `
SELECT count(DISTINCT fs.case_seq)
FROM family f
CROSS JOIN family_seen fs ON fs.family_seq = f.seq
WHERE f.fingerprint = ? AND fs.case_seq NOT IN (SELECT seq FROM cases WHERE deleting <> '')`
