package store

import (
	"context"
	"database/sql"
	"fmt"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
)

// maxEdits bounds the edits of one case, because every view of the case applies all of them.
const maxEdits = 2000

// AddEdit stores an edit of a case's snapshots and returns it with its number and time. It
// is durable when AddEdit returns. The error is an *analysis.Fault with Code "not_found" for
// a missing case, "too_many" after 2000 edits.
func (s *Store) AddEdit(ctx context.Context, caseID string, e identity.Edit) (identity.Edit, error) {
	e.At, e.Undone = s.time(), false
	err := s.write(ctx, "keeping an edit", func(tx *sql.Tx) error { return addEdit(ctx, tx, caseID, &e) })
	if err != nil {
		return identity.Edit{}, err
	}
	return e, nil
}

// AddEditOnce is AddEdit unless the case has an edit of this kind with this note, undone or not.
// It returns that one then, and false.
func (s *Store) AddEditOnce(ctx context.Context, caseID string, e identity.Edit) (made identity.Edit, added bool, err error) {
	e.At, e.Undone = s.time(), false
	err = s.write(ctx, "keeping an edit", func(tx *sql.Tx) error {
		made, added = e, false
		same, err := collect(ctx, tx, scanEdit, sameEditSQL, caseID, string(e.Kind), e.Note)
		if err != nil {
			return err
		}
		if len(same) > 0 {
			made = same[0]
			return nil
		}
		added = true
		return addEdit(ctx, tx, caseID, &made)
	})
	if err != nil {
		return identity.Edit{}, false, err
	}
	return made, added, nil
}

const sameEditSQL = editColumns + `
WHERE c.id = ? AND e.kind = ? AND e.note = ?
ORDER BY e.number
LIMIT 1`

// addEdit gives an edit its number and writes it.
func addEdit(ctx context.Context, tx *sql.Tx, caseID string, e *identity.Edit) error {
	result, err := tx.ExecContext(ctx, touchCaseSQL, e.At.UnixMicro(), caseID)
	if err := affected(result, err, notFound("case", caseID)); err != nil {
		return err
	}
	if err := tx.QueryRowContext(ctx, nextEditSQL, caseID).Scan(&e.ID); err != nil {
		return err
	}
	if e.ID > maxEdits {
		return &analysis.Fault{
			Code: "too_many", What: "the case has too many edits", Where: caseID, Why: fmt.Sprintf("the limit is %d", maxEdits),
			Hint: "Upload its bundles into a new case and give their files the right names first.",
		}
	}
	if _, err := tx.ExecContext(ctx, addEditSQL, caseID, e.ID, e.At.UnixMicro(), e.By, string(e.Kind), e.Target, e.Value, e.Note); err != nil {
		return err
	}
	return reviseNamed(ctx, tx, caseID)
}

// Edits are never deleted alone, so the next number is the count plus one.
const nextEditSQL = `
SELECT count(*) + 1
FROM edit e
JOIN cases c ON c.seq = e.case_seq
WHERE c.id = ?`

const addEditSQL = `
INSERT INTO edit (case_seq, number, made_at, made_by, kind, target, value, note)
SELECT seq, ?2, ?3, ?4, ?5, ?6, ?7, ?8 FROM cases WHERE id = ?1`

// Edits returns all edits of a case in order, with the undone ones. A missing case has none.
func (s *Store) Edits(ctx context.Context, caseID string) (out []identity.Edit, err error) {
	err = s.read(ctx, "reading edits", func(tx *sql.Tx) error {
		out, err = collect(ctx, tx, scanEdit, editsSQL, caseID)
		return err
	})
	return out, err
}

const editColumns = `
SELECT e.number, e.made_at, e.made_by, e.kind, e.target, e.value, e.note, e.undone_at IS NOT NULL
FROM edit e
JOIN cases c ON c.seq = e.case_seq`

const editsSQL = editColumns + `
WHERE c.id = ?
ORDER BY e.number`

func scanEdit(rows *sql.Rows) (e identity.Edit, err error) {
	var made int64
	err = rows.Scan(&e.ID, &made, &e.By, &e.Kind, &e.Target, &e.Value, &e.Note, &e.Undone)
	e.At = fromMicros(made)
	return e, err
}

// UndoEdit marks an edit as undone; it stays in the list. The error is an *analysis.Fault
// with Code "not_found" if the edit is missing or undone already.
func (s *Store) UndoEdit(ctx context.Context, caseID string, number int64) error {
	now := s.time().UnixMicro()
	return s.write(ctx, "undoing an edit", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, undoEditSQL, now, caseID, number)
		if err := affected(result, err, noSuchEdit(number)); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, touchCaseSQL, now, caseID); err != nil {
			return err
		}
		return reviseNamed(ctx, tx, caseID)
	})
}

const undoEditSQL = `
UPDATE edit SET undone_at = ?1
WHERE case_seq = (SELECT seq FROM cases WHERE id = ?2) AND number = ?3 AND undone_at IS NULL`

func noSuchEdit(number int64) error {
	return &analysis.Fault{
		Code: "not_found", What: "there is no such edit to undo", Where: fmt.Sprintf("edit %d", number),
		Why: "it was undone before, or the number is wrong", Hint: "the identity page of the case lists every edit",
	}
}
