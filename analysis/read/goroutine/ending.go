package goroutine

import (
	"bytes"
	"fmt"
	"strconv"

	"leakdiff/analysis"
)

const (
	// pprofLimit is the size at which runtime/pprof stops doubling its buffer for
	// debug=2 (runtime/pprof.writeGoroutineStacks); the answer is cut without a
	// message.
	pprofLimit = 64 << 20
	// smallestBuffer is the smallest power of two that is taken for the size of a
	// buffer.
	smallestBuffer = 4 << 10
)

// finish completes the dump and reports the problems of the dump as a whole.
func (p *textParser) finish() {
	d := &p.dump
	d.Bytes = p.lines.pos()
	if d.Form == "" {
		d.Form = formDebug2
	}
	if p.stacks.others > 0 {
		p.problems.always(tooManyStacks(p.stacks))
	}
	if d.Race > 0 {
		p.problems.always(analysis.Problem{
			Offset: -1, Severity: analysis.Note,
			What: fmt.Sprintf("%d reports of the race detector were skipped", d.Race),
			Why:  "they describe two accesses, not the goroutines of a process",
			Hint: "a data race is worth a ticket of its own",
		})
	}
	p.problems.broken(p.broken)
	p.refusals()
	if d.Headers == 0 && d.Race == 0 {
		p.problems.always(analysis.Problem{
			Offset: -1, Severity: analysis.Error,
			What: "no goroutine was found",
			Why:  `no line reads "goroutine N [state]:"`,
			Hint: "the dump may be empty, of another kind, or wrapped in log lines",
		})
	}
}

// hugeID notes an id that was cut to HugeID; the first of them is enough.
func (p *textParser) hugeID() {
	if p.huge {
		return
	}
	p.huge = true
	p.problems.always(analysis.Problem{
		Line: p.g.Line, Offset: p.g.Offset, Severity: analysis.Warning,
		What: "the id of a goroutine is larger than any that a runtime gives",
		Why:  fmt.Sprintf("it and all like it are kept as %d", int64(HugeID)),
		Hint: "the digits were damaged on their way, or the text was not written by Go; take the dump again",
	})
}

func tooManyStacks(t *stackTable) analysis.Problem {
	return analysis.Problem{
		Offset: -1, Severity: analysis.Warning,
		What: fmt.Sprintf("the stacks of %d goroutines were not kept", t.others),
		Why:  fmt.Sprintf("there were more distinct stacks than the %d that were", len(t.kept)),
		Hint: "they are counted, but grouped as if they had one stack",
	}
}

func (p *textParser) longLine() {
	p.problems.add(longLine(p.lines))
}

func longLine(l *lineReader) analysis.Problem {
	return analysis.Problem{
		Line: l.num, Offset: l.off, Severity: analysis.Warning,
		What: "a line is longer than 64 KiB",
		Why:  fmt.Sprintf("its last %d bytes were skipped", l.dropped),
		Hint: "a dump within one log line or JSON string must be unwrapped first",
	}
}

// judgeEnd marks the dump as truncated if its end or its size proves it. tail is the
// last line.
func (p *textParser) judgeEnd(tail []byte) {
	why := p.cutShort(bytes.TrimSpace(tail))
	if why == "" {
		return
	}
	p.dump.Truncated, p.dump.TruncatedWhy = true, why
	p.problems.always(analysis.Problem{
		Line: p.lines.num, Offset: p.dump.Bytes, Severity: analysis.Warning, Code: analysis.CutDump,
		What: "the dump is cut: goroutines are missing at its end",
		Why:  why,
		Hint: "take debug=1 or the protobuf profile too: they are small and complete",
	})
}

func (p *textParser) cutShort(tail []byte) string {
	size := p.dump.Bytes
	switch {
	case p.dump.Headers == 0:
		return ""
	case size == pprofLimit:
		return "it has exactly 67108864 bytes, where debug=2 gives up"
	case size >= smallestBuffer && size&(size-1) == 0:
		return "it has exactly " + strconv.FormatInt(size, 10) + " bytes, the size of a buffer"
	case !p.lines.ended && p.breaksOff(tail):
		return "the last line breaks off"
	case p.done || p.strays > 0:
		return ""
	case p.unplaced:
		return "the last function has no file"
	case p.bodyless && p.empty <= 1:
		return "the last header has no stack"
	case p.lacksCreator():
		return "the last goroutine has no creator, others with its stack have one"
	}
	return ""
}

// breaksOff reports whether a last line without newline is part of the dump and
// incomplete. Whoever copies a dump by hand loses the last newline only.
func (p *textParser) breaksOff(tail []byte) bool {
	word := tail[:min(len(tail), len(headerWord))]
	if len(word) > 0 && string(word) == headerWord[:len(word)] {
		return true
	}
	if p.ancestor >= 0 && p.done {
		return bytes.HasPrefix([]byte(ancestorWord), tail) || bytes.HasPrefix(tail, []byte(ancestorWord))
	}
	file, isPlace := cutOffsets(tail)
	whole := isPlace && len(file) < len(tail)
	if p.done {
		// The creator closed the block, or foreign text did.
		return isPlace && !whole && p.end == p.dump.Bytes
	}
	if whole {
		return p.ancestor < 0 && !p.isMain()
	}
	if args := bytes.IndexByte(tail, '('); args >= 0 {
		tail = tail[:args]
	}
	return isPlace || bytes.HasPrefix(tail, []byte(creatorWord)) || bytes.HasPrefix([]byte(creatorWord), tail) || bytes.IndexByte(tail, ' ') < 0
}

// isMain reports whether the last goroutine can have no creator: the main
// goroutine and goroutine 0 have none.
func (p *textParser) isMain() bool {
	frames := p.g.Stack.Frames
	if n := len(frames); n > 1 && frames[n-1].Func == "runtime.goexit" {
		frames = frames[:n-1]
	}
	if p.g.ID <= 1 || len(frames) == 0 {
		return p.g.ID <= 1
	}
	name := frames[len(frames)-1].Func
	return name == "main.main" || name == "runtime.main"
}

// lacksCreator reports whether goroutines with the frames of the last one show a
// creator that it lacks.
func (p *textParser) lacksCreator() bool {
	s := p.g.Stack
	if s.CreatedBy.Func != "" || len(s.Frames) == 0 || p.isMain() {
		return false
	}
	return p.stacks.hasCreator(s.Frames)
}
