package ingest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/gauge"
	"leakdiff/analysis/read/line"
	"leakdiff/analysis/say/wording"
)

const (
	// mostPoints bounds the points in time of one text of counts. More are thinned evenly.
	mostPoints = 500
	// largestCount bounds a count: no process has more of anything.
	largestCount = 1 << 30
)

// countsBy reads counts over time: a part for every process at each point.
func countsBy(parse func(io.Reader, string, time.Time, int) (gauge.Samples, []analysis.Problem, error)) formatReader {
	return func(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
		dates := envelope.NewDates(r.written(p))
		found, problems, err := parse(io.TeeReader(body, dates), p.path, r.written(p), mostPoints)
		r.problem(problems...)
		times := dates.Of(found.Begins)
		type key struct {
			point int
			owner line.Owner
		}
		parts := map[key]*part{}
		for i := range found.All {
			s := &found.All[i]
			at := key{s.Point, s.Owner}
			q := parts[at]
			if q == nil {
				q = p.another(s.Point)
				q.pid, q.name, q.host, q.section = max(q.pid, s.Owner.PID), s.Owner.Program, s.Owner.Host, len(found.Begins) > 1
				q.form, q.within, q.figures = detect.Counts, s.Within, map[string]float64{}
				if q.dated(times[s.Point]); !s.Stamp.Time.IsZero() {
					q.dated(s.Stamp)
				}
				parts[at] = q
				r.parts = append(r.parts, q)
			}
			q.figures[s.Figure] = s.Value
		}
		if at := slices.IndexFunc(found.All, func(s gauge.Sample) bool { return s.Figure == gauge.Unnamed }); at >= 0 {
			first := &found.All[at]
			r.problem(analysis.Problem{Path: p.path, Line: first.Line, Offset: first.Offset, Severity: analysis.Note,
				What: "nothing says of what these numbers are", Why: "neither the name of the file nor a command or a label tells what " + strconv.FormatFloat(first.Value, 'f', -1, 64) + " counts: how they go is told, and not of what",
				Hint: "name the file after it (open-fds.txt, goroutines.txt, threads.txt), or leave the command above the numbers"})
		}
		for _, q := range parts {
			q.outcome = wording.Plural(len(q.figures), "count", "counts")
		}
		a.Rows = len(found.All)
		a.Outcome = wording.Plural(len(found.All), "count", "counts")
		if n := found.Points; n > 1 {
			a.Outcome += fmt.Sprintf(" at %d points in time", n)
		}
		if found.Every > 1 {
			r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Note, What: fmt.Sprintf("of %d points in time one of %d is taken, and the last", found.Points, found.Every),
				Why: fmt.Sprintf("at most %d points of one text are compared", mostPoints), Hint: "nothing: the course stays the same"})
		}
		if found.Left > 0 {
			r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Warning, What: wording.Plural(found.Left, "count was", "counts were") + " not kept",
				Why: "more stand at one point in time than one capture has", Hint: "put a date above the counts of each capture"})
		}
		return err
	}

}

// listedPods reads what runs on nodes: a part for each of them, which describes the processes of
// that node.
func listedPods(parse func(io.Reader, string) ([]*gauge.Node, int, []analysis.Problem, error)) func(*reader, io.Reader, *part, *analysis.Artifact) error {
	return func(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
		dates := envelope.NewDates(r.written(p))
		nodes, rows, problems, err := parse(io.TeeReader(body, dates), p.path)
		r.problem(problems...)
		begins, names := make([]int64, len(nodes)), map[string]bool{}
		for i, node := range nodes {
			begins[i], names[node.Name] = node.Begins, true
		}
		times := dates.Of(begins)
		for i, node := range nodes {
			q := p.another(node.Point)
			if q.figures, q.nodes, q.namespaces = node.Figures, len(names), node.Namespaces; q.host == "" {
				q.host = node.Name
			}
			if nodes[len(nodes)-1].Point > 0 { // several listings are captures of their own
				q.form, q.section, q.name = detect.Counts, true, "node"
			}
			q.dated(times[i])
			r.parts = append(r.parts, q)
		}
		a.Rows = rows
		a.Outcome = wording.Plural(rows, "row", "rows")
		return err
	}
}

// listedProcesses reads what a listing of the processes of a machine tells of each: a part for every
// one that is kept, and one for ended children whose parent is not told.
func listedProcesses(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	dates := envelope.NewDates(r.written(p))
	processes, rows, problems, err := gauge.ParseProcesses(io.TeeReader(body, dates), p.path)
	r.problem(problems...)
	begins := make([]int64, len(processes))
	for i, process := range processes {
		begins[i] = process.Begins
	}
	times := dates.Of(begins)
	for i, process := range processes {
		q := p.another(process.Point)
		q.pid, q.cmdline, q.figures, q.sole = process.PID, process.Args, process.Figures, process.Sole
		q.section = processes[len(processes)-1].Point > 0
		q.dated(times[i])
		r.parts = append(r.parts, q)
	}
	a.Rows = rows
	a.Outcome = wording.Plural(rows, "process", "processes")
	return err
}

