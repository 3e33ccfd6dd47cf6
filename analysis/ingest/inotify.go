package ingest

import (
	"fmt"
	"io"
	"strconv"
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
	n := 0
	for i := range fdinfo.fdinfo.infos {
		n += len(fdinfo.fdinfo.infos[i].Watches)
	}
	all := make([]analysis.Watch, 0, n)
	for i := range fdinfo.fdinfo.infos {
		all = append(all, fdinfo.fdinfo.infos[i].Watches...)
	}
	at := int32(b.adopt(fdinfo))
	mounts, lists := b.places()
	targets := family.NameWatches(all, mounts, lists...)
	c := counter{b: b}
	for i := range all {
		c.count(b.r.known.OfTarget(all[i], targets[i]))
	}
	c.rows(at, true)
	for i := range all {
		w := &all[i]
		c.text = appendWatch(c.text[:0], w, &targets[i])
		c.group(i).Members.Rows.Append(analysis.Identity{ID: int64(w.FD), Sub: w.WD, Hash: watchHash(w)}, w.Place, c.detail())
	}
	c.seal()
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

// appendWatch appends a watch in words, with what it is on where that is known.
//
//	"fd 7, wd 1, device 0:28, inode 60 = /sys/fs/cgroup/a"
func appendWatch(b []byte, w *analysis.Watch, t *family.WatchTarget) []byte {
	b = strconv.AppendInt(append(b, "fd "...), int64(w.FD), 10)
	b = strconv.AppendInt(append(b, ", wd "...), w.WD, 10)
	b = strconv.AppendUint(append(b, ", device "...), uint64(w.Device>>20), 10)
	b = strconv.AppendUint(append(b, ':'), uint64(w.Device&0xfffff), 10)
	b = strconv.AppendUint(append(b, ", inode "...), w.Inode, 10)
	switch {
	case t.Path != "":
		b = append(b, " = "+strings.ReplaceAll(t.Path, "\n", " ")...)
	case t.Why != "":
		b = append(append(b, ": "...), strings.ReplaceAll(t.Why, "\n", " ")...)
	}
	return b
}

// watchHash folds the device and the file handle, the watch's identity beside
// fd and wd; the inode stands in where the kernel printed no handle.
//
//	"1c/81/0100.." or "1c/3c", FNV-1a
func watchHash(w *analysis.Watch) uint64 {
	var text [64]byte
	b := append(strconv.AppendUint(text[:0], uint64(w.Device), 16), '/')
	if w.Handle != "" {
		b = append(strconv.AppendUint(b, uint64(w.HandleType), 16), '/')
		b = append(b, w.Handle...)
	} else {
		b = strconv.AppendUint(b, w.Inode, 16)
	}
	h := uint64(0xcbf29ce484222325)
	for _, c := range b {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return h
}
