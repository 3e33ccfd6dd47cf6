package ingest

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/procfs"
	"leakdiff/analysis/say/wording"
)

// inotifyCounts are the rows of one process in a table of counts.
type inotifyCounts struct {
	rows []procfs.InotifyCount
	// what is procfs.Instances, procfs.Watches or procfs.Threads.
	what string
}

// countedThings words what a table counts: "inotify watches", "threads".
func countedThings(what string) string {
	if what == procfs.Threads {
		return what
	}
	return "inotify " + what
}

func (c *inotifyCounts) total() int {
	n := 0
	for _, row := range c.rows {
		n += row.Count
	}
	return n
}

// readInotifyTable reads the output of the common one-liners: a part for every
// process that it names, in each of its tables.
func readInotifyTable(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	dates := envelope.NewDates(r.written(p))
	rows, what, begins, problems, err := procfs.ParseInotifyTable(io.TeeReader(body, dates), p.path)
	r.problem(problems...)
	if err != nil && len(rows) == 0 {
		return err
	}
	times := dates.Of(begins)
	type key struct {
		table int
		process
		what string
	}
	byProcess := map[key]*part{}
	processes := map[process]bool{}
	total := 0
	for _, row := range rows {
		program, _, _ := strings.Cut(row.Command, " ")
		of := process{pid: row.PID}
		if row.PID == 0 {
			of.name = program
		}
		at := key{row.Part, of, row.What}
		q := byProcess[at]
		if q == nil {
			q = p.another(row.Part)
			q.pid, q.name, q.counts = row.PID, strings.TrimSuffix(programName(program), ":"), &inotifyCounts{what: row.What}
			q.section = len(begins) > 1
			q.dated(times[row.Part])
			byProcess[at], processes[of] = q, true
			r.parts = append(r.parts, q)
		}
		q.counts.rows = append(q.counts.rows, row)
		total += row.Count
	}
	a.Rows = len(rows)
	a.Outcome = fmt.Sprintf("%d %s of %s", total, countedThings(what), wording.Plural(len(processes), "process", "processes"))
	if len(begins) > 1 {
		a.Outcome = fmt.Sprintf("%s of %s in %d tables", countedThings(what), wording.Plural(len(processes), "process", "processes"), len(begins))
	}
	for _, q := range byProcess {
		q.outcome = fmt.Sprintf("%d %s", q.counts.total(), countedThings(q.counts.what))
	}
	return err
}

func readInodes(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	inodes, problems, err := procfs.ParseInodes(body, p.path)
	r.problem(problems...)
	p.inodes = &inodes
	a.Outcome = wording.Plural(inodes.Len(), "inode", "inodes")
	return err
}

