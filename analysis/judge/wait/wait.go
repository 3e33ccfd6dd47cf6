// Package wait finds in one dump who waits for which lock and who may hold it. It takes the
// families of a snapshot and the addresses that its reader kept. It knows neither other
// snapshots nor how its result is worded.
package wait

import (
	"strings"

	"leakdiff/analysis"
)

// Lock is a lock that goroutines wait for, with its possible holders.
type Lock struct {
	// Address is what all waiters name. It may not be shown: it means nothing outside the
	// dump.
	Address uint64
	Waiters int
	// Oldest is the longest wait in minutes, 0 if none was printed. First is the smallest
	// id of a waiter.
	Oldest int
	First  int64
	// Entries are the first frames outside sync of the waiters, those with most first.
	Entries []Entry
	// Types are the receiver types of the frames from which the waiters entered the
	// lock. They are empty for closures and plain functions. Then no holder can be
	// named.
	Types []string
	// Recursive are waiters that may hold the lock themselves. They stand beside Holders.
	Recursive []Holder
	// Holders are at most five candidates. If there are more, Holders is empty and
	// Families names their families.
	Holders  []Holder
	Families []string
}

// Entry counts the members that wait in one function.
type Entry struct {
	Func  string
	Count int
}

// Holder is a goroutine that may hold a lock. It does not wait for the lock, is as old
// as the waiters and is inside a method of the object that they entered.
type Holder struct {
	ID          int64
	Fingerprint string
	// At is its first frame outside sync. Func is the method of the object in its
	// stack.
	At, Func string
	// State is its own state. Wait is in minutes, -1 if unknown.
	State string
	Wait  int
	// For is what it waits for.
	For Reason
	// Children are the goroutines that it or its functions started, by family.
	Children []Offspring
	// WaitsFor is the address of the lock that the holder itself waits for, 0 for none.
	WaitsFor uint64
	// Recursive reports that it waits for the lock itself, in At, and may have taken it in
	// Func. Taken reports that others wait for the lock in Func, Longest that none has waited
	// longer, Sole that no other goroutine as old is seen inside the object. Reentered reports
	// the only reader inside twice while a writer waits and nobody else is inside, Once that it
	// waits for a sync.Once and Func, which it alone runs, is the function of one.
	Recursive, Taken, Longest, Sole, Reentered, Once bool
	// Only reports that nobody else is in the package of the object who may hold the lock. Untold is
	// for a recursive one whose two methods are of one type, and the dump does not print whether of
	// one object.
	Only, Untold bool
	// Behind reports that it waits for a WaitGroup, and all goroutines that it started wait for
	// the lock.
	Behind bool
	// Passed reports that only the object among its arguments shows it, Same that the object of the
	// waiters is among its receivers and arguments. Beyond reports that it is in a function in which
	// they wait, on a later line.
	Passed, Same, Beyond bool
}

// Offspring counts the members of one family that a holder may have started.
type Offspring struct {
	Fingerprint string
	Count       int
	// ByID reports that the dump names the parent goroutine. Otherwise the creator is a
	// function of the holder's stack.
	ByID bool
}

// The fewest waiters of one lock that are reported, and the most candidates that are
// named one by one.
const (
	FewestWaiters = 3
	MostHolders   = 5
)

// MostLocks is how many locks of a dump are looked at, those with most waiters.
const MostLocks = 100

// EntryOf is the first frame outside sync.
func EntryOf(stack *analysis.Stack) string { return entryFrame(stack).Func }

// entryFrame is the frame of EntryOf, the zero frame without any.
func entryFrame(stack *analysis.Stack) analysis.Frame {
	for _, frame := range stack.Frames {
		name := frame.Func
		if !strings.HasPrefix(name, "sync.") && !strings.HasPrefix(name, "internal/sync.") && !strings.HasPrefix(name, "runtime.") {
			return frame
		}
	}
	return analysis.Frame{}
}

// ReceiverType is the import path and type of a method, "" for functions and
// closures.
//
//	github.com/docker/go-metrics.(*Namespace).Collect   github.com/docker/go-metrics.Namespace
//	k8s.io/x/vendor/net/http.Header.Get                 net/http.Header
//	main.(*T).run.func1                                 (none)
func ReceiverType(function string) string {
	if k := strings.LastIndex(function, "/vendor/"); k >= 0 {
		function = function[k+len("/vendor/"):]
	}
	if k := strings.IndexByte(function, '['); k >= 0 {
		// Generic arguments contain dots and slashes of their own.
		if end := strings.LastIndexByte(function, ']'); end > k {
			function = function[:k] + function[end+1:]
		}
	}
	slash := strings.LastIndexByte(function, '/') + 1
	parts := strings.Split(function[slash:], ".")
	if len(parts) != 3 {
		return ""
	}
	kind := strings.TrimSuffix(strings.TrimPrefix(parts[1], "(*"), ")")
	if kind == "" || strings.HasPrefix(parts[2], "func") && strings.Trim(parts[2][4:], "0123456789") == "" {
		return ""
	}
	return function[:slash] + parts[0] + "." + kind
}

// stackOf is a variant's stack, or the first one.
func stackOf(group *analysis.Group, variant int) *analysis.Stack {
	if len(group.Variants) == 0 {
		return nil
	}
	return group.Variants[max(0, min(variant, len(group.Variants)-1))].Stack
}

// entryOfGroup is where the members of a family wait. Its stacks have the same functions.
func entryOfGroup(group *analysis.Group) string {
	if s := stackOf(group, 0); s != nil {
		return EntryOf(s)
	}
	return ""
}

// Reason is what a member waits for.
type Reason string

// The reasons. A running member waits for nothing.
const (
	ForLock      Reason = "lock"
	ForWaitGroup Reason = "wait group"
	ForCondition Reason = "condition"
	ForChannel   Reason = "channel"
	ForIO        Reason = "io"
	ForSyscall   Reason = "syscall"
	ForTimer     Reason = "timer"
	Running      Reason = "running"
	ForOther     Reason = "other"
)

// states are the reasons of states that say enough by themselves, by their first words.
var states = []struct {
	word   string
	reason Reason
}{
	{"sync.Mutex", ForLock}, {"sync.RWMutex", ForLock}, {"sync.WaitGroup", ForWaitGroup}, {"sync.Cond", ForCondition},
	{"chan ", ForChannel}, {"select", ForChannel}, {"IO wait", ForIO}, {"syscall", ForSyscall}, {"sleep", ForTimer},
	{"running", Running}, {"runnable", Running},
	{"BLOCKED", ForLock}, {"RUNNABLE", Running}, {"TIMED_WAITING (sleeping)", ForTimer},
}

// reason is what a state and, for the many uses of a semaphore, the stack show.
func reason(state string, stack *analysis.Stack) Reason {
	for _, s := range states {
		if strings.HasPrefix(state, s.word) {
			return s.reason
		}
	}
	if stack == nil || state != "semacquire" {
		return ForOther
	}
	for _, f := range stack.Frames[:min(len(stack.Frames), 4)] {
		switch {
		case strings.HasPrefix(f.Func, "sync.(*WaitGroup)."):
			return ForWaitGroup
		case strings.HasPrefix(f.Func, "sync.(*Mutex)."), strings.HasPrefix(f.Func, "sync.(*RWMutex)."), strings.HasPrefix(f.Func, "internal/sync.(*Mutex)."):
			return ForLock
		}
	}
	return ForOther
}
