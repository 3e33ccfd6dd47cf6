package store

import (
	"context"
	"database/sql"

	"leakdiff/analysis"
)

// Mark is the triage of a family of a process by a user.
type Mark struct {
	Process, Fingerprint string
	analysis.Triage
	// Replaced is the previous mark, in words.
	Replaced string
}

// Marks returns the marks of a case, and the remembered benign families of its processes. A
// mark of the case precedes a remembered one of the same family.
func (s *Store) Marks(ctx context.Context, caseID string) (out []Mark, err error) {
	err = s.read(ctx, "reading triage", func(tx *sql.Tx) error {
		out, err = collect(ctx, tx, scanMark, marksSQL, caseID)
		return err
	})
	return out, err
}

// The processes of a case come from its series: it may have thousands of snapshots.
const marksSQL = `
SELECT t.process, t.fingerprint, t.state, t.note, t.outcome, t.edited_at, 0 AS remembered, t.replaced
FROM triage t
JOIN cases c ON c.seq = t.case_seq
WHERE c.id = ?1
UNION ALL
SELECT b.process, b.fingerprint, 'benign', b.reason, '', b.edited_at, 1, ''
FROM benign b
WHERE b.process IN (
        SELECT r.process FROM series r JOIN cases c ON c.seq = r.case_seq WHERE c.id = ?1
        UNION
        SELECT e.value FROM edit e JOIN cases c ON c.seq = e.case_seq WHERE c.id = ?1 AND e.undone_at IS NULL)
  AND NOT EXISTS (
        SELECT 1 FROM triage t JOIN cases c ON c.seq = t.case_seq
        WHERE c.id = ?1 AND t.process = b.process AND t.fingerprint = b.fingerprint)
ORDER BY remembered, 1, 2`

func scanMark(rows *sql.Rows) (m Mark, err error) {
	var at int64
	err = rows.Scan(&m.Process, &m.Fingerprint, &m.State, &m.Note, &m.Outcome, &at, &m.Remembered, &m.Replaced)
	m.At = fromMicros(at)
	return m, err
}

// SetMark stores a mark of a family in a case and returns the previous one, remembered or
// not. A benign mark applies to every process of the name until another state revokes it.
// The error is an *analysis.Fault with Code "not_found" for a missing case, "invalid" for an
// incomplete mark.
func (s *Store) SetMark(ctx context.Context, caseID string, m Mark) (before Mark, err error) {
	if err := m.Check(); err != nil {
		return Mark{}, err
	}
	now := s.time().UnixMicro()
	err = s.write(ctx, "keeping triage", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, touchCaseSQL, now, caseID)
		if err := affected(result, err, notFound("case", caseID)); err != nil {
			return err
		}
		found, err := collect(ctx, tx, scanMark, markSQL, caseID, m.Process, m.Fingerprint)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			before = found[0]
		}
		if _, err := tx.ExecContext(ctx, setMarkSQL, caseID, m.Process, m.Fingerprint, string(m.State), m.Note, m.Outcome, now, before.Words()); err != nil {
			return err
		}
		if err := reviseNamed(ctx, tx, caseID); err != nil {
			return err
		}
		changed, err := setBenign(ctx, tx, m, before, now)
		if err == nil && changed {
			// The mark also changes the family in the summaries of other cases.
			_, err = tx.ExecContext(ctx, staleSummariesSQL, m.Process, m.Fingerprint)
		}
		return err
	})
	return before, err
}

// setBenign remembers a benign family for every case, or removes it if the replaced mark was
// benign; marks of other kinds were never remembered. It reports whether the remembered
// state has changed.
func setBenign(ctx context.Context, tx *sql.Tx, m, before Mark, now int64) (changed bool, err error) {
	if m.State != analysis.Benign && before.State != analysis.Benign {
		return false, nil
	}
	query, args := forgetBenignSQL, []any{m.Process, m.Fingerprint}
	if m.State == analysis.Benign {
		query, args = rememberBenignSQL, append(args, m.Note, now)
	}
	n, err := rowsOf(tx.ExecContext(ctx, query, args...))
	if err == nil && n == 0 && m.State == analysis.Benign {
		_, err = tx.ExecContext(ctx, rewordBenignSQL, args...)
	}
	if err == nil {
		err = reviseFound(ctx, tx, casesShowingSQL, m.Fingerprint)
	}
	return n > 0, err
}

