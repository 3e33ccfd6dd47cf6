package report_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/say/report"
)

// TestEndedChildrenLeadTheirPipes lists the pipe ends of a process and its ended children. Those of
// the first test grow as those of a program do that starts commands and waits for none.
func TestEndedChildrenLeadTheirPipes(t *testing.T) {
	for name, tt := range map[string]struct {
		pipes, ended []int
		sentence, do string
	}{
		"as many children as pipe ends": {
			[]int{19, 35, 50, 65, 80}, []int{19, 34, 49, 64, 79},
			"Ended children that zomb did not wait for grew from 19 to 79; it also opened 61 pipe ends and closed none.", "Wait for each child",
		},
		"two pipe ends for each": {
			[]int{38, 70, 100, 130, 160}, []int{19, 34, 49, 64, 79},
			"Ended children that zomb did not wait for grew from 19 to 79; it also opened 122 pipe ends and closed none.", "Wait for each child",
		},
		"children are waited for": {
			[]int{19, 35, 50, 65, 80}, []int{2, 0, 1, 3, 1},
			"zomb opened 61 pipe ends and closed none.", "pipe",
		},
		"children stand": {
			[]int{19, 35, 50, 65, 80}, []int{30, 30, 30, 30, 30},
			"zomb opened 61 pipe ends and closed none.", "pipe",
		},
		"children came at once": {
			[]int{19, 35, 50, 65, 80}, []int{19, 79, 79, 79, 79},
			"zomb opened 61 pipe ends and closed none.", "pipe",
		},
		"few children": {
			[]int{6, 21, 36, 51, 66}, []int{1, 2, 3, 4, 5},
			"zomb opened 60 pipe ends and closed none.", "pipe",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var captures []map[string]string
			for i := range tt.pipes {
				var lsof, ps strings.Builder
				lsof.WriteString("COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n")
				for fd := range tt.pipes[i] {
					fmt.Fprintf(&lsof, "zomb 5424 root %dr FIFO 0,15 0t0 %d pipe\n", fd+3, 999203+fd)
				}
				ps.WriteString("  PID  PPID STAT COMMAND\n 5424  5418 Sl   zomb\n")
				for k := range tt.ended[i] {
					fmt.Fprintf(&ps, " %d  5424 Z    true\n", 5444+k)
				}
				captures = append(captures, map[string]string{"lsof.txt": lsof.String(), "ps.txt": ps.String()})
			}
			got := every(t, captures).Diagnosis
			if got.Sentence != tt.sentence || got.Next == nil || !strings.Contains(got.Next.Text, tt.do) {
				t.Errorf("%q, do %+v\nwant %q, %q", got.Sentence, got.Next, tt.sentence, tt.do)
			}
		})
	}
}

// Children that nobody waits for are no good news where nothing else grows.
func TestEndedChildrenAreToldWhereNothingElseGrows(t *testing.T) {
	for name, tt := range map[string]struct {
		ended        []int
		sentence, do string
	}{
		"they come in each capture":      {[]int{7, 15, 23, 37, 50}, "Ended children that runner did not wait for grew from 7 to 50.", "Wait for each child"},
		"some were waited for":           {[]int{7, 30, 23, 37, 50}, "No leak seen in runner: no threads grew in 4 h.", ""},
		"there are few at the end of it": {[]int{3, 6, 9, 12, 15}, "No leak seen in runner: no threads grew in 4 h.", ""},
	} {
		var captures []map[string]string
		for i := range tt.ended {
			ps := "  PID  PPID STAT COMMAND\n 5424  5418 Sl   runner\n"
			for k := range tt.ended[i] {
				ps += fmt.Sprintf(" %d  5424 Z    true\n", 5444+k)
			}
			captures = append(captures, map[string]string{"status.txt": "Name:\trunner\nPid:\t5424\nPPid:\t5418\nThreads:\t1\n", "ps.txt": ps})
		}
		got := every(t, captures).Diagnosis
		if got.Sentence != tt.sentence || (got.Next == nil) != (tt.do == "") || tt.do != "" && !strings.Contains(got.Next.Text, tt.do) {
			t.Errorf("%s: %q, do %+v", name, got.Sentence, got.Next)
		}
	}
}

