package envelope_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/read/envelope"
	"leakdiff/samples/corpus"
)

// dump is a small plain dump with some ids.
func dump(first int, states ...string) string {
	var out strings.Builder
	for i, state := range states {
		if i > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "goroutine %d [%s]:\nmain.f%d()\n\t/srv/main.go:%d +0x1d\ncreated by main.main in goroutine 1\n\t/srv/main.go:3 +0x36\n", first+i, state, i, 10+i)
	}
	return out.String()
}

// found is what a test expects of each section: its ids, and the first bytes.
func found(t testing.TB, sections []envelope.Section) (out []string) {
	t.Helper()
	for i := range sections {
		var ids []string
		for _, b := range parse(t, text(t, &sections[i])) {
			ids = append(ids, fmt.Sprint(b.id))
		}
		out = append(out, strings.Join(ids, " "))
	}
	return out
}

func TestDumpsAreToldFromOneAnotherAndFromCrashes(t *testing.T) {
	log := "2026-11-21 02:58:30.123 INFO working on it\n"
	three := dump(1, "running", "select", "select")
	idle := dump(1, "select", "select", "select")
	trace := "goroutine 9 [running]:\nmain.boom()\n\t/srv/main.go:9 +0x1\n"
	klog := "E1121 02:58:36.123456    1234 panic.go:12] Observed a panic: boom " + trace + "\n"
	crash := "SIGQUIT: quit\nPC=0x499aa1 m=0 sigcode=0\n\n"
	for name, c := range map[string]struct {
		text string
		want []string
		lone int
	}{
		"nothing":                          {"", nil, 0},
		"a log":                            {strings.Repeat(log, 1000), nil, 0},
		"a log with one dump":              {strings.Repeat(log, 300) + three + strings.Repeat(log, 300), []string{"1 2 3"}, 0},
		"two dumps one after the other":    {three + "\n" + three, []string{"1 2 3", "1 2 3"}, 0},
		"two dumps with log lines between": {three + log + three, []string{"1 2 3", "1 2 3"}, 0},
		"two dumps whose second begins with new ids":  {three + log + dump(50, "running", "select", "select"), []string{"1 2 3", "50 51 52"}, 0},
		"log lines within one dump":                   {strings.ReplaceAll(three, "\tmain", "\t") + log + log + "\n" + dump(50, "select", "select"), []string{"1 2 3 50 51"}, 0},
		"two dumps far from each other":               {idle + strings.Repeat(log, 1000) + dump(50, "select", "select", "select"), []string{"1 2 3", "50 51 52"}, 0},
		"two dumps after signals":                     {crash + idle + "\nrax    0xca\nrbx    0x0\n" + log + crash + dump(50, "idle", "select"), []string{"1 2 3", "50 51"}, 0},
		"a signal that shows one goroutine":           {log + crash + dump(1, "select"), []string{"1"}, 0},
		"a dump with BEGIN and END":                   {log + "=== BEGIN goroutine stack dump ===\n" + dump(7, "running") + "\n=== END goroutine stack dump ===\n" + log, []string{"7"}, 0},
		"a debug=2 answer of one goroutine":           {"goroutine 1 [running]:\nruntime/pprof.writeGoroutineStacks({0x1, 0x2})\n\t/p.go:1 +0x1\n", []string{"1"}, 0},
		"a panic with one goroutine":                  {log + "panic: boom\n\n" + trace + "exit status 2\n", nil, 1},
		"a panic that shows all goroutines":           {log + "panic: boom\n\n" + three, []string{"1 2 3"}, 0},
		"a panic after a dump":                        {three + log + "panic: boom\n\n" + trace, []string{"1 2 3"}, 1},
		"a dump after a panic":                        {"panic: boom\n\n" + trace + strings.Repeat(log, 3) + three, []string{"1 2 3"}, 1},
		"a deadlock of one goroutine":                 {"fatal error: all goroutines are asleep - deadlock!\n\n" + dump(1, "select"), nil, 1},
		"a log line that says panic within a dump":    {idle + "panic: recovered by the handler\n\n" + dump(50, "select"), []string{"1 2 3 50"}, 0},
		"many traces of klog":                         {strings.Repeat(klog+log, 20), nil, 20},
		"a trace in a field":                          {`{"level":"error","stacktrace":"goroutine 9 [running]:\nmain.boom()\n\t/srv/main.go:9 +0x1\n"}` + "\n", nil, 1},
		"a sentence about a goroutine":                {log + "the goroutine 9 [running]: is the one\n", nil, 0},
		"a word":                                      {"goroutine 9", nil, 0},
		"a header at the end":                         {"goroutine 9 [", nil, 0},
		"several strings in one line":                 {`{"a":"` + strings.ReplaceAll(three, "\n", `\n`) + `","b":"` + strings.ReplaceAll(three, "\n", `\n`) + `"}`, []string{"1 2 3", "1 2 3"}, 0},
		"a journal of two boots":                      {journal(idle) + "-- Boot 1f2e --\n" + journal(dump(50, "select", "select", "select")), []string{"1 2 3", "50 51 52"}, 0},
		"threads of a crash that repeat a goroutine":  {crash + idle + "\n-----\n\n" + crash + "goroutine 2 gp=0x1 m=4 mp=0x2 [syscall]:\nmain.f1()\n\t/srv/main.go:11 +0x1d\n", []string{"1 2 3 2"}, 0},
		"a fake header in the text of a panic":        {"panic: x\ngoroutine 7 [fake]:\n\n" + trace, nil, 2},
		"bytes that are no text":                      {"\xff\xfe\x00goroutine 1 [\x00]:\n\xff", nil, 1},
		"a page that quotes a header in a code block": {"<html><code>goroutine 1 [running]:</code></html>", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			sections, info, _ := unwrap(t, []byte(c.text), envelope.Config{})
			if diff := cmp.Diff(c.want, found(t, sections)); diff != "" || info.LoneHeaders != c.lone {
				t.Errorf("%d lone headers, want %d; -want +got\n%s", info.LoneHeaders, c.lone, diff)
			}
			if len(c.want) > 0 && !envelope.Promises([]byte(c.text)) {
				t.Error("the text does not promise the dump that it holds")
			}
		})
	}
}

