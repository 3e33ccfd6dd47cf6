//go:build linux

package capture_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"leakdiff/cmd/leakdiff/capture"
)

// changed writes an archive again after a change of its members.
func changed(t *testing.T, file string, change func(map[string]string)) string {
	t.Helper()
	all := members(t, file)
	change(all)
	name := filepath.Join(t.TempDir(), "changed.tar.gz")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := gzip.NewWriter(f)
	out := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		h := &tar.Header{Name: name, Mode: 0o600, ModTime: time.Now(), Size: int64(len(all[name]))}
		target, link := strings.CutPrefix(all[name], "-> ")
		if link {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, target, 0
		}
		if err := out.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if !link {
			if _, err := out.Write([]byte(all[name])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestAFileThatWasChangedAfterTheCaptureIsNoticed(t *testing.T) {
	for _, by := range takers(t) {
		t.Run(by.name, func(t *testing.T) {
			p, about := server(t)
			file := by.take(t, one(p.pid(), about.Address))
			if lost := problems(read(t, file)); len(lost) > 0 {
				t.Fatalf("as it was: %q", lost)
			}
			cases := []struct {
				name, file, want string
				change           func(string) string
			}{
				{"a changed file", "limits", "differs from what was captured", func(s string) string { return strings.Replace(s, "files", "filez", 1) }},
				{"a changed dump", "goroutine.debug2.txt", "differs from what was captured", func(s string) string { return s + "\n" }},
				{"a changed descriptor", "fdinfo/0", "differs from what was captured", func(s string) string { return strings.Replace(s, "pos:\t0", "pos:\t7", 1) }},
				{"a changed link", "fd/0", "differs from what was captured", func(string) string { return "-> /dev/full" }},
				{"a missing file", "mountinfo", "mountinfo is missing", nil},
			}
			if by.isScript() {
				cases[2].file, cases[3].file = "fdinfo.txt", "fd.txt"
				cases[3].change = func(s string) string { return strings.Replace(s, "0 -> ", "0 -> /dev/full", 1) }
			}
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					r := read(t, changed(t, file, func(all map[string]string) {
						for name, text := range all {
							if !strings.HasSuffix(name, "/"+c.file) {
								continue
							}
							if c.change == nil {
								delete(all, name)
								continue
							}
							if all[name] = c.change(text); all[name] == text {
								t.Fatalf("%s did not change: %q", name, text)
							}
						}
					}))
					if lost := problems(r); len(lost) != 1 || !strings.Contains(lost[0], c.want) {
						t.Errorf("problems %q, want one with %q", lost, c.want)
					}
				})
			}
		})
	}
}

func TestEveryFileIsInTheManifestWithItsTime(t *testing.T) {
	for _, by := range takers(t) {
		t.Run(by.name, func(t *testing.T) {
			p, about := server(t)
			before := time.Now().Add(-2 * time.Second)
			all := members(t, by.take(t, one(p.pid(), about.Address)))
			var m capture.Manifest
			dir := ""
			for name, text := range all {
				if path.Base(name) == "manifest.json" {
					dir = path.Dir(name)
					if err := json.Unmarshal([]byte(text), &m); err != nil {
						t.Fatalf("%v: %s", err, text)
					}
				}
			}
			if m.Schema != capture.Schema || m.Process.PID != p.pid() || m.Rounds != 1 {
				t.Fatalf("manifest %+v", m)
			}
			named := map[string]bool{dir + "/manifest.json": true}
			for _, s := range m.Steps {
				if s.Status == capture.Done && (s.File == "" || len(s.SHA256) != 64) {
					t.Errorf("step %+v has no file or hash", s)
				}
				if s.At.Before(before) || s.At.After(time.Now()) {
					t.Errorf("step %s began at %v", s.Name, s.At)
				}
				named[path.Join(dir, s.File)] = true
			}
			for name := range all {
				if !strings.HasSuffix(name, "/") && !named[name] && !named[path.Dir(name)] {
					t.Errorf("%s is in no step of the manifest", name)
				}
			}
		})
	}
}

func TestPartsOfAnArchiveAreWholeAndCanBeJoined(t *testing.T) {
	dir := t.TempDir()
	var parts []io.Reader
	read := func(in io.Reader) (names []string) {
		t.Helper()
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(unpacked)
		if err != nil {
			t.Fatal(err)
		}
		if zeros := make([]byte, 1024); !bytes.HasSuffix(all, zeros) || bytes.Count(all, zeros) != 1 {
			t.Errorf("%d ends of a tar", bytes.Count(all, zeros))
		}
		in = bytes.NewReader(all)
		for files := tar.NewReader(in); ; {
			h, err := files.Next()
			if err == io.EOF {
				return names
			}
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, h.Name)
		}
	}
	for _, name := range []string{"a", "b"} {
		a, err := capture.NewPart(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Put(name, []byte("text of "+name)); err != nil {
			t.Fatal(err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || info.Size() != a.Size() {
			t.Errorf("%v, %d bytes of %d", err, a.Size(), info.Size())
		}
		if got := read(f); len(got) != 1 || got[0] != name {
			t.Errorf("part %s has %q", name, got)
		}
		part, err := capture.PartOf(f)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	if got := read(capture.JoinParts(parts...)); len(got) != 2 || got[0] != "a" || got[1] != "b" {
		t.Errorf("both have %q", got)
	}
	if got := read(capture.JoinParts()); len(got) != 0 {
		t.Errorf("nothing has %q", got)
	}
}
