package ingest

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"path"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/detect"
	"leakdiff/analysis/family"
	"leakdiff/analysis/procfs"
)

// inotifyCounts are the rows of one process in a table of inotify counts.
type inotifyCounts struct {
	rows []procfs.InotifyCount
	// what is procfs.Instances or procfs.Watches.
	what string
}

func (c *inotifyCounts) total() int {
	n := 0
	for _, row := range c.rows {
		n += row.Count
	}
	return n
}

// readInotifyTable reads the output of the common one-liners: a part for every
// process that it names.
func readInotifyTable(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	rows, what, problems, err := procfs.ParseInotifyTable(body, p.path)
	r.problems = append(r.problems, problems...)
	if err != nil && len(rows) == 0 {
		return err
	}
	byPID := map[int]*part{}
	total := 0
	for _, row := range rows {
		q := byPID[row.PID]
		if q == nil {
			q = p.another(0)
			q.pid, q.name, q.counts = row.PID, row.Command, &inotifyCounts{what: what}
			byPID[row.PID] = q
			r.parts = append(r.parts, q)
		}
		q.counts.rows = append(q.counts.rows, row)
		total += row.Count
	}
	a.Rows = len(rows)
	a.Outcome = fmt.Sprintf("%d inotify %s of %s", total, what, plural(len(byPID), "process", "processes"))
	for _, q := range byPID {
		q.outcome = fmt.Sprintf("%d inotify %s", q.counts.total(), what)
	}
	return err
}

func readInodes(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	inodes, problems, err := procfs.ParseInodes(body, p.path)
	r.problems = append(r.problems, problems...)
	p.inodes = &inodes
	a.Outcome = plural(inodes.Len(), "inode", "inodes")
	return err
}

// watches counts inotify watches; an empty fdinfo archive says nothing of them.
func (b *builder) watches() {
	fdinfo := b.g.form(detect.FDInfo, detect.FDInfoGrep)
	if fdinfo == nil || fdinfo.fdinfo == nil || len(fdinfo.fdinfo.infos) == 0 {
		b.countedWatches()
		return
	}
	if b.lacking(fdinfo, b.g.form(detect.FDLink, detect.FDListing), b.richest()) {
		return
	}
	var all []analysis.Watch
	for _, info := range fdinfo.fdinfo.infos {
		all = append(all, info.Watches...)
	}
	at := int32(b.adopt(fdinfo))
	targets := b.g.scene().Name(all)
	owner := b.g.owner()
	byFamily := map[string][]int{}
	for i, w := range all {
		// The family is by what this capture shows; what an older one knew of the same
		// watch only names the target.
		g := b.group(family.OfTarget(w, targets[i]))
		byFamily[g.Family.Fingerprint] = append(byFamily[g.Family.Fingerprint], i)
		if known, ok := b.r.former[watchKeyOf(owner, w)]; ok && targets[i].Gone() {
			targets[i].Recall(known.target, known.label)
		}
		g.Count++
		m := &g.Members
		m.ID = append(m.ID, int64(w.FD))
		m.Sub = append(m.Sub, w.WD)
		m.Hash = append(m.Hash, watchHash(w))
		m.Artifact = append(m.Artifact, at)
		m.Line = append(m.Line, w.Place.Line)
		m.Offset = append(m.Offset, w.Place.Offset)
		m.Length = append(m.Length, int32(min(w.Place.Length, 1<<31-1)))
		m.Detail = append(m.Detail, watchDetail(w, targets[i]))
	}
	b.watched(all, targets, byFamily)
	total := len(all)
	b.s.Totals.Watches = &total
}

// watched sums up what the watches of each family are on.
func (b *builder) watched(all []analysis.Watch, targets []family.WatchTarget, byFamily map[string][]int) {
	names := map[string]string{}
	for _, p := range b.g.context {
		if p.capture != nil {
			names = p.capture.podNames()
		}
	}
	for print, members := range byFamily {
		watches := make([]analysis.Watch, len(members))
		named := make([]family.WatchTarget, len(members))
		for i, at := range members {
			watches[i], named[i] = all[at], targets[at]
		}
		if b.s.Watched == nil {
			b.s.Watched = map[string][]analysis.Target{}
		}
		b.s.Watched[print] = family.Targets(watches, named, names)
	}
}

// scene is what the snapshot knows of the files that its process watches; its mounts
// are nil without a mountinfo.
func (g *group) scene() family.Scene {
	var s family.Scene
	for _, p := range append(append([]*part{}, g.context...), g.parts...) {
		if len(p.mounts) > 0 {
			s.Mounts = family.NewMounts(p.mounts)
		}
		if p.inodes != nil {
			partial := p.inodes.Partial || g.partial(p)
			s.Lists = append(s.Lists, family.InodeList{Entries: p.inodes.All(), Partial: partial})
		}
		s.Handles = append(s.Handles, p.handles...)
	}
	return s
}

// partial reports whether the capture's manifest says that a file is not whole.
func (g *group) partial(p *part) bool {
	m := g.capture()
	if m == nil || m.dir != p.dir {
		return false
	}
	for _, s := range m.capture.Steps {
		if s.File == path.Base(p.path) && s.Status != "done" {
			return true
		}
	}
	return false
}

