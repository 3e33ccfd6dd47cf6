package ingest

import (
	"crypto/sha256"
	"encoding/base32"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

// snapshots forms the snapshots of the bundle, in time order, and the groups of each.
func (r *reader) snapshots() ([]analysis.Snapshot, []packedGroups) {
	all := groups(r.parts)
	r.sayLeftOut(all)
	r.loose(all)
	r.stems = map[string]map[string]bool{}
	for _, g := range all {
		word := wordOfStem(g.stem)
		if r.stems[word] == nil {
			r.stems[word] = map[string]bool{}
		}
		if t := g.token(); t != "" {
			r.stems[word][t] = true
		}
	}
	r.lone = len(all) == 1
	r.groups, r.former, r.pods = all, recall(all), podsOf(r.parts, r.artifacts)
	out := make([]analysis.Snapshot, 0, len(all))
	formed := make([]packedGroups, len(all))
	for i, g := range all {
		b := &builder{r: r, g: g, artifact: map[int]int{}}
		s := b.build()
		s.Order = i
		b.when(&s)
		formed[i] = r.table.pack(s.Groups)
		s.Groups = nil
		out = append(out, s)
		for _, p := range g.parts {
			if p.listing != nil && p.listing.rows != nil {
				p.listing.rows.release()
			}
			if p.text != nil {
				p.text.groups = packedGroups{}
			}
		}
	}
	leaveLone(out)
	r.dateByFiles(out, all)
	for i, g := range all {
		g.stepTimes(&out[i])
	}
	completeNames(out)
	shareHost(out, all)
	hostsByName(out, all, func(i int) []analysis.Group { return r.table.unpack(formed[i]) })
	r.lendCreations(out, all, formed)
	out = r.name(out)
	arrange(out)
	packed := make([]packedGroups, len(out))
	for i := range out {
		packed[i] = formed[out[i].Order]
		out[i].Order = i
	}
	return out, packed
}

// name sets the id and label of every snapshot, and drops one whose bytes are those of
// another.
func (r *reader) name(snapshots []analysis.Snapshot) []analysis.Snapshot {
	seen := make(map[string]origin, len(snapshots))
	points := map[string]*pointCount{}
	kept := snapshots[:0]
	for i := range snapshots {
		s := &snapshots[i]
		known, copied := identified(seen, s)
		if copied {
			r.problem(analysis.Problem{Path: s.Artifacts[0].Path, Offset: -1, Severity: analysis.Note,
				What: "the same bytes were captured twice", Why: "they are already the snapshot of " + known.path, Hint: "nothing to do; the copy is not counted"})
			continue
		}
		key := s.Process.Key()
		if points[key] == nil {
			points[key] = &pointCount{}
		}
		number := points[key].of(s)
		found := s.Label
		if s.Label == "" {
			s.Label = "#" + strconv.Itoa(number)
		}
		if len(s.Artifacts) > 0 {
			seen[s.ID] = origin{found, s.Artifacts[0].Path, s.Process.PID.Value, s.CapturedAt}
		}
		kept = append(kept, *s)
	}
	return kept
}

// pointCount numbers the points in time of a program. Processes that one file shows are of
// one point.
type pointCount struct {
	n    int
	path string
	pids map[string]bool
}

func (c *pointCount) of(s *analysis.Snapshot) int {
	path, pid := "", s.Process.PID.Value
	if len(s.Artifacts) > 0 {
		path = s.Artifacts[0].Path
	}
	if c.n == 0 || path != c.path || c.pids[pid] {
		*c = pointCount{n: c.n + 1, path: path, pids: map[string]bool{}}
	}
	c.pids[pid] = true
	return c.n
}

// origin is what tells snapshots with the same id apart.
type origin struct {
	label, path, pid string
	at               time.Time
}

// identified sets the id of a snapshot, and reports whether it is a copy of a known one.
// An idle process yields the same bytes at another time: label and time make it a point of
// its own. One file may show several processes with equal rows: the pid tells them apart.
func identified(seen map[string]origin, s *analysis.Snapshot) (known origin, copied bool) {
	key := s.Process.Key()
	for {
		s.ID = snapshotID(key, s.Artifacts)
		was, taken := seen[s.ID]
		if !taken {
			return origin{}, false
		}
		moment, process := "\x00"+s.Label+s.CapturedAt.String(), "\x00pid "+s.Process.PID.Value
		switch {
		case !strings.Contains(key, moment) && (!was.at.Equal(s.CapturedAt) || was.label != s.Label):
			key += moment
		case !strings.Contains(key, process) && was.path == s.Artifacts[0].Path && was.pid != s.Process.PID.Value:
			key += process
		default:
			return was, true
		}
	}
}

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// snapshotID is equal wherever the same bytes are read as the same process.
func snapshotID(processKey string, artifacts []analysis.Artifact) string {
	hashes := make([]string, len(artifacts))
	for i, a := range artifacts {
		hashes[i] = a.SHA256 + a.Outcome
	}
	sort.Strings(hashes)
	sum := sha256.New()
	io.WriteString(sum, processKey+"\n"+strings.Join(hashes, "\n"))
	return "s" + idEncoding.EncodeToString(sum.Sum(nil))[:26]
}

// arrange orders snapshots by time. A snapshot without a time keeps its place by name
// among the others of its series.
func arrange(snapshots []analysis.Snapshot) {
	timed := make([]*analysis.Snapshot, 0, len(snapshots))
	for i := range snapshots {
		if s := &snapshots[i]; !s.CapturedAt.IsZero() {
			timed = append(timed, s)
		}
	}
	sort.SliceStable(timed, func(i, j int) bool { return timed[i].CapturedAt.Before(timed[j].CapturedAt) })
	// Those without a time come in their order: each follows those before it.
	places := map[string][]int{}
	for i := range timed {
		key := timed[i].Process.Key()
		places[key] = append(places[key], i)
	}
	before := make([][]*analysis.Snapshot, len(timed)+1)
	for i := range snapshots {
		s := &snapshots[i]
		if !s.CapturedAt.IsZero() {
			continue
		}
		at := len(timed)
		for _, i := range places[s.Process.Key()] {
			if timed[i].Order > s.Order {
				at = i
				break
			}
		}
		before[at] = append(before[at], s)
	}
	out := make([]analysis.Snapshot, 0, len(snapshots))
	add := func(some ...*analysis.Snapshot) {
		for _, s := range some {
			out = append(out, *s)
		}
	}
	for i := range timed {
		add(before[i]...)
		add(timed[i])
	}
	add(before[len(timed)]...)
	copy(snapshots, out)
}

// builder makes one snapshot of one group.
type builder struct {
	r *reader
	g *group
	s analysis.Snapshot
	// artifact maps indexes of the bundle's artifacts to those of the snapshot.
	artifact map[int]int
	byPrint  map[string]*analysis.Group
	// byExact indexes the variants of families that have many.
	byExact map[string]map[string]int
	// reported keeps a problem of this snapshot from being reported twice.
	reported bool
}

func (b *builder) build() analysis.Snapshot {
	b.byPrint = map[string]*analysis.Group{}
	b.byExact = map[string]map[string]int{}
	for _, p := range append(append([]*part{}, b.g.parts...), b.g.context...) {
		b.addArtifact(p)
	}
	b.identify()
	b.goroutines()
	b.threads()
	b.descriptors()
	b.watches()
	b.pairs()
	b.contentions()
	b.heap()
	b.figures()
	if len(b.byPrint) > 0 {
		b.s.Groups = make([]analysis.Group, 0, len(b.byPrint))
	}
	for _, g := range b.byPrint {
		orderVariants(g)
		g.States = b.r.table.sharedStates(g.States)
		b.s.Groups = append(b.s.Groups, *g)
	}
	sort.Slice(b.s.Groups, func(i, j int) bool {
		return b.s.Groups[i].Family.Fingerprint < b.s.Groups[j].Family.Fingerprint
	})
	paths := map[string]bool{}
	for _, a := range b.s.Artifacts {
		paths[a.Path] = true
	}
	for _, p := range b.r.problems.list {
		if paths[p.Path] || paths[directoryOf(p.Path)] {
			b.s.Problems = append(b.s.Problems, p)
		}
	}
	return b.s
}

// inexact lowers the exactness of a kind.
func (b *builder) inexact(kind analysis.Kind, e analysis.Exactness) {
	b.s.Inexact = b.s.Inexact.With(kind, e)
}

// addArtifact lists the artifact of a part once.
func (b *builder) addArtifact(p *part) int {
	if at, ok := b.artifact[p.artifact]; ok {
		return at
	}
	at := len(b.s.Artifacts)
	a := b.r.artifacts[p.artifact]
	if n, ok := p.own(); ok {
		// One of several processes or dumps of a file counts for itself only.
		a.Members, a.Outcome = n, p.outcome
	}
	if p.listing != nil {
		if a.Rows = p.listing.other; p.listing.sockets {
			a.Rows = p.listing.rows.len()
		}
		for _, name := range p.listing.users {
			if !slices.Contains(b.s.Users, name) {
				b.s.Users = append(b.s.Users, name)
			}
		}
	}
	b.s.Artifacts = append(b.s.Artifacts, a)
	b.artifact[p.artifact] = at
	return at
}

var (
	// instantWord is a part of a name that stands for a time: "t4".
	instantWord = expression.Lazy(`(?i)\b[ts]\d+\b`)
)

// families are those found so far.
func (b *builder) families() []*analysis.Family {
	out := make([]*analysis.Family, 0, len(b.byPrint))
	for _, g := range b.byPrint {
		out = append(out, g.Family)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Fingerprint < out[j].Fingerprint })
	return out
}

