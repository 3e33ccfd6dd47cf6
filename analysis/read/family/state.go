package family

import (
	"strings"

	"leakdiff/analysis"
)

// StateClass returns the class of a raw goroutine state that survives a change of Go
// version: flags such as " (leaked)" are left out. States it does not know are their
// own class. s may be nil: it refines only "semacquire", which Go 1.18 and 1.19 print
// for every lock.
func StateClass(raw string, s *analysis.Stack) string {
	state := BareState(raw)
	switch state {
	case "semacquire":
		return semaphoreClass(s)
	case "sync.Mutex.Lock", "sync.RWMutex.Lock", "sync.RWMutex.RLock", "sync.WaitGroup.Wait":
		return "sync-wait"
	case "sync.Cond.Wait":
		return "cond-wait"
	case "chan receive (nil chan)", "chan send (nil chan)", "select (no cases)":
		return "blocked-forever"
	case "running", "runnable", "preempted", "copystack":
		return "running"
	}
	for _, system := range []string{
		"GC ", "force gc", "finalizer wait", "cleanup wait", "GOMAXPROCS updater", "timer goroutine",
		"trace ", "garbage collection", "page trace flush", "flushing proc caches", "dumping heap",
	} {
		if strings.HasPrefix(state, system) {
			return "system"
		}
	}
	return state
}

// BareState is a state without its flags.
//
//	"chan receive (nil chan) (leaked)" = "chan receive (nil chan)"
func BareState(state string) string {
	for changed := true; changed; {
		changed = false
		for _, flag := range []string{" (leaked)", " (durable)", " (scan)"} {
			if cut, ok := strings.CutSuffix(state, flag); ok {
				state, changed = cut, true
			}
		}
	}
	return state
}

// semaphoreClass separates a program's lock from a semaphore of the runtime itself.
func semaphoreClass(s *analysis.Stack) string {
	if s == nil || len(s.Frames) == 0 {
		return "sync-wait"
	}
	for _, f := range s.Frames {
		if !inRuntime(exactName(f.Func)) {
			return "sync-wait"
		}
	}
	return "system"
}
