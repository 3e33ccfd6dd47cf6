package ingest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
)

// TestCapturesThatFollowOneAnotherInAFileAreNeverAddedUp has every form that a loop of a shell
// writes into one file.
func TestCapturesThatFollowOneAnotherInAFileAreNeverAddedUp(t *testing.T) {
	netstat := "Active Internet connections (w/o servers)\nProto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name\n"
	for i := range 3 {
		netstat += fmt.Sprintf("tcp        0      0 10.0.0.1:400%d           10.0.0.2:80             ESTABLISHED 611/agentd\n", i)
	}
	links := "total 0\nlrwx------ 1 root root 64 Nov 21 03:02 0 -> /dev/null\nlrwx------ 1 root root 64 Nov 21 03:02 1 -> socket:[5]\nlrwx------ 1 root root 64 Nov 21 03:02 2 -> socket:[6]\n"
	rows := "agentd 611 root 0u CHR 1,3 0t0 5 /dev/null\nagentd 611 root 5u IPv4 77 0t0 TCP 10.0.0.1:4000->10.0.0.2:80 (ESTABLISHED)\nagentd 611 root 6u IPv4 78 0t0 TCP 10.0.0.1:4001->10.0.0.2:80 (ESTABLISHED)\n"
	fields := "p611\ncagentd\nf0\nau\ntCHR\nn/dev/null\nf5\nau\ntIPv4\nPTCP\nn10.0.0.1:4000->10.0.0.2:80\nf6\nau\ntIPv4\nPTCP\nn10.0.0.1:4001->10.0.0.2:80\n"
	beans := "\"main\" Id=1 RUNNABLE\n\tat a.B.c(B.java:1)\n\n\"x\" Id=7 RUNNABLE\n\tat a.B.c(B.java:1)\n\n\"y\" Id=8 RUNNABLE\n\tat a.B.c(B.java:1)\n\n"
	stacks := "Thread[main,5,main] RUNNABLE\n\tat a.B.c(B.java:1)\n\nThread[x,5,main] RUNNABLE\n\tat a.B.c(B.java:1)\n\nThread[y,5,main] RUNNABLE\n\tat a.B.c(B.java:1)\n\n"
	for _, tc := range []struct {
		name, text string
		dated      bool // only a date separates two of them
	}{
		{"goroutines", dump(5, 6), false},
		{"netstat", netstat, false},
		{"a profile", profileText(2, 1), false},
		{"ls -l of fd", links, false},
		{"lsof without its header", rows, false},
		{"lsof -F", fields, false},
		{"threads of JMX", beans, false},
		{"getAllStackTraces", stacks, true},
		{"jstack", jstack("2026-11-21 02:46:52", [2]string{"a", waiting("0x10")}, [2]string{"b", waiting("0x11")}, [2]string{"c", waiting("0x12")}), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dates := []string{"2026-11-21T03:00:00Z", "2026-11-21T03:01:00Z", "2026-11-21T03:02:00Z"}
			texts := map[string]string{"with dates": dates[0] + "\n" + tc.text + dates[1] + "\n" + tc.text + dates[2] + "\n" + tc.text}
			if !tc.dated {
				texts["one after the other"] = strings.Repeat(tc.text, 3)
			}
			for name, text := range texts {
				r := run(t, map[string]string{"agentd-611.txt": text})
				var got []int
				for i, s := range r.Snapshots {
					for _, n := range []*int{s.Totals.Goroutines, s.Totals.Threads, s.Totals.Of(analysis.KindDescriptor)} {
						if n != nil {
							got = append(got, *n)
						}
					}
					if at := s.CapturedAt.Format("2006-01-02T15:04:05Z"); name == "with dates" && i < len(dates) && at != dates[i] && !strings.HasPrefix(tc.text, "2026") && tc.name != "threads of JMX" && tc.name != "getAllStackTraces" {
						t.Errorf("%s: listing %d is of %s", name, i, at)
					}
				}
				if !slices.Equal(got, []int{3, 3, 3}) {
					t.Errorf("%s: %v, want 3 snapshots of 3; %+v", name, got, r.Problems)
				}
			}
		})
	}
}

