package report

import (
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/wait"
	"leakdiff/analysis/read/family"
)

// The deadlocks of which stacks are kept, and the stacks of one.
const (
	mostCyclesShown = 3
	mostCycleStacks = 4
)

// stand is LockCycle.Since and After.
type stand struct{ since, after *int }

// cyclesSince looks for the first capture of the same process start in which each deadlock of capture
// at stands. A capture that is cut may lack it.
func (j *JudgedSeries) cyclesSince(at int, g *wait.Graph) []stand {
	out := make([]stand, len(g.Cycles))
	for k := at - 1; len(out) > 0 && k >= 0 && j.Trend.Epochs[k] == j.Trend.Epochs[at]; k-- {
		s := j.Snapshots[k]
		if s.Totals.Of(g.Kind) == nil {
			continue
		}
		earlier, open := wait.Of(s), false
		for i, cycle := range g.Cycles {
			x := &out[i]
			switch {
			case x.after != nil:
				continue
			case x.since == nil:
				x.since = new(at)
			}
			if g.Stood(cycle, earlier) {
				x.since = new(k)
			} else if !s.Bounded(g.Kind) {
				x.after = new(k)
			}
			open = open || x.after == nil
		}
		if !open {
			break
		}
	}
	return out
}

// longLabel is from how many characters on the label of a capture leaves no room for its time.
const longLabel = 30

// deadlockSince words since when the first deadlock of a process stands, "" of a single dump. Captures
// that do not show one which is only possible do not rule it out.
//
//	"stock_3, 07:34:51, at most 6.2 s earlier"
func (d *diagnosing) deadlockSince(s *Series) string {
	if s.Locks == nil || len(s.Locks.Cycles) == 0 || s.Locks.Cycles[0].Since == nil {
		return ""
	}
	c := &s.Locks.Cycles[0]
	since := d.dated(s, *c.Since)
	if len(d.label(s, *c.Since)) > longLabel {
		since = d.clock(s, *c.Since)
	}
	switch {
	case c.After == nil && *c.Since == 0 && d.snapshot(s, 0).CapturedAt == nil:
		return "before the first dump"
	case c.After == nil && *c.Since == 0:
		return "before the first dump, " + since
	case c.After == nil: // the captures before are of another start, or show no threads
		return since + ", or before"
	case c.Certainty != wait.Proven:
		return since + ", the first dump that shows it"
	}
	if over := d.over(s, *c.After, *c.Since); over != "" {
		return since + ", at most" + strings.TrimPrefix(over, " in") + " earlier"
	}
	return since + ", after " + d.label(s, *c.After)
}

// cycleStacks are the stacks of the holders of a deadlock, in the order of its locks.
func (j *JudgedSeries) cycleStacks(s *analysis.Snapshot, g *wait.Graph, cycle []int) (out []MemberStack) {
	own := j.OwnCode()
	for k, i := range cycle {
		next := cycle[(k+1)%len(cycle)]
		at := slices.IndexFunc(g.Locks[i].Holders, func(h wait.Holding) bool { return h.Lock == next })
		if at < 0 || len(out) == mostCycleStacks {
			continue
		}
		h := &g.Locks[i].Holders[at]
		if stack, _ := holderStack(s, g.Kind, h); stack != nil {
			holder := LockHolder{ID: h.ID, Name: h.Name}
			out = append(out, MemberStack{Who: holder.Who(g.Kind), Stack: markedFrames(own, stack, marksOf(own, g.Kind, stack))})
		}
	}
	return out
}

// standing is where a holder stands: the first frame of its own code, and what I/O it waits for.
type standing struct {
	frame   *StackFrame
	io      string
	untimed bool
}

// nameHolders names the holders of locks that are in the standard library by their first own frame,
// and finds where all of them stand.
func (j *JudgedSeries) nameHolders(s *analysis.Snapshot, g *wait.Graph) map[*wait.Holding]standing {
	own, out := j.OwnCode(), map[*wait.Holding]standing{}
	for k := range g.Locks {
		for i := range g.Locks[k].Holders {
			h := &g.Locks[k].Holders[i]
			stack, of := holderStack(s, g.Kind, h)
			if stack == nil {
				continue
			}
			frames := markedFrames(own, stack, marksOf(own, g.Kind, stack))
			at := slices.IndexFunc(frames, func(f StackFrame) bool { return !f.CreatedBy && isOwn(g.Kind, &f) })
			x := standing{}
			if at >= 0 {
				x.frame = &frames[at]
			}
			if g.Kind == analysis.KindGoroutine && at > 0 {
				if x.io = waitsInside(h.For, frames[:at]); x.io != "" {
					h.For = wait.ForIO
				}
			}
			if g.Kind == analysis.KindThread && accepts(frames, g.Locks[k].Entries) {
				h.For, x.io = wait.ForIO, acceptIO
			} else if g.Kind == analysis.KindThread && h.For == wait.Running && len(of.Loose) > 0 && strings.HasPrefix(of.Loose[0], "socket ") {
				h.For, x.io, x.untimed = wait.ForIO, of.Loose[0], untimed(frames)
			}
			// Of a deadlock it matters that a library takes the locks.
			if at >= 0 && family.OfStandardLibrary(h.At) && (g.Kind == analysis.KindGoroutine || h.Lock < 0) {
				h.At = frames[at].Function
			}
			out[h] = x
		}
	}
	return out
}

