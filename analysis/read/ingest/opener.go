package ingest

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/procfs"
	"leakdiff/analysis/read/tracer"
	"leakdiff/analysis/say/wording"
)

// callTrace is what a tracer saw of one process.
type callTrace struct {
	tracer.Process
	// left are the descriptors of Process.Left.
	left []analysis.Descriptor
	// stacks are those of the file, which its processes share.
	stacks []analysis.Stack
	begin  time.Time
	span   time.Duration
	// closesUnknown says that what was closed is not shown.
	closesUnknown bool
}

// own are the descriptors that the process opened itself and left open.
func (t *callTrace) own() []analysis.Descriptor {
	var out []analysis.Descriptor
	for i := range t.left {
		if !t.Left[i].Inherited {
			out = append(out, t.left[i])
		}
	}
	return out
}

type traceParser func(io.Reader, string) (tracer.Trace, []analysis.Problem, error)

// traced reads what a tracer saw: a part for each process that opened descriptors.
func traced(parse traceParser) formatReader {
	return func(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
		all, problems, err := parse(body, p.path)
		if ofOneTask(p.path, &all) {
			return &analysis.Fault{
				Code: "one_task", What: "the file holds the calls of one task alone (strace -ff)",
				Why:  "tasks of one process share its descriptors: what this one opened, another may have closed",
				Hint: "upload all of them in one file: strace-log-merge PREFIX > all.strace, or trace with -f and without -ff",
			}
		}
		r.problem(problems...)
		if err != nil && len(all.Processes) == 0 {
			return err
		}
		var parts []*part
		for i, process := range all.Processes {
			if i >= mostProcesses {
				r.bounds.rows++
				continue
			}
			q := p.another(0)
			q.pid, q.name = cmp.Or(process.PID, q.pid), process.Program
			q.trace = &callTrace{Process: process, stacks: all.Stacks, begin: all.Begin, span: all.Span, closesUnknown: all.ClosesUnknown}
			for _, o := range process.Left {
				q.trace.left = append(q.trace.left, leftDescriptor(&o))
			}
			if !all.Begin.IsZero() {
				q.inner = all.Begin.Add(all.Span)
			}
			if q.outcome = wording.Plural(process.Opened, "descriptor", "descriptors") + " opened"; q.pid != 0 {
				q.outcome += fmt.Sprintf(" by pid %d", q.pid)
			}
			own := len(q.trace.own())
			if !all.ClosesUnknown {
				q.outcome += fmt.Sprintf(", %d not closed", own)
			}
			a.Members += own
			parts = append(parts, q)
		}
		r.progress.Descriptors += a.Members
		a.Outcome = wording.Plural(all.Calls, "call", "calls")
		if !all.ClosesUnknown {
			a.Outcome += ", " + wording.Plural(a.Members, "descriptor", "descriptors") + " not closed"
		}
		r.parts = append(r.parts, parts...)
		return nil
	}
}

// ofOneTask reports a file of strace -ff: its name ends in the id of the task, which no line has.
func ofOneTask(file string, t *tracer.Trace) bool {
	id := path.Ext(file)
	n, err := strconv.Atoi(strings.TrimPrefix(id, "."))
	return err == nil && n > 1 && len(t.Processes) == 1 && t.Processes[0].PID == 0 && !t.ClosesUnknown
}

// leftDescriptor is a descriptor by what a tracer names it.
//
//	"/srv/a"                               a file
//	"UDP:[4702725]"                        a socket with its inode
//	"TCP:[10.0.0.1:4000->10.0.0.2:80]"     a socket with its ends
func leftDescriptor(o *tracer.Opening) analysis.Descriptor {
	d := procfs.Link(o.FD, o.Name)
	d.Place = o.Place
	protocol, ends, ok := strings.Cut(strings.TrimSuffix(o.Name, "]"), ":[")
	switch {
	case o.Name == "socket" || o.Name == "pipe":
		d.Type = o.Name
		return d
	case !ok || protocol == "" || protocol != strings.ToUpper(protocol) || strings.HasPrefix(o.Name, "/"):
		return d
	}
	d.Type, d.Inode = "socket", 0
	if inode, err := strconv.ParseUint(ends, 10, 64); err == nil {
		d.Inode, d.Name = inode, "socket:["+ends+"]"
	}
	protocol = strings.ToUpper(strings.TrimSuffix(strings.ToLower(protocol), "v6"))
	if protocol != "TCP" && protocol != "UDP" {
		return d
	}
	d.Protocol = protocol
	if d.Inode == 0 {
		d.Local, d.Remote, _ = strings.Cut(ends, "->")
	}
	return d
}

