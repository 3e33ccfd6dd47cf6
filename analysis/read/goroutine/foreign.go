package goroutine

import (
	"bytes"

	"leakdiff/analysis"
)

const (
	byteOrderMark = "\xef\xbb\xbf"
	creatorWord   = "created by "
	ancestorWord  = "[originating from goroutine "
	parentWord    = " in goroutine "
	nonGoWord     = "non-Go function"
)

// strayLine is a line inside a block that was not understood. It may be a function
// without parentheses, as gccgo and the symbolizer of cgo print them: the next line
// decides.
type strayLine struct {
	waits     bool
	text      []byte
	indent    int
	line, off int64
}

// panicState separates headers from the text of a panic value, which may hold anything
// and which Go before 1.23 prints raw.
type panicState struct {
	text   bool // no genuine header came since a "panic:" line
	indent int  // of that line
}

// crashState is what came since the last genuine header.
type crashState struct {
	signal, failed bool // "SIGSEGV: ", "panic: " or "fatal error: "
	ended          analysis.Signal
	dashes         bool // "-----", after which threads go on with the same dump
	cause          string
	logged         string // what the latest line says of a panic
}

// opens reports whether a goroutine is the first of another dump: a signal shows all
// goroutines, a failure only the goroutine that failed, or g0.
func (c *crashState) opens(g *Goroutine) bool {
	return c.signal || c.failed && (g.State == "running" || g.ID <= 0)
}

// maxCause bounds the line that says why a process died.
const maxCause = 300

// fails notes a failure. A panic value may hold lines that look like further failures, and a
// panic in a deferred call follows the one that caused it: the first line counts.
func (c *crashState) fails(line []byte) {
	c.failed = true
	c.because(line)
}

// because keeps the first reason.
func (c *crashState) because(line []byte) {
	if c.cause == "" {
		c.cause = string(line[:min(len(line), maxCause)])
	}
}

// deadly are the signals that come of a fault of the program itself.
var deadly = map[string]bool{"SIGSEGV": true, "SIGBUS": true, "SIGFPE": true, "SIGILL": true}

// other reads the rarer lines of a block and recognises foreign ones.
func (p *textParser) other(b []byte, indent int) {
	switch {
	case bytes.HasSuffix(b, []byte("]:")) && p.gluedHeader(b):
		p.brokenHeader(b)
	case p.open && p.part(b, indent):
	case p.boundary(b, indent):
		p.close()
	case p.open && !p.done:
		p.foreign(b, indent)
	default:
		if !p.between(b, indent) && p.open && p.created && indent > 0 {
			p.seam(b)
		}
	}
}

// seam warns of a file that was written over an older and longer one without being
// cut first: the new dump ends, and the rest of an old line or frame follows.
//
//	created by main.start in goroutine 1
//		/src/main.go:9 +0x1d
//	ol).run(0xc000010000)
//		/src/pool.go:42 +0x1d
func (p *textParser) seam(b []byte) {
	if _, place := cutOffsets(b); !place || p.seams > 0 || bytes.IndexByte(b, '/') < 0 || bytes.IndexByte(b, ' ') < 0 {
		return
	}
	p.seams++
	p.problems.add(analysis.Problem{
		Line: p.lines.num, Offset: p.lines.off, Severity: analysis.Warning,
		What: "what follows here may be the end of an older dump",
		Why:  "a line of a stack stands behind a goroutine that was complete: the file seems to have been written over a longer one",
		Hint: "capture into a new file; the goroutines from this line on may be of the older dump, which makes the counts too high",
	})
}

// close ends the block before the next header does.
func (p *textParser) close() {
	p.settle()
	p.dropStray()
	p.done = true
}