// watches counts inotify watches; an empty fdinfo archive is no evidence about them.
func (b *builder) watches() {
	fdinfo := b.g.form(detect.FDInfo, detect.FDInfoGrep)
	if fdinfo == nil || fdinfo.fdinfo == nil || len(fdinfo.fdinfo.infos) == 0 {
		b.countedWatches()
		if b.s.Totals.Watches == nil {
			b.handleWatches()
		}
		return
	}
	if b.lacking(fdinfo, b.g.form(detect.FDLink, detect.FDListing), b.richest()) {
		return
	}
	unread := b.unread(fdinfo)
	if b.cut(fdinfo) || len(unread) > 0 {
		b.inexact(analysis.KindWatch, analysis.AtLeast)
	}
	if len(unread) > 0 {
		b.r.problem(analysis.Problem{Path: fdinfo.path, Offset: -1, Severity: analysis.Warning,
			What: "the watches of inotify descriptor " + strconv.Itoa(unread[0]) + others(len(unread)-1) + " are missing",
			Why:  "the other files of this capture list it, and its file of fdinfo is not here or empty: how many watches it has is not known",
			Hint: "copy /proc/PID/fdinfo again with cp -r, as root; the watches of this capture are not compared"})
	}
	n, unkept, counted := 0, 0, 0
	for i := range fdinfo.fdinfo.infos {
		n += len(fdinfo.fdinfo.infos[i].Watches)
		unkept += fdinfo.fdinfo.infos[i].More
		counted += fdinfo.fdinfo.infos[i].Counted()
	}
	all := make([]analysis.Watch, 0, n)
	for i := range fdinfo.fdinfo.infos {
		all = append(all, fdinfo.fdinfo.infos[i].Watches...)
	}
	at := int32(b.addArtifact(fdinfo))
	targets := b.g.scene().Name(all)
	owner := b.g.owner()
	byFamily := map[string][]int{}
	c := counter{b: b}
	former := map[uint32]formerTarget{} // by device
	for i := range all {
		// The family is by what this capture shows; what an older one knew of the same
		// watch only names the target.
		f := b.r.known.OfTarget(all[i], targets[i])
		c.count(f)
		byFamily[f.Fingerprint] = append(byFamily[f.Fingerprint], i)
		if !targets[i].Gone() {
			continue
		}
		known, ok := b.r.former[watchKeyOf(owner, all[i])]
		if !ok {
			if known, ok = former[all[i].Device]; !ok {
				known, _ = b.formerMount(owner, all[i].Device)
				former[all[i].Device] = known
			}
		}
		if known.label != "" {
			targets[i].Recall(known.target, known.label)
		}
	}
	c.rows(at, true)
	for i := range all {
		w := &all[i]
		c.text = appendWatch(c.text[:0], w, &targets[i])
		c.group(i).Members.Rows.Append(analysis.Identity{ID: int64(w.FD), Sub: w.WD, Hash: watchHash(w)}, w.Place, c.detail())
	}
	c.seal()
	b.watched(all, targets, byFamily)
	if len(unread) > 0 && len(all)+unkept == 0 {
		return // nothing is known of them
	}
	if unkept > 0 {
		b.group(b.r.bounds.others(analysis.KindWatch)).Count += unkept
	}
	if counted > 0 { // by grep -c, which prints no watch
		b.group(b.g.scene().Mounts.OfWatch(analysis.Watch{})).Count += counted
	}
	total := len(all) + unkept + counted
	b.s.Totals.Watches = &total
}

// others is " and 2 more".
func others(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and of %d more", n)
}

// unread are the inotify descriptors that other files of the capture list and that fdinfo does
// not hold: the number of their watches is unknown, not 0.
func (b *builder) unread(fdinfo *part) []int {
	if fdinfo == nil || fdinfo.fdinfo == nil || fdinfo.form == detect.FDInfoGrep {
		return nil
	}
	held := map[int]bool{}
	for i := range fdinfo.fdinfo.infos {
		held[fdinfo.fdinfo.infos[i].FD] = true
	}
	var out []int
	add := func(d *analysis.Descriptor) {
		if name := strings.Trim(strings.TrimPrefix(d.Name, "anon_inode:"), "[]"); name == "inotify" && d.FD >= 0 && !held[d.FD] {
			held[d.FD] = true
			out = append(out, d.FD)
		}
	}
	if links := b.g.links(); links != nil {
		for i := range links.links {
			add(&links.links[i])
		}
	} else if listed := b.richest(); listed != nil {
		for d := range listed.listing.rows.all() {
			add(d)
		}
	}
	return out
}

// watched sums up what the watches of each family are on.
func (b *builder) watched(all []analysis.Watch, targets []family.WatchTarget, byFamily map[string][]int) {
	for print, members := range byFamily {
		if b.s.Watched == nil {
			b.s.Watched = map[string][]analysis.Target{}
		}
		b.s.Watched[print] = family.Targets(all, targets, members, b.r.pods)
	}
}

// scene is what the snapshot knows of the files that its process watches; its mounts
// are nil without a mountinfo.
func (g *group) scene() family.Scene {
	s := family.Scene{Mounts: g.namespace()}
	for _, p := range append(append([]*part{}, g.context...), g.parts...) {
		if p.inodes != nil {
			partial := p.inodes.Partial || g.partial(p)
			s.Lists = append(s.Lists, family.InodeList{Entries: p.inodes.All(), Partial: partial})
		}
		s.Handles = append(s.Handles, p.handles...)
	}
	return s
}

// partial reports whether the capture's manifest marks a file as not whole.
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

// watchKey is one watch of one process, in every capture of it: the kernel uses a
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

// recall finds, for the watches whose target is gone in one capture, the target in
// another capture of the same process. It keeps no others.
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
		if former := out[k].target; lost[k] && !t.Strong() && (t.Path != "" || t.Mount != "" && former.Path == "") {
			out[k] = formerTarget{t, g.instant()} // the last one
		}
	})
	return out
}