// withTraces gives what a tracer saw of a process to the captures that list its descriptors. What
// no capture takes is a capture of its own.
func withTraces(all []*group, traces []*part) []*group {
	var own []*group
	for _, p := range traces {
		given := false
		for _, g := range all {
			if g.traces(p) {
				g.context, given = append(g.context, p), true
			}
		}
		if !given && p.trace.Opened > 0 {
			own = append(own, &group{dir: p.dir, stem: p.stem, ordinal: p.ordinal, parts: []*part{p}})
		}
	}
	return append(all, own...)
}

// traces reports that a tracer watched the process whose descriptors the group lists: by its pid,
// or where one of them does not know it, by a descriptor that both have.
func (g *group) traces(p *part) bool {
	if pid := g.pid(); pid > 0 && p.trace.Certain && pid != p.pid {
		return false
	} else if pid > 0 && pid == p.pid {
		return slices.ContainsFunc(g.parts, func(q *part) bool { return q.links != nil || q.listing != nil })
	}
	rows := map[int]*analysis.Descriptor{}
	for i := range p.trace.left {
		rows[p.trace.left[i].FD] = &p.trace.left[i]
	}
	for _, q := range g.parts {
		for d := range q.named() {
			if known := rows[d.FD]; known != nil && same(known, d) {
				return true
			}
		}
	}
	return false
}

// named are the descriptors of a listing that shows their names; each is valid until the next.
func (p *part) named() iter.Seq[*analysis.Descriptor] {
	if p.listing != nil {
		return p.listing.rows.all()
	}
	return list{plain: p.links}.all()
}

// same reports that a traced descriptor and one of a listing with its number may be one: they have
// one inode, else one name. A trace that does not decode paths may show a relative one.
func same(traced, listed *analysis.Descriptor) bool {
	if traced.Inode != 0 && listed.Inode != 0 {
		return traced.Inode == listed.Inode
	}
	name, shown := strings.TrimSuffix(traced.Name, " (deleted)"), strings.TrimSuffix(listed.Name, " (deleted)")
	switch {
	case name == shown:
		return true
	case name == "socket":
		return listed.Type == "socket" || listed.Protocol != "" || strings.HasPrefix(shown, "socket:")
	case name == "pipe":
		return listed.Type == "pipe" || listed.Type == "fifo"
	case traced.Local != "":
		return traced.Local == listed.Local && traced.Remote == listed.Remote
	case strings.HasPrefix(name, "anon_inode:"):
		bare := strings.Trim(strings.TrimPrefix(name, "anon_inode:"), "[]")
		return bare != "" && strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(shown, "anon_inode:"), "["), bare)
	case name == "" || strings.HasPrefix(name, "/"):
		return false
	}
	return strings.HasPrefix(shown, "/") && strings.HasSuffix(shown, "/"+strings.TrimPrefix(name, "./"))
}

// leftOpen are the descriptors that were opened while a tracer ran, where nothing lists all.
func (b *builder) leftOpen() (*part, list) {
	for _, p := range b.g.parts {
		if p.trace == nil {
			continue
		}
		if p.trace.closesUnknown {
			b.inexact(analysis.KindDescriptor, analysis.NotComparable)
		} else {
			b.inexact(analysis.KindDescriptor, analysis.AtLeast)
		}
		b.figure(analysis.TraceSeconds, p.trace.span.Seconds())
		b.figure(analysis.TraceOpened, float64(p.trace.Opened))
		if p.trace.Ended {
			b.figure(analysis.TraceEnded, 1)
		}
		return p, list{plain: p.trace.own()}
	}
	return nil, list{}
}

