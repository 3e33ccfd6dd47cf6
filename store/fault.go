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

// fault describes an error of the database. Faults and context errors pass unchanged; what
// names the operation ("adding a bundle").
func fault(what string, err error) error {
	if err == nil {
		return nil
	}
	var known *analysis.Fault
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if of := faultOfPostgres(what, err); of != nil {
		return of
	}
	var db *sqlite.Error
	if !errors.As(err, &db) {
		return fmt.Errorf("%s: %w", what, err)
	}
	out := &analysis.Fault{Code: "database", What: what + " failed", Why: db.Error(), Err: err}
	switch db.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		out.Code, out.Why, out.Hint = diskFull, fullWhy, fullHint
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		out.Code, out.Why = "busy", "the database is in use"
		out.Hint = "Try again in a moment."
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		out.Code = "damaged"
		out.Hint = "Restore the data directory from a backup, or move it away and start with an empty one."
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		out.Code = "unwritable"
		out.Hint = "Let the user of the server own the data directory and write to it."
	case sqlite3.SQLITE_IOERR:
		out.Code = inputOutput
	case sqlite3.SQLITE_INTERRUPT:
		return errors.Join(context.Canceled, err)
	}
	return out
}

// inputOutput is the Code of a fault about an I/O error of the volume.
const inputOutput = "database_io"

// IsFull reports whether an error means a full volume.
func IsFull(err error) bool {
	var f *analysis.Fault
	return errors.As(err, &f) && f.Code == diskFull
}

const diskFull = "disk_full"

// roomForPages is a lower bound of the space that one more page of the database and its log
// may need.
const roomForPages = 256 << 10

// orFull changes an I/O fault into a full volume if the volume is full. A failed sync, a
// failed map of the log and an exceeded quota have other error codes in SQLite than a failed
// write.
func (s *Store) orFull(err error) error {
	var f *analysis.Fault
	if !errors.As(err, &f) || f.Code != inputOutput {
		return err
	}
	if IsFull(s.uploads.directory.Room(roomForPages)) {
		full := *f
		full.Code, full.Why, full.Hint = diskFull, fullWhy, fullHint
		return &full
	}
	return err
}

const (
	fullWhy  = "the volume of the data directory is full"
	fullHint = "Delete cases that are no longer needed or give the data directory more space."
)

// Hints for a full volume if the reserve is used up, or if no server runs that could delete.
const (
	emptyHint = "Free space on the volume of the data directory by other means, or give it more, and try again."
	startHint = "Free some MB on the volume of the data directory by other means, or give it more, and start again. Then delete cases that are no longer needed."
)

// hinting replaces the hint of a fault about a full volume.
func hinting(err error, hint string) error {
	var f *analysis.Fault
	if !IsFull(err) || !errors.As(err, &f) {
		return err
	}
	other := *f
	other.Hint = hint
	return &other
}

// orNotFound replaces a missing row by a fault that names the thing.
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
