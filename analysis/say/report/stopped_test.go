package report_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis/read/bundle"
)

// TestWhatStoppedFirstIsTheFirstSuspect: jobs that come and go stand from t3 on, and from then on
// requests wait for a semaphore.
func TestWhatStoppedFirstIsTheFirstSuspect(t *testing.T) {
	const suspect = "12 goroutines in main.(*Job).run stand since t3, and then this began"
	for _, tt := range []struct {
		name, state   string
		stands, since int
		want          string
	}{
		{"they stopped as it began", "chan send", 3, 3, suspect},
		{"an interval later", "chan send", 3, 4, suspect},
		{"two intervals later", "chan send", 3, 5, ""},
		{"they never stop", "chan send", 99, 3, ""},
		{"they stand from the beginning", "chan send", 0, 3, ""},
		{"who reads from the network waits for nobody here", "IO wait", 3, 3, ""},
	} {
		var inputs []bundle.Input
		for k := range 9 {
			text := "goroutine 1 [chan receive]:\nmain.main()\n\t/src/app/main.go:10 +0x1d\n"
			for i := range 12 {
				id := 100*(min(k, tt.stands)+1) + i
				text += fmt.Sprintf("\ngoroutine %d [select]:\nmain.(*Job).run(0xc000%06x)\n\t/src/app/job.go:51 +0x1d\ncreated by main.start in goroutine 1\n\t/src/app/job.go:22 +0x5a\n", id, 0x200000+i*0x40)
			}
			for i := range max(0, k-tt.since+1) * 9 {
				text += fmt.Sprintf("\ngoroutine %d [%s]:\nmain.(*Sem).Acquire(0xc000700000)\n\t/src/app/limit.go:19 +0x1d\ncreated by main.serve in goroutine 1\n\t/src/app/serve.go:40 +0x5a\n", 50000+i, tt.state)
			}
			for name, text := range map[string]string{"app/goroutines.txt": text, "captured_at": fmt.Sprintf("2026-05-21T03:%02d:00Z\n", 5*k)} {
				inputs = append(inputs, bundle.Input{Name: fmt.Sprintf("t%d/%s", k, name), Size: -1, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
			}
		}
		d := built(t, inputs).Report.Diagnosis
		if d.Cause == nil || len(d.Chain) == 0 {
			t.Fatalf("%s: %+v", tt.name, d)
		}
		if got := d.Cause.Reason; (got == tt.want) != (tt.want != "") || (d.Chain[0].Text == "stand since t3") != (tt.want != "") {
			t.Errorf("%s: %q, chain %+v, want %q", tt.name, got, d.Chain, tt.want)
		}
	}
}

// TestOneAtWorkDoesNotPostponeTheEnd: a pool is full from t1 on, and where one of it works, those that
// wait are fewer.
func TestOneAtWorkDoesNotPostponeTheEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		waiting, working []int
		since            string
	}{
		"one works when the last came":  {[]int{16, 31, 32, 31, 32}, []int{1, 1, 0, 1, 0}, "t1"},
		"none works when the last came": {[]int{16, 32, 32, 31, 32}, []int{1, 0, 0, 1, 0}, "t1"},
		"the last came later":           {[]int{16, 24, 32, 31, 32}, []int{1, 0, 0, 1, 0}, "t2"},
	} {
		var captures []map[string]string
		for k, n := range tt.waiting {
			text := "2026-11-29 07:35:05\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n"
			for i := range n + tt.working[k] {
				does := []string{"at java.util.concurrent.LinkedBlockingQueue.take(java.base@17.0.15/LinkedBlockingQueue.java:435)"}
				if i < k+tt.working[k] && i >= k { // another one each time
					does = []string{"at Gateway.handle(Gateway.java:3)"}
				}
				text += javaThread(200+i, "WAITING (parking)", slices.Concat([]string{"at jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)"}, does, []string{"at java.lang.Thread.run(java.base@17.0.15/Thread.java:840)"})...)
			}
			captures = append(captures, map[string]string{"app/threads.txt": text + "JNI global refs: 16, weak refs: 0\n"})
		}
		d := every(t, captures).Diagnosis
		if !strings.HasSuffix(d.Sentence, " and no more since "+tt.since+".") || d.Next == nil || !strings.HasPrefix(d.Next.Text, "Stable at 32 since "+tt.since+".") {
			t.Errorf("%s: %s: %s %+v", name, d.State, d.Sentence, d.Next)
		}
	}
}
