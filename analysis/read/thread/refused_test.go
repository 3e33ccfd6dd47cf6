package thread_test

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/samples/corpus"
)

// numberedHeader is a header of a Java thread, headerLine that of any thread.
var (
	numberedHeader = regexp.MustCompile(`(?m)^(".*") #(\d+) (daemon )?(prio=\d+) (os_prio=\d+) cpu=([\d.]+)ms elapsed=([\d.]+)s (tid=\S+ nid=0x)([0-9a-f]+) (.*)$`)
	headerLine     = regexp.MustCompile(`(?m)^"(?:.*\n)?.*tid=0x.*$`)
)

// hotSpotDump is a real dump of 43 threads.
func hotSpotDump(t testing.TB) string {
	return content(t, corpus.Path(t, "threads", "jdk-matrix", "jdk17", "jstack.txt"))
}

// warned are the problems that cost evidence.
func warned(p parsed) []analysis.Problem {
	return slices.DeleteFunc(slices.Clone(p.problems), func(x analysis.Problem) bool { return x.Severity == analysis.Note })
}

func refused(p parsed) int {
	n := 0
	for _, d := range p.dumps {
		n += d.Refused
	}
	return n
}

func TestHeadersWithWordsThatNobodyKnowsAreThreads(t *testing.T) {
	text := hotSpotDump(t)
	want := parse(t, "plain.txt", text).all()
	for name, template := range map[string]string{
		"an attribute before the number":     `$1 foo=bar #$2 [0x12] $3$4 $5 cpu=${6}ms elapsed=${7}s $8$9 $10`,
		"words behind the number":            `$1 #$2 of group [a] (see below) $3$4 $5 cpu=${6}ms elapsed=${7}s $8$9 $10`,
		"a quoted value":                     `$1 #$2 user="a b" tx="" $3$4 $5 cpu=${6}ms elapsed=${7}s $8$9 $10`,
		"an attribute in capitals":           `$1 #$2 EPPID=1 a.b-c=7 $3$4 $5 cpu=${6}ms elapsed=${7}s $8$9 $10`,
		"SAP's figures in one line":          `$1 #$2 $3$4 $5 cpu=$6 [reset $6] ms elapsed=$7 [reset $7] s allocated=0 B (0 B) [reset 0 B (0 B)] defined_classes=0 io= file i/o: 0/0 B, files opened:0  [reset file i/o: 0/0 B ]  $8$9 / 17 $10`,
		"SAP's figures in three lines":       "$1 #$2 $3$4 $5 cpu=$6 [reset $6] ms elapsed=$7 [reset $7] s allocated=0 B (0 B) [reset 0 B (0 B)] defined_classes=0\nio= file i/o: 0/0 B, net i/o: 0/0 B, files opened:0  [reset file i/o: 0/0 B ]\n$8$9 / 17 $10",
		"SAP's older order, with pthread-id": "$1 #$2 $3 cpu=$6 [reset $6] ms elapsed=$7 [reset $7] s defined_classes=0\nio= file i/o: 0/0 B\n$4 $5 $8$9 / 17  pthread-id=32 $10",
		"no words":                           `$1 #$2 $3$4 $5 cpu=${6}ms elapsed=${7}s $8$9 $10`,
	} {
		t.Run(name, func(t *testing.T) {
			got := parse(t, "x.txt", numberedHeader.ReplaceAllString(text, template))
			if n := refused(got); n != 0 || len(warned(got)) != 0 {
				t.Errorf("%d refused, %+v", n, got.problems)
			}
			at := func(threads []analysis.Thread) []string {
				var out []string
				for _, x := range threads {
					out = append(out, fmt.Sprintf("%q #%d nid %d daemon %v %s cpu %.5f elapsed %.2f, %d frames, %d locks", x.Name, x.ID, x.Native, x.Daemon, x.State, x.CPU, x.Elapsed, len(x.Stack.Frames), len(x.Locks)))
				}
				return out
			}
			if diff := cmp.Diff(at(want), at(got.all())); diff != "" {
				t.Errorf("-as they are +so:\n%s", diff)
			}
		})
	}
}