func journal(plain string) string {
	return "Nov 21 02:58:36 node-1 kubelet[1234]: " + strings.ReplaceAll(strings.TrimSuffix(plain, "\n"), "\n", "\nNov 21 02:58:36 node-1 kubelet[1234]: ") + "\n"
}

func TestThreadDumpsAreCutOutOfTheOutputOfAJVM(t *testing.T) {
	data := content(t, corpus.Path(t, "series", "okhttp-leak", "app.log"))
	want := []int{65, 105, 201, 401, 761} // EXPECTED.tsv
	for name, wrap := range map[string]func(string) string{
		"raw":        func(s string) string { return s },
		"CRI":        each(func(now time.Time) string { return now.Format(time.RFC3339Nano) + " stdout F " }),
		"docker":     func(s string) string { return dockerRecords(s, 16<<10) },
		"timestamps": each(func(now time.Time) string { return now.Format(time.RFC3339Nano) + " " }),
		"compose":    each(func(time.Time) string { return "app-1  | " }),
		"journald":   each(func(now time.Time) string { return now.Format(time.Stamp) + " node-1 java[2620]: " }),
	} {
		t.Run(name, func(t *testing.T) {
			wrapped := []byte(wrap(string(data)))
			sections, _, problems := unwrap(t, wrapped, envelope.Config{Now: begin})
			if len(sections) != len(want) || len(problems) > 0 {
				t.Fatalf("got %d sections, problems %v, want %d", len(sections), problems, len(want))
			}
			for i := range sections {
				s := &sections[i]
				plain := text(t, s)
				if s.Kind != envelope.KindThread || s.Headers != want[i] || bytes.Count(plain, []byte("\n\"")) != want[i] {
					t.Errorf("dump %d: kind %s, %d headers, %d in its text, want %d", i, s.Kind, s.Headers, bytes.Count(plain, []byte("\n\"")), want[i])
				}
				if !bytes.HasPrefix(plain, []byte("2026-11-21 02:4")) || bytes.Contains(plain, []byte("AT clients=")) || !bytes.Contains(plain, []byte("\nHeap\n")) {
					t.Errorf("dump %d begins with %.40q, ends with %q", i, plain, plain[len(plain)-80:])
				}
				if s.Time.IsZero() {
					t.Errorf("dump %d has no time", i)
				}
				at := int64(bytes.LastIndex(plain, []byte("\n\"")) + 1)
				_, raw := s.Locate(at)
				end, _, _ := bytes.Cut(wrapped[raw:], []byte("\n"))
				name, _, _ := bytes.Cut(plain[at+1:], []byte(`"`))
				if !bytes.Contains(end, name) {
					t.Errorf("dump %d: %q is not in %q", i, name, end)
				}
			}
		})
	}
}

