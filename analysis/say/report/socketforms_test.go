package report_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/report"
)

// tool prints n connections of pid 50 to 10.0.0.9:80 as a program or the kernel does.
type tool struct {
	name, file, head string
	row              func(i int, closed bool) string
	owned            bool
}

func pick(closed bool, a, b string) string {
	if closed {
		return b
	}
	return a
}

var socketTools = []tool{
	{"lsof", "lsof.txt", "COMMAND PID USER   FD   TYPE DEVICE SIZE/OFF NODE NAME\n", func(i int, closed bool) string {
		return fmt.Sprintf("app      50 root %4du  IPv4  %d      0t0  TCP 10.0.0.1:%d->10.0.0.9:80 (%s)", 10+i, 30000+i, 40000+i, pick(closed, "ESTABLISHED", "CLOSE_WAIT"))
	}, true},
	{"ss -tanp", "ss.txt", "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n", func(i int, closed bool) string {
		return fmt.Sprintf(`%s 0 0 10.0.0.1:%d 10.0.0.9:80 users:(("app",pid=50,fd=%d))`, pick(closed, "ESTAB", "CLOSE-WAIT"), 40000+i, 10+i)
	}, true},
	{"ss -tunap", "ss.txt", "Netid State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n", func(i int, closed bool) string {
		return fmt.Sprintf(`tcp %s 0 0 10.0.0.1:%d 10.0.0.9:80 users:(("app",pid=50,fd=%d))`, pick(closed, "ESTAB", "CLOSE-WAIT"), 40000+i, 10+i)
	}, true},
	{"netstat -tanp", "netstat.txt", "Active Internet connections (servers and established)\nProto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name\n", func(i int, closed bool) string {
		return fmt.Sprintf("tcp        0      0 10.0.0.1:%d          10.0.0.9:80             %s 50/app", 40000+i, pick(closed, "ESTABLISHED", "CLOSE_WAIT"))
	}, true},
	{"ss -tan", "ss.txt", "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n", func(i int, closed bool) string {
		return fmt.Sprintf(`%s 0 0 10.0.0.1:%d 10.0.0.9:80`, pick(closed, "ESTAB", "CLOSE-WAIT"), 40000+i)
	}, false},
	{"ss -tanH", "ss.txt", "", func(i int, closed bool) string {
		return fmt.Sprintf(`%s 0 0 10.0.0.1:%d 10.0.0.9:80`, pick(closed, "ESTAB", "CLOSE-WAIT"), 40000+i)
	}, false},
	{"ss -tani", "ss.txt", "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n", func(i int, closed bool) string {
		return fmt.Sprintf("%s 0 0 10.0.0.1:%d 10.0.0.9:80\n\t cubic wscale:7,7 rto:204 rtt:0.%d/0.25", pick(closed, "ESTAB", "CLOSE-WAIT"), 40000+i, i)
	}, false},
	{"ss -tane", "ss.txt", "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n", func(i int, closed bool) string {
		return fmt.Sprintf(`%s 0 0 10.0.0.1:%d 10.0.0.9:80 timer:(keepalive,50sec,0) uid:1000 ino:%d sk:%x <->`, pick(closed, "ESTAB", "CLOSE-WAIT"), 40000+i, 30000+i, i+1)
	}, false},
	{"netstat -tan", "netstat.txt", "Active Internet connections (servers and established)\nProto Recv-Q Send-Q Local Address           Foreign Address         State\n", func(i int, closed bool) string {
		return fmt.Sprintf("tcp        0      0 10.0.0.1:%d          10.0.0.9:80             %s", 40000+i, pick(closed, "ESTABLISHED", "CLOSE_WAIT"))
	}, false},
	{"netstat -an of BSD", "netstat.txt", "Active Internet connections (including servers)\nProto Recv-Q Send-Q Local Address          Foreign Address        (state)\n", func(i int, closed bool) string {
		return fmt.Sprintf("tcp4       0      0 10.0.0.1.%d         10.0.0.9.80            %s", 40000+i, pick(closed, "ESTABLISHED", "CLOSE_WAIT"))
	}, false},
	{"/proc/net/tcp", "tcp.txt", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n", func(i int, closed bool) string {
		return fmt.Sprintf("%4d: 0100000A:%04X 0900000A:0050 %s 00000000:00000000 00:00000000 00000000  1000        0 %d 1 0000000000000000 20 4 30 10 -1", i, 40000+i, pick(closed, "01", "08"), 30000+i)
	}, false},
}

// answerOf is the verdict and the sentence of a series of captures, one a minute.
func answerOf(t *testing.T, tool tool, counts [][2]int, closed bool) *report.Report {
	t.Helper()
	var inputs []bundle.Input
	for i, span := range counts {
		text := tool.head
		for k := span[0]; k < span[1]; k++ {
			text += tool.row(k, closed) + "\n"
		}
		at := time.Date(2026, 11, 21, 3, i, 0, 0, time.UTC)
		inputs = append(inputs, bundle.Input{Name: fmt.Sprintf("%s/%s", at.Format("2006-01-02T15-04-05Z"), tool.file), Size: int64(len(text)),
			Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
	}
	result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, inputs)
	if err != nil {
		t.Fatal(err)
	}
	r := report.Build(result.Snapshots, result.Problems, report.Options{Version: "test"}).Report
	return &r
}

func TestTheSameSocketsHaveOneVerdictWhateverListsThem(t *testing.T) {
	for _, tc := range []struct {
		name   string
		counts [][2]int // the first and the last socket of each capture
		closed bool
		want   analysis.Verdict
	}{
		{"all stay", [][2]int{{0, 5}, {0, 15}, {0, 25}, {0, 35}, {0, 45}, {0, 55}}, false, analysis.Leaking},
		{"all stay after the peers closed", [][2]int{{0, 5}, {0, 15}, {0, 25}, {0, 35}, {0, 45}, {0, 55}}, true, analysis.Leaking},
		{"each is replaced", [][2]int{{0, 20}, {20, 40}, {40, 60}, {60, 80}, {80, 100}, {100, 120}}, false, analysis.Stable},
		{"none comes", [][2]int{{0, 20}, {0, 20}, {0, 20}, {0, 20}, {0, 20}, {0, 20}}, false, analysis.Stable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := fmt.Sprintf("%s TCP client to 10.0.0.9:80, %s", tc.want, pick(tc.closed, "ESTABLISHED", "CLOSE_WAIT"))
			for i, span := range tc.counts {
				want += fmt.Sprintf(" %d: %d", i, span[1]-span[0])
			}
			for _, tool := range socketTools {
				r := answerOf(t, tool, tc.counts, tc.closed)
				if len(r.Series) != 1 || len(r.Series[0].Families) == 0 || r.Series[0].Unowned == tool.owned {
					t.Fatalf("%s: %d series, %+v", tool.name, len(r.Series), r.Problems)
				}
				f := r.Series[0].Families[0]
				got := fmt.Sprintf("%s %s", f.Verdict, f.Title)
				for i := range f.Counts {
					got += fmt.Sprintf(" %d: %d", i, f.Counts[i].N)
				}
				if got != want {
					t.Errorf("%s: got %s, want %s", tool.name, got, want)
				}
			}
		})
	}
}