// openers are the traced descriptors of a process by their numbers, and how many members of each
// family a stack opened.
type openers struct {
	of     map[int]opener
	before time.Time
	counts map[string]map[*analysis.Stack]int
	// sites are the stacks with what they opened and left open of all families.
	sites map[*analysis.Stack]*tracer.Opening
}

// opener is a traced descriptor with the stack that opened it, at a time that is zero if unknown.
type opener struct {
	descriptor *analysis.Descriptor
	stack      *analysis.Stack
	at         time.Time
}

// openers are those of what source lists.
func (b *builder) openers(source *part) *openers {
	out := &openers{of: map[int]opener{}, counts: map[string]map[*analysis.Stack]int{}, sites: map[*analysis.Stack]*tracer.Opening{}}
	if source.trace == nil {
		out.before = b.listedAt(source)
	}
	for _, all := range [][]*part{b.g.parts, b.g.context} {
		for _, p := range all {
			if p.trace == nil {
				continue
			}
			for i, o := range p.trace.Left {
				if o.Stack < 0 {
					continue
				}
				x := opener{descriptor: &p.trace.left[i], stack: &p.trace.stacks[o.Stack]}
				if !p.trace.begin.IsZero() && o.At >= 0 {
					x.at = p.trace.begin.Add(o.At)
				}
				out.of[o.FD] = x
				if !o.Inherited {
					out.sites[x.stack] = &p.trace.Left[i]
				}
			}
		}
	}
	return out
}

// listedAt is when the descriptors of a part were listed, zero if that is not known.
func (b *builder) listedAt(p *part) time.Time {
	var s analysis.Snapshot
	if b.when(&s); !s.CapturedAt.IsZero() && !s.Zoneless {
		return s.CapturedAt
	}
	return p.modified
}

// count adds a descriptor of a family to those whose opener is known: it has the number and the
// name of one that was opened before the listing.
func (o *openers) count(fingerprint string, d *analysis.Descriptor) {
	x, known := o.of[d.FD]
	if !known || !same(x.descriptor, d) || !x.at.IsZero() && !o.before.IsZero() && x.at.After(o.before.Add(sameInstant)) {
		return
	}
	if o.counts[fingerprint] == nil {
		o.counts[fingerprint] = map[*analysis.Stack]int{}
	}
	o.counts[fingerprint][x.stack]++
}

// ancestries are for analysis.Snapshot, nil without any.
func (o *openers) ancestries() map[string][]analysis.Ancestry {
	if len(o.counts) == 0 {
		return nil
	}
	out := make(map[string][]analysis.Ancestry, len(o.counts))
	for fingerprint, stacks := range o.counts {
		all := 0
		for _, n := range stacks {
			all += n
		}
		for stack, n := range stacks {
			a := analysis.Ancestry{Stacks: []analysis.Stack{*stack}, Count: n, Of: all}
			if site := o.sites[stack]; site != nil {
				a.Opened, a.Left = site.OfStack, site.LeftOfStack
			}
			out[fingerprint] = append(out[fingerprint], a)
		}
		slices.SortFunc(out[fingerprint], func(x, y analysis.Ancestry) int {
			return cmp.Or(cmp.Compare(y.Count, x.Count), slices.CompareFunc(x.Stacks[0].Frames, y.Stacks[0].Frames, compareFrames))
		})
		out[fingerprint] = out[fingerprint][:min(len(out[fingerprint]), analysis.MostAncestries)]
	}
	return out
}

func compareFrames(x, y analysis.Frame) int {
	return cmp.Or(strings.Compare(x.Func, y.Func), strings.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line))
}

// ancestries adds those of descriptors to those of goroutines.
func (b *builder) ancestries(found map[string][]analysis.Ancestry) {
	if len(found) == 0 {
		return
	}
	all := maps.Clone(b.s.Ancestries)
	if all == nil {
		all = map[string][]analysis.Ancestry{}
	}
	maps.Copy(all, found)
	b.s.Ancestries = all
}
