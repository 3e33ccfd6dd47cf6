package tracer

import (
	"io"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
	"leakdiff/analysis/say/wording"
)

// ParseStrace reads the lines of strace: with or without -f, -y, -k and times, whole or with
// "<unfinished ...>". The error is that of r only.
func ParseStrace(r io.Reader, file string) (Trace, []analysis.Problem, error) {
	p := &straceParser{t: newTable(), probs: &line.Problems{Path: file}, waits: map[int]string{}, forking: map[int]bool{}, programs: map[*process]programs{}, last: -1, first: -1}
	in := line.NewReader(r)
	for l := range in.All() {
		p.line(l)
	}
	p.endStack()
	return p.finish(in.Offset()), p.probs.All(), in.Failure(file)
}

// straceParser reads lines of strace.
type straceParser struct {
	t     *table
	probs *line.Problems
	// waits are the beginnings of calls that are not finished, by task; forking are the tasks of
	// those that make another one, at most maxForking.
	waits   map[int]string
	forking map[int]bool
	// broken is the beginning of a call of the task breaker, whose rest is the next line.
	broken  string
	breaker int
	// fresh are the descriptors that the last call made. The frames of its stack follow; frames
	// has their text and at its process.
	fresh  []*Opening
	frames []string
	at     *process
	// programs are what the stacks of each process ran.
	programs map[*process]programs
	stacks   int
	calls    int
	// first and last are the times of lines as written, without a date that of the day; -1
	// without any. dated reports times with a date, summed those since the line before.
	first, last time.Duration
	dated       bool
	// refused counts lines that begin like a call and were not understood.
	refused int
}

func (p *straceParser) line(l line.Line) {
	if frame, ok := strings.CutPrefix(l.Text, " > "); ok {
		if len(p.frames) < maxFrames && p.at != nil {
			p.frames = append(p.frames, frame)
		}
		return
	}
	p.endStack()
	if p.broken != "" {
		begun := p.broken
		p.broken = ""
		delete(p.forking, p.breaker)
		delete(p.waits, p.breaker)
		p.call(p.breaker, begun+l.Text, l)
		return
	}
	task, rest := cutTask(l.Text)
	rest = p.cutTime(rest)
	if begun, after, broken := strings.Cut(rest, attaches); broken && begun != "" {
		p.introduce(task)
		p.broken, p.breaker = strings.Clone(begun), task
		p.began(task, p.broken)
		p.attached(after)
		return
	}
	switch {
	case strings.HasPrefix(rest, "+++ "):
		q := p.t.of(task)
		if delete(q.live, task); task == 0 { // the last of its tasks
			clear(q.live)
		}
	case strings.HasPrefix(rest, "--- "):
		p.signal(task, rest)
	case strings.HasPrefix(rest, attaches):
		p.attached(rest[len(attaches):])
	case strings.HasPrefix(rest, "<... "):
		begun, waits := p.waits[task]
		_, end, ok := strings.Cut(rest, " resumed>")
		delete(p.forking, task)
		if delete(p.waits, task); waits && ok {
			p.call(task, begun+end, l)
		}
	case strings.HasSuffix(rest, "<unfinished ...>"):
		p.introduce(task)
		p.began(task, strings.TrimSuffix(rest, "<unfinished ...>"))
	case strings.Contains(rest, "("):
		p.introduce(task)
		p.call(task, rest, l)
	}
}

// attaches begins what strace says of a new task, on the terminal in the middle of the call that
// made it.
//
//	"clone(child_stack=NULL, flags=SIGCHLDstrace: Process 5751 attached"
//	", child_tidptr=0x7f99fda4ea10) = 5751"
const attaches = "strace: Process "

// began notes a call that is not finished.
func (p *straceParser) began(task int, text string) {
	if len(p.waits) >= maxWaits {
		return
	}
	p.waits[task] = text
	if name, _, _ := strings.Cut(text, "("); forks(name) && len(p.forking) < maxForking {
		p.forking[task] = true
	}
}

// cutTask cuts the id of the task off a line, 0 without one.
//
//	"5749  14:40:55 close(3) = 0" = 5749; "[pid  5749] close(3) = 0" = 5749; "close(3) = 0" = 0
func cutTask(text string) (int, string) {
	if rest, ok := strings.CutPrefix(text, "[pid "); ok {
		id, after, _ := strings.Cut(rest, "] ")
		id, _, _ = strings.Cut(strings.TrimSpace(id), "<")
		if n, err := strconv.Atoi(id); err == nil && n > 0 {
			return n, after
		}
		return 0, text
	}
	word, rest, _ := strings.Cut(text, " ")
	id, _, _ := strings.Cut(word, "<")
	if n, err := strconv.Atoi(id); err == nil && n > 0 {
		return n, strings.TrimLeft(rest, " ")
	}
	return 0, strings.TrimLeft(text, " ")
}

