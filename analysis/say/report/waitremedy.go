package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/wording"
)

// remedies are what ends a wait, by the state of the goroutine (answer.md 5.5). %s is its own
// line. What has no row waits for something that the state does not tell.
var remedies = map[string]string{
	"chan send":               "Nobody receives from the channel at %s: buffer it, or select on ctx.Done().",
	"chan receive":            "Nobody sends to the channel at %s, nor closes it: close it where its sender ends (if it is ctx.Done(), call its cancel), or select on ctx.Done() too.",
	"chan send (nil chan)":    "The channel at %s is nil: make it before it is used.",
	"chan receive (nil chan)": "The channel at %s is nil: make it before it is used.",
	"select":                  "No case of the select at %s comes: let one end it, such as ctx.Done(), and reach it.",
	"select (no cases)":       "The select at %s has no cases and never ends: receive from ctx.Done() instead.",
	"sleep":                   "The loop that sleeps at %s does not end: select on a timer and ctx.Done() instead.",
	"IO wait":                 "The peer sends nothing at %s: set a deadline there, or close the connection when ctx ends.",
	"sync.Mutex.Lock":         heldLock,
	"sync.RWMutex.Lock":       heldLock,
	"sync.RWMutex.RLock":      heldLock,
	"sync.WaitGroup.Wait":     missingDone,
	"sync.Cond.Wait":          "Nobody signals at %s: call Broadcast where the condition changes, and where the program ends.",
	"semacquire":              "Nobody wakes what waits at %s: look for a Done or an Unlock that is not reached.",
}

const (
	heldLock = "The lock at %s is held and not released: find who holds it, and defer Unlock there."
	// readersHold is of an RWMutex for which a writer waits that is the first of all.
	readersHold = "A reader holds the lock at %s and does not release it: check each return behind an RLock of it, and defer RUnlock."
	awake       = "What waits at %s goes on and waits again: its loop does not end. End it by ctx.Done(), or where its owner is closed."
	// unseenSender and unseenCase are of a receive and a select of which no minute is seen: a ticker may wake them.
	unseenCase   = "Nothing ends what selects at %s: close its channel or cancel its context on each way out; if no case waits for that, add one (ctx.Done())."
	unseenSender = "What receives at %s does not end: if it is ctx.Done(), call its cancel; else close the channel where its sender ends (a ticker never does), or select on ctx.Done() too."
	// unendedObject is of a select in a method of an object of the reader's own.
	unendedObject = "Nothing ends what selects at %%s: call the cancel of each %s (or its Close or Stop) where it ends."
	// slowReceiver is of a send behind which many go on.
	slowReceiver = "Who receives what is sent at %s is slower than those who send: receive faster, or start fewer at a time."
	// unread is of a write that waits: the buffers on the way are full.
	unread      = "The peer does not read what is written at %s: set a write deadline there, and close the connection when it passes."
	missingDone = "Not everyone calls Done for the Wait at %s: defer it as the first statement of each."
)

