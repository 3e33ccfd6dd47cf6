package report_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/say/redact"
	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
	"leakdiff/web/view"
)

func printed(t *testing.T, c report.Case, how report.Terminal) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Text(&b, c, how); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// pageText is the page of a case as text, which report --verbose prints, in one line.
func pageText(c report.Case) string {
	v := view.NewCase(view.CaseInput{ID: "c", Report: c.Report, More: view.MoreOf(c.Said(), c.Members), Frozen: true})
	return strings.Join(strings.Fields(v.Page().Body.Text()), " ")
}

// fitsScreen holds the screen against its bounds: 30 lines of 80 columns, the state first, then
// the sentence.
func fitsScreen(t *testing.T, c report.Case) {
	t.Helper()
	text := printed(t, c, report.Terminal{})
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	screen, list := lines, lines[:0]
	if end := slices.IndexFunc(lines, func(l string) bool { return regexp.MustCompile(`^(?:also    |found   |more    )`).MatchString(l) }); end > 0 {
		screen, list = lines[:end-1], lines[end:]
	}
	if len(screen) > 30 || len(list) > 12 {
		t.Errorf("%d lines, and %d of further findings:\n%s", len(screen), len(list), text)
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	d := c.Report.Diagnosis
	state, _, _ := strings.Cut(d.State, " until ")
	paragraphs := strings.Split(text, "\n\n")
	if _, after, _ := strings.Cut(lines[0], " "); !strings.HasPrefix(after, strings.ToUpper(state)) {
		t.Errorf("the first line is %q, the state %q", lines[0], d.State)
	}
	if got := strings.Join(strings.Fields(paragraphs[1]), " "); got != d.Sentence {
		t.Errorf("the second paragraph is %q, the sentence %q", got, d.Sentence)
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("an escape sequence without colours: %q", text)
	}
	colored := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(printed(t, c, report.Terminal{Color: true}), "")
	if colored != text {
		t.Errorf("with colours the text is\n%s\nnot\n%s", colored, text)
	}
}

func TestTheScreenHasThirtyLinesOfEightyColumns(t *testing.T) {
	dirs := []string{"../../../samples/inotify-leak", "../../../samples/kubelet-probe-leak", "../../../samples/two-dumps"}
	if root, here := corpus.Root(t); here {
		for _, pattern := range []string{"series/*", "threads/public/*", "goroutine/public", "descriptors/*"} {
			if !corpus.Has(t, pattern) {
				continue
			}
			found, err := filepath.Glob(filepath.Join(root, pattern))
			if err != nil || len(found) == 0 {
				t.Fatalf("%s: %v", pattern, err)
			}
			dirs = append(dirs, found...)
		}
		found, err := filepath.Glob(filepath.Join(root, "series/*/t*"))
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		t.Run(filepath.Base(filepath.Dir(dir))+" "+filepath.Base(dir), func(t *testing.T) {
			fitsScreen(t, caseOf(t, dir))
		})
	}
}

const (
	waits = "sync.(*Mutex).Lock /usr/local/go/src/sync/mutex.go:90\n\tmain.wait /src/shop/cmd/shop/wait.go:20\n\tby main.main /src/shop/cmd/shop/main.go:9"
	runs  = "main.main /src/shop/cmd/shop/main.go:7"
)

// waiting are dumps of 1 goroutine in main.main and so many in main.wait, ten minutes apart.
func waiting(counts ...int) (all []analysis.Snapshot) {
	for i, n := range counts {
		groups := []analysis.Group{group(analysis.KindGoroutine, 1, map[string]int{runs: 1}, runs)}
		if n > 0 {
			groups = append(groups, group(analysis.KindGoroutine, 100, map[string]int{waits: n}, waits))
		}
		all = append(all, at(10*i, groups...))
	}
	return all
}

func TestTheScreenOfEachStateHasItsForm(t *testing.T) {
	for _, tt := range []struct {
		name     string
		counts   []int
		want     []string
		wantNot  []string
		problems []analysis.Problem
	}{
		{"what leaks has proof, begin, pace, certainty, course, stack and next step", []int{2, 12, 22, 32, 42, 52},
			[]string{"▲ LEAKING   shop   6 dumps in 50 min\n", "\nproof   50 of 50 ", "\nsince   ", "\npace    +1 a minute\n", "\nsure    growing certain", " 2 ▁▂▄▅▇█ 52\n", "\nwhere the 52 wait at t5\n  sync.(*Mutex).Lock ", "\n▌ main.wait  ", "\n▌ created by main.main", "\ndo      ", "\nmore    --verbose"},
			[]string{"until", "limit"}, nil},
		{"what ended says when", []int{2, 12, 22, 32, 42, 2},
			[]string{"▲ LEAKING until t4   shop   6 dumps in 50 min\n", "\nuntil   t5", " peak 42\n"}, nil, nil},
		{"two dumps say that it grew, and the command that decides", []int{212, 253},
			[]string{"↑ GREW   shop   2 dumps in 10 min\n", "leakdiff collect --pprof http://HOST:PORT "}, []string{"LEAK"}, nil},
		{"where nothing grew, what would have been seen", []int{40, 40, 40, 40},
			[]string{"= NO LEAK SEEN   shop   4 dumps in 30 min\n", "\nproof   In 4 snapshots", "\ncounts  goroutines   41 "}, []string{"\ndo ", "where the"}, nil},
		{"one dump has its groups with their share, and the command that decides", []int{40},
			[]string{"… ONE DUMP   shop   1 dump, 2026-11-21 03:00Z\n", "\ngroups      40   98 % ", "\ndo      Take five captures over two minutes:", "leakdiff collect --pprof http://HOST:PORT "}, []string{"proof", "sure"}, nil},
		{"without evidence, what each file is", nil,
			[]string{"… NOTHING READ\n", "\nProblems\n  error: a.txt: empty\n    Why: it has no content\n"}, []string{"\nmore "}, []analysis.Problem{{Path: "a.txt", Offset: -1, Severity: analysis.Error, What: "empty", Why: "it has no content"}}},
		{"a problem costs a line, a note none", []int{40},
			[]string{"\nerror   a.txt: it is cut\n"}, []string{"b.txt"}, []analysis.Problem{{Path: "a.txt", Offset: -1, Severity: analysis.Error, What: "it is cut", Why: "x"}, {Path: "b.txt", Offset: -1, Severity: analysis.Note, What: "it is fine"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := report.Build(waiting(tt.counts...), tt.problems, report.Options{})
			fitsScreen(t, c)
			text := printed(t, c, report.Terminal{})
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("lacks %q:\n%s", want, text)
				}
			}
			for _, wantNot := range tt.wantNot {
				if strings.Contains(text, wantNot) {
					t.Errorf("has %q:\n%s", wantNot, text)
				}
			}
		})
	}
}

