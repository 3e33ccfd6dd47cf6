package report

import (
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
)

func contended(delay time.Duration, count int64, frames ...string) analysis.Contended {
	c := analysis.Contended{Count: count, Delay: delay}
	for _, f := range frames {
		c.Frames = append(c.Frames, analysis.Frame{Func: f, File: "/src/a.go", Line: 7})
	}
	return c
}

func TestAMutexProfileNamesWhoHeldAndABlockProfileWhoWaited(t *testing.T) {
	s := analysis.Snapshot{Contention: []analysis.Contention{
		{Profile: analysis.MutexProfile, Count: 1234, Delay: 4 * time.Second, LowerBound: true, More: 3, Stacks: []analysis.Contended{
			contended(3*time.Second, 1200, "internal/sync.(*Mutex).Unlock", "sync.(*Mutex).Unlock", "example.org/shop/cart.(*Store).Flush", "main.main"),
			contended(time.Second, 34, "runtime.unlock"),
		}},
		{Profile: analysis.BlockProfile, Count: 1, Delay: time.Second, Window: 30 * time.Second, Stacks: []analysis.Contended{contended(time.Second, 1, "runtime.chanrecv1", "main.consume"), contended(21*time.Microsecond, 1, "runtime.chanrecv1", "main.main")}},
	}}
	all := ContentionOf(&s)
	var said []string
	for i := range all {
		said = append(said, all[i].Note())
		said = append(said, all[i].Lines(1+i)...)
	}
	want := `The mutex profile counts at least 1234 waits, 4 s in all, from the start of the process.
cart.(*Store).Flush held a lock while others waited: 1200 waits, 3 s (75 %).
4 more stacks.
The block profile counts 1 wait, 1 s in all, in 30 s. Workers without work wait, too: a long wait at a channel alone is no fault.
main.consume waited in runtime.chanrecv1: 1 wait, 1 s (100 %).
main.main waited in runtime.chanrecv1: 1 wait, less than 1 ms (0 %).`
	if got := strings.Join(said, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestADelayIsSaidInTheUnitOfItsSize(t *testing.T) {
	for want, d := range map[string]time.Duration{"0 s": 0, "less than 1 ms": 999 * time.Microsecond, "1 ms": time.Millisecond, "1.4 ms": 1433 * time.Microsecond, "1 s": time.Second, "3.6 s": 3597386524} {
		if got := DelayWords(int64(d)); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestAContentionProfileIsInTheReportAndChangesNoVerdict(t *testing.T) {
	plain, with := leak("app", 6), leak("app", 6)
	with[5].Contention = []analysis.Contention{{Profile: analysis.MutexProfile, Count: 9, Delay: time.Hour, Stacks: []analysis.Contended{contended(time.Hour, 9, "sync.(*Mutex).Unlock", "main.hold")}}}
	a, b := Build(plain, nil, Options{}).Report, Build(with, nil, Options{}).Report
	if len(b.Snapshots[5].Contention) != 1 || b.Snapshots[5].Contention[0].Stacks[0].Frames[1] != "main.hold" || b.Snapshots[4].Contention != nil {
		t.Errorf("%+v", b.Snapshots[5])
	}
	if a.Diagnosis.Sentence != b.Diagnosis.Sentence || len(a.Series[0].Findings) != len(b.Series[0].Findings) {
		t.Errorf("%q, %q", a.Diagnosis.Sentence, b.Diagnosis.Sentence)
	}
}