// otherwise is what to do where neither the catalogue nor the noun says it: by lock, by state
// and own line, by creator, by what is still to be seen. ofCode reports that it changes the code of
// the program.
func (d *diagnosing) otherwise(l answer) (text string, ofCode bool) {
	s, f := &d.r.Series[l.series], l.finding
	if f.StackOf != nil && f.StackOf.Opened {
		return s.lead(f).closeOpened(), true
	}
	if l.queue != nil && len(l.queue.stuck()) > 0 {
		return l.queue.unlock().Text, true
	}
	if f.Key.scattered() {
		if len(f.Stack) == 0 {
			return "Look for one place that opens them in turn, to many targets, and close each there.", true
		}
		return "", false
	}
	if f.Ahead != nil {
		return f.Ahead.remedy(), true
	}
	if p := exhausted(f.Stack); p != nil {
		return p.remedy(usesOf(s.Families, f.StackOf.Kind, functions(f.Stack))), true
	}
	stays := l.claims.Serves == nil && l.claims.nearlyAllStay() // else another process serves it: the wait there is not the cause
	if text := s.byState(f, d.wakes(l)); text != "" && stays {
		if c := &l.claims; c.Ended > 0 {
			most := "Most that came stay"
			if stay, known := l.stay(); known {
				most = fmt.Sprintf("%d of %d that came stay", stay, c.Came)
			}
			text = most + ": " + wording.Lower(text)
		}
		return text, true
	}
	if state, _, _ := s.stateOfMost(f.Families); state == "chan send" && !stays && l.claims.Serves == nil {
		if text := waited(slowReceiver, f.Stack); text != "" {
			return text, true
		}
	}
	if text := startedAt(f.Stack); text != "" {
		return text, true
	}
	if text := s.ofStack(f, d.wakes(l)); text != "" && stays {
		return text, true
	}
	if len(f.Stack) == 0 || l.claims.Serves != nil {
		return "", false
	}
	last := &f.Stack[len(f.Stack)-1]
	if last.CreatedBy && l.claims.Closed {
		return fmt.Sprintf("Look at what %s started and what that waits for; if that code is not yours, report it with this stack.", shortRole(last.Function)), true
	}
	if last.CreatedBy {
		return fmt.Sprintf("Look for what calls %s and does not end it; if that code is not yours, report it with this stack.", shortRole(starter(f.Stack))), true
	}
	if lead := s.lead(f); lead != nil && lead.Kind == analysis.KindThread { // no dump of a JVM shows who started one
		return endThread(f.Stack), false
	}
	if lead := s.lead(f); lead != nil && lead.StartedIn != nil && lead.StartedIn.Function != "" {
		return fmt.Sprintf("Look at what %s starts and does not end; if that code is not yours, report it with this stack.", lead.StartedIn.Text), true
	}
	return fmt.Sprintf("Take a dump with ?debug=2, which shows who starts them: they wait in %s.", shortRole(waitsIn(f.Stack))), false
}

// endThread is what ends threads that wait in code outside of the JDK, "" where they wait in it alone.
func endThread(stack []StackFrame) string {
	at := slices.IndexFunc(stack, func(f StackFrame) bool { return !family.OfStandardLibrary(f.Function) })
	if at < 0 {
		return ""
	}
	return fmt.Sprintf("Give what waits in %s a time limit, or a way to end; if that code is not yours, report it with this stack.", strings.TrimSpace(ShortFunction(analysis.KindThread, stack[at].Function)+" "+stack[at].place()))
}

// mostStay is the share in percent of those that came which must still be there, for the state of
// the others to be the reason.
const mostStay = 80

func (c *Claims) nearlyAllStay() bool {
	return c.Ended == 0 || 100*c.Ended <= (100-mostStay)*c.Came
}

// waitsIn is the first function of a stack that is not of the runtime, which profiles show as well.
func waitsIn(stack []StackFrame) string {
	for i := range stack {
		if !strings.HasPrefix(stack[i].Function, "runtime.") {
			return stack[i].Function
		}
	}
	return stack[0].Function
}

// groups are functions that start what they are given: who gave it is the starter.
var groups = []string{"sync.(*WaitGroup).Go", "golang.org/x/sync/errgroup.(*Group).Go", "golang.org/x/sync/errgroup.(*Group).TryGo"}

// starter is the function that starts the goroutines of a stack: its creator, or where that is a
// group, the function that gave it the closure.
//
//	chunks.(*chunkWriteQueue).start.func1, created by sync.(*WaitGroup).Go    chunks.(*chunkWriteQueue).start
func starter(stack []StackFrame) string {
	creator := stack[len(stack)-1].Function
	if !slices.Contains(groups, creator) {
		return creator
	}
	for i := len(stack) - 2; i >= 0; i-- {
		if name := stack[i].Function; !slices.ContainsFunc(groups, func(group string) bool { return strings.HasPrefix(name, group) }) {
			at := strings.LastIndexByte(name, '/') + 1
			outer, _, _ := strings.Cut(name[at:], ".func")
			return name[:at] + outer
		}
	}
	return creator
}

