package ingest

import (
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/samples/corpus"
)

// countable is a file of the collection of which a person counted the members.
type countable struct {
	path string
	kind analysis.Kind
	want int
	text string
}

// countables are the files of EXPECTED.tsv that are text, small, and hold one snapshot. In
// logs the first header is found by its words: without them there is no dump to miss.
// Stacks of gccgo have neither brackets nor tabs to be known by.
func countables(t testing.TB) (files []countable) {
	root := corpus.Path(t)
	table, err := os.ReadFile(path.Join(root, "EXPECTED.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := []analysis.Kind{analysis.KindGoroutine, analysis.KindThread, analysis.KindDescriptor, analysis.KindWatch}
	for line := range strings.SplitSeq(strings.TrimSpace(string(table)), "\n") {
		row := strings.Split(line, "\t")
		for i, kind := range kinds {
			want, err := strconv.Atoi(row[2+i])
			if err != nil || want < 3 {
				continue
			}
			text, err := os.ReadFile(path.Join(root, row[0]))
			if err != nil || strings.Contains(row[0], "gccgo") || strings.HasPrefix(row[0], "bundles/") || strings.HasPrefix(row[0], "goroutine/prefixed/") || len(text) > 128<<10 || slices.Contains(text, 0) || strings.HasPrefix(string(text), "\x1f\x8b") {
				continue
			}
			files = append(files, countable{row[0], kind, want, string(text)})
		}
	}
	return files
}

// seen reads one file, and counts the members of a kind, those that were refused, and
// whether anything warns that some are missing.
func seen(t testing.TB, dir, name, text string, kind analysis.Kind) (members, refused int, warned bool) {
	r, err := Run(t.Context(), Config{Bundle: bundle.Config{TempDir: dir}}, []bundle.Input{{Name: name, Size: int64(len(text)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}})
	if err != nil {
		return 0, 0, true // the file as a whole was refused, in words
	}
	for _, s := range r.Snapshots {
		if n := s.Totals.Of(kind); n != nil {
			members += *n
		}
		refused += s.Refused
	}
	problems := r.Problems
	for _, s := range r.Snapshots {
		problems = append(problems, s.Problems...)
	}
	return members, refused, slices.ContainsFunc(problems, func(p analysis.Problem) bool { return p.Severity != analysis.Note })
}

// cuts are what comes between the lines of a file, or over them.
var cuts = []string{"2026/11/21 03:00:00 slow", "\x00\x01", "goroutine", "--More--(43%)", `{"level":"info"}`, "Terminated"}

// TestNoMemberOfAnyFormatIsLostInSilence damages a line of a file: where fewer members are
// read than a person counted, a warning says so. Its first fifth may hold what its form is known by.
func TestNoMemberOfAnyFormatIsLostInSilence(t *testing.T) {
	var files []countable
	dir := t.TempDir()
	for _, f := range countables(t) {
		if n, _, _ := seen(t, dir, path.Base(f.path), f.text, f.kind); n == f.want {
			files = append(files, f)
		}
	}
	least := 200
	if !corpus.Has(t, "bundles") {
		least = 150 // of our own
	}
	if len(files) < least {
		t.Fatalf("%d files to damage", len(files))
	}
	rapid.Check(t, func(rt *rapid.T) {
		f := rapid.SampledFrom(files).Draw(rt, "file")
		lines := strings.SplitAfter(strings.TrimLeft(f.text, "\r\n"), "\n")
		var open []int // by its last function a goroutine is one of the runtime, which are not counted
		for i := len(lines) / 5; i < len(lines); i++ {
			if !strings.HasPrefix(lines[i], "runtime.") {
				open = append(open, i)
			}
		}
		at := rapid.SampledFrom(open).Draw(rt, "line")
		line := strings.TrimSuffix(lines[at], "\n")
		damages := []string{"cut", "garble"}
		if !strings.Contains(f.text, "panic: ") { // the value of a panic may hold any lines
			damages = append(damages, "insert")
		}
		switch rapid.SampledFrom(damages).Draw(rt, "damage") {
		case "cut":
			line = line[:rapid.IntRange((len(line)+1)/2, len(line)).Draw(rt, "kept")] + "\n"
		case "insert":
			line = rapid.SampledFrom(cuts).Draw(rt, "cut") + "\n" + line + "\n"
		case "garble":
			i := rapid.IntRange(0, len(line)).Draw(rt, "at")
			line = line[:i] + rapid.SampledFrom(cuts).Draw(rt, "cut") + line[i:] + "\n"
		}
		text := strings.Join(lines[:at], "") + line + strings.Join(lines[at+1:], "")
		if members, refused, warned := seen(t, dir, path.Base(f.path), text, f.kind); members < f.want && !warned {
			rt.Fatalf("%s: %d and %d refused of %d after line %d became %q", f.path, members, refused, f.want, at+1, line)
		}
	})
}