// A benign mark affects the report of every case with the family.
const casesShowingSQL = `
SELECT DISTINCT fs.case_seq
FROM family f
JOIN family_seen fs ON fs.family_seq = f.seq
WHERE f.fingerprint = ?`

const markSQL = `
SELECT process, fingerprint, state, note, outcome, edited_at, remembered, replaced FROM (` + marksSQL + `) mark
WHERE process = ?2 AND fingerprint = ?3`

const setMarkSQL = `
INSERT INTO triage (case_seq, process, fingerprint, state, note, outcome, edited_at, replaced)
SELECT seq, ?2, ?3, ?4, ?5, ?6, ?7, ?8 FROM cases WHERE id = ?1
ON CONFLICT (case_seq, process, fingerprint) DO UPDATE SET
    state = excluded.state, note = excluded.note, outcome = excluded.outcome, edited_at = excluded.edited_at, replaced = excluded.replaced`

const rememberBenignSQL = `
INSERT INTO benign (process, fingerprint, reason, edited_at) VALUES (?, ?, ?, ?)
ON CONFLICT (process, fingerprint) DO NOTHING`

const rewordBenignSQL = `
UPDATE benign SET reason = ?3, edited_at = ?4 WHERE process = ?1 AND fingerprint = ?2`

const staleSummariesSQL = `
UPDATE cases SET summarised = 0
WHERE seq IN (SELECT e.case_seq FROM ending e WHERE e.process = ? AND e.fingerprint = ?)`

const forgetBenignSQL = `
DELETE FROM benign WHERE process = ? AND fingerprint = ?`

// Memory is a mark of a family in one case.
type Memory struct {
	CaseID, CaseTitle string
	Mark
}

// Memories returns the marks of a family in all cases, newest first, and the processes in
// which it is benign although the marked case was deleted: at most limit of them, and the
// total number.
func (s *Store) Memories(ctx context.Context, fingerprint string, limit int) (out []Memory, total int, err error) {
	err = s.read(ctx, "reading what was said of a family", func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, countMemoriesSQL, fingerprint).Scan(&total); err != nil {
			return err
		}
		out, err = collect(ctx, tx, scanMemory, memoriesSQL, fingerprint, max(limit, 0))
		return err
	})
	return out, total, err
}

const allMemoriesSQL = `
SELECT c.id, c.title, t.process, t.fingerprint, t.state, t.note, t.outcome, t.edited_at
FROM triage t
JOIN cases c ON c.seq = t.case_seq
WHERE c.deleting = '' AND t.fingerprint = ?1 AND (t.state <> '' OR t.note <> '' OR t.outcome <> '')
UNION ALL
SELECT '', '', b.process, b.fingerprint, 'benign', b.reason, '', b.edited_at
FROM benign b
WHERE b.fingerprint = ?1 AND NOT EXISTS (
    SELECT 1 FROM triage t WHERE t.fingerprint = ?1 AND t.process = b.process AND t.state = 'benign')`

const memoriesSQL = allMemoriesSQL + `
ORDER BY 8 DESC, 1
LIMIT ?2`

const countMemoriesSQL = `
SELECT count(*) FROM (` + allMemoriesSQL + `) remembered`

func scanMemory(rows *sql.Rows) (m Memory, err error) {
	var at int64
	err = rows.Scan(&m.CaseID, &m.CaseTitle, &m.Process, &m.Fingerprint, &m.State, &m.Note, &m.Outcome, &at)
	m.At = fromMicros(at)
	return m, err
}
