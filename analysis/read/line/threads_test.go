package line

import (
	"strings"
	"testing"
)

func TestCommandsThatCountThreadsByProcess(t *testing.T) {
	for command, want := range map[string]bool{
		"$ ps -eLo pid,user,comm --no-headers | sort | uniq -c":             true,
		"ps -eL -o pid= | sort | uniq -c | sort -rn":                        true,
		"root@web:~# ps -T -e -o pid,comm | uniq -c":                        true,
		"ps -eo pid,user,comm | sort | uniq -c":                             false,
		"ps -eLo user,pid | sort | uniq -c":                                 false,
		"ps -eLo pid,user,comm":                                             false,
		"find /proc/*/fd -lname anon_inode:inotify | cut -d/ -f3 | uniq -c": false,
		"grep -c threads steps -L | uniq -c":                                false,
	} {
		if got := CountsThreads(command); got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}

func TestTablesOfThreadsAreKnownByTheirColumns(t *testing.T) {
	for header, want := range map[string][2]bool{
		"PID NLWP COMMAND":                           {false, true},
		"USER PID THCNT CMD":                         {false, true},
		"PID LWP TTY TIME CMD":                       {true, true},
		"UID PID PPID LWP C NLWP STIME TTY TIME CMD": {true, true},
		"PID TTY TIME CMD":                           {false, false},
		"PID NLWP":                                   {false, false},
		"PID PPID USER GROUP LWP NLWP STARTED COMMAND CGROUP": {true, false},
	} {
		if rows, ok := ThreadColumns(strings.Fields(header)); rows != want[0] || ok != want[1] {
			t.Errorf("%s: %v %v, want %v", header, rows, ok, want)
		}
	}
}
