package goroutine

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"leakdiff/analysis"
)

// Contention is what a mutex or block profile says, with how much of it was understood.
type Contention struct {
	analysis.Contention
	// Records counts the records, Refused those that were seen and not understood.
	Records, Refused int
	// Truncated is true if the text stops inside a record.
	Truncated bool
	// Time and Executable are known from a proto only.
	Time       time.Time
	Executable string
}

const (
	// mostContended bounds the stacks that are kept of a profile, mostContendedFrames the
	// frames of each. The runtime records 128 at most.
	mostContended       = 20
	mostContendedFrames = 64
)

// waits sums up the waits of each stack.
type waits struct {
	stacks *stackTable
	sums   map[*analysis.Stack]*analysis.Contended
}

func newWaits(cfg Config) waits {
	return waits{stacks: newStackTable(cfg), sums: map[*analysis.Stack]*analysis.Contended{}}
}

func (w *waits) add(key []byte, count, delay int64) {
	stack := w.stacks.get(key).stack
	sum := w.sums[stack]
	if sum == nil {
		sum = &analysis.Contended{Frames: stack.Frames, Elided: stack.Elided}
		w.sums[stack] = sum
	}
	sum.Count = addWaits(sum.Count, count)
	sum.Delay = time.Duration(addWaits(int64(sum.Delay), delay))
}

// addWaits adds two numbers that are not negative, and saturates.
func addWaits(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }

// fill sums up all waits for c, and gives it the stacks with most delay.
func (w *waits) fill(c *Contention) {
	all := make([]analysis.Contended, 0, len(w.sums))
	for _, sum := range w.sums {
		all = append(all, *sum)
	}
	slices.SortFunc(all, func(a, b analysis.Contended) int {
		return cmp.Or(cmp.Compare(b.Delay, a.Delay), cmp.Compare(b.Count, a.Count), compareFrames(a.Frames, b.Frames))
	})
	for i := range all {
		c.Count = addWaits(c.Count, all[i].Count)
		c.Delay = time.Duration(addWaits(int64(c.Delay), int64(all[i].Delay)))
	}
	c.Stacks = slices.Clone(all[:min(len(all), mostContended)])
	c.More = len(all) - len(c.Stacks)
	for i := range c.Stacks {
		s := &c.Stacks[i]
		kept := min(len(s.Frames), mostContendedFrames)
		s.Frames, s.Elided = slices.Clone(s.Frames[:kept]), max(0, s.Elided)+len(s.Frames)-kept
	}
	c.LowerBound = c.Refused > 0 || c.Truncated
}

func compareFrames(a, b []analysis.Frame) int {
	return slices.CompareFunc(a, b, func(x, y analysis.Frame) int {
		return cmp.Or(strings.Compare(x.Func, y.Func), strings.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line))
	})
}

// ParseContention reads the text of mutex and block profiles (debug=1,
// runtime/pprof.writeProfileInternal), of which a file may hold several. Profiles of another
// kind between them are left out. The error is that of r, or an *analysis.Fault with the
// code "other_profile" for a text without any.
func ParseContention(r io.Reader, cfg Config) ([]Contention, []analysis.Problem, error) {
	cfg = cfg.withDefaults()
	p := &contentionParser{cfg: cfg, lines: newLineReader(r), problems: problems{path: cfg.Path, max: cfg.MaxProblems}}
	defer p.lines.close()
	err := p.run()
	return p.found, p.problems.all(), err
}

// contentionParser reads the records of a debug=1 text, one line at a time.
type contentionParser struct {
	cfg      Config
	lines    *lineReader
	problems problems
	found    []Contention

	// The profile being read. rate is its cycles per second, 0 if it states none; refused
	// is its first line that was not understood.
	reading bool
	waits   waits
	rate    int64
	refused refusedLine
	// broken counts its records whose stack lacks frames.
	broken   int
	brokenAt int64

	// The record being read: what it counts, its addresses and its frames. headless is
	// true for the lines of a record whose first line was not understood.
	open, headless bool
	cycles, count  int64
	addresses      int
	frames         int
	recordAt       int64
	key            []byte
}

func (p *contentionParser) run() error {
	for {
		text, ok := p.lines.next()
		if !ok {
			break
		}
		if p.lines.dropped > 0 {
			p.problems.add(longLine(p.lines))
		}
		p.line(bytes.TrimSpace(bytes.TrimPrefix(text, []byte(byteOrderMark))))
	}
	if p.open {
		p.truncated()
	}
	p.end()
	if err := p.lines.failed(); err != nil {
		return err
	}
	if len(p.found) == 0 {
		return &analysis.Fault{
			Code: "other_profile",
			What: "the text is no mutex or block profile",
			Why:  `no line reads "--- mutex:" or "--- contention:"`,
			Hint: "fetch /debug/pprof/mutex or /debug/pprof/block again",
		}
	}
	return nil
}

