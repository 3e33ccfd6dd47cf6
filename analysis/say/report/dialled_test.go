package report_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/say/report"
)

// listings are captures of lsof, ten minutes apart, each of the rows that list gives for it.
func listings(captures int, list func(moment int) []string) (out []bundle.Input) {
	add := func(name, text string) {
		out = append(out, bundle.Input{Name: name, Size: int64(len(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
	}
	for i := range captures {
		add(fmt.Sprintf("case/t%d/lsof.txt", i), "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n"+strings.Join(list(i), "\n")+"\n")
		add(fmt.Sprintf("case/t%d/captured_at", i), fmt.Sprintf("2026-11-01T10:%d0:00Z\n", i))
	}
	return out
}

// dialled are connections of feeder to a port of hub, ten more in each capture: five in the first.
// feeder is gone from a capture on, and its connections with it.
func dialled(moment, gone int) (rows []string) {
	hub := []string{"hub 202 app txt REG 254,0 9000000 778 /usr/bin/hub", "hub 202 app 3u IPv4 20000 0t0 TCP 127.0.0.1:9000 (LISTEN)"}
	if moment >= gone {
		return hub
	}
	rows = append(rows, "feeder 201 app txt REG 254,0 9000000 777 /usr/bin/feeder")
	for k := range 5 + 10*moment {
		rows = append(rows, fmt.Sprintf("feeder 201 app %du IPv4 %d 0t0 TCP 127.0.0.1:%d->127.0.0.1:9000 (ESTABLISHED)", 10+k, 10000+k, 40000+k))
		hub = append(hub, fmt.Sprintf("hub 202 app %du IPv4 %d 0t0 TCP 127.0.0.1:9000->127.0.0.1:%d (ESTABLISHED)", 10+k, 30000+k, 40000+k))
	}
	return append(rows, hub...)
}

func TestTheProcessThatDialledConnectionsLeads(t *testing.T) {
	for _, tt := range []struct {
		name            string
		gone            int
		state, sentence string
		end             int
	}{
		{"both live", 9, "leaking", "feeder opens 1 connection a minute to 127.0.0.1:9000 and closes none: 55 are open.", -1},
		{"it is gone at the last capture, and the ends of the other one with it", 5, "leaking until t4",
			"feeder opened 40 connections to 127.0.0.1:9000 and closed none; hub served them until feeder was gone.", 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := built(t, listings(6, func(i int) []string { return dialled(i, tt.gone) })).Report
			d := r.Diagnosis
			if series, at := d.End(); d.State != tt.state || d.Sentence != tt.sentence || at != tt.end || at >= 0 && r.Series[series].Process != "hub" {
				t.Errorf("%s: %s, ended at %d of %d", d.State, d.Sentence, at, series)
			}
			if len(d.Chain) != 2 || d.Chain[1].Process != "hub" {
				t.Errorf("chain %+v", d.Chain)
			}
		})
	}
}

func TestAGrowthThatStopsAtItsLimitIsFull(t *testing.T) {
	for _, tt := range []struct {
		bound int
		do    string
	}{
		{40, "It stopped at its limit: 36 of 40 open files. Find who keeps the connections to 10.0.0.9:5432; a higher limit gains time only."},
		{41, "Stable at 33 since t2. Nothing to do unless it passes 33."}, // 36 are less than nine tenths of it
	} {
		counts := []int{13, 23, 33, 33, 33, 33}
		inputs := listings(len(counts), func(i int) (rows []string) {
			for fd := range 3 {
				rows = append(rows, fmt.Sprintf("worker 7 app %du CHR 1,3 0t0 5 /dev/null", fd))
			}
			for k := range counts[i] {
				rows = append(rows, fmt.Sprintf("worker 7 app %du IPv4 %d 0t0 TCP 10.0.0.1:%d->10.0.0.9:5432 (ESTABLISHED)", 3+k, 10000+k, 40000+k))
			}
			return rows
		})
		text := fmt.Sprintf("Limit                     Soft Limit           Hard Limit           Units\nMax open files            %d                   %d                   files\n", tt.bound, tt.bound)
		for i := range counts {
			inputs = append(inputs, bundle.Input{Name: fmt.Sprintf("case/t%d/limits", i), Size: int64(len(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
		}
		if d := built(t, inputs).Report.Diagnosis; d.Next == nil || d.Next.Text != tt.do || d.State != string(report.GrewOnce) {
			t.Errorf("%d open files: %s: %s: %+v", tt.bound, d.State, d.Sentence, d.Next)
		}
	}
}

func TestADeadlockLeadsThoseThatWaitBehindIt(t *testing.T) {
	const head = "2026-11-01 10:%d0:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n\"main\" #1 prio=5 os_prio=0 cpu=1.63ms elapsed=%d.00s tid=0x00007f3200000001 nid=0xfa1 runnable  [0x00007f3240000001]\n   java.lang.Thread.State: RUNNABLE\n\tat com.acme.Server.main(Server.java:44)\n\n"
	thread := func(name string, id, moment int, waits, holds string) string {
		text := fmt.Sprintf("%q #%d prio=5 os_prio=0 cpu=1.63ms elapsed=%d.00s tid=0x%016x nid=0x%x waiting for monitor entry  [0x00007f3340000000]\n   java.lang.Thread.State: BLOCKED (on object monitor)\n\tat com.acme.Account.deposit(Account.java:21)\n\t- waiting to lock <%s> (a com.acme.Account)\n", name, id, 6000+600*moment, 0x7f3300000000+id, 4000+id, waits)
		if holds != "" {
			text += fmt.Sprintf("\t- locked <%s> (a com.acme.Account)\n", holds)
		}
		return text + "\tat java.lang.Thread.run(java.base@17.0.15/Thread.java:840)\n\n"
	}
	const one, other = "0x00000000ff0b0010", "0x00000000ff0b0020"
	for _, tt := range []struct {
		name, holds  string
		sentence, do string
	}{
		{"each waits for the other", other, "Deadlock in Server: threads “transfer-1” and “transfer-2” wait for each other; 5 to 29 threads ", "Take these locks in the same order in com.acme.Account.deposit. Only a restart ends this deadlock."},
		{"the other one waits for a lock that nobody of them holds", "", "", ""},
	} {
		var inputs []bundle.Input
		for i := range 5 {
			text := fmt.Sprintf(head, i, 6000+600*i) + thread("transfer-1", 21, i, other, one) + strings.Replace(thread("transfer-2", 22, i, one, other), "- waiting to lock <"+one, "- waiting to lock <"+map[bool]string{true: one, false: "0x00000000ff0b0099"}[tt.holds != ""], 1)
			for k := range 5 + 6*i {
				text += strings.Replace(thread(fmt.Sprintf("http-%d", k), 100+k, i, other, ""), "deposit(Account.java:21)", "balance(Account.java:30)", 1)
			}
			text += "\"VM Thread\" os_prio=0 cpu=1.63ms elapsed=6000.00s tid=0x00007f3100000001 nid=0xff1 runnable\n\nJNI global refs: 15, weak refs: 0\n\n"
			inputs = append(inputs, bundle.Input{Name: fmt.Sprintf("case/t%d/threads.txt", i), Size: int64(len(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
		}
		d := built(t, inputs).Report.Diagnosis
		if tied := strings.HasPrefix(d.Sentence, "Deadlock"); tied != (tt.sentence != "") {
			t.Errorf("%s: %s", tt.name, d.Sentence)
		}
		if tt.sentence != "" && (!strings.HasPrefix(d.Sentence, tt.sentence) || d.Next == nil || d.Next.Text != tt.do) {
			t.Errorf("%s: %s: %+v", tt.name, d.Sentence, d.Next)
		}
		for _, l := range d.Chain {
			if strings.Contains(l.Text, "goroutine") {
				t.Errorf("%s: a thread is called %q", tt.name, l.Text)
			}
		}
	}
}

func TestADeadlockWithinTheLibraryIsMendedWhereItIsCalled(t *testing.T) {
	const head = "2026-11-01 10:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n"
	thread := func(name string, id int, waits, holds string, frames ...string) string {
		text := fmt.Sprintf("%q #%d prio=5 os_prio=0 cpu=1.63ms elapsed=60.00s tid=0x%016x nid=0x%x waiting for monitor entry  [0x00007f3340000000]\n   java.lang.Thread.State: BLOCKED (on object monitor)\n\tat %s(Table.java:21)\n\t- waiting to lock <%s> (a java.lang.Object)\n\t- locked <%s> (a java.lang.Object)\n", name, id, 0x7f3300000000+id, 4000+id, frames[0], waits, holds)
		for _, f := range frames[1:] {
			text += "\tat " + f + "(Save.java:80)\n"
		}
		return text + "\tat java.lang.Thread.run(java.base@17.0.15/Thread.java:840)\n\n"
	}
	const a, b = "0x00000000ff0b0010", "0x00000000ff0b0020"
	for _, tt := range []struct{ first, other, want string }{
		{"javax.swing.JTable.getRowCount", "pool-1", "The library takes these locks in two orders: do not call it from com.acme.Save.show while another thread is in it. Only a restart ends this deadlock."},
		{"javax.swing.JTable.getRowCount", "AWT-EventQueue-0", `Call JTable.getRowCount by SwingUtilities.invokeLater or invokeAndWait: thread "pool-0" is not the event thread (Save.java:80).`},
		{"java.util.Vector.size", "AWT-EventQueue-0", "The library takes these locks in two orders: do not call it from com.acme.Save.show while another thread is in it. Only a restart ends this deadlock."},
		{"com.acme.Table.getRowCount", "AWT-EventQueue-0", "Take these locks in the same order in java.awt.Component.invalidate and com.acme.Table.getRowCount. Only a restart ends this deadlock."},
	} {
		d := one(t, "threads.txt", head+thread("pool-0", 30, a, b, tt.first, "com.acme.Save.show")+thread(tt.other, 31, b, a, "java.awt.Component.invalidate", "java.awt.EventQueue.run")).Diagnosis
		if d.State != "deadlock" || d.Next == nil || d.Next.Text != tt.want {
			t.Errorf("%s: %s %+v, want %q", tt.first, d.Sentence, d.Next, tt.want)
		}
	}
}