// cutTime cuts the time off a line and notes it: a clock, seconds since 1970, or since the line
// before.
func (p *straceParser) cutTime(text string) string {
	word, rest, _ := strings.Cut(text, " ")
	if word == "" || word[0] < '0' || word[0] > '9' {
		return text
	}
	switch hours, after, clock := strings.Cut(word, ":"); {
	case clock:
		minutes, seconds, _ := strings.Cut(after, ":")
		h, err1 := strconv.Atoi(hours)
		m, err2 := strconv.Atoi(minutes)
		s, ok := secondsOf(seconds)
		if err1 != nil || err2 != nil || !ok || h > 23 || m > 59 {
			return text
		}
		at := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + s
		const day = 24 * time.Hour
		if behind := p.last - day/2 - at; p.last >= 0 && behind > 0 { // past midnight
			at += (behind + day - 1) / day * day
		}
		p.timed(at)
	default:
		s, ok := secondsOf(word)
		if !ok {
			return text
		}
		if s >= 1e8*time.Second {
			p.dated = true
			p.timed(s)
		} else {
			p.timed(min(max(p.last, 0)+s, latest))
		}
	}
	return strings.TrimLeft(rest, " ")
}

func (p *straceParser) timed(at time.Duration) {
	if p.first < 0 {
		p.first = at
	}
	p.last = at
}

// latest bounds what a line may say of its time: a day in the year 2255.
const latest = 9e9 * time.Second

func secondsOf(text string) (time.Duration, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	s, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || s < 0 || s >= int64(latest/time.Second) || len(fraction) > 9 {
		return 0, false
	}
	n, err := strconv.ParseUint(fraction+strings.Repeat("0", 9-len(fraction)), 10, 32)
	return time.Duration(s)*time.Second + time.Duration(n), err == nil
}

// signal learns the process of a thread from a signal that a thread sent to another one of its
// own process.
func (p *straceParser) signal(task int, text string) {
	q := p.t.of(task)
	_, after, ok := strings.Cut(text, "si_code=SI_TKILL, si_pid=")
	if !ok || q != p.t.root || q.Certain {
		return
	}
	if pid, err := strconv.Atoi(after[:max(strings.IndexByte(after, ','), 0)]); err == nil && p.t.tasks[pid] == q {
		q.PID, q.Certain = pid, true
	}
}

// attached reads what strace says of the process that it was started with.
//
//	"5749 attached with 5 threads"    pid 5749
//	"5751 attached"                   a task of the call that makes one, if any does
func (p *straceParser) attached(text string) {
	id, rest, _ := strings.Cut(text, " ")
	pid, err := strconv.Atoi(id)
	switch {
	case err != nil || pid <= 0 || !strings.HasPrefix(rest, "attached"):
	case p.t.root == nil:
		q := p.t.of(pid)
		q.Certain = true
	default:
		p.introduce(pid)
	}
}

// introduce takes a task that was not seen for the child of a fork whose parent did not go on
// yet.
func (p *straceParser) introduce(task int) {
	if p.t.tasks[task] != nil {
		return
	}
	first := 0
	for parent := range p.forking {
		if first == 0 || parent < first {
			first = parent
		}
	}
	if begun, waits := p.waits[first]; waits && p.forking[first] {
		name, _, _ := strings.Cut(begun, "(")
		p.t.forked(p.t.of(first), task, shares(name, begun))
	}
}

func forks(name string) bool {
	return name == "fork" || name == "vfork" || name == "clone" || name == "clone3"
}

// shares reports a call that makes a task with the descriptors of its maker.
func shares(name, text string) bool {
	return strings.HasPrefix(name, "clone") && strings.Contains(text, "CLONE_FILES")
}

