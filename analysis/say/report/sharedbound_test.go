package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
			dir := t.TempDir()
			for at, pids := range tt.captures {
				var lsof strings.Builder
				lsof.WriteString("COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n")
				for _, pid := range pids {
					for fd := range 60 {
						fmt.Fprintf(&lsof, "svc%d %d app %dr a_inode 0,14 0 13 inotify\n", pid, pid, fd+3)
					}
				}
				into := filepath.Join(dir, fmt.Sprintf("t%d", at))
				for file, text := range map[string]string{
					"lsof.txt": lsof.String(), "sysctl.txt": "fs.inotify.max_user_instances = 128\n",
					"captured_at": time.Date(2026, 11, 1, 10, 10*at, 0, 0, time.UTC).Format(time.RFC3339) + "\n",
				} {
					if err := os.MkdirAll(into, 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(into, file), []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			got := reportOf(t, dir).Diagnosis
			if got.State != tt.state || got.Limit != tt.limit {
				t.Errorf("%s: %s limit %q, want %s, %q", got.State, got.Sentence, got.Limit, tt.state, tt.limit)
			}
		})
	}
}
