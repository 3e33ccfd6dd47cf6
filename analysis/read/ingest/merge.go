package ingest

import (
	"maps"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/lsof"
	"leakdiff/analysis/say/wording"
)

// A group is the parts of one snapshot, in the making.
type group struct {
	dir, stem string
	ordinal   int
	parts     []*part
	// context parts describe the process and count nothing; groups of one
	// directory share them.
	context []*part
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
	for _, form := range []string{detect.GoroutineDebug1, detect.GoroutineProto} {
		i := slices.IndexFunc(g.parts, func(p *part) bool { return p.form == form && p.profile != nil && p.leaked() == leaked })
		if i >= 0 && (best == nil || !best.profile.profile.Whole()) {
			best = g.parts[i]
		}
	}
	return best
}

// groups decides which parts are one snapshot (bundles.md section 5): first by
// capture directory, then by the tokens in the names, then by process; last,
// what lies elsewhere in the bundle joins by process or time.
func groups(parts []*part) []*group {
	adoptNested(parts)
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
		out = append(out, splitDirectory(dir, byDir[dir])...)
	}
	out = joinRepeats(out)
	out = pairMetrics(out)
	spreadContext(out, byDir)
	return out
}

// adoptNested moves the parts of an archive that lies in a capture directory
// and holds nothing but descriptors (t0/leaker/fd.tar) into that directory. The
// directory may lie in an archive as well: what counts is that something beside the
// nested archive is in it.
func adoptNested(parts []*part) {
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

// splitDirectory forms the groups of one capture directory. Without two
// different numbers in the names, and without two dumps of one form that are not
// of one instant, all of it is one instant.
func splitDirectory(dir string, parts []*part) []*group {
	var evidence, context []*part
	for _, p := range parts {
		if p.evidence() {
			evidence = append(evidence, p)
		} else {
			context = append(context, p)
		}
	}
	if len(evidence) == 0 {
		evidence = owned(context)
	}
	if len(evidence) == 0 {
		return contextOnly(dir, context)
	}
	dropEmptyTwins(evidence)
	buckets := map[string]*group{}
	var order []*group
	key := instants(evidence)
	// Those that stand alone in their form say which instants there are; the
	// others, such as the second lsof of one instant, find their place among them.
	for _, p := range evidence {
		g := bucket(buckets, &order, dir, key(p), p)
		g.parts = append(g.parts, p)
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

// owned makes listings of socket tables that name the owners of their sockets
// (ss -p, netstat -p), where a directory holds nothing that lists descriptors.
func owned(context []*part) []*part {
	var out []*part
	for _, p := range context {
		programs := map[int]string{}
		for _, s := range p.sockets {
			for _, o := range s.Owners {
				programs[o.PID] = o.Program
			}
		}
		owned, words := lsof.OwnedDescriptors(p.sockets), newRowWords()
		for _, pid := range slices.Sorted(maps.Keys(owned)) {
			q := *p
			q.pid, q.name, q.sockets = pid, programs[pid], nil
			q.listing = &listing{command: q.name, rows: &rows{words: words}}
			for i := range owned[pid] {
				q.listing.rows.add(&owned[pid][i])
			}
			q.outcome = wording.Plural(len(owned[pid]), "socket", "sockets") + " of " + q.name
			out = append(out, &q)
		}
	}
	return out
}

// contextOnly makes a snapshot of figures alone (a metrics page), or none.
func contextOnly(dir string, context []*part) []*group {
	var out []*group
	for _, p := range context {
		if (p.form == detect.Metrics || p.form == detect.MetricsJSON) && len(p.figures) > 0 {
			if len(out) == 0 || p.token() != out[len(out)-1].token() {
				out = append(out, &group{dir: dir, stem: p.stem})
			}
		}
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

// instants returns what in a part's name says which instant of its directory it
// belongs to (bundles.md section 5, rules a and d): the numbers and the words of
// order in its name where the names of the directory hold several; and the other
// words as well where two goroutine dumps of one form differ in nothing else,
// since they hold no time that could join them.
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

// token is what a name says of when: its numbers and words of order, without
// the pid that the content states as well.
//
//	"p1-t4" = "1,4", "before" = "before", "lsof-p-4711" of pid 4711 = ""
func (p *part) token() string {
	var words []string
	for rest := p.stem; rest != ""; {
		var word string
		word, rest = chunk(rest)
		if isDigits(word) && word != strconv.Itoa(p.pid) || ordinal(word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, ",")
}

// bucket finds the group of a part. Two of one form are one instant only where
// their content or their kind allows it; otherwise nothing says that they are
// one, and each is a group.
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
		if !slices.ContainsFunc(g.parts, func(q *part) bool { return !together(p, q) }) {
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
	if !p.inner.IsZero() && !q.inner.IsZero() && p.inner.Sub(q.inner).Abs() > sameInstant && (p.form == q.form || p.dumps() && q.dumps()) {
		return false
	}
	if p.form != q.form || p.form == detect.EmptyFDInfo {
		return true
	}
	switch {
	case p.listing != nil, p.counts != nil:
		// Several listings of one host are variants of one state (lsof.md 5.3).
		return true
	case p.threads != nil:
		return p.threads.dump.Form != q.threads.dump.Form || !p.inner.IsZero() && !q.inner.IsZero()
	case p.form == detect.FDListing:
		return true
	}
	return false
}

// sameInstant is how far apart the inner times of one instant's files may be.
const sameInstant = 2 * time.Second

// dumps reports whether the part was written by the process at one moment, so
// that its inner time is the moment of its figures.
func (p *part) dumps() bool {
	return p.threads != nil || p.text != nil || p.profile != nil || p.node != nil
}

// splitProcesses parts a group whose listing names several processes: the one
// that the directory speaks of keeps the other evidence.
func splitProcesses(g *group, context []*part) []*group {
	var listings, rest []*part
	pids := map[int]bool{}
	for _, p := range g.parts {
		if p.listing != nil || p.counts != nil {
			listings = append(listings, p)
			pids[p.pid] = true
		} else {
			rest = append(rest, p)
		}
	}
	own := ownPID(rest, context)
	if len(pids) <= 1 && (own == 0 || len(listings) == 0 || pids[own]) {
		return []*group{g}
	}
	if own == 0 {
		own = namedPID(g.dir, listings)
	}
	byPID := map[int]*group{}
	var out []*group
	if len(rest) > 0 {
		first := &group{dir: g.dir, stem: g.stem, ordinal: g.ordinal, parts: rest}
		out = append(out, first)
		if own != 0 {
			byPID[own] = first
		}
	}
	for _, p := range listings {
		q := byPID[p.pid]
		if q == nil {
			q = &group{dir: g.dir, stem: g.stem, ordinal: g.ordinal}
			byPID[p.pid] = q
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

// shareContext gives every group the context of its directory that does not
// contradict it: another pid, other numbers in the name, or the name of another
// group.
func shareContext(out []*group, context []*part) {
	named := map[string]bool{}
	for _, g := range out {
		named[g.stem] = true
	}
	for _, g := range out {
		pid := g.pid()
		for _, c := range context {
			switch t := c.token(); {
			case c.pid != 0 && pid != 0 && c.pid != pid:
			case t != "" && g.token() != "" && t != g.token():
			case c.stem != "" && c.stem != g.stem && named[c.stem]:
			default:
				g.context = append(g.context, c)
			}
		}
	}
}

// pid is the process that the group's evidence names, 0 where none does.
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

// joinRepeats gives dumps that were found inside a log to the capture of the
// same instant, where another file holds it as well: a log of the program
// repeats what a collector saved (bundles.md section 5, rule d).
func joinRepeats(all []*group) []*group {
	var out []*group
	for _, g := range all {
		home := (*group)(nil)
		if g.logged() {
			home = g.sameInstant(all)
		}
		if home == nil {
			out = append(out, g)
			continue
		}
		home.parts = append(home.parts, g.parts...)
	}
	return out
}

// logged reports whether all of the group was read out of logs.
func (g *group) logged() bool {
	return len(g.parts) > 0 && !slices.ContainsFunc(g.parts, func(p *part) bool { return !p.section })
}

func (g *group) sameInstant(all []*group) *group {
	at := g.inner()
	if at.IsZero() {
		return nil
	}
	var best *group
	for _, h := range all {
		if h == g || h.logged() || h.inner().IsZero() || h.inner().Sub(at).Abs() > sameInstant {
			continue
		}
		if g.pid() != 0 && h.pid() != 0 && g.pid() != h.pid() || !h.hasKindOf(g) {
			continue
		}
		if best == nil || h.inner().Sub(at).Abs() < best.inner().Sub(at).Abs() {
			best = h
		}
	}
	return best
}

func (g *group) hasKindOf(other *group) bool {
	for _, p := range g.parts {
		for _, q := range other.parts {
			if p.threads != nil && q.threads != nil || p.text != nil && q.text != nil {
				return true
			}
		}
	}
	return false
}

// nearest is how far metrics may be from the dump that they describe.
const nearest = 60 * time.Second

// pairMetrics gives metrics that state their own time and stand alone in their
// directory to the snapshot nearest in time, if it is nearer than half the way
// to the next one (bundles.md section 5, rule c): a HashiCorp bundle keeps them
// under other numbers than the dumps.
func pairMetrics(all []*group) []*group {
	var dumps, out []*group
	for _, g := range all {
		if len(g.parts) > 0 && !g.inner().IsZero() {
			dumps = append(dumps, g)
		}
	}
	sort.SliceStable(dumps, func(i, j int) bool { return dumps[i].inner().Before(dumps[j].inner()) })
	for _, g := range all {
		if len(g.parts) > 0 || g.inner().IsZero() || len(dumps) == 0 {
			out = append(out, g)
			continue
		}
		i := closest(dumps, g.inner())
		limit := nearest
		for _, j := range []int{i - 1, i + 1} {
			if j >= 0 && j < len(dumps) && dumps[j].dir == dumps[i].dir {
				limit = min(limit, dumps[j].inner().Sub(dumps[i].inner()).Abs()/2)
			}
		}
		if dumps[i].inner().Sub(g.inner()).Abs() <= limit {
			dumps[i].context = append(dumps[i].context, g.context...)
		} else if !g.hashicorp() {
			out = append(out, g)
		}
	}
	return out
}

func (g *group) hashicorp() bool {
	return slices.ContainsFunc(g.context, func(p *part) bool { return p.form == detect.MetricsJSON })
}

func closest(sorted []*group, at time.Time) int {
	best := 0
	for i := range sorted {
		if sorted[i].inner().Sub(at).Abs() < sorted[best].inner().Sub(at).Abs() {
			best = i
		}
	}
	return best
}

// spreadContext gives what describes a process or a host from a directory
// without evidence (proc/4711/limits, sysctl.txt at the top) to the snapshots
// that it speaks of: those of that pid below the directory that holds proc/,
// and, for settings of the host, all below it.
func spreadContext(out []*group, byDir map[string][]*part) {
	held := map[*part]bool{}
	for _, g := range out {
		for _, c := range g.context {
			held[c] = true
		}
	}
	dirs := make([]string, 0, len(byDir))
	for dir := range byDir {
		dirs = append(dirs, dir)
	}
	sort.Strings(dirs)
	for _, dir := range dirs {
		for _, c := range byDir[dir] {
			if c.evidence() || held[c] {
				continue
			}
			root := aboveProc(dir)
			for _, g := range out {
				if !below(g.dir, root) {
					continue
				}
				if c.pid != 0 && c.pid == g.pid() || c.pid == 0 && c.ofHost() {
					g.context = append(g.context, c)
				}
			}
		}
	}
}

// ofHost reports whether the part describes the host and not a process.
func (p *part) ofHost() bool {
	return len(p.sysctls) > 0 || p.inodes != nil || p.form == detect.Manifest
}

// aboveProc is the directory that holds a copy of /proc, /etc or the commands of
// sos: "host/proc/7" gives "host", and any other directory itself.
func aboveProc(dir string) string {
	for _, sub := range []*regexp.Regexp{procDir, hostDir} {
		if at := sub.FindStringIndex(dir); at != nil {
			return strings.TrimSuffix(dir[:at[0]], "/")
		}
	}
	return dir
}

// hostDir holds what describes the host as a whole.
var hostDir = regexp.MustCompile(`(?:^|/)(?:etc|proc|sys|sos_commands(?:/[^/]+)?|server/[^/]+|nodes/[^/]+)$`)

func below(dir, root string) bool {
	return root == "" || dir == root || strings.HasPrefix(dir, root+"/") || strings.HasPrefix(dir, root+"!/")
}
