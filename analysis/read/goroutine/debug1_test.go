package goroutine_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
)

// sums are of the profiles of a text; the records' own sums must be the same.
func sums(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, text string) ([]goroutine.Profile, []int, []analysis.Problem) {
	visited := map[int]int{}
	profiles, problems, err := goroutine.ParseDebug1(strings.NewReader(text), goroutine.Config{}, func(r *goroutine.Record) error {
		visited[r.Profile] += r.Count
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for i, p := range profiles {
		if visited[i] != p.Sum {
			t.Fatalf("profile %d has a sum of %d, its records of %d", i, p.Sum, visited[i])
		}
		out = append(out, p.Sum)
	}
	return profiles, out, problems
}

const (
	leakText   = "goroutineleak profile: total 3\n3 @ 0x1 0x2\n#\t0x1\tmain.leak+0x1\t/src/main.go:20\n\n"
	threadText = "threadcreate profile: total 12\n11 @\n#\t0x0\n\n1 @ 0x5\n#\t0x5\truntime.newm+0x1\t/src/proc.go:1\n\n"
	heapText   = "heap profile: 1: 2 [3: 4] @ heap/1048576\n1: 2 [3: 4] @ 0x1 0x2\n#\t0x1\tmain.big+0x1\t/src/main.go:3\n\n# runtime.MemStats\n# Alloc = 12\n"
	mutexText  = "--- mutex:\ncycles/second=2400000000\nsampling period=1\n8320 1 @ 0x1 0x2\n#\t0x1\tsync.(*Mutex).Unlock+0x1\t/src/mutex.go:1\n\n"
	stallText  = "--- contention:\ncycles/second=2400000000\n8320 1 @ 0x1 0x2\n#\t0x1\tmain.wait+0x1\t/src/main.go:1\n\n"
)

func TestEachProfileOfATextCountsForItself(t *testing.T) {
	text := string(read(t, "testdata/debug1-go1.26.8.txt"))
	for _, tc := range []struct {
		name, text string
		want       []int
	}{
		{"one", text, []int{81}},
		{"the same twice", text + text, []int{81, 81}},
		{"three, with lines of date", "Sat Nov 21 03:00:00 UTC 2026\n" + text + "Sat Nov 21 03:00:10 UTC 2026\n" + text + "2026-11-21 03:00:20\n" + text, []int{81, 81, 81}},
		{"with the headers of curl -i", "HTTP/1.1 200 OK\nDate: Sat, 21 Nov 2026 03:00:00 GMT\n\n" + text + "HTTP/1.1 200 OK\n\n" + text, []int{81, 81}},
		{"one without a goroutine", "goroutine profile: total 0\n" + text, []int{0, 81}},
		{"of all and of the leaked", text + leakText, []int{81, 3}},
		{"with profiles of other kinds behind", text + threadText + heapText + mutexText + stallText, []int{81}},
		{"with profiles of other kinds before and between", heapText + text + threadText + text + mutexText + leakText, []int{81, 81, 3}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			profiles, got, problems := sums(t, tc.text)
			if !slices.Equal(got, tc.want) || len(problems) != 0 {
				t.Errorf("sums %v, want %v; %+v", got, tc.want, problems)
			}
			for i, p := range profiles {
				if !p.Whole() || p.Total != p.Sum || !strings.Contains(tc.text[p.Offset:p.Bytes], " profile: total ") {
					t.Errorf("profile %d: %+v", i, p)
				}
			}
		})
	}
}

func TestARecordThatIsNotUnderstoodIsRefused(t *testing.T) {
	text := string(read(t, "testdata/debug1-go1.26.8.txt"))
	const first = "\n4 @ 0x"
	at := strings.Index(text, first) + 1
	line, _, _ := strings.Cut(text[at:], "\n")
	number := int64(1 + strings.Count(text[:at], "\n"))
	unchanged := map[string]bool{}
	for _, r := range parseProfile(t, debug1, strings.NewReader(text)).list {
		unchanged[fmt.Sprint(r.Stack.Frames)] = true
	}
	for name, garbled := range map[string]string{
		"a count that is none": "x4" + line[1:], "no blank behind the count": "4" + line[2:], "a count alone": "4", "no addresses": "4 at 0x1",
		"something that cut in": "4 2026-11-21 03:00:00 INFO started", "no count": strings.TrimPrefix(line, "4 "), "a line of something else": "level=info msg=started",
	} {
		t.Run(name, func(t *testing.T) {
			damaged := text[:at] + garbled + text[at+len(line):]
			for form, s := range map[string]string{"as it is": damaged, "without blank lines": strings.ReplaceAll(damaged, "\n\n", "\n"), "behind a whole one": text + damaged, "before a whole one": damaged + text} {
				if form == "without blank lines" && !strings.ContainsAny(garbled[:1], "0123456789") && !strings.Contains(garbled, "@ 0x") {
					continue // its lines look like those of the record above
				}
				profiles, _, problems := sums(t, s)
				p, offset := profiles[0], int64(0)
				if form == "behind a whole one" {
					p, offset = profiles[1], int64(strings.Count(text, "\n"))
				}
				if p.Refused != 1 || p.Sum != 77 || p.Truncated || p.Total != 81 {
					t.Fatalf("%s: %+v", form, p)
				}
				if len(problems) == 0 || problems[len(problems)-1].Severity != analysis.Warning || !strings.Contains(problems[len(problems)-1].What, "at least 77 goroutines") {
					t.Fatalf("%s: %+v", form, problems)
				}
				if line := problems[len(problems)-1].Line; form != "without blank lines" && line != number+offset && line != number+offset+1 {
					t.Errorf("%s: line %d is named, want %d", form, line, number+offset)
				}
			}
			for _, r := range parseProfile(t, debug1, strings.NewReader(damaged)).list {
				if !unchanged[fmt.Sprint(r.Stack.Frames)] {
					t.Errorf("the record at line %d took over other lines: %v", r.Line, r.Stack.Frames)
				}
			}
		})
	}
}

func TestLinesThatHideNoRecordRefuseNothing(t *testing.T) {
	text := string(read(t, "testdata/debug1-go1.26.8.txt"))
	for name, s := range map[string]string{
		"blank lines between all lines": strings.ReplaceAll(text, "\n", "\n\n"), "a figure of curl's progress": text + "100  5230    0  5230    0     0   510k      0 --:--:-- --:--:-- --:--:--  510k\n",
		"a figure between two": text + "2\n" + text,
	} {
		profiles, _, problems := sums(t, s)
		for _, p := range profiles {
			if !p.Whole() || p.Sum != 81 {
				t.Errorf("%s: %+v, %+v", name, p, problems)
			}
		}
	}
	cut := text[:strings.Index(text, "\n4 @ 0x")+2]
	if profiles, _, _ := sums(t, cut); profiles[0].Refused != 0 || !profiles[0].Truncated {
		t.Errorf("a text that is cut within a count: %+v", profiles[0])
	}
}

// TestRecordsAndRefusedAreThoseSeen damages the first lines of any records.
func TestRecordsAndRefusedAreThoseSeen(t *testing.T) {
	blocks := bytes.Split(bytes.TrimSpace(read(t, "testdata/debug1-go1.26.8.txt")), []byte("\n\n"))
	header, rest, _ := bytes.Cut(blocks[0], []byte("\n"))
	blocks[0] = rest
	rapid.Check(t, func(t *rapid.T) {
		damaged := rapid.SliceOfNDistinct(rapid.IntRange(0, len(blocks)-1), 0, 10, rapid.ID[int]).Draw(t, "records")
		text := string(header) + "\n"
		for i, b := range blocks {
			if slices.Contains(damaged, i) {
				b = append([]byte(rapid.SampledFrom([]string{"?", "x", "12,", "-", "0x"}).Draw(t, "damage")), b...)
			}
			text += string(b) + "\n\n"
		}
		profiles, _, _ := sums(t, text)
		if p := profiles[0]; p.Records+p.Refused != len(blocks) || p.Refused != len(damaged) {
			t.Fatalf("%d records and %d refused, want %d and %d", p.Records, p.Refused, len(blocks)-len(damaged), len(damaged))
		}
	})
}

func TestRecordsWithoutATotalAreCounted(t *testing.T) {
	const record = "811 @ 0x43aad6 0x40862c\n#\t0x122fe68\tnet/http.(*persistConn).writeLoop+0xe5\t/src/transport.go:2421\n\n"
	for _, tc := range []struct {
		name, text string
		want       []int
		undeclared bool
	}{
		{"one record", record, []int{811}, true},
		{"two records below a sentence", "We see this:\n" + record + "4 @ 0x1\n#\t0x1\tmain.run+0x1\t/src/m.go:1\n", []int{815}, true},
		{"a record of a profile of something else", "heap profile: 1: 2 [3: 4] @ heap/1048576\n" + record + leakText, []int{3}, false},
		{"a leak checker, whose list is whole", "Too many goroutines running after all test(s).\n3 instances of:\nmain.work(...)\n\t/s/a.go:1 +0x1\ncreated by main.start\n\t/s/a.go:9 +0x1\n1 instances of:\nmain.(*T).run(0x1)\n\t/s/b.go:2 +0x5\nFAIL\tm\t0.1s\n", []int{4}, false},
		{"a leak checker behind the name of its file", "    main_test.go:14: leaked a goroutine: 2 instances of:\n    main.work(...)\n    \t/s/a.go:1 +0x1\n    1 instances of:\n    main.run(0x1)\n    \t/s/b.go:2 +0x5\n", []int{3}, false},
		{"a record in a quotation", "We see\n\n> " + strings.ReplaceAll(strings.TrimSpace(record), "\n", "\n> ") + "\n\nafter a day\n", []int{811}, true},
		{"instances in a profile are text", "goroutine profile: total 1\n1 @ 0x1\n#\t0x1\tmain.run+0x1\t/src/m.go:1\n\n3 instances of:\nmain.work(...)\n", []int{1}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			profiles, got, _ := sums(t, tc.text)
			if !slices.Equal(got, tc.want) || profiles[0].Undeclared != tc.undeclared || profiles[0].Whole() == tc.undeclared {
				t.Errorf("sums %v, want %v; %+v", got, tc.want, profiles)
			}
		})
	}
}

