package bundle_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
)

// file is what a visit saw of one member.
type file struct {
	bundle.Member
	content   []byte
	truncated bool
	err       error
}

// walked is everything a walk gave.
type walked struct {
	files    []file
	problems []analysis.Problem
	stats    bundle.Stats
	err      error
}

func (w walked) paths() []string {
	var out []string
	for _, f := range w.files {
		out = append(out, f.Path)
	}
	return out
}

func (w walked) file(t *testing.T, path string) file {
	t.Helper()
	for _, f := range w.files {
		if f.Path == path {
			return f
		}
	}
	t.Fatalf("no member %q, only %q; problems %v", path, w.paths(), w.listing())
	return file{}
}

// listing is the problems for a failure message, the first ones only.
func (w walked) listing() []string {
	var out []string
	for _, p := range w.problems[:min(len(w.problems), 5)] {
		out = append(out, p.Path+": "+p.What+" ("+p.Why+")")
	}
	return out
}

// says reports whether a problem's words contain all of these.
func (w walked) says(words ...string) bool {
	for _, p := range w.problems {
		text := p.Path + ": " + p.What + " " + p.Why + " " + p.Hint
		all := true
		for _, word := range words {
			all = all && strings.Contains(text, word)
		}
		if all {
			return true
		}
	}
	return false
}

var testNow = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func testConfig(t testing.TB) bundle.Config {
	return bundle.Config{TempDir: t.TempDir(), Now: func() time.Time { return testNow }}
}

func memory(name string, content []byte) bundle.Input {
	return bundle.Input{Name: name, Size: int64(len(content)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}}
}

// walk reads every member wholly.
func walk(t testing.TB, cfg bundle.Config, inputs ...bundle.Input) walked {
	t.Helper()
	var out walked
	out.stats, out.problems, out.err = bundle.Walk(context.Background(), cfg, inputs, func(m *bundle.Member) error {
		content, err := io.ReadAll(m.Body)
		if err != nil {
			return err
		}
		f := file{Member: *m, content: content, truncated: m.Truncated(), err: m.Err()}
		f.Head = bytes.Clone(m.Head)
		out.files = append(out.files, f)
		return nil
	})
	for _, p := range out.problems {
		whole := p.Path == "" && strings.HasSuffix(p.What, "more problems are not listed")
		if p.What == "" || p.Why == "" || p.Hint == "" || p.Severity == "" || p.Path == "" && !whole {
			t.Errorf("a problem does not say what, where, why and what to do: %+v", p)
		}
	}
	if left, _ := os.ReadDir(cfg.TempDir); len(left) > 0 {
		t.Errorf("temporary files were left behind: %v", left)
	}
	return out
}

// onDisk is an input as the command line and a plain blob store make them.
func onDisk(path string) bundle.Input {
	return bundle.Input{Name: filepath.Base(path), Size: -1, Open: func() (io.ReadCloser, error) { return os.Open(path) }}
}

// streamed is an input as a packed blob store makes them: no random access.
func streamed(path string) bundle.Input {
	return bundle.Input{Name: filepath.Base(path), Size: -1, Open: func() (io.ReadCloser, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		return struct{ io.ReadCloser }{f}, nil
	}}
}

func headers(content []byte) int {
	n := 0
	for line := range bytes.Lines(content) {
		line = bytes.TrimRight(line, "\r\n")
		if bytes.HasPrefix(line, []byte("goroutine ")) && bytes.HasSuffix(line, []byte("]:")) {
			n++
		}
	}
	return n
}

var errVisit = errors.New("visit failed")

func TestAnArchiveOfDirectoriesAloneIsSaidToHoldNoFiles(t *testing.T) {
	for name, content := range map[string][]byte{
		"x.tar":    tarred(t, entry{"a/", ""}, entry{"a/b/", ""}),
		"x.tar.gz": gzipped(t, bytes.NewReader(tarred(t, entry{"a/", ""}))),
		"x.zip":    zipped(t, entry{"a/", ""}, entry{"a/b/", ""}),
	} {
		if w := walk(t, testConfig(t), memory(name, content)); len(w.files) > 0 || !w.says("the archive is empty", "it holds no files") {
			t.Errorf("%s: %q, %q", name, w.paths(), w.listing())
		}
	}
}
