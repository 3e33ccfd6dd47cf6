package store

import (
	"context"
	"database/sql"
	"time"
)

// Field is a named value that a user set for a case.
type Field struct {
	Value string
	// Replaced is the previous value.
	Replaced string
	Edited   time.Time
}

// SetField stores a field of a case and returns the previous one; an empty value clears it.
// The last writer wins.
func (s *Store) SetField(ctx context.Context, caseID, name, value string) (before Field, err error) {
	now := s.time().UnixMicro()
	err = s.write(ctx, "keeping a field of a case", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, touchCaseSQL, now, caseID)
		if err := affected(result, err, notFound("case", caseID)); err != nil {
			return err
		}
		found, err := collect(ctx, tx, scanField, fieldSQL, caseID, name)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			before = found[0].Field
		}
		_, err = tx.ExecContext(ctx, setFieldSQL, caseID, name, value, before.Value, now)
		return err
	})
	return before, err
}

type namedField struct {
	name string
	Field
}

func scanField(rows *sql.Rows) (f namedField, err error) {
	var at int64
	err = rows.Scan(&f.name, &f.Value, &f.Replaced, &at)
	f.Edited = fromMicros(at)
	return f, err
}

const fieldsSQL = `
SELECT f.field, f.value, f.replaced, f.edited_at
FROM case_field f
JOIN cases c ON c.seq = f.case_seq
WHERE c.id = ?1`

const fieldSQL = fieldsSQL + ` AND f.field = ?2`

const setFieldSQL = `
INSERT INTO case_field (case_seq, field, value, replaced, edited_at)
SELECT seq, ?2, ?3, ?4, ?5 FROM cases WHERE id = ?1
ON CONFLICT (case_seq, field) DO UPDATE SET
    value = excluded.value, replaced = excluded.replaced, edited_at = excluded.edited_at`

// Fields returns the fields of a case, by name.
func (s *Store) Fields(ctx context.Context, caseID string) (map[string]Field, error) {
	out := map[string]Field{}
	err := s.read(ctx, "reading the fields of a case", func(tx *sql.Tx) error {
		found, err := collect(ctx, tx, scanField, fieldsSQL, caseID)
		for _, f := range found {
			out[f.name] = f.Field
		}
		return err
	})
	return out, err
}
