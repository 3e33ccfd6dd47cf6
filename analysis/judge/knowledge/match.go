package knowledge

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
)

// Seen is one family of one series, as far as its judgement and the catalogue meet.
type Seen struct {
	Family *analysis.Family
	// Program is the name of the process.
	Program string
	// States, Count and OldestWait (minutes, -1 where none is shown) are those of the
	// snapshot that is looked at. Timed says that its form shows waits.
	States     map[string]int
	Count      int
	OldestWait int
	Timed      bool
	Verdict    analysis.Verdict
	// Proven says that identities prove the growth, Marked that the runtime itself calls
	// members leaked.
	Proven, Marked bool
	// Stayed is for how many minutes a member has been there at least, by identities, -1
	// where none can be followed; it is asked only where an entry has a bound. Span is how
	// many minutes the snapshots up to this one cover, 0 where that is not known.
	Stayed func() int
	Span   int
	// Rise says how the family rose up to this snapshot; it is asked only where an entry
	// has a bound.
	Rise func() Rise
	// Units are what expected counts are measured in, at the same snapshot.
	Units Units
	// Versions are what the evidence says of versions.
	Versions SeenVersions
}

// Rise is how a family rose, as far as a bounded backlog asks.
type Rise struct {
	// Present is for how many minutes the run of the process has had members of the growth,
	// -1 where times are not known.
	Present int
	// Level says that the newer half of the counts does not grow.
	Level bool
	// PerMinute is how many members are born, 0 where that is not known; Began is the first
	// sight of the growth.
	PerMinute float64
	Began     time.Time
}

// Units are counts of what healthy goroutines belong to: "pod", "listener",
// "connection"; a unit that the evidence does not count is missing. "process" is 1.
type Units map[string]int

// Basis says why an entry is shown.
type Basis string

// Growth and Excess accuse; Waiting names what is blocked. Possible is a growth of what
// a listing shows, where no stack tells whose it is; Looks is the signature alone. These
// two accuse nobody.
const (
	Growth   Basis = "growth"
	Excess   Basis = "above expected"
	Waiting  Basis = "waits"
	Possible Basis = "one of several possible"
	Looks    Basis = "looks alike"
)

// Match is an entry of the catalogue whose signature a family has.
type Match struct {
	Entry *Entry
	Basis Basis
	// frames is how many frames of the signature were found.
	frames int
	// Text is what the match means, in words.
	Text string
	// Versions compares the version that was seen with those of the entry.
	Versions Comparison
	// RuledOut says that nothing but this version speaks against it: stack, state and
	// growth are those of the entry.
	RuledOut bool
	// Similar says that the family grows, and that its stack is of libraries that every
	// program uses: state and growth are those of the entry, and whose leak it is is not
	// known.
	Similar bool
}

// Speaks reports whether the match says more than that something looks alike.
func (m Match) Speaks() bool { return m.Basis != Looks && m.Basis != Possible }

// generic reports a published leak whose signature is nothing but functions of the
// standard library, gRPC or database/sql: every program that uses them can show the same
// stack, so that it is similar and no more (DESIGN section 6).
func (e *Entry) generic() bool {
	s := e.Signature
	telling := func(name string) bool { return importable(name) && !ofEveryone(name) }
	return e.Origin == "" && e.Status == Leak && len(s.Frames) > 0 && !slices.ContainsFunc(s.Frames, telling) && !slices.ContainsFunc(s.CreatedBy, telling)
}

// ofEveryone reports a function of a library that says nothing of the program that calls
// it.
func ofEveryone(name string) bool {
	return strings.HasPrefix(name, "google.golang.org/grpc") || strings.HasPrefix(name, "golang.org/x/net/")
}

// accuses reports a published leak with more than its signature.
func (m Match) accuses() bool {
	return m.Entry.Status == Leak && (m.Basis == Growth || m.Basis == Excess)
}

