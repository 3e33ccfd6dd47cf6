package goroutine

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"leakdiff/analysis"
)

// debug1Parser reads the records of a debug=1 text, one line at a time.
type debug1Parser struct {
	lines    *lineReader
	stacks   *stackTable
	problems problems
	visit    func(*Record) error
	profiles []Profile

	// The profile being read. reading is false before the first one and inside one of
	// another kind; other is the first of those.
	reading  bool
	other    string
	refused  refusedLine
	more     int  // profiles beyond maxProfiles
	reported bool // something is missing of a profile
	dumps    bool // a dump of another form was named

	// The record being read. headless is true for the lines of a record whose first
	// line was not understood.
	record         Record
	open, headless bool
	key            []byte
	end            int64
	// frame is the last line of a frame, which begins in the key at frameAt, and frameLine its
	// number: the next line may continue it.
	frame     []byte
	frameAt   int
	frameLine int64
	broken    brokenNames
	// checked is true for the list of a leak checker. name is the call whose place follows.
	checked bool
	name    []byte
}

// maxProfiles bounds the profiles of one text.
const maxProfiles = 1000

// ParseDebug1 reads a debug=1 text (runtime/pprof.printCountProfile), which may hold
// several profiles, and hands each record to visit. The record is valid during the call
// only; its Stack and Labels remain valid. Profiles of another kind between them are
// left out. The error is that of r or of visit, or an *analysis.Fault with the code
// "other_profile" for a text of another kind alone.
func ParseDebug1(r io.Reader, cfg Config, visit func(*Record) error) ([]Profile, []analysis.Problem, error) {
	cfg = cfg.withDefaults()
	p := &debug1Parser{
		lines:    newLineReader(r),
		stacks:   newStackTable(cfg),
		problems: problems{path: cfg.Path, max: cfg.MaxProblems},
		visit:    visit,
	}
	defer p.lines.close()
	err := p.run()
	p.finish(err == nil)
	return p.profiles, p.problems.all(), err
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
		line = bytes.TrimSpace(bytes.TrimLeft(bytes.TrimPrefix(line, []byte(byteOrderMark)), "> \t")) // of a quotation
		if err := p.line(line); err != nil {
			return err
		}
	}
	if err := p.deliver(); err != nil {
		return err
	}
	if err := p.lines.failed(); err != nil {
		return err
	}
	if len(p.profiles) == 0 && p.other != "" {
		return otherProfile(p.other)
	}
	return nil
}