// part reads the lines of a block that are neither functions nor files:
//
//	created by main.(*Pool).Start in goroutine 17
//	[originating from goroutine 17]:
//	...51 frames elided...
//	...additional frames elided...
//	goroutine running on other thread; stack unavailable
//	non-Go function at pc=0x7f8e
func (p *textParser) part(b []byte, indent int) bool {
	if bytes.HasPrefix(b, []byte(ancestorWord)) {
		p.settle()
		if p.ancestor < 0 {
			p.ancestor = len(p.key)
		}
		p.nextAncestor()
		p.done = false
		p.reach()
		return true
	}
	if p.done {
		return false
	}
	if len(p.key) > maxKey {
		p.overflow()
		return true
	}
	switch {
	case bytes.HasPrefix(b, []byte(creatorWord)):
		p.creator(b[len(creatorWord):], indent)
	case bytes.HasPrefix(b, []byte("...")) && bytes.HasSuffix(b, []byte(" frames elided...")):
		p.insert(markElided, elidedNumber(b[len("..."):]))
	case bytes.HasPrefix(b, []byte(headerWord)) && bytes.HasSuffix(b, []byte("stack unavailable")):
		p.insert(markUnavailable, b)
	case bytes.HasPrefix(b, []byte(nonGoWord+" at pc=0x")):
		p.settle()
		if p.ancestor < 0 {
			p.key = append(p.key, nonGoWord+"\n\n"...)
		}
	default:
		return false
	}
	p.reach()
	return true
}

// creator begins the frame of the go statement.
func (p *textParser) creator(b []byte, indent int) {
	p.settle()
	b, parent := cutParent(b)
	if p.ancestor < 0 {
		p.g.Parent = parent
	}
	p.pending, p.indent = len(p.key), indent
	p.key = append(append(append(p.key, markCreator), b...), '\n')
}

// cutParent splits the creator from the goroutine that ran it, 0 if none is printed.
//
//	"main.leak in goroutine 1" -> "main.leak", 1
func cutParent(b []byte) (name []byte, parent int64) {
	i := bytes.LastIndex(b, []byte(parentWord))
	if i <= 0 {
		return b, 0
	}
	n, rest, ok := cutNumber(b[i+len(parentWord):])
	if !ok || len(rest) > 0 || n < 0 {
		return b, 0
	}
	return b[:i], n
}

// insert adds a line of its own kind to the key.
func (p *textParser) insert(mark byte, text []byte) {
	p.settle()
	if p.ancestor >= 0 {
		return
	}
	p.key = append(append(append(p.key, mark), text...), '\n')
}

// elidedNumber returns the number of frames that were left out, as a number in decimal.
//
//	"51 frames elided..."         -> "51"
//	"additional frames elided..." -> "-1"
func elidedNumber(b []byte) []byte {
	if _, rest, ok := cutNumber(b); ok && b[0] != '-' {
		return b[:len(b)-len(rest)]
	}
	return []byte("-1")
}

// boundary knows what ends a block without being a header, and what announces a
// crash.
//
//	SIGQUIT: quit
//	fatal error: all goroutines are asleep - deadlock!
//	panic: boom [recovered]
//	WARNING: DATA RACE
//	-----
func (p *textParser) boundary(b []byte, indent int) bool {
	has := func(prefix string) bool { return bytes.HasPrefix(b, []byte(prefix)) }
	switch {
	case has("panic: "):
		p.crashBegins()
		p.crash.fails(b)
		if !p.panics.text {
			p.panics = panicState{text: true, indent: indent}
		}
	case has("fatal error: "):
		p.crashBegins()
		p.crash.fails(b)
	case bytes.Contains(b, []byte(analysis.CompilerError)):
		p.crashBegins()
		p.crash.fails(b)
	case isSignal(b):
		p.crashBegins()
		name, _, _ := bytes.Cut(b, []byte(": "))
		if deadly[string(name)] {
			p.crash.because(b)
		}
		if !p.crash.dashes {
			p.crash.ended = analysis.EndsWith(string(b))
		}
		p.crash.signal = p.crash.signal || !p.crash.dashes && analysis.ShowsGoroutines(string(name))
	case has("runtime stack:"):
		p.crashBegins()
	case has("-----"):
		p.crash.dashes = true
	case has("WARNING: DATA RACE"):
		p.dump.Race++
		p.gap.stackless = true
	case has("=================="), has("exit status "),
		has("goroutine profile: total "), has("goroutineleak profile: total "), isRegister(b):
	default:
		p.crash.logged = loggedPanic(b)
		return false
	}
	return true
}

