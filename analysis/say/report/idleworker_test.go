package report_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"leakdiff/analysis/read/bundle"
)

// TestIdleWorkersOfAPoolAreNoLeakBeforeTheirTimeIsUp: ten threads more at each of five dumps. A cached pool keeps
// a worker without a task for a minute; one of a fixed pool stays.
func TestIdleWorkersOfAPoolAreNoLeakBeforeTheirTimeIsUp(t *testing.T) {
	for _, tt := range []struct {
		name, waits string
		seconds     int
		state       string
	}{
		{"a minute and a half", "java.util.concurrent.SynchronousQueue.poll(java.base@17.0.15/SynchronousQueue.java:903)", 22, "may leak"},
		{"two minutes", "java.util.concurrent.SynchronousQueue.poll(java.base@17.0.15/SynchronousQueue.java:903)", 30, "leaking"},
		{"workers that wait without a limit", "java.util.concurrent.LinkedBlockingQueue.take(java.base@17.0.15/LinkedBlockingQueue.java:435)", 22, "leaking"},
	} {
		var inputs []bundle.Input
		for k := range 5 {
			text := "2026-05-21 03:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n"
			for i := range 4 + 10*k {
				text += fmt.Sprintf("\n\"mailer-%[1]d\" #%[2]d prio=5 os_prio=0 cpu=1.52ms elapsed=9.25s tid=0x00007f33d0%06[2]x nid=0x%[2]x waiting on condition  [0x00007f33d451e000]\n   java.lang.Thread.State: TIMED_WAITING (parking)\n\tat jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)\n\tat %[3]s\n\tat java.util.concurrent.ThreadPoolExecutor.getTask(java.base@17.0.15/ThreadPoolExecutor.java:1061)\n\tat java.util.concurrent.ThreadPoolExecutor.runWorker(java.base@17.0.15/ThreadPoolExecutor.java:1122)\n", i, 20+i, tt.waits)
			}
			at := k * tt.seconds
			for name, text := range map[string]string{"app/jstack.txt": text + "\nJNI global refs: 20, weak refs: 0\n", "captured_at": fmt.Sprintf("2026-05-21T03:%02d:%02dZ\n", at/60, at%60)} {
				inputs = append(inputs, bundle.Input{Name: fmt.Sprintf("t%d/%s", k, name), Size: -1, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
			}
		}
		if d := built(t, inputs).Report.Diagnosis; d.State != tt.state {
			t.Errorf("%s: %s: %s", tt.name, d.State, d.Sentence)
		}
	}
}
