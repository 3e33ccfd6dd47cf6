package goroutine

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"

	"leakdiff/analysis"
)

// debug1Parser reads the records of a debug=1 text, one line at a time.
type debug1Parser struct {
	lines    *lineReader
	stacks   *stackTable
	problems problems
	visit    func(*Record) error
	profile  Profile
	headed   bool // a "profile: total" line was read
	declared int

	// The record being read.
	record Record
	open   bool
	key    []byte
	end    int64
}

// ParseDebug1 reads a debug=1 text (runtime/pprof.printCountProfile; goroutine.md
// section 6) and gives each record to visit. The record is valid during the call
// only, its Stack and Labels stay. The error is that of r or of visit, or an
// *analysis.Fault with the code "other_profile" for a text of another kind.
func ParseDebug1(r io.Reader, cfg Config, visit func(*Record) error) (Profile, []analysis.Problem, error) {
	cfg = cfg.withDefaults()
	p := &debug1Parser{
		lines:    newLineReader(r),
		stacks:   newStackTable(cfg.MaxStacks),
		problems: problems{path: cfg.Path, max: cfg.MaxProblems},
		visit:    visit,
	}
	defer p.lines.close()
	err := p.run()
	p.finish(err == nil)
	return p.profile, p.problems.all(), err
}

func (p *debug1Parser) run() error {
	for {
		line, ok := p.lines.next()
		if !ok {
			break
		}
		if p.lines.dropped > 0 {
			p.problems.add(longLine(p.lines))
		}
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte(byteOrderMark)))
		if err := p.line(line); err != nil {
			return err
		}
	}
	if err := p.deliver(); err != nil {
		return err
	}
	return p.lines.failed()
}

func (p *debug1Parser) line(b []byte) error {
	switch {
	case len(b) == 0:
		return p.deliver()
	case b[0] == '#':
		if p.open {
			p.comment(b[1:])
		}
		return nil
	}
	if count, ok := cutCount(b); ok && p.headed {
		if err := p.deliver(); err != nil {
			return err
		}
		p.begin(count)
		return nil
	}
	if name, total, ok := cutTotal(b); ok {
		if err := p.deliver(); err != nil {
			return err
		}
		return p.header(name, total)
	}
	if p.open {
		p.problems.add(analysis.Problem{
			Line: p.lines.num, Offset: p.lines.off, Severity: analysis.Note,
			What: "a line inside a record was not understood",
			Why:  `it begins neither with "#" nor with "COUNT @"`,
			Hint: "the record is counted; compare its stack with the raw lines",
		})
	}
	return nil
}

// header begins a profile. Two in one file are added up, with a problem.
func (p *debug1Parser) header(name string, total int) error {
	if name != SampleGoroutine && name != SampleGoroutineLeak {
		if p.headed {
			return nil
		}
		return otherProfile(name)
	}
	if p.headed {
		p.problems.add(analysis.Problem{
			Line: p.lines.num, Offset: p.lines.off, Severity: analysis.Warning,
			What: "another profile begins in this file",
			Why:  "its records were added to those before",
			Hint: "split the file before this line",
		})
	}
	p.headed = true
	p.profile.Sample = name
	p.declared = add(p.declared, total)
	return nil
}

func otherProfile(name string) error {
	return &analysis.Fault{
		Code: "other_profile",
		What: fmt.Sprintf("the profile counts %q, not goroutines", name),
		Why:  "goroutine profiles count goroutine or goroutineleak",
		Hint: "fetch /debug/pprof/goroutine",
	}
}

func (p *debug1Parser) begin(count int) {
	p.record = Record{Count: count, Line: p.lines.num, Offset: p.lines.off}
	p.open, p.key, p.end = true, p.key[:0], p.lines.pos()
}

// comment reads what follows the "#" of a line of a record.
//
//	` labels: {"controller":"node-lifecycle", "k":"v1"}`
//	`	0x690e6b	main.hold.func7+0x4b	/src/app/main.go:102`
//	`	0x690e6b`
func (p *debug1Parser) comment(b []byte) {
	b = bytes.TrimSpace(b)
	p.end = p.lines.pos()
	if labels, ok := bytes.CutPrefix(b, []byte("labels: ")); ok {
		p.labels(labels)
		return
	}
	address, name, place := cutColumns(b)
	if !bytes.HasPrefix(address, []byte("0x")) || len(p.key) > maxKey {
		return
	}
	if len(name) == 0 {
		name = address
	} else if i := bytes.LastIndex(name, []byte("+0x")); i > 0 {
		name = name[:i]
	}
	p.key = appendFrame(p.key, name, place)
}

// labels reads a label set; what cannot be read is left out with a problem.
func (p *debug1Parser) labels(b []byte) {
	labels, ok := parseLabels(b)
	p.record.Labels = labels
	if ok {
		return
	}
	p.problems.add(analysis.Problem{
		Line: p.lines.num, Offset: p.lines.off, Severity: analysis.Note,
		What: "the labels of a record were not understood",
		Why:  `they do not read {"key":"value", ...}`,
		Hint: "the record is counted without the labels that follow the error",
	})
}