func TestStampsWithoutAYearGetTheLatestThatIsNotInTheFuture(t *testing.T) {
	log := func(stamp string) string {
		return strings.ReplaceAll(journal(dump(1, "select", "select", "select")), "Nov 21 02:58:36", stamp)
	}
	for name, c := range map[string]struct{ stamp, now, want string }{
		"this year":            {"Nov 21 02:58:36", "2026-11-22T00:00:00Z", "2026-11-21T02:58:36Z"},
		"a day ahead":          {"Nov 21 02:58:36", "2026-11-20T12:00:00Z", "2026-11-21T02:58:36Z"},
		"last year":            {"Dec 31 23:59:59", "2026-01-05T00:00:00Z", "2025-12-31T23:59:59Z"},
		"across new year":      {"Jan  1 00:00:01", "2026-12-31T23:59:00Z", "2027-01-01T00:00:01Z"},
		"the last leap day":    {"Feb 29 10:00:00", "2026-11-21T00:00:00Z", "2024-02-29T10:00:00Z"},
		"an impossible day":    {"Feb 30 10:00:00", "2026-11-21T00:00:00Z", "0001-01-01T00:00:00Z"},
		"no hint of a year":    {"Nov 21 02:58:36", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
		"fractions are minded": {"Nov 21 02:58:36.250000", "2026-11-22T00:00:00Z", "2026-11-21T02:58:36.25Z"},
		"a zone in hours":      {"2026-11-21T02:58:36+01:00", "0001-01-01T00:00:00Z", "2026-11-21T01:58:36Z"},
		"seconds since 1970":   {"1795229916.250000", "0001-01-01T00:00:00Z", "2026-11-21T02:58:36.25Z"},
		"seconds since boot":   {"[  123.456789]", "2026-11-22T00:00:00Z", "0001-01-01T00:00:00Z"},
		"a zone of one digit":  {"Sat 2026-11-21 02:58:36 +1", "0001-01-01T00:00:00Z", "2026-11-21T02:58:36Z"},
		"a zone by its name":   {"Sat 2026-11-21 02:58:36 CET", "0001-01-01T00:00:00Z", "2026-11-21T01:58:36Z"},
	} {
		t.Run(name, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, c.now)
			if err != nil {
				t.Fatal(err)
			}
			sections, _, _ := unwrap(t, []byte(log(c.stamp)), envelope.Config{Now: now})
			if len(sections) != 1 || sections[0].Time.UTC().Format(time.RFC3339Nano) != c.want || sections[0].Source.Program != "kubelet" {
				t.Errorf("got %+v, want %s", sections, c.want)
			}
		})
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	var many strings.Builder
	for i := range 50 {
		many.WriteString(dump(1+i%3, "running", "select", "select") + "\n")
	}
	t.Run("sections", func(t *testing.T) {
		sections, _, problems := unwrap(t, []byte(many.String()), envelope.Config{MaxSections: 10, Path: "x.log"})
		if len(sections) != 10 || len(problems) != 1 || problems[0].Path != "x.log" || !strings.Contains(problems[0].What, "40 dumps") {
			t.Errorf("got %d sections, problems %+v", len(sections), problems)
		}
	})
	t.Run("compressed bytes", func(t *testing.T) {
		var long strings.Builder
		for i := range 20_000 {
			fmt.Fprintf(&long, "goroutine %d [select]:\nmain.f%x()\n\t/srv/main.go:1 +0x%x\n\n", i+1, i*i*2654435761, i*i*40503)
		}
		sections, info, problems := unwrap(t, []byte(long.String()), envelope.Config{MaxKept: 100 << 10})
		if len(sections) != 1 || !sections[0].Truncated || len(problems) != 1 || info.Kept > 200<<10 {
			t.Fatalf("got %d sections, %d bytes kept, problems %+v", len(sections), info.Kept, problems)
		}
		got := parse(t, text(t, &sections[0]))
		if len(got) < 1000 || len(got) >= 20_000 || sections[0].Headers != 20_000 {
			t.Errorf("got %d goroutines of %d", len(got), sections[0].Headers)
		}
	})
	t.Run("problems", func(t *testing.T) {
		cut := strings.Repeat(`msg="`+strings.ReplaceAll(dump(1, "select", "select", "select"), "\n", `\n`)+"\n", 20)
		sections, _, problems := unwrap(t, []byte(cut), envelope.Config{MaxProblems: 5})
		if len(sections) != 20 || !sections[0].Truncated || len(problems) != 6 || !strings.Contains(problems[5].What, "15 more") {
			t.Errorf("got %d sections, problems %+v", len(sections), problems)
		}
	})
}

