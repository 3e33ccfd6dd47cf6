package ingest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/judge/identity"
)

// The tables below are rows of our own in the columns of the tool.
const (
	ssHeader      = "State   Recv-Q   Send-Q     Local Address:Port     Peer Address:Port  Process\n"
	netstatHeader = "Active Internet connections (servers and established)\nProto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name\n"
	macHeader     = "Active Internet connections (including servers)\nProto Recv-Q Send-Q  Local Address          Foreign Address        (state)      rhiwat  shiwat    pid   epid state  options\n"
)

// ssOf is a table of ss with one connection of each pid.
func ssOf(program string, pids ...int) string {
	out := ssHeader
	for _, pid := range pids {
		out += fmt.Sprintf("ESTAB   0        0              10.0.0.5:5432      10.0.0.9:%d     users:((%q,pid=%d,fd=9))\n", 40000+pid, program, pid)
	}
	return out
}

// owners are the processes of a result: "postgres 3001 1s".
func owners(r Result) []string {
	var out []string
	for _, s := range r.Snapshots {
		word := s.Process.Name.Value + " " + s.Process.PID.Value
		if n := s.Totals.Descriptors; n != nil {
			word += fmt.Sprintf(" %dd", *n)
		}
		if n := s.Totals.Sockets; n != nil {
			word += fmt.Sprintf(" %ds", *n)
		}
		out = append(out, word)
	}
	slices.Sort(out)
	return out
}

func TestEachProcessOfATableIsASnapshotAndASeries(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"ss with three processes that have the same number of sockets", ssOf("postgres", 3001, 3002, 3003),
			[]string{"postgres 3001 1s", "postgres 3002 1s", "postgres 3003 1s"}},
		{"ss with a socket that a server and its workers share", ssHeader +
			`LISTEN   0        511              0.0.0.0:80            0.0.0.0:*      users:(("nginx",pid=1203,fd=6),("nginx",pid=1202,fd=6),("nginx",pid=1200,fd=6))` + "\n",
			[]string{"nginx 1200 1s", "nginx 1202 1s", "nginx 1203 1s"}},
		{"netstat with two sessions of one server", netstatHeader +
			"tcp        0     36 10.0.0.5:22             10.0.0.9:50000          ESTABLISHED 2001/sshd: app@pts/\n" +
			"tcp        0      0 10.0.0.5:22             10.0.0.9:50001          ESTABLISHED 2002/sshd: app@pts/\n",
			[]string{"sshd: app@pts/ 2001 1s", "sshd: app@pts/ 2002 1s"}},
		{"netstat of macOS with pids and no names", macHeader +
			"tcp4       0      0  192.168.1.5.51514      192.168.1.7.5223       ESTABLISHED  131072  131768    501      0 00102 00000008\n" +
			"tcp4       0      0  192.168.1.5.51515      192.168.1.7.443        CLOSE_WAIT   131072  131768    501      0 00102 00000008\n" +
			"tcp4       0      0  192.168.1.5.51516      192.168.1.7.443        CLOSE_WAIT   131072  131768    777      0 00102 00000008\n",
			[]string{" 501 2s", " 777 1s"}},
		{"netstat of Windows with pids", "Active Connections\n\n  Proto  Local Address          Foreign Address        State           PID\n" +
			"  TCP    10.0.0.5:49152         10.0.0.7:443           ESTABLISHED     4321\n  TCP    10.0.0.5:49153         10.0.0.7:443           TIME_WAIT       0\n",
			[]string{" 4321 1s"}},
		{"ss without owners, of which TIME-WAIT is nobody's", "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n" +
			"LISTEN 0 5 *:80 *:*\nESTAB 0 0 10.0.0.5:80 10.0.0.9:50000\nCLOSE-WAIT 1 0 10.0.0.5:80 10.0.0.9:50001\nTIME-WAIT 0 0 10.0.0.5:80 10.0.0.9:50002\n",
			[]string{"  3s"}},
		{"ss with the owners of one of two connections and of no listener", ssOf("postgres", 3001) +
			"LISTEN 0 5 *:2049 *:*\nCLOSE-WAIT 1 0 10.0.0.5:80 10.0.0.9:50001\nTIME-WAIT 0 0 10.0.0.5:80 10.0.0.9:50002\n",
			[]string{"  1s", "postgres 3001 1s"}},
		{"lsof with three workers", "COMMAND  PID     USER   FD   TYPE DEVICE SIZE/OFF NODE NAME\n" +
			"nginx   1200     root    6u  IPv4  21000      0t0  TCP *:80 (LISTEN)\nnginx   1202     root    6u  IPv4  21000      0t0  TCP *:80 (LISTEN)\nnginx   1203     root    6u  IPv4  21000      0t0  TCP *:80 (LISTEN)\n",
			[]string{"nginx 1200 1d", "nginx 1202 1d", "nginx 1203 1d"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := run(t, map[string]string{"table.txt": tc.text})
			if diff := cmp.Diff(tc.want, owners(r)); diff != "" {
				t.Errorf("processes (-want +got):\n%s", diff)
			}
			ids, series := map[string]bool{}, map[string]bool{}
			for i, key := range identity.SeriesKeys(r.Snapshots) {
				ids[r.Snapshots[i].ID], series[key] = true, true
			}
			if len(ids) != len(tc.want) || len(series) != len(tc.want) {
				t.Errorf("%d ids and %d series of %d processes", len(ids), len(series), len(tc.want))
			}
			if len(r.Problems) > 0 {
				t.Errorf("problems %+v", r.Problems)
			}
		})
	}
}

