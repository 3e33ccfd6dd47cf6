package goroutine_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/samples/corpus"
)

// expectation is a row of EXPECTED.tsv.
type expectation struct {
	path, format, goroutines string
}

func expectations(t testing.TB) []expectation {
	t.Helper()
	data, err := os.ReadFile(corpus.Path(t, "EXPECTED.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []expectation
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		rows = append(rows, expectation{cells[0], cells[1], cells[2]})
	}
	return rows[1:]
}

// open returns the content of a corpus file; text in gzip is unpacked.
func open(t testing.TB, path string) io.Reader {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if strings.HasSuffix(path, ".gz") && !strings.HasSuffix(path, ".pb.gz") {
		unzipped, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		return unzipped
	}
	return f
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := io.ReadAll(open(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// parsed is everything that a text gave.
type parsed struct {
	goroutine.Dump
	list     []goroutine.Goroutine
	problems []analysis.Problem
}

func parseText(t testing.TB, r io.Reader) parsed {
	t.Helper()
	var out parsed
	var err error
	out.Dump, out.problems, err = goroutine.ParseText(r, goroutine.Config{Path: "dump"}, func(g *goroutine.Goroutine) error {
		kept := *g
		kept.Body, kept.Ancestors = nil, nil // valid during the callback only
		out.list = append(out.list, kept)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func parseBytes(t testing.TB, data []byte) parsed {
	t.Helper()
	return parseText(t, bytes.NewReader(data))
}

// wrapped are the disguises that are taken off before parsing.
var wrapped = []string{
	"cri.log", "docker-json.log", "journald-iso.txt", "json-escaped-field.json",
	"kubectl-timestamps.txt", "utf16le.txt", "containerd-log-line-escaped.txt",
}

func TestEveryExpectedCountIsFound(t *testing.T) {
	for _, row := range expectations(t) {
		if !strings.HasPrefix(row.path, "goroutine/") && !strings.HasPrefix(row.path, "large/") ||
			slices.Contains(wrapped, filepath.Base(row.path)) || !corpus.Has(t, row.path) {
			continue
		}
		t.Run(row.path, func(t *testing.T) {
			if strings.HasPrefix(row.path, "large/") && strings.HasSuffix(row.path, ".gz") {
				corpus.Heavy(t)
			}
			path := corpus.Path(t, row.path)
			switch {
			case row.format == "pprof proto":
				checkProto(t, path, row)
			case row.format == "debug=1":
				checkDebug1(t, path, row)
			default:
				checkText(t, path, row)
			}
		})
	}
}

func checkText(t *testing.T, path string, row expectation) {
	var maxID int64
	visited := 0
	dump, problems, err := goroutine.ParseText(open(t, path), goroutine.Config{}, func(g *goroutine.Goroutine) error {
		visited++
		maxID = max(maxID, g.ID)
		if g.Stack == nil || g.State == "" || g.Length <= 0 || g.Line <= 0 {
			t.Errorf("goroutine %d lacks something: %+v", g.ID, g)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	if row.goroutines != "-" {
		want = atoi(t, row.goroutines)
	}
	if dump.Headers != want || visited != want {
		t.Errorf("got %d headers, %d visited, want %d", dump.Headers, visited, want)
	}
	if dump.MaxID != maxID || dump.Goroutines+dump.System+dump.Zero != dump.Headers {
		t.Errorf("the dump does not add up: %+v", dump)
	}
	if got, want := dump.Truncated, strings.HasSuffix(row.format, ", cut"); got != want {
		t.Errorf("got truncated %v (%s), want %v", got, dump.TruncatedWhy, want)
	}
	if row.format == "race detector report" && (dump.Race != 2 || len(problems) == 0) {
		t.Errorf("got %d race reports and problems %v, want 2 and a note", dump.Race, problems)
	}
	if got, want := dump.Form == goroutine.FormCrash, strings.Contains(row.format, "crash"); got != want && !knownCrash[filepath.Base(path)] {
		t.Errorf("got form %q for %q", dump.Form, row.format)
	}
	for _, p := range problems {
		if strings.Contains(p.What, "not understood") && !loglines[filepath.Base(path)] {
			t.Errorf("line %d was not understood", p.Line)
		}
	}
}

// knownCrash are crashes that EXPECTED.tsv lists by their text form.
var knownCrash = map[string]bool{
	"scone-gccgo-excerpt.md": true, "syncthing-panic.log": true,
}

// loglines are files with foreign lines inside blocks.
var loglines = map[string]bool{}

func checkDebug1(t *testing.T, path string, row expectation) {
	sum := 0
	got, problems, err := debug1(open(t, path), goroutine.Config{}, func(r *goroutine.Record) error {
		sum += r.Count
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := atoi(t, row.goroutines); got.Total != want || got.Sum != want || sum != want {
		t.Errorf("got total %d, sum %d, visited %d, want %d", got.Total, got.Sum, sum, want)
	}
	if got.Truncated || len(problems) > 0 {
		t.Errorf("got truncated %v, problems %v, want none", got.Truncated, problems)
	}
}

func checkProto(t *testing.T, path string, row expectation) {
	sum := 0
	got, problems, err := goroutine.ParseProto(open(t, path), goroutine.Config{}, func(r *goroutine.Record) error {
		sum += r.Count
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := atoi(t, row.goroutines); got.Total != want || got.Sum != want || sum != want {
		t.Errorf("got total %d, sum %d, visited %d, want %d", got.Total, got.Sum, sum, want)
	}
	if got.Executable == "" || got.Time.IsZero() || len(problems) > 0 {
		t.Errorf("got executable %q, time %v, problems %v", got.Executable, got.Time, problems)
	}
}

func atoi(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// truth is what expected.json says about one series of dumps.
type truth struct {
	Process   string
	Snapshots []string
	Totals    struct{ Goroutines analysis.Counts }
	MaxID     []int64         `json:"max_goroutine_id"`
	Growing   []familyOfTruth `json:"growing"`
	Others    []familyOfTruth `json:"must_not_be_called_leaking"`
}

type familyOfTruth struct {
	Kind      string
	Contains  []string
	CreatedBy string `json:"created_by"`
	Counts    analysis.Counts
}

func TestSeriesHoldWhatTheirTruthTells(t *testing.T) {
	truths, err := filepath.Glob(corpus.Path(t, "series", "*", "expected*.json"))
	if err != nil {
		t.Fatal(err)
	}
	dumps, families := 0, 0
	for _, path := range truths {
		var truth truth
		if err := json.Unmarshal(read(t, path), &truth); err != nil {
			t.Fatal(err)
		}
		for i, want := range truth.Totals.Goroutines {
			if !want.Known() {
				continue
			}
			dumps++
			file := seriesDump(t, filepath.Join(filepath.Dir(path), truth.Snapshots[i], truth.Process))
			got := parseText(t, open(t, file))
			if got.Headers != want.N || got.Goroutines != want.N || got.Truncated || len(got.problems) > 0 {
				t.Errorf("%s: got %+v, problems %v, want %d goroutines", file, got.Dump, got.problems, want.N)
			}
			if len(truth.MaxID) > i && got.MaxID != truth.MaxID[i] {
				t.Errorf("%s: got max id %d, want %d", file, got.MaxID, truth.MaxID[i])
			}
			if n := dumpers(got.list); n != 1 {
				t.Errorf("%s: got %d dumpers, want 1", file, n)
			}
			for _, family := range slices.Concat(truth.Growing, truth.Others) {
				if family.Kind != "goroutine" || !family.Counts[i].Known() {
					continue
				}
				families++
				if n := family.members(got.list); n != family.Counts[i].N {
					t.Errorf("%s: got %d of %v by %q, want %d", file, n, family.Contains, family.CreatedBy, family.Counts[i].N)
				}
			}
		}
	}
	if dumps < 39 || families < 200 {
		t.Errorf("only %d dumps and %d families were compared", dumps, families)
	}
}

// members counts as corpus/README.md says that the truth was counted.
func (f familyOfTruth) members(list []goroutine.Goroutine) (n int) {
	for _, g := range list {
		if f.CreatedBy != "" && g.Stack.CreatedBy.Func != f.CreatedBy {
			continue
		}
		missing := slices.ContainsFunc(f.Contains, func(name string) bool {
			return !slices.ContainsFunc(g.Stack.Frames, func(frame analysis.Frame) bool { return frame.Func == name })
		})
		if !missing {
			n++
		}
	}
	return n
}

// seriesDump finds the debug=2 text of a snapshot, which one series names after
// its process.
func seriesDump(t *testing.T, dir string) string {
	t.Helper()
	for _, pattern := range []string{"goroutine-debug2.txt", "p[12]-t[0-9].txt"} {
		if found, _ := filepath.Glob(filepath.Join(dir, pattern)); len(found) == 1 {
			return found[0]
		}
	}
	t.Fatalf("no dump in %s", dir)
	return ""
}

func dumpers(list []goroutine.Goroutine) (n int) {
	for _, g := range list {
		if g.Dumper {
			n++
		}
	}
	return n
}
