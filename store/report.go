package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
)

// CaseReport returns the stored report of a case and whether it exists for this revision and
// these versions. The store does not interpret it.
func (s *Store) CaseReport(ctx context.Context, caseID string, revision int64, madeWith string) (report []byte, found bool, err error) {
	var packed []byte
	err = s.reader.QueryRowContext(ctx, caseReportSQL, caseID, revision, madeWith).Scan(&packed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err == nil {
		var p packer
		defer p.close()
		report, err = p.unseal(packed, nil)
	}
	return report, err == nil, fault("reading a report", err)
}

const caseReportSQL = `
SELECT r.report
FROM case_report r
JOIN cases c ON c.seq = r.case_seq
WHERE c.id = ? AND c.revision = ? AND r.made_with = ?`

// StoredJudgements are the judgements of the series of a case, by the key of their input.
// All are the current keys, New the values to add.
type StoredJudgements struct {
	All []string
	New map[string][]byte
}

// KeepCaseReport stores the report of a case at a revision, and the judgements of its
// series. It does nothing if the case has another revision by now or is deleted, so that a
// stored report is never stale.
func (s *Store) KeepCaseReport(ctx context.Context, caseID string, revision int64, madeWith string, report []byte, series StoredJudgements) error {
	var p packer
	defer p.close()
	packed, err := p.seal(report)
	if err != nil {
		return err
	}
	judgements := make(map[string][]byte, len(series.New))
	for key, value := range series.New {
		if judgements[key], err = p.seal(value); err != nil {
			return err
		}
	}
	all, err := json.Marshal(append([]string{}, series.All...))
	if err != nil {
		return err
	}
	return s.write(ctx, "keeping a report", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, keepCaseReportSQL, caseID, revision, madeWith, packed)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return err
		}
		if _, err := tx.ExecContext(ctx, forgetJudgementsSQL, caseID, string(all)); err != nil {
			return err
		}
		for key, value := range judgements {
			if _, err := tx.ExecContext(ctx, keepJudgementSQL, caseID, key, value); err != nil {
				return err
			}
		}
		return nil
	})
}

const keepCaseReportSQL = `
INSERT INTO case_report (case_seq, made_with, report)
SELECT seq, ?3, ?4 FROM cases WHERE id = ?1 AND revision = ?2 AND deleting = ''
ON CONFLICT (case_seq) DO UPDATE SET made_with = excluded.made_with, report = excluded.report`

const forgetJudgementsSQL = `
DELETE FROM series_judgement
WHERE case_seq = (SELECT seq FROM cases WHERE id = ?1)
  AND made_of NOT IN (SELECT value FROM json_each(?2))`

const keepJudgementSQL = `
INSERT INTO series_judgement (case_seq, made_of, judgement)
SELECT seq, ?2, ?3 FROM cases WHERE id = ?1
ON CONFLICT (case_seq, made_of) DO UPDATE SET judgement = excluded.judgement`

// SeriesJudgement returns the stored judgement of a series of a case and whether it exists
// for this input.
func (s *Store) SeriesJudgement(ctx context.Context, caseID, madeOf string) (judgement []byte, found bool, err error) {
	var packed []byte
	err = s.reader.QueryRowContext(ctx, seriesJudgementSQL, caseID, madeOf).Scan(&packed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err == nil {
		var p packer
		defer p.close()
		judgement, err = p.unseal(packed, nil)
	}
	return judgement, err == nil, fault("reading a judgement", err)
}

const seriesJudgementSQL = `
SELECT j.judgement
FROM series_judgement j
JOIN cases c ON c.seq = j.case_seq
WHERE c.id = ? AND j.made_of = ?`
