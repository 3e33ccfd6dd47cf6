package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
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
		families, err := collect(ctx, tx, scanOne[int64], familyRowsSQL, fingerprint)
		if err != nil || len(families) == 0 {
			return err
		}
		c := course{families: families, p: &packer{}, best: map[shown]*seenSnapshot{}}
		defer c.p.close()
		if _, err = collect(ctx, tx, c.scan, familySnapshotsSQL, listOf(families)); err != nil {
			return err
		}
		out = c.sightings(max(limit, 0))
		return nil
	})
	return out, err
}

const familyRowsSQL = `
SELECT seq FROM family WHERE fingerprint = ?`

const familySnapshotsSQL = `
SELECT c.seq, c.created_at, c.id, c.title, v.bundle_seq, v.place, v.id, v.label, v.captured_at, v.host, v.process, s.facts
FROM visible_snapshot v
JOIN snapshot s ON s.seq = v.seq
JOIN cases c ON c.seq = v.case_seq
WHERE v.bundle_seq IN (
    SELECT fb.bundle_seq FROM family_bundle fb WHERE fb.family_seq IN (SELECT value FROM json_each(?)))
ORDER BY v.seq`

// A course gathers the snapshots that show a family.
type course struct {
	families []int64
	p        *packer
	texts    textTable
	room     []byte
	g        groupFacts
	best     map[shown]*seenSnapshot
}

// shown is a snapshot in a case, in whichever of its bundles.
type shown struct {
	caseSeq  int64
	snapshot string
}

// A seenSnapshot is a sighting with what orders it.
type seenSnapshot struct {
	Sighting
	caseSeq, created, bundle, place int64
}

func (c *course) scan(rows *sql.Rows) (none struct{}, err error) {
	x := &seenSnapshot{}
	var captured sql.NullInt64
	var facts sql.RawBytes
	err = rows.Scan(&x.caseSeq, &x.created, &x.CaseID, &x.CaseTitle, &x.bundle, &x.place, &x.SnapshotID, &x.Label, &captured, &x.Host, &x.Process, &facts)
	if err != nil {
		return none, err
	}
	x.CapturedAt = timeOrZero(captured)
	count, seen, err := c.count(facts)
	if err != nil || !seen {
		return none, err
	}
	x.Count = count
	key := shown{x.caseSeq, x.SnapshotID}
	if known := c.best[key]; known == nil || known.Count < count {
		c.best[key] = x
	}
	return none, nil
}

// count is the largest count that facts have of the families, and whether they have any.
func (c *course) count(blob []byte) (count int, seen bool, err error) {
	r, room, err := openFacts(c.p, &c.texts, blob, c.room)
	if err != nil {
		return 0, false, err
	}
	if blob[0] == sealedZstd {
		c.room = room
	}
	for r.next(&c.g) {
		if !slices.Contains(c.families, c.g.family) {
			continue
		}
		if !seen || c.g.count > count {
			count = c.g.count
		}
		seen = true
	}
	return count, seen, r.done()
}

// latest orders by time, what has none last, then as the snapshots came.
func latest(a, b *seenSnapshot) int {
	switch {
	case a.CapturedAt.IsZero() == b.CapturedAt.IsZero():
		return b.CapturedAt.Compare(a.CapturedAt)
	case a.CapturedAt.IsZero():
		return 1
	}
	return -1
}

func inBundles(a, b *seenSnapshot) int {
	return cmp.Or(cmp.Compare(a.bundle, b.bundle), cmp.Compare(a.place, b.place))
}

func (c *course) sightings(limit int) (out Sightings) {
	type place struct {
		caseSeq int64
		process string
	}
	places, cases := map[place][]*seenSnapshot{}, map[int64]bool{}
	for _, x := range c.best {
		at := place{x.caseSeq, x.Process}
		places[at], cases[x.caseSeq] = append(places[at], x), true
	}
	out.Places, out.Cases = len(places), len(cases)
	var list []*seenSnapshot
	for _, at := range places {
		highest := slices.MaxFunc(at, func(a, b *seenSnapshot) int { return cmp.Compare(a.Count, b.Count) }).Count
		slices.SortFunc(at, func(a, b *seenSnapshot) int { return cmp.Or(latest(a, b), inBundles(a, b)) })
		for _, x := range at[:min(len(at), mostCourse)] {
			x.Highest = highest
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b *seenSnapshot) int {
		return cmp.Or(latest(a, b), cmp.Compare(b.created, a.created), inBundles(a, b))
	})
	for _, x := range list[:min(len(list), limit)] {
		out.List = append(out.List, x.Sighting)
	}
	return out
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