// TestALineThatNoDumpHasSeparatesTwo has dumps without the goroutine that writes one, whose
// numbers do not come again.
func TestALineThatNoDumpHasSeparatesTwo(t *testing.T) {
	sigquit := "SIGQUIT: quit\nPC=0x1 m=0 sigcode=0\n\n"
	for _, tc := range []struct {
		name, first, between string
		want                 []int
	}{
		{"a date", "", "2026-11-21T03:00:00Z\n", []int{2, 3}},
		{"date below its prompt", "", "$ date\nSat Nov 21 03:00:00 UTC 2026\n", []int{2, 3}},
		{"a prompt", "", "$ ./again.sh\n", []int{2, 3}},
		{"a heading", "", "--- after ---\n", []int{2, 3}},
		{"a clock without seconds", "", "--- 10:00 ---\n", []int{2, 3}},
		{"a word of order", "", "after the restart:\n", []int{2, 3}},
		{"a result of go test", "", "--- FAIL: TestRun (0.01s)\n", []int{5}},
		{"a heading of Markdown", "", "## t1\n", []int{2, 3}},
		{"a rule", "", "===============\n", []int{2, 3}},
		{"dashes", "", "-----\n", []int{2, 3}},
		{"dashes between the threads of a crash", sigquit, "-----\n", []int{5}},
		{"a blank line", "", "\n", []int{5}},
		{"a line of a log", "", "2026/11/21 03:00:00 server.go:12: cannot write\n", []int{5}},
		{"the signs of the race detector", "", "==================\nWARNING: DATA RACE\n==================\n", []int{5}},
		{"a line of go test", "", "=== RUN   TestOther\n", []int{5}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []int
			for _, s := range run(t, map[string]string{"a.txt": tc.first + waitingDump(5, 6) + tc.between + waitingDump(15, 16, 17)}).Snapshots {
				got = append(got, *s.Totals.Goroutines)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestAPartWithoutATimeKeepsItsPlaceInTheFile has dates above some of the listings of a file, whose
// own time is later than all.
func TestAPartWithoutATimeKeepsItsPlaceInTheFile(t *testing.T) {
	first, date, second := "$ ls -l /proc/50/fd\n"+twoLinks, "$ date\nSat Nov 21 03:00:00 UTC 2026\n", "$ ls -l /proc/50/fd\n"+threeLinks
	for text, want := range map[string][]string{
		first + date + second: {"pid 50: 2d", "pid 50: 3d at 03:00:00"},
		date + first + second: {"pid 50: 2d at 03:00:00", "pid 50: 3d at 03:00:00"},
		first + second:        {"pid 50: 2d", "pid 50: 3d at 09:00:00"},
	} {
		var got []string
		for _, s := range ran(t, inDirectory([]capturedFile{at(6*3600, "a.txt", text)})...).Snapshots {
			got = append(got, ownerOf(s))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestGoroutinesBehindTheSameWordsAreOneDump has what checkers of tests print before each.
func TestGoroutinesBehindTheSameWordsAreOneDump(t *testing.T) {
	leaked := func(words string, id int) string {
		return fmt.Sprintf("    leaktest.go:150: %s goroutine %d [select]:\n        main.work(0x1)\n        \t/src/a.go:1 +0x45\n        created by main.run in goroutine 2\n        \t/src/a.go:4 +0x5\n", words, id)
	}
	for text, want := range map[string][]int{
		leaked("leaked", 5) + leaked("leaked", 6):       {2},
		leaked("leaked", 5) + leaked("leaked", 5):       {1, 1},
		leaked("leaked", 5) + leaked("leaked later", 6): {1, 1},
	} {
		var got []int
		for _, s := range run(t, map[string]string{"a.txt": text}).Snapshots {
			got = append(got, *s.Totals.Goroutines)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

// TestATimeInAFrameIsThatOfTheListingBelow has a loop that prints a clock between dashes.
func TestATimeInAFrameIsThatOfTheListingBelow(t *testing.T) {
	var got []string
	for _, s := range run(t, map[string]string{"a.txt": "--- 03:00:00 ---\n" + twoLinks + "--- 03:01:00 ---\n" + twoLinks}).Snapshots {
		got = append(got, ownerOf(s))
	}
	if want := []string{": 2d at 03:00:00", ": 2d at 03:01:00"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFencesAndHeadingsAreNoRows has what stands around listings in a ticket, and a row that is none.
func TestFencesAndHeadingsAreNoRows(t *testing.T) {
	for text, want := range map[string]int{
		"```\n" + twoLinks + "```\n":                            0,
		"~~~\n" + twoLinks + "~~~\n":                            0,
		"{noformat}\n" + twoLinks + "{noformat}\n":              0,
		"--- before ---\n" + twoLinks + "## after\n" + twoLinks: 0,
		twoLinks + "lrwx what is this\n" + twoLinks:             1,
	} {
		if r := run(t, map[string]string{"a.md": text}); len(r.Problems) != want {
			t.Errorf("%q: %+v", text, r.Problems)
		}
	}
}