func (p *straceParser) call(task int, text string, l line.Line) {
	c, ok := parseCall(text)
	if !ok {
		if p.refused++; l.Clipped || p.refused == 1 && strings.HasSuffix(text, ")") {
			p.probs.Add(analysis.Warning, l, "a call is not understood", line.Quote(text)+" has no result", "nothing if strace was stopped within it")
		}
		return
	}
	p.calls++
	q := p.t.of(task)
	p.at = q
	if c.result < 0 {
		return
	}
	switch name := c.name; name {
	case "open", "openat", "openat2", "creat", "socket", "accept", "accept4", "epoll_create", "epoll_create1", "eventfd", "eventfd2", "timerfd_create", "signalfd", "signalfd4",
		"inotify_init", "inotify_init1", "fanotify_init", "pidfd_open", "io_uring_setup", "perf_event_open", "memfd_create":
		p.opened(q, &c, c.result, c.shown, l)
	case "pipe", "pipe2", "socketpair":
		ends := c.arg(0)
		if name == "socketpair" {
			ends = c.arg(3)
		}
		args, _, _ := cutArguments(strings.TrimPrefix(ends, "["))
		for _, end := range args {
			if fd, shown := number(end); fd >= 0 {
				p.opened(q, &c, fd, shown, l)
			}
		}
	case "dup", "dup2", "dup3", "fcntl":
		p.copied(q, &c, l)
	case "close":
		if fd, _ := number(c.arg(0)); fd >= 0 {
			p.t.closed(q, fd)
		}
	case "close_range":
		first, last := p.bound(c.arg(0)), p.bound(c.arg(1))
		if c.has("CLOSE_RANGE_CLOEXEC") {
			for fd, d := range q.descriptors {
				if fd >= first && fd <= last {
					q.descriptors[fd] = held{d.Opening, true, d.inherited}
				}
			}
			break
		}
		p.t.closedIf(q, func(fd int, _ held) bool { return fd >= first && fd <= last })
	case "execve", "execveat":
		p.t.closedIf(q, func(_ int, d held) bool { return d.closing })
		file := c.path(0)
		if name == "execveat" {
			file = c.path(1)
		}
		q.Program = path.Base(file)
		delete(p.programs, q)
	case "fork", "vfork", "clone", "clone3":
		if p.t.tasks[c.result] == nil || len(p.t.tasks[c.result].live) == 0 {
			p.t.forked(q, c.result, shares(name, text))
		}
	}
}

// bound is the number of close_range, whose last one is often the highest of all.
func (p *straceParser) bound(arg string) int {
	n, err := strconv.ParseInt(arg, 0, 64)
	if err != nil || n > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(n)
}

func (p *straceParser) opened(q *process, c *call, fd int, shown string, l line.Line) {
	o := Opening{FD: fd, Name: strings.Clone(c.describe(shown)), Place: l.Place(), Stack: -1, At: -1}
	if p.first >= 0 {
		o.At = p.last - p.first
	}
	if kept := p.t.opened(q, o, c.has("CLOEXEC")); kept != nil {
		p.fresh = append(p.fresh, kept)
	}
}

// copied reads the calls that copy a descriptor, and those of fcntl that say what exec does to
// it.
func (p *straceParser) copied(q *process, c *call, l line.Line) {
	from, shown := number(c.arg(0))
	if c.name == "fcntl" && !strings.HasPrefix(c.arg(1), "F_DUPFD") {
		if d, open := q.descriptors[from]; open && c.arg(1) == "F_SETFD" {
			q.descriptors[from] = held{d.Opening, c.has("FD_CLOEXEC"), d.inherited}
		}
		return
	}
	if c.name != "dup" && c.name != "fcntl" && from == c.result {
		return // dup2 of a descriptor onto itself
	}
	if c.shown != "" {
		shown = c.shown
	}
	if d, open := q.descriptors[from]; open && shown == "" {
		shown = d.Name
	}
	p.opened(q, c, c.result, shown, l)
}

// endStack gives the descriptors of the last call the stack that followed it.
func (p *straceParser) endStack() {
	if p.at == nil {
		return
	}
	if len(p.frames) > 0 {
		p.stacks++
	}
	if len(p.fresh) > 0 && len(p.frames) > 0 {
		if p.programs[p.at] == nil {
			p.programs[p.at] = programs{}
		}
		if program := programOf(p.frames); program != "" {
			p.programs[p.at][program]++
		}
		at := p.t.stack(strings.Join(p.frames, "\n"), func() analysis.Stack { return parseStack(p.frames) })
		for _, o := range p.fresh {
			p.at.openedAt(o, at)
		}
	}
	p.fresh, p.frames, p.at = p.fresh[:0], p.frames[:0], nil
}

func (p *straceParser) finish(bytes int64) Trace {
	for q, names := range p.programs {
		if name := names.most(); name != "" {
			q.Program = name
		}
	}
	out := Trace{Processes: p.t.left(), Stacks: p.t.stacks, Calls: p.calls, Bytes: bytes}
	if p.first >= 0 {
		out.Span = p.last - p.first
		if p.dated {
			out.Begin = time.Unix(0, int64(p.first)).UTC()
		}
	}
	if p.calls > 0 && p.stacks == 0 {
		p.probs.Add(analysis.Note, line.Line{}, "no stack says what opened the descriptors", "strace prints stacks with -k alone", "run "+wording.TraceCommand+" -p PID")
	}
	p.t.bounded(p.probs)
	return out
}

// bounded reports what was not kept.
func (t *table) bounded(probs *line.Problems) {
	for _, b := range []struct {
		n    int
		what string
		most int
	}{{t.full.descriptors, "descriptors", maxOpen}, {t.full.stacks, "stacks", maxStacks}, {t.full.tasks, "threads and processes", maxTasks}} {
		if b.n > 0 {
			probs.Add(analysis.Warning, line.Line{}, "too many "+b.what, "memory is bounded: "+strconv.Itoa(b.most)+" are followed, and "+strconv.Itoa(b.n)+" more were seen", "trace one process with -p, for a shorter time")
		}
	}
}
