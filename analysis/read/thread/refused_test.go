package thread_test

import (
	"fmt"
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
		"a quote that a program printed into a stack":   within("\"GET /index.html HTTP/1.1\" 200\n"),
		"JSON that a program printed into a stack":      within("{\n\"level\": \"info\",\n\n\"message\": \"started\"\n}\n"),
		"JSON between threads":                          strings.Replace(text, "\n\n\"Finalizer\"", "\n\n\"level\": \"info\"\n\n\"Finalizer\"", 1),
		"quotes behind the dump":                        text + "\n\"GET /index.html HTTP/1.1\" 200\n\"main\" #1 began\n",
		"quotes before the dump":                        "\"GET /index.html HTTP/1.1\" 200\n\n" + text,
		"a name that holds the end of a line and quote": strings.Replace(text, `"http-nio-8080-exec-6" #22`, "\"http\n\"nio\" exec-6\" #22", 1),
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
		name := corpus.Path(t, r.path)
		p := parse(t, name, content(t, name))
		dumps += len(p.dumps)
		for _, d := range p.dumps {
			if d.Refused > 0 {
				t.Errorf("%s, dump %d: %d of %d threads are refused", r.path, d.Ordinal, d.Refused, d.Refused+d.Threads)
			}
		}
	}
	if dumps < 110 {
		t.Errorf("only %d dumps were looked at", dumps)
	}
}