// failing returns its bytes and then an error.
type failing struct{ r io.Reader }

func (f failing) Read(b []byte) (int, error) {
	n, err := f.r.Read(b)
	if err == io.EOF {
		err = os.ErrClosed
	}
	return n, err
}

func TestAFailingReaderLeavesWhatWasRead(t *testing.T) {
	sections, _, _, err := envelope.Unwrap(failing{strings.NewReader(dump(1, "select", "select", "select"))}, envelope.Config{})
	if err != os.ErrClosed || len(sections) != 1 {
		t.Errorf("got %d sections, error %v", len(sections), err)
	}
}

// TestTheLogsOfOthersHoldOneCrash counts crashes: one log of the three Troubleshoot
// bundles ends with a panic that shows one goroutine.
func TestTheLogsOfOthersHoldOneCrash(t *testing.T) {
	lone, members := 0, 0
	for _, name := range []string{"baseline", "missing-version", "testdata-support-bundle"} {
		f, err := os.Open(corpus.Path(t, "bundles", "public", "troubleshoot-"+name+".tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		unzipped, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		for archive := tar.NewReader(unzipped); ; members++ {
			h, err := archive.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			sections, info, _, err := envelope.Unwrap(archive, envelope.Config{})
			if err != nil || len(sections) > 0 {
				t.Errorf("%s: %d sections, %v", h.Name, len(sections), err)
			}
			lone += info.LoneHeaders
		}
	}
	if lone != 1 || members < 100 {
		t.Errorf("got %d lone headers in %d members, want 1", lone, members)
	}
}

const threadLine = "Full thread dump VM "

func TestHostileLinesAreBorne(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a line of blanks":           strings.Repeat(" ", 3<<20) + "goroutine 1 [select]:\n",
		"a line without end":         strings.Repeat("x", 3<<20),
		"only openers":               strings.Repeat("panic: x\nSIGQUIT: quit\n", 50_000),
		"only headers":               strings.Repeat("goroutine 1 [running]:\n", 50_000),
		"only headers in a string":   `"` + strings.Repeat(`goroutine 1 [running]:\n`, 50_000),
		"many sources":               strings.Repeat("web-1 a goroutine 1 [select]:\nweb-2 b goroutine 1 [select]:\nx-3 c\n", 20_000),
		"backslashes":                "goroutine 1 [a]:" + strings.Repeat(`\`, 1<<20) + "n",
		"parts that never end":       strings.Repeat("2026-11-21T02:58:36Z stderr P goroutine 1 [select]: x ", 1) + strings.Repeat("\n2026-11-21T02:58:36Z stderr P goroutine 1 [select]:", 50_000),
		"markers in a line":          strings.Repeat(`goroutine 1 [a]: `, 60_000),
		"thread markers in a line":   strings.Repeat(threadLine, 60_000) + `\n`,
		"strings in a line":          strings.Repeat(`"goroutine 1 [a]:\n"`, 50_000),
		"functions without headers":  "goroutine 1 [select]:\n" + strings.Repeat("main.f()\n", 300_000),
		"tags":                       "<html>goroutine 1 [x]:" + strings.Repeat("<", 1_000_000),
		"brackets":                   `{"a":` + strings.Repeat("[{", 100_000) + "goroutine 1 [x]:",
		"a length without its bytes": "__REALTIME_TIMESTAMP=1\nMESSAGE\n\xff\xff\xff\xff\xff\xff\xff\xffgoroutine 1 [select]:\n",
	} {
		t.Run(name, func(t *testing.T) {
			sections, _, _ := unwrap(t, []byte(text), envelope.Config{})
			for i := range sections {
				sections[i].Locate(0)
				sections[i].Locate(1 << 40)
			}
		})
	}
}

// heap is how much is in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// peak samples the heap while f reads.
type peak struct {
	r    io.Reader
	from int64
	max  int64
	next int // bytes until the next sample
}

func (p *peak) Read(b []byte) (int, error) {
	const apart = 16 << 20 // a sample takes a whole garbage collection
	if p.next <= 0 {
		p.next = apart
		p.max = max(p.max, heap()-p.from)
	}
	n, err := p.r.Read(b)
	p.next -= n
	return n, err
}

func TestAHundredThousandGoroutinesCostLittleMemory(t *testing.T) {
	corpus.Heavy(t)
	for name, prefix := range map[string]string{"grpc-100k-runtimeStack-full.txt.gz": "", "grpc-100k-SIGQUIT.log.gz": "Nov 21 02:58:36 node-1 server[77]: "} {
		f, err := os.Open(corpus.Path(t, "large", name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		unzipped, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		p := &peak{r: &prefixer{r: unzipped, prefix: prefix, begins: true}, from: heap()}
		started := time.Now()
		sections, info, problems, err := envelope.Unwrap(p, envelope.Config{})
		if err != nil || len(sections) != 1 || len(problems) > 0 {
			t.Fatalf("%s: %d sections, %v, %v", name, len(sections), problems, err)
		}
		held := heap() - p.from
		t.Logf("%s: %d MB in %v, %d headers, kept %d KiB, held %d KiB, peak %d KiB", name, info.Bytes>>20, time.Since(started), info.Headers, info.Kept>>10, held>>10, p.max>>10)
		if want := map[bool]int{true: 100_311, false: 100_305}[prefix != ""]; info.Headers != want {
			t.Errorf("%s: got %d headers, want %d", name, info.Headers, want)
		}
		if p.max > 40<<20 {
			t.Errorf("%s: the peak was %d MiB", name, p.max>>20)
		}
		runtime.KeepAlive(sections)
	}
}

// prefixer puts a prefix before each line as it is read.
type prefixer struct {
	r      io.Reader
	prefix string
	begins bool
	left   []byte
	buf    [32 << 10]byte
}

func (p *prefixer) Read(b []byte) (int, error) {
	for len(p.left) == 0 {
		n, err := p.r.Read(p.buf[:])
		for _, c := range p.buf[:n] {
			if p.begins {
				p.left = append(p.left, p.prefix...)
			}
			p.left = append(p.left, c)
			p.begins = c == '\n'
		}
		if err != nil && len(p.left) == 0 {
			return 0, err
		}
	}
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}

// endless returns a text so many times.
type endless struct {
	before, text, behind []byte
	times                int
	left                 []byte
	state                int
}

func (e *endless) Read(b []byte) (int, error) {
	for len(e.left) == 0 {
		switch {
		case e.state == 0:
			e.left = e.before
		case e.state <= e.times:
			e.left = e.text
		case e.state == e.times+1:
			e.left = e.behind
		default:
			return 0, io.EOF
		}
		e.state++
	}
	n := copy(b, e.left)
	e.left = e.left[n:]
	return n, nil
}

func TestOneLineOf200MiBIsStreamed(t *testing.T) {
	corpus.Heavy(t)
	block := []byte(`goroutine 7 [select, 6 minutes]:\nmain.f(0xc000010000)\n\t/srv/main.go:10 +0x1d\ncreated by main.main in goroutine 1\n\t/srv/main.go:3 +0x36\n\n`)
	for name, c := range map[string]struct {
		text           endless
		sections, want int
	}{
		"a dump in a string": {endless{before: []byte(`time="2026-11-21T02:58:36Z" msg="=== BEGIN goroutine stack dump ===\n`), text: bytes.ReplaceAll(block, []byte("goroutine 7 "), []byte("goroutine 0 ")), behind: []byte("\"\n"), times: 200 << 20 / len(block)}, 1, 200 << 20 / len(block)},
		"anything else":      {endless{text: bytes.Repeat([]byte("no dump in here, "), 1000), times: 200 << 20 / 17000}, 0, 0},
		"a dump at its end":  {endless{text: bytes.Repeat([]byte("no dump in here, "), 1000), behind: append(append([]byte(`"a":"`), bytes.ReplaceAll([]byte(dump(1, "select", "select", "select")), []byte("\n"), []byte(`\n`))...), '"'), times: 200 << 20 / 17000}, 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			p := &peak{r: &c.text, from: heap()}
			sections, info, _, err := envelope.Unwrap(p, envelope.Config{})
			if err != nil || len(sections) != c.sections || info.Headers != c.want {
				t.Errorf("got %d sections, %d headers, error %v, want %d, %d", len(sections), info.Headers, err, c.sections, c.want)
			}
			if p.max > 24<<20 {
				t.Errorf("the peak was %d MiB", p.max>>20)
			}
			t.Logf("peak %d KiB, kept %d KiB", p.max>>10, info.Kept>>10)
		})
	}
}

