package report

import (
	"fmt"
	"strings"

	"leakdiff/analysis/judge/wait"
	"leakdiff/analysis/say/wording"
)

// stuck are the holders of a lock that wait for it themselves, or for those who wait for it, if
// they are likely to hold it, or nobody else may.
func (l *Lock) stuck() []LockHolder {
	n := 0
	for n < len(l.Holders) && (l.Holders[n].Recursive || l.Holders[n].Behind) && (l.Holders[n].Certainty != wait.Possible || l.Holders[n].Only) {
		n++
	}
	return l.Holders[:n]
}

// stuckLock is the lock with most waiters of the last snapshot whose holder is stuck, nil without
// one.
func (s *Series) stuckLock() *Lock {
	if s.Locks == nil {
		return nil
	}
	for i := range s.Locks.List {
		x := &s.Locks.List[i]
		stuck := x.stuck()
		if len(stuck) == 0 {
			continue
		}
		if h := &stuck[0]; x.Waiters >= leastQueue || h.Once || h.Only || h.Behind {
			return x // the last three need no queue
		}
	}
	return nil
}

// recursion words a lock whose holder is stuck, the fullest wording first. until is empty while
// they still wait.
//
//	110 goroutines wait for one lock in app.(*Store): goroutine 17 likely holds it and waits for it itself, in (*Store).Get called from (*Store).List
func (s *Series) recursion(l *Lock, in, until string) []string {
	holders := l.stuck()
	n := l.Waiters - len(holders)
	if holders[0].Behind {
		n = l.Waiters
	}
	possible := holders[0].Certainty == wait.Possible
	waits, wait, holds := "waits", "wait", "holds"
	if until != "" {
		waits, wait, holds = "waited", "waited", "held"
	}
	h := &holders[0]
	who := fmt.Sprintf("goroutine %d likely %s it and %s for it itself", h.ID, holds, waits)
	switch {
	case possible:
		who = fmt.Sprintf("goroutine %d may hold it and %s for it itself", h.ID, waits)
	case h.Behind:
		who = fmt.Sprintf("goroutine %d likely %s it and %s for %s", h.ID, holds, waits, wording.Fit(n, "that goroutine", "them"))
	case len(holders) > 1:
		who = fmt.Sprintf("%d goroutines likely %s it and %s for it themselves", len(holders), wording.Fit(2, holds, strings.TrimSuffix(holds, "s")), wait)
	}
	if h.Once {
		runs, calls := "runs", "calls"
		if until != "" {
			runs, calls = "ran", "called"
		}
		head := fmt.Sprintf("%s%s %s for one sync.Once in %s%s: ", wording.Members(s.Locks.Kind, n), in, wording.Fit(n, waits, wait), shortRole(h.At), until)
		who := fmt.Sprintf("goroutine %d likely %s its function", h.ID, runs)
		if n == 0 {
			head = fmt.Sprintf("Goroutine %d%s %s for a sync.Once in %s%s: ", h.ID, in, waits, shortRole(h.At), until)
			who = fmt.Sprintf("it likely %s its function", runs)
		}
		return []string{head + who + ", which " + calls + " Do of it again", head + who}
	}
	if n == 0 {
		return []string{fmt.Sprintf("Possible deadlock%s: goroutine %d %s for a lock that it may hold itself, in %s called from %s", in, h.ID, waits, methodOf(h.At), methodOf(h.Inside))}
	}
	itself := fmt.Sprintf(", in %s called from %s", methodOf(h.At), methodOf(h.Inside))
	head := fmt.Sprintf("%s%s %s for one lock in %s%s: ", wording.Members(s.Locks.Kind, n), in, wording.Fit(n, waits, wait), receiverOf(h.Inside), until)
	return []string{head + who + itself, head + who}
}

// unlock says what frees a lock whose holder is stuck.
func (l *Lock) unlock() *Action {
	h := &l.Holders[0]
	if h.Behind {
		return &Action{Text: fmt.Sprintf("Unlock in %s before the Wait in %s: the goroutines that it waits for need the lock.", methodOf(h.Inside), methodOf(h.At))}
	}
	if h.Once {
		return &Action{Text: fmt.Sprintf("The function given to Do of the sync.Once in %s calls Do of the same Once again, by way of %s: take that call out of it, or hand the value on as an argument.", methodOf(h.At), methodOf(h.Inside))}
	}
	return &Action{Text: fmt.Sprintf("Do not lock again: split %s into a part that expects the lock held, and call that part in %s, or unlock before the call.", methodOf(h.At), methodOf(h.Inside))}
}

// recursiveWhy is the reason why a waiter is taken for the holder.
func recursiveWhy(h *wait.Holding) string {
	if h.Once {
		return "it waits for a sync.Once within the function of one, and nobody else runs that of any"
	}
	const only = ", and nobody else is in its package who may hold it"
	if h.Untold {
		return "its own stack is in two methods of " + receiverOf(h.Inside) + only
	}
	why := "its own stack is inside the object twice"
	switch {
	case h.Taken:
		why += ", others wait for the lock in " + methodOf(h.Inside) + " too"
	case h.Longest:
		why += ", none has waited longer"
	case h.Reentered:
		why += ", a writer waits before its second read lock"
	}
	switch {
	case h.Certainty != wait.Possible:
		why += ", and nobody else is seen inside"
	case h.Only:
		why += only
	}
	return why
}

// methodOf is a method without its package: "(*Store).Get" of "example.org/app.(*Store).Get".
func methodOf(function string) string {
	name := shortRole(function)
	if _, method, ok := strings.Cut(name, ".("); ok {
		return "(" + method
	}
	return name
}

// receiverOf is the type of a method with its package: "app.(*Store)".
func receiverOf(function string) string {
	name := shortRole(function)
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		return name[:dot]
	}
	return name
}
