package envelope

import (
	"bytes"
	"strconv"
)

// A ticket shows one goroutine or two of many. They are evidence if something beside
// their number says so: a code block around them, the minutes that one waited, who
// created it, or goleak, which lists what a test left behind. A running goroutine is
// what a panic or a log prints of the one that writes, and source code holds dumps as
// strings: neither is evidence.

// evidence is what was seen of the goroutine being written, while it is one of too few.
type evidence struct {
	// possible is false for a goroutine that proves nothing whatever stands below it.
	possible bool
	// told is true if something beside the stack says that the goroutine waits, placed if
	// a file and its line were seen below the header.
	told, placed bool
}

// see takes a line of a stack.
func (e *evidence) see(b, t []byte) {
	switch {
	case bytes.HasPrefix(t, []byte("created by ")):
		e.told = true
	case isPlace(t, b[0] == ' ' || b[0] == '\t'):
		e.placed = true
	}
}

func (e *evidence) enough() bool { return e.possible && e.told && e.placed }

// block is the code block that the lines stand in: the fence that began it, empty
// outside of one.
type block struct {
	fence string
	// code is true after a line that only source code has.
	code bool
}

// see takes a line outside of stacks, and reports whether it begins or ends a code
// block: a fence of Markdown (CommonMark 0.31, section 4.5), also in a quotation, or
// Jira's {noformat} and {code}.
//
//	"```text"              begins one, "```" ends it
//	"> ~~~"                begins one in a quotation
//	"{code:title=a.txt}"   begins one, "{code}" ends it
func (k *block) see(t []byte) bool {
	if len(t) == 0 {
		return false
	}
	switch t[0] {
	case '>', '`', '~', '{':
	default:
		k.code = k.code || isCode(t)
		return false
	}
	t = bytes.TrimLeft(t, "> \t")
	fence, rest := cutFence(t)
	switch {
	case fence == "":
		return false
	case k.fence == "":
		*k = block{fence: fence}
		return true
	case fence[0] != k.fence[0] || len(fence) < len(k.fence) || fence[0] != '{' && len(rest) > 0:
		return false
	}
	*k = block{}
	return true
}

// cutFence takes a fence off a line, empty if the line does not begin with one.
func cutFence(t []byte) (fence string, rest []byte) {
	if len(t) == 0 {
		return "", t
	}
	switch c := t[0]; c {
	case '`', '~':
		n := run(t, func(b byte) bool { return b == c })
		if n < 3 || bytes.IndexByte(t[n:], '`') >= 0 {
			return "", t
		}
		return string(t[:n]), t[n:]
	case '{':
		for _, word := range []string{"{noformat", "{code"} {
			after, ok := bytes.CutPrefix(t, []byte(word))
			end := bytes.IndexByte(after, '}')
			if ok && end >= 0 && (end == 0 || after[0] == ':') {
				return word, after[end+1:]
			}
		}
	}
	return "", t
}

// isCode knows lines of source code before a dump that stands in a string.
//
//	"package trace"                  -> true
//	"func TestRead(t *testing.T) {"  -> true
//	"const dump = `"                 -> true
//	"see `Feed.push`"                -> false
func isCode(t []byte) bool {
	if IsPackage(t) {
		return true
	}
	if bytes.HasPrefix(t, []byte("func ")) || bytes.HasPrefix(t, []byte("def ")) {
		return t[len(t)-1] == '{' || t[len(t)-1] == ':'
	}
	for _, end := range []string{"= `", "(`", "{`", ": `", `"""`, "'''"} {
		if bytes.HasSuffix(t, []byte(end)) {
			return true
		}
	}
	return false
}

// IsPackage knows the clause with which a file of Go or Java begins.
//
//	"package trace", "package shop.cart;" -> true
func IsPackage(t []byte) bool {
	word, ok := bytes.CutPrefix(t, []byte("package "))
	return ok && bytes.IndexByte(word, ' ') < 0
}

// inString reports whether what follows a text stands in a string of source code: a
// quote ends the text, and it has more than that.
func inString(before []byte) bool {
	before = trim(before)
	return len(before) > 1 && bytes.IndexByte([]byte("`\"'"), before[len(before)-1]) >= 0
}

