package ingest

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/join"
	"leakdiff/analysis/read/procfs"
	"leakdiff/analysis/read/thread"
	"leakdiff/analysis/say/wording"
)

// threadDump is one dump of a JVM, its threads as families.
type threadDump struct {
	dump   thread.Dump
	bounds *bounds
	groups map[string]*analysis.Group
	exact  map[string]map[string]int
	prints map[*analysis.Stack]string
	count  int
	locks  monitors
	// joins has the threads of each object.
	joins   join.Monitors
	waits   lockWaits
	virtual virtualThreads
	// addresses are the threads with their addresses, see processIdentity.
	addresses identities
	// aged is true if some thread has an age; oldest is the greatest, in seconds.
	aged   bool
	oldest float64
	// unnumbered threads have no id with which they could be followed. Virtual ones that a
	// javacore lists without an id hide no other thread's.
	unnumbered int
	// cpu are the processor times of the members of each group, in milliseconds; timed is true if
	// some thread has one.
	cpu   map[string][]int64
	timed bool
	// mainClass is that of the thread "main", see mainOf.
	mainClass string
	// javaOnly is true if the form lists no threads of the virtual machine.
	javaOnly bool
}

// javaForms come from thread MX beans and the like, which know nothing of the virtual
// machine's own threads.
var javaForms = []string{thread.FormSupportCore, thread.FormJenkins, thread.FormThreadInfo, thread.FormStackTraces, thread.FormActuator, thread.FormVisualVM, thread.FormJConsole, thread.FormJavaMelody, thread.FormDumpToFile, thread.FormDumpToFileJSON, thread.FormHotThreads}

// numbered reports whether the threads can be followed to other dumps: older
// forms print no number, or only the names.
func (t *threadDump) numbered() bool { return t.unnumbered == 0 }

type threadParser func(io.Reader, thread.Config, func(int, *analysis.Thread) error) ([]thread.Dump, []analysis.Problem, error)

// threaded reads a file that may hold many dumps, each a part.
func threaded(parse threadParser) func(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	return func(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
		var all []*threadDump
		var families family.Threads
		dumps, problems, err := parse(body, thread.Config{Path: p.path}, func(ordinal int, t *analysis.Thread) error {
			for len(all) <= ordinal {
				all = append(all, newThreadDump(&r.bounds))
			}
			all[ordinal].add(t, families.OfThread(t))
			r.progress.Threads++
			return nil
		})
		r.problem(problems...)
		if err != nil && len(all) == 0 {
			return err
		}
		var parts []*part
		refused := 0
		var pieces fragments
		next := map[int]int{} // by pid: each process has a first dump
		for _, d := range dumps {
			if d.Ordinal >= len(all) || all[d.Ordinal].count == 0 {
				continue
			}
			t := all[d.Ordinal]
			t.dump, t.javaOnly = d, slices.Contains(javaForms, d.Form)
			q := p.another(next[d.PID])
			next[d.PID]++
			q.threads, q.inner, q.zoneless = t, d.Time, d.Zoneless && !d.Time.IsZero()
			switch {
			case d.PID != 0:
				q.pid = d.PID
			case d.Excerpt: // of which process it is nobody says
				q.name = r.excerptName(d.Line)
			case len(dumps) > 1:
				q.name = cmp.Or(pieces.process(r, &d, t), q.name)
			}
			if d.Form == thread.FormHotThreads && d.Node != "" {
				q.host = d.Node
			}
			q.outcome = atLeast(wording.Plural(t.count, "thread", "threads"), d.Truncated, d.Refused)
			a.Members += t.count
			refused += d.Refused
			a.Truncated = a.Truncated || d.Truncated
			parts = append(parts, q)
		}
		a.Outcome = atLeast(wording.Plural(a.Members, "thread", "threads"), a.Truncated, refused)
		r.problem(pieces.problem(p.path)...)
		r.several(parts, a, "dump")
		for _, q := range parts {
			q.section = next[q.threads.dump.PID] > 1
		}
		return nil
	}
}

