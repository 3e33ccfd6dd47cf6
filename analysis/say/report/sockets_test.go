package report_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/say/report"
)

// A connection of app, pid 50, from a port of 10.0.0.1 to 10.0.0.2:80.
type connection struct {
	port  int
	state string
}

// connections are n of them from a port on.
func connections(n, port int, state string) (out []connection) {
	for i := range n {
		out = append(out, connection{port + i, state})
	}
	return out
}

// socketForms write the same connections in each form that shows sockets, with a listener and
// one in TIME_WAIT, which nobody holds.
var socketForms = []struct {
	name string
	// owned is false for a table that does not name the owners.
	owned bool
	sure  string
	files func([]connection) map[string]string
}{
	{"lsof", true, "certain, every one tracked by inode", func(all []connection) map[string]string {
		text := "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\napp 50 app 3u IPv4 900 0t0 TCP *:8080 (LISTEN)\n"
		for i, c := range all {
			text += fmt.Sprintf("app 50 app %du IPv4 %d 0t0 TCP 10.0.0.1:%d->10.0.0.2:80 (%s)\n", 4+i, c.port, c.port, c.state)
		}
		return map[string]string{"lsof.txt": text}
	}},
	{"ss", true, "likely, every one tracked by its addresses and ports", func(all []connection) map[string]string {
		text := "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\nLISTEN 0 511 *:8080 *:* users:((\"app\",pid=50,fd=3))\nTIME-WAIT 0 0 10.0.0.1:39999 10.0.0.2:80\n"
		for i, c := range all {
			text += fmt.Sprintf("%s 0 0 10.0.0.1:%d 10.0.0.2:80 users:((\"app\",pid=50,fd=%d))\n", ssStates[c.state], c.port, 4+i)
		}
		return map[string]string{"ss.txt": text}
	}},
	{"ss with protocols, zones, timers and inodes", true, "certain, every one tracked by inode", func(all []connection) map[string]string {
		text := "Netid State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\ntcp LISTEN 0 511 *:8080 *:* users:((\"app\",pid=50,fd=3)) uid:1 ino:900 sk:1 cgroup:/ <->\n"
		for i, c := range all {
			text += fmt.Sprintf("tcp %s 0 0 10.0.0.1%%eth0:%d 10.0.0.2:80 users:((\"app\",pid=50,fd=%d)) timer:(keepalive,12sec,0) uid:1 ino:%d sk:2 <->\n", ssStates[c.state], c.port, 4+i, c.port)
		}
		return map[string]string{"ss.txt": text}
	}},
	{"netstat", true, "likely, every one tracked by its addresses and ports", func(all []connection) map[string]string {
		text := "Proto Recv-Q Send-Q Local Address Foreign Address State PID/Program name\ntcp 0 0 0.0.0.0:8080 0.0.0.0:* LISTEN 50/app\ntcp 0 0 10.0.0.1:39999 10.0.0.2:80 TIME_WAIT -\n"
		for _, c := range all {
			text += fmt.Sprintf("tcp 0 0 10.0.0.1:%d 10.0.0.2:80 %s 50/app\n", c.port, c.state)
		}
		return map[string]string{"netstat.txt": text}
	}},
	{"fd links and /proc/net", true, "certain, every one tracked by inode", func(all []connection) map[string]string {
		const rest = " 00000000:00000000 00:00000000 00000000  1000        0 %d 1 0000000000000000 20 4 30 10 -1\n"
		links := "total 0\nlrwx------ 1 app app 64 Nov 21 03:00 3 -> socket:[900]\n"
		table := "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
			fmt.Sprintf("   0: 00000000:1F90 00000000:0000 0A"+rest, 900) + fmt.Sprintf("   1: 0100000A:9C3F 0200000A:0050 06"+rest, 0)
		for i, c := range all {
			links += fmt.Sprintf("lrwx------ 1 app app 64 Nov 21 03:00 %d -> socket:[%d]\n", 4+i, c.port)
			table += fmt.Sprintf("   %d: 0100000A:%04X 0200000A:0050 %s"+rest, i+2, c.port, map[string]string{"ESTABLISHED": "01", "CLOSE_WAIT": "08"}[c.state], c.port)
		}
		return map[string]string{"fd.txt": links, "net_tcp.txt": table, "status": "Name:\tapp\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t50\nPid:\t50\n"}
	}},
	{"ss without owners", false, "likely, every one tracked by its addresses and ports", func(all []connection) map[string]string {
		text := "State Recv-Q Send-Q Local Address:Port Peer Address:Port\nLISTEN 0 511 *:8080 *:*\nTIME-WAIT 0 0 10.0.0.1:39999 10.0.0.2:80\n"
		for _, c := range all {
			text += fmt.Sprintf("%s 0 0 10.0.0.1:%d 10.0.0.2:80\n", ssStates[c.state], c.port)
		}
		return map[string]string{"ss.txt": text}
	}},
	{"netstat of macOS without owners", false, "likely, every one tracked by its addresses and ports", func(all []connection) map[string]string {
		text := "Active Internet connections (including servers)\nProto Recv-Q Send-Q  Local Address          Foreign Address        (state)\ntcp46 0 0 *.8080 *.* LISTEN\ntcp4 0 0 10.0.0.1.39999 10.0.0.2.80 TIME_WAIT\n"
		for _, c := range all {
			text += fmt.Sprintf("tcp4 0 0 10.0.0.1.%d 10.0.0.2.80 %s\n", c.port, c.state)
		}
		return map[string]string{"netstat.txt": text}
	}},
}