func (p *contentionParser) line(b []byte) {
	if len(b) == 0 {
		p.deliver()
		p.headless = false
		return
	}
	if kind, ok := contentionHeader(b); ok {
		p.end()
		p.begin(kind)
		return
	}
	if !p.reading {
		return
	}
	if b[0] == '#' {
		p.frame(b)
		return
	}
	if cycles, count, addresses, ok := cutWaits(b); ok {
		p.deliver()
		p.open, p.headless, p.key, p.frames, p.recordAt = true, false, p.key[:0], 0, p.lines.num
		p.cycles, p.count, p.addresses = cycles, count, addresses
		return
	}
	if rate, ok := bytes.CutPrefix(b, []byte("cycles/second=")); ok {
		p.rate, _, _ = cutNumber(rate)
		return
	}
	switch {
	case bytes.HasPrefix(b, []byte("sampling period=")):
	case otherHeader(b):
		p.end()
	case likeRecord(b):
		p.refuse(b)
	case p.open:
		p.problems.add(analysis.Problem{
			Line: p.lines.num, Offset: p.lines.off, Severity: analysis.Note,
			What: "a line inside a record was not understood",
			Why:  `it begins neither with "#" nor with "CYCLES COUNT @"`,
			Hint: "the record is counted; compare its stack with the raw lines",
		})
	}
}

// contentionHeader reads the first line of a profile.
//
//	"--- mutex:"      -> mutex
//	"--- contention:" -> block
func contentionHeader(b []byte) (analysis.ContentionProfile, bool) {
	switch string(b) {
	case "--- mutex:":
		return analysis.MutexProfile, true
	case "--- contention:":
		return analysis.BlockProfile, true
	}
	return "", false
}

// otherHeader reports whether a profile of another kind begins.
func otherHeader(b []byte) bool {
	_, _, ok := cutTotal(b)
	return ok
}

// cutWaits reads the first line of a record.
//
//	"7574599932 5 @ 0x670e67 0x670e66" -> 7574599932, 5, 2
func cutWaits(b []byte) (cycles, count int64, addresses int, ok bool) {
	before, after, ok := bytes.Cut(b, []byte(" @"))
	if !ok || len(after) > 0 && after[0] != ' ' {
		return 0, 0, 0, false
	}
	cycles, before, ok = cutNumber(before)
	if !ok || cycles < 0 || len(before) == 0 || before[0] != ' ' {
		return 0, 0, 0, false
	}
	count, before, ok = cutNumber(before[1:])
	if !ok || count < 0 || len(before) > 0 {
		return 0, 0, 0, false
	}
	for _, address := range bytes.Fields(after) {
		if !bytes.HasPrefix(address, []byte("0x")) {
			return 0, 0, 0, false
		}
		addresses++
	}
	return cycles, count, addresses, true
}

func (p *contentionParser) begin(kind analysis.ContentionProfile) {
	if len(p.found) == maxProfiles {
		p.problems.add(analysis.Problem{
			Line: p.lines.num, Offset: p.lines.off, Severity: analysis.Warning,
			What: fmt.Sprintf("the file holds more than %d profiles; the rest, from line %d on, is not read", maxProfiles, p.lines.num),
			Why:  "so many profiles of one file are more than a page can show",
			Hint: "upload the last one alone: its figures include the others",
		})
		return
	}
	p.reading, p.waits, p.rate, p.broken = true, newWaits(p.cfg), 0, 0
	p.found = append(p.found, Contention{Contention: analysis.Contention{Profile: kind}})
}

// current is the profile being read.
func (p *contentionParser) current() *Contention { return &p.found[len(p.found)-1] }

// frame reads a line below a record.
//
//	"#	0x670e65	main.(*ledger).flush+0x45	example.org/ledger/main.go:31"
//	"#	0x670e65"
func (p *contentionParser) frame(b []byte) {
	name, place, ok := cutFrame(bytes.TrimSpace(b[1:]))
	switch {
	case !ok:
		return
	case !p.open:
		p.refuse(b)
		return
	}
	p.frames++
	if len(p.key) <= maxKey {
		p.key = appendFrame(p.key, name, place)
	}
}

// refuse counts a record whose first line was not understood, and ends the one before it.
func (p *contentionParser) refuse(b []byte) {
	p.deliver()
	if p.headless && b[0] == '#' {
		return
	}
	p.headless = true
	c := p.current()
	if c.Refused == 0 {
		p.refused = p.lines.here(b)
	}
	c.Refused++
}

// deliver counts the record being read, if any.
func (p *contentionParser) deliver() {
	if !p.open {
		return
	}
	p.open = false
	c := p.current()
	c.Records++
	// Every address but that of runtime.goexit has a line at least.
	if p.frames+1 < p.addresses {
		if p.broken++; p.broken == 1 {
			p.brokenAt = p.recordAt
		}
	}
	p.waits.add(p.key, p.count, nanoseconds(p.cycles, p.rate))
}

// nanoseconds is 0 without a rate.
func nanoseconds(cycles, rate int64) int64 {
	if rate <= 0 {
		return 0
	}
	return int64(min(float64(cycles)/(float64(rate)/1e9), 1<<62))
}

func (p *contentionParser) truncated() {
	p.deliver()
	p.current().Truncated = true
	p.problems.always(analysis.Problem{
		Line: p.lines.num, Offset: p.lines.pos(), Severity: analysis.Warning,
		What: "the profile is not complete",
		Why:  "it stops inside a record, behind which a blank line is missing",
		Hint: "fetch the profile again; what was read of it counts",
	})
}

