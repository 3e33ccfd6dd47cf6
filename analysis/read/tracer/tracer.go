// Package tracer reads which descriptors processes opened and did not close while they were
// traced: the lines of strace, with the stacks of -k, and the events of Inspektor Gadget's
// trace_open. It takes a reader and returns the descriptors of each process that are left at the
// end, with the stack that opened each. It does not know what was open before the trace began.
package tracer

import (
	"time"

	"leakdiff/analysis"
)

// Trace is what one file holds.
type Trace struct {
	// Processes are those that opened anything and did not end before the others, in the order
	// of their first call.
	Processes []Process
	// Stacks are the distinct ones, leaf first. Opening.Stack indexes them.
	Stacks []analysis.Stack
	// Begin is the time of the first call, zero where the lines have no date. Span is the time
	// from the first to the last line, 0 where they have none.
	Begin time.Time
	Span  time.Duration
	// Calls counts the calls that were read.
	Calls int
	// ClosesUnknown reports a form that shows what was opened and not what was closed.
	ClosesUnknown bool
	Bytes         int64
}

// Process is one process of a trace.
type Process struct {
	// PID is 0 where the lines have none. Certain is false where the trace does not say which
	// of its tasks are threads of one process: PID is then the lowest of them.
	PID     int
	Certain bool
	// Program is the last element of the path of the program, or its name; "" if unknown.
	Program string
	// Opened counts the descriptors that it opened, closed or not.
	Opened int
	// Left are those not closed at the end, by number.
	Left []Opening
	// Ended says that it ended within the trace: the kernel closed what it left.
	Ended bool
}

// Opening is a descriptor and the call that made it. Place is the line of that.
type Opening struct {
	FD int
	// Name is what strace decodes of the descriptor, else what the call was given: the target of
	// its link ("/srv/a", "socket:[4711]"), a protocol with the ends or the inode of a socket
	// ("TCP:[10.0.0.1:4000->10.0.0.2:80]"), a relative path, or "socket" and "pipe" alone.
	Name  string
	Place analysis.Place
	// Stack indexes Trace.Stacks, -1 without one.
	Stack int
	// OfStack counts the descriptors that the process opened with this stack, closed or not, and
	// LeftOfStack those that it left open; 0 without a stack.
	OfStack, LeftOfStack int
	// Inherited says that the process did not open it itself: its parent did, before the fork.
	Inherited bool
	// At is the time since Trace.Begin, -1 where the lines have none.
	At time.Duration
}

// Bounds that keep memory flat.
const (
	maxOpen   = 1 << 18 // descriptors that are open at once, of all processes
	maxStacks = 1 << 12 // distinct stacks
	maxFrames = 256     // of one stack
	maxTasks  = 1 << 16 // threads and processes
	maxWaits  = 1 << 14 // calls that are not finished
	// maxForking bounds the calls among them that make a task: each new task looks through them.
	maxForking = 64
)
