// Package envelope takes dumps out of what logs and other texts wrapped around them:
// prefixes of journald, syslog, CRI, docker, kubectl, stern, logcli and compose,
// escapes of a log field or a JSON string, JSON of journald, Loki, Google Cloud
// Logging, CloudWatch and others, HTML, code blocks and quotations of a ticket, reports
// of goleak, indentation, or nothing but the program's own
// log lines before and after. It takes the bytes of one file and returns each dump in
// it as plain text, with its writer, its time, and the place of every goroutine or
// thread in the file. It does not know what the dump means: it looks at the beginnings
// of lines, never into a stack.
package envelope

import (
	"io"
	"time"

	"leakdiff/analysis"
)

// Source is the writer of the lines, as the prefixes name it; zero if they do not.
type Source struct {
	Host, Program, Unit, Namespace, Pod, Container string
	PID                                            int
	// Path is that of the file that a heading above the text names.
	Path string
	// Port is the one that the command above the text asks.
	Port int
}

// The kinds of dumps that a section may promise.
const (
	KindGoroutine = "goroutine"
	KindThread    = "thread"
	// KindBlock promises nothing: it is a block of Config.Blocks. KindOutput is what a command
	// of Config.Commands printed.
	KindBlock  = "block"
	KindOutput = "output"
)

// Section is one dump, unwrapped to plain text. Its text is held compressed.
type Section struct {
	Source Source
	// Form describes how the dump was wrapped, in words for a reason on a page:
	// "journald", "CRI", "docker JSON, escaped in a log field".
	Form string
	// Time is that of the line that begins the dump, or of the line before it that has
	// the time of the dump; zero if unknown.
	Time time.Time
	// Zoneless is true if the stamp had no zone and was read as UTC. Yearless is true
	// if it had no year: it got the latest year in which it is not after Config.Now.
	// Dayless is true if it was a clock without a date, which got the latest day in the
	// same way.
	Zoneless, Yearless, Dayless bool
	// Line and Offset are where the dump begins in the artifact; Line counts from 1.
	Line, Offset int64
	// Bytes is the length of the plain text.
	Bytes int64
	// Kind is the kind of dump that the text promises.
	Kind string
	// Headers counts the goroutine headers, the lines of a thread dump that
	// begin with a quote, or the lines of a block that are not blank.
	Headers int
	// Excerpt is true if it is one goroutine or two of a process that has more.
	Excerpt bool
	// Truncated is true if the text stops before the dump does; TruncatedWhy is the
	// sign of it.
	Truncated    bool
	TruncatedWhy string
	// Streamed numbers the dumps that Config.Stream read, counted from 1; 0 if the text
	// is held.
	Streamed int

	text  buffer
	marks checkpoints
}

// Open returns the plain text from its beginning, unless it was streamed. It may be
// called several times, and at the same time.
func (s *Section) Open() (io.ReadCloser, error) {
	if s.Streamed > 0 {
		return nil, errStreamed
	}
	return s.text.open()
}

// Locate returns the place in the artifact of an offset into the plain text: the line
// where the last goroutine or thread at or before it begins. After a prefix, raw is
// where the whole line begins; inside an escaped string it is where the header itself
// begins.
func (s *Section) Locate(offset int64) (line, raw int64) { return s.Places().Locate(offset) }

// Places looks the places of many offsets up, fast if they ascend.
type Places struct {
	cursor    cursor
	line, raw int64 // where there is no checkpoint
}

// Places returns the places of many offsets, as Locate does for one.
func (s *Section) Places() *Places {
	return &Places{cursor: cursor{in: &s.marks}, line: s.Line, raw: s.Offset}
}

// Locate is Section.Locate.
func (p *Places) Locate(offset int64) (line, raw int64) {
	if m, ok := p.cursor.find(offset); ok {
		return m.line, m.raw
	}
	return p.line, p.raw
}

// Config bounds what Unwrap keeps. The zero value means the defaults.
type Config struct {
	// Path goes into every problem.
	Path string
	// Now supplies the year of stamps without one; if it is zero such stamps are no
	// time.
	Now time.Time
	// MaxSections is the number of dumps that are kept, 1,000 by default.
	MaxSections int
	// MaxKept bounds the compressed bytes held for all sections, 32 MiB by default.
	MaxKept int64
	// MaxProblems is the number of problems that are listed, 100 by default.
	MaxProblems int
	// Blocks asks for all code blocks, indented blocks and quotations of a ticket instead
	// of the dumps in it; the reader judges what stands in each.
	Blocks bool
	// Commands asks for the output of each command of a shell session, below the line with
	// its prompt or the heading that a loop prints, which names the source. Its time is that
	// of the last line of date above.
	Commands bool
	// Stream, if set, reads the text of a dump while Unwrap is still reading the input,
	// so that the text is never held. It is called once for each dump, in a goroutine
	// of its own. The call for one dump has returned before the next begins, and the
	// last one before Unwrap returns. A dump whose first block (64 KiB) is full while
	// another one is being read is held as it is without Stream. Stream may stop
	// reading, and a panic of it becomes one of Unwrap. Section.Streamed matches calls
	// to dumps; a dump that was given up (MaxSections) matches none.
	Stream func(io.Reader)
}

func (c Config) withDefaults() Config {
	if c.MaxSections <= 0 {
		c.MaxSections = 1000
	}
	if c.MaxKept <= 0 {
		c.MaxKept = 32 << 20
	}
	if c.MaxProblems <= 0 {
		c.MaxProblems = 100
	}
	return c
}

// Info is what was seen of the input as a whole.
type Info struct {
	// Sections counts the dumps, Lines and Bytes the whole input.
	Sections, Lines, Bytes int64
	// Form is that of the sections, or of the first one and "others".
	Form string
	// Headers counts the headers in all sections.
	Headers int
	// LoneHeaders counts the goroutine headers of crash traces: a panic, a fatal error
	// or a log line that shows one or two goroutines is no dump.
	LoneHeaders int
	// Unproven counts those of them that are no crash: goroutines without a stack, or
	// without a sign that they wait.
	Unproven int
	// Kept is how many compressed bytes the sections hold.
	Kept int64
}

// Unwrap reads all of r and returns the dumps in it in the order in which they begin.
// Text without any dump passes at about the speed of a search for a byte; only JSON
// whose records need more than a line each is read as a whole. The error is that of r;
// the sections found until then are returned with it.
func Unwrap(r io.Reader, cfg Config) ([]Section, Info, []analysis.Problem, error) {
	s := newScanner(r, cfg.withDefaults())
	defer s.stream.abandon()
	s.run()
	return s.result()
}

// Promises reports whether the text holds the marker of a dump. The test is cheap: it
// may be true for a crash trace, and is never false for a dump.
func Promises(text []byte) bool {
	m := newMarkers(true)
	_, found := m.next(text, 0, len(text), 0, true)
	return found || documentName(text) != ""
}