// leak is a line of goleak that waits for the one below it.
type leak struct {
	active  bool
	h       header
	text    []byte
	indent  []byte // what stands before it, and before each line of its stack
	at      place
	matched bool // the prefix of the dump being written was cut off
}

// readLeak reads the line with which goleak begins a goroutine. Since version 1.2.1 no
// header follows it, so that it is turned into one (go.uber.org/goleak 1.3.0,
// internal/stack.Stack.String).
//
//	"[Goroutine 7 in state chan receive, with main.run on top of the stack:" -> "goroutine 7 [chan receive]:"
func readLeak(b []byte) (l leak, ok bool) {
	line, ok := bytes.CutSuffix(bytes.TrimRight(b, " \t\r"), []byte(" on top of the stack:"))
	i := bytes.LastIndex(line, []byte(leakWord))
	if !ok || i < 0 || !isLeak(line, i) {
		return l, false
	}
	number, rest, _ := bytes.Cut(line[i+len(leakWord):], []byte(stateWord))
	state, _, ok := bytes.Cut(rest, []byte(", with "))
	id, err := strconv.ParseInt(string(number), 10, 64)
	if !ok || err != nil {
		return l, false
	}
	l.h = header{id: id, running: string(state) == "running"}
	l.text = []byte(headerWord + string(number) + " [" + string(state) + "]:")
	// The first one stands behind a bracket, the others behind a blank.
	if i > 0 && (line[i-1] == '[' || line[i-1] == ' ') {
		i--
	}
	l.active, l.indent = true, bytes.Clone(line[:i])
	return l, true
}

// isTestLine knows what go test prints below the stacks of goleak and leaktest.
func isTestLine(t []byte) bool {
	switch string(t) {
	case "]", "FAIL", "PASS":
		return true
	}
	return bytes.HasPrefix(t, []byte("FAIL\t")) || bytes.HasPrefix(t, []byte("--- FAIL: "))
}

// leaked takes a line of goleak. Older versions let the header follow, which says more.
func (s *source) leaked(t []byte) {
	l := s.leak
	s.leak, s.told = leak{}, true
	if i := nextMarker(t); i >= 0 {
		if h, ok := readHeader(trim(t[i:])); ok && h.id == l.h.id {
			return
		}
	}
	goesOn := s.goesOn(l.h, l.text, l.matched)
	s.header(l.h, l.text, l.text, l.at, l.matched, true)
	if !goesOn && !l.matched && len(l.indent) > 0 {
		s.open.inner = newInner(l.indent, innerEach)
	}
}

// title is the first line of a thread of a JVM, with what stands before it.
type title struct {
	text   []byte
	indent int
	at     place
	// left is for how many more lines the stack may stay away.
	left int
}

// see keeps a line that may begin a thread.
//
//	"> \"main\" #1 prio=5 os_prio=0 tid=0x00007f0c28001000 nid=0x1b03 runnable"
func (k *title) see(b []byte, at place) {
	k.left--
	if i := bytes.IndexByte(b, '"'); i >= 0 && hasThreadID(b[i:]) {
		*k = title{text: append(k.text[:0], b...), indent: i, at: at, left: 2}
	}
}

// hasThreadID reports whether a header of a thread has its address, which some programs
// print in decimal.
func hasThreadID(t []byte) bool {
	_, id, ok := bytes.Cut(t, []byte(" tid="))
	return ok && len(id) > 0 && '0' <= id[0] && id[0] <= '9'
}

// thread begins a part of a thread dump: a thread with its state or its first call,
// without the line with which the JVM begins a dump.
func (s *source) thread(b []byte, at place, newline bool) bool {
	k := &s.title
	if k.left <= 0 || s.block.code {
		return false
	}
	in := newInner(k.text[:k.indent], innerEach)
	rest, each := in.cut(b)
	if !each {
		rest = b
	}
	t := trim(rest)
	if !bytes.HasPrefix(t, []byte(threadState)) && !(bytes.HasPrefix(t, []byte("at ")) && bytes.HasSuffix(t, []byte(")"))) {
		return false
	}
	s.close()
	s.opening, s.begin = opening{}, false
	o := s.begins(KindThread, k.at)
	if k.indent > 0 && each {
		o.inner = in
	}
	o.threadLine(k.text[k.indent:], k.text[k.indent:], k.at, true)
	o.threadLine(rest, t, at, newline)
	k.left = 0
	return true
}
