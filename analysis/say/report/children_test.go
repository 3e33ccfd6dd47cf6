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
