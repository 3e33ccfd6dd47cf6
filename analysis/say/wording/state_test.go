package wording

import "testing"

func TestStatesOfGoroutinesThatWaitAreWorded(t *testing.T) {
	for state, want := range map[string]string{
		"chan send":           "blocked in channel send",
		"chan receive":        "blocked in channel receive",
		"select":              "blocked in select",
		"semacquire":          "waiting for a semaphore",
		"IO wait":             "waiting for IO",
		"sleep":               "sleeping",
		"sync.Mutex.Lock":     "waiting for a mutex",
		"sync.RWMutex.RLock":  "waiting for a read lock",
		"sync.WaitGroup.Wait": "waiting for a WaitGroup",
		"sync.Cond.Wait":      "waiting for a condition",
		"running":             "",
		"runnable":            "",
		"syscall":             "",
		"WAITING":             "",
	} {
		if got := Blocked(state); got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
}