// loggedPanic is the reason of a panic in a line that a handler of the program logs.
//
//	"app (1337) - 25 May 17 11:49 -03 - panic - no tags - - key not found" = "key not found"
//	"2026/11/29 PANIC: boom" = "boom"
//	"app: recovered from panic: boom" = ""
func loggedPanic(b []byte) string {
	if bytes.Contains(b, []byte("ecovered")) {
		return ""
	}
	for _, word := range []string{" panic - ", " panic: ", " PANIC: "} {
		if _, text, ok := bytes.Cut(b, []byte(word)); ok {
			text = text[bytes.LastIndex(text, []byte(" - "))+1:]
			return string(bytes.TrimLeft(text[:min(len(text), maxCause)], " -"))
		}
	}
	return ""
}

// crashBegins notes that what follows is a crash. The form of the text is that
// of its first dump.
func (p *textParser) crashBegins() {
	p.dumper.crash, p.gap.stackless = true, true
	if p.dump.Headers == 0 && !p.open {
		p.dump.Form = FormCrash
	}
}

// beginsCrash recognises the lines with any text after the colon, even one that ends as
// a call does.
//
//	"panic: main.Code(5)" -> true
//	"panic({0x68d080?, 0x76a350?})" -> false
func beginsCrash(b []byte) bool {
	switch b[0] {
	case 'p':
		return bytes.HasPrefix(b, []byte("panic: "))
	case 'f':
		return bytes.HasPrefix(b, []byte("fatal error: "))
	case 'S':
		return isSignal(b)
	}
	return false
}

