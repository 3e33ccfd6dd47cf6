package bundle_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/read/bundle"
)

// visits returns everything that a visitor sees of each member, and the problems.
func visits(t *testing.T, inputs ...bundle.Input) (out []string) {
	t.Helper()
	stats, problems, err := bundle.Walk(t.Context(), testConfig(t), inputs, func(m *bundle.Member) error {
		peeked := bytes.Clone(m.Peek(20))
		body, err := io.ReadAll(m.Body)
		again, _ := m.Body.Read(make([]byte, 1))
		out = append(out, fmt.Sprintf("%s %s %q %s whole %t, %t, cut %t, peek %q, head %x, body %x, %v, %d", m.Path, m.Type, m.Compressed, m.Encoding,
			m.Whole(), len(m.Head) == len(body), m.Truncated(), peeked, m.Head, body, err, again))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	for _, p := range problems {
		out = append(out, fmt.Sprintf("%s: %s, %s", p.Path, p.What, p.Why))
	}
	return append(out, fmt.Sprint(stats.Files, stats.BytesOut))
}

// TestFilesOfATarAreVisitedLikeLooseOnes compares the short way of small entries with
// that of inputs.
func TestFilesOfATarAreVisitedLikeLooseOnes(t *testing.T) {
	files := map[string][]byte{
		"7": []byte("pos:\t0\nflags:\t02\n"), "empty": nil, "one": []byte("x"), "bom": []byte("\xef\xbb\xbfpos:\t0\n"),
		"utf16": []byte("\xff\xfep\x00o\x00"), "bare16": []byte(strings.Repeat("a\x00", 40)), "bytes": {0, 1, 2, 0x80},
		"7z": []byte("7z\xbc\xaf\x27\x1c rest"), "tail.zip": []byte("no archive"), "inside": []byte("x PK\x03\x04 y"), "key.gpg": {0x85, 1},
		"block": bytes.Repeat([]byte("0123456789abcdef"), 32), "long": bytes.Repeat([]byte("y"), 64<<10), "almost": bytes.Repeat([]byte("z"), 64<<10-1),
	}
	for name, pack := range packers(t) {
		files["packed."+name] = pack([]byte("goroutine 1 [running]:\n"))
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	var loose []bundle.Input
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		loose = append(loose, memory(name, content))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, want := visits(t, memory("all.tar", archive.Bytes())), visits(t, loose...)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-loose +tar):\n%.4000s", diff)
	}
}
