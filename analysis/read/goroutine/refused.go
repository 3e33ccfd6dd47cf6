package goroutine

import (
	"bytes"
	"fmt"

	"leakdiff/analysis"
)

// refusedLine is where the first member of a text begins that was not understood.
type refusedLine struct {
	line, offset int64
	text         string
}

// gapState is what came since the last blank line behind a goroutine. Nothing of the
// runtime stands there; a stack is that of a goroutine whose header is missing or damaged:
//
//	created by main.start in goroutine 1
//		/src/main.go:9 +0x1d
//
//	gor2026/11/21 03:00:00 slow
//	main.(*Pool).run(0xc000010000)
//		/src/pool.go:42 +0x1d
type gapState struct {
	behind    bool // a blank line, or no goroutine at all, is before
	first     refusedLine
	call      bool // the line before was a call; of a stack that was counted, its creator
	counted   bool // the stack was counted
	stackless bool // a crash or a race came, which prints stacks that have no header
}

// nextGap begins what follows a blank line.
func (p *textParser) nextGap() {
	p.gap = gapState{behind: true, stackless: p.gap.stackless}
}

// between looks at a line that stands outside of goroutines. It reports whether the line
// belongs to a stack that was counted.
func (p *textParser) between(b []byte, indent int) bool {
	gap := &p.gap
	gap.behind = gap.behind || p.open && p.created // blank lines may be lost
	if !gap.behind || gap.stackless || p.panics.text {
		return false
	}
	if gap.counted {
		p.nextStack(b)
		return true
	}
	if gap.first.line == 0 {
		gap.first = p.lines.here(b)
	}
	call := gap.call
	gap.call = isCall(b)
	if file, place := cutOffsets(b); call && place && (bytes.IndexByte(file, '/') >= 0 || len(file) < len(b)) && (indent > 0 || bytes.IndexByte(file, ' ') < 0) {
		p.refuse()
	}
	return gap.counted
}

// nextStack looks for the end of a stack that was counted: another may follow without a
// blank line.
func (p *textParser) nextStack(b []byte) {
	if _, place := cutOffsets(b); place && p.gap.call {
		p.nextGap()
		return
	}
	p.gap.call = bytes.HasPrefix(b, []byte(creatorWord))
}

// isCall reports whether a line is a whole call, whose brackets are in balance.
func isCall(b []byte) bool {
	name := cutArgs(b)
	return b[len(b)-1] == ')' && len(name) > 0 && !isProse(name) && bytes.Count(name, []byte{'('}) == bytes.Count(name, []byte{')'})
}

// brokenHeader takes a line that begins like a header and does not go on as one. What
// follows belongs to it and not to the goroutine before.
func (p *textParser) brokenHeader(b []byte) {
	behind := p.blank || !p.open
	p.close()
	p.gap = gapState{behind: true, first: p.lines.here(b)}
	if behind && !p.panics.text {
		p.refuse()
	}
}

// likeHeader reports whether a line that is no header begins like one. The rest of a text
// that breaks off is no goroutine that was lost: the dump is marked as cut.
//
//	"goroutine 77" "goroutine 77 [sele" "goroutine 77 gp=0xc0000" -> true
func (p *textParser) likeHeader(b []byte) bool {
	_, rest, ok := cutNumber(b[len(headerWord):])
	return ok && p.lines.ended && (len(rest) == 0 || bytes.HasPrefix(rest, []byte(" [")) || bytes.HasPrefix(rest, []byte(" gp=")))
}

// gluedHeader reports whether a line ends with a header, or with the rest of one, which a
// program did not begin a line for.
//
//	"2026/11/21 03:00:00 slowgoroutine 7 [select]:"  -> true
//	"gor2026/11/21 03:00:00 slowoutine 7 [select]:" -> true
func (p *textParser) gluedHeader(b []byte) bool {
	for at := range len(headerWord) - 1 {
		if !bytes.HasPrefix(b, []byte(headerWord[:at])) {
			return false
		}
		i := bytes.LastIndex(b, []byte(headerWord[at:]))
		if i <= at || b[i-1] == ' ' || b[i-1] == '"' {
			continue
		}
		if _, rest, ok := cutNumber(b[i+len(headerWord)-at:]); ok && bytes.HasPrefix(rest, []byte(" [")) {
			return true
		}
	}
	return false
}

// here is the place of the line being read, of which b is the text.
func (l *lineReader) here(b []byte) refusedLine {
	return refusedLine{l.num, l.off, validText(b[:min(len(b), 60)])}
}

// refuse counts a goroutine that was seen and not understood, behind the one being read.
func (p *textParser) refuse() {
	p.gap.counted, p.gap.call = true, false
	if p.dump.Refused == 0 {
		p.refused = p.gap.first
	}
	p.dump.Refused++
	p.behind++
}

// refusals reports the goroutines of the text that are missing.
func (p *textParser) refusals() {
	d := &p.dump
	if d.Refused == 0 || d.Headers == 0 {
		d.Refused = 0 // without any goroutine it is no dump
		return
	}
	p.problems.always(analysis.Problem{
		Line: p.refused.line, Offset: p.refused.offset, Severity: analysis.Warning,
		What: fmt.Sprintf("%s not understood: the dump has at least %d", goroutinesWere(d.Refused), d.Headers),
		Why:  fmt.Sprintf("a stack stands there without a header of the form \"goroutine N [state]:\"; the first begins at %q", p.refused.text),
		Hint: "look at the raw lines, where something may have cut in, and take the dump again",
	})
}

func goroutinesWere(n int) string {
	if n == 1 {
		return "1 goroutine was"
	}
	return fmt.Sprintf("%d goroutines were", n)
}

// lacksNoCreator reports whether the block being read is complete without a creator: the
// runtime began its outermost function. A call behind a blank line is then none of its own.
func (p *textParser) lacksNoCreator() bool {
	text, _ := bytes.CutSuffix(p.key, []byte{'\n'})
	text = text[:max(0, bytes.LastIndexByte(text, '\n'))]
	switch string(text[bytes.LastIndexByte(text, '\n')+1:]) {
	case "main.main", "runtime.main", "runtime.goexit", "runtime.runFinalizers", "runtime.runfinq", "runtime.runCleanups":
		return true
	}
	return false
}