// formerMount is what the last mountinfo of the process before this one has of a device that is
// gone.
func (b *builder) formerMount(owner string, device uint32) (formerTarget, bool) {
	at := slices.Index(b.r.groups, b.g)
	for i := at - 1; i >= 0 && owner != ""; i-- {
		g := b.r.groups[i]
		if g.owner() != owner {
			continue
		}
		if t := g.namespace().Of(device); t.Mount != "" {
			return formerTarget{t, g.instant()}, true
		}
	}
	return formerTarget{}, false
}

// namespace are the mounts of the snapshot, nil without a mountinfo.
func (g *group) namespace() *family.Mounts {
	if g.mounts == nil {
		for _, p := range append(append([]*part{}, g.context...), g.parts...) {
			if len(p.mounts) > 0 {
				g.mounts = family.NewMounts(p.mounts)
			}
		}
	}
	return g.mounts
}

// podsOf are the names of pods by uid that captures state, of pods that are gone later too, or
// that paths have.
func podsOf(parts []*part, artifacts []analysis.Artifact) map[string]string {
	out := map[string]string{}
	for i := range artifacts {
		if name, uid, ok := family.PodOfLogs(artifacts[i].Path); ok {
			out[uid] = name
		}
	}
	for _, p := range parts {
		if p.capture != nil {
			maps.Copy(out, p.capture.podNames())
		}
	}
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

// owner identifies a process of an upload by host, pid and start; "" without a pid.
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
		if p.counts != nil && p.counts.what != procfs.Threads {
			table = p
		}
	}
	if table == nil {
		return
	}
	b.addArtifact(table)
	total := table.counts.total()
	if table.counts.what == procfs.Instances {
		if b.s.Totals.Descriptors != nil {
			return
		}
		b.s.Totals.Descriptors = &total
		g := b.group(family.NewSockets(nil).OfDescriptor(analysis.Descriptor{FD: -1, Type: "anon", Name: "anon_inode:inotify"}, -1))
		g.Count = total
		b.instancesAlone(table)
		return
	}
	scene := b.g.scene()
	for _, row := range table.counts.rows {
		w := analysis.Watch{FD: row.FD, Inode: row.Inode, Device: row.Device}
		f := scene.Mounts.OfWatch(w)
		switch {
		case row.Gone:
			f = family.OfTarget(w, family.Unmounted(w))
		case row.Inode != 0:
			f = family.OfTarget(w, scene.Name([]analysis.Watch{w})[0])
		}
		b.group(f).Count += row.Count
	}
	b.s.Totals.Watches = &total
}

// instancesAlone notes that inotify instances are all that is known of the descriptors.
func (b *builder) instancesAlone(p *part) {
	b.form(analysis.KindDescriptor, analysis.FormInstances)
	b.r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Note,
		What: "only inotify instances are counted", Why: "the file lists no other descriptor, and says nothing of the watches",
		Hint: "save a copy of /proc/PID/fdinfo made with cp -r: it holds both"})
}

// appendWatch appends a watch in words, with its target if that is known.
//
//	"fd 7, wd 1, device 0:28, inode 60 = /sys/fs/cgroup/a"
func appendWatch(b []byte, w *analysis.Watch, t *family.WatchTarget) []byte {
	b = strconv.AppendInt(append(b, "fd "...), int64(w.FD), 10)
	b = strconv.AppendInt(append(b, ", wd "...), w.WD, 10)
	b = strconv.AppendUint(append(b, ", device "...), uint64(w.Device>>20), 10)
	b = strconv.AppendUint(append(b, ':'), uint64(w.Device&0xfffff), 10)
	b = strconv.AppendUint(append(b, ", inode "...), w.Inode, 10)
	flat := func(s string) string { return strings.ReplaceAll(s, "\n", " ") }
	if t.Former != "" {
		return append(b, " was "+flat(cmp.Or(t.Path, t.Mount))+" at "+t.Former+": "+flat(t.Why)...)
	}
	if t.Path != "" {
		b = append(b, " = "+flat(t.Path)...)
	}
	if t.Why != "" {
		b = append(b, ": "+flat(t.Why)...)
	}
	return b
}

// watchHash folds the device and the file handle, the watch's identity beside
// fd and wd; the inode replaces a handle that the kernel did not print.
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
	return identityHash(b)
}

// identityHash is FNV-1a.
func identityHash(b []byte) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, c := range b {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return h
}