func TestTheScreenListsSeveralProcesses(t *testing.T) {
	var all []analysis.Snapshot
	for _, name := range []string{"shop", "cart", "till"} {
		for _, s := range waiting(40, 40, 40) {
			s.ID, s.Process.Name.Value = name+s.ID, name
			all = append(all, s)
		}
	}
	c := report.Build(all, nil, report.Options{})
	fitsScreen(t, c)
	text := printed(t, c, report.Terminal{})
	for _, want := range []string{"cart, shop, till", "cart  goroutines   41 ", "        shop  goroutines   41 ", "        till  goroutines   41 "} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
}

func TestProcessesOfOneNameAreToldApartByTheirHosts(t *testing.T) {
	var all []analysis.Snapshot
	for i := range 50 {
		for _, s := range waiting(2, 12, 22, 32, 42, 52) {
			host := fmt.Sprintf("host-%02d", i)
			s.ID, s.Process.Host.Value = host+s.ID, host
			all = append(all, s)
		}
	}
	c := report.Build(all, nil, report.Options{})
	fitsScreen(t, c)
	text := printed(t, c, report.Terminal{})
	for _, want := range []string{"▲ LEAKING   shop on host-00 and 49 more hosts   6 dumps in 50 min\n", "also    ▲ leaking  shop on host-01: goroutines in main.wait 2 to 52\n", "more findings\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if !strings.Contains(text, "none ended; the same on 49 more\nhosts.\n") {
		t.Errorf("the sentence does not count the hosts:\n%s", text)
	}
}

func TestTopBoundsTheFurtherFindings(t *testing.T) {
	c := caseOf(t, "../../../samples/kubelet-probe-leak")
	of := func(n int) string { return printed(t, c, report.Terminal{Top: &n}) }
	listed := regexp.MustCompile(`(?m)^(also|    )    \S+ (leaking|observer|possible)`)
	for _, n := range []int{0, 1, 3} {
		if got := len(listed.FindAllString(of(n), -1)); got != n {
			t.Errorf("--top %d lists %d:\n%s", n, got, of(n))
		}
	}
	if text := of(0); !strings.Contains(text, "\n\nalso    10 more findings\nmore    ") {
		t.Errorf("--top 0 does not count them:\n%s", text)
	}
}

func TestTheScreenHasNoNameThatIsHidden(t *testing.T) {
	c := caseOf(t, "../../../samples/kubelet-probe-leak")
	var names redact.Case
	for _, s := range c.Series {
		names.Series = append(names.Series, s.Snapshots)
	}
	hidden, err := c.Redacted(redact.New(names))
	if err != nil {
		t.Fatal(err)
	}
	if text := printed(t, hidden, report.Terminal{}); strings.Contains(text, "realnode1") || !strings.Contains(text, "containerd, kubelet on host-1") {
		t.Errorf("the host is told:\n%s", text)
	}
}

func TestAHostileNameDrawsNothingOnTheScreen(t *testing.T) {
	all := waiting(2, 12, 22, 32, 42, 52)
	for i := range all {
		all[i].Process.Name.Value = "sh\x1b[31mop\u202e"
	}
	c := report.Build(all, []analysis.Problem{{Path: "a\x07", Offset: -1, Severity: analysis.Error, What: "odd"}}, report.Options{})
	if text := printed(t, c, report.Terminal{}); strings.ContainsAny(text, "\x1b\x07\u202e") {
		t.Errorf("control characters: %q", text)
	}
}
