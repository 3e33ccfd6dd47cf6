package ingest

import (
	"fmt"
	"hash/fnv"
	"io"
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
	mounts, lists := b.places()
	targets := family.NameWatches(all, mounts, lists...)
	for i, w := range all {
		g := b.group(family.OfTarget(w, targets[i]))
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
	total := len(all)
	b.s.Totals.Watches = &total
}

// places are the mounts and inode lists of the snapshot; mounts is nil without
// a mountinfo.
func (b *builder) places() (mounts *family.Mounts, lists []family.InodeList) {
	for _, p := range append(append([]*part{}, b.g.context...), b.g.parts...) {
		if len(p.mounts) > 0 {
			mounts = family.NewMounts(p.mounts)
		}
		if p.inodes != nil {
			lists = append(lists, family.InodeList{Entries: p.inodes.All(), Partial: p.inodes.Partial})
		}
	}
	return mounts, lists
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
	mounts, lists := b.places()
	for _, row := range table.counts.rows {
		w := analysis.Watch{FD: row.FD, Inode: row.Inode, Device: row.Device}
		f := mounts.OfWatch(w)
		if row.Inode != 0 {
			f = family.OfTarget(w, family.NameWatches([]analysis.Watch{w}, mounts, lists...)[0])
		}
		b.group(f).Count += row.Count
	}
	b.s.Totals.Watches = &total
}

// watchDetail is a watch in words, with what it is on where that is known.
func watchDetail(w analysis.Watch, t family.WatchTarget) string {
	text := fmt.Sprintf("fd %d, wd %d, device %d:%d, inode %d", w.FD, w.WD, w.Device>>20, w.Device&0xfffff, w.Inode)
	if t.Path != "" {
		text += " = " + t.Path
	} else if t.Why != "" {
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
