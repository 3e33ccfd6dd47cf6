package ingest

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/lsof"
	"leakdiff/analysis/read/procfs"
	"leakdiff/analysis/say/wording"
)

// descriptors fills the one list of descriptors: the total from fdinfo, else the fd
// links, else a listing; families from the richest listing that names endpoints. Other
// sources only add to its rows.
func (b *builder) descriptors() {
	fdinfo := b.g.form(detect.FDInfo, detect.FDInfoGrep)
	if fdinfo == nil {
		fdinfo = b.g.form(detect.EmptyFDInfo)
	}
	links := b.g.links()
	b.leftOut(links)
	listed := b.richest()
	cut := links != nil && listed == nil && b.partial("fd")
	if listed != nil && b.partial("fd") {
		links = nil
	}
	// Other files that count the descriptors are as exact without fdinfo. An excerpt does not
	// say how many there are.
	less := b.lacking(fdinfo, links, listed) || b.cut(fdinfo) || len(b.unread(fdinfo)) > 0
	if less {
		cut = cut || descriptorTotal(nil, links, listed) == nil
		if links != nil || listed != nil {
			fdinfo = nil
		}
	}
	if cut {
		b.inexact(analysis.KindDescriptor, analysis.AtLeast)
	}
	source, rows := b.rows(fdinfo, links, listed)
	if source == nil {
		source, rows = b.leftOpen()
	}
	counted := fdinfo
	if links != nil && b.whole("fdinfo") {
		counted = nil // both are whole, of two moments: the total is that of the rows
	}
	b.s.Totals.Descriptors = descriptorTotal(counted, links, listed)
	b.s.Sockets = b.connections(links, rows)
	if source == nil {
		return
	}
	if n := rows.len(); b.s.Totals.Descriptors == nil && (n > 0 || source.trace != nil) {
		switch {
		case source.ofTable():
			b.s.Totals.Sockets = &n
		case source.node != nil:
			b.s.Totals.Descriptors, b.s.Totals.Handles = &n, &n
		default:
			b.s.Totals.Descriptors = &n
		}
	}
	// An instance whose fdinfo file is not there has an unknown number of watches,
	// not none.
	watches := map[int]int{}
	if fdinfo != nil && fdinfo.fdinfo != nil {
		watches = make(map[int]int, len(fdinfo.fdinfo.infos))
		for i := range fdinfo.fdinfo.infos {
			watches[fdinfo.fdinfo.infos[i].FD] = fdinfo.fdinfo.infos[i].Watched()
		}
	}
	b.countDescriptors(source, rows, watches)
	if less && b.hasInotify() {
		// Their families are by the number of watches, which nobody knows here.
		b.inexact(analysis.KindDescriptor, analysis.NotComparable)
	}
	form := socketForm(rows)
	if form != "" && source != links && source != fdinfo {
		form = analysis.FormEnds // a listing shows the ends if there are any
	}
	if b.s.Totals.Sockets != nil {
		form = analysis.FormSockets
	}
	if b.s.Totals.Handles != nil {
		form = analysis.FormHandles
	}
	if source.trace != nil {
		if form = analysis.FormOpened; source.trace.closesUnknown {
			form = analysis.FormOpenEvents
		}
	}
	b.form(analysis.KindDescriptor, form)
	if source.form == detect.FDListing && !slices.ContainsFunc(source.links, func(d analysis.Descriptor) bool { return d.Name != "anon_inode:inotify" }) && len(source.links) > 0 {
		b.instancesAlone(source) // of find -lname
	}
	if source.refused > 0 || source.stops {
		b.s.Refused += source.refused
		b.inexact(analysis.KindDescriptor, analysis.AtLeast)
	}
	if b.node() != nil {
		b.pooled(b.g.form(detect.NodeReport).path)
	}
	b.deleted(listed)
}

// leastDeleted is from how many bytes on deleted files are worth a word.
const leastDeleted = 1 << 20

// deleted states how much of a disk the deleted files take that the process holds open.
func (b *builder) deleted(p *part) {
	if p == nil || p.listing == nil || len(p.listing.deleted) == 0 {
		return
	}
	held := int64(0)
	for _, size := range p.listing.deleted {
		held += size
	}
	n := len(p.listing.deleted)
	b.figure(analysis.DeletedFiles, float64(n))
	b.figure(analysis.DeletedBytes, float64(held))
	if held < leastDeleted {
		return
	}
	b.s.Statements = append(b.s.Statements, analysis.Statement{Key: "deleted files", Path: p.path,
		Title: fmt.Sprintf("%s %s %s of disk", wording.Plural(n, "deleted file", "deleted files"), wording.Fit(n, "holds", "hold"), wording.Bytes(held)),
		Text:  "The space is free again when the process closes them or ends: rotate logs with copytruncate, or have the process open them anew."})
}

