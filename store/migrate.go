package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"leakdiff/analysis"
	"leakdiff/migrations"
)

// migrate creates the schema, or upgrades the database from its user_version to the last
// migration. Each step is one transaction that also sets user_version, and the mark of a move
// if the schema is new.
func migrate(ctx context.Context, db *sql.DB, all []migrations.Migration, mark string) error {
	var version int
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return err
	}
	if err := knownVersion(version, all); err != nil {
		return err
	}
	if version > 0 {
		mark = ""
	}
	for _, m := range after(version, all) {
		if err := step(ctx, db, m, mark); err != nil {
			return fmt.Errorf("migration %d, %s: %w", m.Version, m.Name, err)
		}
	}
	return nil
}

// after are the migrations that a database of a version lacks.
func after(version int, all []migrations.Migration) []migrations.Migration {
	return all[max(version-migrations.Base, 0):]
}

func step(ctx context.Context, db *sql.DB, m migrations.Migration, mark string) error {
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
	if err := markMove(ctx, tx, mark); err != nil {
		return err
	}
	return tx.Commit()
}

func markMove(ctx context.Context, tx *sql.Tx, mark string) error {
	if mark == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, setSettingSQL, moveSetting, mark)
	return err
}

// knownVersion refuses the version of a database that this program cannot read. 0 is that of a
// database without a schema.
func knownVersion(version int, all []migrations.Migration) error {
	last := all[len(all)-1].Version
	switch {
	case version > last:
		return &analysis.Fault{
			Code: "newer_database",
			What: "the data directory was written by a newer leakdiff",
			Why:  fmt.Sprintf("its database has version %d, this program knows versions up to %d", version, last),
			Hint: "Start the newer program, or give this one another directory with --data.",
		}
	case version > 0 && version <= migrations.Base:
		return &analysis.Fault{
			Code: "older_database",
			What: "the data is of a leakdiff from before the first release, which this one does not read",
			Why:  fmt.Sprintf("its database has version %d, this program reads versions from %d on", version, all[0].Version),
			Hint: "Nothing was changed. Give --data a new directory, or --database a new database, and upload the captures again.",
		}
	}
	return nil
}

// versionOffset is the place of user_version in the header of a database file, which is
// headerSize bytes long (https://sqlite.org/fileformat2.html#the_database_header).
const (
	headerSize    = 100
	versionOffset = 60
)

// refuseOlder refuses a data directory from before this schema. It reads the header of the
// database itself, because SQLite may write to files that it opens. A header that is not
// written yet, and a file that is no database, are left to whoever opens them.
func refuseOlder(dir string) error {
	file, err := os.Open(filepath.Join(dir, databaseFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	var header [headerSize]byte
	if _, err := io.ReadFull(file, header[:]); err != nil || string(header[:16]) != "SQLite format 3\x00" {
		return nil
	}
	all, err := migrations.All()
	if err != nil {
		return err
	}
	err = knownVersion(int(binary.BigEndian.Uint32(header[versionOffset:])), all)
	if codeOf(err) != "older_database" {
		return nil
	}
	return err
}
