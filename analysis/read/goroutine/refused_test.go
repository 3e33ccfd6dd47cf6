package goroutine_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
)

// worker is a block as net/http/pprof prints it.
func worker(id int) string {
	return fmt.Sprintf("goroutine %d [select, 5 minutes]:\nmain.(*Pool).run(0xc000010000, {0x1?, 0x2?})\n\t/src/pool.go:42 +0x1d\ncreated by main.start in goroutine 1\n\t/src/main.go:9 +0x1d\n\n", id)
}

const mainBlock = "goroutine 1 [semacquire]:\nsync.(*WaitGroup).Wait(0xc000010000)\n\t/src/sync/waitgroup.go:118 +0x48\nmain.main()\n\t/src/main.go:20 +0x1d\n\n"

func TestAGoroutineThatWasNotUnderstoodIsCountedAndLocated(t *testing.T) {
	whole := mainBlock + worker(7) + worker(8) + worker(9)
	const header = "goroutine 8 [select, 5 minutes]:"
	for _, tc := range []struct {
		name, text string
		line       int64
	}{
		{"a header that breaks off", strings.Replace(whole, header, "goroutine 8 [sele", 1), 13},
		{"a header without its colon", strings.Replace(whole, header, "goroutine 8 [select]", 1), 13},
		{"a header with a letter in its number", strings.Replace(whole, header, "goroutine x [select]:", 1), 13},
		{"a header of which the first word is damaged", strings.Replace(whole, header, "gorou\x00ine 8 [select]:", 1), 13},
		{"a header that a log line took over", strings.Replace(whole, header, "goro2026/11/21 03:00:00 slow", 1), 13},
		{"a header that a log line without an end stands in", strings.Replace(whole, header, "g2026/11/21 03:00:00 slow"+header[1:], 1), 13},
		{"a header behind a log line without an end", strings.Replace(whole, header, "2026/11/21 03:00:00 slow"+header, 1), 13},
		{"a header that is missing", strings.Replace(whole, header+"\n", "", 1), 13},
		{"a header that is missing behind the main goroutine", mainBlock + strings.SplitAfterN(worker(7), "\n", 2)[1] + worker(8) + worker(9), 7},
		{"a header with the address of a crash, broken off", strings.Replace(whole, header, "goroutine 8 gp=0xc00000e m=nil", 1), 13},
		{"the first header of the text", strings.Replace(worker(7)+mainBlock+worker(8)+worker(9), "goroutine 7 [", "goro", 1), 1},
		{"a header that breaks off, with its stack", mainBlock + worker(7) + "goroutine 8 [sele\n\n" + worker(9), 13},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for ends, text := range map[string]string{"as it is": tc.text, "with the ends of lines of Windows": strings.ReplaceAll(tc.text, "\n", "\r\n")} {
				got := parseText(t, strings.NewReader(text))
				if got.Headers != 3 || got.Refused != 1 || got.Truncated {
					t.Fatalf("%s: %d goroutines, %d refused, cut: %s; want 3 and 1", ends, got.Headers, got.Refused, got.TruncatedWhy)
				}
				if len(got.problems) != 1 {
					t.Fatalf("%s: %+v", ends, got.problems)
				}
				p := got.problems[0]
				if p.Severity != analysis.Warning || p.Line != tc.line || p.What != "1 goroutine was not understood: the dump has at least 3" || p.Why == "" || p.Hint == "" {
					t.Errorf("%s: %+v, want line %d", ends, p, tc.line)
				}
				for _, g := range got.list {
					if n := len(g.Stack.Frames); n != 1 && g.ID != 1 || n != 2 && g.ID == 1 {
						t.Errorf("%s: goroutine %d has %d frames", ends, g.ID, n)
					}
				}
			}
		})
	}
}

func TestGoroutinesThatWereNotUnderstoodAreCountedEach(t *testing.T) {
	whole := worker(6) + worker(7) + worker(8) + worker(9) + worker(10)
	broken := strings.NewReplacer("goroutine 7 [", "g 7 [", "goroutine 8 [", "goroutine 8 gp=0x1 m [", "goroutine 9 [select, 5 minutes]:\n", "").Replace(whole)
	for name, text := range map[string]string{"as it is": broken, "without blank lines": strings.ReplaceAll(broken, "\n\n", "\n")} {
		if got := parseText(t, strings.NewReader(text)); got.Headers != 2 || got.Refused != 3 || len(got.problems) != 1 || got.problems[0].Line == 0 {
			t.Errorf("%s: %d goroutines, %d refused, want 2 and 3; %+v", name, got.Headers, got.Refused, got.problems)
		}
	}
}

