package thread_test

import (
	"bufio"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/thread"
	"leakdiff/samples/corpus"
)

// content is a file's text; UTF-16 is transcoded, as the unpacking does before a
// parser sees it.
func content(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > 3 && b[1] == 0 && b[3] == 0 {
		units := make([]uint16, len(b)/2)
		for i := range units {
			units[i] = uint16(b[2*i]) | uint16(b[2*i+1])<<8
		}
		return string(utf16.Decode(units))
	}
	return string(b)
}

// parsed is everything that a parser returns; threads are copies.
type parsed struct {
	dumps    []thread.Dump
	problems []analysis.Problem
	threads  [][]analysis.Thread
}

func parse(t testing.TB, name, text string) parsed {
	t.Helper()
	p, err := read(name, strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p
}

func read(name string, r io.Reader) (parsed, error) {
	var p parsed
	visit := func(ordinal int, t *analysis.Thread) error {
		for len(p.threads) <= ordinal {
			p.threads = append(p.threads, nil)
		}
		kept := *t
		kept.Locks = slices.Clone(t.Locks)
		p.threads[ordinal] = append(p.threads[ordinal], kept)
		return nil
	}
	parser := thread.ParseText
	switch filepath.Ext(name) {
	case ".json":
		parser = thread.ParseJSON
	case ".javacore":
		parser = thread.ParseJavacore
	case ".hot":
		parser = thread.ParseHotThreads
	}
	var err error
	p.dumps, p.problems, err = parser(r, thread.Config{Path: name}, visit)
	return p, err
}

func (p parsed) counts() []int {
	var out []int
	for _, d := range p.dumps {
		out = append(out, d.Threads)
	}
	return out
}

func (p parsed) all() []analysis.Thread { return slices.Concat(p.threads...) }

// without is the number of threads of which EXPECTED.tsv knows none.
const without = -1

// row is a line of EXPECTED.tsv about threads.
type row struct {
	path, format, notes string
	threads             []int
}

func rows(t testing.TB) []row {
	t.Helper()
	f, err := os.Open(corpus.Path(t, "EXPECTED.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []row
	for lines := bufio.NewScanner(f); lines.Scan(); {
		c := strings.Split(lines.Text(), "\t")
		if !strings.HasPrefix(c[0], "threads/") && c[0] != "series/okhttp-leak/app.log" {
			continue
		}
		r := row{path: c[0], format: c[1], notes: c[6]}
		for word := range strings.FieldsSeq(strings.ReplaceAll(c[3], "-", strconv.Itoa(without))) {
			n, err := strconv.Atoi(word)
			if err != nil {
				t.Fatalf("%s: threads %q", c[0], c[3])
			}
			r.threads = append(r.threads, n)
		}
		out = append(out, r)
	}
	if len(out) < 135 {
		t.Fatalf("%d rows of EXPECTED.tsv are about threads, want at least 135", len(out))
	}
	return out
}

// dumpsOf are the files with several dumps whose sum is in the table, counted with
// grep.
var dumpsOf = map[string][]int{
	"threads/public/tda/hpdump.log":             {574, 574},
	"threads/public/tda/jdk11_long_running.log": {2, 2},
	"threads/public/tda/test.log":               {88, 86, 86},
}

func TestEveryRowOfTheTableHasItsThreads(t *testing.T) {
	for _, r := range rows(t) {
		if !corpus.Has(t, r.path) {
			continue
		}
		name := corpus.Path(t, r.path)
		p := parse(t, name, content(t, name))
		want := r.threads
		if sum, ok := dumpsOf[r.path]; ok {
			want = sum
		}
		if slices.Equal(want, []int{without}) {
			want = nil
		}
		if diff := cmp.Diff(want, p.counts()); diff != "" {
			t.Errorf("%s (%s): threads (-want +got):\n%s", r.path, r.format, diff)
		}
		for _, d := range p.dumps {
			if n := len(p.threads[d.Ordinal]); n != d.Threads {
				t.Errorf("%s: dump %d visited %d threads and says %d", r.path, d.Ordinal, n, d.Threads)
			}
		}
		if strings.Contains(r.notes, "2 deadlocks") {
			if n := len(p.dumps[0].Deadlocks); n != 2 {
				t.Errorf("%s: %d deadlocks, want 2", r.path, n)
			}
		}
	}
}

// formsOf says which form each file of the matrix has.
var formsOf = []struct {
	name *regexp.Regexp
	form string
}{
	{regexp.MustCompile(`^(jstack|jcmd-Thread|sigquit)`), thread.FormHotSpot},
	{regexp.MustCompile(`^support-core`), thread.FormSupportCore},
	{regexp.MustCompile(`^jenkins`), thread.FormJenkins},
	{regexp.MustCompile(`^threadmxbean`), thread.FormThreadInfo},
	{regexp.MustCompile(`^getAllStackTraces`), thread.FormStackTraces},
	{regexp.MustCompile(`^dump_to_file\.txt`), thread.FormDumpToFile},
	{regexp.MustCompile(`^dump_to_file\.json`), thread.FormDumpToFileJSON},
	{regexp.MustCompile(`^actuator`), thread.FormActuator},
}

// matrix parses every dump of one JDK, by file name.
func matrix(t testing.TB, jdk string) map[string]parsed {
	t.Helper()
	dir := corpus.Path(t, "threads", "jdk-matrix", jdk)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]parsed{}
	for _, e := range entries {
		for _, f := range formsOf {
			if !f.name.MatchString(e.Name()) {
				continue
			}
			p := parse(t, e.Name(), content(t, filepath.Join(dir, e.Name())))
			if len(p.dumps) == 0 { // the JVM refused this option
				continue
			}
			if len(p.dumps) != 1 || p.dumps[0].Form != f.form {
				t.Errorf("%s/%s: %d dumps, the first as %s, want one as %s", jdk, e.Name(), len(p.dumps), p.dumps[0].Form, f.form)
			}
			out[e.Name()] = p
		}
	}
	return out
}

var jdks = []string{"jdk8", "jdk11", "jdk17", "jdk21", "jdk25", "jdk26"}

// names are the sorted names of the threads of a sort.
func (p parsed) names(sort analysis.ThreadSort) []string {
	var out []string
	for _, t := range p.all() {
		if t.Sort == sort {
			out = append(out, t.Name)
		}
	}
	slices.Sort(out)
	return out
}

func TestEveryFormOfOneProcessAgrees(t *testing.T) {
	for _, jdk := range jdks {
		files := matrix(t, jdk)
		beans := files["threadmxbean-tostring.txt"]
		ids := map[string]int64{}
		for _, x := range beans.all() {
			ids[x.Name] = x.ID
		}
		for name, p := range files {
			if strings.HasPrefix(name, "dump_to_file") || strings.HasPrefix(name, "sigquit") {
				continue // virtual threads, and a poller that was started later
			}
			if diff := cmp.Diff(beans.names(analysis.JavaThread), p.names(analysis.JavaThread)); diff != "" {
				t.Errorf("%s/%s: Java threads (-MX beans +got):\n%s", jdk, name, diff)
			}
			for _, x := range p.all() {
				// Names of the scenario that occur once.
				switch x.Name {
				case "main", "", "two\nlines", "busy", `odd "quoted" name, id=12 [a] #5`:
					if id := ids[x.Name]; x.ID >= 0 && x.ID != id {
						t.Errorf("%s/%s: %q has id %d, MX beans say %d", jdk, name, x.Name, x.ID, id)
					}
				}
			}
			for _, problem := range p.problems {
				if problem.Severity != analysis.Note {
					t.Errorf("%s/%s: %+v", jdk, name, problem)
				}
			}
			if p.dumps[0].Truncated {
				t.Errorf("%s/%s: truncated, %s", jdk, name, p.dumps[0].TruncatedWhy)
			}
		}
		for _, name := range []string{"", "two\nlines", `odd "quoted" name, id=12 [a] #5`} {
			for file, p := range files {
				if !slices.ContainsFunc(p.all(), func(x analysis.Thread) bool { return x.Name == name }) {
					t.Errorf("%s/%s: no thread is named %q", jdk, file, name)
				}
			}
		}
	}
}

// TestTheScenarioDeadlocksTwice compares the rings of HotSpot's own section with
// those found by owners. JDK 21 prints no locks into dump_to_file, JDK 25 no
// owners of ownable synchronizers, Thread.toString nothing.
func TestTheScenarioDeadlocksTwice(t *testing.T) {
	for _, jdk := range jdks {
		for name, p := range matrix(t, jdk) {
			want := map[string]string{
				"Deadlock-monitor-1": "Deadlock-monitor-2", "Deadlock-monitor-2": "Deadlock-monitor-1",
				"Deadlock-lock-1": "Deadlock-lock-2", "Deadlock-lock-2": "Deadlock-lock-1",
			}
			switch {
			case strings.HasPrefix(name, "getAll"), jdk == "jdk21" && strings.HasPrefix(name, "dump_to_file"):
				want = map[string]string{}
			case jdk == "jdk25" && strings.HasPrefix(name, "dump_to_file"):
				delete(want, "Deadlock-lock-1")
				delete(want, "Deadlock-lock-2")
			}
			got := map[string]string{}
			for _, d := range p.dumps[0].Deadlocks {
				if d.Derived != (p.dumps[0].Form != thread.FormHotSpot) {
					t.Errorf("%s/%s: derived is %v", jdk, name, d.Derived)
				}
				for _, link := range d.Threads {
					got[link.Name] = link.HeldBy
					if !strings.Contains(link.Waits, "java.lang.Object (") && !strings.Contains(link.Waits, "ReentrantLock$NonfairSync (") {
						t.Errorf("%s/%s: %s waits for %q", jdk, name, link.Name, link.Waits)
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s/%s: holders (-want +got):\n%s", jdk, name, diff)
			}
		}
	}
}

func TestOneLogHoldsFiveSnapshots(t *testing.T) {
	p := parse(t, "app.log", content(t, corpus.Path(t, "series", "okhttp-leak", "app.log")))
	var times []string
	var connections []int
	for i, d := range p.dumps {
		times = append(times, d.Time.Format("15:04:05"))
		n := 0
		for _, x := range p.threads[i] {
			if x.Name == "OkHttp ConnectionPool" {
				n++
			}
		}
		connections = append(connections, n)
		if !d.Zoneless || d.Declared != d.Threads-8 || d.MainElapsed <= 0 || !strings.HasPrefix(d.Version, "OpenJDK 64-Bit Server VM (17.0.15") {
			t.Errorf("dump %d: %+v", i, d)
		}
	}
	if diff := cmp.Diff([]string{"02:46:53", "02:46:58", "02:47:03", "02:47:09", "02:47:15"}, times); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{3, 8, 20, 45, 90}, connections); diff != "" {
		t.Errorf("connection pools (-want +got):\n%s", diff)
	}
	if len(p.problems) > 0 {
		t.Errorf("the log's own lines are problems: %+v", p.problems)
	}
}

// TestLineEndsAndTabsDoNotMatter reads every text of the matrix again with other
// line ends, without tabs and without any indentation.
func TestLineEndsAndTabsDoNotMatter(t *testing.T) {
	indent := regexp.MustCompile(`(?m)^[ \t]+`)
	for _, jdk := range jdks {
		dir := corpus.Path(t, "threads", "jdk-matrix", jdk)
		for name, want := range matrix(t, jdk) {
			if strings.HasSuffix(name, ".json") {
				continue
			}
			text := content(t, filepath.Join(dir, name))
			for what, damaged := range map[string]string{
				"with CRLF":           strings.ReplaceAll(text, "\n", "\r\n"),
				"with CR CR LF":       strings.ReplaceAll(text, "\n", "\r\r\n"),
				"without tabs":        strings.ReplaceAll(text, "\t", ""),
				"without indentation": indent.ReplaceAllString(text, ""),
				"after a log":         "10:00:00 INFO started\n\tat least one worker\n\n" + text,
				"after a mark":        "\uFEFF" + text,
			} {
				got := parse(t, name, damaged)
				if diff := cmp.Diff(sketch(want), sketch(got)); diff != "" {
					t.Errorf("%s/%s %s (-want +got):\n%s", jdk, name, what, diff)
				}
			}
		}
	}
}

// sketch is what a thread is, without its place.
func sketch(p parsed) []analysis.Thread {
	out := slices.Clone(p.all())
	for i := range out {
		out[i].Line, out[i].Offset, out[i].Length = 0, 0, 0
	}
	return out
}

// TestPlacesShowTheThread cuts every thread out of its file again.
func TestPlacesShowTheThread(t *testing.T) {
	for _, jdk := range jdks {
		dir := corpus.Path(t, "threads", "jdk-matrix", jdk)
		for name, p := range matrix(t, jdk) {
			text := content(t, filepath.Join(dir, name))
			for _, x := range p.all() {
				block := text[x.Offset : x.Offset+x.Length]
				number := int64(strings.Count(text[:x.Offset], "\n")) + 1
				if number != x.Line {
					t.Fatalf("%s/%s: %q is at line %d, want %d", jdk, name, x.Name, x.Line, number)
				}
				if strings.HasSuffix(name, ".json") {
					var again parsed
					visit := func(_ int, y *analysis.Thread) error {
						again.threads = append(again.threads, []analysis.Thread{*y})
						return nil
					}
					if _, _, err := thread.ParseJSON(strings.NewReader("["+block+"]"), thread.Config{}, visit); err != nil || len(again.threads) != 1 || again.threads[0][0].Name != x.Name {
						t.Fatalf("%s/%s: the block of %q is %q (%v)", jdk, name, x.Name, block, err)
					}
					continue
				}
				if !strings.Contains(block, x.Name) || strings.HasSuffix(block, "\n") || strings.Count(block, "\n") < len(x.Stack.Frames) {
					t.Fatalf("%s/%s: the block of %q is %q", jdk, name, x.Name, block)
				}
			}
		}
	}
}

// TestAPrefixGivesAPrefixOfItsThreads cuts a dump at many places: the threads that
// are whole stay what they are, and the cut is said.
func TestAPrefixGivesAPrefixOfItsThreads(t *testing.T) {
	text := content(t, corpus.Path(t, "threads", "jdk-matrix", "jdk17", "jstack-l.txt"))
	text, _, _ = strings.Cut(text, "JNI global refs")
	whole := parse(t, "whole", text)
	for end := 1000; end < len(text)-3000; end += 97 {
		p := parse(t, "cut", text[:end])
		n := len(p.all())
		if n > len(whole.all()) {
			t.Fatalf("cut at %d: %d threads", end, n)
		}
		if n > 0 && !p.dumps[0].Truncated {
			t.Fatalf("cut at %d: %d threads and not truncated", end, n)
		}
		for i, x := range p.all()[:max(n-1, 0)] {
			if want := whole.all()[i]; x.Name != want.Name || x.Length != want.Length || len(x.Stack.Frames) != len(want.Stack.Frames) {
				t.Fatalf("cut at %d: thread %d is %q with %d frames, want %q with %d", end, i, x.Name, len(x.Stack.Frames), want.Name, len(want.Stack.Frames))
			}
		}
	}
}

// TestPeersMistakesAreNotMade counts what other tools for thread dumps get wrong.
func TestPeersMistakesAreNotMade(t *testing.T) {
	p := matrix(t, "jdk17")
	for file, want := range map[string]int{"support-core-thread-dump.txt": 29, "jenkins-threadDump-page.txt": 29, "jstack-l.txt": 43} {
		if n := len(p[file].all()); n != want {
			t.Errorf("%s: %d threads, want %d", file, n, want)
		}
	}
	carriers := 0
	for _, x := range matrix(t, "jdk21")["jstack-l.txt"].all() {
		if x.Carrying >= 0 {
			carriers++
			if x.Native == 0 || x.ID < 0 || x.State != "" || x.Sort != analysis.JavaThread || len(x.Stack.Frames) == 0 {
				t.Errorf("carrier %+v", x)
			}
		}
	}
	if carriers != 2 {
		t.Errorf("%d carriers, want 2", carriers)
	}
	if d := matrix(t, "jdk26")["jstack.txt"].dumps[0]; d.Version != "OpenJDK 64-Bit Server VM (26.0.2.1+1-1-Debian mixed mode, sharing)" || d.Declared != 38 {
		t.Errorf("JDK 26: %+v", d)
	}
}

func TestTheSeriesOfJenkinsCountsTheSameThreads(t *testing.T) {
	// expected.json of the series: threads as HotSpot counts them, clients 2 6 15 30 60.
	totals, pools, targets := []int{43, 76, 148, 268, 508}, []int{2, 6, 15, 30, 60}, []int{26, 50, 104, 194, 374}
	for i := range totals {
		dir := corpus.Path(t, "series", "okhttp-leak-supportcore", "t"+strconv.Itoa(i), "java")
		for _, name := range []string{"support-core-thread-dump.txt", "jenkins-threadDump-page.txt", "threadmxbean-tostring.txt", "getAllStackTraces.txt"} {
			p := parse(t, name, content(t, filepath.Join(dir, name)))
			n := 0
			for _, x := range p.all() {
				if x.Name == "OkHttp ConnectionPool" {
					n++
				}
			}
			if len(p.all()) != totals[i] || n != pools[i] {
				t.Errorf("t%d %s: %d threads, %d pools, want %d and %d", i, name, len(p.all()), n, totals[i], pools[i])
			}
		}
		f, err := os.Open(filepath.Join(dir, "fd-targets.txt"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		got, _, err := thread.ParseTargets(f, "fd-targets.txt")
		if err != nil || len(got.Descriptors) != targets[i] {
			t.Errorf("t%d: %d targets (%v), want %d", i, len(got.Descriptors), err, targets[i])
		}
	}
}

func TestTheClientsOfTheSeriesAreThoseOfItsTruth(t *testing.T) {
	// expected.json of the series.
	clients, running, queued, saturated := []float64{1, 1, 2, 2, 5}, []float64{0, 6, 27, 33, 39}, []float64{0, 0, 0, 13, 53}, []float64{0, 0, 0, 1, 1}
	for i := range clients {
		name := "t" + strconv.Itoa(i) + ".txt"
		f, err := os.Open(corpus.Path(t, "series", "groovy-k8s-clients", "t"+strconv.Itoa(i), "java", name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		c, problems, err := thread.ParseClients(f, name)
		if err != nil || len(problems) > 0 || c.Truncated {
			t.Errorf("%s: %v %+v", name, err, problems)
		}
		figures := c.Figures()
		want := map[string]float64{
			"k8s_clients": clients[i], "k8s_running_calls": running[i], "k8s_queued_calls": queued[i],
			"k8s_clients_saturated": saturated[i], "k8s_max_concurrent_requests": 32,
			"k8s_clients_idle": figures["k8s_clients_idle"], "k8s_connections": figures["k8s_connections"], "k8s_idle_connections": figures["k8s_idle_connections"],
		}
		maps.DeleteFunc(figures, func(name string, _ float64) bool {
			return strings.HasPrefix(name, "k8s_client_") || strings.HasPrefix(name, "k8s_call{")
		}) // of each client and call
		if diff := cmp.Diff(want, figures); diff != "" {
			t.Errorf("%s: figures (-want +got):\n%s", name, diff)
		}
		if said := c.Saturated(); len(said) != int(saturated[i]) {
			t.Errorf("%s: %q", name, said)
		}
		if float64(c.Active) != clients[i] || float64(c.Running) != running[i] || float64(c.Queued) != queued[i] {
			t.Errorf("%s: summary %d %d %d", name, c.Active, c.Running, c.Queued)
		}
	}
}

func TestForeignFormsSayWhatToUploadInstead(t *testing.T) {
	for _, name := range []string{"go-log-12.txt", "gosupport.txt"} {
		f, err := os.Open(corpus.Path(t, "threads", "public", "binaryfoo", name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p, ok := thread.Foreign(f, name)
		if !ok || !strings.Contains(p.What, "GoCD") || !strings.Contains(p.Hint, "jstack") || p.Line == 0 {
			t.Errorf("%s: %v %+v", name, ok, p)
		}
	}
}