var ssStates = map[string]string{"ESTABLISHED": "ESTAB", "CLOSE_WAIT": "CLOSE-WAIT"}

// hourly are captures of connections, an hour apart, each in a directory of its own.
func hourly(t *testing.T, files func([]connection) map[string]string, captures ...[]connection) report.Report {
	t.Helper()
	var all []map[string]string
	for _, of := range captures {
		all = append(all, files(of))
	}
	return every(t, all)
}

// every reads captures of files, an hour apart.
func every(t *testing.T, captures []map[string]string) report.Report {
	t.Helper()
	for i, files := range captures {
		files["captured_at"] = fmt.Sprintf("2026-11-21T0%d:00:00Z\n", i)
	}
	return undated(t, captures)
}

// undated reads captures of files that tell no time.
func undated(t *testing.T, captures []map[string]string) report.Report {
	t.Helper()
	tree := fstest.MapFS{}
	for i, files := range captures {
		for name, text := range files {
			tree[fmt.Sprintf("t%d/%s", i, name)] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	inputs, err := bundle.FromFS(tree, "")
	if err != nil {
		t.Fatal(err)
	}
	return built(t, inputs).Report
}

// TestOneSetOfSocketsHasOneAnswerInEachForm holds a growth by 3 each hour: 12 came, and none of
// the 15 ended.
func TestOneSetOfSocketsHasOneAnswerInEachForm(t *testing.T) {
	for _, form := range socketForms {
		t.Run(form.name, func(t *testing.T) {
			var captures [][]connection
			for _, n := range []int{3, 6, 9, 12, 15} {
				captures = append(captures, connections(n, 40000, "ESTABLISHED"))
			}
			r := hourly(t, form.files, captures...)
			d, want := &r.Diagnosis, "app opens 3 connections an hour to 10.0.0.2:80 and closes none: 15 are open."
			if !form.owned {
				want = "3 connections an hour to 10.0.0.2:80 are opened and none is closed: 15 are open, owner not known."
			}
			if d.State != "leaking" || d.Sentence != want {
				t.Errorf("%s: %s\nwant leaking: %s", d.State, d.Sentence, want)
			}
			if d.Proved != "12 of 12" || d.Growth == nil || d.Growth.Word+", "+d.Growth.Reason != form.sure {
				t.Errorf("%s proved; %+v", d.Proved, d.Growth)
			}
			if len(r.Series) != 1 || r.Series[0].Unowned == form.owned {
				t.Errorf("%d series, owner not known: %v", len(r.Series), r.Series[0].Unowned)
			}
		})
	}
}

// TestSocketsOfManyFamiliesAndStatesAreNamed holds what a growth of sockets is called: those to
// many peers grow as sockets, and those that the peers closed were not opened in that state.
func TestSocketsOfManyFamiliesAndStatesAreNamed(t *testing.T) {
	netstat, ss := socketForms[3].files, socketForms[5].files
	var all, closed [][]connection
	for _, n := range []int{3, 6, 9, 12, 15} {
		all, closed = append(all, connections(n, 40000, "ESTABLISHED")), append(closed, connections(n, 40000, "CLOSE_WAIT"))
	}
	many := func(all []connection) map[string]string {
		out := netstat(all)
		for i, c := range all {
			port := fmt.Sprintf(":%d 10.0.0", c.port)
			out["netstat.txt"] = strings.Replace(out["netstat.txt"], port+".2", fmt.Sprintf("%s.%d", port, 10+i), 1)
		}
		return out
	}
	for want, got := range map[string]report.Report{
		"app opened 12 sockets and closed none.":                                                                      hourly(t, many, all...),
		"Connections to 10.0.0.2:80 in CLOSE_WAIT grew from 3 to 15, owner not known.":                                hourly(t, ss, closed...),
		"Connections to 10.0.0.2:80 in CLOSE_WAIT of app grew from 3 to 15: the peers have closed them, app has not.": hourly(t, netstat, closed...),
	} {
		if d := got.Diagnosis; d.Sentence != want || d.State != "leaking" {
			t.Errorf("%s: %s\nwant leaking: %s", d.State, d.Sentence, want)
		}
	}
}

// TestSocketsAreTheSameInEachTable mixes the tables of one growth: what only some of them show
// follows no socket.
func TestSocketsAreTheSameInEachTable(t *testing.T) {
	for _, owned := range []bool{true, false} {
		var captures [][]connection
		for _, n := range []int{3, 6, 9, 12, 15} {
			captures = append(captures, connections(n, 40000, "ESTABLISHED"))
		}
		i := -1
		d := hourly(t, func(all []connection) map[string]string {
			for {
				i++
				form := socketForms[i%len(socketForms)]
				if files := form.files(all); form.owned == owned && (files["ss.txt"] != "" || files["netstat.txt"] != "") {
					return files
				}
			}
		}, captures...).Diagnosis
		if d.State != "leaking" || d.Proved != "12 of 12" || d.Growth == nil || d.Growth.Word != "likely" {
			t.Errorf("with owners %v: %s: %s %s, %+v", owned, d.State, d.Sentence, d.Proved, d.Growth)
		}
	}
}

// TestSocketsThatStayAsManyLeakInNoForm holds the nearest innocent sets: as many each hour, of
// which the ports say that all are new, and the same ones, which the peer closes.
func TestSocketsThatStayAsManyLeakInNoForm(t *testing.T) {
	for _, form := range socketForms {
		t.Run(form.name, func(t *testing.T) {
			var replaced [][]connection
			for i := range 5 {
				replaced = append(replaced, connections(15, 40000+100*i, "ESTABLISHED"))
			}
			closed := [][]connection{}
			for _, state := range []string{"ESTABLISHED", "ESTABLISHED", "CLOSE_WAIT", "CLOSE_WAIT", "CLOSE_WAIT"} {
				closed = append(closed, connections(15, 40000, state))
			}
			for name, captures := range map[string][][]connection{"replaced": replaced, "closed by the peer": closed} {
				d := hourly(t, form.files, captures...).Diagnosis
				if d.State != "no leak seen" {
					t.Errorf("%s: %s: %s", name, d.State, d.Sentence)
				}
				if told := strings.Contains(d.Sentence, "in CLOSE_WAIT"); told != (name == "closed by the peer") || told != (d.Next != nil) {
					t.Errorf("%s: %s, and what to do: %v", name, d.Sentence, d.Next)
				}
			}
		})
	}
}

func TestARestartIsToldBesideAGrowth(t *testing.T) {
	forms := map[string]string{}
	for _, process := range []struct {
		name   string
		counts [2][]int // of the first process and of the next one
	}{
		{"the new one grows higher", [2][]int{{5, 25, 45}, {6, 26, 46}}},
		{"the new one does not grow", [2][]int{{5, 25, 45}, {6, 6, 6}}},
	} {
		var captures []map[string]string
		for epoch, counts := range process.counts {
			for _, n := range counts {
				var lsof strings.Builder
				lsof.WriteString("COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n")
				for k := range n {
					fmt.Fprintf(&lsof, "agent %d app %du IPv4 %d 0t0 TCP 10.0.0.1:%d->10.0.0.77:443 (ESTABLISHED)\n", 300+40*epoch, 10+k, 10000+1000*epoch+k, 40000+500*epoch+k)
				}
				captures = append(captures, map[string]string{"lsof.txt": lsof.String()})
			}
		}
		forms[process.name] = every(t, captures).Diagnosis.Sentence
	}
	want := map[string]string{
		"the new one grows higher":  "agent opens 20 connections an hour to 10.0.0.77:443 and closes none: 46 are open; restarted after t2.",
		"the new one does not grow": "Connections to 10.0.0.77:443 of agent grew from 5 to 45 in 2 h: 40 new, none ended; restarted after t2, 6 since.",
	}
	if diff := cmp.Diff(want, forms); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
