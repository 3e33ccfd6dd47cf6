package ingest

import (
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/family"
)

// A group is the parts of one snapshot, in the making.
type group struct {
	dir, stem string
	ordinal   int
	parts     []*part
	// compared are the parts that tell whether a further one belongs to the group: of those
	// that are alike, one.
	compared []*part
	// context parts describe the process and count nothing; groups of one
	// directory share them.
	context []*part
	// mounts are those of namespace, once it was asked.
	mounts *family.Mounts
}

func (g *group) form(forms ...string) *part {
	for _, p := range g.parts {
		for _, f := range forms {
			if p.form == f {
				return p
			}
		}
	}
	return nil
}

// profiles is the best profile of all goroutines of the group, or of the leaked ones: a
// whole one, else debug=1 before a proto.
func (g *group) profiles(leaked bool) *part {
	var best *part
	for _, form := range []string{detect.GoroutineDebug1, detect.GoroutineProto, detect.OTLPProfiles, detect.GoroutinePprof} {
		i := slices.IndexFunc(g.parts, func(p *part) bool { return p.form == form && p.profile != nil && p.leaked() == leaked })
		if i >= 0 && (best == nil || !best.profile.profile.Whole()) {
			best = g.parts[i]
		}
	}
	return best
}

// groups decides which parts are one snapshot: first by capture directory, then by the
// tokens in the names, then by process; last, what lies elsewhere in the bundle joins
// by process or time.
func groups(all []*part) []*group {
	joinNested(all)
	all = joinListings(all)
	var counts, logs, lists, traces, parts []*part
	for _, p := range all {
		switch {
		case p.form == detect.Counts:
			counts = append(counts, p)
		case p.logged != nil:
			logs = append(logs, p)
		case len(p.packages) > 0:
			lists = append(lists, p)
		case p.trace != nil:
			traces = append(traces, p)
		default:
			parts = append(parts, p)
		}
	}
	out := withTraces(groupsOf(parts), traces)
	if len(out) == 0 {
		out, counts = groupsOf(append(parts, counts...)), nil
	}
	out = withLists(withLogs(out, logs), lists)
	// Beside dumps, numbers without a process are of something that their file names.
	for _, p := range counts {
		if p.pid == 0 && p.name == "" {
			p.name = extension.ReplaceAllString(path.Base(p.where()), "")
		}
		out = append(out, &group{dir: p.dir, stem: p.stem, ordinal: p.ordinal, parts: []*part{p}})
	}
	return out
}

// withLogs gives logs to the groups of their process, by its pid or else by its name, which is that
// of the log. Other logs are of processes of their own.
func withLogs(all []*group, logs []*part) []*group {
	var own []*group
	for _, p := range logs {
		if with, one := withinLog(all, p); one {
			for _, g := range with {
				g.context = append(g.context, p)
			}
			continue
		}
		if p.name == "" {
			p.name = extension.ReplaceAllString(path.Base(p.where()), "")
		}
		given := false
		for _, g := range all {
			_, dirName := naming(g.dir)
			of := p.pid > 0 && p.pid == g.pid() || (p.pid == 0 || g.pid() == 0) && (dirName == p.name || g.stem == p.name || slices.ContainsFunc(g.parts, func(q *part) bool { return q.name == p.name }))
			if of {
				g.context, given = append(g.context, p), true
			}
		}
		if !given {
			own = append(own, &group{dir: p.dir, stem: p.stem, ordinal: p.ordinal, parts: []*part{p}})
		}
	}
	return append(all, own...)
}

// withinLog are the groups whose dumps stand in a log. one reports that they are of one process,
// whose log it then is.
func withinLog(all []*group, p *part) (out []*group, one bool) {
	type named struct {
		process
		name string
	}
	processes := map[named]bool{}
	for _, g := range all {
		for _, q := range g.parts {
			if q.path == p.path {
				processes[named{q.process(), q.name}] = true
				out = append(out, g)
				break
			}
		}
	}
	return out, len(processes) == 1
}

// withLists gives lists of versions to the groups below their directory, or to all where there are
// none. Without any group they are one of their own.
func withLists(all []*group, lists []*part) []*group {
	if len(all) == 0 && len(lists) > 0 {
		lists[0].name = "packages"
		return []*group{{dir: lists[0].dir, parts: lists}}
	}
	for _, p := range lists {
		root := aboveProc(p.dir)
		inside := slices.ContainsFunc(all, func(g *group) bool { return below(g.dir, root) })
		for _, g := range all {
			if !inside || below(g.dir, root) {
				g.context = append(g.context, p)
			}
		}
	}
	return all
}

