package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"leakdiff/analysis"
)

// fault words an error of the database. Faults and the ends of contexts pass as
// they are; what names the attempt ("adding a bundle").
func fault(what string, err error) error {
	if err == nil {
		return nil
	}
	var known *analysis.Fault
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var db *sqlite.Error
	if !errors.As(err, &db) {
		return fmt.Errorf("%s: %w", what, err)
	}
	out := &analysis.Fault{Code: "database", What: what + " failed", Why: db.Error(), Err: err}
	switch db.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		out.Code, out.Why = "disk_full", "the volume of the data directory is full"
		out.Hint = "Delete cases that are no longer needed or give the data directory more space."
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		out.Code, out.Why = "busy", "the database is in use"
		out.Hint = "Try again in a moment."
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		out.Code = "damaged"
		out.Hint = "Restore the data directory from a backup, or move it away and start with an empty one."
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		out.Code = "unwritable"
		out.Hint = "Let the user of the server own the data directory and write to it."
	case sqlite3.SQLITE_INTERRUPT:
		return errors.Join(context.Canceled, err)
	}
	return out
}

// orNotFound turns the absence of a row into a refusal that names the thing.
func orNotFound(err error, thing, id string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return notFound(thing, id)
	}
	return err
}

func notFound(thing, id string) error {
	return &analysis.Fault{
		Code:  "not_found",
		What:  "there is no such " + thing,
		Where: fmt.Sprintf("%s %.64q", thing, id),
		Why:   "it was deleted, or the link is incomplete",
	}
}