func TestEachAnnouncementBeginsADump(t *testing.T) {
	var threads []string
	for block := range strings.SplitSeq(hotSpotDump(t), "\n\n") {
		if strings.HasPrefix(block, `"`) && strings.Contains(block, "State: ") {
			threads = append(threads, block)
		}
	}
	dump := strings.Join(threads, "\n\n") + "\n\n"
	for _, tc := range []struct {
		name, above string
		want        []int
	}{
		{"without a version", "Full thread dump:\n\n", []int{35, 35, 35}},
		{"without a version and colon", "Full thread dump\n", []int{35, 35, 35}},
		{"in small letters", "full thread dump:\n", []int{35, 35, 35}},
		{"with a date above", "2026-11-21 02:46:52\nFull thread dump:\n\n", []int{35, 35, 35}},
		{"behind the prefix of a log", "02:46:52 INFO Watchdog - Full thread dump:\n", []int{35, 35, 35}},
		{"by the program and by the machine", "Full thread dump:\nFull thread dump OpenJDK 64-Bit Server VM (17 mixed mode):\n\n", []int{35, 35, 35}},
		{"in a log line about it alone", "INFO Full thread dump was asked for\n", []int{35, 35, 35}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := parse(t, "x.txt", strings.Repeat(tc.above+dump, 3))
			if !slices.Equal(got.counts(), tc.want) || refused(got) != 0 {
				t.Errorf("%v threads, %d refused, want %v", got.counts(), refused(got), tc.want)
			}
			for _, p := range warned(got) {
				if !strings.Contains(tc.above, "VM") {
					t.Errorf("it warns of %s: %s", p.What, p.Why)
				}
			}
		})
	}
}

func TestWhatBeginsLikeAThreadAndIsNotUnderstoodIsRefused(t *testing.T) {
	const header = `"http-nio-8080-exec-6" #22 daemon prio=5 os_prio=0`
	text := hotSpotDump(t)
	line, _, _ := strings.Cut(text[strings.Index(text, header):], "\n")
	number := int64(1 + strings.Count(text[:strings.Index(text, header)], "\n"))
	unchanged := parse(t, "plain.txt", text)
	for _, tc := range []struct {
		name   string
		damage func(string) string
		at     int64
	}{
		{"a header that breaks off", func(s string) string { return strings.Replace(s, line, line[:28], 1) }, number},
		{"a header of which the name does not end", func(s string) string { return strings.Replace(s, line, `"http-n`, 1) }, number},
		{"a header with a damaged address", func(s string) string { return strings.Replace(s, line, strings.ReplaceAll(line, "tid=", "t\x00d"), 1) }, number},
		{"a header that something cut into", func(s string) string {
			return strings.Replace(s, line, line[:40]+"2026-11-21 02:46:52 INFO started", 1)
		}, number},
		{"a state without its header", func(s string) string { return strings.Replace(s, line+"\n", "", 1) }, number},
		{"a header of Java without its name and number", func(s string) string {
			return strings.Replace(s, line, line[strings.Index(line, "os_prio="):], 1)
		}, number},
		{"a thread of the machine", func(s string) string {
			at := strings.Index(s, `"GC Thread#1"`)
			return s[:at+20] + s[at+strings.IndexByte(s[at:], '\n'):]
		}, 529},
	} {
		t.Run(tc.name, func(t *testing.T) {
			damaged := tc.damage(text)
			for name, s := range map[string]string{"as it is": damaged, "with the ends of lines of Windows": strings.ReplaceAll(damaged, "\n", "\r\n")} {
				got := parse(t, "x.txt", s)
				if refused(got) != 1 || !slices.Equal(got.counts(), []int{42}) || got.dumps[0].Truncated {
					t.Fatalf("%s: %d refused of %v threads, truncated: %s", name, refused(got), got.counts(), got.dumps[0].TruncatedWhy)
				}
				problems := warned(got)
				if len(problems) != 1 || problems[0].Line != tc.at || !strings.Contains(problems[0].What, "at least 42 threads") || problems[0].Hint == "" || problems[0].Why == "" {
					t.Errorf("%s: %+v", name, problems)
				}
				// No other thread takes over the lines of the refused one.
				known := map[string]int{}
				for _, x := range unchanged.all() {
					known[x.Name] = len(x.Stack.Frames)
				}
				for _, x := range got.all() {
					if n := len(x.Stack.Frames); n != known[x.Name] {
						t.Errorf("%s: %q has %d frames, want %d", name, x.Name, n, known[x.Name])
					}
				}
			}
		})
	}
}