// watchKey is one watch of one process, in every capture of it: the kernel gives a
// number of a watch again only after all others.
type watchKey struct {
	owner        string
	fd           int
	wd           int64
	device, kind uint32
	inode        uint64
	handle       string
}

func watchKeyOf(owner string, w analysis.Watch) watchKey {
	return watchKey{owner: owner, fd: w.FD, wd: w.WD, device: w.Device, kind: w.HandleType, inode: w.Inode, handle: w.Handle}
}

// formerTarget is what a watch was on when its target was still there, at the instant
// that label names.
type formerTarget struct {
	target family.WatchTarget
	label  string
}

// recall finds, for the watches whose target is gone in one capture, what another
// capture of the same process knew of it. Only those are kept.
func recall(all []*group) map[watchKey]formerTarget {
	lost := map[watchKey]bool{}
	each(all, func(_ *group, k watchKey, t family.WatchTarget) {
		if t.Gone() {
			lost[k] = true
		}
	})
	if len(lost) == 0 {
		return nil
	}
	out := map[watchKey]formerTarget{}
	each(all, func(g *group, k watchKey, t family.WatchTarget) {
		if _, known := out[k]; lost[k] && !t.Strong() && (t.Path != "" || t.Mount != "") && (!known || out[k].target.Path == "") {
			out[k] = formerTarget{t, g.instant()}
		}
	})
	return out
}

// each names the watches of the groups whose process is known.
func each(all []*group, visit func(*group, watchKey, family.WatchTarget)) {
	for _, g := range all {
		owner := g.owner()
		fdinfo := g.form(detect.FDInfo, detect.FDInfoGrep)
		if owner == "" || fdinfo == nil || fdinfo.fdinfo == nil {
			continue
		}
		var watches []analysis.Watch
		for _, info := range fdinfo.fdinfo.infos {
			watches = append(watches, info.Watches...)
		}
		for i, t := range g.scene().Name(watches) {
			visit(g, watchKeyOf(owner, watches[i]), t)
		}
	}
}

// owner tells the processes of an upload apart: host, pid and start; "" without a pid.
func (g *group) owner() string {
	pid := 0
	host, start := "", uint64(0)
	for _, p := range append(append([]*part{}, g.context...), g.parts...) {
		if p.pid != 0 {
			pid = p.pid
		}
		if p.host != "" {
			host = p.host
		}
		if p.stat != nil {
			start = p.stat.StartTicks
		}
	}
	if pid == 0 {
		return ""
	}
	return fmt.Sprintf("%s\x00%d\x00%d", host, pid, start)
}

// instant is the group's label, or its directory.
func (g *group) instant() string {
	if label, _ := naming(g.dir); label != "" {
		return label
	}
	return cmp.Or(g.stem, g.dir)
}

// countedWatches makes families of a table of counts, which has no identities:
// the instances of a process, or its watches by what they are on.
func (b *builder) countedWatches() {
	var table *part
	for _, p := range b.g.parts {
		if p.counts != nil {
			table = p
		}
	}
	if table == nil {
		return
	}
	b.adopt(table)
	total := table.counts.total()
	if table.counts.what == procfs.Instances {
		if b.s.Totals.Descriptors != nil {
			return
		}
		b.s.Totals.Descriptors = &total
		b.s.Incomplete = append(b.s.Incomplete, analysis.KindDescriptor)
		g := b.group(family.NewSockets(nil).OfDescriptor(analysis.Descriptor{FD: -1, Type: "anon", Name: "anon_inode:inotify"}, -1))
		g.Count = total
		b.r.problem(analysis.Problem{Path: table.path, Offset: -1, Severity: analysis.Note,
			What: "only inotify instances are counted", Why: "the table lists no other descriptor, and says nothing of the watches",
			Hint: "save a copy of /proc/PID/fdinfo made with cp -r: it holds both"})
		return
	}
	scene := b.g.scene()
	for _, row := range table.counts.rows {
		w := analysis.Watch{FD: row.FD, Inode: row.Inode, Device: row.Device}
		f := scene.Mounts.OfWatch(w)
		if row.Inode != 0 {
			f = family.OfTarget(w, scene.Name([]analysis.Watch{w})[0])
		}
		b.group(f).Count += row.Count
	}
	b.s.Totals.Watches = &total
}

// watchDetail is a watch in words, with what it is on where that is known.
func watchDetail(w analysis.Watch, t family.WatchTarget) string {
	text := fmt.Sprintf("fd %d, wd %d, device %d:%d, inode %d", w.FD, w.WD, w.Device>>20, w.Device&0xfffff, w.Inode)
	switch {
	case t.Former != "":
		text += " was " + cmp.Or(t.Path, t.Mount) + " at " + t.Former + ": " + t.Why
	case t.Path != "":
		text += " = " + t.Path
	}
	if t.Former == "" && t.Why != "" {
		text += ": " + t.Why
	}
	return clip(strings.ReplaceAll(text, "\n", " "), 400)
}

// watchHash folds the device and the file handle, the watch's identity beside
// fd and wd; the inode stands in where the kernel printed no handle.
func watchHash(w analysis.Watch) uint64 {
	h := fnv.New64a()
	if w.Handle != "" {
		fmt.Fprintf(h, "%x/%x/%s", w.Device, w.HandleType, w.Handle)
	} else {
		fmt.Fprintf(h, "%x/%x", w.Device, w.Inode)
	}
	return h.Sum64()
}