func groupsOf(parts []*part) []*group {
	byDir := map[string][]*part{}
	var dirs []string
	for _, p := range parts {
		if p.form == detect.CapturedAt {
			continue
		}
		if byDir[p.dir] == nil {
			dirs = append(dirs, p.dir)
		}
		byDir[p.dir] = append(byDir[p.dir], p)
	}
	sort.Slice(dirs, func(i, j int) bool { return naturalLess(dirs[i], dirs[j]) })
	var out []*group
	for _, dir := range dirs {
		out = append(out, splitDirectory(dir, byDir[dir], owned)...)
	}
	if len(out) == 0 { // nothing names a process
		for _, dir := range dirs {
			out = append(out, splitDirectory(dir, byDir[dir], unowned)...)
		}
	}
	if len(out) == 0 { // nothing lists anything
		for _, p := range parts {
			_, machine := p.sysctls["fs.file-nr.allocated"]
			p.alone = p.status != nil || p.clients != nil || machine || p.nodes > 0 || p.form == detect.ProcessTable
			switch {
			case p.name != "":
			case p.clients != nil:
				p.name = "jenkins" // whose script prints them
			case machine, p.form == detect.ProcessTable && p.pid == 0:
				p.name = "machine"
			case p.nodes > 0:
				p.name = "node"
			case p.form == detect.ProcessTable && len(p.cmdline) == 0: // its children alone are listed
				p.name = "process " + strconv.Itoa(p.pid)
			}
		}
		for _, dir := range dirs {
			out = append(out, splitDirectory(dir, byDir[dir], owned)...)
		}
	}
	out = joinAbove(joinReports(joinRepeats(out)))
	out = pairMetrics(out)
	spreadContext(out, byDir)
	return out
}

// joinNested moves the parts of an archive inside a capture directory
// (t0/leaker/fd.tar) into that directory, if the archive holds nothing but descriptors.
// The directory may itself be in an archive, but it must hold something beside the
// nested archive.
func joinNested(parts []*part) {
	only := map[string]bool{}
	for _, p := range parts {
		archive := archiveOf(p.path)
		fits := archive != "" && (p.form == detect.FDInfo || p.form == detect.FDLink)
		if was, seen := only[archive]; !seen {
			only[archive] = fits
		} else {
			only[archive] = was && fits
		}
	}
	holds := map[string]bool{}
	for _, p := range parts {
		if !only[archiveOf(p.path)] {
			holds[p.dir] = true
		}
	}
	for _, p := range parts {
		archive := archiveOf(p.path)
		if !only[archive] {
			continue
		}
		if dir := strings.TrimSuffix(directoryOf(archive), "/"); holds[dir] {
			p.dir = dir
		}
	}
}

// archiveOf is the path of the innermost archive around p, "" at the top.
func archiveOf(p string) string {
	i := strings.LastIndex(p, "!/")
	if i < 0 {
		return ""
	}
	return p[:i]
}

// splitDirectory forms the groups of one capture directory. The directory is one
// instant if no two numbers in the names differ and no two dumps of one form are of
// different instants. Instants without evidence have what tables makes of their context.
func splitDirectory(dir string, parts []*part, tables func(context []*part) []*part) []*group {
	var evidence, context []*part
	lone := loneHeap(parts)
	for _, p := range parts {
		if p.evidence() && !(lone && p.heap != nil) {
			evidence = append(evidence, p)
		} else {
			context = append(context, p)
		}
	}
	evidence = append(evidence, tables(ofOtherInstants(context, evidence))...)
	if len(evidence) == 0 {
		return contextOnly(dir, context)
	}
	dropEmptyTwins(evidence)
	buckets := map[string]*group{}
	var order []*group
	key := instants(evidence)
	// Parts that are alone in their form define the instants. The others, such as the
	// second lsof of one instant, are placed among them.
	for _, p := range evidence {
		g := bucket(buckets, &order, dir, key(p), p)
		g.parts = append(g.parts, p)
		if n := len(g.compared); n == 0 || !alike(g.compared[n-1], p) {
			g.compared = append(g.compared, p)
		}
	}
	sort.SliceStable(order, func(i, j int) bool {
		if order[i].stem != order[j].stem {
			return naturalLess(order[i].stem, order[j].stem)
		}
		return order[i].ordinal < order[j].ordinal
	})
	var out []*group
	for _, g := range order {
		out = append(out, splitProcesses(g, context)...)
	}
	shareContext(out, context)
	return out
}