func FuzzUnwrap(f *testing.F) {
	three := dump(1, "running", "select", "select")
	for _, w := range wrappers {
		f.Add([]byte(w.wrap(three)))
		f.Add([]byte(w.wrap("SIGQUIT: quit\nPC=0x1 m=0 sigcode=0\n\n" + three + "\n-----\n")))
	}
	f.Add([]byte("2026-11-21 02:46:53\nFull thread dump OpenJDK VM (17):\n\n\"main\" #1 prio=5 tid=0x1 nid=0x1 runnable\n\tat a.b(c)\n\nJNI global refs: 1\n\nHeap\n"))
	f.Add([]byte("    [Goroutine 5 in state select, with main.f on top of the stack:\n    main.f()\n    \t/a.go:1 +0x1\n     Goroutine 6 in state sleep, with main.g on top of the stack:\n    ]\n"))
	f.Add([]byte("> ```\n> \"a\" #1 prio=5 tid=0x1 nid=0x1 runnable\n>    java.lang.Thread.State: RUNNABLE\n> ```\n"))
	for _, prefix := range []string{
		"<165>1 2026-11-21T02:58:36.003Z   1234 - - ",
		"<165>1 2026-11-21T02:58:36.003Z \u00a0 kubelet 1234 - - ",
		"<165>1 2026-11-21T02:58:36.003Z \t \t \t - - ",
		"Nov 21 03:05:00 \u00a0 \t: ",
	} {
		f.Add([]byte(prefix + strings.ReplaceAll(three, "\n", "\n"+prefix)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sections, info, _, err := envelope.Unwrap(bytes.NewReader(data), envelope.Config{Now: begin})
		if err != nil {
			t.Fatal(err)
		}
		if info.Bytes != int64(len(data)) {
			t.Errorf("%d bytes were seen of %d", info.Bytes, len(data))
		}
		sum := int64(0)
		for i := range sections {
			s := &sections[i]
			plain := text(t, s)
			sum += s.Bytes
			if s.Line < 1 || s.Offset < 0 || s.Offset > int64(len(data)) || s.Form == "" || s.Headers == 0 {
				t.Errorf("%+v", s)
			}
			for at := 0; at <= len(plain); at += 1 + len(plain)/50 {
				_, raw := s.Locate(int64(at))
				if raw < 0 || raw > int64(len(data)) {
					t.Errorf("byte %d is said to be at %d", at, raw)
				}
			}
		}
		// No unwrapped text is longer than its wrapping, but for the newlines of lines
		// that had none.
		if sum > 3*int64(len(data))+16 {
			t.Errorf("%d bytes in sections of %d", sum, len(data))
		}
		if len(sections) > 0 && !envelope.Promises(data) {
			t.Error("no dump was promised")
		}
	})
}

func BenchmarkALogWithoutADump(b *testing.B) {
	line := "Nov 21 02:58:36 node-1 kubelet[1234]: I1121 02:58:36.123456    1234 kubelet.go:2414] \"SyncLoop (PLEG): event for pod\" pod=\"kube-system/etcd\"\n"
	data := bytes.Repeat([]byte(line), 64<<20/len(line))
	b.Run("unwrap", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			envelope.Unwrap(bytes.NewReader(data), envelope.Config{})
		}
	})
	b.Run("IndexByte", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		buf := make([]byte, 256<<10)
		for b.Loop() {
			r := bytes.NewReader(data)
			for {
				n, err := r.Read(buf)
				for rest := buf[:n]; ; {
					i := bytes.IndexByte(rest, '\n')
					if i < 0 {
						break
					}
					rest = rest[i+1:]
				}
				if err != nil {
					break
				}
			}
		}
	})
}

func BenchmarkAWrappedDump(b *testing.B) {
	plain := plains(b)["kubelet"]
	for _, w := range wrappers {
		switch w.name {
		case "no wrapping", "journald short", "CRI", "docker JSON", "logrus", "kubectl --timestamps", "stern":
			data := bytes.Repeat([]byte(w.wrap(plain)), 20)
			b.Run(w.name, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					envelope.Unwrap(bytes.NewReader(data), envelope.Config{})
				}
			})
		}
	}
}
