package store

import (
	"context"
	"database/sql"
	"encoding/json"
)

// CaseOnHost is a case with captures of a process on a host.
type CaseOnHost struct {
	ID, Host, Process string
	// Noted reports that it has an edit with the note that was asked for.
	Noted bool
}

// mostOnHosts bounds the rows of CasesOnHosts.
const mostOnHosts = 200

// CasesOnHosts returns the cases with captures from any of these hosts, at most 200: those
// first that have an edit with this note, then those with the newest captures. Case does not
// matter in names.
func (s *Store) CasesOnHosts(ctx context.Context, hosts []string, note string) (out []CaseOnHost, err error) {
	names := make([]string, len(hosts))
	for i, host := range hosts {
		names[i] = s.engine.lower(host)
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, "looking for the cases of a host", func(tx *sql.Tx) error {
		out, err = collect(ctx, tx, func(rows *sql.Rows) (c CaseOnHost, err error) {
			err = rows.Scan(&c.ID, &c.Host, &c.Process, &c.Noted)
			return c, err
		}, casesOnHostsSQL, string(list), note, mostOnHosts)
		return err
	})
	return out, err
}

const casesOnHostsSQL = `
SELECT c.id, r.host, r.process, EXISTS (SELECT 1 FROM edit e WHERE e.case_seq = c.seq AND e.note = ?2) AS noted
FROM series r
JOIN cases c ON c.seq = r.case_seq
JOIN snapshot s ON s.series_seq = r.seq
JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation
WHERE c.deleting = '' AND r.host <> '' AND unicode_lower(r.host) IN (SELECT value FROM json_each(?1))
GROUP BY c.seq, c.id, r.host, r.process
ORDER BY noted DESC, max(b.seq) DESC, r.process
LIMIT ?3`