// atLeast marks a figure as a lower bound if the text is cut or members were refused.
func atLeast(figure string, cut bool, refused int) string {
	if cut || refused > 0 {
		figure = "at least " + figure
	}
	if cut {
		figure += ", cut"
	}
	if refused > 0 {
		figure += fmt.Sprintf(", %d not understood", refused)
	}
	return figure
}

func newThreadDump(b *bounds) *threadDump {
	return &threadDump{bounds: b, groups: map[string]*analysis.Group{}, exact: map[string]map[string]int{}, cpu: map[string][]int64{}, prints: map[*analysis.Stack]string{}}
}

func (d *threadDump) add(t *analysis.Thread, f *analysis.Family) {
	d.count++
	g := d.groups[f.Fingerprint]
	if g == nil && len(d.groups) >= d.bounds.room() {
		f = d.bounds.others(analysis.KindThread)
		g = d.groups[f.Fingerprint]
		d.bounds.sum(analysis.KindThread, 1)
	}
	if g == nil {
		d.bounds.groups++
		g = &analysis.Group{Family: f, OldestWait: -1, States: map[string]int{}}
		d.groups[f.Fingerprint] = g
	}
	g.Count++
	if t.State != "" {
		g.States[t.State]++
	}
	if d.mainClass == "" {
		d.mainClass = mainOf(t)
	}
	d.locks.add(t, f.Fingerprint)
	d.waits.add(t)
	d.virtual.add(t)
	if d.bounds.threads++; d.bounds.threads > mostThreads {
		d.bounds.counted++
		return
	}
	m := g.Members.Fill()
	variant := int32(-1)
	if t.Stack != nil {
		variant = int32(variantAs(g, d.exact, d.print(t.Stack), t.Stack))
		g.Variants[variant].Count++
	}
	m.Variant = append(m.Variant, variant)
	m.State = append(m.State, stateIndex(&g.Members, t.State))
	id, hash := t.ID, uint64(0)
	if id < 0 && t.Sort == analysis.VMThread {
		id, hash = t.Native, nameHash(t.Name)
	}
	if id < 0 && t.Sort != analysis.VirtualThread {
		d.unnumbered++
	}
	d.joins.Add(id, f.Fingerprint, t.Locks)
	m.ID = append(m.ID, id)
	m.Hash = append(m.Hash, hash)
	if t.Address != 0 {
		d.addresses.add(int64(t.Address), t.Name)
	}
	age := int32(-1)
	if t.Elapsed >= 0 {
		age = int32(min(t.Elapsed, 1<<30))
		d.aged, d.oldest = true, max(d.oldest, t.Elapsed)
	}
	m.Age = append(m.Age, age)
	cpu := int64(-1)
	if t.CPU >= 0 {
		cpu, d.timed = int64(min(t.CPU*1000, 1<<53)), true
	}
	d.cpu[g.Family.Fingerprint] = append(d.cpu[g.Family.Fingerprint], cpu)
	m.Line = append(m.Line, t.Line)
	m.Offset = append(m.Offset, t.Offset)
	m.Length = append(m.Length, int32(min(t.Length, 1<<31-1)))
	m.Detail = append(m.Detail, clip(strings.ReplaceAll(t.Name, "\n", " "), 200))
}

// print is the exact fingerprint of a stack, which many threads share.
func (d *threadDump) print(s *analysis.Stack) string {
	print, ok := d.prints[s]
	if !ok {
		print = family.ExactThread(s)
		d.prints[s] = print
	}
	return print
}

func nameHash(name string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, name)
	return h.Sum64()
}

// fewVariants are looked through; if a family has more, they are indexed.
const fewVariants = 8

