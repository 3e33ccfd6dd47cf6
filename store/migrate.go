package store

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"

	"leakdiff/analysis"
	"leakdiff/migrations"
)

// migrate upgrades the database from its user_version to the last migration. Each step is
// one transaction that also sets user_version. Go code runs before the step that needs it,
// and resumes after an interruption.
func migrate(ctx context.Context, db *sql.DB, all []migrations.Migration, log *slog.Logger) error {
	var version int
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return err
	}
	if version > len(all) {
		return newerDatabase(version, len(all))
	}
	for _, m := range all[version:] {
		var err error
		if m.Version == factsVersion {
			err = repack(ctx, db, log, sayEvery)
		}
		if err == nil {
			err = step(ctx, db, m)
		}
		if err != nil {
			return fmt.Errorf("migration %d, %s: %w", m.Version, m.Name, err)
		}
	}
	if version == 0 || version == len(all) {
		return nil
	}
	return shrink(ctx, db) // frees the pages of dropped tables
}

func newerDatabase(version, known int) error {
	return &analysis.Fault{
		Code: "newer_database",
		What: "the data directory was written by a newer leakdiff",
		Why:  fmt.Sprintf("its database has version %d, this program knows versions up to %d", version, known),
		Hint: "Start the newer program, or give this one another directory with --data.",
	}
}

func step(ctx context.Context, db *sql.DB, m migrations.Migration) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, m.SQL); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, m.Version)); err != nil {
		return err
	}
	return tx.Commit()
}
