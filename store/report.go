package store

import (
	"context"
	"database/sql"
	"errors"
)

// CaseReport returns what was said of a case, if it is of this revision and was made with
// these versions, and whether there is such a report. The store does not look into it.
func (s *Store) CaseReport(ctx context.Context, caseID string, revision int64, madeWith string) (report []byte, found bool, err error) {
	var packed []byte
	err = s.reader.QueryRowContext(ctx, caseReportSQL, caseID, revision, madeWith).Scan(&packed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err == nil {
		var p packer
		defer p.close()
		report, err = p.unpack(packed, nil)
	}
	return report, err == nil, fault("reading a report", err)
}

const caseReportSQL = `
SELECT r.report
FROM case_report r
JOIN cases c ON c.seq = r.case_seq
WHERE c.id = ? AND c.revision = ? AND r.made_with = ?`

// KeepCaseReport stores what is said of a case at a revision. It does nothing where the
// case has another revision by now, or is gone: a report that is there is never stale.
func (s *Store) KeepCaseReport(ctx context.Context, caseID string, revision int64, madeWith string, report []byte) error {
	var p packer
	defer p.close()
	packed, err := p.pack(report)
	if err != nil {
		return err
	}
	_, err = s.writer.ExecContext(ctx, keepCaseReportSQL, caseID, revision, madeWith, packed)
	return s.orFull(fault("keeping a report", err))
}

const keepCaseReportSQL = `
INSERT OR REPLACE INTO case_report (case_seq, made_with, report)
SELECT seq, ?3, ?4 FROM cases WHERE id = ?1 AND revision = ?2 AND deleting = ''`