// end completes the profile being read, if any.
func (p *contentionParser) end() {
	if !p.reading {
		return
	}
	p.deliver()
	p.reading, p.headless = false, false
	c := p.current()
	p.waits.fill(c)
	if p.waits.stacks.others > 0 {
		p.problems.add(tooManyStacks(p.waits.stacks))
	}
	if c.Refused > 0 {
		p.problems.add(analysis.Problem{
			Line: p.refused.line, Offset: p.refused.offset, Severity: analysis.Warning,
			What: fmt.Sprintf("%d of %d records of the %s profile were not understood", c.Refused, c.Refused+c.Records, c.Profile),
			Why:  fmt.Sprintf("the first line that begins like a record and goes on otherwise is %q", p.refused.text),
			Hint: "look at the raw lines, where something may have cut in, and fetch the profile again",
		})
	}
	if p.broken > 0 {
		p.problems.add(analysis.Problem{
			Line: p.brokenAt, Offset: -1, Severity: analysis.Warning,
			What: fmt.Sprintf("%d of %d records of the %s profile lack a part of their stack", p.broken, c.Records, c.Profile),
			Why:  "they have more addresses than lines below them",
			Hint: "their waits count; look at the raw lines, where something may have cut in",
		})
	}
	if p.rate <= 0 {
		p.problems.add(analysis.Problem{
			Offset: -1, Severity: analysis.Warning,
			What: fmt.Sprintf("the delays of the %s profile are not known", c.Profile),
			Why:  `no line "cycles/second=N" says how long a cycle is`,
			Hint: "the waits are counted; fetch the profile again for their time",
		})
	}
}

// ParseContentionProto reads the protobuf form of a mutex or block profile, compressed by
// gzip or not. It states nowhere which of the two it is: its stacks do, or the name of the
// file. Errors are as in ParseProto.
func ParseContentionProto(r io.Reader, cfg Config) (Contention, []analysis.Problem, error) {
	cfg = cfg.withDefaults()
	data, err := unpack(r, cfg.MaxProtoBytes)
	if err != nil {
		return Contention{}, nil, err
	}
	decoded, err := decode(data, cfg.MaxProtoBytes)
	if err != nil {
		return Contention{}, nil, err
	}
	count, delay := valueOf(decoded, "contentions", "count"), valueOf(decoded, "delay", "nanoseconds")
	if count < 0 || delay < 0 {
		return Contention{}, nil, &analysis.Fault{
			Code: "other_profile",
			What: "the profile counts no waits",
			Why:  "mutex and block profiles count contentions and nanoseconds of delay",
			Hint: "fetch /debug/pprof/mutex or /debug/pprof/block",
		}
	}
	p := &protoParser{problems: problems{path: cfg.Path, max: cfg.MaxProblems}}
	sums := newWaits(cfg)
	c := Contention{Contention: analysis.Contention{Window: time.Duration(max(0, decoded.DurationNanos))}}
	if decoded.TimeNanos > 0 {
		c.Time = time.Unix(0, decoded.TimeNanos).UTC()
	}
	if len(decoded.Mapping) > 0 {
		c.Executable = decoded.Mapping[0].File
	}
	for i, sample := range decoded.Sample {
		if sample.Value[count] < 0 || sample.Value[delay] < 0 {
			p.negative(i)
		}
		c.Records++
		sums.add(p.keyOf(sample), max(0, sample.Value[count]), max(0, sample.Value[delay]))
	}
	sums.fill(&c)
	c.Profile = profileOf(&c, cfg.Path)
	if sums.stacks.others > 0 {
		p.problems.always(tooManyStacks(sums.stacks))
	}
	return c, p.problems.all(), nil
}

// valueOf is the index of a value of samples, -1 without one.
func valueOf(decoded *profile.Profile, name, unit string) int {
	return slices.IndexFunc(decoded.SampleType, func(t *profile.ValueType) bool { return t.Type == name && t.Unit == unit })
}

// profileOf tells a mutex profile, whose stacks let a lock go, from a block profile.
func profileOf(c *Contention, file string) analysis.ContentionProfile {
	for i := range c.Stacks {
		if frames := c.Stacks[i].Frames; len(frames) > 0 {
			if unlocks(frames[0].Func) {
				return analysis.MutexProfile
			}
			return analysis.BlockProfile
		}
	}
	if strings.Contains(strings.ToLower(path.Base(file)), "mutex") {
		return analysis.MutexProfile
	}
	return analysis.BlockProfile
}

// unlocks reports whether a leaf is one of a mutex profile: of package sync, or of the locks
// of the runtime itself (runtime/mprof.go, mLockProfile).
func unlocks(function string) bool {
	method := function[strings.LastIndexByte(function, '.')+1:]
	return strings.Contains(function, "sync.(*") && strings.Contains(strings.ToLower(method), "unlock") ||
		strings.HasPrefix(function, "runtime.unlock") || function == "runtime._LostContendedRuntimeLock"
}
