package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/read/family"
)

// Families that rise at one pace are not always one thing: two leaks of two a second do so as
// well. What one function started, or one object holds, is one thing; descriptors belong to the
// code that rises in their steps, where more than an equal pace ties them. Everything else is a
// thing of its own, with an answer of its own.

// things divides a point of several families into a point for each thing, the largest first.
// The first one keeps the unit.
func (j *JudgedSeries) things(p trend.Point, objects []Object, byPrint map[string]*Family) []trend.Point {
	if p.Unit == "" || len(p.Families) < 2 {
		return []trend.Point{p}
	}
	var groups [][]string
	var observed []string
	for _, print := range lead(p.Families, byPrint) {
		if byPrint[print].Role == string(trend.ObserverEffect) {
			observed = append(observed, print) // a finding of their own tells them
			continue
		}
		at := slices.IndexFunc(groups, func(g []string) bool {
			return slices.ContainsFunc(g, func(other string) bool {
				a, b := byPrint[other], byPrint[print]
				return oneThing(a, b, objects, j.hours()) || j.ofLibrary(a, b) || j.ofLibrary(b, a)
			})
		})
		if at < 0 {
			groups = append(groups, nil)
			at = len(groups) - 1
		}
		groups[at] = append(groups[at], print)
	}
	if len(groups) < 2 {
		return []trend.Point{p}
	}
	slices.SortStableFunc(groups, func(a, b []string) int {
		x, y := byPrint[a[0]], byPrint[b[0]]
		if code := hasStack(x); code != hasStack(y) {
			if code {
				return -1
			}
			return 1
		}
		return cmp.Or(x.Verdict.Rank()-y.Verdict.Rank(), y.Rise-x.Rise)
	})
	groups[0] = append(groups[0], observed...)
	out := make([]trend.Point, len(groups))
	for i, g := range groups {
		out[i] = p
		out[i].Families = g
		if i > 0 || len(groups[0]) == 1 {
			out[i].Unit = ""
		}
		out[i].Verdict = byPrint[g[0]].Verdict
	}
	return out
}

func hasStack(f *Family) bool {
	return f.Kind == analysis.KindGoroutine || f.Kind == analysis.KindThread
}

// oneThing reports two families of one cause. hours are those of the snapshots.
func oneThing(a, b *Family, objects []Object, hours []float64) bool {
	for i := range objects {
		if o := &objects[i]; o.Level != analysis.ByGoroutine && o.keepsBoth(a, b) {
			return true
		}
	}
	switch {
	case hasStack(a) && hasStack(b):
		if library(a) != library(b) {
			// The standard library keeps goroutines for the code that calls it.
			return inSteps(a.Counts, b.Counts) || inSteps(b.Counts, a.Counts)
		}
		return a.Kind == b.Kind && (a.CreatedBy != "" && a.CreatedBy == b.CreatedBy && !ownEach(a, b) || a.entry() == b.entry() && !apart(a, b) || startedWithin(a, b) || startedWithin(b, a) || samePool(a, b))
	case hasStack(a) || hasStack(b):
		code, held := a, b
		if hasStack(b) {
			code, held = b, a
		}
		return inSteps(code.Counts, held.Counts) && tied(code.Frames, code.Counts, held, hours)
	case a.Attributes["protocol"] != "" || b.Attributes["protocol"] != "":
		return twoEnds(a, b)
	}
	return a.Kind == b.Kind && a.Attributes["type"] == b.Attributes["type"] || inSteps(a.Counts, b.Counts) || inSteps(b.Counts, a.Counts)
}

// apart reports families that different functions of the program started: two places to mend.
func apart(a, b *Family) bool {
	return a.CreatedBy != "" && b.CreatedBy != "" && a.CreatedBy != b.CreatedBy && !family.OfStandardLibrary(a.CreatedBy) && !family.OfStandardLibrary(b.CreatedBy)
}

