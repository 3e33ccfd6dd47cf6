package diff

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
)

// related reports whether members of a can be looked for in b.
func related(a, b *analysis.Snapshot, relation Relation) bool {
	switch relation {
	case SameEpoch:
		return true
	case OtherEpoch:
		return false
	case Unproven:
		x, y := a.Process, b.Process
		return x.PID.Known() && y.PID.Known() && x.Start.Known() && x.Start.Value == y.Start.Value && !otherProgram(a, b) && !otherPID(a, b)
	}
	return !otherProgram(a, b) && !otherPID(a, b) && !otherStart(a, b)
}

func otherProgram(a, b *analysis.Snapshot) bool {
	return differ(a.Process.Host, b.Process.Host) || differ(a.Process.Name, b.Process.Name)
}

func otherPID(a, b *analysis.Snapshot) bool { return differ(a.Process.PID, b.Process.PID) }

// otherStart compares start times of one notation: ticks never with a date.
func otherStart(a, b *analysis.Snapshot) bool {
	x, y := a.Process.Start, b.Process.Start
	return differ(x, y) && ticks(x.Value) == ticks(y.Value)
}

func ticks(start string) bool { return strings.Trim(start, "0123456789") == "" }

func differ(a, b analysis.Fact) bool { return a.Known() && b.Known() && a.Value != b.Value }

// Warning is what makes two snapshots hard to compare.
type Warning struct {
	Form analysis.Form
	// A and B are the labels of the snapshots, At that of the one that it is about.
	A, B, At string
	// Kind is the kind that it is about.
	Kind analysis.Kind
	// Name is what is compared, Was and Is are its values at A and B.
	Name, Was, Is string
	// From and To are when the kind was read, Captured when the snapshots were.
	From, To time.Time
	Captured [2]time.Time
}

// Warnings lists what makes two snapshots hard to compare, the worst first, as Compare does,
// without comparing them.
func Warnings(a, b *analysis.Snapshot, relation Relation) []Warning {
	return warnings(a, b, related(a, b, relation), relation)
}

// warnings lists what makes two snapshots hard to compare, the worst first.
func warnings(a, b *analysis.Snapshot, same bool, relation Relation) []Warning {
	c := comparison{a: a, b: b, relation: relation, nameA: label(a, "A"), nameB: label(b, "B")}
	c.process(same)
	c.completeness()
	c.kinds()
	c.forms()
	c.times()
	c.limits()
	return c.out
}

type comparison struct {
	a, b         *analysis.Snapshot
	nameA, nameB string
	relation     Relation
	out          []Warning
}

func (c *comparison) add(w Warning) {
	w.A, w.B = c.nameA, c.nameB
	c.out = append(c.out, w)
}

// values adds that the values of a fact differ.
func (c *comparison) values(form analysis.Form, was, is analysis.Fact) {
	c.add(Warning{Form: form, Was: was.Value, Is: is.Value})
}

func label(snap *analysis.Snapshot, otherwise string) string {
	if snap.Label != "" {
		return snap.Label
	}
	return otherwise
}

func (c *comparison) process(same bool) {
	x, y := c.a.Process, c.b.Process
	switch {
	case c.a == c.b || c.a.ID != "" && c.a.ID == c.b.ID:
		c.add(Warning{Form: "same_snapshot"})
	case differ(x.Name, y.Name):
		c.values("programs", x.Name, y.Name)
	case differ(x.Host, y.Host):
		c.values("hosts", x.Host, y.Host)
	case same:
	case otherPID(c.a, c.b):
		c.values("processes", x.PID, y.PID)
	case c.relation == Unproven && !otherStart(c.a, c.b):
		c.add(Warning{Form: "perhaps_other_process"})
	default:
		c.add(Warning{Form: "restarted"})
	}
	if differ(x.Version, y.Version) {
		c.values("versions", x.Version, y.Version)
	}
}