// readLog reads what a log says of limits and of what was not closed.
func readLog(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	found, err := gauge.ParseLog(body, p.path, r.written(p))
	if p.logged = found.Facts; p.pid == 0 {
		p.pid = found.PID
	}
	if len(found.Facts) > 0 {
		p.inner = found.Facts[0].At
	}
	a.Rows = len(found.Facts)
	a.Outcome = wording.Plural(len(found.Facts), "fact", "facts")
	if found.Refused > 0 {
		r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Note, What: wording.Plural(found.Refused, "line of the log was", "lines of the log were") + " not read",
			Why: "of a log only limits that were reached and what was not closed are read", Hint: "nothing: the facts were read"})
	}
	return err
}

// listedVersions reads the versions of packages that known leaks are about.
func listedVersions(parse func(io.Reader, string, func(string) bool) (*gauge.Versions, []analysis.Problem, error)) func(*reader, io.Reader, *part, *analysis.Artifact) error {
	return func(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
		found, problems, err := parse(body, p.path, gauge.Wanted)
		r.problem(problems...)
		if found.Left > 0 {
			r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Warning, What: wording.Plural(found.Left, "version was", "versions were") + " left out",
				Why: "a list has few versions of what known leaks are about", Hint: "list the packages of one machine"})
		}
		p.packages = found.Kept
		a.Rows = found.Rows
		a.Outcome = fmt.Sprintf("%s, %d of them known", wording.Plural(found.Rows, "package", "packages"), len(found.Kept))
		return err
	}
}

// totalFigures are the figures that number all members of a kind.
var totalFigures = map[analysis.Kind][]string{
	analysis.KindGoroutine: {"go_goroutines"}, analysis.KindThread: {"os_threads"},
	analysis.KindDescriptor: {"process_open_fds"}, analysis.KindWatch: {"inotify_watches"}, analysis.KindCount: {gauge.Unnamed},
}

// counted takes the totals of a group without a dump from its figures.
func (b *builder) counted() {
	for kind, names := range totalFigures {
		for _, name := range names {
			v, known := b.s.Figures[name]
			if n := int(min(v, largestCount)); known && v >= 0 && b.s.Totals.Of(kind) == nil {
				switch kind {
				case analysis.KindGoroutine:
					b.s.Totals.Goroutines = &n
				case analysis.KindThread:
					b.s.Totals.Threads = &n
				case analysis.KindDescriptor:
					b.s.Totals.Descriptors = &n
				case analysis.KindWatch:
					b.s.Totals.Watches = &n
				case analysis.KindCount:
					b.s.Totals.Numbers = &n
				}
			}
		}
	}
}

// countedGroups makes families of sockets that were counted by their state, and of goroutines
// that were counted by their function. A goroutine has several functions: their numbers do not
// add up, and the largest is a lower bound of all.
func (b *builder) countedGroups() {
	var sockets, goroutines *int
	add := func(f *analysis.Family, v float64) int {
		n := int(min(v, largestCount))
		b.byPrint[f.Fingerprint] = &analysis.Group{Family: f, Count: n, OldestWait: -1}
		return n
	}
	for name, v := range b.s.Figures {
		if state, ok := gauge.SocketState(name); ok {
			n := add(analysis.SocketsIn(state), v)
			if sockets != nil {
				n += *sockets
			}
			sockets = &n
		}
		if function, ok := gauge.Function(name); ok && b.s.Totals.Goroutines == nil {
			n := add(analysis.InFunction(function), v)
			if goroutines != nil {
				n = max(n, *goroutines)
			}
			goroutines = &n
		}
	}
	if sockets != nil {
		b.s.Totals.Sockets = sockets
	}
	if goroutines != nil {
		b.s.Totals.Goroutines = goroutines
		if len(b.r.groups) == 1 { // lower bounds are compared with nothing
			b.inexact(analysis.KindGoroutine, analysis.AtLeast)
		}
	}
}

// countsOnly reports a part that has numbers, facts of a log or versions alone.
func (p *part) countsOnly() bool {
	return p.form == detect.Counts && len(p.figures) > 0 || p.alone || p.logged != nil || len(p.packages) > 0
}

// dumped reports a group with more than numbers.
func (g *group) dumped() bool {
	return slices.ContainsFunc(g.parts, func(p *part) bool { return !p.countsOnly() })
}

// joinListings makes one of listings of one moment that collectors write to several files: of the pods
// of a node those of its namespaces, and of processes those that differ in their columns (ps_auxwww,
// ps_alxwww).
func joinListings(all []*part) (out []*part) {
	type key struct {
		processes        bool
		dir, host, token string
		pid              int
	}
	first := map[key]*part{}
	for _, p := range all {
		k := key{p.form == detect.ProcessTable, p.dir, p.host, p.token(), p.pid}
		q := first[k]
		switch {
		case p.ordinal > 0 || !k.processes && p.nodes == 0: // no listing, or one of several of its file
		case q != nil && k.processes:
			maps.Copy(q.figures, p.figures)
			continue
		case q != nil && disjoint(q.namespaces, p.namespaces):
			for name, v := range p.figures {
				q.figures[name] += v
			}
			maps.Copy(q.namespaces, p.namespaces)
			continue
		default:
			first[k] = p
		}
		out = append(out, p)
	}
	return out
}

// disjoint reports that both listings tell their namespaces and have none in common.
func disjoint(a, b map[string]bool) bool {
	for name := range a {
		if name == "" || b[name] {
			return false
		}
	}
	return !b[""]
}