// links are the links of the process: a copy of its directory, else the longest of the listings
// that may be of one moment, else their targets.
func (g *group) links() *part {
	longest := g.form(detect.FDLink, detect.FDListing, detect.FDTargets)
	for _, p := range g.parts {
		if longest != nil && longest.form == detect.FDListing && p.form == detect.FDListing && len(p.links) > len(longest.links) {
			longest = p
		}
	}
	return longest
}

// leftOut says of listings of several files, of which one counts, that the others may be captures
// of their own.
func (b *builder) leftOut(links *part) {
	for _, p := range b.g.parts {
		if links == nil || links.form != detect.FDListing || p.form != detect.FDListing || p.artifact == links.artifact || len(p.links) == len(links.links) || onlyInotify(p.links) || onlyInotify(links.links) {
			continue
		}
		b.r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Warning,
			What: fmt.Sprintf("this listing of %s was not counted", wording.Plural(len(p.links), "descriptor", "descriptors")),
			Why:  path.Base(links.path) + " lists the same descriptors and more, and no time in the files or their names tells which came first",
			Hint: "put the time into the names (fd-2026-11-01T10-00-00.txt), or a line of date above each listing"})
	}
}

// onlyInotify reports a listing of find, which has nothing else.
func onlyInotify(links []analysis.Descriptor) bool {
	return !slices.ContainsFunc(links, func(d analysis.Descriptor) bool { return !strings.Contains(d.Name, "inotify") })
}

// hasInotify reports whether the snapshot has an inotify instance.
func (b *builder) hasInotify() bool {
	for _, g := range b.byPrint {
		if g.Family.Kind == analysis.KindDescriptor && g.Family.Attributes["type"] == "anon_inode" && g.Family.Attributes["name"] == "inotify" {
			return true
		}
	}
	return false
}

// ofTable reports a part whose descriptors are those of a socket table, in which a process has
// its sockets alone: how many descriptors it has is not known.
func (p *part) ofTable() bool { return p.form == detect.SocketTable || p.form == detect.NetTable }

// rows are the descriptors of the richest source, joined with the rows of socket tables
// and of a Node report.
func (b *builder) rows(fdinfo, links, listed *part) (source *part, rows list) {
	tables := b.sockets()
	sockets := tables.rows
	switch {
	case listed != nil && listed.listing.rows.len() > 0:
		source, rows.packed = listed, listed.listing.rows
	case links != nil:
		source, rows.plain = links, links.links
	case fdinfo != nil && fdinfo.fdinfo != nil && len(fdinfo.fdinfo.infos) > 0:
		source, rows.plain = fdinfo, procfs.Descriptors(fdinfo.fdinfo.infos, sockets)
	case b.node() != nil:
		source = b.g.form(detect.NodeReport)
		return source, list{plain: b.node().handles}
	case len(tables.parts) > 0:
		return tables.parts[0], list{plain: lsof.OwnedDescriptors(sockets)[b.pid()]}
	default:
		return nil, list{}
	}
	// A listing that names endpoints is not overruled: the tables were taken at
	// another moment.
	if len(sockets) > 0 && (source != listed || !listed.listing.endpoints()) {
		rows = list{plain: rows.unpacked()}
		if lsof.JoinSockets(rows.plain, sockets, b.pid()) > 0 {
			for _, t := range tables.parts {
				b.addArtifact(t)
			}
		}
	}
	if b.node() != nil {
		rows = list{plain: rows.unpacked()}
		b.handles(rows.plain)
	}
	return source, rows
}

// pid is that of the process, 0 if it is unknown.
func (b *builder) pid() int {
	pid, _ := strconv.Atoi(b.s.Process.PID.Value)
	return pid
}

// form keeps how much the evidence of a kind shows.
func (b *builder) form(kind analysis.Kind, form string) {
	if form == "" {
		return
	}
	if b.s.Forms == nil {
		b.s.Forms = map[analysis.Kind]string{}
	}
	b.s.Forms[kind] = form
}

// socketForm describes how a list shows the ends of its sockets; "" if it has no
// sockets.
func socketForm(rows list) string {
	form := ""
	for d := range rows.all() {
		switch {
		case d.Remote != "" || d.Local != "":
			return analysis.FormEnds
		case d.Type == "socket" || strings.HasPrefix(d.Name, "socket:["):
			form = analysis.FormBare
		}
	}
	return form
}

// socketTables are the socket tables of a snapshot. Snapshots of many processes share them.
type socketTables struct {
	parts []*part
	// rows are those of all tables, listening those of them that listen.
	rows, listening []analysis.Socket
}