// variantAs finds or makes an exact stack of a family, by its fingerprint. exact
// indexes those of families that have many.
func variantAs(g *analysis.Group, exact map[string]map[string]int, print string, s *analysis.Stack) int {
	index := exact[g.Family.Fingerprint]
	if at, ok := index[print]; ok {
		return at
	}
	if index == nil {
		for at := range g.Variants {
			if g.Variants[at].Fingerprint == print {
				return at
			}
		}
	}
	g.Variants = append(g.Variants, analysis.Variant{Fingerprint: print, Stack: s})
	if index == nil && len(g.Variants) > fewVariants {
		index = make(map[string]int, 2*len(g.Variants))
		exact[g.Family.Fingerprint] = index
		for at := range g.Variants {
			index[g.Variants[at].Fingerprint] = at
		}
	}
	if index != nil {
		index[print] = len(g.Variants) - 1
	}
	return len(g.Variants) - 1
}

// threads fills totals and families from one of the snapshot's dumps. Where some
// of them list no threads of the virtual machine, one of these is taken: what all
// forms show can be compared with snapshots that have only one of them.
func (b *builder) threads() {
	var all []*part
	for _, p := range b.g.parts {
		if p.threads != nil {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		b.countedThreads()
		return
	}
	best := slices.MaxFunc(all, func(p, q *part) int { return p.threadRank() - q.threadRank() })
	at := int32(b.addArtifact(best))
	d := best.threads
	for _, print := range sortedKeys(d.groups) {
		g := d.groups[print]
		m := g.Members.Fill()
		m.Artifact = make([]int32, len(m.Offset))
		for i := range m.Artifact {
			m.Artifact[i] = at
		}
		if !d.numbered() || slices.Contains(m.ID, -1) {
			m.ID, m.Hash = nil, nil
		}
		if !d.aged {
			m.Age = nil
		}
		b.byPrint[print] = g
	}
	if d.timed {
		b.s.CPU = d.cpu
	}
	total := d.count
	b.s.Totals.Threads = &total
	if d.dump.Truncated {
		b.s.Truncated, b.s.LowerBound = true, true
	}
	if d.dump.Refused > 0 {
		b.s.Refused, b.s.LowerBound = d.dump.Refused, true
	}
	b.form(analysis.KindThread, d.shows())
	if b.r.cfg.Objects && b.s.Joined == nil {
		b.s.Joined = d.joins.Objects()
	}
	b.deadlocks(best)
	b.contended(best)
	b.virtualThreads(best)
	b.s.Monitors = d.waits.monitors(d.dump.Deadlocks)
	b.otherThreads(best, all)
	if d.dump.MainElapsed > 0 && !best.inner.IsZero() {
		started := best.inner.Add(-time.Duration(d.dump.MainElapsed * float64(time.Second)))
		b.figure("jvm_uptime_seconds", d.dump.MainElapsed)
		b.figure("process_start_time_seconds", float64(started.Unix()))
	}
	for executor, n := range d.dump.Containers {
		b.figure("jvm_containers_"+executor, float64(n))
	}
}

// countedThreads takes the number of threads from a table of ps, which shows none of them.
func (b *builder) countedThreads() {
	for _, p := range b.g.parts {
		if p.counts == nil || p.counts.what != procfs.Threads {
			continue
		}
		b.addArtifact(p)
		total := p.counts.total()
		b.s.Totals.Threads = &total
		b.form(analysis.KindThread, analysis.FormCounted)
		return
	}
}

// shows is how much detail the form of the dump has.
func (t *threadDump) shows() string {
	switch t.dump.Form {
	case thread.FormThreadInfo:
		return analysis.FormCapped
	case thread.FormDumpToFile, thread.FormDumpToFileJSON:
		return analysis.FormVirtual
	}
	if t.javaOnly {
		return analysis.FormJava
	}
	return analysis.FormFull
}

// threadRank orders the dumps of an instant by their detail about each thread.
func (p *part) threadRank() int {
	rank := 0
	if p.threads.javaOnly {
		rank += 100
	}
	switch p.threads.dump.Form {
	case "support-core", "hotspot", "javacore":
		rank += 50
	case "jenkins", "actuator":
		rank += 40
	case "threadinfo", "visualvm":
		rank += 30
	case "dump-to-file", "dump-to-file-json":
		// Lists virtual threads, which no other form does.
		rank -= 100
	}
	if p.threads.dump.Truncated || p.threads.dump.Refused > 0 {
		rank -= 200
	}
	if strings.Contains(path.Base(p.path), "-l") {
		rank++ // with the locks
	}
	return rank
}

// otherThreads reports what the dumps that were not taken would have counted, if the
// difference exceeds the virtual machine's own threads.
func (b *builder) otherThreads(best *part, all []*part) {
	for _, p := range all {
		if p == best || p.threads.javaOnly != best.threads.javaOnly || p.threads.dump.Truncated || p.threads.dump.Refused > 0 {
			continue
		}
		n, total := p.threads.count, best.threads.count
		if d := max(n-total, total-n); d*10 > max(n, total) {
			b.r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Warning,
				What: "counts " + strconv.Itoa(n) + " threads where " + path.Base(best.path) + " has " + strconv.Itoa(total),
				Why:  "the two were not taken at one instant, or one of them is not whole",
				Hint: "the figures of " + path.Base(best.path) + " are used; take both within a second of each other"})
		}
	}
}

