package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"leakdiff/analysis"
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

// unpackBackup copies a backup into a new directory and verifies the copy.
func unpackBackup(ctx context.Context, from, to string) (*Manifest, error) {
	info, err := os.Stat(from)
	if err != nil {
		return nil, notABackup(from, "it cannot be opened: "+err.Error())
	}
	if info.IsDir() {
		if err := refuseOlder(from); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return nil, err
	}
	if info.IsDir() {
		m, err := readManifest(from)
		if err != nil {
			return nil, err
		}
		err = copyBackup(ctx, from, to, m)
		if err != nil {
			return nil, err
		}
	} else if err := unpackTar(ctx, from, to); err != nil {
		return nil, err
	}
	m, err := verifyBackup(ctx, to)
	if err != nil {
		return nil, err
	}
	// The manifest is of the backup, not of what a server makes of it.
	if err := os.Remove(filepath.Join(to, manifestFile)); err != nil {
		return nil, err
	}
	return m, syncTree(to)
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
