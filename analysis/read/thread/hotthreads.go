package thread

import (
	"io"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/line"
)

// hotParser walks the lines of hot threads, a dump for each node.
type hotParser struct {
	lines    *line.Reader
	stacks   *stackTable
	problems *problems
	visit    func(int, *analysis.Thread) error
	dumps    []Dump
	dump     *Dump
	tooMany  int
	refused  refusals
	strange  refusals

	open   bool
	thread analysis.Thread
	begin  line.Line
	end    int64
	frames []analysis.Frame
	// snapshots counts those of the thread that were shown, samples are all that there can
	// be; only the first stack is kept, which the most snapshots share.
	snapshots, samples int64
	stacked            int
}

// ParseHotThreads reads the answers of /_nodes/hot_threads of Elasticsearch and OpenSearch.
// It is ParseText in everything else. No dump is whole, since it lists the busiest threads
// of its node.
func ParseHotThreads(r io.Reader, cfg Config, visit func(ordinal int, t *analysis.Thread) error) ([]Dump, []analysis.Problem, error) {
	cfg = cfg.withDefaults()
	p := &hotParser{lines: line.NewReader(r), stacks: newStackTable(cfg.MaxStacks), problems: newProblems(cfg), visit: visit}
	err := eachLine(p.lines, cfg.Path, p.line, p.endDump)
	p.dumps = p.problems.leftOut(p.dumps, p.tooMany, p.stacks)
	return p.dumps, p.problems.all(), err
}

// eachLine gives every line to take and calls end after the last one. The error is that
// of take, of end, or of the reader, which the path names.
func eachLine(lines *line.Reader, path string, take func(line.Line) error, end func() error) error {
	for {
		l, ok := lines.Next()
		if !ok {
			break
		}
		if err := take(l); err != nil {
			return err
		}
	}
	if err := end(); err != nil {
		return err
	}
	return lines.Failure(path)
}

var (
	// hotNode is the name of a node; old releases have brackets.
	hotNode = expression.Lazy(`^::: (?:\{([^}]*)\}|\[([^\]]*)\])`)
	hotTime = expression.Lazy(`^Hot threads at ([^,]+), interval=`)
	// hotThread is a thread by its share of the time, or by the memory that it took. Some
	// services leave out the last quote.
	hotThread = expression.Lazy(`^(?:[\d.]+% (?:\[[^\]]*\] )?\(\S+ out of \S+\) \w+ usage|\S+ memory allocated) by thread '(.*?)'?$`)
	// hotBegin is what a thread begins with.
	hotBegin = expression.Lazy(`^[\d.]+% [\[(]|^\S+ memory allocated |(?:usage|allocated) by thread`)
	hotShare = expression.Lazy(`^(\d+)/(\d+) snapshots sharing following \d+ elements$`)
)

func (p *hotParser) line(l line.Line) error {
	s := trim(l.Text)
	if s == "" {
		return nil
	}
	if m := hotNode.FindStringSubmatch(s); m != nil {
		if err := p.endDump(); err != nil {
			return err
		}
		p.beginDump(l, m[1]+m[2])
		return nil
	}
	if m := hotTime.FindStringSubmatch(s); m != nil {
		if t, err := time.Parse(time.RFC3339Nano, m[1]); err == nil && p.dump != nil {
			p.dump.Time = t.UTC()
		}
		return nil
	}
	if m := hotThread.FindStringSubmatch(s); m != nil {
		return p.beginThread(l, m[1])
	}
	switch {
	case hotBegin.MatchString(s):
		return p.lose(l)
	case s == "unique snapshot":
		return p.stack(l, 1, 0)
	case hotShare.MatchString(s):
		m := hotShare.FindStringSubmatch(s)
		return p.stack(l, number(m[1]), number(m[2]))
	case p.open:
		p.frame(l, s)
	}
	return nil
}

func (p *hotParser) beginDump(l line.Line, node string) {
	p.dumps = append(p.dumps, Dump{Ordinal: len(p.dumps), Form: FormHotThreads, Node: text(node), MainElapsed: -1, Line: l.Number, Offset: l.Offset})
	p.dump = &p.dumps[len(p.dumps)-1]
	p.refused, p.strange = refusals{}, refusals{}
}

func (p *hotParser) beginThread(l line.Line, name string) error {
	if err := p.deliver(); err != nil {
		return err
	}
	if p.dump == nil {
		p.beginDump(l, "")
	}
	p.open, p.thread, p.begin, p.end = true, newThread(), l, l.Offset+l.Length
	p.thread.Name = text(name)
	p.frames, p.snapshots, p.samples, p.stacked = p.frames[:0], 0, 0, 0
	return nil
}

// lose counts a thread whose header was not understood.
func (p *hotParser) lose(l line.Line) error {
	err := p.deliver()
	if p.dump == nil {
		p.beginDump(l, "")
	}
	p.refused.add(refusals{1, l})
	p.snapshots, p.samples, p.stacked = 0, 0, 0
	return err
}

// stack begins a stack that some snapshots share. If they are more than were taken, they are
// of two threads, of which one lost its header.
//
//	10/10 snapshots sharing following 15 elements
func (p *hotParser) stack(l line.Line, snapshots, of int64) error {
	if p.dump == nil {
		return nil
	}
	p.snapshots += snapshots
	p.samples = max(p.samples, of)
	if p.samples > 0 && p.snapshots > p.samples {
		err := p.lose(l)
		p.snapshots, p.samples = snapshots, of
		return err
	}
	p.stacked++
	return nil
}

func (p *hotParser) frame(l line.Line, s string) {
	f, ok := parseFrame(strings.TrimPrefix(s, "at "))
	if !ok {
		p.strange.add(refusals{1, l})
		return
	}
	p.end = l.Offset + l.Length
	if p.stacked <= 1 && len(p.frames) < maxFrames {
		p.frames = append(p.frames, f)
	}
}

func (p *hotParser) deliver() error {
	if !p.open {
		return nil
	}
	p.open = false
	t := &p.thread
	t.Stack = p.stacks.get(p.frames, 0)
	if runsVirtual(p.frames) {
		t.Sort = analysis.VirtualThread
	}
	t.Line, t.Offset, t.Length = p.begin.Number, p.begin.Offset, p.end-p.begin.Offset
	p.dump.Threads++
	if p.dump.Ordinal >= maxDumps {
		p.tooMany++
		return nil
	}
	return p.visit(p.dump.Ordinal, t)
}

func (p *hotParser) endDump() error {
	if err := p.deliver(); err != nil {
		return err
	}
	d := p.dump
	if d == nil {
		return nil
	}
	d.Refused = p.refused.count
	d.Truncated, d.TruncatedWhy = true, "hot threads are the busiest threads of a node, not all of them"
	const again = "take jstack -l PID of the node as well, which lists all threads"
	p.problems.once(at(d.Line, d.Offset), "hot threads list only the busiest threads of a node", "the answer stops after busiestThreads, and leaves out idle ones",
		"they show what keeps a node busy; whether threads leak, "+again)
	if d.Refused > 0 {
		p.problems.refusal(d, p.refused, again)
	}
	p.problems.foreign(p.strange.count, p.strange.first)
	p.dump = nil
	return nil
}