// commands are captures of a program that starts commands with a context and waits for none, as files
// of one directory. Their number stands in each name.
type commands struct {
	// dumps, listings and children say which files there are.
	dumps, listings, children bool
	// none is how many of the first listings of children show none.
	none int
	// waits reports a goroutine for each command that waits for it.
	waits bool
	// stand are the frames of the three goroutines that start them.
	stand [3][]string
}

var (
	atLoop = []string{"main.(*renderer).renderLoop(0x1)\n\t/src/thumbs/main.go:34 +0x3a"}
	inLoop = []string{"main.(*renderer).renderThumb(0x1)\n\t/src/thumbs/main.go:29 +0x11f", "main.(*renderer).renderLoop(0x1)\n\t/src/thumbs/main.go:35 +0x58"}
	serves = []string{"bufio.(*Reader).Peek(0x1)\n\t/usr/local/go/src/bufio/bufio.go:148 +0x58", "net/http.(*conn).serve(0x1)\n\t/usr/local/go/src/net/http/server.go:2105 +0x7cd"}
)

func (c commands) report(t *testing.T) report.Report {
	t.Helper()
	tree := fstest.MapFS{}
	write := func(name, text string) { tree[name] = &fstest.MapFile{Data: []byte(text)} }
	for i, n := range []int{12, 31, 48, 66, 84} {
		dump := "goroutine 1 [sleep]:\nmain.main()\n\t/src/thumbs/main.go:64 +0x20d\n\n"
		for k, frames := range c.stand {
			if len(frames) > 0 {
				dump += fmt.Sprintf("goroutine %d [chan receive]:\n%s\ncreated by main.main in goroutine 1\n\t/src/thumbs/main.go:51 +0xb4\n\n", 21+k, strings.Join(frames, "\n"))
			}
		}
		lsof := "COMMAND  PID USER   FD      TYPE DEVICE SIZE/OFF    NODE NAME\n"
		ps := "  PID  PPID STAT     ELAPSED COMMAND\n"
		for k := range n {
			dump += fmt.Sprintf("goroutine %d [select]:\nos/exec.(*Cmd).watchCtx(0xc0000%05x, 0xc0001%05x)\n\t/usr/local/go/src/os/exec/exec.go:797 +0xb1\ncreated by os/exec.(*Cmd).Start in goroutine %d\n\t/usr/local/go/src/os/exec/exec.go:783 +0x96c\n\n", 100+k, 512*k, 512*k, 21+k%3)
			if c.waits {
				dump += fmt.Sprintf("goroutine %d [syscall]:\nsyscall.Syscall6(0x1)\n\t/usr/local/go/src/syscall/syscall_linux.go:95 +0x39\nos.(*Process).Wait(...)\n\t/usr/local/go/src/os/exec.go:134\nos/exec.(*Cmd).Wait(0xc0000%05x)\n\t/usr/local/go/src/os/exec/exec.go:906 +0x45\nmain.run(0x1)\n\t/src/thumbs/main.go:20 +0x45\ncreated by main.main in goroutine 1\n\t/src/thumbs/main.go:55 +0xb4\n\n", 1000+k, 512*k)
			}
			lsof += fmt.Sprintf("thumbs  3944 root %4du  a_inode    0,5        0 %d [pidfd:%d]\nthumbs  3944 root %4dr     FIFO   0,15      0t0 %d pipe\n", 10+2*k, 1917885+k, 4042+k, 11+2*k, 4352837+k)
			if k > 0 && i >= c.none { // the last one ends after the listing
				ps += fmt.Sprintf("%5d  3944 Z          00:02 [sh] <defunct>\n", 4041+k)
			}
		}
		if c.dumps {
			write(fmt.Sprintf("thumbs-goroutines-%d.txt", i+1), dump)
		}
		if c.listings {
			write(fmt.Sprintf("lsof-%d.txt", i+1), lsof)
		}
		if c.children {
			write(fmt.Sprintf("ps-children-%d.txt", i+1), ps)
		}
	}
	inputs, err := bundle.FromFS(tree, "")
	if err != nil {
		t.Fatal(err)
	}
	return built(t, inputs).Report
}

