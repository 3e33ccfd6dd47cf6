// Package progress measures which threads of a JVM use the processor, and which stand at one place
// without using it. It compares the processor times and the stacks of dumps of one process. It
// judges no growth and is pure.
package progress

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
)

// Threads of one name that use leastCores of a core between two dumps are busy; one that uses less
// than noUse of the time has no part in that.
const (
	leastCores = 0.5
	noUse      = 0.01
)

// A thread stands still if leastDumps show it in one place, over leastTime, and it ran for at most
// noRun from one to the next, which is for the dump itself: a small request takes more.
const (
	leastDumps = 3
	leastTime  = 10 * time.Second // the usual advice is three dumps, at least five seconds apart
	noRun      = time.Millisecond
)

// Busy are threads of one name that use much of the processor up to the last dump.
type Busy struct {
	// Name is that of the family, Thread the whole name of the one that used most.
	Name, Thread string
	// Threads counts those that used any.
	Threads int
	// Families are those in which they are in the last dump, the one of Thread first.
	Families []string
	// From and To are indexes of snapshots. Between each two dumps of them they were busy.
	From, To  int
	CPU, Wall time.Duration
}

// Cores is how many cores they kept busy.
func (b *Busy) Cores() float64 { return b.CPU.Seconds() / b.Wall.Seconds() }

// Still are threads of one family that are in the same frames of all dumps from From to To, and used
// no processor in between.
type Still struct {
	Family   string
	Threads  int
	At       Wait
	From, To int
	Wall     time.Duration
}

// look is one dump: when it was taken and who is in it.
type look struct {
	snapshot int
	s        *analysis.Snapshot
	threads  map[analysis.Identity]*sight
}

// sight is one thread in one dump.
type sight struct {
	group   *analysis.Group
	variant string
	name    string
	cpu     time.Duration
	age     int32
}

// Measure compares the dumps of the epoch of the last snapshot.
func Measure(snapshots []*analysis.Snapshot, epochs []int) (busy []Busy, still []Still) {
	var looks []look
	for i, s := range snapshots {
		if len(s.CPU) > 0 && epochs[i] == epochs[len(epochs)-1] {
			looks = append(looks, lookAt(i, s))
		}
	}
	if len(looks) == 0 || looks[len(looks)-1].snapshot != len(snapshots)-1 {
		return nil, nil
	}
	return findBusy(looks), findStill(looks)
}

func lookAt(at int, s *analysis.Snapshot) look {
	out := look{snapshot: at, s: s, threads: map[analysis.Identity]*sight{}}
	for i := range s.Groups {
		g := &s.Groups[i]
		times, ages := s.CPU[g.Family.Fingerprint], g.Members.Ages()
		if len(times) != g.Members.Len() || !g.Members.Identified() {
			continue // the members were dropped
		}
		n := -1
		for m := range g.Members.All() {
			if n++; times[n] < 0 {
				continue
			}
			x := &sight{group: g, name: m.Detail, cpu: time.Duration(times[n]) * time.Millisecond, age: -1}
			if m.Variant >= 0 {
				x.variant = g.Variants[m.Variant].Fingerprint
			}
			if n < len(ages) {
				x.age = ages[n]
			}
			out.threads[m.Identity] = x
		}
	}
	return out
}

// since is the time between two dumps: by the age of the process, which dumps print to the
// hundredth of a second, by the clock, or by the age of the oldest thread of both where a file has
// another time than its dump. It is 0 where none is known.
func (l *look) since(before *look) time.Duration {
	const uptime = "jvm_uptime_seconds"
	if from, to := before.s.Figures[uptime], l.s.Figures[uptime]; from > 0 && to > from {
		return time.Duration((to - from) * float64(time.Second))
	}
	oldest, aged := int32(-1), time.Duration(-1)
	for id, x := range before.threads {
		if y := l.threads[id]; y != nil && x.age > oldest && y.age >= x.age {
			oldest, aged = x.age, time.Duration(y.age-x.age)*time.Second
		}
	}
	timed := l.s.CapturedAt.Sub(before.s.CapturedAt)
	if l.s.CapturedAt.IsZero() || before.s.CapturedAt.IsZero() {
		timed = 0
	}
	if aged >= 0 && (timed-aged).Abs() > 2*time.Second {
		return aged
	}
	return max(0, timed)
}

// shows reports that a dump has a thread in the frames of a later one.
func (l *look) shows(id analysis.Identity, x *sight) bool {
	was := l.threads[id]
	return was != nil && was.variant == x.variant && was.group.Family.Fingerprint == x.group.Family.Fingerprint && was.cpu <= x.cpu
}