// Healthy is why a family may be normal.
type Healthy struct {
	Normal *Normal
	// Expected is the number that its units allow, Known says that they were counted.
	// Decides says that the unit is a demand from outside: connections can leak
	// themselves, so that one for each of them says nothing.
	Expected int
	Known    bool
	decides  bool
	// Within says that the count is not above it, by the effect gate of statistics.md 3.
	Within bool
	// Text is the reason in words.
	Text string
}

// ClassHit is a class that a family belongs to, with the form of it. Cause is what this
// form is called where it has a name of its own, Upgrades are those of the class, each
// compared with the version that was seen.
type ClassHit struct {
	Class    *Class
	Sign     string
	Cause    string
	Upgrades []string
	// Rest says that the members are at rest, by the class's own words.
	Rest bool
	// WithGrowth says of a statement that it accuses only beside a family that grows.
	WithGrowth bool
}

// Result is what a catalogue says of a family.
type Result struct {
	Classes []ClassHit
	// Follows are classes that the family belongs to where it rises together with
	// another family of them.
	Follows []ClassHit
	Known   []Match
	Healthy *Healthy
}

// Matcher matches the families of one case. It remembers what a family's stack
// matches, which is the same in every series; it is of use to one goroutine at a
// time.
type Matcher struct {
	c      *Catalogue
	traits map[string]*traits
}

// NewMatcher makes a matcher of a catalogue.
func (c *Catalogue) NewMatcher() *Matcher {
	return &Matcher{c: c, traits: map[string]*traits{}}
}

// traits are what a family's stack and attributes match, whatever its counts.
type traits struct {
	entries []candidate
	classes []int
	normals []int
}

// candidate is an entry whose signature a family has; listed says by a resource alone.
type candidate struct {
	entry, frames int
	listed        bool
}

func (m *Matcher) of(f *analysis.Family) *traits {
	if t := m.traits[f.Fingerprint]; t != nil {
		return t
	}
	t := m.newTraits(f)
	m.traits[f.Fingerprint] = t
	return t
}

func (m *Matcher) newTraits(f *analysis.Family) *traits {
	x, t := m.c.index, &traits{}
	found := make([][]int, len(f.Loose))
	entries, classes, normals := set{}, set{}, set{}
	for i, name := range f.Loose {
		found[i] = x.hits(name)
		for _, n := range found[i] {
			entries.add(x.entriesOf[n])
			classes.add(x.classesOf[n])
			normals.add(x.normalsOf[n])
		}
	}
	entries.add(x.byCreator)
	entries.add(x.byPrint[f.Fingerprint])
	entries.add(x.byKind[f.Kind])
	classes.add(x.classByKind[f.Kind])
	for at := range entries {
		if n, ok := m.entryFits(at, f, found); ok {
			t.entries = append(t.entries, candidate{at, n, n == 0})
		}
	}
	for at := range classes {
		if m.classFits(at, f, found) {
			t.classes = append(t.classes, at)
		}
	}
	slices.Sort(t.classes)
	if f.Kind == analysis.KindGoroutine {
		t.normals = m.normalsFor(normals, f, found)
	}
	return t
}

// set are the numbers of a few items.
type set map[int]bool

func (s set) add(numbers []int) {
	for _, n := range numbers {
		s[n] = true
	}
}

// entryFits says how many frames of an entry's signature a family has, 0 where it has a
// resource of it. A fingerprint is as good as a frame.
func (m *Matcher) entryFits(at int, f *analysis.Family, found [][]int) (int, bool) {
	in := &m.c.index.entries[at]
	s := in.entry.Signature
	if slices.Contains(s.Fingerprints, f.Fingerprint) {
		return max(1, len(f.Loose)), true
	}
	switch {
	case f.Kind == analysis.KindThread && inOrder(in.java, found):
		return len(in.java), true
	case f.Kind == analysis.KindGoroutine && inOrder(in.frames, found) && created(in.creators, f.LooseCreator):
		return len(in.frames), true
	case f.Kind == analysis.KindGoroutine && len(s.Frames) == 0 && len(in.creators) > 0 && f.LooseCreator != "" && created(in.creators, f.LooseCreator):
		return 1, true
	}
	return 0, slices.ContainsFunc(s.Resources, func(r Resource) bool { return r.Kind == f.Kind && fits(r.Attributes, f.Attributes) })
}

