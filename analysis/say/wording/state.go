package wording

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

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

// mostStates are told by name.
const mostStates = 3

// States words members by state, most first: "24 waiting for a mutex, 3 running". Where all wait it
// says so; it is empty where no state is known.
func States(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	if len(names) == 0 || names[0] == "" {
		return ""
	}
	var out []string
	waiting, rest := true, 0
	for i, name := range names {
		words := blocked[name]
		waiting = waiting && words != ""
		if i >= mostStates {
			rest += counts[name]
			continue
		}
		out = append(out, Number(int64(counts[name]))+" "+cmp.Or(words, strings.ToLower(name), "without a state"))
	}
	if rest > 0 {
		out = append(out, fmt.Sprintf("%s in other states", Number(int64(rest))))
	}
	if waiting {
		out = append(out, "none runnable")
	}
	return strings.Join(out, ", ")
}

// Came words what was born and what ended of a thing: "+80 streams, 0 ended".
func Came(noun string, born, ended int) string {
	if born != 1 {
		noun = " " + noun
	} else {
		noun = ""
	}
	return Signed(born) + noun + ", " + Number(int64(ended)) + " ended"
}
