package ingest

import (
	"sort"
	"strings"

	"leakdiff/analysis/detect"
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

// groups decides which parts are one snapshot (bundles.md section 5): first by
// capture directory, then by the tokens in the names, then by process.
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
	return out
}

// adoptNested moves the parts of an archive that lies in a capture directory
// and holds nothing but descriptors (t0/leaker/fd.tar) into that directory.
func adoptNested(parts []*part) {
	outer := map[string]bool{}
	only := map[string]bool{}
	for _, p := range parts {
		archive := archiveOf(p.path)
		if archive == "" {
			outer[p.dir] = true
			continue
		}
		fits := p.form == detect.FDInfo || p.form == detect.FDLink
		if was, seen := only[archive]; !seen {
			only[archive] = fits
		} else {
			only[archive] = was && fits
		}
	}
	for _, p := range parts {
		archive := archiveOf(p.path)
		if archive == "" || !only[archive] {
			continue
		}
		if dir := strings.TrimSuffix(directoryOf(archive), "/"); outer[dir] {
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

// splitDirectory forms the groups of one capture directory. Without a form that
// occurs twice, and without two different numbers in the names, all of it is
// one instant.
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
		return contextOnly(dir, context)
	}
	dropEmptyTwins(evidence)
	buckets := map[string]*group{}
	var order []*group
	split := ambiguous(evidence)
	for _, p := range evidence {
		key := ""
		if split {
			key = p.stem
		}
		g := bucket(buckets, &order, dir, key, p)
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

// contextOnly makes a snapshot of figures alone (a metrics page), or none.
func contextOnly(dir string, context []*part) []*group {
	for _, p := range context {
		if p.form == detect.Metrics && len(p.figures) > 0 {
			return []*group{{dir: dir, stem: p.stem, context: context}}
		}
	}
	return nil
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

// ambiguous reports whether the names of a directory tell several instants.
func ambiguous(evidence []*part) bool {
	type formAt struct {
		form    string
		pid     int
		ordinal int
	}
	seen := map[formAt]bool{}
	numbers := map[string]bool{}
	for _, p := range evidence {
		k := formAt{p.form, 0, p.ordinal}
		if p.listing != nil {
			k.pid = p.pid
		}
		if seen[k] && p.form != detect.EmptyFDInfo {
			return true
		}
		seen[k] = true
		if n := strings.Join(digits.FindAllString(p.stem, -1), ","); n != "" {
			numbers[n] = true
		}
	}
	return len(numbers) > 1
}

// bucket finds the group of a part; two files of one form and one stem are two
// groups, since nothing says that they are one.
func bucket(buckets map[string]*group, order *[]*group, dir, stem string, p *part) *group {
	for n := p.ordinal; ; n++ {
		key := stem + "\x00" + string(rune('0'+n))
		g := buckets[key]
		if g == nil {
			g = &group{dir: dir, stem: stem, ordinal: n}
			buckets[key] = g
			*order = append(*order, g)
			return g
		}
		twin := false
		for _, q := range g.parts {
			same := q.form == p.form && p.form != detect.EmptyFDInfo
			if same && (p.listing == nil || q.pid == p.pid) {
				twin = true
			}
		}
		if !twin {
			return g
		}
	}
}

// splitProcesses parts a group whose listing names several processes: the one
// that the directory speaks of keeps the other evidence.
func splitProcesses(g *group, context []*part) []*group {
	var listings, rest []*part
	pids := map[int]bool{}
	for _, p := range g.parts {
		if p.listing != nil {
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
// contradict it: another pid, or another number in the name.
func shareContext(out []*group, context []*part) {
	for _, g := range out {
		pid := 0
		for _, p := range g.parts {
			if p.pid != 0 {
				pid = p.pid
			}
		}
		for _, c := range context {
			if c.pid != 0 && pid != 0 && c.pid != pid {
				continue
			}
			if c.stem != "" && g.stem != "" && c.stem != g.stem {
				continue
			}
			g.context = append(g.context, c)
		}
	}
}
