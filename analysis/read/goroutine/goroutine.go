// Package goroutine reads what a Go process prints about its goroutines: the text of
// debug=2, runtime.Stack and crashes, the records of debug=1, and the protobuf profile.
// It takes a byte stream and hands one goroutine or record after the other to a
// visitor. Goroutines of equal stacks share one Stack. What it did not understand
// becomes problems. It does not know where the bytes come from, how stacks group into
// families, or which log lines were wrapped around a dump.
package goroutine

import (
	"time"

	"leakdiff/analysis"
)

// Config bounds what a parser keeps. The zero value means the defaults.
type Config struct {
	// MaxStacks is how many distinct stacks are kept, 10,000 by default: programs have
	// hundreds, some a few thousand. All further goroutines get one shared stack that
	// is Unavailable, and a problem counts them.
	MaxStacks int
	// MaxProblems is the number of problems that are listed, 100 by default, before one
	// summary.
	MaxProblems int
	// MaxProtoBytes limits the unpacked profile, 256 MiB by default.
	MaxProtoBytes int64
	// Path goes into every problem.
	Path string
	// Stacks, if set, shares equal stacks with other parses.
	Stacks *Stacks
	// Lines, if set, receives each line of the text that does not look like one of a
	// goroutine (see ofStack), with its offset, in the order of the text. Blank lines
	// may be missing. A line is valid during the call only; a long one is cut.
	Lines func(line []byte, offset int64)
	// Words fills Goroutine.Words of a text dump.
	Words bool
}

func (c Config) withDefaults() Config {
	if c.MaxStacks <= 0 {
		c.MaxStacks = 10_000
	}
	if c.MaxProblems <= 0 {
		c.MaxProblems = 100
	}
	if c.MaxProtoBytes <= 0 {
		c.MaxProtoBytes = 256 << 20
	}
	return c
}

// Goroutine is one block of a text dump. It is valid during the callback only;
// the strings and what Stack points to stay.
type Goroutine struct {
	// ID is 0 for the scheduler's own g0, which is no goroutine of the program.
	ID int64
	// Parent is the id after "created by F in goroutine", 0 if unknown
	// (before Go 1.21, timer callbacks).
	Parent int64
	// State is the wait reason or status word without flags, wait, lock and
	// labels: "chan receive", "select (no cases)", unknown text verbatim.
	State string
	// Wait is in whole minutes, -1 if none is printed. It is a lower bound
	// counted from the first garbage collection after parking.
	Wait int
	// Leaked, Scan and Durable are the flags of runtime.goroutineheader; Leaked
	// is proof of a leak, its absence proves nothing.
	Leaked, Scan, Durable bool
	// Locked is true for "locked to thread".
	Locked bool
	// Bubble is the synctest bubble, 0 outside any.
	Bubble int
	// Labels is the printed label set with its braces, "" if none is printed.
	Labels string
	// System is true if debug=2 would hide the goroutine (runtime.isSystemGoroutine):
	// the garbage collector's workers and the like.
	System bool
	// Dumper is true for the goroutine that writes this dump.
	Dumper bool
	// Opens is true if a crash began after the goroutine before: by a signal, which
	// shows all goroutines, or of this goroutine. Those that other threads of a crash
	// show after "-----" belong to the same dump (runtime/signal_unix.go, sighandler).
	Opens bool
	// Cause is the line with the reason why the process died, if g is the first goroutine
	// after it: "panic: boom", "fatal error: concurrent map writes".
	Cause string
	// Ended is the signal that ended the process with this dump, if g is the first goroutine after
	// its line: "SIGQUIT", "SIGABRT".
	Ended analysis.Signal
	// Logged is the reason of a panic in the log line right above g, "" if it names none: a handler
	// of the program may have printed it with the stacks.
	Logged string
	// Stack is shared by all goroutines of one parse with the same functions,
	// files, lines and creator.
	Stack *analysis.Stack
	// StackNumber counts the stacks of the parse from 0, in the order of their first
	// goroutine. Those above the limit share 0 with the first.
	StackNumber int
	// Line counts from 1, Offset and Length are in bytes; they span the header to
	// the last line that belongs to the goroutine.
	Line, Offset, Length int64
	// Refused counts the blocks between it and the next goroutine that begin like one and
	// were not understood.
	Refused int
	// Body is the text below the header, with the arguments that Stack leaves out;
	// nil for a block that is longer than the read buffer had left. It is
	// valid during the callback only.
	Body []byte
	// Ancestors are the lines of "[originating from goroutine N]:" and below, in a trace the
	// stack of the go statement, for ParseAncestors: equal for equal stacks. They are valid
	// during the callback only.
	Ancestors []byte
	// Words are the addresses among the arguments, leaf first, at most maxWords. They are
	// valid during the callback only, and empty without Config.Words or Body.
	Words []Word
}

