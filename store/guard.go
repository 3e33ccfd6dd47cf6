package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/store/blob"
)

// ownDirs are the subdirectories that leakdiff and file systems create.
var ownDirs = []string{blobDir, "spool", "knowledge", "lost+found"}

// tighten removes the rights of group and others from the files in the data directory, and
// from the directory unless it is shared: foreign subdirectories, or a sticky bit like that
// of /tmp, mean that other programs use it. It logs what it cannot change.
func (s *Store) tighten(ctx context.Context, dir string) {
	warn := func(path string, err error) {
		s.log.WarnContext(ctx, "the rights of a file could not be limited to its owner", "file", path, "error", err)
	}
	limit := func(path string, info fs.FileInfo) {
		mode := info.Mode()
		if !mode.IsRegular() && !mode.IsDir() || mode.Perm()&0o077 == 0 {
			return
		}
		if err := os.Chmod(path, mode.Perm()&0o700); err != nil {
			warn(path, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		warn(dir, err)
		return
	}
	shared := false
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() && !slices.Contains(ownDirs, e.Name()) {
			shared = true
			continue
		}
		if !e.IsDir() && !strings.HasPrefix(e.Name(), "leakdiff.") || e.Name() == "lost+found" {
			continue
		}
		err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info() // does not follow a link
			if err == nil {
				limit(path, info)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			warn(path, err)
		}
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		warn(dir, err)
	case shared || info.Mode()&os.ModeSticky != 0:
		if info.Mode().Perm()&0o077 != 0 {
			s.log.WarnContext(ctx, "the data directory has other contents and keeps its rights: give --data one of its own", "dir", dir, "mode", info.Mode().String())
		}
	default:
		limit(dir, info)
	}
}

// mayBegin refuses to create a database beside uploads unless cfg allows it, because their
// database is lost or on an unmounted volume.
func (s *Store) mayBegin(ctx context.Context, cfg Config, file string) error {
	damage, err := damagedLog(file)
	if err == nil && damage != nil && damage.copied {
		err = s.keepLost(ctx, damage.file)
	}
	if err != nil {
		return err
	}
	begun, err := hasSchema(ctx, file)
	if err != nil {
		return err
	}
	if damage.lost() && !cfg.pastDamage && (begun || !cfg.NewDatabase) {
		return damage.fault()
	}
	if begun {
		if cfg.NewDatabase && !cfg.moving { // a move begins one and goes on in it
			s.log.WarnContext(ctx, "there is a database: a new one was not needed, and asking for it hides when one is lost")
		}
		return nil
	}
	if err := s.mayBeginBeside(cfg, file); err != nil || !cfg.NewDatabase {
		return err
	}
	return errors.Join(s.keepLost(ctx, file), s.keepLost(ctx, file+"-wal"))
}

// mayBeginBeside refuses a new database beside uploads unless cfg allows it.
func (s *Store) mayBeginBeside(cfg Config, database string) error {
	uploads, err := s.uploads.directory.List()
	if err != nil {
		return err
	}
	aside, err := s.uploads.directory.SetAside()
	if err != nil {
		return err
	}
	if uploads = append(uploads, aside...); len(uploads) == 0 || cfg.NewDatabase {
		return nil
	}
	return &analysis.Fault{
		Code:  "no_database",
		What:  "the database is missing and there are uploads",
		Where: database,
		Why:   fmt.Sprintf("there are uploads (files: %d, bytes: %d) in %s, and without the database nothing says which case they belong to", len(uploads), stored(uploads), filepath.Join(cfg.Dir, blobDir)),
		Hint:  "Put the database back from a backup, with its -wal file where it has one, or mount its volume. To begin with an empty one, start once with --new-database: the uploads are kept.",
	}
}

// hasSchema reports whether a file, or its log, contains a version of the schema. It ignores
// files that are no database; opening them fails later.
func hasSchema(ctx context.Context, file string) (bool, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || info.Size() == 0 {
		return false, err
	}
	// A read-only connection does not change the log.
	db, err := connect(file, 1, ofReader+"&mode=ro")
	if err != nil {
		return false, err
	}
	defer db.Close()
	var version int
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return true, nil
	}
	return version > 0, nil
}

// keepLost renames a file of a lost database to protect it. SQLite would delete its log,
// which may contain data that no other file has.
func (s *Store) keepLost(ctx context.Context, file string) error {
	info, err := os.Stat(file)
	if err != nil || info.Size() == 0 {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	kept := file + ".lost-" + s.time().Format("20060102T150405")
	if err = os.Rename(file, kept); err == nil {
		s.log.WarnContext(ctx, "a file of the database is set aside and kept", "file", kept)
	}
	return err
}

func stored(uploads []blob.Entry) (bytes int64) {
	for _, e := range uploads {
		bytes += e.Stored
	}
	return bytes
}

// fewNamed bounds the file names in a log line.
const fewNamed = 3

// compare logs differences between uploads and their rows. It deletes nothing, because an
// older or new database lacks rows of valid uploads. Those of a bucket are not compared: see
// noteStrays.
func (s *Store) compare(ctx context.Context, dir string) error {
	if s.uploads.bucket != nil {
		return nil
	}
	uploads, err := s.uploads.directory.List()
	if err != nil {
		return err
	}
	var rows []string
	err = s.read(ctx, "listing uploads", func(tx *sql.Tx) (err error) {
		rows, err = collect(ctx, tx, scanOne[string], blobsSQL)
		return err
	})
	if err != nil {
		return err
	}
	unknown := slices.DeleteFunc(slices.Clone(uploads), func(e blob.Entry) bool {
		_, found := slices.BinarySearch(rows, e.SHA256)
		return found
	})
	missing := slices.DeleteFunc(rows, func(sha string) bool {
		_, found := slices.BinarySearchFunc(uploads, sha, func(e blob.Entry, sha string) int { return strings.Compare(e.SHA256, sha) })
		return found
	})
	where := filepath.Join(dir, blobDir)
	if len(unknown) > 0 {
		var names []string
		for _, e := range unknown[:min(len(unknown), fewNamed)] {
			names = append(names, e.SHA256)
		}
		s.log.WarnContext(ctx, "uploads that no case refers to are kept: the database is new or older than they are, or a crash came before they were acknowledged",
			"files", len(unknown), "bytes", stored(unknown), "where", where, "first", strings.Join(names, " "))
	}
	if len(missing) > 0 {
		s.log.ErrorContext(ctx, "uploads that cases refer to are missing or damaged: the same upload puts each back",
			"files", len(missing), "where", where, "first", strings.Join(missing[:min(len(missing), fewNamed)], " "))
	}
	return nil
}

const blobsSQL = `
SELECT sha256 FROM blob WHERE forgotten = 0 ORDER BY sha256`