// deadlocks become statements: one dump proves them.
func (b *builder) deadlocks(p *part) {
	for i, d := range p.threads.dump.Deadlocks {
		var threads, names, steps []string
		for _, link := range d.Threads {
			threads = append(threads, link.Name)
			names = append(names, strconv.Quote(clip(link.Name, 60)))
			steps = append(steps, strconv.Quote(clip(link.Name, 60))+" waits for "+link.Waits+", which "+strconv.Quote(clip(link.HeldBy, 60))+" holds")
		}
		b.s.Statements = append(b.s.Statements, analysis.Statement{
			Key:   "deadlock " + strings.Join(names, " "),
			Title: "Deadlock of " + wording.Plural(len(d.Threads), "thread", "threads") + ": " + strings.Join(names, ", "),
			Text: strings.Join(steps, "; ") + ". " + foundBy(d) + " (deadlock " + strconv.Itoa(i+1) + " of " + strconv.Itoa(len(p.threads.dump.Deadlocks)) +
				"): these threads will never go on, and everything that needs their locks waits behind them. Restart the process after saving a heap dump, and fix the order in which the locks are taken.",
			Threads: threads, Path: p.path,
		})
	}
	if w := p.threads.dump.Unresponsive; w != "" {
		b.s.Statements = append(b.s.Statements, analysis.Statement{Key: "unresponsive", Title: "The dump carries a warning", Text: clip(w, 300), Path: p.path})
	}
}

func foundBy(d thread.Deadlock) string {
	if d.Derived {
		return "This follows from who owns which lock in the dump"
	}
	return "The virtual machine itself found this"
}

// readClients reads the client summary of Jenkins' Kubernetes plugin.
func readClients(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	clients, problems, err := thread.ParseClients(body, p.path)
	r.problem(problems...)
	if err != nil {
		return err
	}
	p.clients, p.figures = &clients, clients.Figures()
	a.Outcome = wording.Plural(len(clients.Clients), "client", "clients")
	return nil
}

// readTargets reads Jenkins support-core's list of link targets, which names no
// descriptor numbers.
func readTargets(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	targets, problems, err := thread.ParseTargets(body, p.path)
	r.problem(problems...)
	if err != nil && len(targets.Descriptors) == 0 {
		return err
	}
	p.links = append([]analysis.Descriptor{}, targets.Descriptors...)
	r.progress.Descriptors += len(p.links)
	a.Members = len(p.links)
	a.Outcome = wording.Plural(a.Members, "descriptor", "descriptors")
	return nil
}

// readForeign names a dump of a form that is not read.
func readForeign(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	a.Status = analysis.Ignored
	if problem, ok := thread.Foreign(body, p.path); ok {
		r.problem(problem)
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