// isSignal knows the first line of a signal's crash.
//
//	"SIGQUIT: quit" -> true
func isSignal(b []byte) bool {
	name, _, ok := bytes.Cut(b, []byte(": "))
	if !ok || len(name) < 5 || len(name) > 12 || string(name[:3]) != "SIG" {
		return false
	}
	return len(bytes.TrimLeft(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")) == 0
}

// isRegister recognises a line of the register block at the end of a crash. The block
// follows the last frame without a blank line if the frame is one of goroutine 0.
//
//	"rax    0xca" -> true
func isRegister(b []byte) bool {
	name, value, ok := bytes.Cut(b, []byte(" "))
	value = bytes.TrimLeft(value, " ")
	return ok && len(name) <= 8 && bytes.HasPrefix(value, []byte("0x")) &&
		len(bytes.TrimLeft(value[2:], "0123456789abcdef")) == 0
}

// judge decides whether a header is genuine. After "panic:" it must follow a blank line
// and be indented as that line is. Where blank lines were lost the first header is
// doubtful: it counts if the next one has no blank line before it either.
func (p *textParser) judge(indent int) (genuine, doubtful bool) {
	if !p.panics.text {
		return true, false
	}
	if indent != p.panics.indent {
		return false, false
	}
	lost := !p.blank && p.open && p.doubtful && len(p.key) > 0 && p.pending != 0
	if lost || p.blank {
		p.panics.text = false
	}
	if p.open && p.doubtful {
		if p.open = lost; !lost {
			p.crash.cause = p.g.Cause // the header was text of the panic
		}
		p.doubtful = false
	}
	return true, !lost && !p.blank
}

// foreign takes a line of an open block that nothing else explains. After a blank line
// it is the end of the block (registers, log lines). Otherwise it was printed into the
// block, or is a function without parentheses.
func (p *textParser) foreign(b []byte, indent int) {
	if p.blank {
		p.close()
		p.between(b, indent)
		return
	}
	if p.continuesCreator(b) {
		return
	}
	p.dropStray()
	p.strays++
	s := &p.stray
	s.waits, s.text, s.indent = true, append(s.text[:0], b...), indent
	s.line, s.off = p.lines.num, p.lines.off
}

// rejoined takes b as the rest of the call that the stray line before it begins: the line
// was wrapped.
//
//	m/subscriptions.(*Dispat           main.run(0xc000010000,
//	cher).await(0xc000010000)          0x2)
func (p *textParser) rejoined(b []byte) bool {
	s := &p.stray
	if b[len(b)-1] != ')' || p.pending >= 0 || p.done || s.line+1 != p.lines.num {
		return false
	}
	whole := append(bytes.Clone(s.text), b...)
	name := cutArgs(whole)
	if bytes.IndexByte(name, ' ') >= 0 || !isCut(s.text) && !isCut(cutArgs(b)) {
		return false
	}
	s.waits = false
	p.strays--
	return p.function(whole, s.indent)
}

// continuesCreator takes b as the rest of the name of a creator whose line was wrapped.
//
//	created by m/subscriptions.(*Dispat
//	cher).start in goroutine 1
func (p *textParser) continuesCreator(b []byte) bool {
	if p.pending < 0 || p.key[p.pending] != markCreator {
		return false
	}
	cut := p.key[p.pending+1 : len(p.key)-1]
	name, parent := cutParent(append(bytes.Clone(cut), b...))
	if bytes.IndexByte(name, ' ') >= 0 || !isCut(cut) && bytes.IndexByte(cut, ' ') < 0 {
		return false
	}
	if p.ancestor < 0 && parent > 0 {
		p.g.Parent = parent
	}
	p.key = append(append(p.key[:p.pending+1], name...), '\n')
	return true
}

// isCut reports whether a name is a part of one: a parenthesis in it has no partner, or no
// dot follows its last slash.
//
//	"m/subscriptions.(*Dispat", "cher).await", "github.com/m/subscri", "await" -> true
//	"main.(*T[...]).run", "panic" -> false
func isCut(name []byte) bool {
	if bytes.Count(name, []byte("(")) != bytes.Count(name, []byte(")")) {
		return true
	}
	return bytes.IndexByte(name[bytes.LastIndexByte(name, '/')+1:], '.') < 0 && string(name) != "panic" && string(name) != "goexit"
}

// strayPlace tries b as the file of the stray line before it:
//
//	main.recv                            cFunctionInner             non-Go function
//		gccgo/m.go:15                    	/src/inner.c:42 pc=0x11    	pc=0x2222
func (p *textParser) strayPlace(b []byte, indent int) bool {
	s := &p.stray
	file, ok := cutOffsets(b)
	if ok && p.pending >= 0 && s.line+1 == p.lines.num && indent == 0 && bytes.IndexByte(s.text, '/') >= 0 && bytes.IndexByte(s.text, ' ') < 0 {
		// The path was wrapped.
		s.waits = false
		p.strays--
		return p.place(append(bytes.Clone(s.text), b...), s.indent)
	}
	if !ok || p.pending >= 0 || !s.isFunction(file, indent) {
		p.dropStray()
		return false
	}
	s.waits = false
	p.strays--
	if bytes.Count(s.text, []byte("(")) != bytes.Count(s.text, []byte(")")) {
		if p.broken.count++; p.broken.count == 1 {
			p.broken.line = s.line
		}
	}
	if p.ancestor < 0 && len(p.key) <= maxKey {
		p.key = append(append(p.key, s.text...), '\n')
		p.key = append(append(p.key, file...), '\n')
	}
	p.reach()
	return true
}

// isFunction reports whether a line is a function, given what may be its file.
func (s *strayLine) isFunction(file []byte, indent int) bool {
	if bytes.IndexByte(s.text, ' ') >= 0 && string(s.text) != nonGoWord {
		return false
	}
	if indent > s.indent {
		return true
	}
	return bytes.IndexByte(s.text, '.') > 0 && bytes.IndexByte(file, ' ') < 0
}

// dropStray reports the stray line, unless it is the rest of a cut last line.
func (p *textParser) dropStray() {
	s := &p.stray
	if !s.waits {
		return
	}
	s.waits = false
	if s.line == p.lines.num && !p.lines.ended {
		return
	}
	p.problems.add(analysis.Problem{
		Line: s.line, Offset: s.off, Severity: analysis.Note,
		What: "a line inside a goroutine's block was not understood",
		Why:  "it is neither a function nor a file of a stack; a log line may have been written in between",
		Hint: "the goroutine is counted; compare its stack with the raw lines",
	})
}
