package report

import (
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/wait"
)

func TestAQueueForAnotherLockIsNotBehindADeadlock(t *testing.T) {
	s := &Series{Locks: &Locks{Cycles: []LockCycle{{Locks: []string{"lock 2", "lock 3"}, Certainty: Proven}}}}
	for _, tt := range []struct {
		name  string
		queue Lock
		want  bool
	}{
		{"the lock is of the deadlock", Lock{ID: "lock 3", Holders: []LockHolder{{}}}, true},
		{"its holder waits for a lock of the deadlock", Lock{ID: "lock 1", Holders: []LockHolder{{Lock: "lock 2"}}}, true},
		{"its holder waits for another one", Lock{ID: "lock 1", Holders: []LockHolder{{Lock: "lock 4"}}}, false},
		{"its holder is not known", Lock{ID: "lock 1"}, false},
	} {
		if got := (&answer{queue: &tt.queue}).tied(s); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestADeadlockComesBeforeAGrowthThatDoesNotWaitBehindIt(t *testing.T) {
	growth := func(v analysis.Verdict, lock string) []answer {
		return []answer{{finding: &Finding{Verdict: v}, queue: &Lock{ID: lock}}}
	}
	for _, tt := range []struct {
		name  string
		sure  wait.Certainty
		leads []answer
		want  bool
	}{
		{"a proven one before a proven leak", Proven, growth(analysis.Leaking, "lock 9"), true},
		{"a proven one behind which the growth waits", Proven, growth(analysis.Leaking, "lock 2"), false},
		{"a possible one before a growth that may be a leak", wait.Possible, growth(analysis.Suspicious, "lock 9"), true},
		{"a possible one after a proven leak", wait.Possible, growth(analysis.Leaking, "lock 9"), false},
		{"a possible one behind which the growth waits", wait.Possible, growth(analysis.Leaking, "lock 2"), false},
	} {
		d := &diagnosing{r: &Report{Series: []Series{{Locks: &Locks{Cycles: []LockCycle{{Locks: []string{"lock 2", "lock 3"}, Certainty: tt.sure}}}}}}}
		if got := d.deadlocked(tt.leads); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	d := &diagnosing{r: &Report{Series: []Series{{Locks: &Locks{}}}}}
	if d.deadlocked(growth(analysis.Leaking, "lock 2")) {
		t.Error("a process without a deadlock")
	}
}