func TestWhatLooksLikeAThreadAndIsNoneRefusesNothing(t *testing.T) {
	text := hotSpotDump(t)
	within := func(foreign string) string {
		at := strings.Index(text, "\tat java.util.concurrent")
		return text[:at] + foreign + text[at:]
	}
	for name, s := range map[string]string{
		"a quote that a program printed into a stack":    within("\"GET /index.html HTTP/1.1\" 200\n"),
		"JSON that a program printed into a stack":       within("{\n\"level\": \"info\",\n\n\"message\": \"started\"\n}\n"),
		"JSON between threads":                           strings.Replace(text, "\n\n\"Finalizer\"", "\n\n\"level\": \"info\"\n\n\"Finalizer\"", 1),
		"the sampler of Flight Recorder, without a name": strings.Replace(text, "\n\n\"GC Thread#1\"", "\n\nos_prio=31 cpu=20.37ms elapsed=10.15s tid=0x0000000101bcb200 nid=38915 runnable  \n\"GC Thread#1\"", 1),
		"quotes behind the dump":                         text + "\n\"GET /index.html HTTP/1.1\" 200\n\"main\" #1 began\n",
		"quotes before the dump":                         "\"GET /index.html HTTP/1.1\" 200\n\n" + text,
		"a name that holds the end of a line and quote":  strings.Replace(text, `"http-nio-8080-exec-6" #22`, "\"http\n\"nio\" exec-6\" #22", 1),
	} {
		got := parse(t, "x.txt", s)
		if n := refused(got); n != 0 || len(warned(got)) != 0 {
			t.Errorf("%s: %d refused, %+v", name, n, warned(got))
		}
		if !slices.Equal(got.counts(), []int{43}) {
			t.Errorf("%s: %v threads", name, got.counts())
		}
	}
}

// TestThreadsAndRefusedAreThoseSeen damages any headers of a real dump.
func TestThreadsAndRefusedAreThoseSeen(t *testing.T) {
	text := hotSpotDump(t)
	headers := headerLine.FindAllStringIndex(text, -1)
	if len(headers) != 43 {
		t.Fatalf("%d headers", len(headers))
	}
	rapid.Check(t, func(t *rapid.T) {
		damaged := rapid.SliceOfNDistinct(rapid.IntRange(0, len(headers)-1), 0, 12, rapid.ID[int]).Draw(t, "headers")
		slices.Sort(damaged)
		out, at := "", 0
		for _, i := range damaged {
			h := text[headers[i][0]:headers[i][1]]
			keep := rapid.IntRange(1, strings.LastIndex(h, "tid=")).Draw(t, "kept")
			out += text[at:headers[i][0]] + strings.ReplaceAll(h[:keep], "\n", " ")
			at = headers[i][1]
		}
		got, err := read("x.txt", strings.NewReader(out+text[at:]))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(got.all()); n+refused(got) != len(headers) || refused(got) != len(damaged) {
			t.Fatalf("%d threads and %d refused, want %d and %d", n, refused(got), len(headers)-len(damaged), len(damaged))
		}
	})
}

func TestNoDumpOfTheCollectionIsRefused(t *testing.T) {
	dumps := 0
	for _, r := range rows(t) {
		if !corpus.Has(t, r.path) {
			continue
		}
		name := corpus.Path(t, r.path)
		p := parse(t, name, content(t, name))
		dumps += len(p.dumps)
		for _, d := range p.dumps {
			if d.Refused > 0 {
				t.Errorf("%s, dump %d: %d of %d threads are refused", r.path, d.Ordinal, d.Refused, d.Refused+d.Threads)
			}
		}
	}
	least := 110
	if !corpus.Has(t, "threads", "public") {
		least = 75 // of our own
	}
	if dumps < least {
		t.Errorf("only %d dumps were looked at", dumps)
	}
}

