package goroutine

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
)

// FunctionCount is a row of pprof -top: how many goroutines have a function on their stack.
type FunctionCount struct {
	Func  string
	Count int
}

// mostFunctions bounds the rows of pprof -top that are kept; they are in order of their size.
const mostFunctions = 1000

// pprofParser reads what the pprof tool prints.
type pprofParser struct {
	stacks    *stackTable
	visit     func(*Record) error
	profile   Profile
	functions []FunctionCount
	lines     *lineReader

	kind     string // of the profile
	duration time.Duration
	top      bool // below the titles of -top
	more     int  // in all rows
	fewer    int

	record Record
	open   bool
	key    []byte
}

// ParsePprof reads the text of pprof -traces, whose stacks have counts and no files, and hands
// each to visit. Of pprof -top, which has no stacks, it returns the functions; the total of its
// profile is the declared one. The error is that of r or of visit, or an *analysis.Fault with
// the code "other_profile" for a profile of something else or the difference of two.
func ParsePprof(r io.Reader, cfg Config, visit func(*Record) error) (Profile, []FunctionCount, []analysis.Problem, error) {
	cfg = cfg.withDefaults()
	p := &pprofParser{stacks: newStackTable(cfg), visit: visit, profile: Profile{Sample: sampleGoroutine}, lines: newLineReader(r)}
	defer p.lines.close()
	for {
		text, ok := p.lines.next()
		if !ok {
			break
		}
		if err := p.line(strings.TrimSpace(string(text))); err != nil {
			return p.profile, nil, nil, err
		}
	}
	if err := p.deliver(); err != nil {
		return p.profile, nil, nil, err
	}
	if err := p.lines.failed(); err != nil {
		return p.profile, nil, nil, err
	}
	f := &p.profile
	f.Bytes = p.lines.pos()
	switch {
	case p.kind != "" && p.kind != sampleGoroutine && p.kind != SampleGoroutineLeak:
		return Profile{}, nil, nil, otherProfile(p.kind)
	case p.fewer > 0 || p.duration > 0:
		return Profile{}, nil, nil, differs(p.more, p.fewer, p.duration)
	}
	f.Total = max(f.Total, f.Sum)
	var problems []analysis.Problem
	if p.stacks.others > 0 {
		found := tooManyStacks(p.stacks)
		found.Path = cfg.Path
		problems = append(problems, found)
	}
	if f.Truncated = f.Sum < f.Total; f.Truncated {
		f.TruncatedWhy = fmt.Sprintf("%d goroutines are counted, the stacks of %d are in the text", f.Total, f.Sum)
	}
	return *f, p.functions, problems, nil
}

// pprofTime is how pprof prints the time of a profile.
const pprofTime = "Jan 2, 2006 at 3:04pm (MST)"

// line sorts one line.
//
//	File: prober
//	Type: goroutine
//	Showing nodes accounting for 811, 100% of 811 total
//	-----------+-------------------------------------------------------
//	        10   runtime.gopark
//	             main.work
func (p *pprofParser) line(text string) error {
	key, value, _ := strings.Cut(text, ": ")
	fields := strings.Fields(text)
	switch {
	case text == "":
	case strings.HasPrefix(text, "-----------+"):
		p.top = false
		return p.deliver()
	case len(fields) > 2 && fields[0] == "flat" && fields[1] == "flat%":
		p.top = true
	case p.top:
		p.row(fields)
	case key == "File":
		p.profile.Executable = value
	case key == "Build ID":
		p.profile.BuildID = value
	case key == "Type":
		p.kind = value
	case key == "Time":
		if at, err := time.Parse(pprofTime, value); err == nil {
			p.profile.Time = at.UTC()
		}
	case key == "Duration":
		span, _, _ := strings.Cut(value, ",")
		p.duration, _ = time.ParseDuration(strings.ReplaceAll(span, "mins", "m"))
	case strings.HasPrefix(text, "Showing nodes accounting for "):
		if _, all, ok := strings.Cut(text, "% of "); ok {
			n, _, _ := cutNumber([]byte(all))
			p.profile.Total = clampCount(n)
		}
	default:
		return p.stack(fields)
	}
	return nil
}

// row reads a row of -top.
//
//	"810 99.88% 99.88%        811   100%  main.(*worker).run (inline)"
func (p *pprofParser) row(fields []string) {
	if len(fields) < 6 {
		return
	}
	flat, err1 := strconv.ParseInt(fields[0], 10, 64)
	cum, err2 := strconv.ParseInt(fields[3], 10, 64)
	if err1 != nil || err2 != nil {
		return
	}
	p.more, p.fewer = add(p.more, clampCount(flat)), add(p.fewer, clampCount(-flat))
	if len(p.functions) < mostFunctions {
		p.functions = append(p.functions, FunctionCount{Func: validText([]byte(fields[5])), Count: clampCount(cum)})
	}
}

// stack reads a line of a stack of -traces; the first has the count.
func (p *pprofParser) stack(fields []string) error {
	count, err := strconv.ParseInt(fields[0], 10, 64)
	if err == nil && len(fields) > 1 && !strings.HasSuffix(fields[1], ":") {
		if err := p.deliver(); err != nil {
			return err
		}
		p.more, p.fewer = add(p.more, clampCount(count)), add(p.fewer, clampCount(-count))
		p.record = Record{Count: clampCount(count), Line: p.lines.num, Offset: p.lines.off}
		p.open, p.key, fields = true, p.key[:0], fields[1:]
	}
	if !p.open || len(p.key) > maxKey || strings.HasSuffix(fields[0], ":") {
		return nil // a label
	}
	place := ""
	if len(fields) > 1 && fields[1] != "(inline)" {
		place = fields[1]
	}
	p.key = appendFrame(p.key, []byte(fields[0]), []byte(place))
	p.record.Length = p.lines.pos() - p.record.Offset
	return nil
}

// deliver hands the record being read, if any, to visit.
func (p *pprofParser) deliver() error {
	if !p.open {
		return nil
	}
	p.open = false
	p.record.Stack = p.stacks.get(bytes.Clone(p.key)).stack
	p.profile.Records++
	p.profile.Sum = add(p.profile.Sum, p.record.Count)
	if p.visit == nil {
		return nil
	}
	return p.visit(&p.record)
}
