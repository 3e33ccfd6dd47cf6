package goroutine

import (
	"bytes"
	"io"

	"leakdiff/analysis"
)

// textParser turns the lines of a dump into goroutines. This is the hot path: it sees
// every byte of dumps with hundreds of thousands of goroutines, nearly all of them with
// a stack seen before. Blocks like earlier ones are recognised whole (known.go). For
// the others it copies the bytes that make two stacks equal into key, in one pass over
// the read buffer, and stackTable parses a key the first time that it is seen. Nothing
// is allocated for a goroutine whose stack, state and labels are known.
type textParser struct {
	lines    *lineReader
	headers  headerReader
	stacks   *stackTable
	known    knownBlocks
	problems problems
	visit    func(*Goroutine) error
	dump     Dump
	others   func(line []byte, offset int64) // Config.Lines

	// The block being read, from a header to the next one.
	g        *Goroutine
	open     bool      // g was begun and not yet given to visit
	done     bool      // no more frames: the creator or foreign text came
	doubtful bool      // the header may be text of a panic value
	key      []byte    // see stack.go
	pending  int       // where in key the function begins that waits for its file, or -1
	ancestor int       // where in key the ancestors' frames begin, or -1
	chain    []byte    // what was in key of the ancestors, see ancestor.go
	indent   int       // of the pending function
	unplaced bool      // the block ended with a function without file
	created  bool      // the creator's file was read: the block is complete
	seams    int       // places that seem to be the end of an older dump
	bodyless bool      // the block had no body
	end      int64     // offset after the last line that belongs to g
	keyed    int       // length of key there: a function without file may follow
	body     int64     // offset after the header
	match    *knownEnd // what known found; key is then not filled yet

	words  bool         // Config.Words
	layout []placedWord // of the call that searchWords found last
	// wordList is the memory of Goroutine.Words.
	wordList []Word

	next   *Goroutine // header being read
	blank  bool       // the line before was blank
	strays int        // lines in this block that were not understood
	stray  strayLine  // the last of them, as long as it may prove to be a function
	panics panicState // see foreign.go
	crash  crashState
	gap    gapState
	spaced bool // blank lines stand between the lines of the block
	empty  int  // blocks without any body: gccgo prints such
	huge   bool // an id was met that no goroutine has

	refused refusedLine
	behind  int // blocks that were not understood since the last goroutine given to visit began
	dumper  dumperState
	broken  brokenNames
}

// dumperState finds the goroutine that writes the dump.
type dumperState struct {
	crash bool            // a crash began: no request asked for this dump
	stack *analysis.Stack // of the last one found
	found int
}

// ParseText reads a dump as debug=2, runtime.Stack, signals and crashes print it
// (runtime/traceback.go) and hands each goroutine to visit, in the order of the dump.
// Lines that belong to no goroutine are skipped. Indentation, CRLF, lost tabs and lost
// blank lines are accepted. The error is that of r or of visit; the problems name what
// the text lacks.
func ParseText(r io.Reader, cfg Config, visit func(*Goroutine) error) (Dump, []analysis.Problem, error) {
	cfg = cfg.withDefaults()
	p := &textParser{
		lines:    newLineReader(r),
		stacks:   newStackTable(cfg),
		problems: problems{path: cfg.Path, max: cfg.MaxProblems},
		visit:    visit,
		others:   cfg.Lines,
		g:        &Goroutine{},
		next:     &Goroutine{},
		words:    cfg.Words,
		pending:  -1,
		ancestor: -1,
		gap:      gapState{behind: true},
	}
	p.known.words = cfg.Words
	defer p.lines.close()
	var tail []byte
	for {
		line, ok := p.lines.next()
		if !ok {
			break
		}
		tail = line
		if p.lines.dropped > 0 {
			p.longLine()
		}
		if p.others != nil && len(line) > 0 && !ofStack(line) {
			p.others(line, p.lines.off)
		}
		if err := p.line(line); err != nil {
			p.finish()
			return p.dump, p.problems.all(), err
		}
	}
	if err := p.deliver(); err != nil {
		p.finish()
		return p.dump, p.problems.all(), err
	}
	p.finish()
	if err := p.lines.failed(); err != nil {
		return p.dump, p.problems.all(), err
	}
	p.judgeEnd(tail)
	return p.dump, p.problems.all(), nil
}