// jstackF has the layout that jstack -F of JDK 5 and 7 prints: a header, its frames, two
// blank lines.
const jstackF = `Attaching to process ID 4711, please wait...
Debugger attached successfully.
JVM version is 24.45-b08
Thread 101: (state = BLOCKED)
 - java.lang.Object.wait(long) @bci=0 (Interpreted frame)
 - shop.Worker.run() @bci=7, line=38 (Interpreted frame)


Thread 102: (state = IN_NATIVE)


Thread t@103: (state = BLOCKED)
 - shop.Worker.take() @bci=1, line=9 (Compiled frame; information may be imprecise)
 - shop.Worker.run() @bci=7, line=38 (Interpreted frame)


`

// TestADamagedHeaderOfJstackFIsRefused leaves out what nothing shows: the loss of a header
// without frames.
func TestADamagedHeaderOfJstackFIsRefused(t *testing.T) {
	garbled := func(header, by string) string { return strings.Replace(jstackF, header, by, 1) }
	for _, tc := range []struct {
		name, text       string
		threads, refused int
	}{
		{"as it is", jstackF, 3, 0},
		{"with blank lines between all", strings.ReplaceAll(jstackF, "\n", "\n\n"), 3, 0},
		{"the first header is missing", garbled("Thread 101: (state = BLOCKED)\n", ""), 2, 1},
		{"the first header is garbled", garbled("Thread 101", "Thr\x00\xff#~%@!?1"), 2, 1},
		{"the first header is cut", garbled("Thread 101: (state = BLOCKED)", "Thread 1"), 2, 1},
		{"the last header is missing", garbled("Thread t@103: (state = BLOCKED)\n", ""), 2, 1},
		{"the last header is garbled", garbled("Thread t@103:", "Thread t\x00\xff#~%@!?"), 2, 1},
		{"the last header is cut", garbled("Thread t@103: (state = BLOCKED)", "Thread t@10"), 2, 1},
		{"a header without frames is garbled", garbled("102:", "\x00\xff#"), 2, 1},
		{"the second dump begins with a garbled header", jstackF + garbled("Thread 101", "Thr\x00\xff#~%@!?1"), 5, 1},
	} {
		p := parse(t, "x.txt", tc.text)
		if len(p.all()) != tc.threads || refused(p) != tc.refused || len(warned(p)) != tc.refused {
			t.Errorf("%s: %d threads and %d refused, %+v", tc.name, len(p.all()), refused(p), warned(p))
		}
	}
}

// hpUX has the layout of HotSpot on HP-UX: no version, no blank lines.
const hpUX = `Full thread dump:
"Thread-1" daemon prio=10 tid=0x0003d470 nid=51 lwp_id=3573101 waiting on monitor [0x1fed1000..0x1fed1500]
       at java.lang.Object.wait(Native Method)
       at shop.Worker.run(Worker.java:119)
"Thread-0" daemon prio=10 tid=0x0003a3b0 nid=11 lwp_id=3573061 waiting on monitor [0x212f9000..0x212f9500]
       at shop.Worker.run(Worker.java:119)
"VM Periodic Task Thread" prio=8 tid=0x0018ce38 nid=6 lwp_id=3573010 waiting on monitor 
"Suspend Checker Thread" prio=10 tid=0x0018ceb8 nid=7 lwp_id=3573011 runnable 
`