// ownEach reports families that one function of the program starts with two functions of the program,
// none of them a part of it, and that are no methods of one type: two loops, each of which ends by
// itself.
func ownEach(a, b *Family) bool {
	x, y, creator := family.LooseName(a.entry()), family.LooseName(b.entry()), family.LooseName(a.CreatedBy)
	if x == y || x == creator || y == creator || slices.ContainsFunc([]string{x, y, creator}, family.OfStandardLibrary) {
		return false
	}
	of := receiverOf(x) // that of a function is its package
	return of != receiverOf(y) || !strings.Contains(of, ".")
}

// library reports goroutines that the standard library started and that are in it alone.
func library(f *Family) bool {
	return f.CreatedBy != "" && family.OfStandardLibrary(f.CreatedBy) && !slices.ContainsFunc(f.Frames, func(frame string) bool { return !family.OfStandardLibrary(frame) })
}

// ofLibrary reports goroutines of a library, which keeps one or more of them for each goroutine of own code
// beside them: as many came in each interval, and the same goroutines started both.
func (j *JudgedSeries) ofLibrary(own, library *Family) bool {
	if own.Kind != analysis.KindGoroutine || library.Kind != analysis.KindGoroutine || sameSteps(own.Counts, library.Counts, stepsAlike) == 0 {
		return false
	}
	last := own.Counts.LastAt()
	a, b := GroupOf(j.Snapshots[last], own.Fingerprint), GroupOf(j.Snapshots[last], library.Fingerprint)
	if a == nil || b == nil || !maps.Equal(starters(a), starters(b)) || starters(a)[0] {
		return false
	}
	x, y := j.LocatedStack(own.Fingerprint, last), j.LocatedStack(library.Fingerprint, last)
	return x != nil && x.Note == "" && y != nil && y.Note == noOwnCode
}

// starters are the goroutines that started those of a group, 0 where one is not known.
func starters(g *analysis.Group) map[int64]bool {
	out := map[int64]bool{}
	for id := range g.Members.Parents() {
		out[id] = true
	}
	out[0] = out[0] || len(out) == 0
	if !out[0] {
		delete(out, 0)
	}
	return out
}

// keepsBoth reports two families of the objects: parts of them, or what rises in step with them.
// Goroutines and threads that other code starts are parts or nothing: two leaks may be as fast.
func (o *Object) keepsBoth(a, b *Family) bool {
	has := func(f *Family) bool {
		return slices.Contains(o.Families, f.Fingerprint) ||
			(!hasStack(f) || library(f)) && slices.ContainsFunc(o.InStep, func(x InStep) bool { return x.Fingerprint == f.Fingerprint })
	}
	return has(a) && has(b)
}

// startedWithin reports that b was started by a function that stands in the stack of a.
func startedWithin(a, b *Family) bool {
	return b.CreatedBy != "" && slices.Contains(a.Frames, b.CreatedBy)
}

// samePool reports threads of one pool.
func samePool(a, b *Family) bool {
	return a.Attributes["pool"] != "" && a.Attributes["pool"] == b.Attributes["pool"]
}

// twoEnds reports the two ends of the same connections: a client to an address and the server
// on it, in the same state.
func twoEnds(a, b *Family) bool {
	return a.Attributes["state"] == b.Attributes["state"] && a.Attributes["role"] != b.Attributes["role"] && inSteps(a.Counts, b.Counts) &&
		(a.Attributes["remote"] != "" && a.Attributes["remote"] == b.Attributes["local"] || b.Attributes["remote"] != "" && b.Attributes["remote"] == a.Attributes["local"])
}