func (p *debug1Parser) line(b []byte) error {
	switch {
	case len(b) == 0:
		p.headless = false
		return p.deliver()
	case b[0] == '#':
		if p.open {
			p.comment(b[1:])
		} else if p.reading && !p.headless && bytes.HasPrefix(bytes.TrimSpace(b[1:]), []byte("0x")) {
			return p.refuse(b)
		}
		return nil
	}
	if p.called(b) {
		return nil
	}
	if count, ok := cutCount(b); ok {
		return p.begin(count, false)
	}
	if count, ok := cutInstances(b); ok {
		return p.begin(count, true)
	}
	if name, total, ok := cutTotal(b); ok {
		if err := p.deliver(); err != nil {
			return err
		}
		p.header(name, total)
		return nil
	}
	if p.open && p.continues(b) {
		return nil
	}
	if p.reading && likeRecord(b) && p.lines.ended {
		return p.refuse(b)
	}
	if !p.dumps && otherDump(b) {
		p.dumps = true
		p.problems.always(analysis.Problem{
			Line: p.lines.num, Offset: p.lines.off, Severity: analysis.Warning,
			What: "a dump with a block for each goroutine stands in the file and is not read",
			Why:  "the file begins with a profile (debug=1), which is another form",
			Hint: "put each into a file of its own",
		})
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

// otherDump reports whether a line begins a block of debug=2.
//
//	"goroutine 5 [select]:" -> true
func otherDump(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte("goroutine "))
	_, rest, found := cutNumber(rest)
	return ok && found && bytes.HasPrefix(rest, []byte(" ["))
}

// likeRecord reports whether a line begins a record with a damaged count or damaged
// addresses.
//
//	"4 @ 0x48zz89" "4@ 0x4889ae" "x @ 0x4889ae" -> true
func likeRecord(b []byte) bool {
	return b[0] >= '0' && b[0] <= '9' || bytes.Contains(b, []byte("@ 0x"))
}

// refuse counts a record whose first line was not understood, and ends the record
// before it.
func (p *debug1Parser) refuse(b []byte) error {
	if err := p.deliver(); err != nil {
		return err
	}
	p.headless = true
	f := p.profile()
	if f.Refused == 0 {
		p.refused = p.lines.here(b)
	}
	f.Refused++
	return nil
}

// profile is the one being read.
func (p *debug1Parser) profile() *Profile { return &p.profiles[len(p.profiles)-1] }

// header begins a profile. Those of other kinds count no goroutines and are skipped.
func (p *debug1Parser) header(name string, total int) {
	p.endProfile(p.lines.off, true)
	p.headless = false
	if name != sampleGoroutine && name != SampleGoroutineLeak {
		if p.other == "" {
			p.other = name
		}
		return
	}
	if len(p.profiles) == maxProfiles {
		if p.more++; p.more == 1 {
			p.problems.add(analysis.Problem{
				Line: p.lines.num, Offset: p.lines.off, Severity: analysis.Warning,
				What: fmt.Sprintf("the file holds more than %d profiles; the rest, from line %d on, is not read", maxProfiles, p.lines.num),
				Why:  "so many snapshots of one file are more than a page can compare",
				Hint: "split the file there and add the rest to the case, or keep every tenth profile",
			})
		}
		return
	}
	p.reading = true
	p.profiles = append(p.profiles, Profile{Sample: name, Total: total, Line: p.lines.num, Offset: p.lines.off})
}

func otherProfile(name string) error {
	return &analysis.Fault{
		Code: "other_profile",
		What: fmt.Sprintf("the profile counts %q, not goroutines", name),
		Why:  "goroutine profiles count goroutine or goroutineleak",
		Hint: "fetch /debug/pprof/goroutine",
	}
}

// begin begins a record. The first one may stand in a text that lost the line above it, or
// in the list of a leak checker, which has none.
func (p *debug1Parser) begin(count int, checked bool) error {
	if err := p.deliver(); err != nil {
		return err
	}
	if len(p.profiles) == 0 && p.other == "" {
		p.header(sampleGoroutine, 0)
		p.profile().Undeclared, p.checked = !checked, checked
	}
	if !p.reading || checked && !p.checked {
		return nil
	}
	p.record = Record{Profile: len(p.profiles) - 1, Count: count, Line: p.lines.num, Offset: p.lines.off}
	p.open, p.headless, p.key, p.end, p.name = true, false, p.key[:0], p.lines.pos(), p.name[:0]
	return nil
}

// called reads a line of a stack in the list of a leak checker, which prints it as debug=2
// does, and reports whether it is one.
//
//	main.work(...)
//		/s/a.go:1 +0x1
//	created by main.start in goroutine 1
func (p *debug1Parser) called(b []byte) bool {
	if !p.checked || !p.open || len(p.key) > maxKey {
		return false
	}
	if place, ok := cutOffsets(b); ok && len(p.name) > 0 {
		if creator, ok := bytes.CutPrefix(p.name, []byte(creatorWord)); ok {
			p.key = append(p.key, markCreator)
			p.name, _ = cutParent(creator)
		}
		p.key, p.name, p.end = appendFrame(p.key, p.name, place), nil, p.lines.pos()
		return true
	}
	name := b
	if !bytes.HasPrefix(b, []byte(creatorWord)) {
		name = cutArgs(b)
	}
	p.name = bytes.Clone(name)
	return len(name) > 0
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
	p.endFrame()
	p.frameAt, p.frameLine = len(p.key), p.lines.num
	if name, place, ok := cutFrame(b); ok && len(p.key) <= maxKey {
		p.key, p.frame = appendFrame(p.key, name, place), append(p.frame[:0], b...)
	}
}

// leastWrapped is the length from which on a line of addresses may have been wrapped.
const leastWrapped = 40

// continues takes a line that was wrapped off the frame above it, or off the addresses of the
// record, and reports whether it is one.
//
//	"0x122fe68	m/subscriptions.(*Dispat", then "cher).await+0x268	/src/d.go:251"
func (p *debug1Parser) continues(b []byte) bool {
	if len(p.frame) == 0 {
		return len(p.key) == 0 && p.end-p.record.Offset >= leastWrapped && len(bytes.Trim(b, "0123456789abcdefx ")) == 0
	}
	if p.lines.num != p.frameLine+1 || len(p.frame) > maxKey || b[0] == '`' || b[0] == '{' || len(bytes.Fields(b)) > 2 {
		return false
	}
	_, name, place := cutColumns(p.frame)
	_, whole := cutOffsets(place)
	switch {
	case whole, len(name) == 0 && !bytes.Contains(b, []byte("+0x")):
		return false
	case len(place) == 0 && bytes.Contains(name, []byte("+0x")) && bytes.IndexByte(b, '/') == 0:
		// The line was wrapped between the name and its file.
		b = append([]byte("\t"), b...)
		p.frame = bytes.ReplaceAll(p.frame, []byte("  "), []byte("\t"))
	}
	p.frame = append(p.frame, b...)
	p.key, p.end, p.frameLine = p.key[:p.frameAt], p.lines.pos(), p.lines.num
	if name, place, ok := cutFrame(p.frame); ok {
		p.key = appendFrame(p.key, name, place)
	}
	return true
}

// endFrame counts a frame whose name breaks off: it lacks its offset and its file.
func (p *debug1Parser) endFrame() {
	if _, name, place := cutColumns(p.frame); len(p.frame) > 0 && len(name) > 0 && len(place) == 0 && !bytes.Contains(name, []byte("+0x")) {
		if p.broken.count++; p.broken.count == 1 {
			p.broken.line = p.frameLine
		}
	}
	p.frame = p.frame[:0]
}

// cutFrame reads the line of a frame. Without a function its name is the address.
//
//	"0x690e6b	main.hold.func7+0x4b	/src/main.go:102" -> "main.hold.func7", "/src/main.go:102"
func cutFrame(b []byte) (name, place []byte, ok bool) {
	address, name, place := cutColumns(b)
	if len(name) == 0 {
		name = address
	} else if i := bytes.LastIndex(name, []byte("+0x")); i > 0 {
		name = name[:i]
	}
	return name, place, bytes.HasPrefix(address, []byte("0x"))
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

// deliver hands the record being read, if any, to visit.
func (p *debug1Parser) deliver() error {
	if !p.open {
		return nil
	}
	p.open = false
	p.endFrame()
	p.record.Stack = p.stacks.get(p.key).stack
	p.record.Length = p.end - p.record.Offset
	f := p.profile()
	f.Records++
	f.Sum = add(f.Sum, p.record.Count)
	if p.visit == nil {
		return nil
	}
	return p.visit(&p.record)
}

// finish completes the last profile; whole is true if the text was read to its end.
func (p *debug1Parser) finish(whole bool) {
	if p.stacks.others > 0 {
		p.problems.always(tooManyStacks(p.stacks))
	}
	p.endProfile(p.lines.pos(), whole)
	p.problems.broken(p.broken)
	if whole && len(p.profiles) == 0 {
		p.problems.always(analysis.Problem{
			Offset: -1, Severity: analysis.Error,
			What: "no goroutine profile was found",
			Why:  `no line reads "goroutine profile: total N"`,
			Hint: "the file may be empty, of another kind, or wrapped in log lines",
		})
	}
}

// endProfile judges the profile being read, if any, which ends at an offset; whole is
// true if it was read to its end.
func (p *debug1Parser) endProfile(end int64, whole bool) {
	if !p.reading {
		return
	}
	p.reading = false
	f := p.profile()
	f.Bytes = end
	declared := f.Total
	if declared == 0 {
		f.Total = f.Sum
	}
	if f.Undeclared || p.checked {
		declared = f.Sum
	}
	if f.Sum >= declared {
		f.Refused = 0 // nothing is missing, so that these lines were no records
	}
	switch {
	case f.Undeclared:
		p.lost(analysis.Problem{
			Line: 1, Offset: f.Offset, Severity: analysis.Warning,
			What: "the total of the profile is not known",
			Why:  `no line "goroutine profile: total N" stands above its records`,
			Hint: "upload the profile from its first line on",
		})
	case f.Refused > 0:
		p.lost(analysis.Problem{
			Line: p.refused.line, Offset: p.refused.offset, Severity: analysis.Warning,
			What: fmt.Sprintf("%d of %d records of the profile were not understood: it has at least %d goroutines", f.Refused, f.Refused+f.Records, f.Sum),
			Why:  fmt.Sprintf("%d goroutines are declared; the first line that begins like a record and goes on otherwise is %q", declared, p.refused.text),
			Hint: "look at the raw lines, where something may have cut in, and fetch the profile again",
		})
	case whole && f.Sum != declared:
		p.truncated(f, end, fmt.Sprintf("%d goroutines are declared, %d were read", declared, f.Sum))
	}
}

func (p *debug1Parser) truncated(f *Profile, end int64, why string) {
	f.Truncated, f.TruncatedWhy = true, why
	p.lost(analysis.Problem{
		Line: p.lines.num, Offset: end, Severity: analysis.Warning,
		What: "the profile is not complete",
		Why:  why,
		Hint: "the declared total is right; fetch the profile again for the stacks",
	})
}

// lost reports what is missing of a profile, and reports the first such profile in any
// case.
func (p *debug1Parser) lost(found analysis.Problem) {
	if p.reported {
		p.problems.add(found)
		return
	}
	p.reported = true
	p.problems.always(found)
}

// appendFrame adds a frame to a key. Text from outside the lines of a dump may hold
// anything, so bytes with a meaning in keys are replaced.
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
//	"--- mutex:"                             -> "mutex", 0
func cutTotal(b []byte) (name string, total int, ok bool) {
	if rest, ok := bytes.CutPrefix(b, []byte("--- ")); ok {
		return string(bytes.TrimSuffix(rest, []byte(":"))), 0, string(rest) == "contention:" || string(rest) == "mutex:"
	}
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

// cutInstances reads what a leak checker prints above a stack (net/http, main_test.go).
//
//	"3 instances of:" "main_test.go:14: leaked a goroutine: 3 instances of:" -> 3
func cutInstances(b []byte) (int, bool) {
	if at := bytes.LastIndex(b, []byte(": ")); at >= 0 {
		b = b[at+2:]
	}
	n, rest, ok := cutNumber(b)
	return clampCount(n), ok && n > 0 && (string(rest) == " instances of:" || string(rest) == " instance of:")
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

// clampCount keeps a count within what an int holds everywhere.
func clampCount(n int64) int { return int(max(0, min(n, math.MaxInt32))) }

// add saturates, so that hostile counts do not become negative.
func add(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}