func TestWhoWaitsForNoCommandIsSentToItsStart(t *testing.T) {
	const inRender = "Call Wait after each Start of a command in main.(*renderer).renderLoop (main.go:34) or below it."
	loops := [3][]string{atLoop, atLoop, atLoop}
	for name, tt := range map[string]struct {
		of           commands
		sentence, do string
	}{
		"dumps alone": {commands{dumps: true, stand: loops}, "thumbs started 72 commands and waited for none.", inRender},
		"dumps and listings of descriptors": {commands{dumps: true, listings: true, stand: loops},
			"thumbs started 72 commands and waited for none: each keeps 1 goroutine and 2 descriptors.", inRender},
		"dumps and listings of children": {commands{dumps: true, children: true, stand: loops},
			"Ended children that thumbs did not wait for grew from 11 to 83; it also started 72 commands and waited for none.", inRender},
		"the first listing of children has none": {commands{dumps: true, children: true, none: 1, stand: loops},
			"Ended children that thumbs did not wait for grew from 30 to 83; it also started 72 commands and waited for none.", inRender},
		"dumps and listings of descriptors and of children": {commands{dumps: true, listings: true, children: true, stand: loops},
			"Ended children that thumbs did not wait for grew from 11 to 83: each keeps 1 goroutine and 2 descriptors.", inRender},
		"listings of descriptors and of children": {commands{listings: true, children: true},
			"Ended children that thumbs did not wait for grew from 11 to 83; it also opened 72 pidfds and closed none.", "Wait for each child that is started (waitpid, Process.waitFor), and close its pipes then."},
		"listings of children alone": {commands{children: true}, "Ended children that process 3944 did not wait for grew from 11 to 83.", "Wait for each child that is started (waitpid, Process.waitFor), and close its pipes then."},
		"some of the starters are in what the loop calls": {commands{dumps: true, stand: [3][]string{inLoop, atLoop, inLoop}},
			"thumbs started 72 commands and waited for none.", "Call Wait after each Start of a command in main.(*renderer).renderLoop or below it."},
		"the starters serve HTTP and do something else now": {commands{dumps: true, stand: [3][]string{serves, serves, serves}},
			"thumbs started 72 commands and waited for none.", "Call Wait after each Start of a command."},
		"the starters have ended": {commands{dumps: true}, "thumbs started 72 commands and waited for none.", "Call Wait after each Start of a command."},
	} {
		t.Run(name, func(t *testing.T) {
			r := tt.of.report(t)
			got := r.Diagnosis
			if got.Sentence != tt.sentence || got.Next == nil || got.Next.Text != tt.do || len(r.Series) != 1 || len(r.Series[0].Snapshots) != 5 {
				t.Errorf("%d series: %q, do %+v\nwant 1 of 5 snapshots: %q, %q", len(r.Series), got.Sentence, got.Next, tt.sentence, tt.do)
			}
		})
	}
}

// Commands that run show the same goroutine, and another one that waits.
func TestCommandsForWhichSomebodyWaitsAreNotSaidToBeUnwaited(t *testing.T) {
	dumps := commands{dumps: true, waits: true, stand: [3][]string{atLoop, atLoop, atLoop}}.report(t)
	profile := func(waits int) report.Report {
		var captures []map[string]string
		for _, n := range []int{12, 31, 48, 66, 84} {
			text := fmt.Sprintf("goroutine profile: total %d\n%d @ 0x1 0x2\n#\t0x1\tos/exec.(*Cmd).watchCtx+0xb1\t/usr/local/go/src/os/exec/exec.go:797\n\n", n+n*waits+1, n)
			if waits > 0 {
				text += fmt.Sprintf("%d @ 0x3 0x4\n#\t0x3\tsyscall.Syscall6+0x1\t/usr/local/go/src/syscall/syscall_linux.go:95\n#\t0x4\tos/exec.(*Cmd).Wait+0x45\t/usr/local/go/src/os/exec/exec.go:906\n#\t0x5\tmain.run+0x45\t/src/thumbs/main.go:20\n\n", n*waits)
			}
			text += "1 @ 0x6\n#\t0x6\tmain.main+0x1\t/src/thumbs/main.go:64\n\n"
			captures = append(captures, map[string]string{"goroutine.txt": text})
		}
		return every(t, captures)
	}
	for name, tt := range map[string]struct {
		of       report.Report
		unwaited bool
	}{
		"dumps, each with its goroutine that waits":    {dumps, false},
		"profiles, with as many goroutines that wait":  {profile(1), false},
		"profiles in which nobody waits for a command": {profile(0), true},
	} {
		said := ""
		for _, f := range tt.of.Series[0].Findings {
			said += f.Title + f.Next
		}
		if got := strings.Contains(said, "Call Wait"); got != tt.unwaited {
			t.Errorf("%s: %s", name, said)
		}
	}
}
