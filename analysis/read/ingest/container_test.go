package ingest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/samples/corpus"
)

// capturedFile is one file of a capture, with its time as a directory has it.
type capturedFile struct {
	name     string
	content  []byte
	modified time.Time
}

// unpackedAt is a moment at which all files of a checkout came to be.
var unpackedAt = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// filesBelow reads a directory into memory, all files with the time of a checkout.
func filesBelow(t testing.TB, dir string) []capturedFile {
	t.Helper()
	var out []capturedFile
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(dir, name)
		out = append(out, capturedFile{filepath.ToSlash(below), content, unpackedAt})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// filesIn reads a tar archive into memory, packed by gzip.
func filesIn(t testing.TB, name string) []capturedFile {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []capturedFile
	for archive := tar.NewReader(unpacked); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, capturedFile{h.Name, content, unpackedAt})
	}
}

func given(name string, content []byte) bundle.Input {
	return bundle.Input{Name: name, Size: int64(len(content)), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

// inDirectory returns the files as a named directory does.
func inDirectory(files []capturedFile) []bundle.Input {
	var out []bundle.Input
	for _, f := range files {
		in := given(f.name, f.content)
		in.ModTime = f.modified
		out = append(out, in)
	}
	return out
}

func tarOf(t testing.TB, top string, files []capturedFile) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, f := range files {
		if err := archive.WriteHeader(&tar.Header{Name: path.Join(top, f.name), Mode: 0o600, Size: int64(len(f.content)), ModTime: f.modified, Format: tar.FormatPAX}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(f.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func gzipOf(t testing.TB, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipOf(t testing.TB, top string, files []capturedFile) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, f := range files {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: path.Join(top, f.name), Method: zip.Deflate, Modified: f.modified})
		if err == nil {
			_, err = w.Write(f.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// containers are the ways in which people hand in the files of one capture.
func containers(t testing.TB, files []capturedFile) map[string][]bundle.Input {
	packed, note := gzipOf(t, tarOf(t, "lab", files)), given("found.json", []byte("{}\n"))
	return map[string][]bundle.Input{
		"a directory":                   inDirectory(files),
		"a tar":                         {given("lab.tar", tarOf(t, "", files))},
		"a tar with a top directory":    {given("lab.tar", tarOf(t, "lab", files))},
		"a packed tar":                  {given("lab.tar.gz", packed)},
		"a zip":                         {given("lab.zip", zipOf(t, "", files))},
		"a zip with a top directory":    {given("lab.zip", zipOf(t, "lab", files))},
		"a packed tar in a directory":   {given("lab.tar.gz", packed), note},
		"a zip in a directory":          {given("lab.zip", zipOf(t, "lab", files)), note},
		"a packed tar in a zip":         {given("outer.zip", zipOf(t, "", []capturedFile{{"lab.tar.gz", packed, unpackedAt}, {"found.json", []byte("{}\n"), unpackedAt}}))},
		"a packed tar in a tar, deeper": {given("outer.tar", tarOf(t, "", []capturedFile{{"a/b/lab.tar.gz", packed, unpackedAt}, {"a/b/found.json", []byte("{}\n"), unpackedAt}}))},
	}
}

// said is all of a snapshot that the container must not change.
func said(s *analysis.Snapshot) string {
	out := fmt.Sprintf("%s %s of %q pid %s %q", s.ID, s.Process.Name.Value, s.Process.Host.Value, s.Process.PID.Value, s.Label)
	for _, k := range analysis.Kinds() {
		if n := s.Totals.Of(k); n != nil {
			out += fmt.Sprintf(" %d %s", *n, k)
		}
	}
	for _, g := range s.Groups {
		out += fmt.Sprintf("\n\t%s %d", g.Family.Fingerprint, g.Count)
	}
	return out
}

func TestTheSameFilesGiveTheSameSnapshotsWhateverTheyArePackedIn(t *testing.T) {
	corpus.Heavy(t)
	captures := map[string][]capturedFile{}
	samples, err := filepath.Glob("../../../samples/*/*.tar.gz")
	if err != nil || len(samples) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, name := range samples {
		captures["sample "+strings.TrimSuffix(path.Base(name), ".tar.gz")] = filesIn(t, name)
	}
	if root, here := corpus.Root(t); here {
		series, err := filepath.Glob(filepath.Join(root, "series", "*"))
		if err != nil || len(series) == 0 {
			t.Fatalf("no series: %v", err)
		}
		for _, dir := range series {
			captures["series "+path.Base(dir)] = filesBelow(t, dir)
		}
	}
	for name, files := range captures {
		t.Run(name, func(t *testing.T) {
			var want []string
			all := containers(t, files)
			for _, container := range append([]string{"a directory"}, sortedKeys(all)...) {
				r, err := Run(t.Context(), Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, all[container])
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for i := range r.Snapshots {
					s := &r.Snapshots[i]
					got = append(got, said(s))
					if strings.HasPrefix(s.TimeFact.Source, "file time") {
						t.Errorf("%s: %s is dated %s by the time of an unpacking", container, s.Label, s.CapturedAt)
					}
				}
				if want == nil {
					want = got
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-as a directory +so):\n%s", container, diff)
				}
			}
		})
	}
}
