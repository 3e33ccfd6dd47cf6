package knowledge

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
)

// Seen is one family of one series as the catalogue needs it.
type Seen struct {
	Family *analysis.Family
	// Program is the name of the process.
	Program string
	// States, Count and OldestWait (minutes, -1 if none is shown) are those of the
	// examined snapshot. Timed reports that its form shows waits.
	States     map[string]int
	Count      int
	OldestWait int
	Timed      bool
	Verdict    analysis.Verdict
	// Proven reports that identities, ages, marks or its unit prove the growth. Followed
	// reports that members were followed by identity, Marked that the runtime marks members
	// as leaked.
	Proven, Followed, Marked bool
	// Stayed is the least number of minutes that the oldest member has been present, by
	// identities, -1 if none can be followed. It is called only for entries with a
	// bound. Span is the number of minutes that the snapshots up to this one cover, 0
	// if unknown.
	Stayed func() int
	Span   int
	// Rise returns how the family rose up to this snapshot. It is called only for
	// entries with a bound.
	Rise func() Rise
	// Units are the units of expected counts in the same snapshot.
	Units Units
	// Versions are the versions in the evidence.
	Versions SeenVersions
}

// Rise describes how a family rose, as far as a bounded backlog needs it.
type Rise struct {
	// Present is the number of minutes that the run of the process has had members of
	// the growth, -1 if times are unknown.
	Present int
	// Level reports that the newer half of the counts does not grow.
	Level bool
	// PerMinute is the number of births per minute, 0 if unknown. Began is the first
	// sighting of the growth.
	PerMinute float64
	Began     time.Time
}

// Units are counts of things that have healthy goroutines: "pod", "listener",
// "connection". A unit that the evidence does not count is missing. "process" is 1.
type Units map[string]int

// Basis is the reason why an entry is shown.
type Basis string

// Growth and Excess accuse. Waiting names what is blocked. Possible is a growth in a
// listing, which has no stack to identify its owner, or one with a stack that nobody has
// published yet. Looks is the signature alone.
// Possible and Looks accuse nobody.
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
	// frames is the number of frames of the signature that were found.
	frames int
	// Meaning is what the match means by its status and basis. Oldest is how many minutes the
	// oldest member of a backlog has waited at least, -1 if that is not known.
	Meaning analysis.Form
	Oldest  int
	// Versions compares the seen version with those of the entry.
	Versions Comparison
	// RuledOut reports that stack, state and growth match the entry and only the
	// version contradicts it.
	RuledOut bool
	// Similar reports that state and growth match the entry, but the stack is of
	// libraries that other programs use. The owner of the leak is then unknown.
	Similar bool
}

// Speaks reports whether the match means more than a similar look.
func (m Match) Speaks() bool { return m.Basis != Looks && m.Basis != Possible }

// Generic reports a published leak whose signature only has functions of the standard
// library, gRPC or database/sql. Every program that uses them can show the same stack.
// Such a match is similar and no more.
func (e *Entry) Generic() bool {
	s := e.Signature
	telling := func(name string) bool { return importable(name) && !ofEveryone(name) }
	return e.Origin == "" && e.Status == Leak && len(s.Frames)+len(s.CreatedBy) > 0 && !slices.ContainsFunc(s.Frames, telling) && !slices.ContainsFunc(s.CreatedBy, telling)
}

// ofEveryone reports a function of a library that does not identify the calling
// program.
func ofEveryone(name string) bool {
	return slices.ContainsFunc([]string{"google.golang.org/grpc", "golang.org/x/net/", "golang.org/x/sync/", "k8s.io/apimachinery/pkg/util/wait."},
		func(library string) bool { return strings.HasPrefix(name, library) })
}