func TestTheListOfALeakCheckerHasStacksAndCreators(t *testing.T) {
	text := "Unexpected goroutines running after all test(s).\n2 instances of:\nmain.(*T).wait(...)\n\t/s/a.go:1 +0x1\nmain.work(0x1, {0x2})\n\t/s/a.go:4 +0x7\ncreated by main.start in goroutine 7\n\t/s/a.go:9 +0x1\n\n"
	_, _, err := goroutine.ParseDebug1(strings.NewReader(text), goroutine.Config{}, func(r *goroutine.Record) error {
		want := analysis.Stack{
			Frames:    []analysis.Frame{{Func: "main.(*T).wait", File: "/s/a.go", Line: 1}, {Func: "main.work", File: "/s/a.go", Line: 4}},
			CreatedBy: analysis.Frame{Func: "main.start", File: "/s/a.go", Line: 9},
		}
		if diff := cmp.Diff(want, *r.Stack); diff != "" || r.Count != 2 {
			t.Errorf("%d of (-want +got):\n%s", r.Count, diff)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFramesOfAProfileThatWereWrappedAreMended(t *testing.T) {
	const record = "40 @ 0x43aad6 0x40862c 0x408098 0x122fe68 0x4689a1\n#\t0x122fe68\tm/subscriptions.(*Dispatcher).await+0x268\t/home/b/src/d.go:251\n"
	for _, tc := range []struct{ name, at, with string }{
		{"not wrapped", "@", "@"},
		{"within the type", "Dispatcher", "Dispat\ncher"},
		{"within the offset", "0x268", "0x2\n68"},
		{"between name and file", "\t/home", "\n/home"},
		{"within the path", "/src/", "/s\nrc/"},
		{"before the number of the line", "251", "\n251"},
		{"within the addresses", "0x4689a1", "0x4\n689a1"},
		{"twice", "subscriptions.(*Dispatcher).await", "subscrip\ntions.(*Dis\npatcher).await"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, separator := range []string{"\t", "       "} {
				text := strings.ReplaceAll("goroutine profile: total 40\n"+strings.Replace(record, tc.at, tc.with, 1), "\t", separator)
				_, problems, err := goroutine.ParseDebug1(strings.NewReader(text), goroutine.Config{}, func(r *goroutine.Record) error {
					want := []analysis.Frame{{Func: "m/subscriptions.(*Dispatcher).await", File: "/home/b/src/d.go", Line: 251}}
					if diff := cmp.Diff(want, r.Stack.Frames); diff != "" || r.Count != 40 {
						t.Errorf("%q: %d of (-want +got):\n%s", text, r.Count, diff)
					}
					return nil
				})
				if err != nil || len(problems) > 0 {
					t.Errorf("%q: %v, %+v", text, err, problems)
				}
			}
		})
	}
	cut := "goroutine profile: total 40\n40 @ 0x1\n#\t0x1\tm/subscriptions.(*Dispat\n#\t0x2\tmain.run+0x1\t/src/m.go:2\n"
	if _, problems, _ := goroutine.ParseDebug1(strings.NewReader(cut), goroutine.Config{}, nil); len(problems) != 1 || problems[0].What != "1 name of a function is cut" || problems[0].Line != 3 {
		t.Errorf("a name that is not continued: %+v", problems)
	}
}