func (m *Matcher) classFits(at int, f *analysis.Family, found [][]int) bool {
	in := &m.c.index.classes[at]
	p := in.pattern
	if p.Kind != f.Kind {
		return false
	}
	if len(p.Frames) == 0 && len(p.CreatedBy) == 0 {
		return fits(p.Attributes, f.Attributes)
	}
	if len(p.CreatedBy) > 0 && f.LooseCreator != "" && created(in.creators, f.LooseCreator) {
		return true
	}
	return slices.ContainsFunc(found, func(hits []int) bool {
		return slices.ContainsFunc(hits, func(n int) bool { return slices.Contains(m.c.index.classesOf[n], at) })
	})
}

// atRest reports whether the first function of a stack that is no waiting is one that
// members of the class stand in at rest.
func (c *classIndex) atRest(f *analysis.Family) bool {
	at := slices.IndexFunc(f.Loose, func(name string) bool { return !waitsIn(name) })
	return at >= 0 && slices.ContainsFunc(c.rest, func(p pattern) bool { return p.matches(f.Loose[at]) })
}

// normalsFor are the normal stacks that a family is one of: a listed frame is the
// first that is not what any goroutine of the library waits in. The one nearest to
// the leaf comes first.
func (m *Matcher) normalsFor(likely set, f *analysis.Family, found [][]int) []int {
	type place struct{ at, depth int }
	var places []place
	for at := range likely {
		in := &m.c.index.normals[at]
		if !created(in.creators, f.LooseCreator) {
			continue
		}
		depth := slices.IndexFunc(found, func(hits []int) bool {
			return slices.ContainsFunc(hits, func(n int) bool { return in.frames[n] })
		})
		if depth >= 0 && restsOn(in.normal, f.Loose[:depth]) {
			places = append(places, place{at, depth})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.at, b.at)) })
	var out []int
	for _, p := range places {
		out = append(out, p.at)
	}
	return out
}

// restsOn reports whether the frames above a listed one are waiting and no work:
// those of the standard library, of the same package and of packages that the entry
// names.
func restsOn(n *Normal, above []string) bool {
	if n.Anywhere {
		return true
	}
	for _, name := range above {
		own := slices.ContainsFunc(n.Frames, func(f string) bool { return samePackage(packageOf(name), packageOf(f)) })
		if own || waitsIn(name) || slices.ContainsFunc(n.Above, func(a string) bool { return strings.HasPrefix(name, a) }) {
			continue
		}
		return false
	}
	return true
}

// samePackage compares an import path with one of a catalogue, which may lack its front.
func samePackage(whole, listed string) bool {
	return whole == listed || strings.HasSuffix(whole, "/"+listed)
}

// waitsIn reports whether a function is one of the standard library that goroutines
// wait in: locks, network, pipes, timers; a handler that runs is none.
func waitsIn(name string) bool {
	switch pkg := packageOf(name); pkg {
	case "runtime", "sync", "syscall", "time", "net", "bufio", "io", "os", "crypto/tls", "context", "reflect", "bytes", "encoding/json":
		return true
	default:
		return strings.HasPrefix(pkg, "internal/") || strings.HasPrefix(pkg, "runtime/internal/") || strings.HasPrefix(name, "net/http.(*persistConn)") || strings.HasPrefix(name, "net/http.(*conn)") ||
			strings.HasPrefix(name, "net/http.(*body") || strings.HasPrefix(pkg, "net/http/internal") || strings.HasPrefix(name, "net/http.(*connReader)") || strings.HasPrefix(name, "net/http.http2") || strings.HasPrefix(name, "net/http.(*http2")
	}
}

// packageOf is a function's import path.
//
//	"net/http.(*conn).serve" = "net/http", "github.com/a/b/v3.init" = "github.com/a/b/v3"
func packageOf(name string) string {
	from := strings.LastIndexByte(name, '/') + 1
	if paren := strings.IndexByte(name, '('); paren >= 0 && from > paren {
		from = strings.LastIndexByte(name[:paren], '/') + 1
	}
	if dot := strings.IndexByte(name[from:], '.'); dot >= 0 {
		return name[:from+dot]
	}
	return name
}

