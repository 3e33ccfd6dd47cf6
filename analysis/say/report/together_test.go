package report_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestProcessesThatShareALimitAlikeAreToldTogether lists inotify instances of processes of one
// user, of 128. Each capture has so many of each process, with an inode for each.
func TestProcessesThatShareALimitAlikeAreToldTogether(t *testing.T) {
	for name, tt := range map[string]struct {
		users    []string
		captures [][]int
		sentence string
		proof    string
	}{
		"three take it up alike": {
			[]string{"app", "app", "app"}, [][]int{{20, 20, 20}, {26, 26, 26}, {32, 32, 32}, {38, 38, 38}},
			"3 processes of one user hold 114 of 128 inotify instances: svc101, svc102 and svc103 opened 54 and closed none.", "54 of 54 opened since t0 are still there at t3.",
		},
		"two grow and the third stands": {
			[]string{"app", "app", "app"}, [][]int{{20, 20, 20}, {26, 26, 20}, {32, 32, 20}, {38, 38, 20}},
			"3 processes of one user hold 96 of 128 inotify instances: svc101 and svc102 opened 36 and closed none.", "36 of 36 opened since t0 are still there at t3.",
		},
		"one holds most": {
			[]string{"app", "app", "app"}, [][]int{{20, 5, 5}, {40, 7, 7}, {60, 9, 9}, {80, 11, 11}},
			"svc101 opened 60 inotify instances and closed none.", "60 of 60 opened since t0 are still there at t3.",
		},
		"one grows beside others": {
			[]string{"app", "app", "app"}, [][]int{{20, 30, 30}, {26, 30, 30}, {32, 30, 30}, {38, 30, 30}},
			"svc101 opened 18 inotify instances and closed none.", "18 of 18 opened since t0 are still there at t3.",
		},
		"each has another user": {
			[]string{"app", "web", "db"}, [][]int{{20, 20, 20}, {26, 26, 26}, {32, 32, 32}, {38, 38, 38}},
			"svc101 opened 18 inotify instances and closed none.", "18 of 18 opened since t0 are still there at t3.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var captures []map[string]string
			for _, counts := range tt.captures {
				var lsof strings.Builder
				lsof.WriteString("COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n")
				for i, n := range counts {
					for fd := range n {
						fmt.Fprintf(&lsof, "svc%d %d %s %dr a_inode 0,14 0 1056 inotify\n", 101+i, 101+i, tt.users[i], fd+3)
					}
				}
				captures = append(captures, map[string]string{"lsof.txt": lsof.String(), "sysctl.txt": "fs.inotify.max_user_instances = 128\n"})
			}
			got := every(t, captures).Diagnosis
			if got.Sentence != tt.sentence || got.Proof != tt.proof {
				t.Errorf("%q, proof %q; want %q, %q", got.Sentence, got.Proof, tt.sentence, tt.proof)
			}
		})
	}
}
