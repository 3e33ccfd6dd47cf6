package ingest

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/wording"
)

// snapshots forms the snapshots of the bundle, in time order.
func (r *reader) snapshots() []analysis.Snapshot {
	all := groups(r.parts)
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
	r.former = recall(all)
	out := make([]analysis.Snapshot, 0, len(all))
	for i, g := range all {
		b := &builder{r: r, g: g, artifact: map[int]int{}}
		s := b.build()
		s.Order = i
		b.when(&s)
		out = append(out, s)
		for _, p := range g.parts {
			if p.listing != nil && p.listing.rows != nil {
				p.listing.rows.release()
			}
			p.text.release()
		}
	}
	r.dateByFiles(out, all)
	for i, g := range all {
		g.stepTimes(&out[i])
	}
	completeNames(out)
	shareHost(out)
	hostsByDirectory(out, all)
	out = r.name(out)
	arrange(out)
	for i := range out {
		out[i].Order = i
	}
	return out
}

// name gives every snapshot its id and label, and drops one that is the same
// bytes as another.
func (r *reader) name(snapshots []analysis.Snapshot) []analysis.Snapshot {
	seen := map[string]analysis.Snapshot{}
	perProcess := map[string]int{}
	kept := snapshots[:0]
	for _, s := range snapshots {
		key := s.Process.Key()
		s.ID = snapshotID(key, s.Artifacts)
		if first, twice := seen[s.ID]; twice {
			if first.CapturedAt.Equal(s.CapturedAt) && first.Label == s.Label {
				r.problem(analysis.Problem{Path: s.Artifacts[0].Path, Offset: -1, Severity: analysis.Note,
					What: "the same bytes were captured twice", Why: "they are already the snapshot of " + first.Artifacts[0].Path, Hint: "nothing to do; the copy is not counted"})
				continue
			}
			// An idle process gives the same bytes at another time: a point of its own.
			s.ID = snapshotID(key+"\x00"+s.Label+s.CapturedAt.String(), s.Artifacts)
		}
		perProcess[key]++
		found := s.Label
		if s.Label == "" {
			s.Label = "#" + strconv.Itoa(perProcess[key])
		}
		if len(s.Artifacts) > 0 {
			unlabelled := s
			unlabelled.Label = found
			seen[s.ID] = unlabelled
		}
		kept = append(kept, s)
	}
	return kept
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

// shareHost names the one host that the bundle knows for every process in it.
func shareHost(snapshots []analysis.Snapshot) {
	var host analysis.Fact
	for _, s := range snapshots {
		h := s.Process.Host
		if !h.Known() {
			continue
		}
		if host.Known() && host.Value != h.Value {
			return
		}
		host = h
	}
	for i := range snapshots {
		if host.Known() && !snapshots[i].Process.Host.Known() {
			snapshots[i].Process.Host = analysis.Fact{Value: host.Value, Confidence: analysis.Medium, Source: "another process of the same bundle"}
		}
	}
}

// hostsByDirectory tells hosts apart that only their directories name: captures of
// one program in two directories that were taken over the same time, or have the
// same labels, are not one process after the other.
func hostsByDirectory(snapshots []analysis.Snapshot, all []*group) {
	type place struct{ key, where string }
	at := map[place][]int{}
	wheres := map[string][]string{}
	for i, s := range snapshots {
		where := whereOf(all[i].dir, s.Process.Name.Value)
		if s.Process.Host.Known() || s.Process.PID.Known() || where == "" {
			continue
		}
		p := place{s.Process.Key(), where}
		if len(at[p]) == 0 {
			wheres[p.key] = append(wheres[p.key], where)
		}
		at[p] = append(at[p], i)
	}
	for key, list := range wheres {
		apart := false
		for i, a := range list {
			for _, b := range list[i+1:] {
				apart = apart || sideBySide(snapshots, at[place{key, a}], at[place{key, b}])
			}
		}
		if !apart {
			continue
		}
		for _, where := range list {
			for _, i := range at[place{key, where}] {
				snapshots[i].Process.Host = analysis.Fact{Value: where, Source: "directory name", Confidence: analysis.Low}
			}
		}
	}
}

// whereOf is what a directory's path says apart from when and which program.
func whereOf(dir, process string) string {
	var words []string
	for _, word := range strings.Split(strings.ReplaceAll(dir, "!", ""), "/") {
		said := strings.Trim(formWord.ReplaceAllString(word, ""), "._- ")
		if word != "" && word != process && !token.MatchString(word) && said != "" && !ordinal(strings.ToLower(said)) {
			words = append(words, word)
		}
	}
	return strings.Join(words, "/")
}

// sideBySide reports whether two lists of snapshots overlap in time or, without
// times, in their labels; two single ones must have the same label and time.
func sideBySide(snapshots []analysis.Snapshot, a, b []int) bool {
	if len(a) == 1 && len(b) == 1 {
		x, y := &snapshots[a[0]], &snapshots[b[0]]
		return x.Label != "" && x.Label == y.Label && x.CapturedAt.Equal(y.CapturedAt)
	}
	if len(a) < 2 || len(b) < 2 {
		return false
	}
	labels := map[string]bool{}
	for _, i := range a {
		labels[snapshots[i].Label] = true
	}
	shared := 0
	for _, i := range b {
		if labels[snapshots[i].Label] {
			shared++
		}
	}
	firstA, lastA := span(snapshots, a)
	firstB, lastB := span(snapshots, b)
	if firstA.IsZero() || firstB.IsZero() {
		return shared >= 2
	}
	return firstA.Before(lastB) && firstB.Before(lastA)
}

func span(snapshots []analysis.Snapshot, list []int) (first, last time.Time) {
	for _, i := range list {
		at := snapshots[i].CapturedAt
		if at.IsZero() {
			continue
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	return first, last
}

// arrange orders snapshots by time; those without a time keep the place that
// their names give them among the others of their series.
func arrange(snapshots []analysis.Snapshot) {
	timed := make([]analysis.Snapshot, 0, len(snapshots))
	for _, s := range snapshots {
		if !s.CapturedAt.IsZero() {
			timed = append(timed, s)
		}
	}
	sort.SliceStable(timed, func(i, j int) bool { return timed[i].CapturedAt.Before(timed[j].CapturedAt) })
	// Those without a time come in their order: each stands behind those before it.
	places := map[string][]int{}
	for i := range timed {
		key := timed[i].Process.Key()
		places[key] = append(places[key], i)
	}
	before := make([][]analysis.Snapshot, len(timed)+1)
	for _, s := range snapshots {
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
	for i := range timed {
		out = append(append(out, before[i]...), timed[i])
	}
	copy(snapshots, append(out, before[len(timed)]...))
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
	// said keeps a problem of this snapshot from being told twice.
	said bool
}

func (b *builder) build() analysis.Snapshot {
	b.byPrint = map[string]*analysis.Group{}
	b.byExact = map[string]map[string]int{}
	for _, p := range append(append([]*part{}, b.g.parts...), b.g.context...) {
		b.adopt(p)
	}
	b.identify()
	b.goroutines()
	b.threads()
	b.descriptors()
	b.watches()
	b.halfRead()
	b.figures()
	if len(b.byPrint) > 0 {
		b.s.Groups = make([]analysis.Group, 0, len(b.byPrint))
	}
	for _, g := range b.byPrint {
		orderVariants(g)
		g.States = b.r.sharedStates(g.States)
		b.s.Groups = append(b.s.Groups, *g)
	}
	sort.Slice(b.s.Groups, func(i, j int) bool {
		return b.s.Groups[i].Family.Fingerprint < b.s.Groups[j].Family.Fingerprint
	})
	paths := map[string]bool{}
	for _, a := range b.s.Artifacts {
		paths[a.Path] = true
	}
	for _, p := range b.r.told.list {
		if paths[p.Path] || paths[directoryOf(p.Path)] {
			b.s.Problems = append(b.s.Problems, p)
		}
	}
	return b.s
}

// mostSharedStates bounds what is remembered of states.
const mostSharedStates = 1 << 12

// sharedStates is a map with the content of one that says that all members are in one
// state: most families of a large dump say so, of few members.
func (r *reader) sharedStates(states map[string]int) map[string]int {
	if len(states) != 1 {
		return states
	}
	for state, n := range states {
		key := oneState{state, n}
		if known, ok := r.states[key]; ok {
			return known
		}
		if len(r.states) < mostSharedStates {
			if r.states == nil {
				r.states = map[oneState]map[string]int{}
			}
			r.states[key] = states
		}
	}
	return states
}

// oneState is a number of members in one state.
type oneState struct {
	state string
	n     int
}

// orderVariants puts the largest variants first, and has the members index them
// there.
func orderVariants(g *analysis.Group) {
	if len(g.Variants) < 2 {
		return
	}
	order := make([]int, len(g.Variants))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return g.Variants[order[i]].Count > g.Variants[order[j]].Count })
	sorted := make([]analysis.Variant, len(order))
	place := make([]int32, len(order))
	for to, from := range order {
		sorted[to], place[from] = g.Variants[from], int32(to)
	}
	g.Variants = sorted
	for i, v := range g.Members.Variant {
		if v >= 0 {
			g.Members.Variant[i] = place[v]
		}
	}
	for i := range g.Members.Packed {
		p := &g.Members.Packed[i]
		p.Variant = place[p.Variant]
	}
}

// adopt lists the artifact of a part once.
func (b *builder) adopt(p *part) int {
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
		a.Rows = p.listing.other
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

func processWord(p *part) string {
	return fmt.Sprintf("%s, pid %d, listing %d", p.listing.command, p.pid, p.ordinal+1)
}

// identify resolves whose evidence this is: inside the data first, then the
// names (DESIGN.md section 4).
func (b *builder) identify() {
	label, dirName := naming(b.g.dir)
	if label == "" || b.g.stem != "" && !strings.Contains(b.g.stem, label) {
		if stem := labelOfStem(b.g.stem); stem != "" && label == "" {
			label = stem
		}
	}
	if len(b.g.parts) > 0 && b.g.parts[0].section {
		label = strings.TrimSpace(label + " #" + strconv.Itoa(b.g.ordinal+1))
	}
	b.s.Label = label
	p := &b.s.Process
	all := append(append([]*part{}, b.g.context...), b.g.parts...)
	for _, q := range all {
		b.identifyBy(p, q)
	}
	b.nameProcess(p, all, dirName)
}

func (b *builder) identifyBy(p *analysis.Process, q *part) {
	where := path.Base(strings.TrimSuffix(q.path, "/"))
	if q.pid != 0 && (p.PID.Value == "" || q.stat != nil) {
		p.PID = analysis.Fact{Value: strconv.Itoa(q.pid), Source: where, Confidence: analysis.High}
	}
	if q.stat != nil && q.stat.StartTicks > 0 {
		p.Start = analysis.Fact{Value: strconv.FormatUint(q.stat.StartTicks, 10), Source: "ticks since boot in " + where, Confidence: analysis.High}
	}
	if q.capture != nil && !p.Start.Known() && q.capture.Process.StartTicks > 0 {
		p.Start = analysis.Fact{Value: q.capture.Process.start(), Source: "ticks since boot in " + where, Confidence: analysis.High}
	}
	switch host := hostOf(q.cmdline); {
	case q.host != "" && q.section:
		p.Host = analysis.Fact{Value: q.host, Source: "prefix of the log lines in " + where, Confidence: analysis.High}
	case q.host != "" && (q.form == detect.Manifest || q.form == detect.Capture):
		p.Host = analysis.Fact{Value: q.host, Source: where + " of the collector", Confidence: analysis.High}
	case q.host != "":
		p.Host = analysis.Fact{Value: q.host, Source: where, Confidence: analysis.High}
	case q.placing.host != "" && p.Host.Confidence != analysis.High:
		p.Host = q.placing.fact(q.placing.host)
	case host != "" && p.Host.Confidence != analysis.High:
		p.Host = analysis.Fact{Value: host, Source: "an option in " + where, Confidence: analysis.Medium}
	}
	if q.version != "" {
		p.Version = analysis.Fact{Value: q.version, Source: where, Confidence: analysis.High}
	}
}

// nameProcess takes the first name that speaks: stat and status, the command
// line, the binary of a proto, a listing's COMMAND, the directory, the program's
// own functions.
func (b *builder) nameProcess(p *analysis.Process, all []*part, dirName string) {
	var captured, kernel, argv, binary, listed, logged, placed string
	var placing placing
	for _, q := range all {
		switch {
		case q.capture != nil:
			captured = q.name
		case q.stat != nil || q.status != nil:
			kernel = q.name
		case len(q.cmdline) > 0:
			argv = programName(q.cmdline[0])
		case q.profile != nil && q.name != "":
			binary = q.name
		case q.listing != nil:
			listed = q.name
		case q.node != nil && q.name != "":
			argv = q.name
		case q.name != "":
			logged = q.name
		}
		if q.placing.process != "" {
			placing, placed = q.placing, q.placing.process
		}
	}
	whole := func(cut string, limit int) (string, bool) {
		for _, longer := range []string{argv, binary, dirName} {
			if len(cut) == limit && len(longer) > limit && strings.HasPrefix(longer, cut) {
				return longer, true
			}
		}
		return cut, false
	}
	set := func(name, source string, c analysis.Confidence) {
		p.Name = analysis.Fact{Value: name, Source: source, Confidence: c}
	}
	switch {
	case captured != "":
		set(captured, "manifest of the collector", analysis.High)
	case kernel != "":
		name, longer := whole(kernel, 15)
		source := "stat or status"
		if longer {
			source = "stat, completed from the command line, binary or directory"
		}
		set(name, source, analysis.High)
	case argv != "":
		set(argv, "command line", analysis.High)
	case listed != "":
		name, longer := whole(listed, 9)
		source := "COMMAND of the listing"
		if longer {
			source += ", completed from the binary or directory"
		}
		set(name, source, analysis.High)
	case logged != "":
		set(logged, "prefix of the log lines", analysis.High)
	case placed != "" && (binary == "" || genericName(binary)):
		p.Name = placing.fact(placed)
	case binary != "" && (dirName == "" || dirName == binary || genericName(binary)):
		set(binary, "binary named in the profile", analysis.High)
	case dirName != "" && b.contextNamesProcess(dirName):
		set(dirName, "directory name", analysis.Medium)
	case binary != "":
		set(binary, "binary named in the profile", analysis.High)
	default:
		if name := b.mainPackage(); name != "" {
			set(name, "package of main.main or of the program's own functions", analysis.Low)
		} else if word := b.r.processWordOfStem(b.g.stem); word != "" {
			set(word, "file name", analysis.Low)
		}
	}
}

// genericName is a binary whose name says nothing, such as go test's.
func genericName(name string) bool { return name == "main" || strings.HasPrefix(name, "__debug_bin") }

// contextNamesProcess reports whether a directory's name can be a process: it
// has a capture's label above or below it, or the bundle has several of it.
func (b *builder) contextNamesProcess(dir string) bool {
	label, _ := naming(b.g.dir)
	return label != "" && dir != ""
}

// mainPackage reads the program out of the stacks: the last element of the path
// that holds package main's file ("/src/cmd/kubelet/main.go" gives "kubelet").
func (b *builder) mainPackage() string {
	for _, p := range b.g.parts {
		var stacks []*analysis.Stack
		if p.text != nil {
			stacks = p.text.order
		} else if p.profile != nil {
			stacks = p.profile.stacks
		}
		for _, s := range stacks {
			for _, f := range s.Frames {
				if f.Func != "main.main" {
					continue
				}
				held := path.Dir(strings.ReplaceAll(f.File, `\`, "/"))
				if dir := path.Base(held); dir != "." && dir != "/" && dir != "src" && dir != "app" && !homeDirectory.MatchString(held) {
					if at := strings.IndexByte(dir, '@'); at > 0 {
						dir = dir[:at]
					}
					return dir
				}
			}
		}
	}
	return ""
}

// homeDirectory is somebody's own directory, or the one that holds them all: its name
// is a person's and no program's.
var homeDirectory = regexp.MustCompile(`(?i)^(?:[a-z]:)?(?:/var|/usr|/export|/data|/mnt)?/(?:home|users)(?:/[^/]+)?$|^(?:/var)?/root$`)

func labelOfStem(stem string) string {
	if len(digits.FindAllString(stem, -1)) > 0 || ordinal(stem) {
		return stem
	}
	return ""
}

func ordinal(word string) bool {
	_, ok := ordinalWords[word]
	return ok
}

var (
	// instantWord is a part of a name that says when: "t4".
	instantWord = regexp.MustCompile(`(?i)\b[ts]\d+\b`)
)

// programs are names that a file may carry; any other word in a file's name says
// something else ("monday").
var programs = wordSet(`kubelet containerd containerd-shim-runc-v2 dockerd crio etcd kube-apiserver kube-controller-manager kube-scheduler kube-proxy
	coredns cilium-agent cilium-operator calico-node antrea-agent prometheus alertmanager grafana loki thanos alloy node_exporter nomad consul vault
	cockroach minio influxd tidb tikv pd traefik caddy haproxy envoy istiod pilot-discovery jenkins elasticsearch java node mattermost teleport rancher
	longhorn-manager velero argocd harbor telegraf filebeat metricbeat elastic-agent datadog-agent syncthing gitea`)

func wordSet(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(text) {
		out[w] = true
	}
	return out
}

// fileWord names a file and no program.
var fileWord = regexp.MustCompile(`(?i)^(results?|outputs?|responses?|body|console|stdout|stderr|app|page|report|data|file|messages|syslog|journal.*|capture|test)$`)

// processWordOfStem is the program that a file's name gives: a known one, or a
// word that stands in the names of several instants ("billing-t0", "billing-t1").
func (r *reader) processWordOfStem(stem string) string {
	word := wordOfStem(stem)
	if programs[word] || len(word) >= 3 && !ordinal(word) && !fileWord.MatchString(word) && len(r.stems[word]) >= 2 {
		return word
	}
	return ""
}

func wordOfStem(stem string) string {
	return strings.Trim(digits.ReplaceAllString(instantWord.ReplaceAllString(stem, ""), ""), "._- ")
}

// when resolves the time: a collector's manifest, the data itself, names. Where they
// say nothing, the times of files may (dateByFiles).
func (b *builder) when(s *analysis.Snapshot) {
	if at, where := b.r.manifestTime(b.g.dir); !at.IsZero() {
		s.CapturedAt = at
		s.TimeFact = analysis.Fact{Value: at.Format(time.RFC3339Nano), Source: where, Confidence: analysis.High}
	}
	for _, p := range b.g.parts {
		if p.inner.IsZero() {
			continue
		}
		if s.CapturedAt.IsZero() {
			s.CapturedAt = p.inner.UTC()
			s.TimeFact = analysis.Fact{Value: s.CapturedAt.Format(time.RFC3339Nano), Source: p.timeSource(), Confidence: analysis.High}
			s.Zoneless = p.zoneless
		} else if d := p.inner.Sub(s.CapturedAt).Abs(); d > sameInstant && !p.zoneless {
			if s.Times == nil {
				s.Times = map[analysis.Kind]time.Time{}
			}
			s.Times[p.kind()] = p.inner.UTC()
		}
	}
	if !s.CapturedAt.IsZero() {
		return
	}
	if at, where, ok := b.namedTime(); ok {
		s.CapturedAt = at
		s.TimeFact = analysis.Fact{Value: at.Format(time.RFC3339), Source: where, Confidence: analysis.Medium}
		return
	}
	for _, p := range b.g.context {
		if !p.ran.IsZero() {
			s.CapturedAt = p.ran
			s.TimeFact = analysis.Fact{Value: p.ran.Format(time.RFC3339), Source: "date in " + path.Base(p.path) + " of the collector", Confidence: analysis.Medium}
			return
		}
	}
	if at, ok := timeInName(b.r.archive); ok && (b.r.lone || b.oneCapture()) {
		s.CapturedAt = at
		s.TimeFact = analysis.Fact{Value: at.Format(time.RFC3339), Source: "name of the upload", Confidence: analysis.Medium}
	}
}

// oneCapture reports whether a known collector puts one capture of each host into
// such an archive.
func (b *builder) oneCapture() bool {
	for _, p := range b.g.parts {
		if p.placing.captured {
			return true
		}
	}
	return false
}

// timeSource says where the inner time stands.
func (p *part) timeSource() string {
	source := "time inside " + path.Base(p.path)
	if p.source != "" {
		source = "time of the log lines in " + path.Base(p.path)
	}
	if p.zoneless {
		source += ", which names no zone and is taken as UTC"
	}
	if p.dayless {
		source += ", and no day: the last one that fits is taken"
	}
	return source
}

// manifestTime finds captured_at in the directory or, nearest first, above it.
func (r *reader) manifestTime(dir string) (time.Time, string) {
	if r.manifests == nil {
		r.manifests = map[string]*part{}
		for _, p := range r.parts {
			if !p.captured.IsZero() && r.manifests[p.dir] == nil {
				r.manifests[p.dir] = p
			}
		}
	}
	for {
		if p := r.manifests[dir]; p != nil {
			return p.captured, p.path
		}
		if dir == "" {
			return time.Time{}, ""
		}
		dir = strings.TrimSuffix(directoryOf(dir), "/")
	}
}

func (b *builder) namedTime() (time.Time, string, bool) {
	for _, p := range b.g.parts {
		if !p.placing.at.IsZero() {
			return p.placing.at, "path of a " + p.placing.product, true
		}
		if at, ok := timeInName(path.Base(p.path)); ok {
			return at, "file name", true
		}
	}
	parts := strings.Split(b.g.dir, "/")
	for i := len(parts) - 1; i >= 0; i-- {
		if at, ok := timeInName(parts[i]); ok {
			return at, "directory name", true
		}
	}
	return time.Time{}, "", false
}

// group finds or makes the family of this snapshot.
func (b *builder) group(f *analysis.Family) *analysis.Group {
	g := b.byPrint[f.Fingerprint]
	if g == nil {
		g = &analysis.Group{Family: f, OldestWait: -1, States: map[string]int{}}
		b.byPrint[f.Fingerprint] = g
	}
	return g
}

// variant finds or makes an exact stack within a family.
func (b *builder) variant(g *analysis.Group, s *analysis.Stack) int {
	return variantAs(g, b.byExact, b.r.stacks.Exact(s), s)
}

// goroutines fills totals and families from the text and its twins, which are
// encodings of one instant and never added up.
func (b *builder) goroutines() {
	text := b.g.form(detect.GoroutineDebug2, detect.GoroutineCrash)
	twin, leaked := b.g.profiles(false), b.g.profiles(true)
	if text == nil && twin == nil {
		twin, leaked = leaked, nil
	}
	if text == nil && twin == nil {
		return
	}
	if leaked != nil {
		defer b.markLeaked(leaked)
	}
	if text == nil {
		b.countTwin(twin)
		total := twin.profile.profile.Sum
		b.s.Totals.Goroutines = &total
		b.s.Truncated, b.s.Refused = twin.profile.profile.Truncated, twin.profile.profile.Refused
		b.s.LowerBound = !twin.profile.profile.Whole()
		return
	}
	dump := text.text.dump
	if (text.form == detect.GoroutineCrash || text.text.crash) && dump.Headers < 3 {
		// One goroutine under a panic says nothing about how many there were.
		b.r.problem(analysis.Problem{Path: text.path, Offset: -1, Severity: analysis.Note,
			What: "a crash that shows " + wording.Plural(dump.Headers, "goroutine", "goroutines") + ", not a dump of all",
			Why:  "Go prints the failing goroutine alone unless GOTRACEBACK=all is set",
			Hint: "take a dump with /debug/pprof/goroutine?debug=2, or set GOTRACEBACK=all before the next crash"})
		return
	}
	total := dump.Goroutines
	b.s.MaxGoroutineID = dump.MaxID
	b.s.Truncated = dump.Truncated
	complete := twin != nil && twin.profile.profile.Whole()
	b.objects(text.text)
	b.countText(text)
	switch {
	case dump.Truncated && complete:
		b.completeFromTwin(twin)
		total = max(total, twin.profile.profile.Sum)
		// The parser, which knows no twin, has asked for one.
		b.r.told.list = slices.DeleteFunc(b.r.told.list, func(p analysis.Problem) bool {
			return p.Path == text.path && strings.HasPrefix(p.What, "the dump is cut")
		})
		b.r.problem(analysis.Problem{Path: text.path, Offset: -1, Severity: analysis.Warning,
			What: fmt.Sprintf("%d of at least %d goroutines were read from the cut dump", dump.Goroutines, total),
			Why:  "the totals and the size of each family come from " + path.Base(twin.path) + ", which is whole; ids, states and waits are of those that were read",
			Hint: "take the next capture with debug=1 as well, as here; it is small and never cut"})
	case dump.Truncated:
		b.s.LowerBound = true
	case complete:
		b.compareTwin(text, twin, total)
	}
	b.s.Totals.Goroutines = &total
}

// compareTwin names a twin that counts otherwise by more than a tenth.
func (b *builder) compareTwin(text, twin *part, total int) {
	other := twin.profile.profile.Sum
	if d := max(other-total, total-other); d*10 <= max(total, other) {
		return
	}
	b.r.problem(analysis.Problem{Path: twin.path, Offset: -1, Severity: analysis.Warning,
		What: fmt.Sprintf("counts %d goroutines where %s has %d", other, path.Base(text.path), total),
		Why:  "the two were not taken at one instant, or one of them is not whole",
		Hint: "the text's figures are used; take both within a second of each other"})
}

func (b *builder) countText(p *part) {
	at := b.adopt(p)
	for _, stack := range p.text.order {
		c := p.text.stacks[stack]
		if c.Len() == 0 {
			continue // all of them are in no family
		}
		g := b.group(b.familyOf(p.text, stack))
		v := b.variant(g, stack)
		g.Variants[v].Count += c.Len()
		g.Leaked += c.leaked
		c.sum(g, p.text.states)
		g.Members.States = p.text.states
		g.Members.Packed = append(g.Members.Packed, analysis.Packing{Packed: c.Packed, Variant: int32(v), Artifact: int32(at)})
	}
}

// familyOf is the family of a stack of a dump.
func (b *builder) familyOf(t *textDump, stack *analysis.Stack) *analysis.Family {
	c := t.stacks[stack]
	if c.family == nil {
		c.family = b.r.stacks.OfStack(stack)
	}
	return c.family
}

// sum adds the goroutines to the figures of their family.
func (c *goroutines) sum(g *analysis.Group, states []string) {
	for i, n := range c.waits {
		g.Waits[i] += n
	}
	g.OldestWait = max(g.OldestWait, c.oldest)
	for i, state := range c.States() {
		g.States[states[state]] += c.counts[i]
	}
	g.Count += c.Len()
}

func stateIndex(m *analysis.Members, state string) uint16 {
	for i, s := range m.States {
		if s == state {
			return uint16(i)
		}
	}
	m.States = append(m.States, state)
	return uint16(len(m.States) - 1)
}

func waitBucket(minutes int) int {
	for i := len(analysis.WaitBuckets) - 1; i >= 0; i-- {
		if minutes >= analysis.WaitBuckets[i] {
			return i
		}
	}
	return 0
}

// countTwin makes families of a debug=1 text or proto alone: no identities.
func (b *builder) countTwin(p *part) {
	at := int32(b.adopt(p))
	for i, stack := range p.profile.stacks {
		if dumping(stack) {
			continue
		}
		g := b.group(b.r.stacks.OfStack(stack))
		v := b.variant(g, stack)
		g.Variants[v].Count += p.profile.counts[i]
		g.Count += p.profile.counts[i]
		rec := p.profile.offsets[i]
		g.Members.Offset = append(g.Members.Offset, rec.Offset)
		g.Members.Line = append(g.Members.Line, rec.Line)
		g.Members.Length = append(g.Members.Length, int32(min(rec.Length, 1<<31-1)))
		g.Members.Artifact = append(g.Members.Artifact, at)
		g.Members.Variant = append(g.Members.Variant, int32(v))
	}
}

// dumping recognises the goroutine that wrote the profile; it belongs to no
// family, as in debug=2.
func dumping(s *analysis.Stack) bool {
	for i, f := range s.Frames {
		if i > 6 {
			break
		}
		if strings.HasPrefix(f.Func, "runtime/pprof.writeGoroutine") || strings.HasPrefix(f.Func, "runtime/pprof.writeRuntimeProfile") || strings.HasPrefix(f.Func, "runtime/pprof.runtime_goroutineProfile") {
			return true
		}
	}
	return false
}

// markLeaked marks the members of families that a profile of the leaked goroutines alone
// counts (/debug/pprof/goroutineleak), as the text of debug=2 does.
func (b *builder) markLeaked(p *part) {
	adopters := family.Adopters(b.families())
	counts := map[string]int{}
	for i, stack := range p.profile.stacks {
		print := b.r.stacks.OfStack(stack).Fingerprint
		if b.byPrint[print] == nil {
			print = adopters[print]
		}
		counts[print] += p.profile.counts[i]
	}
	for print, n := range counts {
		if g := b.byPrint[print]; g != nil {
			g.Leaked = max(g.Leaked, min(n, g.Count))
		}
	}
}

// completeFromTwin gives the families of a cut text the counts of its complete
// twin; members, states and ids stay those that were read.
func (b *builder) completeFromTwin(p *part) {
	at := int32(b.adopt(p))
	counts := map[string]int{}
	families := map[string]*analysis.Family{}
	first := map[string]int{}
	adopters := family.Adopters(b.families())
	for i, stack := range p.profile.stacks {
		if dumping(stack) {
			continue
		}
		f := b.r.stacks.OfStack(stack)
		if adopted := b.byPrint[adopters[f.Fingerprint]]; adopted != nil {
			f = adopted.Family
		}
		if _, ok := families[f.Fingerprint]; !ok {
			families[f.Fingerprint], first[f.Fingerprint] = f, i
		}
		counts[f.Fingerprint] += p.profile.counts[i]
	}
	for print, f := range families {
		g := b.group(f)
		if len(g.Variants) == 0 {
			stack := p.profile.stacks[first[print]]
			v := b.variant(g, stack)
			g.Variants[v].Count = counts[print]
			rec := p.profile.offsets[first[print]]
			g.Members = analysis.Members{Offset: []int64{rec.Offset}, Line: []int64{rec.Line}, Length: []int32{int32(min(rec.Length, 1<<31-1))}, Artifact: []int32{at}, Variant: []int32{int32(v)}}
		}
		g.Count = max(g.Count, counts[print])
	}
}

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

// figures keeps the named numbers of context.
func (b *builder) figures() {
	put := b.figure
	for _, p := range append(append([]*part{}, b.g.context...), b.g.parts...) {
		for name, value := range p.figures {
			put(name, value)
		}
		for name, value := range p.sysctls {
			put(name, float64(value))
		}
		if p.clients != nil {
			for _, text := range p.clients.Findings() {
				title, _, _ := strings.Cut(text, ":")
				key := digits.ReplaceAllString(title, "N")
				b.s.Statements = append(b.s.Statements, analysis.Statement{Key: key, Title: clip(title, 160), Text: text, Path: p.path})
			}
		}
		if p.limits != nil {
			if soft, ok := p.limits.OpenFiles(); ok && soft >= 0 {
				put("limit_open_files", float64(soft))
			}
		}
		if p.status != nil {
			put("os_threads", float64(p.status.Threads))
			put("resident_memory_bytes", float64(p.status.VmRSSBytes))
		}
	}
}