// Match says what the catalogue knows of a family.
func (m *Matcher) Match(s Seen) Result {
	t := m.of(s.Family)
	r := Result{}
	for _, at := range t.classes {
		in := &m.c.index.classes[at]
		if !oneOf(in.pattern.Programs, s.Program) {
			continue
		}
		hit := ClassHit{Class: in.class, Sign: in.pattern.Sign, Cause: in.pattern.Cause, Rest: in.atRest(s.Family)}
		for _, u := range in.class.Upgrades {
			hit.Upgrades = append(hit.Upgrades, m.c.upgrade(u, s.Versions))
		}
		if in.pattern.WithUnit {
			r.Follows = addClass(r.Follows, hit)
			continue
		}
		r.Classes = addClass(r.Classes, hit)
	}
	r.Healthy = m.healthy(t, s)
	for _, k := range t.entries {
		if match, ok := m.match(k, s, r.Healthy); ok {
			r.Known = append(r.Known, match)
		}
	}
	slices.SortFunc(r.Known, func(a, b Match) int {
		return cmp.Or(cmp.Compare(basisRank(a.Basis), basisRank(b.Basis)), cmp.Compare(statusRank(a.Entry.Status), statusRank(b.Entry.Status)), cmp.Compare(fixRank(a), fixRank(b)),
			cmp.Compare(b.frames, a.frames), cmp.Compare(a.Entry.ID, b.Entry.ID))
	})
	return r
}

func basisRank(b Basis) int {
	return slices.Index([]Basis{Growth, Excess, Waiting, Possible, Looks}, b)
}

func statusRank(s Status) int {
	return slices.Index([]Status{Leak, BoundedBacklog, StuckNotLeak, LimitNotLeak, NormalPerContainer, NormalPerRequest, FalseAlarm}, s)
}

// fixRank puts last what the version that was seen has mended.
func fixRank(m Match) int {
	switch m.Versions.Verdict {
	case VersionAffected:
		return 0
	case VersionFixed, VersionBefore:
		return 2
	}
	return 1
}

func addClass(have []ClassHit, hit ClassHit) []ClassHit {
	if slices.ContainsFunc(have, func(h ClassHit) bool { return h.Class == hit.Class }) {
		return have
	}
	return append(have, hit)
}

// stillWaits is from when on a wait speaks for something that is blocked, in minutes.
const stillWaits = 10

func grows(v analysis.Verdict) bool { return v == analysis.Leaking || v == analysis.Suspicious }

// match says whether an entry is to be shown, and what it means here.
func (m *Matcher) match(k candidate, s Seen, healthy *Healthy) (Match, bool) {
	in := &m.c.index.entries[k.entry]
	e := in.entry
	if !oneOf(e.Signature.Programs, s.Program) || !programFits(e, s) {
		return Match{}, false
	}
	if !inStates(in.states, s) {
		return Match{}, false
	}
	out := Match{Entry: e, frames: k.frames, Basis: Looks, Versions: compare(m.c, e, s.Versions)}
	above := healthy != nil && healthy.decides && !healthy.Within
	mended := out.Versions.Verdict == VersionFixed || out.Versions.Verdict == VersionBefore
	switch {
	case k.listed && e.Origin == "" && grows(s.Verdict):
		out.Basis = Possible
	case e.Status == StuckNotLeak && s.Timed && s.OldestWait >= stillWaits:
		out.Basis = Waiting
	case grows(s.Verdict):
		out.Basis = Growth
	case above && e.Status == Leak:
		out.Basis = Excess
	}
	switch {
	case mended:
		out.RuledOut, out.Basis = out.Speaks(), Looks
	case e.generic() && out.Speaks():
		out.Basis, out.Similar = Looks, true
	}
	out.Text = meaning(out, s)
	return out, true
}

