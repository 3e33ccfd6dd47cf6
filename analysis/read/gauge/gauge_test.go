package gauge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis/read/gauge"
)

var written = time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)

// parsed writes the samples of a text, those of a point together.
func parsed(t *testing.T, name, text string) string {
	t.Helper()
	got, _, err := gauge.Parse(strings.NewReader(text), name, written, 500)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i, s := range got.All {
		word := fmt.Sprintf("%s %g", s.Figure, s.Value)
		if s.Owner.PID > 0 {
			word += fmt.Sprintf(" of %d", s.Owner.PID)
		}
		if !s.Stamp.Time.IsZero() {
			word += " at " + s.Stamp.Time.Format("15:04:05")
		}
		if s.Within != "" {
			word += " in " + s.Within
		}
		if i > 0 && got.All[i-1].Point == s.Point {
			out[len(out)-1] += ", " + word
			continue
		}
		out = append(out, word)
	}
	if got.Refused > 0 {
		out = append(out, fmt.Sprintf("%d refused", got.Refused))
	}
	return strings.Join(out, "; ")
}

func TestCountsOverTime(t *testing.T) {
	for _, tc := range []struct{ name, file, text, want string }{
		{"metrics with times in front", "a.txt", "2026-03-04T00:15:00Z kubelet_goroutines 120\n2026-03-04T01:15:00Z kubelet_goroutines 150\n", "go_goroutines 120 at 00:15:00; go_goroutines 150 at 01:15:00"},
		{"numbers behind a time", "open-fds.txt", "2026-03-04T00:15:00Z 120\n2026-03-04T01:15:00Z 150\n", "process_open_fds 120 at 00:15:00; process_open_fds 150 at 01:15:00"},
		{"numbers behind seconds of Unix", "threads.txt", "1772582400 120\n1772586000\t150\n", "os_threads 120 at 00:00:00; os_threads 150 at 01:00:00"},
		{"cells of a table, which are no thousands", "open-fds.txt", "100,40\n1,200\n", "process_open_fds 1200; 1 refused"},
		{"metrics of grep with files in front", "a.txt", "t0/metrics.txt:go_goroutines 90\nt0/metrics.txt:process_open_fds 40\nt1/metrics.txt:go_goroutines 93\n",
			"go_goroutines 90 in t0/metrics.txt, process_open_fds 40 in t0/metrics.txt; go_goroutines 93 in t1/metrics.txt"},
		{"metrics with labels and a time stamp", "a.txt", "go_goroutines{instance=\"a b\"} 12 1520879607789\n", "go_goroutines 12"},
		{"numbers below dates, of a file that says what", "open-fds.txt", "Wed Mar  4 00:00:01 UTC 2026\n220\nWed Mar  4 01:00:01 UTC 2026\n275\n", "process_open_fds 220; process_open_fds 275"},
		{"numbers of which nothing says what they are", "wc.txt", "Wed Mar  4 00:00:01 UTC 2026\n220\n", "count 220"},
		{"rows of lsof below its command", "a.txt", "$ lsof -p 4711 | wc -l\n130\n$ lsof -p 4711 | wc -l\n154\n", "process_open_fds 130 of 4711; process_open_fds 154 of 4711"},
		{"links below ls", "a.txt", "# ls /proc/60/fd | wc -l\n17\n", "process_open_fds 17 of 60"},
		{"tasks below ls", "a.txt", "$ ls /proc/60/task | wc -l\n9\n", "os_threads 9 of 60"},
		{"a command that counts nothing known", "a.txt", "$ kubectl get pods | wc -l\n9\n", "count 9"},
		{"the command counts more than the name of the file", "open-fds.txt", "$ ls /proc/60/task | wc -l\n9\n", "os_threads 9 of 60"},
		{"log lines with a label", "a.log", "2026-03-04T10:00:00.412Z open FDs: 22\n2026-03-04T10:00:05.412Z open FDs: 23\nlistening on 8080\n", "process_open_fds 22 at 10:00:00; process_open_fds 23 at 10:00:05; 1 refused"},
		{"labels of one line, the first that is known", "a.log", "level=info goroutines=120 heap=81\n", "go_goroutines 120"},
		{"JSON", "a.log", "{\"openFds\": 12}\n", "process_open_fds 12"},
		{"a number with separators", "a.txt", "threads: 1,204\n", "os_threads 1204"},
		{"a number below zero", "a.txt", "goroutines: -1\n", "1 refused"},
		{"a label that only ends in one that is known", "a.txt", "total open files: 7\n", "process_open_fds 7"},
		{"a label that only begins like one", "a.txt", "goroutines_leaked: 7\n", "1 refused"},
		{"sockets by their state, of netstat and ss", "a.txt", "     12 ESTABLISHED\n     40 CLOSE_WAIT\n      1 Foreign\n      1 established)\n", `sockets{state="ESTABLISHED"} 12, sockets{state="CLOSE_WAIT"} 40`},
		{"as ss writes them", "a.txt", "     12 ESTAB\n      2 TIME-WAIT\n", `sockets{state="ESTABLISHED"} 12, sockets{state="TIME_WAIT"} 2`},
		{"a state again is a new point", "a.txt", "40 CLOSE_WAIT\n130 CLOSE_WAIT\n", `sockets{state="CLOSE_WAIT"} 40; sockets{state="CLOSE_WAIT"} 130`},
		{"below dates in seconds since 1970", "open-fds.txt", "1793527200\n220\n1793530800\n275\n", "process_open_fds 220; process_open_fds 275"},
		{"functions of sort and uniq", "a.txt", "   4216 net/http.(*persistConn).readLoop\n    410 main.(*queue).drain(0xc000, 0x1)\n", `functions{name="net/http.(*persistConn).readLoop"} 4216, functions{name="main.(*queue).drain"} 410`},
		{"hosts and files are no functions", "a.txt", "120 example.com\n12 main.go\n3 src/app.js\n", "3 refused"},
		{"a number and a file name are no function", "a.txt", "12 /var/log/x.log\n", "1 refused"},
		{"beans of jmxterm", "jmx.txt", "#mbean = com.cloudbees.metrics:name=kubernetes-client.connections.running\n2026-03-04T10:00:00Z Value = 20;\n#mbean = com.cloudbees.metrics:name=kubernetes-client.connections.queued\n2026-03-04T10:00:00Z Value = 0;\n#mbean = com.cloudbees.metrics:name=kubernetes-client.connections.running\n2026-03-04T11:00:00Z Value = 32;\n",
			"kubernetes_client_connections_running 20 at 10:00:00, kubernetes_client_connections_queued 0 at 10:00:00; kubernetes_client_connections_running 32 at 11:00:00"},
		{"the value of a bean that is not known", "jmx.txt", "#mbean = com.acme:name=other\nValue = 20;\n", "1 refused"},
		{"a word that is no state", "a.txt", "40 CLOSET\n", "1 refused"},
		{"the same figure again is a new point", "a.txt", "goroutines: 7\nthreads: 3\ngoroutines: 8\n", "go_goroutines 7, os_threads 3; go_goroutines 8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := parsed(t, tc.file, tc.text); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestOfManyPointsSomeAreKeptEvenlyWithTheLast(t *testing.T) {
	for _, tc := range []struct {
		points, most int
		want         string
	}{
		{8, 8, "0 1 2 3 4 5 6 7 of 8, one in 1"},
		{9, 8, "0 2 4 6 8 of 9, one in 2"},
		{10, 8, "0 2 4 6 8 9 of 10, one in 2"},
		{15, 8, "0 2 4 6 8 10 12 14 of 15, one in 2"},
		{16, 8, "0 4 8 12 15 of 16, one in 4"},
		{17, 8, "0 4 8 12 16 of 17, one in 4"},
		{100_000, 4, "0 65536 99999 of 100000, one in 65536"},
	} {
		var text strings.Builder
		for i := range tc.points {
			fmt.Fprintf(&text, "goroutines: %d\n", i)
		}
		got, _, err := gauge.Parse(strings.NewReader(text.String()), "a.txt", written, tc.most)
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for _, s := range got.All {
			kept = append(kept, fmt.Sprint(s.Value))
		}
		if said := fmt.Sprintf("%s of %d, one in %d", strings.Join(kept, " "), got.Points, got.Every); said != tc.want || len(got.Begins) != len(got.All) {
			t.Errorf("%d points, at most %d: %s, want %s", tc.points, tc.most, said, tc.want)
		}
	}
}

func TestAPointHasABoundedNumberOfCounts(t *testing.T) {
	var text strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&text, "t0/m%d.txt:go_goroutines 5\n", i)
	}
	text.WriteString("t1/m0.txt:go_goroutines 6\n")
	got, _, err := gauge.Parse(strings.NewReader(text.String()), "a.txt", written, 500)
	if err != nil || got.Points != 2 || len(got.All) != 1001 || got.Left != 500 || got.All[1000].Value != 6 {
		t.Errorf("%d points of %d counts, %d left, %v", got.Points, len(got.All), got.Left, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("open-fds.txt", "Wed Mar  4 00:00:01 UTC 2026\n220\n$ lsof -p 4711 | wc -l\n130\nt0/m.txt:go_goroutines{a=\"b\"} 9\n2026-03-04T10:00:00Z open FDs: 2\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		got, _, err := gauge.Parse(strings.NewReader(text), name, written, 500)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(text, "\n") + 1
		if len(got.All)+got.Refused+got.Left > lines {
			t.Errorf("%d samples and %d refused of %d lines", len(got.All), got.Refused, lines)
		}
		last := -1
		for _, s := range got.All {
			if s.Point < last || s.Point >= len(got.Begins) || s.Value < 0 {
				t.Fatalf("%+v behind point %d of %d", s, last, len(got.Begins))
			}
			last = s.Point
		}
	})
}
