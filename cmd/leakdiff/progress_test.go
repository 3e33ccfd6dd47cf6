package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
)

func TestProgressCountsWhatIsReadOfAllInputs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 3_000), 0o600); err != nil {
		t.Fatal(err)
	}
	inputs := []bundle.Input{
		{Size: 3_000, Open: func() (io.ReadCloser, error) { return os.Open(path) }},
		{Size: 1_000, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(make([]byte, 1_000))), nil }},
		{Link: "elsewhere"},
	}
	p := &progress{word: "reading", after: "read, comparing"}
	p.watch(inputs)
	p.done = make(chan struct{})
	p.step(ingest.Progress{Files: 7})
	body, err := inputs[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	at, ok := body.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		t.Fatal("a file cannot be read in place: zip archives would be copied")
	}
	if _, err := at.ReadAt(make([]byte, 1_000), 2_000); err != nil {
		t.Fatal(err)
	}
	if got, want := p.line(), "reading ["+strings.Repeat("#", 7)+strings.Repeat(" ", 23)+"]  25 %, 1.0 kB of 4.0 kB, 7 files"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if n, err := io.Copy(io.Discard, body); n != 3_000 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if got, want := p.line(), "read, comparing, 4.0 kB, 7 files"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestProgressOfStandardInputHasNoTotal(t *testing.T) {
	inputs := []bundle.Input{{Size: -1, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("four")), nil }}}
	p := &progress{word: "reading"}
	p.watch(inputs)
	body, err := inputs[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(body); err != nil {
		t.Fatal(err)
	}
	if got := p.line(); got != "reading 4 B" {
		t.Errorf("got %q", got)
	}
}

func TestNothingButATerminalShowsProgressOrColours(t *testing.T) {
	m := &Main{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}
	bar := m.progress("reading", "read", nil)
	bar.step(ingest.Progress{})
	bar.end()
	if m.colored() || bar.done != nil {
		t.Error("a buffer is taken for a terminal")
	}
}