// use is what the threads of one name used between two dumps.
type use struct {
	cpu  time.Duration
	each map[analysis.Identity]time.Duration
}

// between are the uses from one dump to the next, by the sort and the name of the threads.
func between(before, after *look) map[string]*use {
	out := map[string]*use{}
	for id, x := range after.threads {
		was := before.threads[id]
		if was == nil || x.cpu < was.cpu {
			continue
		}
		name := nameOf(x)
		if out[name] == nil {
			out[name] = &use{each: map[analysis.Identity]time.Duration{}}
		}
		out[name].cpu += x.cpu - was.cpu
		out[name].each[id] = x.cpu - was.cpu
	}
	return out
}

func nameOf(x *sight) string {
	return x.group.Family.Attributes["sort"] + "\x00" + x.group.Family.Attributes["name"]
}

func findBusy(looks []look) []Busy {
	if len(looks) < 2 {
		return nil
	}
	found := map[string]*Busy{}
	total := map[string]map[analysis.Identity]time.Duration{}
	last := &looks[len(looks)-1]
	for i := len(looks) - 1; i > 0; i-- {
		wall := looks[i].since(&looks[i-1])
		if wall <= 0 {
			break
		}
		for name, u := range between(&looks[i-1], &looks[i]) {
			b := found[name]
			if i == len(looks)-1 {
				b = &Busy{From: last.snapshot, To: last.snapshot}
			}
			if b == nil || b.From != looks[i].snapshot || u.cpu.Seconds() < leastCores*wall.Seconds() {
				continue
			}
			found[name] = b
			b.From, b.CPU, b.Wall = looks[i-1].snapshot, b.CPU+u.cpu, b.Wall+wall
			if total[name] == nil {
				total[name] = map[analysis.Identity]time.Duration{}
			}
			for id, cpu := range u.each {
				total[name][id] += cpu
			}
		}
	}
	var out []Busy
	for name, b := range found {
		b.describe(last, total[name])
		_, b.Name, _ = strings.Cut(name, "\x00")
		out = append(out, *b)
	}
	slices.SortFunc(out, func(x, y Busy) int { return cmp.Or(cmp.Compare(y.CPU, x.CPU), cmp.Compare(x.Name, y.Name)) })
	return out
}

// describe sets whose the use is.
func (b *Busy) describe(last *look, each map[analysis.Identity]time.Duration) {
	var ids []analysis.Identity
	for id, cpu := range each {
		if cpu.Seconds() >= noUse*b.Wall.Seconds() && last.threads[id] != nil {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 { // very many use little each
		for id := range each {
			if last.threads[id] != nil {
				ids = append(ids, id)
			}
		}
	}
	slices.SortFunc(ids, func(x, y analysis.Identity) int { return cmp.Or(cmp.Compare(each[y], each[x]), x.Compare(y)) })
	b.Threads = len(ids)
	for i, id := range ids {
		x := last.threads[id]
		if i == 0 {
			b.Thread = x.name
		}
		if print := x.group.Family.Fingerprint; !slices.Contains(b.Families, print) {
			b.Families = append(b.Families, print)
		}
	}
}

func findStill(looks []look) []Still {
	if len(looks) < leastDumps {
		return nil
	}
	last := len(looks) - 1
	walls := make([]time.Duration, len(looks)) // to the last dump: all threads ask for them
	for i := range looks {
		walls[i] = looks[last].since(&looks[i])
	}
	found := map[string]*Still{}
	for id, x := range looks[last].threads {
		at := waitOf(x.group.Family)
		if at == Idle {
			continue
		}
		from := last
		for from > 0 && looks[from-1].shows(id, x) {
			from--
		}
		wall := walls[from]
		if last-from+1 < leastDumps || wall < leastTime || x.cpu-looks[from].threads[id].cpu > noRun*time.Duration(last-from) {
			continue
		}
		print := x.group.Family.Fingerprint
		s := found[print]
		if s == nil {
			s = &Still{Family: print, At: at, To: looks[last].snapshot, From: -1}
			found[print] = s
		}
		s.Threads++
		if looks[from].snapshot > s.From { // all of them stand since then
			s.From, s.Wall = looks[from].snapshot, wall
		}
	}
	var out []Still
	for _, s := range found {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(x, y Still) int { return cmp.Or(y.Threads-x.Threads, cmp.Compare(x.Family, y.Family)) })
	return out
}
