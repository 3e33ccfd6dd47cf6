package thread

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/samples/corpus"
)

// outcome is everything that a parser returns; threads are copies.
type outcome struct {
	Dumps    []Dump
	Problems []analysis.Problem
	Threads  []analysis.Thread
	Ordinals []int
	Failure  string
	// recalled is the number of threads that were not read line by line.
	recalled int
}

// outcomeOf reads a text with known bodies or line by line.
func outcomeOf(r io.Reader, known *knownBodies) (out outcome) {
	var p *textParser
	seen := map[*body]bool{nil: true}
	p = newTextParser(r, Config{}.withDefaults(), func(ordinal int, t *analysis.Thread) error {
		x := *t
		x.Locks = slices.Clone(t.Locks)
		out.Threads, out.Ordinals = append(out.Threads, x), append(out.Ordinals, ordinal)
		if p.same != nil && seen[p.same] {
			out.recalled++
		}
		seen[p.same] = true
		return nil
	})
	p.known = known
	var err error
	out.Dumps, out.Problems, err = p.run("x")
	if err != nil {
		out.Failure = err.Error()
	}
	return out
}

// differences compares both ways of reading.
func differences(text string) (recalled int, diff string) {
	lines, blocks := outcomeOf(strings.NewReader(text), nil), outcomeOf(strings.NewReader(text), newKnownBodies())
	recalled, blocks.recalled = blocks.recalled, 0
	if reflect.DeepEqual(lines, blocks) {
		return recalled, "" // cmp takes its time
	}
	return recalled, cmp.Diff(lines, blocks, cmp.AllowUnexported(outcome{}))
}

func TestKnownBodiesChangeNothingInRealDumps(t *testing.T) {
	root := corpus.Path(t)
	files, recalled := 0, 0
	for _, dir := range []string{"threads", "series", "bundles"} {
		if !corpus.Has(t, dir) {
			continue
		}
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || len(text) > 8<<20 || !strings.Contains(string(text), "at java") {
				return err
			}
			files++
			for _, s := range []string{string(text), strings.ReplaceAll(string(text), "\n", "\r\n")} {
				n, diff := differences(s)
				if recalled += n; diff != "" {
					t.Errorf("%s (-lines +blocks):\n%s", path, diff)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 60 || recalled < 5000 {
		t.Errorf("%d files with %d threads that were not read line by line, want at least 60 and 5000", files, recalled)
	}
}

// bodyLines are what may stand below a header, and what may not. %x is an address.
var bodyLines = []string{
	"   java.lang.Thread.State: WAITING (parking)", "   java.lang.Thread.State: TIMED_WAITING (on object monitor)", "   java.lang.Thread.State: BLOCKED on a.B@1b2c owned by \"x\" t@3",
	"\tat java.lang.Object.wait(java.base@17.0.15/Native Method)", "\tat a.B.<init>(B.java:1)", "\tat a.B<0x%x>.run(B.java:2)", "\tat a.C.run(C.java:3)", "\tat nothing",
	"\t- waiting on <0x%x> (a java.lang.Object)", "\t- locked <0x%x> (a java.lang.Object)", "\t- locked <0x%x> (a java.lang.Object), owner #7", "\t- waiting to lock <0x%x> (a B<0x%x>)",
	"\t- parking to wait for  <0x%x> (a a.Sync)", "\t- locked <a.B@0x12>", "\t- locked <a.B@0x12> (a <0x12>)", "\t- waiting on <no object reference available>", "\t- a.b(<0x%x>) @bci=1", "\t- None",
	"", "", "   Locked ownable synchronizers:", "\t- <0x%x> (a a.Sync)", "\towned by \"y\" id=15 (0xf)", "\t...", "   Carrying virtual thread #9", "   No compile task", "   on a.B@1b2c",
	"2026-11-21 INFO something else", "java.lang.IllegalStateException: no <0x%x>", "Name: z", "State: RUNNABLE", "===", "12", "\t- eliminated <0x%x> (a a.B)", "Thread 5: (state = BLOCKED)",
}

var headerLines = []string{
	`"pool-%d" #%d prio=5 os_prio=0 cpu=1.69ms elapsed=23.66s tid=0x00007f33d016f270 nid=0xa5f waiting on condition  [0x00007f33a97fc000]`,
	`"wait-%d" #%d daemon prio=5 os_prio=0 tid=0x00007f33d016f270 nid=0xa5f in Object.wait()  [0x00007f33a97fc000]`,
	`"core-%d" id=%d (0xb) state=WAITING cpu=0%%`,
	`"bean-%d" Id=%d WAITING on java.lang.Object@1b2c`,
	`"vm-%d" prio=10 tid=0x00007f33d012 nid=0x%x runnable`,
	`"said %d" in %d words`,
	`"Full thread dump %d VM" #%d prio=5 os_prio=0 tid=0x00007f33d016f270 nid=0xa5f runnable`,
	`#%d "file-%d"`,
}

// dumpText is a text of some bodies many times, with other addresses.
func dumpText(t *rapid.T) string {
	var bodies [][]string
	for range rapid.IntRange(1, 4).Draw(t, "bodies") {
		bodies = append(bodies, rapid.SliceOfN(rapid.SampledFrom(bodyLines), 0, 8).Draw(t, "body"))
	}
	var b strings.Builder
	end := rapid.SampledFrom([]string{"\n", "\n", "\r\n"}).Draw(t, "end")
	for i := range rapid.IntRange(1, 12).Draw(t, "threads") {
		if rapid.IntRange(0, 9).Draw(t, "announced") == 0 {
			b.WriteString("2026-11-21 02:47:13" + end + "Full thread dump OpenJDK 64-Bit Server VM (17.0.15 mixed mode):" + end)
		}
		fmt.Fprintf(&b, rapid.SampledFrom(headerLines).Draw(t, "header")+end, i, i)
		for _, line := range rapid.SampledFrom(bodies).Draw(t, "below") {
			for strings.Contains(line, "%x") {
				line = strings.Replace(line, "%x", rapid.StringMatching("0{0,3}[1-3a]").Draw(t, "address"), 1)
			}
			b.WriteString(line + end)
		}
	}
	return b.String()
}

func TestKnownBodiesChangeNothingInGeneratedDumps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := dumpText(t)
		if _, diff := differences(text); diff != "" {
			t.Fatalf("(-lines +blocks):\n%s\n%s", diff, text)
		}
	})
}

