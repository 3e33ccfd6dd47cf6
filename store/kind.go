package store

import (
	"context"
	"database/sql"
	"fmt"

	"leakdiff/analysis"
)

// maxKinds bounds the chosen kinds of one bundle.
const maxKinds = 1000

// SetKind stores the chosen kind of a bundle's file, by its path; an empty kind removes the
// choice. The next reading uses it. The error is an *analysis.Fault with Code "not_found"
// for a missing bundle, "too_many" after 1000 choices.
func (s *Store) SetKind(ctx context.Context, bundleID, path, kind string) error {
	return s.write(ctx, "keeping the kind of a file", func(tx *sql.Tx) error {
		var seq int64
		var have int
		if err := tx.QueryRowContext(ctx, kindCountSQL, path, bundleID).Scan(&seq, &have); err != nil {
			return orNotFound(err, "bundle", bundleID)
		}
		if kind == "" {
			_, err := tx.ExecContext(ctx, forgetKindSQL, seq, path)
			return err
		}
		if have >= maxKinds {
			return &analysis.Fault{
				Code: "too_many", What: "too many kinds were chosen in this bundle", Where: bundleID, Why: fmt.Sprintf("the limit is %d", maxKinds),
				Hint: "Give the files names and contents that tell what they are, and upload them again.",
			}
		}
		_, err := tx.ExecContext(ctx, setKindSQL, seq, path, kind)
		return err
	})
}

const kindCountSQL = `
SELECT b.seq, (SELECT count(*) FROM bundle_kind k WHERE k.bundle_seq = b.seq AND k.path <> ?)
FROM bundle b
WHERE b.id = ?`

const forgetKindSQL = `
DELETE FROM bundle_kind WHERE bundle_seq = ? AND path = ?`

const setKindSQL = `
INSERT INTO bundle_kind (bundle_seq, path, kind) VALUES (?, ?, ?)
ON CONFLICT (bundle_seq, path) DO UPDATE SET kind = excluded.kind`

// Kinds returns the chosen kinds of a bundle's files, by path.
func (s *Store) Kinds(ctx context.Context, bundleID string) (map[string]string, error) {
	type choice struct{ path, kind string }
	out := map[string]string{}
	err := s.read(ctx, "reading the kinds of files", func(tx *sql.Tx) error {
		found, err := collect(ctx, tx, func(rows *sql.Rows) (c choice, err error) {
			return c, rows.Scan(&c.path, &c.kind)
		}, kindsSQL, bundleID)
		for _, c := range found {
			out[c.path] = c.kind
		}
		return err
	})
	return out, err
}

const kindsSQL = `
SELECT k.path, k.kind
FROM bundle_kind k
JOIN bundle b ON b.seq = k.bundle_seq
WHERE b.id = ?`