// figure keeps a named number of context.
func (b *builder) figure(name string, value float64) {
	if b.s.Figures == nil {
		b.s.Figures = map[string]float64{}
	}
	b.s.Figures[name] = value
}

// figures keeps the named numbers of context. In a bundle without a dump those that number all
// members of a kind are totals.
func (b *builder) figures() {
	put := b.figure
	defer func() {
		if len(b.g.parts) > 0 && !b.g.dumped() || !slices.ContainsFunc(b.r.groups, (*group).dumped) {
			b.counted()
			b.countedGroups()
		}
	}()
	if p := b.g.capture(); p != nil && p.capture.Process.networkNamespace() > 0 {
		put(analysis.NetworkNamespace, p.capture.Process.networkNamespace())
	}
	for _, p := range append(append([]*part{}, b.g.context...), b.g.parts...) {
		for name, value := range p.figures {
			put(name, value)
		}
		for name, value := range p.sysctls {
			put(name, float64(value))
		}
		b.s.Logged, b.s.Packages = append(b.s.Logged, p.logged...), append(b.s.Packages, p.packages...)
		if p.clients != nil {
			state := func(pool, text string) {
				title, _, _ := strings.Cut(text, ":")
				b.s.Statements = append(b.s.Statements, analysis.Statement{Key: digits.ReplaceAllString(title, "N"), Title: clip(title, 160), Text: text, Pool: pool, Path: p.path})
			}
			for _, text := range p.clients.Saturated() {
				state(analysis.KubernetesClient, text)
			}
			if text := p.clients.Quiet(); text != "" {
				state("", text)
			}
		}
		if p.limits != nil {
			if soft, ok := p.limits.OpenFiles(); ok && soft >= 0 {
				put("limit_open_files", float64(soft))
			}
		}
		if p.status != nil {
			put("os_threads", float64(p.status.Threads))
			if p.status.UID >= 0 {
				put(analysis.UserID, float64(p.status.UID))
			}
			put("resident_memory_bytes", float64(p.status.VmRSSBytes))
		}
	}
}