// The forms of a text dump.
const (
	formDebug2 = "debug2"
	FormCrash  = "crash"
)

// Dump describes a text dump as a whole.
type Dump struct {
	// Form is "debug2" for debug=2 and runtime.Stack text, "crash" for what
	// signals, panics and fatal errors print.
	Form string
	// Headers counts all blocks: Zero of them have id 0, System of them debug=2
	// would hide, Goroutines are the program's own.
	Headers, Zero, System, Goroutines int
	// Refused counts blocks that begin like a goroutine and were not understood: all other
	// counts are then lower bounds.
	Refused int
	// MaxID is the largest goroutine id, 0 if the dump has none.
	MaxID int64
	// Truncated is true if the text stops before its end; TruncatedWhy is the sign of
	// it. All counts are then lower bounds.
	Truncated    bool
	TruncatedWhy string
	// Bytes is the length of the input.
	Bytes int64
	// Race counts the reports of the race detector that were skipped.
	Race int
}

// Record is one entry of a goroutine profile: Count goroutines with one stack
// and one label set. Several records may have the same Stack.
type Record struct {
	// Profile counts the profiles of a text from 0.
	Profile int
	Count   int
	Stack   *analysis.Stack
	// Labels are those that the program set.
	Labels map[string]string
	// Goroutine is the one that the record is of, in a profile with a record for each
	// (debug=3), and nil in others. Like the record, it is valid during the call only.
	Goroutine *Goroutine
	// Line, Offset and Length are the place in a debug=1 text and 0 in a proto.
	Line, Offset, Length int64
}

// The samples that a goroutine profile may count.
const (
	sampleGoroutine     = "goroutine"
	SampleGoroutineLeak = "goroutineleak"
)

// Profile describes a debug=1 text or a proto as a whole.
type Profile struct {
	// Sample is "goroutine" or "goroutineleak".
	Sample string
	// Total is the declared number of goroutines, or Sum if none is declared.
	Total int
	// Sum is over the counts of all Records. Refused counts the records that were seen
	// and not understood; if Sum is below the declared number, Sum is a lower bound.
	Sum, Records, Refused int
	// Undeclared is true if the line with the total is missing: there may be other records.
	Undeclared bool
	// Identified is true for debug=3: each Record has its Goroutine.
	Identified bool
	// Truncated and TruncatedWhy are as in Dump.
	Truncated    bool
	TruncatedWhy string
	// Time, Executable and BuildID are known from a proto only.
	Time                time.Time
	Executable, BuildID string
	// Resource is known from an OTLP file only.
	Resource Resource
	// Line and Offset are where the profile begins in a debug=1 text; Bytes is the length
	// of the input after unpacking, up to the next profile.
	Line, Offset, Bytes int64
}

// Resource is the process that an OTLP file states for a profile, as far as it does.
type Resource struct {
	Process, Host string
	PID           int
}

// Whole reports whether nothing is missing of the profile.
func (p *Profile) Whole() bool { return !p.Truncated && !p.Undeclared && p.Refused == 0 }
