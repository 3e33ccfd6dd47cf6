package store

import "context"

// CaseCount is the number of all cases.
func (s *Store) CaseCount(ctx context.Context) (n int, err error) {
	err = s.reader.QueryRowContext(ctx, caseCountSQL).Scan(&n)
	return n, fault("counting cases", err)
}

const caseCountSQL = `
SELECT count(*) FROM cases`

// PermalinkCount is the number of a case's permalinks that can still be read.
func (s *Store) PermalinkCount(ctx context.Context, caseID string) (n int, err error) {
	err = s.reader.QueryRowContext(ctx, permalinkCountSQL, caseID, s.time().UnixMicro()).Scan(&n)
	return n, fault("counting permalinks", err)
}

const permalinkCountSQL = `
SELECT count(*)
FROM permalink p
JOIN cases c ON c.seq = p.case_seq
WHERE c.id = ? AND p.withdrawn_at IS NULL AND (p.expires_at IS NULL OR p.expires_at > ?)`