// fewestAwake is how many minutes members must have been there to show that they wake.
const fewestAwake = 3

// wakes reports members that wait, go on and wait again: some were there all the time, and none of
// them has waited for half of it.
func (d *diagnosing) wakes(l answer) bool {
	s, c := &d.r.Series[l.series], &l.claims
	x := s.lead(l.finding)
	if x == nil || x.Kind != analysis.KindGoroutine || !c.Followed || c.Ended > 0 || c.From == 0 || c.First < 0 || c.RestartedAt > 0 || c.EndedAt > 0 {
		return false
	}
	from, to := d.snapshot(s, c.First).CapturedAt, d.snapshot(s, c.Last).CapturedAt
	if from == nil || to == nil || to.Sub(*from).Minutes() < fewestAwake {
		return false
	}
	waited := 0 // minutes are printed from the first on
	if x.OldestWait != nil {
		waited = *x.OldestWait
	}
	return float64(2*(waited+1)) <= to.Sub(*from).Minutes()
}

// byState is what ends the wait of most members of a finding, "" where the dump shows no state
// or no line of the reader's own. wakes reports that they wait again and again.
func (s *Series) byState(f *Finding, wakes bool) string {
	state, n, all := s.stateOfMost(f.Families)
	if other := s.mostIn(f, state); other != nil && f.StackOf != nil && other.Fingerprint != f.StackOf.Family {
		if own := s.family(f.StackOf.Family); own != nil && 2*own.States[state] <= own.Counts.Last() { // its line is of another wait
			if name := cmp.Or(other.Name, other.Title); remedies[state] != "" && !wakes && !family.OfStandardLibrary(name) {
				return fmt.Sprintf(remedies[state], shortRole(name))
			}
			return ""
		}
	}
	text := waitedIn(state, f.Stack, wakes)
	if young := map[string]string{"chan receive": unseenSender, "select": unseenCase}[state]; young != "" && !wakes && s.youngWait(f.Families) {
		text = waited(young, f.Stack)
	}
	if remedies[state] == heldLock && !wakes && s.readersHold() && slices.ContainsFunc(f.Stack, func(x StackFrame) bool { return strings.HasPrefix(x.Function, "sync.(*RWMutex).") }) {
		text = waited(readersHold, f.Stack)
	}
	if name := s.selects(f); text != "" && state == "select" && !wakes && name != "" {
		text = waited(fmt.Sprintf(unendedObject, name), f.Stack)
	}
	if text == "" || n == all || wakes {
		return text
	}
	return fmt.Sprintf("%d of %d wait so: %s", n, all, wording.Lower(text))
}

// selects names the object of a finding whose own method is the first code of the reader in the stack,
// "" without one: what ends its select hangs on the object.
func (s *Series) selects(f *Finding) string {
	o := s.objectOf(f, s.lead(f))
	at := slices.IndexFunc(f.Stack, func(x StackFrame) bool { return x.Own || strings.HasPrefix(x.Function, "main.") })
	if o == nil || at < 0 || f.Stack[at].CreatedBy || !strings.HasPrefix(f.Stack[at].Function, o.Type+".") {
		return ""
	}
	return strings.TrimPrefix(o.Name, "*")
}

// youngWait reports families of which no member shows how long it waits: the first minute is not
// printed, and a ticker may have woken them in it.
func (s *Series) youngWait(families []string) bool {
	return !slices.ContainsFunc(families, func(print string) bool {
		x := s.family(print)
		return x != nil && x.OldestWait != nil && *x.OldestWait > 0
	})
}

// ofStack is byState for the family of the stack that is shown: others of the finding stand with it.
func (s *Series) ofStack(f *Finding, wakes bool) string {
	if f.StackOf == nil {
		return ""
	}
	state, _, _ := s.stateOfMost([]string{f.StackOf.Family})
	return waitedIn(state, f.Stack, wakes)
}

