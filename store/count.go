package store

import "context"

// PermalinkCount returns the number of readable permalinks of a case.
func (s *Store) PermalinkCount(ctx context.Context, caseID string) (n int, err error) {
	err = s.reader.QueryRowContext(ctx, permalinkCountSQL, caseID, s.time().UnixMicro()).Scan(&n)
	return n, fault("counting permalinks", err)
}

const permalinkCountSQL = `
SELECT count(*)
FROM permalink p
JOIN cases c ON c.seq = p.case_seq
WHERE c.id = ? AND p.withdrawn_at IS NULL AND (p.expires_at IS NULL OR p.expires_at > ?)`