func TestAPidIsInTheIdOfASnapshotOnlyWhereItMustBe(t *testing.T) {
	r := run(t, map[string]string{"table.txt": ssOf("postgres", 3001, 3002)})
	for i, s := range r.Snapshots {
		if plain := s.ID == snapshotID(s.Process.Key(), s.Artifacts); plain != (i == 0) {
			t.Errorf("pid %s has the id of process and content alone: %v", s.Process.PID.Value, plain)
		}
	}
}

func TestACopyOfATableIsNotCountedAgain(t *testing.T) {
	text := ssOf("postgres", 3001, 3002, 3003)
	r := run(t, map[string]string{"a/table.txt": text, "b/table.txt": text})
	if got := strings.Join(owners(r), ", "); got != "postgres 3001 1s, postgres 3002 1s, postgres 3003 1s" {
		t.Errorf("got %s", got)
	}
}

func TestTheDateOfACollectorIsThatOfAllItsTables(t *testing.T) {
	const root = "sosreport-web1-2026-11-21-abcdefg/"
	r := run(t, map[string]string{
		root + "date":     "Sat Nov 21 03:00:05 UTC 2026\n",
		root + "hostname": "web1\n",
		root + "sos_commands/networking/ss_-peaonmi": ssOf("postgres", 3001, 3002),
		root + "sos_commands/process/lsof_M_-n_-l_-c": "COMMAND  PID     USER   FD   TYPE DEVICE SIZE/OFF NODE NAME\n" +
			"nginx   1200     root    6u  IPv4  21000      0t0  TCP *:80 (LISTEN)\n",
	})
	var got []string
	for _, s := range r.Snapshots {
		got = append(got, measuredOf(s))
	}
	slices.Sort(got)
	want := []string{"web1/nginx 1200 1d at 2026-11-21 03:00:05", "web1/postgres 3001 1d at 2026-11-21 03:00:05", "web1/postgres 3002 1d at 2026-11-21 03:00:05"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnActuatorsAnswerIsReadWithItsHeaders(t *testing.T) {
	const body = `{"threads":[{"threadName":"main","threadId":1,"threadState":"RUNNABLE","stackTrace":[]},` +
		`{"threadName":"pool-1","threadId":2,"threadState":"WAITING","stackTrace":[]}]}` + "\n"
	for name, head := range map[string]string{
		"HTTP/1.1":         "HTTP/1.1 200 \r\nContent-Type: application/json\r\nDate: Sat, 21 Nov 2026 03:00:05 GMT\r\n\r\n",
		"HTTP/2":           "HTTP/2 200\ncontent-type: application/json\n\n",
		"after a redirect": "HTTP/1.1 302 \r\nLocation: /x\r\n\r\nHTTP/1.1 200 \r\nContent-Type: application/json\r\n\r\n",
		"without a head":   "",
	} {
		r := run(t, map[string]string{"threads.txt": head + body})
		if got := counted(r); got != "2t" || len(r.Problems) > 0 {
			t.Errorf("%s: %q, want 2t; %+v", name, got, r.Problems)
		}
	}
}

func TestATableWithoutOwnersSaysHowToGetThem(t *testing.T) {
	const nobodys = "tcp        0      0 0.0.0.0:22              0.0.0.0:*               LISTEN      -\n"
	some := netstatHeader + nobodys + nobodys + "tcp        0      0 10.0.0.5:22             10.0.0.9:50000          ESTABLISHED 2001/app\n"
	for text, want := range map[string]string{
		some:                    "note: 2 of 3 sockets have no owner in the table",
		netstatHeader + nobodys: "note: 1 of 1 sockets have no owner in the table",
	} {
		r := run(t, map[string]string{"netstat.txt": text})
		if len(r.Problems) != 1 || fmt.Sprintf("%s: %s", r.Problems[0].Severity, r.Problems[0].What) != want || !strings.Contains(r.Problems[0].Hint, "as root") {
			t.Errorf("%+v, want %s", r.Problems, want)
		}
	}
}
