package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"leakdiff/store/blob"
)

// Repair is Check, and then mends what can be mended without losing anything: it sets
// damaged uploads aside, queues readings again, drops stored reports and sums that are made
// again from results, and removes the temporary files of a crash. Where the log lost
// transactions, it keeps a copy of the log and adopts the uploads that have no case. It never
// deletes an upload. The error is an *analysis.Fault with Code "locked" if another process has the
// directory open. A damaged database is not written to.
func Repair(ctx context.Context, dir, blobs string, log *slog.Logger) (*Checked, error) {
	if err := errors.Join(isDataDir(dir), refuseOlder(dir)); err != nil {
		return nil, err
	}
	held, err := lock(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, err
	}
	c, err := check(ctx, checkConfig{dir: dir, blobs: blobs})
	if err = errors.Join(err, held.Close()); err != nil {
		return nil, err
	}
	found := c.Checked
	toMend := slices.ContainsFunc(found.Findings, func(f Finding) bool { return f.Mend != "" })
	if !toMend || found.damagedDatabase() {
		return found, nil
	}
	if c.cut != nil {
		if err := keepLog(ctx, c.cut); err != nil {
			return nil, err
		}
	}
	s, err := Open(ctx, Config{Dir: dir, Blobs: blobs, Log: log, pastDamage: c.cut != nil})
	if err != nil {
		return nil, err
	}
	if c.cut != nil {
		err = s.adopt(ctx, dir, found.Findings)
	}
	for i := range found.Findings {
		f := &found.Findings[i]
		if f.Mend == "" || f.Subject == OfLog && c.cut != nil {
			continue
		}
		if failed := s.mend(ctx, dir, f); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		f.Mended = true
	}
	return found, errors.Join(err, s.Close())
}

func (s *Store) mend(ctx context.Context, dir string, f *Finding) error {
	switch f.Subject {
	case OfUpload:
		// Verify sets a damaged upload aside and says so by its error.
		if err := s.uploads.Verify(ctx, f.sha); err != nil && codeOf(err) != blob.Damaged {
			return err
		}
		return nil
	case OfResult, OfJob:
		_, err := s.Requeue(ctx, f.bundle)
		return err
	case OfReport:
		return s.write(ctx, "dropping a stored report", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, dropReportSQL[f.table], f.bundle)
			return err
		})
	case OfCount:
		return s.write(ctx, "summing up a series again", func(tx *sql.Tx) error { return sumAgain(ctx, tx, f.days) })
	case OfFile:
		return removeSpooled(dir) // those of uploads went when the directory was opened
	}
	return nil
}

var dropReportSQL = map[string]string{
	"case_report":      `DELETE FROM case_report WHERE case_seq = (SELECT seq FROM cases WHERE id = ?)`,
	"series_judgement": `DELETE FROM series_judgement WHERE case_seq = (SELECT seq FROM cases WHERE id = ?)`,
}

func removeSpooled(dir string) error {
	spool := filepath.Join(dir, spoolDir)
	left, err := os.ReadDir(spool)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range left {
		err = errors.Join(err, os.RemoveAll(filepath.Join(spool, e.Name())))
	}
	return err
}
