package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"leakdiff/analysis"
	"leakdiff/migrations"
)

// RestoreConfig says which backup becomes which data directory. Now is optional.
type RestoreConfig struct {
	// From is a directory or a .tar of Backup.
	From string
	// Dir is the data directory. It need not exist.
	Dir string
	Now func() time.Time
}

// Restored is the outcome of Restore.
type Restored struct {
	*Manifest
	// Before is where the data directory of before is kept, "" if there was none.
	Before string
}

const restoringSuffix = ".restoring"

// Restore unpacks a backup beside the data directory, verifies all of it, makes it durable,
// and only then exchanges the two. A crash leaves the old directory or the new one under its
// name, never a mixture. The old one is kept. The error is an *analysis.Fault with Code
// "locked" if a server runs on the directory, "damaged" if the backup is not sound.
func Restore(ctx context.Context, cfg RestoreConfig) (*Restored, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	there, err := occupied(dir)
	if err != nil {
		return nil, err
	}
	if there {
		held, err := lock(filepath.Join(dir, lockFile))
		if err != nil {
			return nil, err
		}
		defer held.Close()
	}
	fresh := dir + restoringSuffix
	if err := os.RemoveAll(fresh); err != nil { // of a restore that was killed
		return nil, err
	}
	m, err := unpackBackup(ctx, cfg.From, fresh)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(fresh))
	}
	out := &Restored{Manifest: m}
	if !there {
		return out, renameDurably(fresh, dir)
	}
	if out.Before, err = freeName(dir + ".before-" + cfg.Now().UTC().Format("20060102T150405Z")); err != nil {
		return nil, err
	}
	return out, exchange(fresh, dir, out.Before)
}

// occupied reports whether a data directory exists, and refuses what is none.
func occupied(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	if len(entries) > 0 && isDataDir(dir) != nil {
		if _, err := os.Stat(filepath.Join(dir, blobDir)); err != nil {
			return false, &analysis.Fault{Code: "refused", What: "nothing was restored", Where: dir, Why: "there are files that are no data directory", Hint: "Give --data another directory."}
		}
	}
	return true, nil
}

// unpackBackup makes a new data directory of a backup and verifies it.
func unpackBackup(ctx context.Context, from, to string) (*Manifest, error) {
	if err := refuseOlder(from); err != nil && !errors.Is(err, syscall.ENOTDIR) {
		return nil, err
	}
	r := &restoring{dir: to}
	m, err := readBackup(ctx, from, r)
	if err == nil {
		err = r.complete(ctx)
	}
	if r.Store != nil {
		err = errors.Join(err, r.Close())
	}
	if err != nil {
		return nil, err
	}
	found, err := check(ctx, checkConfig{dir: to, leaveBucket: true})
	if err != nil {
		return nil, err
	}
	for _, table := range differing(m.Tables, found.tallies) {
		if table != knowledgeDir && m.Database == found.Database {
			return nil, notABackup(from, "its rows of "+table+" were not written as they were read")
		}
	}
	for _, x := range found.Findings {
		if x.Note || x.sha != "" && slices.Contains(m.Missing, x.sha) {
			continue
		}
		if x.Subject == OfDatabase || x.Subject == OfReference || x.sha != "" {
			return nil, notABackup(from, x.What+": "+x.Where+": "+x.Why)
		}
	}
	return m, syncTree(to)
}

// restoring is a data directory that is made of a backup.
type restoring struct {
	*Store
	dir string
}

// begin makes a database of the version of the rows.
func (r *restoring) begin(ctx context.Context, m *Manifest) (err error) {
	r.Store, err = Open(ctx, Config{Dir: r.dir, NewDatabase: true, moving: true, version: m.Database})
	return err
}

func (r *restoring) rows(ctx context.Context, b *batch) error {
	if b.table == knowledgeDir {
		return r.knowledge(ctx, b)
	}
	return r.write(ctx, "restoring rows", func(tx *sql.Tx) error { return b.insert(ctx, tx) })
}

func (r *restoring) knowledge(ctx context.Context, b *batch) error {
	dir := filepath.Join(r.dir, knowledgeDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, row := range b.rows {
		f := record{b, row}
		name := f.text("name")
		if filepath.Base(name) != name || !filepath.IsLocal(name) {
			return notABackup(name, "it is no name of a file")
		}
		if err := writeFile(ctx, filepath.Join(dir, name), bytes.NewReader(f.bytes("content"))); err != nil {
			return err
		}
	}
	return nil
}

func (r *restoring) upload(ctx context.Context, name string, content io.Reader) error {
	to := filepath.Join(r.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return writeFile(ctx, to, content)
}

// complete makes what the rows do not have, and brings the database up to date.
func (r *restoring) complete(ctx context.Context) error {
	if err := r.write(ctx, "ending a restore", func(tx *sql.Tx) error { return r.imported(ctx, tx) }); err != nil {
		return err
	}
	all, err := migrations.All()
	if err != nil {
		return err
	}
	return migrate(ctx, r.writer, all, "")
}

// freeName returns the name, with a number if there is something of that name.
func freeName(name string) (string, error) {
	for n := 1; ; n++ {
		free := name
		if n > 1 {
			free += "-" + strconv.Itoa(n)
		}
		if _, err := os.Lstat(free); errors.Is(err, fs.ErrNotExist) {
			return free, nil
		} else if err != nil {
			return "", err
		}
	}
}

// exchange gives fresh the name of dir, and dir the name of before. The fresh one gets that
// name first, so that what was there has it after the exchange, whenever a crash comes.
func exchange(fresh, dir, before string) error {
	if err := renameDurably(fresh, before); err != nil {
		return err
	}
	err := swap(before, dir)
	switch {
	case err == nil:
		return syncPath(filepath.Dir(dir))
	case errors.Is(err, syscall.EBUSY):
		return errors.Join(&analysis.Fault{Code: "refused", What: "nothing was restored", Where: dir, Why: "it is the root of a volume and cannot be exchanged",
			Hint: "Restore into a directory below or beside it with --data, and start serve with that.", Err: err}, os.RemoveAll(before))
	case !errors.Is(err, errors.ErrUnsupported):
		return errors.Join(err, os.RemoveAll(before))
	}
	// Without an exchange there is a moment without a directory of this name.
	if err := errors.Join(renameDurably(before, fresh), renameDurably(dir, before)); err != nil {
		return err
	}
	return renameDurably(fresh, dir)
}