func (c *comparison) completeness() {
	for _, side := range []struct {
		snap *analysis.Snapshot
		name string
	}{{c.a, c.nameA}, {c.b, c.nameB}} {
		switch {
		case side.snap.Refused > 0:
			c.add(Warning{Form: "not_understood", At: side.name})
		case side.snap.LowerBound:
			c.add(Warning{Form: "cut", At: side.name})
		case side.snap.Truncated:
			c.add(Warning{Form: "cut_with_twin", At: side.name})
		}
		for _, kind := range analysis.Kinds() {
			switch how := side.snap.Inexact[kind]; {
			case side.snap.Totals.Of(kind) == nil:
			case how == analysis.NotComparable:
				c.add(Warning{Form: "shows_less", At: side.name, Kind: kind})
			case how == analysis.AtLeast && side.snap.Refused == 0:
				c.add(Warning{Form: "not_whole", At: side.name, Kind: kind})
			}
		}
	}
}

// kinds names what only one snapshot captured.
func (c *comparison) kinds() {
	for _, kind := range analysis.Kinds() {
		before, after := c.a.Totals.Of(kind), c.b.Totals.Of(kind)
		switch {
		case before != nil && after == nil:
			c.add(Warning{Form: "captured_once", At: c.nameA, Kind: kind})
		case before == nil && after != nil:
			c.add(Warning{Form: "captured_once", At: c.nameB, Kind: kind})
		case before == nil:
		case !listed(c.a, kind):
			c.add(Warning{Form: "not_listed", At: c.nameA, Kind: kind})
		case !listed(c.b, kind):
			c.add(Warning{Form: "not_listed", At: c.nameB, Kind: kind})
		}
	}
}

// forms names kinds whose evidence shows more in one snapshot than in the other.
func (c *comparison) forms() {
	for _, kind := range analysis.Kinds() {
		before, after := c.a.Forms[kind], c.b.Forms[kind]
		if before == "" || after == "" || before == after {
			continue
		}
		c.add(Warning{Form: "two_forms", Kind: kind, Was: before, Is: after})
	}
}

// times compares when each kind was read. A spread of more than a tenth of the interval
// is reported.
func (c *comparison) times() {
	from, to := c.a.CapturedAt, c.b.CapturedAt
	if from.IsZero() || to.IsZero() {
		c.untimed()
		return
	}
	if c.a.Zoneless != c.b.Zoneless {
		name := c.nameA
		if c.b.Zoneless {
			name = c.nameB
		}
		c.add(Warning{Form: "zoneless", At: name})
	}
	if to.Before(from) {
		c.add(Warning{Form: "reversed", Captured: [2]time.Time{from, to}})
	}
	whole := to.Sub(from).Abs()
	for _, kind := range analysis.Kinds() {
		if c.a.Totals.Of(kind) == nil || c.b.Totals.Of(kind) == nil {
			continue
		}
		start, end := takenAt(c.a, kind), takenAt(c.b, kind)
		if start.Sub(from).Abs()*10 > whole || end.Sub(to).Abs()*10 > whole {
			c.add(Warning{Form: "other_span", Kind: kind, From: start, To: end, Captured: [2]time.Time{from, to}})
		}
	}
}

// untimed adds which of the two has no time.
func (c *comparison) untimed() {
	w := Warning{Form: "untimed"}
	switch {
	case !c.b.CapturedAt.IsZero():
		w.At = c.nameA
	case !c.a.CapturedAt.IsZero():
		w.At = c.nameB
	}
	c.add(w)
}

func takenAt(snap *analysis.Snapshot, kind analysis.Kind) time.Time {
	if at, ok := snap.Times[kind]; ok && !at.IsZero() {
		return at
	}
	return snap.CapturedAt
}

// limits compares the limits and sysctls that both snapshots have.
func (c *comparison) limits() {
	for _, name := range slices.Sorted(maps.Keys(c.a.Figures)) {
		if !strings.HasPrefix(name, "limit_") && !strings.HasPrefix(name, "inotify_max_") && name != "process_max_fds" {
			continue
		}
		if _, limits := c.a.Figures["limit_open_files"]; limits && name == "process_max_fds" {
			continue // the same limit, known twice
		}
		was := c.a.Figures[name]
		if is, known := c.b.Figures[name]; known && is != was {
			c.add(Warning{Form: "other_limit", Name: name, Was: number(was), Is: number(is)})
		}
	}
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
