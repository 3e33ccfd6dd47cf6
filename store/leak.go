package store

import (
	"context"
	"database/sql"
	"time"
)

// Leak is what leaks in one process of a case.
type Leak struct {
	CaseID, Title, Process, Host string
	// Families counts those that leak and that no person called benign, types of objects too.
	Families int
	// First is the first capture that shows one of them, Last the last one.
	First, Last time.Time
}

// LeakQuery chooses leaks. Captures that ended before Since or began after Until are left out.
type LeakQuery struct {
	Since, Until time.Time
	// Recovered also chooses families whose leak ended within the captures.
	Recovered bool
	Limit     int
}

// Leaks returns the processes of cases in which a family leaks, those that were captured last
// first. Captures without a time, archived cases and samples are left out. total counts those
// beyond the limit as well.
func (s *Store) Leaks(ctx context.Context, q LeakQuery) (out []Leak, total int, err error) {
	err = s.read(ctx, "listing what leaks", func(tx *sql.Tx) error {
		out, err = collect(ctx, tx, func(rows *sql.Rows) (l Leak, err error) {
			var first, last int64
			err = rows.Scan(&l.CaseID, &l.Title, &l.Process, &l.Host, &l.Families, &first, &last, &total)
			l.First, l.Last = fromMicros(first), fromMicros(last)
			return l, err
		}, leaksSQL, q.Since.UnixMicro(), q.Until.UnixMicro(), q.Limit, q.Recovered)
		return err
	})
	return out, total, err
}

const leaksSQL = `
SELECT c.id, c.title, r.process, r.host, count(*), min(p.first), max(p.last), count(*) OVER ()
FROM series_ending e
CROSS JOIN series r ON r.seq = e.series_seq
CROSS JOIN cases c ON c.seq = r.case_seq
CROSS JOIN family_span p ON p.fingerprint = e.fingerprint AND p.host = r.host AND p.series_seq = r.seq
WHERE e.verdict = 'leaking' AND e.recovered <= ?4 AND c.deleting = '' AND c.sample = '' AND p.last >= ?1 AND p.first <= ?2
  AND NOT EXISTS (SELECT 1 FROM benign b WHERE b.process = r.process AND b.fingerprint = e.fingerprint)
  AND NOT EXISTS (SELECT 1 FROM case_field f WHERE f.case_seq = c.seq AND f.field = 'archived' AND f.value <> '')
GROUP BY c.id, c.title, r.process, r.host
ORDER BY max(p.last) DESC, c.id, r.process, r.host
LIMIT ?3`
