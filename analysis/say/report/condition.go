package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/judge/wait"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/wording"
)

// oneDumpIsNoGrowth is what a single dump leaves open.
const oneDumpIsNoGrowth = "One dump cannot say what grows."

// ofOneDump reports an answer whose proof is the condition of the process.
func (s State) ofOneDump() bool { return s == OneDump || s == OneDumpEach }

// condition words in what state the process of a single dump is, "" where the dump does not show it. Of
// several processes it names its own.
func (d *diagnosing) condition(s *Series) string {
	text := ""
	switch kind, totals := d.leading(s); kind {
	case analysis.KindThread:
		text = s.threadsNow()
	case analysis.KindGoroutine:
		text = s.goroutinesNow(totals.Last())
	case analysis.KindDescriptor:
		text = s.connectionsNow()
	}
	if text != "" && len(d.r.Series) > 1 && !s.nameless() {
		text = s.Named() + ": " + text
	}
	if d.unreadable() {
		text = strings.TrimSpace(text + " Other processes were not readable: what they hold is not known.")
	}
	return text
}

// unreadable reports a listing that could not show some processes.
func (d *diagnosing) unreadable() bool {
	return slices.ContainsFunc(d.r.Problems, func(p analysis.Problem) bool { return p.Code == analysis.UnreadableProcesses })
}

// listAsRoot asks for a listing of all processes where the largest one that could be read holds little,
// nil otherwise.
func (d *diagnosing) listAsRoot(s *Series) *Action {
	if _, totals := d.leading(s); !d.unreadable() || totals.Highest() >= fewestAlike {
		return nil
	}
	return &Action{Captures: true, Text: "List the descriptors as root, and again some minutes later:", Command: "sudo lsof -nP > lsof.txt"}
}

// threadWork is what a thread of a JVM does at the moment of the dump.
type threadWork int

const (
	threadIdle threadWork = iota
	threadOnLock
	threadReads
	threadConnects
	threadSleeps
	threadWaits
	threadRuns
	threadWorks
)

// threadWords are in the order of threadWork.
var threadWords = [threadWorks]string{"idle", "blocked on a lock", "in a socket read", "connecting", "sleeping", "in other waits", "running"}

var (
	// idleAt are the methods in which a thread waits for the next thing to do. Those below any other
	// frame than of the JDK are how libraries do it.
	idleAt = expression.Lazy(`(?:Queue|Deque|WorkQueue)\.(?:take|poll|takeFirst|pollFirst|takeLast|pollLast|takeTask)$|^java\.lang\.ref\.|^java\.util\.TimerThread\.mainLoop$|^java\.util\.concurrent\.ForkJoinPool\.awaitWork$|^java\.awt\.EventQueue\.getNextEvent$|` +
		`^org\.quartz\.simpl\.SimpleThreadPool(?:\$WorkerThread\.run|\.getNextRunnable)$|^org\.apache\.tomcat\.util\.net\.JIoEndpoint\$Worker\.await$|^io\.netty\.util\.HashedWheelTimer\$Worker\.waitForNextTick$|^kotlinx\.coroutines\.scheduling\.CoroutineScheduler\$Worker\.park$`)
	// selectsAt are the frames of a wait for any of many sockets, or for a client.
	selectsAt = expression.Lazy(`^sun\.nio\.ch\.\w*(?:Selector|EPoll|KQueue|WEPoll|PollArray)\w*[.$]|\.epollWait0?$|^(?:sun\.nio\.ch|java\.net)\..*[aA]ccept0?$`)
	readsAt   = expression.Lazy(`^(?:sun\.nio\.ch|java\.net)\..*[rR]ead0?$`)
	dialsAt   = expression.Lazy(`^(?:sun\.nio\.ch|java\.net)\..*[cC]onnect0?$`)
	locksAt   = expression.Lazy(`^java\.util\.concurrent\.locks\..*\.(?:lock|lockInterruptibly|readLock|writeLock)$`)
)

