package knowledge

import (
	"cmp"
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