// dropEmptyTwins keeps the empty archive of an fdinfo/ that was also copied
// rightly from overruling the copy: it stays listed and counts nothing.
func dropEmptyTwins(evidence []*part) {
	full := false
	for _, p := range evidence {
		full = full || p.fdinfo != nil && len(p.fdinfo.infos) > 0
	}
	if !full {
		return
	}
	for _, p := range evidence {
		if p.fdinfo != nil && len(p.fdinfo.infos) == 0 {
			p.form = detect.EmptyFDInfo
		}
	}
}

// instants returns the words of a part's name that identify its instant in the
// directory: the numbers and the words of order, if the names of the directory hold
// several. If the names of two goroutine dumps of one form differ in nothing else, the
// other words count too, since goroutine dumps hold no time that could join them.
func instants(evidence []*part) func(*part) string {
	tokens := map[string]bool{}
	for _, p := range evidence {
		if t := p.token(); t != "" {
			tokens[t] = true
		}
	}
	token := func(p *part) string {
		if len(tokens) < 2 {
			return ""
		}
		return p.token()
	}
	stems := map[string]string{}
	byStem := map[string]bool{}
	for _, p := range evidence {
		if p.text == nil && p.profile == nil || p.leaked() {
			continue
		}
		at := p.form + "\x00" + token(p)
		if stem, seen := stems[at]; seen && stem != p.stem {
			byStem[token(p)] = true
		}
		stems[at] = p.stem
	}
	return func(p *part) string {
		if t := token(p); !byStem[t] {
			return t
		}
		return p.stem
	}
}

// token is the part of a name that identifies a time: its numbers and words of order,
// without the pid that the content states as well.
//
//	"p1-t4" = "1,4", "before" = "before", "lsof-p-4711" of pid 4711 = ""
func (p *part) token() string {
	var words []string
	for rest := p.stem; rest != ""; {
		var word string
		word, rest = chunk(rest)
		if isDigits(word) && (p.pid == 0 || word != strconv.Itoa(p.pid)) || ordinal(word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, ",")
}

// bucket finds the group of a part. Two parts of one form are one instant only if their
// content or their kind proves it; otherwise each is a group.
func bucket(buckets map[string]*group, order *[]*group, dir, instant string, p *part) *group {
	for n := p.ordinal; ; n++ {
		key := instant + "\x00" + strconv.Itoa(n)
		g := buckets[key]
		if g == nil {
			g = &group{dir: dir, stem: p.stem, ordinal: n}
			buckets[key] = g
			*order = append(*order, g)
			return g
		}
		if !slices.ContainsFunc(g.compared, func(q *part) bool { return !together(p, q) }) {
			if g.token() == "" {
				g.stem = p.stem
			}
			return g
		}
	}
}

// token is that of the group's name.
func (g *group) token() string { return (&part{stem: g.stem}).token() }

// together reports whether two parts of one directory can be of one instant.
func together(p, q *part) bool {
	if p.profile != nil && q.profile != nil && p.leaked() != q.leaked() {
		return true // one counts all goroutines, the other those of them that are leaked
	}
	if p.artifact == q.artifact && p.ordinal != q.ordinal {
		return false
	}
	if p.dumps() && q.dumps() && p.pid != 0 && q.pid != 0 && p.pid != q.pid {
		return false
	}
	if apart(p.inner, q.inner) && (p.form == q.form || p.dumps() && q.dumps()) {
		return false
	}
	if p.dumps() && q.dumps() && p.stem != q.stem && p.stem != "" && q.stem != "" && apart(p.taken(), q.taken()) {
		return false // encodings of several moments under several names
	}
	if p.form != q.form || p.form == detect.EmptyFDInfo {
		return true
	}
	switch {
	case p.heap != nil: // a heap and an allocs profile hold the same
		return !p.inner.IsZero() && !q.inner.IsZero()
	case p.listing != nil, p.counts != nil:
		// Several listings of one host are variants of one state.
		return true
	case p.threads != nil:
		return p.threads.dump.Form != q.threads.dump.Form || !p.inner.IsZero() && !q.inner.IsZero()
	case p.form == detect.FDListing:
		return p.artifact == q.artifact || overlap(p.links, q.links)
	case p.form == detect.FDInfoGrep:
		return p.artifact == q.artifact
	}
	return false
}

// overlap reports that two listings may be of one process: of the descriptors of the shorter one
// at least half stand in the other, under the same number.
func overlap(a, b []analysis.Descriptor) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	type row struct {
		fd   int
		name string
	}
	rows := make(map[row]bool, len(b))
	for i := range b {
		rows[row{b[i].FD, b[i].Name}] = true
	}
	n := 0
	for i := range a {
		if rows[row{a[i].FD, a[i].Name}] {
			n++
		}
	}
	return 2*n >= len(a)
}

