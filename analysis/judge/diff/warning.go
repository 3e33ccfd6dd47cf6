package diff

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
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

// Warnings names in words what makes two snapshots hard to compare, the worst first, as
// Compare does, without comparing them.
func Warnings(a, b *analysis.Snapshot, relation Relation) []string {
	return warnings(a, b, related(a, b, relation), relation)
}

// warnings lists what makes two snapshots hard to compare, the worst first.
func warnings(a, b *analysis.Snapshot, same bool, relation Relation) []string {
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
	out          []string
}

func (c *comparison) say(format string, args ...any) {
	c.out = append(c.out, fmt.Sprintf(format, args...))
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
		c.say("A and B are the same snapshot.")
	case differ(x.Name, y.Name):
		c.say("Two programs: %s at %s, %s at %s. Members are not followed.", x.Name.Value, c.nameA, y.Name.Value, c.nameB)
	case differ(x.Host, y.Host):
		c.say("Two hosts: %s at %s, %s at %s. Members are not followed.", x.Host.Value, c.nameA, y.Host.Value, c.nameB)
	case same:
	case otherPID(c.a, c.b):
		c.say("Two processes: pid %s at %s, %s at %s. Members are not followed.", x.PID.Value, c.nameA, y.PID.Value, c.nameB)
	case c.relation == Unproven && !otherStart(c.a, c.b):
		c.say("Nothing says that %s and %s are of one process. Members are not followed.", c.nameA, c.nameB)
	default:
		c.say("The process was restarted between %s and %s. Members are not followed, and counts start again.", c.nameA, c.nameB)
	}
	if differ(x.Version, y.Version) {
		c.say("Two versions: %s at %s, %s at %s. A family may be new only because a function was renamed.",
			x.Version.Value, c.nameA, y.Version.Value, c.nameB)
	}
}

func (c *comparison) completeness() {
	for _, side := range []struct {
		snap *analysis.Snapshot
		name string
	}{{c.a, c.nameA}, {c.b, c.nameB}} {
		switch {
		case side.snap.Refused > 0:
			c.say("A part of the dump of %s was not understood: its counts are lower bounds and prove neither growth nor shrinking.", side.name)
		case side.snap.LowerBound:
			c.say("The dump of %s is cut: its counts are lower bounds and prove neither growth nor shrinking.", side.name)
		case side.snap.Truncated:
			c.say("The dump of %s is cut: counts are from its complete twin, members only from what was read.", side.name)
		}
		for _, kind := range analysis.Kinds() {
			switch how := side.snap.Inexact[kind]; {
			case side.snap.Totals.Of(kind) == nil:
			case how == analysis.NotComparable:
				c.say("The evidence of %s at %s shows less than that of others: counts of its families are lower bounds.", wording.Kinds(kind), side.name)
			case how == analysis.AtLeast && side.snap.Refused == 0:
				c.say("The evidence of %s at %s is not whole: its counts are lower bounds.", wording.Kinds(kind), side.name)
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
			c.say("%s were captured only at %s and are not compared.", several(kind), c.nameA)
		case before == nil && after != nil:
			c.say("%s were captured only at %s and are not compared.", several(kind), c.nameB)
		case before == nil:
		case !listed(c.a, kind):
			c.say("%s of %s were counted and not listed: their families are not compared.", several(kind), c.nameA)
		case !listed(c.b, kind):
			c.say("%s of %s were counted and not listed: their families are not compared.", several(kind), c.nameB)
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
		c.say("%s were captured in two forms: %s %s, %s %s. A family may be new or gone only because of that.",
			several(kind), c.nameA, shows(before), c.nameB, shows(after))
	}
}

// shows words what a form of evidence shows.
func shows(form string) string {
	switch form {
	case analysis.FormEnds:
		return "says where sockets lead"
	case analysis.FormBare:
		return "knows sockets by their inodes alone"
	case analysis.FormSockets:
		return "lists sockets and no other descriptor"
	case analysis.FormFull:
		return "lists the threads of the virtual machine too"
	case analysis.FormJava:
		return "lists the threads of Java alone"
	case analysis.FormCapped:
		return "cuts every stack after a few frames"
	case analysis.FormVirtual:
		return "lists virtual threads"
	}
	return "is of the form " + form
}

// several is a kind as a sentence begins with it: "Goroutines".
func several(kind analysis.Kind) string { return wording.Capital(wording.Kinds(kind)) }

// times compares when each kind was read. A spread of more than a tenth of the interval
// is reported.
func (c *comparison) times() {
	from, to := c.a.CapturedAt, c.b.CapturedAt
	if from.IsZero() || to.IsZero() {
		c.say("No capture time of %s: the length of the interval is unknown.", wording.List(c.untimed(), 2))
		return
	}
	if c.a.Zoneless != c.b.Zoneless {
		name := c.nameA
		if c.b.Zoneless {
			name = c.nameB
		}
		c.say("The time of %s was read without a zone and taken as UTC: the length of the interval may be off by hours.", name)
	}
	if to.Before(from) {
		c.say("B was captured before A, by %s.", wording.Interval(from.Sub(to)))
	}
	whole := to.Sub(from).Abs()
	for _, kind := range analysis.Kinds() {
		if c.a.Totals.Of(kind) == nil || c.b.Totals.Of(kind) == nil {
			continue
		}
		start, end := takenAt(c.a, kind), takenAt(c.b, kind)
		if start.Sub(from).Abs()*10 > whole || end.Sub(to).Abs()*10 > whole {
			c.say("%s were read from %s to %s, over %s and not over %s.", several(kind), wording.Clock(start), wording.Clock(end),
				wording.Interval(end.Sub(start)), wording.Interval(to.Sub(from)))
		}
	}
}

func (c *comparison) untimed() []string {
	var names []string
	if c.a.CapturedAt.IsZero() {
		names = append(names, c.nameA)
	}
	if c.b.CapturedAt.IsZero() {
		names = append(names, c.nameB)
	}
	return names
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
			c.say("Another limit: %s is %s at %s and %s at %s.", limitWords(name), number(was), c.nameA, number(is), c.nameB)
		}
	}
}

// limitWords names a limit as people look it up:
//
//	limitWords("limit_open_files") = "open files (RLIMIT_NOFILE)"
//	limitWords("inotify_max_user_watches") = "fs.inotify.max_user_watches"
func limitWords(name string) string {
	switch name {
	case "limit_open_files", "process_max_fds":
		return "open files (RLIMIT_NOFILE)"
	}
	if sysctl, ok := strings.CutPrefix(name, "inotify_"); ok {
		return "fs.inotify." + sysctl
	}
	return strings.ReplaceAll(strings.TrimPrefix(name, "limit_"), "_", " ")
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
