package report_test

import (
	"fmt"
	"strings"
	"testing"
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
