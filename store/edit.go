package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
)

// maxEdits bounds the edits that people make in one case, because every view of the case applies all of them.
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

// mostAlertEvents bounds the events of Alertmanager in one case. They have a share of their own:
// an alert that comes and goes must not take the room of what people enter.
const mostAlertEvents = 100

// AddAlertEvent stores an event of Alertmanager unless the case has one with this note, undone
// or not. It returns that one then, and false. A case has the newest hundred by the time of the
// event, undone ones included: the oldest are deleted for it. The error is an *analysis.Fault
// with Code "not_found" for a missing case, "too_many" for an event older than all hundred.
func (s *Store) AddAlertEvent(ctx context.Context, caseID string, e identity.Edit) (made identity.Edit, added bool, err error) {
	e.At, e.Undone, e.By = s.time(), false, identity.Alertmanager
	err = s.write(ctx, "keeping an event", func(tx *sql.Tx) error {
		made, added = e, false
		all, err := collect(ctx, tx, scanEdit, alertEventsSQL, caseID, identity.Alertmanager)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(x identity.Edit) bool { return x.Note == e.Note }); i >= 0 {
			made = all[i]
			return nil
		}
		slices.SortFunc(all, olderEvent)
		surplus := all[:max(0, len(all)+1-mostAlertEvents)]
		if len(surplus) > 0 && olderEvent(e, surplus[len(surplus)-1]) < 0 {
			return &analysis.Fault{
				Code: "too_many", What: "the case has many newer events of alerts", Where: caseID, Why: fmt.Sprintf("it has the newest %d", mostAlertEvents),
				Hint: "Give the rule a longer \"for\" or keep_firing_for if its alert comes and goes.",
			}
		}
		added = true
		if err := addEdit(ctx, tx, caseID, &made); err != nil {
			return err
		}
		for _, x := range surplus {
			if _, err := tx.ExecContext(ctx, deleteEditSQL, caseID, x.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return identity.Edit{}, false, err
	}
	return made, added, nil
}

// olderEvent orders events by their time. The note decides between those of one time, so that
// repetitions of many alerts of one time do not push one another out for ever.
func olderEvent(a, b identity.Edit) int {
	return cmp.Or(eventTime(a).Compare(eventTime(b)), strings.Compare(a.Note, b.Note))
}

// eventTime is the time of an event in stored form.
func eventTime(e identity.Edit) time.Time {
	at, _, _ := identity.SplitEvent(e.Value)
	when, _ := time.Parse(time.RFC3339Nano, at)
	return when
}

const alertEventsSQL = editColumns + `
WHERE c.id = ? AND e.made_by = ?`

const deleteEditSQL = `
DELETE FROM edit
WHERE case_seq = (SELECT seq FROM cases WHERE id = ?) AND number = ?`

// addEdit gives an edit its number and writes it.
func addEdit(ctx context.Context, tx *sql.Tx, caseID string, e *identity.Edit) error {
	result, err := tx.ExecContext(ctx, touchCaseSQL, e.At.UnixMicro(), caseID)
	if err := affected(result, err, notFound("case", caseID)); err != nil {
		return err
	}
	var entered int64
	if err := tx.QueryRowContext(ctx, nextEditSQL, caseID, identity.Alertmanager).Scan(&e.ID, &entered); err != nil {
		return err
	}
	if entered >= maxEdits && e.By != identity.Alertmanager {
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

// A number is never given twice: of the edits alone only the oldest events of Alertmanager are
// deleted, after a newer one was added. Those do not count for the limit.
const nextEditSQL = `
SELECT coalesce(max(e.number), 0) + 1, coalesce(sum(CASE WHEN e.made_by <> ?2 THEN 1 ELSE 0 END), 0)
FROM edit e
JOIN cases c ON c.seq = e.case_seq
WHERE c.id = ?1`

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
		Why: "it was undone before, or the number is wrong", Hint: "the page of files and processes lists every edit",
	}
}