// ofMachine reports threads of a JVM that run no code of the program.
func (f *Family) ofMachine() bool {
	if f.Kind != analysis.KindThread {
		return false
	}
	return f.Attributes["sort"] == string(analysis.VMThread) || len(f.Frames) == 0 || strings.HasPrefix(f.Frames[len(f.Frames)-1], "java.lang.ref.") || f.Attributes["name"] == "Common-Cleaner"
}

// works is what the threads of a family do: their frames down to the first one outside the JDK decide.
func (f *Family) works() threadWork {
	if f.Attributes["state"] == "blocked" {
		return threadOnLock
	}
	waits := f.Attributes["state"] == "waiting"
	out := threadRuns
	if waits {
		out = threadWaits
	}
	for _, name := range f.Frames {
		switch {
		case selectsAt.MatchString(name), waits && idleAt.MatchString(name):
			return threadIdle
		case locksAt.MatchString(name) && f.getsTask(): // the lock of the queue
			return threadIdle
		case locksAt.MatchString(name):
			return threadOnLock
		case out != threadRuns && out != threadWaits: // what it does is known, and may still be a select
		case readsAt.MatchString(name):
			out = threadReads
		case dialsAt.MatchString(name):
			out = threadConnects
		case strings.HasPrefix(name, "java.lang.Thread.sleep"):
			out = threadSleeps
		}
		if !family.OfStandardLibrary(name) {
			break
		}
	}
	if waits && (out == threadWaits || out == threadSleeps) && f.getsTask() {
		return threadIdle
	}
	return out
}

// getsTask reports workers of an executor between two tasks, whatever queue they wait at.
func (f *Family) getsTask() bool {
	return slices.Contains(f.Frames, "java.util.concurrent.ThreadPoolExecutor.getTask")
}

// LargerFirst orders the groups of a dump: those with most members first, of equal ones those that wait
// for something that was begun, and the threads of a JVM itself last.
func LargerFirst(a, b *Family) int {
	machine := func(f *Family) int {
		if f.ofMachine() {
			return 1
		}
		return 0
	}
	idle := func(f *Family) int {
		if f.Kind == analysis.KindThread {
			return [threadWorks]int{threadOnLock: 0, threadReads: 1, threadConnects: 1, threadRuns: 2, threadWaits: 3, threadSleeps: 4, threadIdle: 5}[f.works()]
		}
		return 0
	}
	return cmp.Or(machine(a)-machine(b), b.Counts.Last()-a.Counts.Last(), idle(a)-idle(b))
}

// threadsNow words what the threads of a JVM do.
//
//	"34 threads of the program: 31 idle, 1 in a socket read, 2 running; none blocked on a lock, no deadlock; 28 of the JVM itself."
func (s *Series) threadsNow() string {
	var by [threadWorks]int
	all, machine := 0, 0
	for i := range s.Families {
		f := &s.Families[i]
		n := f.Counts.Last()
		switch {
		case f.Kind != analysis.KindThread || n == 0:
		case f.Attributes["sort"] == "":
			return "" // a number alone, or threads of no JVM
		case f.ofMachine():
			machine += n
		default:
			by[f.works()] += n
			all += n
		}
	}
	if all == 0 {
		return ""
	}
	var words []string
	for i, n := range by {
		switch {
		case n > 1 && n == all:
			words = []string{"all " + threadWords[i]}
		case n > 0:
			words = append(words, wording.Number(int64(n))+" "+threadWords[i])
		}
	}
	text := wording.Plural(all, "thread", "threads") + " of the program: " + strings.Join(words, ", ")
	switch {
	case s.Locks != nil && len(s.Locks.Cycles) > 0:
	case by[threadOnLock] == 0:
		text += "; none blocked on a lock, no deadlock"
	default: // its holder may wait for it in a way that no dump prints
		text += "; no cycle of locks"
	}
	if machine > 0 {
		text += fmt.Sprintf("; %s more of the JVM itself", wording.Number(int64(machine)))
	}
	return text + "."
}

