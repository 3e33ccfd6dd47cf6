package store

import (
	"context"
	"database/sql"
)

// revise raises the revision of a case. Each transaction calls it that adds, changes or
// removes what the report of the case is made of: its bundles, edits and marks. The stored
// report is one of an older revision then, and goes. See thin for what leaves the report.
func revise(ctx context.Context, tx *sql.Tx, caseSeq int64) error {
	if _, err := tx.ExecContext(ctx, reviseSQL, caseSeq); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, forgetReportSQL, caseSeq)
	return err
}

const reviseSQL = `
UPDATE cases SET revision = revision + 1 WHERE seq = ?`

const forgetReportSQL = `
DELETE FROM case_report WHERE case_seq = ?`

// reviseNamed is revise for the id of a case, and does nothing for one that is missing.
func reviseNamed(ctx context.Context, tx *sql.Tx, caseID string) error {
	return reviseFound(ctx, tx, caseNamedSQL, caseID)
}

const caseNamedSQL = `
SELECT seq FROM cases WHERE id = ?`

// reviseFound revises the cases of a query, or of the rows that an update returns.
func reviseFound(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	found, err := collect(ctx, tx, scanOne[int64], query, args...)
	if err != nil {
		return err
	}
	for _, seq := range found {
		if err := revise(ctx, tx, seq); err != nil {
			return err
		}
	}
	return nil
}