// inSteps reports that b rises with a by a whole number each time, as far as captures of two
// kinds that are taken one after another can show it: within a tenth.
func inSteps(a, b analysis.Counts) bool {
	firstA, topA := a.FirstAt(), a.HighestAt()
	firstB, topB := b.FirstAt(), b.HighestAt()
	if firstA < 0 || firstB < 0 {
		return false
	}
	riseA, riseB := float64(a[topA].N-a[firstA].N), float64(b[topB].N-b[firstB].N)
	if riseA <= 0 || riseB <= 0 {
		return false
	}
	ratio := riseB / riseA
	return ratio >= 0.9 && math.Abs(ratio-math.Round(ratio)) <= 0.1*ratio
}

// tied reports that what is held belongs to code, of which frames are those of its stacks: more than
// their equal pace says so. A stack that works on such a descriptor does, and so do births that
// differ from interval to interval while those of the two agree. Two clocks that tick alike, or two
// captures, say nothing.
func tied(frames []string, code analysis.Counts, held *Family, hours []float64) bool {
	return slices.ContainsFunc(frames, worksOn(held)) || bornTogether(code, held.Counts, hours)
}

// The packages whose functions work on sockets, and on what else has a descriptor.
var (
	ofSockets = []string{"net.", "net/", "crypto/tls.", "google.golang.org/grpc", "golang.org/x/net/", "java.net.", "sun.nio.ch.", "socket "}
	ofFiles   = []string{"os.", "os/", "syscall.", "golang.org/x/sys/", "java.io.", "java.nio.", "sun.nio.fs."}
)

// worksOn recognises a frame that works on descriptors of the sort of a family.
func worksOn(held *Family) func(frame string) bool {
	packages := ofFiles
	if held.Attributes["protocol"] != "" || held.Attributes["type"] == "socket" {
		packages = ofSockets
	}
	return func(frame string) bool {
		return slices.ContainsFunc(packages, func(p string) bool { return strings.HasPrefix(frame, p) })
	}
}

// leastUneven is by how many times as much births must differ from an even pace as from those that
// they are compared with, as sums of squares.
const leastUneven = 4

// bornTogether reports that held rises with code by a whole number in each interval until most of it
// is there, while the steps of code are no even pace.
func bornTogether(code, held analysis.Counts, hours []float64) bool {
	type step struct{ code, held, long float64 }
	var steps []step
	var sum step
	last := -1
	for i := range code[:code.HighestAt()+1] {
		if !code[i].Known() || !held[i].Known() {
			continue
		}
		if last >= 0 {
			s := step{float64(code[i].N - code[last].N), float64(held[i].N - held[last].N), float64(i - last)}
			if len(hours) > i {
				s.long = hours[i] - hours[last]
			}
			steps = append(steps, s)
			sum = step{sum.code + s.code, sum.held + s.held, sum.long + s.long}
		}
		last = i
	}
	if sum.code <= 0 || sum.long <= 0 {
		return false
	}
	ratio := max(1, math.Round(sum.held/sum.code))
	uneven, off := 0.0, 0.0
	for _, s := range steps {
		uneven += math.Pow(ratio*(s.code-sum.code*s.long/sum.long), 2)
		off += math.Pow(s.held-ratio*s.code, 2)
	}
	return uneven >= leastUneven*max(1, off)
}

// hours are when the snapshots were taken, nil where some have no time.
func (j *JudgedSeries) hours() []float64 {
	at := make([]*time.Time, len(j.Snapshots))
	for i, s := range j.Snapshots {
		if !s.CapturedAt.IsZero() {
			at[i] = &s.CapturedAt
		}
	}
	return hoursOf(at)
}

func (h *headline) hours(s *Series) []float64 {
	at := make([]*time.Time, len(s.Snapshots))
	for i, id := range s.Snapshots {
		if x := h.snapshots[id]; x != nil {
			at[i] = x.CapturedAt
		}
	}
	return hoursOf(at)
}

func hoursOf(at []*time.Time) []float64 {
	if slices.Contains(at, nil) {
		return nil
	}
	out := make([]float64, len(at))
	for i := range at {
		out[i] = at[i].Sub(*at[0]).Hours()
	}
	return out
}
