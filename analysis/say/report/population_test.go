package report_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"leakdiff/analysis/read/bundle"
)

// TestWhatMovesBetweenStatesIsOneThing: eight more each time and none ends; at each capture each is in one
// of two states. Files are below the directory of one of four tenants.
func TestWhatMovesBetweenStatesIsOneThing(t *testing.T) {
	tenants := []string{"acme", "globex", "hooli", "initech"}
	for _, tt := range []struct {
		name, file, head, row, sentence, proof, next string
		states                                       [2]string
	}{
		{"connections", "lsof.txt", "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n", "app 50 app %[1]du IPv4 %[2]d 0t0 TCP 10.0.0.1:%[3]d->10.0.0.2:80 (%[4]s)\n",
			"app opens 1.6 connections a minute to 10.0.0.2:80 and closes none: 76 are open.", "72 of 72 opened since t0 are still there at t9.",
			"Look for a client of 10.0.0.2:80 that is made per call and never closed.", [2]string{"ESTABLISHED", "CLOSE_WAIT"}},
		{"threads", "jstack.txt", "2026-05-21 03:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n",
			"\n\"mailer-%[1]d\" #%[2]d prio=5 os_prio=0 cpu=1.52ms elapsed=9.25s tid=0x00007f33d0%06[2]x nid=0x%[2]x waiting on condition  [0x00007f33d451e000]\n   java.lang.Thread.State: TIMED_WAITING (sleeping)\n\tat java.lang.Thread.sleep(java.base@17.0.15/Native Method)\n\tat com.acme.%[4]s(Mail.java:23)\n",
			"app started 72 threads “mailer-N” and none ended.", "72 of 72 started since t0 are still there at t9.",
			"Find who starts a thread “mailer”, or a pool of them, per call: end what each runs when its work is done, or share one pool.", [2]string{"Mail.send", "Mail.rest"}},
		{"threads whose names tell their state", "jstack.txt", "2026-05-21 03:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n",
			"\n\"mailer-%[1]d [%[4]s]\" #%[2]d prio=5 os_prio=0 cpu=1.52ms elapsed=9.25s tid=0x00007f33d0%06[2]x nid=0x%[2]x waiting on condition  [0x00007f33d451e000]\n   java.lang.Thread.State: TIMED_WAITING (sleeping)\n\tat java.lang.Thread.sleep(java.base@17.0.15/Native Method)\n\tat com.acme.Mail.run(Mail.java:%[3]d)\n",
			"app started 72 threads “mailer” and none ended.", "72 of 72 started since t0 are still there at t9.",
			"Find who starts a thread “mailer”, or a pool of them, per call: end what each runs when its work is done, or share one pool.", [2]string{"idle", "waiting for 10.0.0.7"}},
		{"files of many tenants", "lsof.txt", "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n", "app 50 app %[1]dw REG 254,0 4096 %[2]d /data/%[5]s/7c9e6679-7425-40de-944b-e07fc1f90%03[1]x/segment.log\n",
			"app opened 72 descriptors “/data/*/<uid>/segment.log” and closed none.", "72 of 72 opened since t0 are still there at t9.",
			"Find the code that opens “/data/*/<uid>/segment.log”, and close each there when it is done with it.", [2]string{}},
	} {
		var inputs []bundle.Input
		for k := range 10 {
			text := tt.head
			for i := range 4 + 8*k {
				text += fmt.Sprintf(tt.row, 4+i, 900+i, 40000+i, tt.states[(i*7+k*3)%2], tenants[i%len(tenants)])
			}
			if strings.HasPrefix(tt.file, "jstack") {
				text += "\nJNI global refs: 20, weak refs: 0\n"
			}
			for name, text := range map[string]string{"app/" + tt.file: text, "captured_at": fmt.Sprintf("2026-05-21T03:%02d:00Z\n", 5*k)} {
				inputs = append(inputs, bundle.Input{Name: fmt.Sprintf("t%d/%s", k, name), Size: -1, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
			}
		}
		d := built(t, inputs).Report.Diagnosis
		if d.Sentence != tt.sentence || d.Proof != tt.proof || d.Next == nil || d.Next.Text != tt.next {
			t.Errorf("%s: %q, %q, %+v", tt.name, d.Sentence, d.Proof, d.Next)
		}
	}
}