// programFits holds a match that rests on a resource alone to the resource's programs.
func programFits(e *Entry, s Seen) bool {
	if s.Family.Kind == analysis.KindGoroutine || slices.Contains(e.Signature.Fingerprints, s.Family.Fingerprint) {
		return true
	}
	if s.Family.Kind == analysis.KindThread && len(e.Signature.Frames) > 0 {
		return true
	}
	return slices.ContainsFunc(e.Signature.Resources, func(r Resource) bool {
		return r.Kind == s.Family.Kind && fits(r.Attributes, s.Family.Attributes) && oneOf(r.Programs, s.Program)
	})
}

// inStates reports whether at least half of the members are in one of the states; a
// form that shows no states does not contradict.
func inStates(classes []string, s Seen) bool {
	if len(classes) == 0 || len(s.States) == 0 {
		return true
	}
	all, fitting := 0, 0
	for state, n := range s.States {
		switch class := stateClass(state); {
		case slices.Contains(classes, class):
			all, fitting = all+n, fitting+n
		case class != "running":
			all += n
		}
	}
	return 2*fitting >= all // those that happen to run at the moment say nothing
}

func stateClasses(states []string) []string {
	var out []string
	for _, s := range states {
		if s == "any" {
			return nil
		}
		out = append(out, stateClass(s))
	}
	return out
}

func stateClass(state string) string {
	if class := family.StateClass(state, nil); class != "cond-wait" {
		return class
	}
	return "sync-wait" // semacquire in releases before Go 1.20
}