// onLock are the states of goroutines that wait for a lock. Of releases before 1.20 a semaphore may be one.
var onLock = []string{"sync.Mutex.Lock", "sync.RWMutex.Lock", "sync.RWMutex.RLock", "semacquire"}

// goroutinesNow words the states of goroutines: "31 blocked in select, 12 waiting for IO, 1 running; none
// waits for a lock." The one that wrote the dump is in no family, but runs.
func (s *Series) goroutinesNow(total int) string {
	states, told := map[string]int{}, 0
	for i := range s.Families {
		if f := &s.Families[i]; f.Kind == analysis.KindGoroutine {
			for state, n := range f.States {
				states[family.BareState(state)] += n
				told += n
			}
		}
	}
	text := wording.States(states)
	if text == "" {
		return ""
	}
	if told < total {
		text = strings.TrimSuffix(text, ", none runnable")
	}
	locked := 0
	for _, state := range onLock {
		locked += states[state]
	}
	if locked == 0 {
		text += "; none waits for a lock"
	}
	return text + "."
}

// connectionsNow words the TCP states of descriptors, "" where no socket has one: "123 TCP connections, all
// ESTABLISHED, none in CLOSE_WAIT; 1 listens."
func (s *Series) connectionsNow() string {
	all, established, left, listen := 0, 0, 0, 0
	for i := range s.Families {
		f := &s.Families[i]
		if f.Kind != analysis.KindDescriptor {
			continue
		}
		n := f.Counts.Last()
		switch f.Attributes["state"] {
		case "":
			continue
		case "LISTEN":
			listen += n
			continue
		case "ESTABLISHED":
			established += n
		case "CLOSE_WAIT":
			left += n
		}
		all += n
	}
	if all+listen == 0 {
		return ""
	}
	text := "no TCP connection"
	if all > 0 {
		text = wording.Plural(all, "TCP connection", "TCP connections") + ", " + wording.Number(int64(established)) + " ESTABLISHED"
		if established == all && all > 1 {
			text = wording.Plural(all, "TCP connection", "TCP connections") + ", all ESTABLISHED"
		}
		text += ", none in CLOSE_WAIT"
		if left > 0 {
			text = strings.TrimSuffix(text, "none in CLOSE_WAIT") + wording.Number(int64(left)) + " in CLOSE_WAIT"
		}
	}
	if listen > 0 {
		text += "; " + wording.Plural(listen, "listener", "listeners")
	}
	return text + "."
}

// topStack is where the holder of the lock stands that most of a single dump wait for, else its largest group
// that has a stack, nil without one.
func (j *JudgedSeries) topStack(s *Series) *MemberStack {
	if len(j.Snapshots) != 1 {
		return nil
	}
	if x := j.lockStack(s); x != nil {
		return x
	}
	for _, f := range s.Largest() {
		if l := j.LocatedStack(f.Fingerprint, 0); l != nil && len(l.Stack) > 0 {
			return &MemberStack{Who: share(f.Kind, l.Of.Members, l.Of.Of) + " of the first group", Stack: l.Stack}
		}
	}
	return nil
}

// lockStack is where the holder of the lock stands that most of a single dump wait for, nil where none is known.
func (j *JudgedSeries) lockStack(s *Series) *MemberStack {
	x := s.Locks.longest()
	if x == nil {
		return nil
	}
	h := &x.Holders[0]
	stack, _ := holderStack(j.Snapshots[0], s.Locks.Kind, &wait.Holding{ID: h.ID, Name: h.Name, At: h.At})
	if stack == nil {
		return nil
	}
	own := j.OwnCode()
	return &MemberStack{Who: h.Who(s.Locks.Kind) + ", " + h.role(), Stack: markedFrames(own, stack, marksOf(own, s.Locks.Kind, stack))}
}