func TestStacksThatAreNoGoroutinesAreNotRefused(t *testing.T) {
	for name, text := range map[string]string{
		"the stack of the runtime in a crash":         "fatal error: out of memory\n\nruntime stack:\nruntime.throw({0x1, 0x2})\n\t/src/runtime/panic.go:1 +0x1\n\n" + mainBlock + worker(7),
		"two accesses of a race":                      mainBlock + worker(7) + "WARNING: DATA RACE\nWrite at 0x00c00001 by goroutine 7:\n  main.f()\n      /src/main.go:9 +0x1d\n\nPrevious write at 0x00c00001 by main goroutine:\n  main.g()\n      /src/main.go:9 +0x1d\n\nGoroutine 7 (running) created at:\n  main.main()\n      /src/main.go:9 +0x1d\n",
		"a stack in the value of a panic":             "panic: first\n\nmain.x(0x1)\n\t/x.go:1 +0x1\ngoroutine 9 [fake\n\n" + mainBlock + worker(7),
		"log lines that end in a bracket":             mainBlock + "2026/11/21 pool (5)\n2026/11/21 see server.go:12\n\n" + worker(7),
		"a log line about goroutines between them":    mainBlock + "goroutine 7 is slow (5)\nsee /src/main.go:9\n\n" + worker(7),
		"the stack of an error without arguments":     mainBlock + "failed\nmain.run\n\t/src/main.go:9\n\n" + worker(7),
		"blank lines between the lines of goroutines": strings.ReplaceAll(mainBlock+worker(7), "\n", "\n\n"),
		"no blank lines at all":                       strings.ReplaceAll(mainBlock+worker(7), "\n\n", "\n"),
		"goroutines without a body":                   mainBlock + worker(7) + "goroutine 8 [running]:\n\tgoroutine running on other thread; stack unavailable\n\n",
	} {
		got := parseText(t, strings.NewReader(text))
		if got.Refused != 0 || got.Headers < 2 || slices.ContainsFunc(got.problems, func(p analysis.Problem) bool { return strings.Contains(p.What, "not understood: the dump") }) {
			t.Errorf("%s: %d goroutines, %d refused, %+v", name, got.Headers, got.Refused, got.problems)
		}
	}
}

var (
	goroutineBlock = regexp.MustCompile(`(?m)^goroutine \d+ \[`)
	garbage        = []string{"2026/11/21 03:00:00 slow", "\x00\x01", "", "}", "goroutine", "--More--(43%)", `{"level":"info"}`}
)

// TestNoLineIsLostInSilence damages one line of a dump: a goroutine less is announced.
// damaged is what is left of a line, without or with its end and with other lines before it.
func damaged(t *rapid.T, line string) string {
	switch rapid.SampledFrom([]string{"cut", "delete", "insert", "garble", "overwrite"}).Draw(t, "damage") {
	case "cut":
		return line[:rapid.IntRange(0, len(line)).Draw(t, "kept")] + "\n"
	case "delete":
		return ""
	case "insert":
		return rapid.SampledFrom(garbage).Draw(t, "garbage") + "\n" + line + "\n"
	case "garble":
		i := rapid.IntRange(0, len(line)).Draw(t, "at")
		return line[:i] + rapid.SampledFrom(garbage).Draw(t, "garbage") + line[i:] + "\n"
	default:
		return rapid.SampledFrom(garbage).Draw(t, "garbage") + "\n"
	}
}

func TestNoLineIsLostInSilence(t *testing.T) {
	lines := strings.SplitAfter(string(read(t, "testdata/debug2-go1.26.8.txt")), "\n")
	seen := len(goroutineBlock.FindAllString(strings.Join(lines, ""), -1))
	if seen < 20 {
		t.Fatalf("%d goroutines in the sample", seen)
	}
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
		line := damaged(t, strings.TrimSuffix(lines[at], "\n"))
		text := strings.Join(lines[:at], "") + line + strings.Join(lines[at+1:], "")
		dump, problems, err := goroutine.ParseText(strings.NewReader(text), goroutine.Config{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		warned := slices.ContainsFunc(problems, func(p analysis.Problem) bool { return p.Severity == analysis.Warning })
		if dump.Headers > seen || dump.Headers < seen && (!warned || dump.Headers+dump.Refused != seen && !dump.Truncated) {
			t.Fatalf("%d goroutines and %d refused of %d after line %d became %q: %+v", dump.Headers, dump.Refused, seen, at+1, line, problems)
		}
	})
}