// meaning says what a match is worth, by its status and basis.
func meaning(m Match, s Seen) string {
	e := m.Entry
	this, upstream := "this published leak", "upstream"
	if e.Origin != "" {
		this, upstream = "this entry of your own", "by who wrote the entry"
	}
	switch {
	case m.Basis == Possible:
		return "What is listed grows as in this report, which is one of several possible: a listing shows no stack. To be more than that it needs " + needs(e) + "."
	case m.RuledOut && m.Versions.Verdict == VersionFixed:
		return "Same signature and growth, but the version that was seen has the fix: no accusation."
	case m.RuledOut:
		return "Same signature and growth, but the version that was seen is older than the leak: no accusation."
	case m.Basis == Looks && m.Versions.Verdict == VersionFixed:
		return "Same signature, but the version that was seen has the fix: no accusation."
	case m.Basis == Looks && m.Versions.Verdict == VersionBefore:
		return "Same signature, but the version that was seen is older than the leak: no accusation."
	case m.Similar:
		return "Similar to this report, and no more: every program that uses these functions can show this stack. To be more it needs " + needs(e) + "."
	case m.Basis == Looks:
		return "Same signature, and nothing shows that it grows or is above what is expected: no accusation."
	}
	grown := "it grows"
	if m.Basis == Excess {
		grown = "there are more than expected"
	}
	switch e.Status {
	case Leak:
		same := "Same stack and state as "
		if s.Family.Kind != analysis.KindGoroutine && len(e.Signature.Frames) == 0 {
			same = "Same family as "
		}
		return same + this + ", and " + grown + "."
	case BoundedBacklog:
		return capital(m.backlog(s)) + "."
	case LimitNotLeak:
		return "A limit that is used up, no leak: raise it, or need less."
	case NormalPerContainer:
		return "Looks like this report, where one for each container was normal: compare with the number of containers."
	case NormalPerRequest:
		return "Looks like this report, where one for each open request was normal: compare with the number of requests."
	case StuckNotLeak:
		return "Blocked on what this report names; that it grows as well is not claimed."
	case FalseAlarm:
		return "Looks like this report, which was judged legitimate " + upstream + "."
	}
	return ""
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// needs says what would tell an entry that is matched by a listing from others like it.
func needs(e *Entry) string {
	var parts []string
	if len(e.Signature.Frames) > 0 && !e.generic() {
		parts = append(parts, "a dump with "+e.Signature.Frames[0])
	}
	if e.Project != "" {
		parts = append(parts, e.Project+" in the program")
	}
	if c := e.Versions.Component; c != "" && len(e.Versions.Fixed) > 0 {
		parts = append(parts, "a version of "+c+" before "+strings.Join(e.Versions.Fixed, ", "))
	}
	if e.Trigger != "" {
		parts = append(parts, "its trigger")
	}
	if len(parts) == 0 {
		return "the stack or the code that made it"
	}
	return strings.Join(parts, ", and ")
}

// older is how the oldest member stands to the bound of a backlog.
type older int

const (
	olderUnknown older = iota
	olderWithin
	olderBeyond
)

// older compares the oldest member, by waits and by identities, with the bound; where
// neither is known, a series shorter than the bound cannot hold anything older that came
// in it.
func (m Match) older(s Seen) older {
	bound, stayed := m.Entry.BoundMinutes, -1
	if s.Stayed != nil {
		stayed = s.Stayed()
	}
	switch {
	case s.OldestWait >= bound || stayed >= bound:
		return olderBeyond
	case s.Timed || stayed >= 0 || s.Span > 0 && s.Span < bound:
		return olderWithin
	}
	return olderUnknown
}

// backlog says how a backlog stands to its bound.
func (m Match) backlog(s Seen) string {
	drains := fmt.Sprintf("a backlog that drains by itself within %d minutes", m.Entry.BoundMinutes)
	switch m.older(s) {
	case olderBeyond:
		oldest := s.OldestWait
		if s.Stayed != nil {
			oldest = max(oldest, s.Stayed())
		}
		return fmt.Sprintf("a backlog like this drains within %d minutes; its oldest member has waited for at least %d: it is older than that", m.Entry.BoundMinutes, oldest)
	case olderWithin:
		if oldest := s.OldestWait; s.Timed {
			if s.Stayed != nil {
				oldest = max(oldest, s.Stayed())
			}
			return drains + "; its oldest member waits " + waits(oldest)
		}
		return drains + "; no member was seen for longer"
	}
	return drains + "; these dumps show no waits to tell whether it does"
}

func waits(minutes int) string {
	if minutes < 1 {
		return "less than a minute"
	}
	return fmt.Sprintf("at least %d", minutes)
}

// The effect gate of statistics.md 3.
const (
	leastExcess = 10
	leastShare  = 0.15
)

// healthy is the first normal stack whose states fit.
func (m *Matcher) healthy(t *traits, s Seen) *Healthy {
	for _, at := range t.normals {
		in := &m.c.index.normals[at]
		if !inStates(in.states, s) {
			continue
		}
		h := &Healthy{Normal: in.normal}
		h.Expected, h.Known = in.normal.Expected.in(s.Units)
		h.decides = h.Known && in.normal.Expected.demanded()
		excess := s.Count - h.Expected
		h.Within = !h.Known || float64(excess) < leastShare*float64(h.Expected) || excess < leastExcess
		h.Text = h.reason(s)
		return h
	}
	return nil
}

// demanded reports whether a leak of the program cannot raise the unit.
func (e Expected) demanded() bool { return e.Per == "process" || e.Per == "pod" || e.Per == "listener" }

// in is the number that units allow.
func (e Expected) in(u Units) (int, bool) {
	if e.Each == 0 || e.Per == "" {
		return 0, false
	}
	if e.Per == "process" {
		return e.Each, true
	}
	n, ok := u[e.Per]
	return e.Each * n, ok
}

func (h *Healthy) reason(s Seen) string {
	text := fmt.Sprintf("a normal stack of %s, expected %s", h.Normal.Library, h.Normal.Expected.Text)
	switch {
	case !h.Known && h.Normal.Expected.Per != "" && h.Normal.Expected.Each > 0:
		text += ", " + h.Normal.Expected.Per + " count unknown"
	case h.Known && h.Normal.Expected.Per != "process":
		text += fmt.Sprintf(", that is %d by the %s count of the same snapshot", h.Expected, h.Normal.Expected.Per)
	}
	if h.Known && !h.Within {
		text += fmt.Sprintf("; %d are above that", s.Count)
	}
	return text
}

// Rank says how an accusation stands after the catalogue was asked.
type Rank struct {
	Verdict  analysis.Verdict
	Evidence analysis.Evidence
	// Changed says that the verdict is another one.
	Changed bool
	// By is the entry that set the accusation aside, empty where none did.
	By string
}

// RuleNormal, RuleKnown and RuleAside are the evidence that a catalogue gives.
const (
	RuleNormal = "normal_stack"
	RuleKnown  = "known_leak"
	RuleAside  = "set_aside"
)

// Weigh sets a verdict against the catalogue: what a published report knows to be no
// leak, and what is healthy within its expected count, is not accused; a count above
// what is expected is, where a published leak has the same signature. A proof by
// identities beats normal stacks, and the evidence says so; it does not beat a report
// that says of the same growth that it is none.
func (r Result) Weigh(s Seen) (Rank, bool) {
	same := Rank{Verdict: s.Verdict}
	accused := grows(s.Verdict)
	if rank, ok := r.aside(s); ok && accused {
		return rank, true
	}
	if h := r.Healthy; h != nil && accused {
		switch {
		case s.Proven:
			same.Evidence = analysis.Evidence{Rule: RuleNormal, Text: "it is " + h.Text + "; its growth is proven by identities, which beats the catalogue"}
			return same, true
		case h.decides && h.Within:
			return Rank{Verdict: analysis.Stable, Changed: true, Evidence: analysis.Evidence{Rule: RuleNormal, Text: "it rises, but within what is healthy: " + h.Text}}, true
		}
		same.Evidence = analysis.Evidence{Rule: RuleNormal, Text: "it is " + h.Text + "; the growth is judged by its own evidence"}
		return same, true
	}
	for _, k := range r.Known {
		if k.Basis == Excess {
			return Rank{Verdict: analysis.Suspicious, Changed: true, Evidence: analysis.Evidence{Rule: RuleKnown, Text: fmt.Sprintf("%d where %d are expected (%s), with the signature of %s",
				s.Count, r.Healthy.Expected, r.Healthy.Normal.Expected.Text, k.Entry.ID)}}, true
		}
	}
	return same, false
}

// aside is the verdict where a report says of this growth that it is no leak. The mark
// of the runtime, and a published leak with the same stack, state and growth, accuse all
// the same. An entry alone acquits nobody (DESIGN section 6; statistics.md 10, R11): a backlog
// must have been seen to drain or to level, and what has no bound needs a frame of its
// project and counts that level.
func (r Result) aside(s Seen) (Rank, bool) {
	if s.Marked || slices.ContainsFunc(r.Known, Match.accuses) {
		return Rank{}, false
	}
	for _, k := range r.Known {
		if k.Entry.Status == Leak || !k.Speaks() {
			continue
		}
		why := strings.TrimSuffix(k.Text, ".")
		if k.Entry.Status == BoundedBacklog {
			older := k.older(s)
			if older == olderBeyond {
				continue
			}
			var seen bool
			if why, seen = k.drained(s, older); !seen {
				return Rank{Verdict: analysis.Suspicious, Changed: s.Verdict != analysis.Suspicious, Evidence: analysis.Evidence{Rule: RuleKnown, Text: why}}, true
			}
		} else if k.Entry.Origin == "" {
			if k.frames == 0 {
				continue // a listing shows no frame of the project
			}
			if s.Rise == nil || !s.Rise().Level {
				return Rank{Verdict: analysis.Suspicious, Changed: s.Verdict != analysis.Suspicious, Evidence: analysis.Evidence{Rule: RuleKnown,
					Text: fmt.Sprintf("may be %s (%s): %s; a count that levels off would show it", k.Entry.ID, strings.ReplaceAll(string(k.Entry.Status), "-", " "), lower(why))}}, true
			}
		}
		return Rank{Verdict: analysis.Stable, Changed: true, By: k.Entry.ID, Evidence: analysis.Evidence{Rule: RuleAside,
			Text: fmt.Sprintf("by its figures alone it is %s; %s sets that aside (%s): %s", s.Verdict, k.Entry.ID, strings.ReplaceAll(string(k.Entry.Status), "-", " "), lower(why))}}, true
	}
	return Rank{}, false
}

// levelShare is how far a backlog may stand above births times bound and still have
// levelled.
const levelShare = 1.2

// drained says whether a backlog was seen to drain or to level, and in words what was seen
// or what would decide.
func (m Match) drained(s Seen, older older) (string, bool) {
	bound := m.Entry.BoundMinutes
	rise := Rise{Present: -1}
	if s.Rise != nil {
		rise = s.Rise()
	}
	level := rise.PerMinute * float64(bound)
	switch {
	case older == olderWithin && s.Span >= bound && rise.Present >= bound:
		return m.backlog(s), true
	case rise.Level && rise.PerMinute > 0 && float64(s.Count) <= levelShare*level:
		return fmt.Sprintf("a backlog that drains by itself within %d minutes; it levels at %d, which %.3g births a minute explain", bound, s.Count, rise.PerMinute), true
	}
	text := fmt.Sprintf("may be the bounded backlog %s, which drains within %d minutes", m.Entry.ID, bound)
	if rise.PerMinute > 0 {
		text += fmt.Sprintf(": at %.3g a minute it would level at about %.0f", rise.PerMinute, level)
	}
	if rise.Began.IsZero() {
		return text + fmt.Sprintf("; a capture %d minutes after the growth began decides", bound+bound/2), false
	}
	decides := rise.Began.Add(time.Duration(bound) * 3 * time.Minute / 2)
	return text + "; a capture after " + decides.UTC().Format("15:04Z") + " decides", false
}

func lower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// OfStatement are the classes that a snapshot's own statement belongs to.
func (c *Catalogue) OfStatement(key string) []ClassHit {
	var out []ClassHit
	for _, at := range c.index.statements {
		in := &c.index.classes[at]
		if slices.ContainsFunc(in.pattern.Statements, func(g string) bool { return glob(g, key) }) {
			out = addClass(out, ClassHit{Class: in.class, Sign: in.pattern.Sign, WithGrowth: in.pattern.WithGrowth})
		}
	}
	return out
}

// EntryOf makes an entry that recognises a family again: by its whole normalised
// stack, or by its attributes where it has none. The caller gives id and words.
//
// A resource is that of a program: every program has watches and descriptors alike. So is
// a stack without a package of its own: another program's main.worker, and a connection
// of net/http, are something else.
func EntryOf(f *analysis.Family, states map[string]int, program string) Entry {
	e := Entry{Status: Leak, Kinds: []string{string(f.Kind)}}
	e.Signature.Fingerprints = []string{f.Fingerprint}
	switch f.Kind {
	case analysis.KindGoroutine:
		e.Signature.Frames = slices.Clone(f.Loose)
		if f.LooseCreator != "" {
			e.Signature.CreatedBy = []string{f.LooseCreator}
		}
		e.Signature.WaitStates = mostStates(states)
		if !slices.ContainsFunc(append(slices.Clone(f.Loose), f.LooseCreator), importable) {
			e.Signature.Programs = programs(program)
		}
	case analysis.KindThread:
		e.Signature.Frames = slices.Clone(f.Loose)
	default:
		attributes := map[string]string{}
		for name, value := range f.Attributes {
			if value != "" && !strings.ContainsAny(value, "|*") {
				attributes[name] = value
			}
		}
		e.Signature.Resources = []Resource{{Kind: f.Kind, Attributes: attributes}}
		e.Signature.Programs = programs(program)
	}
	return e
}

// programs are a program's name as a signature holds it, nil where it is not known.
func programs(name string) []string {
	if name == "" || strings.ContainsAny(name, "|*") {
		return nil
	}
	return []string{path.Base(name)}
}

// importable reports a function of a package that several programs can have and that is
// not of the standard library.
func importable(name string) bool {
	pkg := packageOf(name)
	top, _, _ := strings.Cut(pkg, "/")
	return pkg != "" && pkg != "main" && !standardTop[top]
}

// mostStates are the states that most members are in, without those of a moment.
func mostStates(states map[string]int) []string {
	var out []string
	for s := range states {
		if family.StateClass(s, nil) != "running" {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(states[b], states[a]), cmp.Compare(a, b)) })
	return out[:min(len(out), 4)]
}