func TestDamageOfADumpOfHPUXIsSaid(t *testing.T) {
	if p := parse(t, "x.txt", hpUX+hpUX); !slices.Equal(p.counts(), []int{4, 4}) || len(warned(p)) != 0 {
		t.Errorf("as it is: %v threads, %+v", p.counts(), warned(p))
	}
	p := parse(t, "x.txt", strings.Replace(hpUX, ":119)\n\"Thread-0", ":119)\"Thread-0", 1))
	if !slices.Equal(p.counts(), []int{3}) || refused(p) != 1 || len(p.all()[0].Stack.Frames) != 2 {
		t.Errorf("joined: %v threads, %d refused", p.counts(), refused(p))
	}
	for _, end := range []string{"\"VM Periodic", "\"Thread-0", "nid=11", "       at shop"} {
		if p := parse(t, "x.txt", hpUX[:strings.LastIndex(hpUX, end)]); len(p.dumps) != 1 || !p.dumps[0].Truncated {
			t.Errorf("it ends before %s: %+v", end, p.dumps)
		}
	}
}

func TestAHeaderBehindALogLineWithoutAnEndIsRefused(t *testing.T) {
	for file, header := range map[string]string{
		"jdk17/jstack.txt": "\"http-nio-8080-exec-2\"", "jdk17/support-core-thread-dump.txt": "\"http-nio-8080-exec-2\"",
		"jdk21/dump_to_file.txt": "#38 \"\"", "jdk21/getAllStackTraces.txt": "Thread[#38,",
	} {
		text := content(t, corpus.Path(t, "threads", "jdk-matrix", path.Dir(file), path.Base(file)))
		whole, got := parse(t, "x.txt", text), parse(t, "x.txt", strings.Replace(text, "\n"+header, "\n2026/11/21 03:00:00 slow"+header, 1))
		if n := len(got.all()); n != len(whole.all())-1 || refused(whole) != 0 || refused(got) != 1 {
			t.Errorf("%s: %d threads of %d, %d refused", file, n, len(whole.all()), refused(got))
		}
	}
}

// TestTheLockChainsOfJRockitNameThreadsAgain has the layout of JRockit R25 and R26, and of
// 1.4.2_05.
func TestTheLockChainsOfJRockitNameThreadsAgain(t *testing.T) {
	const began, end = "===== FULL THREAD DUMP ===============\nWed Nov 18 12:05:13 2026\nBEA JRockit(R) R25.2.0-28\n\n", "\n===== END OF THREAD DUMP ===============\n\n"
	for name, s := range map[string]string{
		"R25": "\"a\" id=10 idx=0x14 tid=5628 prio=5 alive, in native, blocked\n    at shop/Cart.add()V(Cart.java:9)\n    -- end of trace\n\n" +
			"\"b\" id=11 idx=0x16 tid=3264 prio=5 alive, in native, blocked\n    at shop/Cart.sum()V(Cart.java:4)\n    -- end of trace\n\n" +
			"Circular (deadlocked) lock chains\n=================================\nChain 2:\n\"a\" id=10 idx=0x14 tid=5628 waiting for java/lang/Object@0x01 held by:\n\"b\" id=11 idx=0x16 tid=3264 waiting for java/lang/Object@0x02 held by:\n\"a\" id=10 idx=0x14 tid=5628\n\n" +
			"Blocked lock chains\n===================\nChain 3:\n\"c\" id=12 idx=0x18 tid=9 waiting for java/lang/Object@0x02 held by:\n\"a\" id=10 idx=0x14 tid=5628 in chain 2\n",
		"1.4.2_05": "\"a\" prio=5 id=0xc00 tid=0xc10 blocked\n    at shop/Cart.add(Cart.java:9)@0x15D1EA44\n    --- End of stack trace\n\n" +
			"\"b\" prio=5 id=0xc80 tid=0xc11 blocked\n    at shop/Cart.sum(Cart.java:4)@0x15D1EA45\n    --- End of stack trace\n\n" +
			"Blocked lock chains\n===================\nChain 1:\n\"c\" (id: 0x00000a80) waiting for java/lang/Object@0x01 held by:\n\"a\" (id: 0x00000c00) in chain 2\n",
	} {
		p := parse(t, "x.txt", began+s+end+began+s+end)
		if !slices.Equal(p.counts(), []int{2, 2}) || refused(p) != 0 || len(warned(p)) != 0 {
			t.Errorf("%s: %v threads, %d refused, %+v", name, p.counts(), refused(p), warned(p))
		}
	}
}