// line sorts one line. The order of the cases is that of their frequency.
func (p *textParser) line(b []byte) error {
	whole := b
	end, indent := len(b), 0
	for end > 0 && b[end-1] <= ' ' {
		end--
	}
	for indent < end && b[indent] <= ' ' {
		indent++
	}
	b = b[indent:end]
	switch {
	case len(b) == 0:
		p.blank = true
		p.nextGap()
		return nil
	case b[0] == 'g' && isHeaderLike(b):
		begun, err := p.header(b, indent)
		if p.blank = begun && p.recognise(); p.blank {
			p.nextGap()
		}
		return err
	case p.match != nil:
		p.forget()
		return p.line(whole)
	case p.stray.waits && p.rejoined(b):
	case p.stray.waits && p.strayPlace(b, indent):
	case p.pending >= 0 && p.open && p.place(b, indent):
	case b[len(b)-1] == ')' && p.open && !p.done && p.function(b, indent):
	case bytes.HasPrefix(b, []byte(byteOrderMark)):
		return p.line(b[len(byteOrderMark):])
	default:
		p.other(b, indent)
	}
	p.blank = false
	return nil
}

// function begins a frame:
//
//	main.(*Pool).run(0xc000010000, {0x1?, 0x2?})
func (p *textParser) function(b []byte, indent int) bool {
	name := cutArgs(b)
	if len(name) == 0 || beginsCrash(b) || p.blank && isProse(name) {
		return false
	}
	if p.pending >= 0 {
		if bytes.IndexByte(name, ' ') >= 0 {
			return false // a log line between a function and its file
		}
		p.settle()
	}
	if p.blank && !p.spaced && p.lacksNoCreator() {
		p.close()
		p.between(b, indent)
		return true
	}
	if len(p.key) > maxKey {
		p.overflow()
		return true
	}
	p.pending, p.indent = len(p.key), indent
	p.key = append(append(p.key, name...), '\n')
	return true
}

// isProse reports whether a possible function name has a blank outside type parameters,
// templates and structs.
func isProse(name []byte) bool {
	return bytes.IndexByte(name, ' ') >= 0 && !bytes.ContainsAny(name, "[{<") && !bytes.Contains(name, []byte("::"))
}

// place ends a frame or the creator:
//
//	/src/pool.go:42 +0x1d fp=0xc000047790 sp=0xc000047718 pc=0x40841c
//
// Tabs may be lost; then a path with spaces is taken for a log line.
func (p *textParser) place(b []byte, indent int) bool {
	file, ok := cutOffsets(b)
	if !ok || indent <= p.indent && bytes.IndexByte(file, ' ') >= 0 {
		return false
	}
	p.key = append(append(p.key, file...), '\n')
	p.spaced = p.spaced || p.blank
	p.done = p.key[p.pending] == markCreator
	p.created = p.done
	if p.ancestor >= 0 {
		p.keepAncestor()
	}
	p.pending = -1
	p.reach()
	return true
}

// reach makes the line the last one that belongs to the block.
func (p *textParser) reach() { p.end, p.keyed = p.lines.pos(), len(p.key) }

// settle ends a function or creator whose file never came.
func (p *textParser) settle() {
	if p.pending < 0 {
		return
	}
	name := p.key[p.pending : len(p.key)-1]
	switch {
	case p.ancestor >= 0:
		p.key = p.key[:p.ancestor]
	case bytes.IndexByte(name, ' ') >= 0:
		p.key = p.key[:p.pending] // it was text
	default:
		p.key = append(p.key, '\n')
	}
	p.pending = -1
}

// overflow stops keeping frames of the block.
func (p *textParser) overflow() {
	p.done = true
	p.key = append(p.key, markElided, '-', '1', '\n')
	p.problems.add(analysis.Problem{
		Line: p.g.Line, Offset: p.g.Offset, Severity: analysis.Warning,
		What: "a goroutine's block is longer than 1 MiB",
		Why:  "the runtime prints at most 100 frames; the rest of the block was left out",
		Hint: "look at the raw lines: something else may have been written into the dump",
	})
}

