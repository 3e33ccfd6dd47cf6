package report_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestTheLimitOfAUserIsThatOfTheProcessesThatAreThere lists two processes of one user with 60
// of 128 inotify instances each.
func TestTheLimitOfAUserIsThatOfTheProcessesThatAreThere(t *testing.T) {
	for name, tt := range map[string]struct {
		captures [][]int // the pids of each
		state    string
		limit    string
	}{
		"both to the end":       {[][]int{{101, 102}, {101, 102}, {101, 102}}, "at its limit", "at its limit: 120 of 128 inotify instances, by 2 processes of its user"},
		"one is gone":           {[][]int{{101, 102}, {101, 102}, {101}}, "no leak seen", "at its limit: 120 of 128 inotify instances, by 2 processes of its user, at the peak"},
		"the other one is gone": {[][]int{{101, 102}, {101, 102}, {102}}, "no leak seen", "at its limit: 120 of 128 inotify instances, by 2 processes of its user, at the peak"},
	} {
		t.Run(name, func(t *testing.T) {
			var captures []map[string]string
			for _, pids := range tt.captures {
				var lsof strings.Builder
				lsof.WriteString("COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n")
				for _, pid := range pids {
					for fd := range 60 {
						fmt.Fprintf(&lsof, "svc%d %d app %dr a_inode 0,14 0 13 inotify\n", pid, pid, fd+3)
					}
				}
				captures = append(captures, map[string]string{"lsof.txt": lsof.String(), "sysctl.txt": "fs.inotify.max_user_instances = 128\n"})
			}
			got := every(t, captures).Diagnosis
			if got.State != tt.state || got.Limit != tt.limit {
				t.Errorf("%s: %s limit %q, want %s, %q", got.State, got.Sentence, got.Limit, tt.state, tt.limit)
			}
		})
	}
}
