package store

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// packTar writes the files of a backup into one, the manifest first.
func packTar(ctx context.Context, file, dir string, m *Manifest) error {
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(out)
	for _, f := range append([]BackupFile{{Path: manifestFile}}, m.Files...) {
		if err = addToTar(ctx, archive, dir, f.Path, m); err != nil {
			break
		}
	}
	if err == nil {
		err = archive.Close()
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

func addToTar(ctx context.Context, archive *tar.Writer, dir, name string, m *Manifest) error {
	in, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: m.Made, Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err = io.Copy(archive, &untilDone{ctx, in})
	return err
}

// eachOfTar gives every file of a backup to visit.
func eachOfTar(file string, visit func(name string, content io.Reader) error) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	archive := tar.NewReader(in)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return notABackup(file, "it is no tar, or is cut: "+err.Error())
		}
		if header.Typeflag != tar.TypeReg || !backupName(header.Name) {
			return notABackup(file, fmt.Sprintf("it has %.100q in it", header.Name))
		}
		if err := visit(header.Name, archive); err != nil {
			return err
		}
	}
}

// verifyTar reads an archive back and compares it with its manifest.
func verifyTar(ctx context.Context, file string, m *Manifest) error {
	want := map[string]string{}
	for _, f := range m.Files {
		want[f.Path] = f.SHA256
	}
	err := eachOfTar(file, func(name string, content io.Reader) error {
		h := sha256.New()
		if _, err := io.Copy(h, &untilDone{ctx, content}); err != nil {
			return err
		}
		if name != manifestFile && want[name] != hex.EncodeToString(h.Sum(nil)) {
			return notABackup(file, name+" was not written as it was read")
		}
		delete(want, name)
		return nil
	})
	if err == nil && len(want) > 0 {
		err = notABackup(file, fmt.Sprintf("%d files are missing in it", len(want)))
	}
	return err
}

// unpackTar writes the files of an archive into a new directory.
func unpackTar(ctx context.Context, file, dir string) error {
	return eachOfTar(file, func(name string, content io.Reader) error {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		err := writeFile(ctx, to, content)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return notABackup(file, "it is cut within "+name)
		}
		return err
	})
}

// copyBackup copies what a manifest lists into a new directory.
func copyBackup(ctx context.Context, from, to string, m *Manifest) error {
	for _, f := range append([]BackupFile{{Path: manifestFile}}, m.Files...) {
		target := filepath.Join(to, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if err := copyFile(ctx, filepath.Join(from, filepath.FromSlash(f.Path)), target); errors.Is(err, fs.ErrNotExist) {
			return notABackup(from, f.Path+" is missing")
		} else if err != nil {
			return err
		}
	}
	return nil
}