// header begins a block, after it gave the one before to visit, and reports
// whether the line was a header.
func (p *textParser) header(b []byte, indent int) (begun bool, err error) {
	ok, crash := p.headers.parse(b, p.lines.dropped > 0, p.next)
	if !ok {
		p.forget()
		if p.likeHeader(b) {
			p.brokenHeader(b)
		} else {
			p.other(b, indent)
		}
		return false, nil
	}
	genuine, doubtful := p.judge(indent)
	if !genuine {
		return false, nil
	}
	if err := p.deliver(); err != nil {
		return false, err
	}
	if crash || p.next.ID <= 0 {
		p.dumper.crash, p.dump.Form = true, FormCrash
	}
	p.g, p.next = p.next, p.g
	p.g.Opens, p.g.Cause, p.g.Logged, p.g.Ended, p.crash = p.crash.opens(p.g), p.crash.cause, p.crash.logged, p.crash.ended, crashState{}
	p.g.Line, p.g.Offset = p.lines.num, p.lines.off
	if p.g.ID == HugeID {
		p.hugeID()
	}
	p.open, p.done, p.created, p.doubtful = true, false, false, doubtful
	p.key, p.keyed = p.key[:0], 0
	p.pending, p.ancestor, p.chain = -1, -1, p.chain[:0]
	p.strays, p.stray.waits = 0, false
	p.gap, p.spaced = gapState{}, false
	p.body = p.lines.pos()
	p.end = p.body
	p.lines.retain()
	return true, nil
}

// wholeBlock is a length that nearly all blocks are below. If less is left in the
// buffer, the whole next block is read in before it is looked at.
const wholeBlock = 8 << 10

// recognise skips the body of a known block and reports whether it skipped a
// blank line, too. The state is then what the lines would have made it.
func (p *textParser) recognise() (blank bool) {
	l := p.lines
	if p.doubtful || !l.ended || l.dropped > 0 {
		return false
	}
	l.ensure(wholeBlock)
	found, length, parent := p.known.find(l.buf[l.start:l.end])
	if found == nil {
		return false
	}
	if p.others != nil && !found.plain {
		p.giveOthers(length)
	}
	p.match, p.done, p.g.Parent = found, found.blank == 0, parent
	l.start += length
	l.num += found.lines
	p.end = l.pos() - int64(found.blank)
	if found.blank > 0 {
		return true
	}
	n := blankLine(l.buf[l.start:l.end])
	if n == 0 {
		return false
	}
	l.start += n
	l.num++
	return true
}

// giveOthers hands over those of the next lines that are not by their look of a
// goroutine.
func (p *textParser) giveOthers(length int) {
	l := p.lines
	offset := l.pos()
	for line := range bytes.Lines(l.buf[l.start : l.start+length]) {
		if text := line[:len(line)-1]; len(text) > 0 && !ofStack(text) {
			p.others(text, offset)
		}
		offset += int64(len(line))
	}
}

// blankLine is the length of an empty line that b begins with, 0 if it does not.
func blankLine(b []byte) int {
	switch {
	case len(b) > 0 && b[0] == '\n':
		return 1
	case len(b) > 1 && b[0] == '\r' && b[1] == '\n':
		return 2
	}
	return 0
}

// forget goes on with the lines after a known block that does not end yet.
func (p *textParser) forget() {
	if p.match != nil {
		p.key = append(p.key[:0], p.match.key...)
		p.keyed = len(p.key)
		p.created = p.match.blank == 0
		p.match = nil
	}
}

// noStack is the stack of a line that looks like the header of a goroutine and begins none.
var noStack analysis.Stack

// deliver completes the block being read, if any, and hands it to visit.
func (p *textParser) deliver() error {
	if !p.open {
		return nil
	}
	p.open = false
	g := p.g
	match := p.match
	var found *keptStack
	if match != nil {
		found, p.match = p.match.keptStack, nil
		p.bodyless, p.unplaced = false, false
	} else {
		p.unplaced = p.pending >= 0
		p.settle()
		p.dropStray()
		p.bodyless = len(p.key) == 0
		if p.bodyless {
			p.empty++
		}
		if p.bodyless && p.doubtful {
			g.Stack = &noStack // for those who judge the end
			return nil
		}
		found = p.stacks.get(p.key)
		p.teach(found)
	}
	g.Stack, g.StackNumber = found.stack, found.number
	g.Length = p.end - g.Offset
	g.System = found.system && g.ID > 1
	g.Dumper = p.isDumper(found.dumping)
	p.count(g)
	g.Refused, p.behind = p.behind, 0
	if p.visit == nil {
		return nil
	}
	g.Body, g.Ancestors = p.lines.between(p.body, p.end), p.chain
	if p.words {
		p.readWords(g, match)
	}
	return p.visit(g)
}