// stateOfMost is the state, without flags, of more than half of the goroutines, "" without one, and
// how many of all are in it.
func (s *Series) stateOfMost(families []string) (state string, n, all int) {
	counts := map[string]int{}
	for _, print := range families {
		x := s.family(print)
		if x == nil || x.Kind == analysis.KindDescriptor {
			continue // a connection that comes with each has a state of its own
		}
		for raw, n := range x.States {
			counts[family.BareState(raw)] += n
			all += n
		}
	}
	for word, n := range counts {
		if 2*n > all {
			return word, n, all
		}
	}
	return "", 0, all
}

// waitedIn is what ends a wait in a state at a stack.
func waitedIn(state string, stack []StackFrame, wakes bool) string {
	if state == "semacquire" {
		state = semaphoreOf(stack)
	}
	if remedies[state] != "" && wakes {
		return waited(awake, stack)
	}
	if state == "IO wait" && writes(stack) {
		return waited(unread, stack)
	}
	return waited(remedies[state], stack)
}

// waitWrite is the call in which a write waits; the runtime prints at most mostAboveWrite frames down to it.
const (
	waitWrite      = "internal/poll.(*pollDesc).waitWrite"
	mostAboveWrite = 6
)

// writes reports a stack of Go that waits until the network takes what it writes.
func writes(stack []StackFrame) bool {
	return slices.ContainsFunc(stack[:min(len(stack), mostAboveWrite)], func(f StackFrame) bool { return f.Function == waitWrite })
}

// readersHold reports a writer that waits until the readers of an RWMutex are gone: behind another writer
// it would wait for a Mutex.
func (s *Series) readersHold() bool {
	return slices.ContainsFunc(s.Families, func(x Family) bool { return x.States["sync.RWMutex.Lock"] > 0 })
}

// mostIn is the family of a finding with most members in a state, nil without any.
func (s *Series) mostIn(f *Finding, state string) (most *Family) {
	in := func(x *Family) (n int) {
		for raw, count := range x.States {
			if family.BareState(raw) == state {
				n += count
			}
		}
		return n
	}
	for _, print := range f.Families {
		if x := s.family(print); x != nil && in(x) > 0 && (most == nil || in(x) > in(most)) {
			most = x
		}
	}
	return most
}

// ends is what ends a wait in a state, "" where the stack shows no line of the reader's own.
func ends(state string, stack []StackFrame) string { return waited(remedies[state], stack) }

// waited words a remedy with the line of the reader's own at which a stack waits, "" without one.
func waited(remedy string, stack []StackFrame) string {
	called := ""
	for i := range stack {
		frame := &stack[i]
		place := frame.place()
		switch {
		case remedy == "" || frame.CreatedBy:
			return ""
		case frame.Own || strings.HasPrefix(frame.Function, "main."):
			if place == "" {
				continue
			}
			if called != "" { // the wait is that of a library
				return fmt.Sprintf("%s does not return at %s: give the call a deadline, or end what it waits for.", shortRole(called), place)
			}
			return fmt.Sprintf(remedy, place)
		case !ofWait(frame.Function):
			called = frame.Function
		}
	}
	return ""
}

// ofWait reports a function of the standard library in which a wait of the caller itself stands.
func ofWait(function string) bool {
	return slices.ContainsFunc([]string{"runtime.", "sync.", "internal/", "time.", "net.", "os.", "io.", "bufio.", "crypto/tls.", "syscall."}, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}

// semaphoreOf is the state that newer releases of Go print for what a semaphore is used for.
func semaphoreOf(stack []StackFrame) string {
	for i := range stack {
		switch name := strings.TrimPrefix(stack[i].Function, "internal/"); {
		case strings.HasPrefix(name, "sync.(*WaitGroup)."):
			return "sync.WaitGroup.Wait"
		case strings.HasPrefix(name, "sync.(*Mutex)."), strings.HasPrefix(name, "sync.(*RWMutex)."):
			return "sync.Mutex.Lock"
		}
	}
	return "semacquire"
}