// owned reports whether the evidence shows the project of an entry whose frames other
// projects use as well: by a frame, by the file of a frame, by the version of its
// component, or because the program is one of its own.
func (m *Matcher) owned(e *Entry, s Seen, versions Comparison) bool {
	owners := e.Signature.Owners
	if len(owners) == 0 || versions.Seen != "" {
		return true
	}
	own := func(name string) bool {
		return slices.ContainsFunc(owners, func(path string) bool { return strings.HasPrefix(name, path) })
	}
	if own(s.Family.LooseCreator) || slices.ContainsFunc(s.Family.Loose, own) {
		return true
	}
	if s.Versions.Files != nil && slices.ContainsFunc(s.Versions.Files(), func(file string) bool {
		return slices.ContainsFunc(owners, func(path string) bool { return strings.Contains("/"+file, "/"+path) })
	}) {
		return true
	}
	return slices.ContainsFunc(m.c.doc.Components, func(x Component) bool {
		return x.Name == e.Versions.Component && len(x.Programs) > 0 && oneOf(x.Programs, s.Program)
	})
}

// accuses reports a published leak that matches by more than its signature.
func (m Match) accuses() bool {
	return m.Entry.Status == Leak && (m.Basis == Growth || m.Basis == Excess)
}

// ClassHit is a class of a family and its form. Cause is the name of this form if it
// has one. Upgrades are those of the class, each compared with the seen version.
type ClassHit struct {
	Class *Class
	Sign  string
	Cause string
	// Upgrades compare the seen versions with those of the upgrades of the class, in their order.
	Upgrades []Comparison
	// Rest reports that the members are at rest.
	Rest bool
	// WithGrowth reports a statement that accuses only beside a growing family.
	WithGrowth bool
}

// Result is what a catalogue knows of a family.
type Result struct {
	Classes []ClassHit
	// Follows are classes that the family gets if it rises together with another family
	// of them.
	Follows []ClassHit
	Known   []Match
	Healthy *Healthy
}

// Matcher matches the families of one case. It caches the matches of a family's stack,
// which are the same in every series. Only one goroutine at a time may use it.
type Matcher struct {
	c      *Catalogue
	traits map[string]*traits
}

// NewMatcher makes a matcher of a catalogue.
func (c *Catalogue) NewMatcher() *Matcher {
	return &Matcher{c: c, traits: map[string]*traits{}}
}

// Match returns what the catalogue knows of a family.
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
			hit.Upgrades = append(hit.Upgrades, m.c.compare(Versions{Component: u.Component, Fixed: u.Fixed}, s.Versions))
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

// fixRank sorts entries last that the seen version has fixed.
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

// stillWaits is the wait in minutes from which something is probably blocked.
const stillWaits = 10

// accuses leaves out growth that a load explains.
func accuses(v analysis.Verdict) bool { return v == analysis.Leaking || v == analysis.Suspicious }

// match decides whether an entry is shown, and what it means.
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
	case k.listed && e.Origin == "" && accuses(s.Verdict):
		out.Basis = Possible
	case e.Status == StuckNotLeak && s.Timed && s.OldestWait >= stillWaits:
		out.Basis = Waiting
	case accuses(s.Verdict):
		out.Basis = Growth
	case above && e.Status == Leak:
		out.Basis = Excess
	}
	switch {
	case mended:
		out.RuledOut, out.Basis = out.Speaks(), Looks
	case (e.Generic() || !m.owned(e, s, out.Versions)) && out.Speaks():
		out.Basis, out.Similar = Looks, true
	case (e.Signature.Unseen || stateless(in, s, healthy)) && out.Speaks():
		out.Basis = Possible
	}
	out.Meaning, out.Oldest = meaning(out, s)
	return out, true
}

// stateless reports a leak whose stack healthy programs have as well, in a form without
// the states that would distinguish them.
func stateless(in *entryIndex, s Seen, healthy *Healthy) bool {
	return in.entry.Status == Leak && in.entry.Origin == "" && len(in.states) > 0 && len(s.States) == 0 && healthy != nil
}

// programFits checks the programs of a resource for a match by a resource alone.
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

// inStates reports whether at least half of the members are in one of the states. A
// form without states is no contradiction.
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
	return 2*fitting >= all // members that happen to run at the moment do not count
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