// twoOfAKind are threads of one stack with different objects; the second thread holds
// the object that the first waits for.
const twoOfAKind = `"a-1" #1 prio=5 os_prio=0 tid=0x1 nid=0x1 waiting for monitor entry  [0x1]
   java.lang.Thread.State: BLOCKED (on object monitor)
	at a.B.run(B.java:1)
	- waiting to lock <0x01> (a java.lang.Object)
	at a.B.<init>(B.java:2)
	- locked <0x02> (a java.lang.Object)

"other" #4 prio=5 os_prio=0 tid=0x1 nid=0x4 runnable  [0x1]
   java.lang.Thread.State: RUNNABLE

"a-2" #2 prio=5 os_prio=0 tid=0x1 nid=0x2 waiting for monitor entry  [0x1]
   java.lang.Thread.State: BLOCKED (on object monitor)
	at a.B.run(B.java:1)
	- waiting to lock <0x02> (a java.lang.Object)
	at a.B.<init>(B.java:2)
	- locked <0x01> (a java.lang.Object)

"end" #3 prio=5 os_prio=0 tid=0x1 nid=0x3 runnable  [0x1]
`

func TestThreadsOfOneStackKeepTheirOwnObjects(t *testing.T) {
	got := outcomeOf(strings.NewReader(twoOfAKind), newKnownBodies())
	if got.recalled != 1 || len(got.Threads) != 4 || got.Threads[0].Stack != got.Threads[2].Stack {
		t.Fatalf("%d of %d threads were read at once", got.recalled, len(got.Threads))
	}
	for i, want := range map[int]string{0: "[waiting to lock 0x01 at 0 locked 0x02 at 1]", 2: "[waiting to lock 0x02 at 0 locked 0x01 at 1]"} {
		var locks []string
		for _, l := range got.Threads[i].Locks {
			locks = append(locks, fmt.Sprintf("%s %s at %d", l.How, l.Object, l.Frame))
		}
		if fmt.Sprint(locks) != want {
			t.Errorf("thread %d: %v, want %s", i, locks, want)
		}
	}
	if d := got.Dumps[0].Deadlocks; len(d) != 1 || len(d[0].Threads) != 2 {
		t.Errorf("the threads wait for each other: got %+v", d)
	}
}

func TestAnyReaderGivesTheSameBlocks(t *testing.T) {
	text := strings.Repeat(twoOfAKind, 300)
	want := outcomeOf(strings.NewReader(text), newKnownBodies())
	for name, r := range map[string]io.Reader{
		"a byte at a time": iotest.OneByteReader(strings.NewReader(text)), "half of what is asked": iotest.HalfReader(strings.NewReader(text)), "data with the end": iotest.DataErrReader(strings.NewReader(text)),
	} {
		if diff := cmp.Diff(want, outcomeOf(r, newKnownBodies()), cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	broken := outcomeOf(iotest.TimeoutReader(iotest.HalfReader(strings.NewReader(text))), newKnownBodies())
	if broken.Failure == "" {
		t.Error("a failure in what was looked at ahead is lost")
	}
}

func TestWhatIsRememberedOfBodiesIsBounded(t *testing.T) {
	k := newKnownBodies()
	var b strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&b, "\"a\" #%d prio=5 tid=0x1 nid=0x1 runnable  [0x1]\n\tat a.B.run(B.java:%d)\n", i, i)
	}
	if got := outcomeOf(strings.NewReader(b.String()), k); len(got.Threads) != 40_000 {
		t.Errorf("%d threads", len(got.Threads))
	}
	if len(k.kept) != maxKnownBodies {
		t.Errorf("%d bodies are kept, want %d", len(k.kept), maxKnownBodies)
	}
}

func FuzzKnownBodies(f *testing.F) {
	f.Add(twoOfAKind + twoOfAKind)
	f.Add(strings.ReplaceAll(twoOfAKind+twoOfAKind, "\n", "\r\n"))
	f.Fuzz(func(t *testing.T, text string) {
		if _, diff := differences(text + "\n" + text); diff != "" {
			t.Fatalf("(-lines +blocks):\n%s", diff)
		}
	})
}

func TestNumbersOfHeadersAreThoseOfStrconv(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[0-9]{0,8}(\.[0-9]{0,6})?(ms|s)?`).Draw(t, "number")
		if got, want := seconds(s), plainSeconds(s); got != want {
			t.Fatalf("%q: got %v, want %v", s, got, want)
		}
	})
}

func plainSeconds(s string) float64 {
	unit := 1.0
	if strings.HasSuffix(s, "ms") {
		unit = 1e-3
	}
	n, err := strconv.ParseFloat(strings.TrimRight(s, "ms"), 64)
	if err != nil {
		return -1
	}
	return n * unit
}

func TestTrimCutsTheBlanksOffBothEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune(blanks+"\na\u00a0\u65e5\x00"))).Draw(t, "s")
		if got, want := trim(s), strings.Trim(s, blanks); got != want {
			t.Fatalf("%q: %q, want %q", s, got, want)
		}
	})
}
