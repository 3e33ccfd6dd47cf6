package ingest

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/nodereport"
	"leakdiff/analysis/say/wording"
)

// nodeReport is a diagnostic report of Node.js with the handles that hold a
// descriptor, and those that watch a file or a child process.
type nodeReport struct {
	report           nodereport.Report
	handles, watches []analysis.Descriptor
}

func readNode(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	n := &nodeReport{handles: []analysis.Descriptor{}}
	report, problems, err := nodereport.Parse(body, p.path, func(d *analysis.Descriptor) error {
		if len(n.handles)+len(n.watches) >= mostHandles {
			p.refused++
			return nil
		}
		if d.Type == "fs_event" || d.Type == "fs_poll" || d.Type == analysis.ChildHandle {
			n.watches = append(n.watches, *d)
			return nil
		}
		n.handles = append(n.handles, *d)
		r.progress.Descriptors++
		return nil
	})
	r.problem(problems...)
	if err != nil && len(n.handles)+len(n.watches) == 0 {
		return err
	}
	n.report = report
	p.node, p.inner, p.pid, p.host, p.name = n, report.Time, report.PID, report.Host, report.Program
	p.figures = report.Figures()
	if report.NodeVersion != "" {
		p.version = "Node.js " + report.NodeVersion
	}
	p.stops, a.Truncated = report.Truncated, report.Truncated // handles are missing
	a.Members = len(n.handles) + len(n.watches)
	children := report.Handles[analysis.ChildHandle]
	a.Outcome = atLeast(wording.Plural(len(n.handles), "handle with a descriptor", "handles with a descriptor"), report.Truncated, p.refused)
	if watches := len(n.watches) - children; watches > 0 {
		a.Outcome += ", " + wording.Plural(watches, "watch", "watches")
	}
	if children > 0 {
		a.Outcome += ", " + wording.Plural(children, "child process", "child processes")
	}
	if p.refused > 0 {
		r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Warning, What: wording.Plural(p.refused, "handle was", "handles were") + " not kept",
			Why: fmt.Sprintf("at most %d of a report are", mostHandles), Hint: "the count of descriptors is a lower bound"})
	}
	return nil
}

// handles joins the report of the same process to the descriptors of a listing: a
// socket that libuv holds without waiting for it is idle in some pool.
func (b *builder) handles(rows []analysis.Descriptor) {
	node := b.node()
	if node == nil {
		return
	}
	byFD := map[int]*analysis.Descriptor{}
	for i := range node.handles {
		if h := &node.handles[i]; h.FD >= 0 {
			byFD[h.FD] = h
		}
	}
	for i := range rows {
		if h := byFD[rows[i].FD]; h != nil && (rows[i].Remote == "" || rows[i].Remote == h.Remote) {
			rows[i].Idle, rows[i].Unread = h.Idle, h.Unread
		}
	}
}

// processIn is a process by the directory of its captures and its pid.
type processIn struct {
	dir string
	pid int
}

// joinReports gives reports of Node the listing of their process that was taken in the same moment, in
// one directory: Node names a report after its time, which no other file has in its name.
func joinReports(all []*group) []*group {
	listings := map[processIn][]*group{}
	for _, g := range all {
		if pid := g.listedPID(); pid > 0 {
			at := processIn{g.dir, pid}
			listings[at] = append(listings[at], g)
		}
	}
	joined := map[*group]bool{}
	for _, g := range all {
		if g.pid() == 0 || slices.ContainsFunc(g.parts, func(p *part) bool { return p.node == nil }) {
			continue
		}
		found := slices.DeleteFunc(slices.Clone(listings[processIn{g.dir, g.parts[0].pid}]), func(h *group) bool { return !h.listsAt(g.parts[0]) })
		if len(found) == 1 && !joined[found[0]] {
			joined[found[0]] = true
			g.parts, g.context = append(g.parts, found[0].parts...), append(g.context, found[0].context...)
		}
	}
	return slices.DeleteFunc(all, func(g *group) bool { return joined[g] })
}

// listedPID is the process of which all of the group are listings, 0 for any other group.
func (g *group) listedPID() int {
	if len(g.parts) == 0 || slices.ContainsFunc(g.parts, func(p *part) bool { return !p.listed() || p.pid != g.parts[0].pid }) {
		return 0
	}
	return g.parts[0].pid
}

// listsAt reports listings of the host and the moment of a report.
func (g *group) listsAt(report *part) bool {
	return !slices.ContainsFunc(g.parts, func(p *part) bool {
		return p.host != "" && p.host != report.host || p.taken().IsZero() || apart(p.taken(), report.inner)
	})
}

func (b *builder) node() *nodeReport {
	for _, p := range b.g.parts {
		if p.node != nil {
			return p.node
		}
	}
	return nil
}

// handleWatches are the watches of files and the child processes that a report of Node.js lists. A
// report without any says so, where another of the program has some.
func (b *builder) handleWatches() {
	node := b.g.form(detect.NodeReport)
	if node == nil || node.node.report.Truncated || node.node.report.Handles == nil {
		return
	}
	watches := node.node.watches
	at, children := int32(b.addArtifact(node)), 0
	c := counter{b: b}
	for i := range watches {
		c.count(family.OfHandle(watches[i].Type))
		if watches[i].Type == analysis.ChildHandle {
			children++
		}
	}
	c.rows(at, true)
	for i := range watches {
		w := &watches[i]
		c.text = append(append(c.text[:0], cmp.Or(w.Local, "child process")...), ", "+w.Name...)
		pid, _ := strconv.ParseInt(strings.TrimPrefix(w.Name, "pid "), 10, 64) // 0 for what has none
		c.group(i).Members.Rows.Append(analysis.Identity{ID: -1, Sub: pid, Hash: identityHash([]byte(w.Name))}, w.Place, c.detail())
	}
	c.seal()
	n := len(watches)
	if n > 0 || b.othersWatch(node.name) {
		b.s.Totals.Watches = &n
	}
	if children > 0 && children == n {
		b.s.Totals.Children = &n
	}
}

// othersWatch tells reports of a program in which it watches something.
func (b *builder) othersWatch(program string) bool {
	return slices.ContainsFunc(b.r.groups, func(g *group) bool {
		p := g.form(detect.NodeReport)
		return p != nil && p.name == program && len(p.node.watches) > 0
	})
}

// pooled states how many sockets no code of a Node process waits for.
func (b *builder) pooled(path string) {
	node := b.node()
	if node == nil {
		return
	}
	r := node.report
	idle, all := r.UnreferencedTCP, r.UnreferencedTCP+r.ReferencedTCP
	if idle < 20 || idle*2 < all {
		return
	}
	b.s.Statements = append(b.s.Statements, analysis.Statement{
		Key:   "unreferenced handles",
		Title: fmt.Sprintf("%d of %d TCP handles are unreferenced", idle, all),
		Text: "Nothing in the event loop waits for these " + strconv.Itoa(idle) + " sockets: they lie idle in connection pools. Node unreferences the free sockets of every agent " +
			"with keep-alive on, of a shared one too: only a number that grows from snapshot to snapshot tells pools that were made per call and forgotten.",
		Path: path,
	})
}
