package report

import (
	"testing"

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
	s.Locks.Cycles[0].Certainty = wait.Likely
	if (&answer{queue: &Lock{ID: "lock 3"}}).tied(s) {
		t.Error("a likely deadlock is told as a proven one")
	}
}