// taken is the time that the part states, else that of its file.
func (p *part) taken() time.Time {
	if p.inner.IsZero() {
		return p.modified
	}
	return p.inner
}

// apart reports two known times that are not of one instant.
func apart(a, b time.Time) bool {
	return !a.IsZero() && !b.IsZero() && a.Sub(b).Abs() > sameInstant
}

// alike reports that together answers the same for two parts: those of the thousands of
// processes of one listing are.
func alike(p, q *part) bool {
	return p.listed() && q.listed() && p.artifact == q.artifact && p.ordinal == q.ordinal && p.form == q.form && p.inner.Equal(q.inner)
}

// listed reports a part of a listing that may name several processes.
func (p *part) listed() bool {
	return p.listing != nil || p.counts != nil || p.form == detect.FDListing || p.form == detect.FDInfoGrep
}

// process is what tells the processes of one listing apart.
type process struct {
	pid  int
	host string
	// name tells those apart that a table counts by name, or a command looks up by it.
	name string
	// container is the one of a pod that a command runs in: each has its own pid 1.
	container string
}

// process is the one that the part of a listing is of.
func (p *part) process() process {
	out := process{pid: p.pid, host: p.host, container: p.container}
	if p.pid == 0 && (p.counts != nil || p.printed()) {
		out.name = p.name
	}
	return out
}

// sameInstant is how far apart the inner times of one instant's files may be.
const sameInstant = 2 * time.Second

// dumps reports whether the process wrote the part at one moment, so that its inner
// time is the moment of its figures.
func (p *part) dumps() bool {
	return p.threads != nil || p.text != nil || p.profile != nil || p.node != nil
}

// splitProcesses parts a group whose listing names several processes: the one
// that the directory speaks of keeps the other evidence.
func splitProcesses(g *group, context []*part) []*group {
	var listings, rest []*part
	linked := map[process]bool{} // by the links and fdinfo files of one file
	for _, p := range g.parts {
		if p.listed() && p.listing == nil && p.counts == nil {
			linked[p.process()] = true
		}
	}
	processes, pids := map[process]bool{}, map[int]bool{}
	for _, p := range g.parts {
		if p.listing != nil || p.counts != nil || p.listed() && len(linked) > 1 {
			listings = append(listings, p)
			processes[p.process()], pids[p.pid] = true, true
		} else {
			rest = append(rest, p)
		}
	}
	own := ownPID(rest, context)
	if len(processes) <= 1 && (own == 0 || len(listings) == 0 || pids[own]) {
		return []*group{g}
	}
	if own == 0 {
		own = namedPID(g.dir, listings)
	}
	byProcess := map[process]*group{}
	var out []*group
	if len(rest) > 0 {
		first := &group{dir: g.dir, stem: g.stem, ordinal: g.ordinal, parts: rest}
		out = append(out, first)
		if own != 0 {
			byProcess[process{pid: own, host: rest[0].host, container: rest[0].container}] = first
		}
	}
	for _, p := range listings {
		q := byProcess[p.process()]
		if q == nil {
			q = &group{dir: g.dir, stem: g.stem, ordinal: g.ordinal}
			byProcess[p.process()] = q
			out = append(out, q)
		}
		q.parts = append(q.parts, p)
	}
	return out
}

// ownPID is the pid that the directory itself states.
func ownPID(rest, context []*part) int {
	for _, p := range append(append([]*part{}, context...), rest...) {
		if p.pid != 0 {
			return p.pid
		}
	}
	return 0
}

// namedPID is the one process of a listing that has the directory's name.
func namedPID(dir string, listings []*part) int {
	_, name := naming(dir)
	found := 0
	for _, p := range listings {
		if name != "" && p.name == name {
			if found != 0 && found != p.pid {
				return 0
			}
			found = p.pid
		}
	}
	return found
}

// pid is the process that the group's evidence names, 0 if none does.
func (g *group) pid() int {
	pid := 0
	for _, p := range g.parts {
		if p.pid != 0 {
			pid = p.pid
		}
	}
	return pid
}

// inner is the time that the group's evidence states itself.
func (g *group) inner() time.Time {
	for _, p := range g.parts {
		if !p.inner.IsZero() && p.dumps() {
			return p.inner
		}
	}
	for _, p := range append(append([]*part{}, g.parts...), g.context...) {
		if !p.inner.IsZero() {
			return p.inner
		}
	}
	return time.Time{}
}