// teach lets the tree know a block that is still in the buffer, if its body is
// all that made its key.
func (p *textParser) teach(found *keptStack) {
	l := p.lines
	if p.strays > 0 || p.ancestor >= 0 || p.unplaced || p.keyed < len(p.key) || p.body < l.base || len(p.key) > maxKey || found == &p.stacks.full {
		return
	}
	if found.taught >= maxTaught || found.seen == 1 && p.known.spans > eagerSpans {
		return
	}
	found.taught++
	begin, end := int(p.body-l.base), int(p.end-l.base)
	if found.stack.CreatedBy.Func == "" {
		end += blankLine(l.buf[end:l.end])
	}
	p.known.learn(l.buf[begin:end], found, p.key)
}

func (p *textParser) count(g *Goroutine) {
	d := &p.dump
	d.Headers++
	d.MaxID = max(d.MaxID, g.ID)
	switch {
	case g.ID <= 0:
		d.Zero++
	case g.System:
		d.System++
	default:
		d.Goroutines++
	}
}

// isDumper reports whether g writes the dump: a running goroutine with a debug=2
// writer on its stack, or else the first of the text and any with its stack.
func (p *textParser) isDumper(writing bool) bool {
	g, d := p.g, &p.dumper
	if g.State != "running" || g.ID <= 0 || d.crash && !writing || p.dump.Form == FormCrash && !writing {
		return false
	}
	known := len(g.Stack.Frames) > 0 && (p.dump.Headers == 0 || g.Stack == d.stack)
	if !writing && !known {
		return false
	}
	d.stack = g.Stack
	d.found++
	return true
}

// ofStack reports whether a line that is not empty is by its look alone a file, a call,
// a creator or a header. Two blocks that knownBlocks cannot distinguish get the same
// answer, except for a file that lost its tab and ends in "sp=0x…)": that line may be
// given or not.
func ofStack(line []byte) bool {
	switch {
	case line[0] == '\t', line[len(line)-1] == ')':
		return true
	case line[0] == 'c':
		return bytes.HasPrefix(line, []byte(creatorWord))
	case line[0] == 'g' && isHeaderLike(line):
		i := len(headerWord)
		for i < len(line) && line[i]-'0' < 10 {
			i++
		}
		return i > len(headerWord) && i+1 < len(line) && line[i] == ' ' && line[i+1] == '['
	}
	return false
}

// cutArgs cuts the arguments off a call. Receivers stay: their parenthesis
// follows a dot, that of the arguments never does.
//
//	"main.(*T[...]).run(0xc000010000, {0x1?, 0x2?})" -> "main.(*T[...]).run"
func cutArgs(b []byte) []byte {
	from := 0
	for {
		i := bytes.IndexByte(b[from:], '(')
		if i < 0 {
			return nil
		}
		i += from
		if i == 0 || b[i-1] != '.' {
			return b[:i]
		}
		from = i + 1
	}
}

// cutOffsets cuts the offsets after file:line. It reports whether there is a file:line
// at all, or an address alone as the symbolizer of cgo prints it.
//
//	"/src/main.go:12 +0x1d"                        -> "/src/main.go:12", true
//	"C:/src/main.go:12 +0x1d fp=0x1 sp=0x2 pc=0x3" -> "C:/src/main.go:12", true
//	"pc=0x2222"                                    -> "", true
func cutOffsets(b []byte) ([]byte, bool) {
	for {
		i := len(b) - 1
		for i >= 0 && b[i]-'0' < 10 {
			i--
		}
		if i > 0 && b[i] == ':' && i < len(b)-1 {
			return b, true
		}
		i = bytes.LastIndexByte(b, ' ')
		if !isOffset(b[i+1:]) {
			return b, len(b) > 2 && string(b[len(b)-2:]) == ":?" && i < 0
		}
		if i < 0 {
			return b[:0], b[0] == 'p'
		}
		b = b[:i]
	}
}

// isOffset knows "+0x1d", "fp=0x1", "sp=0x1" and "pc=0x1".
func isOffset(b []byte) bool {
	if len(b) < 5 || b[0] == '+' {
		return len(b) > 3 && b[0] == '+' && b[1] == '0' && b[2] == 'x'
	}
	switch string(b[:5]) {
	case "fp=0x", "sp=0x", "pc=0x":
		return true
	}
	return false
}