// deliver gives the record being read, if any, to visit.
func (p *debug1Parser) deliver() error {
	if !p.open {
		return nil
	}
	p.open = false
	p.record.Stack = p.stacks.get(p.key).stack
	p.record.Length = p.end - p.record.Offset
	p.profile.Records++
	p.profile.Sum = add(p.profile.Sum, p.record.Count)
	if p.visit == nil {
		return nil
	}
	return p.visit(&p.record)
}

// finish completes the profile; whole says that it was read to its end.
func (p *debug1Parser) finish(whole bool) {
	f := &p.profile
	f.Bytes = p.lines.pos()
	f.Total = f.Sum
	if p.declared > 0 {
		f.Total = p.declared
	}
	if p.stacks.others > 0 {
		p.problems.always(tooManyStacks(p.stacks))
	}
	if !whole {
		return
	}
	if !p.headed {
		p.problems.always(analysis.Problem{
			Offset: -1, Severity: analysis.Error,
			What: "no goroutine profile was found",
			Why:  `no line reads "goroutine profile: total N"`,
			Hint: "the file may be empty, of another kind, or wrapped in log lines",
		})
		return
	}
	if f.Sum != p.declared {
		p.truncated(fmt.Sprintf("%d goroutines are declared, %d were read", p.declared, f.Sum))
	}
}

func (p *debug1Parser) truncated(why string) {
	p.profile.Truncated, p.profile.TruncatedWhy = true, why
	p.problems.always(analysis.Problem{
		Line: p.lines.num, Offset: p.profile.Bytes, Severity: analysis.Warning,
		What: "the profile is not complete",
		Why:  why,
		Hint: "the declared total is right; fetch the profile again for the stacks",
	})
}

// appendFrame adds a frame to a key. Text from elsewhere than a line of a dump
// may hold anything, so what has a meaning in keys is replaced.
func appendFrame(key, name, place []byte) []byte {
	key = append(appendClean(key, name), '\n')
	return append(appendClean(key, place), '\n')
}

func appendClean(key, text []byte) []byte {
	for _, c := range text {
		if c < ' ' {
			c = ' '
		}
		key = append(key, c)
	}
	return key
}

// cutTotal reads the first line of a count profile, and of a heap profile so
// that it can be refused by name.
//
//	"goroutine profile: total 81"            -> "goroutine", 81
//	"heap profile: 1: 2 [3: 4] @ heap/1048576" -> "heap", 0
func cutTotal(b []byte) (name string, total int, ok bool) {
	word, rest, ok := bytes.Cut(b, []byte(" profile: "))
	if !ok || len(word) == 0 || len(word) > 64 || bytes.ContainsAny(word, " \t") {
		return "", 0, false
	}
	if number, ok := bytes.CutPrefix(rest, []byte("total ")); ok {
		n, _, ok := cutNumber(number)
		return string(word), clampCount(n), ok
	}
	return string(word), 0, string(word) == "heap"
}

// cutCount reads the first line of a record.
//
//	"4 @ 0x4889ae 0x465a85" -> 4
//	"2 @"                   -> 2
func cutCount(b []byte) (int, bool) {
	n, rest, ok := cutNumber(b)
	if !ok || n < 0 || len(rest) < 2 || rest[0] != ' ' || rest[1] != '@' {
		return 0, false
	}
	return clampCount(n), len(rest) == 2 || rest[2] == ' '
}

// cutColumns splits the columns that text/tabwriter padded with tabs. Where tabs
// became spaces, two of them separate: names may hold one.
//
//	"0x1	main.f+0x4b		/src/main.go:102" -> "0x1", "main.f+0x4b", "/src/main.go:102"
func cutColumns(b []byte) (address, name, place []byte) {
	separator := []byte("\t")
	if bytes.IndexByte(b, '\t') < 0 {
		separator = []byte("  ")
	}
	address, b, _ = bytes.Cut(b, separator)
	name, b, _ = bytes.Cut(bytes.TrimSpace(b), separator)
	return address, name, bytes.TrimSpace(b)
}

// parseLabels reads a label set as runtime/pprof.labelMap prints it, and reports
// whether it was understood to its end.
//
//	{"controller":"node-lifecycle", "na me":"quo\"te]:, x"}
func parseLabels(b []byte) (map[string]string, bool) {
	rest, ok := bytes.CutPrefix(b, []byte("{"))
	labels := map[string]string{}
	for ok {
		if string(rest) == "}" {
			return labels, true
		}
		var key, value string
		if key, rest, ok = cutQuoted(rest); !ok {
			break
		}
		if rest, ok = bytes.CutPrefix(rest, []byte(":")); !ok {
			break
		}
		if value, rest, ok = cutQuoted(bytes.TrimPrefix(rest, []byte(" "))); !ok {
			break
		}
		labels[key] = value
		rest = bytes.TrimPrefix(rest, []byte(", "))
	}
	if len(labels) == 0 {
		return nil, false
	}
	return labels, false
}

// cutQuoted takes a Go string literal off b.
func cutQuoted(b []byte) (value string, rest []byte, ok bool) {
	literal, err := strconv.QuotedPrefix(string(b))
	if err != nil {
		return "", nil, false
	}
	value, err = strconv.Unquote(literal)
	return validText([]byte(value)), b[len(literal):], err == nil
}

// clampCount keeps a count within what an int holds everywhere.
func clampCount(n int64) int { return int(max(0, min(n, math.MaxInt32))) }

// add saturates, so that hostile counts do not become negative.
func add(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}
