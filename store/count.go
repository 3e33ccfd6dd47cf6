package store

import "context"

// CaseCount is the number of all cases.
func (s *Store) CaseCount(ctx context.Context) (n int, err error) {
	err = s.reader.QueryRowContext(ctx, caseCountSQL).Scan(&n)
	return n, fault("counting cases", err)
}

const caseCountSQL = `
SELECT count(*) FROM cases`
