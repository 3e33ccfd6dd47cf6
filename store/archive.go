package store

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"leakdiff/analysis"
	"leakdiff/analysis/column"
	"leakdiff/migrations"
	"leakdiff/store/blob"
)

// A backup is a directory, or a tar of it: the manifest, the rows of all tables in the order of
// tables and the files of the own knowledge, a sealed batch each, and the uploads that the rows
// name, as a data directory has them.
const (
	manifestFile   = "leakdiff.backup.json"
	manifestSchema = "leakdiff.backup/2"
	rowsDir        = "rows"
	knowledgeDir   = "knowledge"
	tarSuffix      = ".tar"
	partSuffix     = ".part"
)

// readBackup verifies a backup, and makes a data directory of it unless into is nil. The error
// has the code "damaged" unless each batch is as it was written, and none of them and no upload
// is missing. Uploads are hashed if they are not restored.
func readBackup(ctx context.Context, from string, into *restoring) (*Manifest, error) {
	var m *Manifest
	tallies, files, uploads := map[string]tally{}, 0, 0
	err := eachFile(from, func(name string, content io.Reader) (err error) {
		content = &untilDone{ctx, content}
		switch {
		case m == nil:
			if m, err = readManifest(from, name, content); err == nil && into != nil {
				err = into.begin(ctx, m)
			}
		case path.Dir(name) == rowsDir:
			if files++; name != rowsFile(files) {
				return notABackup(from, rowsFile(files)+" is missing")
			}
			var b *batch
			if b, err = readBatch(content); err != nil {
				return notABackup(from, name+": "+err.Error())
			}
			sum := tallies[b.table]
			if err = sum.add(b); err == nil && into != nil {
				err = into.rows(ctx, b)
			}
			tallies[b.table] = sum
		case into == nil:
			uploads++
			err = blob.Matches(name, content)
		default:
			uploads++
			err = into.upload(ctx, name, content)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return notABackup(from, "it is cut within "+name)
		}
		return err
	})
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	case m == nil:
		return nil, notABackup(from, "it has no "+manifestFile)
	case uploads != m.Uploads:
		return nil, notABackup(from, fmt.Sprintf("it has %d of %d uploads", uploads, m.Uploads))
	}
	for _, table := range differing(m.Tables, tallies) {
		return nil, notABackup(from, "its rows of "+table+" differ from what the manifest says")
	}
	return m, nil
}

// eachFile passes every file of a backup to visit, the manifest first.
func eachFile(from string, visit func(name string, content io.Reader) error) error {
	info, err := os.Stat(from)
	if err != nil {
		return notABackup(from, "it cannot be opened: "+err.Error())
	}
	if !info.IsDir() {
		return eachOfTar(from, visit)
	}
	open := func(name string) error {
		file, err := os.Open(filepath.Join(from, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		defer file.Close()
		return visit(name, file)
	}
	if err := open(manifestFile); errors.Is(err, fs.ErrNotExist) {
		return notABackup(from, "it has no "+manifestFile)
	} else if err != nil {
		return err
	}
	return fs.WalkDir(os.DirFS(from), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir() || name == manifestFile:
			return err
		case !d.Type().IsRegular() || !backupName(name):
			return notABackup(from, fmt.Sprintf("it has %.100q in it", name))
		}
		return open(name)
	})
}

func eachOfTar(from string, visit func(name string, content io.Reader) error) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	archive := tar.NewReader(in)
	for n := 0; ; n++ {
		header, err := archive.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return notABackup(from, "it is no tar, or is cut: "+err.Error())
		case header.Typeflag != tar.TypeReg || (header.Name == manifestFile) != (n == 0) || n > 0 && !backupName(header.Name):
			return notABackup(from, fmt.Sprintf("it has %.100q in it", header.Name))
		}
		if err := visit(header.Name, archive); err != nil {
			return err
		}
	}
}

// backupName reports whether a backup may have a file of this name beside its manifest.
func backupName(name string) bool {
	dir, base := path.Split(name)
	if dir == rowsDir+"/" {
		return len(base) == 8 && strings.Trim(base, "0123456789") == ""
	}
	return len(dir) == len(blobDir)+4 && strings.HasPrefix(dir, blobDir+"/") && blob.IsName(base) && base[:2] == dir[len(blobDir)+1:len(dir)-1]
}

// rowsFile is the name of a batch, which count from 1.
func rowsFile(n int) string { return fmt.Sprintf("%s/%08d", rowsDir, n) }

// packTar writes a backup that is a directory into one file.
func packTar(ctx context.Context, to, dir string, m *Manifest) error {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	archive := tar.NewWriter(out)
	err = eachFile(dir, func(name string, content io.Reader) error {
		info, err := content.(fs.File).Stat()
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: m.Made, Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err = io.Copy(archive, &untilDone{ctx, content})
		return err
	})
	if err != nil {
		return err
	}
	return errors.Join(archive.Close(), out.Sync())
}

// mostManifest bounds a manifest, in bytes: that of a million uploads that are missing.
const mostManifest = 256 << 20

func readManifest(from, name string, content io.Reader) (*Manifest, error) {
	if name != manifestFile {
		return nil, notABackup(from, "it does not begin with "+manifestFile)
	}
	text, err := io.ReadAll(io.LimitReader(content, mostManifest))
	if err != nil {
		return nil, err
	}
	m := &Manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, notABackup(from, "its "+manifestFile+" is damaged: "+err.Error())
	}
	all, err := migrations.All()
	if err == nil {
		err = knownVersion(m.Database, all)
	}
	if err != nil {
		return nil, err
	}
	if m.Schema != manifestSchema || m.Database <= 0 {
		return nil, notABackup(from, fmt.Sprintf("its form is %.40q, this program knows %q", m.Schema, manifestSchema))
	}
	return m, nil
}

func notABackup(where, why string) error {
	return &analysis.Fault{Code: "damaged", What: "this is no sound backup", Where: where, Why: why, Hint: "Give another backup with --from. Nothing was changed."}
}

func readBatch(content io.Reader) (*batch, error) {
	sealed, err := io.ReadAll(io.LimitReader(content, unsealLimit))
	if err != nil {
		return nil, err
	}
	var p packer
	defer p.close()
	values, err := p.unseal(sealed, nil)
	if err != nil {
		return nil, err
	}
	b, c := &batch{}, column.Reader(values)
	b.code(c)
	return b, c.End()
}

// mostColumns bounds the columns of a table in a backup.
const mostColumns = 100

// code writes or reads a batch, as a backup has it.
func (b *batch) code(c *column.Codec) {
	c.Text(&b.table)
	c.Texts(mostColumns, &b.columns)
	n := uint64(len(b.rows))
	if c.Uint(&n); c.Reading() && n > uint64(len(c.Data())) {
		c.Fail(fmt.Errorf("%d rows in %d bytes", n, len(c.Data())))
	}
	for i := range n {
		if c.Reading() {
			b.rows = append(b.rows, make([]any, len(b.columns)))
		}
		if codeRow(c, b.rows[i]); c.Err() != nil {
			return
		}
	}
}
