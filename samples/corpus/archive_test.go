package corpus

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

var update = flag.Bool("update", false, "pack corpus.tar.zst anew from the collection")

// own are the parts of the collection that we made ourselves, with their truth.
var own = []string{
	"ANSWERS.md", "ANSWERS.tsv", "EXPECTED.tsv", "README.md", "objects-expected.tsv",
	"descriptors/lsof", "descriptors/zoo", "gauges",
	"goroutine/gen", "goroutine/prefixed", "goroutine/signals", "goroutine/states",
	"inputs3", "series", "threads/jdk-matrix", "why",
}

// file is one of the collection.
type file struct {
	name    string
	content []byte
	time    time.Time
}

// ownFiles are the files of own, by name.
func ownFiles(t *testing.T, root string) (files []file) {
	t.Helper()
	for _, part := range own {
		err := filepath.WalkDir(filepath.Join(root, part), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(root, path)
			info, unknown := d.Info()
			content, unread := os.ReadFile(path)
			if err := errors.Join(err, unknown, unread); err != nil {
				return err
			}
			files = append(files, file{filepath.ToSlash(name), content, info.ModTime()})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files
}

// pack writes corpus.tar.zst.
func pack(t *testing.T, files []file) {
	t.Helper()
	var packed bytes.Buffer
	z, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(z)
	for _, f := range files {
		err := archive.WriteHeader(&tar.Header{Name: f.name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(f.content)), ModTime: f.time})
		_, failed := archive.Write(f.content)
		if err := errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), z.Close(), os.WriteFile("corpus.tar.zst", packed.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// TestTheArchiveHoldsOurPartsOfTheCollection compares content; times of a copy may differ.
func TestTheArchiveHoldsOurPartsOfTheCollection(t *testing.T) {
	root, here := collection()
	if !here {
		LeaveOut(t, "the collection is not here (%s names its folder), no package has it", variable)
	}
	files := ownFiles(t, root)
	if *update {
		pack(t, files)
	}
	want := map[string][]byte{}
	for _, f := range files {
		want[f.name] = f.content
	}
	content, err := os.ReadFile("corpus.tar.zst")
	if err != nil {
		t.Fatal(err)
	}
	if most := 3 << 20; len(content) > most {
		t.Errorf("the archive has %d bytes, more than %d", len(content), most)
	}
	dir := t.TempDir()
	if err := unpack(content, dir); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		got, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		name = filepath.ToSlash(name)
		if expected, known := want[name]; !known || !bytes.Equal(got, expected) {
			t.Errorf("%s is not that of the collection", name)
		}
		delete(want, name)
		return err
	})
	for name := range want {
		t.Errorf("%s is not in the archive: run with -update", name)
	}
	if err != nil {
		t.Error(err)
	}
}

func TestUnpackingKeepsTimesAndFailsWhereTheArchiveIsCut(t *testing.T) {
	archive, err := os.ReadFile("corpus.tar.zst")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := zstd.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	dir := t.TempDir()
	if err := unpack(archive, dir); err != nil {
		t.Fatal(err)
	}
	count := 0
	for files := tar.NewReader(plain); ; count++ {
		h, err := files.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(dir, h.Name)); err != nil || !info.ModTime().Equal(h.ModTime) || info.Size() != h.Size {
			t.Fatalf("%s: %v, %v", h.Name, info, err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" {
			t.Errorf("%s belongs to %d:%d %s", h.Name, h.Uid, h.Gid, h.Uname)
		}
	}
	if count == 0 {
		t.Error("the archive is empty")
	}
	if err := unpack(archive[:len(archive)/2], t.TempDir()); err == nil {
		t.Error("half an archive is unpacked without an error")
	}
}
