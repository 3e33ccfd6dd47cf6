package envelope_test

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/samples/corpus"
)

// analysed is the result of analysing one file alone.
func analysed(t *testing.T, text string) ingest.Result {
	t.Helper()
	in := bundle.Input{Name: "x", Size: int64(len(text)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
	cfg := ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}, Now: func() time.Time { return begin.Add(48 * time.Hour) }}
	r, err := ingest.Run(t.Context(), cfg, []bundle.Input{in})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ingested is the result for a file with one dump: its kind, the goroutines of its one
// snapshot, and their time.
func ingested(t *testing.T, text string) (kind string, goroutines int, at time.Time) {
	t.Helper()
	r := analysed(t, text)
	if len(r.Snapshots) != 1 || len(r.Artifacts) != 1 || r.Snapshots[0].Totals.Goroutines == nil {
		t.Fatalf("got %d snapshots of %+v", len(r.Snapshots), r.Artifacts)
	}
	return r.Artifacts[0].Kind, *r.Snapshots[0].Totals.Goroutines, r.Snapshots[0].CapturedAt
}

// TestEveryFormIsToldFromAPlainDump is TestEveryFormGivesThePlainDumpBack for a file
// that is not known to be wrapped. A file that is taken for a plain dump loses each
// goroutine whose header follows a prefix.
func TestEveryFormIsToldFromAPlainDump(t *testing.T) {
	t.Parallel()
	for dump, plain := range plains(t) {
		_, want, _ := ingested(t, plain)
		for _, w := range wrappers {
			if w.logged && !strings.HasPrefix(plain, "goroutine ") {
				continue
			}
			t.Run(dump+"/"+w.name, func(t *testing.T) {
				kind, got, at := ingested(t, w.wrap(plain))
				if got != want {
					t.Errorf("it is a %s of %d goroutines, want %d", kind, got, want)
				}
				if off := begin.Sub(at); w.timed && (off < 0 || off > time.Second) {
					t.Errorf("it is a %s of %v, want the time of its first line", kind, at)
				}
			})
		}
	}
}

// families are the snapshots of one file that have goroutines, one in a line: of each
// family the exact stacks, and of each member id, parent, state and wait.
func families(t *testing.T, text string) (out []string) {
	t.Helper()
	for _, s := range analysed(t, text).Snapshots {
		if s.Totals.Goroutines == nil {
			continue
		}
		var groups []string
		for _, g := range s.Groups {
			var parts []string
			for _, v := range g.Variants {
				parts = append(parts, fmt.Sprintf("%d x %v < %v", v.Count, v.Stack.Frames, v.Stack.CreatedBy))
			}
			for i := range g.Members.Len() {
				m := g.Members.At(i)
				parts = append(parts, fmt.Sprintf("%d of %d %s %d", m.Identity.ID, m.Parent, m.State, m.Wait))
			}
			slices.Sort(parts)
			groups = append(groups, g.Family.Fingerprint+": "+strings.Join(parts, ", "))
		}
		slices.Sort(groups)
		out = append(out, fmt.Sprintf("%d goroutines: %s", *s.Totals.Goroutines, strings.Join(groups, "; ")))
	}
	slices.Sort(out)
	return out
}

// TestALogGivesTheFamiliesOfThePlainFile has every text of the generators as it is and
// in logs: dumps, crashes, dumps with a crash after them, the text that Go prints
// around them.
func TestALogGivesTheFamiliesOfThePlainFile(t *testing.T) {
	t.Parallel()
	compared := 0
	for _, dir := range []string{"gen", "signals", "states"} {
		files, err := filepath.Glob(corpus.Path(t, "goroutine", dir, "*.txt"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data := content(t, file)
			if len(data) > 1<<20 || !utf8.Valid(data) || bytes.Count(data, []byte("goroutine ")) < 3 {
				continue
			}
			if filepath.Base(file) == "gccgo12-debug2.txt" {
				continue // a profile stands between its dumps, which a plain text of dumps passes over
			}
			compared++
			plain := strings.TrimRight(string(data), "\n") + "\n"
			want := families(t, plain)
			for _, w := range wrappers {
				if w.name != "CRI" && w.name != "docker JSON" && w.name != "kubectl --prefix" {
					continue
				}
				if diff := cmp.Diff(want, families(t, w.wrap(plain))); diff != "" {
					t.Errorf("%s plain (-) and in %s (+):\n%s", file, w.name, diff)
				}
			}
		}
	}
	if compared < 80 {
		t.Errorf("only %d files were compared", compared)
	}
}

// TestAProgramsWordsOnASignalDivideNoDump has a line in the middle of a dump that a program
// prints when it is told to end, and Go never.
func TestAProgramsWordsOnASignalDivideNoDump(t *testing.T) {
	block := func(i int) string {
		return fmt.Sprintf("goroutine %d [select]:\nmain.run(0x%x)\n\t/src/main.go:50 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:39 +0x1\n\n", i, i)
	}
	plain := block(2) + block(3) + block(4) + "SIGTERM: draining connections\n" + block(5) + block(6)
	for _, w := range wrappers {
		if w.name != "no wrapping" && w.name != "CRI" && w.name != "docker JSON" && w.name != "stern" {
			continue
		}
		if got := families(t, w.wrap(plain)); len(got) != 1 || !strings.HasPrefix(got[0], "5 goroutines") {
			t.Errorf("%s: got %v", w.name, got)
		}
	}
}

// TestStacksOfOthersAreNoFrames has a goroutine without a creator, followed by frames
// that are not its own.
func TestStacksOfOthersAreNoFrames(t *testing.T) {
	race := "==================\nWARNING: DATA RACE\nWrite at 0x00c000012345 by goroutine 7:\n  main.write()\n      /src/race.go:11 +0x1\n\n" +
		"Goroutine 7 (running) created at:\n  main.main()\n      /src/race.go:14 +0x2\n==================\n"
	for name, between := range map[string]string{
		"a report of the race detector":                          race,
		"the same without its lines of signs":                    strings.ReplaceAll(race, "==================\n", ""),
		"an error that was logged with its stack":                "E1121 02:58:36.123456    1234 server.go:12] cannot write\nmain.write()\n\t/src/server.go:11 +0x1\n",
		"one whose text ends in a bracket":                       "2026/11/21 02:58:36 server.go:12: cannot write (closed)\nmain.write()\n\t/src/server.go:11 +0x1\n",
		"one that begins as no log does":                         "cannot write to the client\nmain.write()\n\t/src/server.go:11 +0x1\n",
		"one with what may be a creator":                         "cannot write to the client\ncreated by main.write\n\t/src/server.go:11 +0x1\n",
		"an error and a report of the race detector behind that": "cannot write to the client\n" + race,
	} {
		plain := "goroutine 1 [chan receive]:\nmain.main()\n\t/src/main.go:40 +0x1d\n\n" + between + "\n"
		for i := 2; i < 5; i++ {
			plain += fmt.Sprintf("goroutine %d [select, %d minutes]:\nmain.run(0x%x)\n\t/src/main.go:50 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:39 +0x1\n\n", i, i, i)
		}
		for _, w := range wrappers {
			switch w.name {
			case "no wrapping", "lines with carriage returns", "CRI", "docker JSON", "journald short", "journald JSON", "kubectl --timestamps", "stern", "docker compose":
			default:
				continue
			}
			got := families(t, w.wrap(plain))
			if len(got) != 1 || !strings.HasPrefix(got[0], "4 goroutines") || !strings.Contains(got[0], "1 x [{main.main /src/main.go 40}] < {  0}") || strings.Contains(got[0], "write") {
				t.Errorf("%s, %s: got %v", name, w.name, got)
			}
		}
	}
}
