package store

import (
	"context"
	"database/sql"
	"fmt"

	"leakdiff/analysis"
)

// Artifacts returns the inventory of a bundle's visible result.
func (s *Store) Artifacts(ctx context.Context, bundleID string) ([]analysis.Artifact, error) {
	return inventory[analysis.Artifact](ctx, s, artifactsSQL, bundleID)
}

// Problems returns the problems of a bundle's visible result.
func (s *Store) Problems(ctx context.Context, bundleID string) ([]analysis.Problem, error) {
	return inventory[analysis.Problem](ctx, s, problemsSQL, bundleID)
}

// CaseProblems returns the problems of all bundles of a case, in the order of upload.
func (s *Store) CaseProblems(ctx context.Context, caseID string) (out []analysis.Problem, err error) {
	err = s.read(ctx, "reading problems", func(tx *sql.Tx) error {
		var p packer
		defer p.close()
		blobs, err := collect(ctx, tx, scanOne[[]byte], caseProblemsSQL, caseID)
		for _, blob := range blobs {
			var of []analysis.Problem
			if of, err = openInventory[analysis.Problem](&p, blob); err != nil {
				return err
			}
			out = append(out, of...)
		}
		return err
	})
	return out, err
}

const caseProblemsSQL = `
SELECT b.problems
FROM bundle b
JOIN cases c ON c.seq = b.case_seq
WHERE c.id = ? AND b.status = 'done' AND b.problem_count > 0
ORDER BY b.seq`

const artifactsSQL = `
SELECT artifacts FROM bundle WHERE id = ?`

const problemsSQL = `
SELECT problems FROM bundle WHERE id = ?`

func inventory[T any](ctx context.Context, s *Store, query, bundleID string) (out []T, err error) {
	var blob []byte
	if err := s.reader.QueryRowContext(ctx, query, bundleID).Scan(&blob); err != nil {
		return nil, fault("reading an inventory", orNotFound(err, "bundle", bundleID))
	}
	var p packer
	defer p.close()
	if out, err = openInventory[T](&p, blob); err != nil {
		return nil, fmt.Errorf("bundle %s: %w", bundleID, err)
	}
	return out, nil
}

func openInventory[T any](p *packer, blob []byte) (out []T, err error) {
	if len(blob) == 0 {
		return nil, nil
	}
	err = p.unsealJSON(blob, &out)
	return out, err
}

// packList seals a list for inventory.
func packList[T any](p *packer, list []T) ([]byte, error) {
	if len(list) == 0 {
		return []byte{}, nil
	}
	return p.sealJSON(list)
}