// sockets are the socket tables of the snapshot.
func (b *builder) sockets() *socketTables {
	var parts []*part
	for _, list := range [][]*part{b.g.parts, b.g.context} {
		for _, p := range list {
			if len(p.sockets) > 0 {
				parts = append(parts, p)
			}
		}
	}
	last := &b.r.tables
	if slices.Equal(parts, last.parts) {
		return last
	}
	*last = socketTables{parts: parts}
	if len(parts) == 1 {
		last.rows = parts[0].sockets
	} else {
		for _, p := range parts {
			last.rows = append(last.rows, p.sockets...)
		}
	}
	for i := range last.rows {
		if last.rows[i].State == "LISTEN" {
			last.listening = append(last.listening, last.rows[i])
		}
	}
	return last
}

// lacking reports an fdinfo directory that is far from whole, as in an archive
// that was cut: a listing of the same instant names at least a tenth and five
// more descriptors. Its watches would read as a loss of watches.
func (b *builder) lacking(fdinfo, links, listed *part) bool {
	if fdinfo == nil || fdinfo.fdinfo == nil || fdinfo.form == detect.FDInfoGrep {
		return false
	}
	have, want := len(fdinfo.fdinfo.infos)+fdinfo.fdinfo.empty, 0
	if links != nil {
		want = len(links.links)
	}
	if listed != nil {
		want = max(want, listed.listing.rows.len())
	}
	if want-have < 5 || (want-have)*10 < want || b.whole("fdinfo") {
		return false
	}
	if !b.reported {
		b.reported = true
		b.inexact(analysis.KindWatch, analysis.AtLeast)
		b.r.problem(analysis.Problem{Path: fdinfo.path, Offset: -1, Severity: analysis.Warning,
			What: fmt.Sprintf("fdinfo holds %d of %d descriptors and was left out", have, want),
			Why:  "the other files of this capture name more descriptors; an archive that was cut or a copy that was stopped loses some",
			Hint: "copy /proc/PID/fdinfo again with cp -r; the descriptors are counted from the listing, the watches not at all"})
	}
	return true
}

// whole reports that a manifest proves a step's files to be as they were captured: what others name
// more was opened at another moment.
func (b *builder) whole(step string) bool {
	p := b.g.capture()
	return p != nil && p.capture.whole[step]
}

// richest is the best readable listing among those with nearly the most descriptors:
// files of one instant are taken one after the other and differ by a few. Numeric
// endpoints come before names, the table before the fields.
func (b *builder) richest() *part {
	most := 0
	for _, p := range b.g.parts {
		if p.listing != nil {
			most = max(most, p.listing.rows.len())
		}
	}
	var best *part
	bestRank := [3]int{}
	for _, p := range b.g.parts {
		if p.listing == nil || p.listing.rows.len()+2+most/50 < most {
			continue
		}
		rank := [3]int{-p.listing.named(), 0, p.listing.rows.len()}
		if p.form == detect.LsofTable {
			rank[1] = 1
		}
		if best == nil || slices.Compare(rank[:], bestRank[:]) > 0 {
			best, bestRank = p, rank
		}
	}
	return best
}

// endpoints reports whether the listing shows the ends of its sockets.
func (l *listing) endpoints() bool {
	for d := range l.rows.all() {
		if d.Local != "" || d.Remote != "" {
			return true
		}
	}
	return false
}

// named counts the sockets whose remote host is a name and not an address.
func (l *listing) named() int {
	n := 0
	for d := range l.rows.all() {
		at := strings.LastIndexByte(d.Remote, ':')
		if at <= 0 || d.Remote[:at] == "*" {
			continue
		}
		if _, err := netip.ParseAddr(strings.Trim(d.Remote[:at], "[]")); err != nil {
			n++
		}
	}
	return n
}

func descriptorTotal(fdinfo, links, listed *part) *int {
	if fdinfo != nil && fdinfo.fdinfo != nil {
		n := fdinfo.fdinfo.empty
		for i := range fdinfo.fdinfo.infos {
			if fdinfo.fdinfo.infos[i].FD >= 0 {
				n++
			}
		}
		if n > 0 {
			return &n
		}
	}
	if links != nil {
		n := len(links.links)
		return &n
	}
	if listed != nil && listed.listing.rows.len() > 0 && !listed.listing.sockets {
		// Rows without a single number (cwd, txt, mem) are an excerpt: how many
		// descriptors there were is not known.
		n := listed.listing.rows.len()
		return &n
	}
	return nil
}

