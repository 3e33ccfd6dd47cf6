package gauge_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis/read/gauge"
)

func TestProcessesAreReadInAnyOrderOfColumns(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"ps aux, with ended children whose parent it does not tell", "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\nroot        2430 12.0  1.1 2017480 180312 ?      Ssl  Mar01 301:22 /usr/bin/kubelet --config=/a\nroot        9911  0.0  0.0      0     0 ?        Z    10:00   0:00 [convert] <defunct>\nroot        9912  0.0  0.0      0     0 ?        Z    10:00   0:00 [convert] <defunct>\n",
			[]string{"0 : ended_children 2", "2430 /usr/bin/kubelet: process_resident_memory_bytes 184639488", "3 rows"}},
		{"ps -ef, whose parents are told", "UID          PID    PPID  C STIME TTY          TIME CMD\nroot           1       0  0 10:00 ?        00:00:01 /sbin/init\nroot         700       1  0 10:00 ?        00:00:00 [gs] <defunct>\n",
			[]string{"1 /sbin/init: ended_children 1", "2 rows"}},
		{"ps --ppid, with the children of a process alone", "  PID  PPID STAT     ELAPSED COMMAND\n 4042  3944 Z          00:02 [sh] <defunct>\n 4047  3944 Z          00:02 [sh] <defunct>\n 4051  3944 S          00:01 sh -c convert\n",
			[]string{"3944 : ended_children 2, sole", "3 rows"}},
		{"ps -ef --forest, whose tree is no part of a command", "UID        PID  PPID  C STIME TTY          TIME CMD\nroot         2     0  0 Nov27 ?        00:00:00 [kthreadd]\nroot         3     2  0 Nov27 ?        00:00:00  \\_ [pool_workqueue_release]\nroot     17962 17960  1 21:59 ?        00:00:00                      |   \\_ node pdf-gateway.js\nroot     18136 17962  0 21:59 ?        00:00:00                      |       \\_ sleep 600\nroot     18185 17962  0 21:59 ?        00:00:00                      |       \\_ sleep 600\n",
			[]string{"5 rows"}},
		{"ps auxf, whose tree is no part of a command", "USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\nroot         2  0.0  0.0      0     0 ?        S    Nov27   0:00 [kthreadd]\nroot         3  0.0  0.0      0     0 ?        S    Nov27   0:00  \\_ [pool_workqueue_release]\nroot       640  0.0  0.1  13360  9216 ?        Ss   Nov27   0:00 sshd: /usr/sbin/sshd -D\nroot      2108  0.0  0.1  14832 10240 ?        Ss   09:10   0:00  \\_ sshd: app\nroot      2140  0.1  0.3  99232 30720 ?        S    09:11   0:01  |   \\_ node a.js\n",
			[]string{"2108 sshd:: process_resident_memory_bytes 10485760", "2140 node: process_resident_memory_bytes 31457280", "640 sshd:: process_resident_memory_bytes 9437184", "5 rows"}},
		{"ended children of several processes that have no row", "  PID  PPID STAT COMMAND\n 4042  3944 Z    [sh] <defunct>\n 4047  3900 Z    [sh] <defunct>\n", []string{"3900 : ended_children 1", "3944 : ended_children 1", "2 rows"}},
		{"ps -eo with the time of start in five words", "    PID    PPID STAT   RSS                  STARTED CMD\n     10       1 S      100 Fri Nov 27 22:10:00 2026 /bin/a -x\n",
			[]string{"10 /bin/a: process_resident_memory_bytes 102400", "1 rows"}},
		{"ps of threads of each process", "  PID STAT NLWP   RSS CMD\n   10 S      14  2048 java -jar a.jar\n", []string{"10 java: os_threads 14, process_resident_memory_bytes 2097152", "1 rows"}},
		{"top -b, with memory that it shortens", "top - 10:00:00 up 1 day,  1 user,  load average: 0.00, 0.01, 0.05\nTasks:   2 total,   1 running\n\n    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n   4711 app       20   0   12.1g   1.5g  10212 S   3.0   9.1   1:02.03 java\n      2 root      20   0       0      0      0 S   0.0   0.0   0:00.00 [kthreadd]\n",
			[]string{"4711 java: process_resident_memory_bytes 1610612736", "2 rows"}},
		{"two listings, of which the first has no ended child", "  PID  PPID STAT  RSS CMD\n   10     1 S    1024 web\n  PID  PPID STAT  RSS CMD\n   10     1 S    2048 web\n   11    10 Z       0 [sh] <defunct>\n",
			[]string{"10 web: ended_children 0, process_resident_memory_bytes 1048576", "10 web: ended_children 1, process_resident_memory_bytes 2097152", "3 rows"}},
		{"ps m, with a row for each thread below that of its process", "  PID TTY      STAT  RSS COMMAND\n   10 ?        -    1024 web\n    - -        S       - -\n", []string{"10 web: process_resident_memory_bytes 1048576", "1 rows"}},
		{"a row that is cut", "  PID  PPID STAT  RSS CMD\n   10     1 S    1024 web\n   11     1\n", []string{"10 web: process_resident_memory_bytes 1048576", "1 rows", "a line is no row of the table"}},
		{"a row without a pid", "  PID  PPID STAT  RSS CMD\n  abc     1 S    1024 web\n", []string{"0 rows", "a line is no row of the table"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			all, rows, problems, err := gauge.ParseProcesses(strings.NewReader(test.text), "ps.txt")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range all {
				var figures []string
				for _, name := range slices.Sorted(maps.Keys(p.Figures)) {
					figures = append(figures, fmt.Sprintf("%s %.0f", name, p.Figures[name]))
				}
				if p.Sole {
					figures = append(figures, "sole")
				}
				got = append(got, fmt.Sprintf("%d %s: %s", p.PID, strings.Join(p.Args[:min(1, len(p.Args))], ""), strings.Join(figures, ", ")))
			}
			slices.Sort(got)
			got = append(got, fmt.Sprintf("%d rows", rows))
			for _, p := range problems {
				got = append(got, p.What)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestTheProcessesWithTheMostMemoryAreKept(t *testing.T) {
	var b strings.Builder
	for listing := range 2 {
		b.WriteString("  PID  PPID STAT  RSS CMD\n")
		for pid := 1; pid <= 40; pid++ {
			fmt.Fprintf(&b, "%5d 1 S %d p%d\n", pid, 1000*pid+listing*1_000_000*(pid%2), pid)
		}
	}
	all, rows, _, err := gauge.ParseProcesses(strings.NewReader(b.String()), "ps.txt")
	if err != nil || rows != 80 || len(all) != 60 {
		t.Fatalf("%d rows, %d processes of two listings, %v: want 80 and 30 of each", rows, len(all), err)
	}
	small := func(p *gauge.Process) bool { return p.PID%2 == 0 && p.PID <= 20 }
	if slices.ContainsFunc(all, small) {
		t.Error("one of the ten with the least memory is kept")
	}
}

func TestHeadsOfProcesses(t *testing.T) {
	for _, test := range []struct {
		name, head string
		want       bool
	}{
		{"ps aux", "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND", true},
		{"ps -ef", "UID          PID    PPID  C STIME TTY          TIME CMD", true},
		{"busybox ps", "PID   USER     VSZ STAT COMMAND", true},
		{"top", "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND", true},
		{"a row for each thread", "UID          PID    PPID     LWP  C NLWP STIME TTY          TIME CMD", false},
		{"nothing about memory, state or parent", "  PID TTY          TIME CMD", false},
		{"lsof", "COMMAND     PID   TID TASKCMD USER   FD      TYPE DEVICE SIZE/OFF NODE NAME", false},
		{"ss", "State    Recv-Q   Send-Q     Local Address:Port       Peer Address:Port   Process", false},
		{"a sentence", "PID RSS and the STAT of a COMMAND", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := gauge.IsProcesses(test.head); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func FuzzParseProcesses(f *testing.F) {
	f.Add("USER PID %CPU RSS STAT COMMAND\nroot 1 0 10 Z [a] <defunct>\nroot 2 0 1.2g S a\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, _, _, err := gauge.ParseProcesses(strings.NewReader(text), "x")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			for name, v := range p.Figures {
				if v < 0 {
					t.Errorf("%s is %v", name, v)
				}
			}
		}
	})
}