// acceptIO is what a thread waits for that accepts connections under the lock at which the others wait to
// accept: workers that take turns at it are idle.
const acceptIO = "connection to accept"

// acceptCalls are the methods in which a JVM waits for a connection.
var acceptCalls = []string{"accept", "accept0", "implAccept", "nativeAccept", "socketAccept"}

// accepts reports a stack of a JVM that waits for a connection, and waiters who are about to accept one.
func accepts(frames []StackFrame, waiters []wait.Entry) bool {
	if len(frames) == 0 || len(waiters) == 0 || !slices.Contains(acceptCalls, javaMethod(frames[0].Function)) {
		return false
	}
	return slices.Contains(acceptCalls, javaMethod(waiters[0].Func))
}

// javaMethod is the last part of the name of a method: "accept" of "java.net.ServerSocket.accept".
func javaMethod(function string) string { return function[strings.LastIndexByte(function, '.')+1:] }

// isOwn reports a frame of the program's own code, of a JVM one outside the JDK.
func isOwn(kind analysis.Kind, f *StackFrame) bool {
	if kind == analysis.KindThread {
		return !family.OfStandardLibrary(f.Function)
	}
	return f.Own
}

// untimed reports a stack of a JVM since release 13 that waits for a socket without a timeout:
// NioSocketImpl waits with one in a method of its own.
func untimed(frames []StackFrame) bool {
	in := func(method string) bool {
		return slices.ContainsFunc(frames, func(f StackFrame) bool { return f.Function == "sun.nio.ch.NioSocketImpl."+method })
	}
	return in("implRead") && !in("timedRead")
}

// holderStack is the stack and the family of the member with the id of a holder. Dumps without ids of threads
// show it by its name if no other thread there has that, or by its first frame if no other stack has it.
func holderStack(s *analysis.Snapshot, kind analysis.Kind, h *wait.Holding) (*analysis.Stack, *analysis.Family) {
	type shown struct {
		stack *analysis.Stack
		of    *analysis.Family
	}
	var found, named []shown
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Family.Kind != kind {
			continue
		}
		for k := range g.Variants {
			stack := g.Variants[k].Stack
			if stack == nil || !slices.ContainsFunc(stack.Frames, func(f analysis.Frame) bool { return f.Func == h.At }) {
				continue
			}
			x := shown{stack, g.Family}
			found = append(found, x)
			if g.Count == 1 && h.Name != "" && g.Family.Attributes["name"] == h.Name {
				return stack, g.Family
			}
			for m := range g.Members.InVariants(func(variant int) bool { return variant == k }) {
				switch {
				case h.ID > 0 && g.Members.Identified() && m.Identity.ID == h.ID:
					return stack, g.Family
				case h.Name != "" && m.Detail == h.Name:
					named = append(named, x)
				}
			}
		}
	}
	for _, all := range [][]shown{named, found} {
		if len(all) == 1 {
			return all[0].stack, all[0].of
		}
	}
	return nil, nil
}

// stuck are the stacks of those in the first deadlock, of the goroutine that failed, or of one that
// waits for a connection for good; nil for a process without any of them.
func (s *Series) stuck() []MemberStack {
	switch {
	case s.Died != nil && !s.Died.Deadlock:
		return s.Died.Stacks
	case s.Locks != nil && len(s.Locks.Cycles) > 0:
		return s.Locks.Cycles[0].Stacks
	case s.Died != nil:
		return s.Died.Stacks
	case s.PoolWait != nil:
		return s.PoolWait.Stacks
	}
	return nil
}

// StuckTraces are the stacks of those in the first deadlock of a process, or of the goroutine
// that failed, for pages.
func (s *Series) StuckTraces() (out []*Trace) {
	for _, x := range s.stuck() {
		t := &Trace{Caption: "Stack of " + x.Who}
		t.Rows = fold(traceRows(x.Stack), mostFrames)
		out = append(out, t)
	}
	return out
}

// offEventThread is what ends a deadlock between the event thread of AWT and another one that is in Swing,
// nil for any other: windows may be used by the event thread alone.
func (c *LockCycle) offEventThread() *Action {
	events := slices.ContainsFunc(c.Stacks, func(m MemberStack) bool { return strings.Contains(m.Who, "AWT-EventQueue-") })
	for _, m := range c.Stacks {
		at := slices.IndexFunc(m.Stack, func(f StackFrame) bool { return !family.OfStandardLibrary(f.Function) })
		if !events || at < 1 || strings.Contains(m.Who, "AWT-EventQueue-") || !ofWindows(m.Stack[at-1].Function) {
			continue
		}
		from := m.Stack[at].place()
		if at+1 < len(m.Stack) && !family.OfStandardLibrary(m.Stack[at+1].Function) {
			from += ", " + m.Stack[at+1].place()
		}
		call := ShortFunction(analysis.KindThread, m.Stack[at-1].Function)
		return &Action{Text: "Call " + call + " by SwingUtilities.invokeLater or invokeAndWait: " + m.Who + " is not the event thread (" + from + ")."}
	}
	return nil
}

// ofWindows reports a function of Swing or AWT.
func ofWindows(function string) bool {
	return strings.HasPrefix(function, "javax.swing.") || strings.HasPrefix(function, "java.awt.")
}