func (b *builder) countDescriptors(source *part, rows list, watches map[int]int) {
	at := int32(b.addArtifact(source))
	sockets := b.r.known.NewSockets()
	for d := range rows.all() {
		sockets.Add(d)
	}
	c, opened := counter{b: b}, b.openers(source)
	noInode := source.ofTable() || source.node != nil
	for d := range rows.all() {
		held, ok := watches[d.FD]
		if !ok {
			held = -1
		}
		c.count(sockets.OfDescriptor(*d, held))
	}
	c.rows(at, noInode)
	i := 0
	for d := range rows.all() {
		g := c.group(i)
		i++
		switch {
		case d.State == "ESTABLISHED" && d.Unread:
			g.States[analysis.Unread]++
		case d.State != "":
			g.States[d.State]++
		}
		opened.count(g.Family.Fingerprint, d)
		c.text = appendDetail(c.text[:0], d)
		id := descriptorIdentity(d)
		if noInode {
			id.Hash = endsHash(d)
		}
		g.Members.Rows.Append(id, d.Place, c.detail())
	}
	c.seal()
	b.ancestries(opened.ancestries())
}

// endsHash identifies a descriptor without inode: a socket by its protocol and both ends, so
// that each table of the same socket gives the same, a handle of Node without ends by its
// address, which stays while it is open. 0 for what has neither.
//
//	"TCP", "[::ffff:10.0.0.1]:40000", "10.0.0.2:80" = hash of "tcp 10.0.0.1:40000 10.0.0.2:80"
//	"handle 0x2e081ea0"                             = hash of that
func endsHash(d *analysis.Descriptor) uint64 {
	switch {
	case strings.HasPrefix(d.Name, "handle ") && (d.Local == "" || d.Remote == ""):
		return identityHash([]byte(d.Name))
	case d.Local == "" || d.Protocol == "unix":
		return 0
	}
	if c, ok := connectionOf(d.Protocol, d.Type, d.Local, d.Remote, d.State, d.Inode); ok {
		return identityHash([]byte(c.Protocol + " " + c.Local.String() + " " + c.Remote.String()))
	}
	return identityHash([]byte(d.Protocol + " " + d.Local + " " + d.Remote))
}

// descriptorIdentity follows a descriptor by number and inode. A number that lsof cut is -1
// and cannot be followed; the inode alone can.
func descriptorIdentity(d *analysis.Descriptor) analysis.Identity {
	return analysis.Identity{ID: int64(max(d.FD, -1)), Sub: int64(d.Inode)}
}

// counter makes the groups of members that are sorted into families first.
type counter struct {
	b      *builder
	groups []*analysis.Group
	index  map[*analysis.Group]int32
	// last is the family of the member before, which is of the group at.
	last *analysis.Family
	at   int32
	// of is the group of each member.
	of []int32
	// text is the detail of the present member.
	text []byte
}

// count takes the family of the next member.
func (c *counter) count(f *analysis.Family) {
	if f != c.last {
		c.last, c.at = f, c.indexOf(c.b.group(f))
	}
	c.groups[c.at].Count++
	c.of = append(c.of, c.at)
}

func (c *counter) indexOf(g *analysis.Group) int32 {
	n, known := c.index[g]
	if !known {
		if c.index == nil {
			c.index = map[*analysis.Group]int32{}
		}
		n = int32(len(c.groups))
		c.index[g] = n
		c.groups = append(c.groups, g)
	}
	return n
}

// rows begins the rows of each group.
func (c *counter) rows(artifact int32, hashed bool) {
	c.trim()
	for _, g := range c.groups {
		g.Members.Rows = &analysis.Rows{Artifact: artifact, Hashed: hashed}
	}
}

func (c *counter) seal() {
	for _, g := range c.groups {
		g.Members.Rows.Seal()
	}
}

// group is that of the member counted as number i.
func (c *counter) group(i int) *analysis.Group { return c.groups[c.of[i]] }

// detail is text, clipped.
func (c *counter) detail() []byte {
	const most = 400
	if len(c.text) > most {
		c.text = append(c.text[:most], "…"...)
	}
	return c.text
}

// appendDetail appends a descriptor in words.
//
//	"12u TCP 127.0.0.1:80->127.0.0.1:9 (LISTEN)"
func appendDetail(b []byte, d *analysis.Descriptor) []byte {
	if d.FD >= 0 {
		b = append(strconv.AppendInt(b, int64(d.FD), 10), d.Access...)
		b = append(b, ' ')
	}
	if d.Protocol != "" && !strings.Contains(d.Name, d.Protocol) {
		b = append(append(b, d.Protocol...), ' ')
	}
	b = append(b, d.Name...)
	if d.Local != "" && !strings.Contains(d.Name, d.Local) {
		b = append(append(b, ' '), d.Local...)
		if d.Remote != "" {
			b = append(append(b, "->"...), d.Remote...)
		}
		if d.State != "" {
			b = append(append(append(b, " ("...), d.State...), ')')
		}
	}
	if d.Idle {
		b = append(b, " idle: nothing in the event loop waits for it"...)
	}
	if d.Unread {
		b = append(b, " unread: the program does not read what it receives"...)
	}
	return b
}
