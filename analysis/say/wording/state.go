package wording

// blocked words the states of goroutines that wait (runtime/runtime2.go, waitReasonStrings).
var blocked = map[string]string{
	"chan send":               "blocked in channel send",
	"chan send (nil chan)":    "blocked in a send to a nil channel",
	"chan receive":            "blocked in channel receive",
	"chan receive (nil chan)": "blocked in a receive from a nil channel",
	"select":                  "blocked in select",
	"select (no cases)":       "blocked in a select without cases",
	"semacquire":              "waiting for a semaphore",
	"sync.Mutex.Lock":         "waiting for a mutex",
	"sync.RWMutex.Lock":       "waiting for a write lock",
	"sync.RWMutex.RLock":      "waiting for a read lock",
	"sync.WaitGroup.Wait":     "waiting for a WaitGroup",
	"sync.Cond.Wait":          "waiting for a condition",
	"IO wait":                 "waiting for IO",
	"sleep":                   "sleeping",
}

// Blocked words the state of a goroutine that waits for something, empty for any other:
// "chan send" returns "blocked in channel send".
func Blocked(state string) string { return blocked[state] }
