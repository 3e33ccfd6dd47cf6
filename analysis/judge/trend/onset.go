package trend

import (
	"math"
	"slices"
	"time"

	"leakdiff/analysis"
)

// Event is something that happened to the program and may have started a growth.
type Event struct {
	At time.Time
	// Kind is deploy, upgrade, config, restart, outage, version or a word of the person
	// who entered it.
	Kind string
	// Text is what the person entered.
	Text string
	// Shown is what the snapshots show themselves, nil for an event that was entered.
	Shown *Change
}

// Change is a restart or another version.
type Change struct {
	// Before is the first snapshot after it.
	Before int
	// Was and Is are the versions, empty for a restart.
	Was, Is string
}

// Window is the time between two neighbouring snapshots.
type Window struct {
	// From and To are indexes of Series.Snapshots.
	From, To int
	// Mass is the posterior probability of the window.
	Mass float64
	// Events are the events inside the window.
	Events []Event
}

// Onset is when a growth began.
type Onset struct {
	// Windows is the smallest set with 95 % of the probability, in time order. It
	// contains all windows that the counts cannot distinguish, never one chosen
	// culprit.
	Windows []Window
	// From and To are the ends of the set, zero if the snapshots have no time.
	From, To time.Time
	// Oldest is when the oldest member of the last dump was born that stayed and is
	// younger than its process. It is accurate to about two minutes, and zero if ages
	// are unknown.
	Oldest time.Time
	// Before reports that the growth may have begun before the first snapshot: it was
	// as fast in the first interval as later, from a count above zero.
	Before bool
	// Evenly reports that identities confirm this: as many members that stayed came in
	// the first interval as later.
	Evenly bool
	// Whole reports that the windows are three or more and cover the whole series: the
	// counts cannot date it.
	Whole bool
}

// Joined merges neighbouring windows.
func (o Onset) Joined() []Window {
	var out []Window
	for _, w := range o.Windows {
		if k := len(out) - 1; k >= 0 && out[k].To == w.From {
			out[k].To, out[k].Mass = w.To, out[k].Mass+w.Mass
			out[k].Events = slices.Concat(out[k].Events, w.Events)
			continue
		}
		out = append(out, w)
	}
	return out
}

// Onset returns when the growth of a family began. It combines the series, by a hinge
// whose position has a likelihood in every interval, with the ages in the last dump. ok
// is false for families that do not grow and if neither source has an answer.
func (s *Series) Onset(fingerprint string) (o Onset, ok bool) {
	j := s.judgements().byFingerprint[fingerprint]
	if j == nil {
		return Onset{}, false
	}
	v := j.verdict()
	if v != analysis.Leaking && v != analysis.Suspicious && v != analysis.Scaling && v != analysis.New {
		return Onset{}, false
	}
	p, signals := j.judgedPart()
	if j.alone {
		p = s.parts[fingerprint] // it began after the first dump if earlier starts were flat
	}
	return p.onset(signals.ages, j.left())
}

// left is the count to which a family fell when its cause went away, or -1.
func (j *judgement) left() int {
	if r := j.recovery(); r != nil {
		return r.at.count
	}
	return -1
}

// UnitOnset returns when the families of a unit began to rise together, from the sum of
// their counts. ok is false for an unknown unit and if the counts have no answer.
func (s *Series) UnitOnset(id string) (o Onset, ok bool) {
	for _, u := range s.judgements().units {
		if u.id != id {
			continue
		}
		left := -1
		if told := u.result(); told.RecoveredAt >= 0 && told.Counts[told.RecoveredAt].Known() {
			left = told.Counts[told.RecoveredAt].N
		}
		return u.part.onset(ages{}, left)
	}
	return Onset{}, false
}

// onset takes the ages of the last dump, and the count left when the cause went away,
// or -1.
func (p *part) onset(a ages, left int) (o Onset, ok bool) {
	s := p.series
	o = Onset{Windows: p.onsetWindows()}
	o.Before = len(o.Windows) > 0 && p.grewBefore(o.Windows[0].From, left)
	o.Evenly = o.Before && p.bornEvenly(o.Windows[0].From)
	if a.kept > 0 && a.oldest > 0 && (len(o.Windows) == 0 || s.Epochs[a.at] == s.Epochs[o.Windows[0].From]) {
		if at := s.takenAt(a.at, p.family.Kind); !at.IsZero() {
			o.Oldest = at.Add(-hoursLong(a.oldest))
		}
	}
	for k := range o.Windows {
		w := &o.Windows[k]
		from, to := s.takenAt(w.From, p.family.Kind), s.takenAt(w.To, p.family.Kind)
		w.Events = s.eventsIn(from, to)
		if k == 0 {
			o.From = from
		}
		o.To = to
	}
	if !o.Oldest.IsZero() && !o.From.IsZero() {
		o.Before = o.Before && !o.Oldest.After(o.From)
	}
	o.Whole = coverAll(o.Windows, len(s.Snapshots))
	return o, len(o.Windows) > 0 || !o.Oldest.IsZero()
}

// coverAll reports three windows or more that reach from the first to the last snapshot.
func coverAll(windows []Window, snapshots int) bool {
	return len(windows) > 2 && windows[0].From == 0 && windows[len(windows)-1].To == snapshots-1
}

// grewBefore reports a growth whose onset lies in the first interval of the series, if
// that interval rose at half the later rate or more. The members at the start must not
// be known to be healthy. They are healthy if as many were left when the cause went
// away.
func (p *part) grewBefore(from, left int) bool {
	runs := p.comparable()
	if len(runs) == 0 || runs[0][0].index != from {
		return false
	}
	run := runs[0]
	first, last := run[0], run[len(run)-1]
	healthy := 5*left >= 4*first.count
	if first.count == 0 || healthy || last.at <= run[1].at || run[1].at <= first.at {
		return false
	}
	later := float64(last.count-run[1].count) / (last.at - run[1].at)
	return float64(run[1].count-first.count)/(run[1].at-first.at) >= 0.5*later
}

// bornEvenly reports that members that stayed were born in the interval after a
// snapshot at half the later rate or more.
func (p *part) bornEvenly(from int) bool {
	s := p.series
	to, last := -1, -1
	for i := from; i < len(p.tracking.members) && s.Epochs[i] == s.Epochs[from]; i++ {
		if i > from && p.tracking.complete[i] && to < 0 {
			to = i
		}
		if p.tracking.complete[i] {
			last = i
		}
	}
	if to < 0 || last <= to || !p.tracking.complete[from] {
		return false
	}
	start, middle, end := s.takenAt(from, p.family.Kind), s.takenAt(to, p.family.Kind), s.takenAt(last, p.family.Kind)
	if start.IsZero() || !middle.After(start) || !end.After(middle) {
		return false
	}
	early, late := 0, 0
	for _, number := range p.tracking.members[last] {
		switch first := int(p.tracking.first[number]); {
		case first > to:
			late++
		case first > from:
			early++
		}
	}
	return early > 0 && float64(early)/middle.Sub(start).Hours() >= 0.5*float64(late)/end.Sub(middle).Hours()
}

// begun is the first snapshot whose count exceeds the scatter of all counts before it,
// if no later snapshot of its epoch falls below. Growth had begun by then, wherever a
// line fits best. It is -1 if there is no such snapshot.
func (p *part) begun() int {
	for _, run := range p.comparable() {
		lowest := slices.Clone(run)
		for k := len(run) - 2; k >= 0; k-- {
			lowest[k].count = min(run[k].count, lowest[k+1].count)
		}
		highest := 0
		for k := 1; k < len(run); k++ {
			highest = max(highest, run[k-1].count)
			if float64(lowest[k].count-highest) > 3*math.Sqrt(float64(highest+1)) {
				return run[k].index
			}
		}
	}
	return -1
}

// eventsIn returns the events after from and not after to, in time order.
func (s *Series) eventsIn(from, to time.Time) []Event {
	if from.IsZero() || to.IsZero() {
		return nil
	}
	var out []Event
	for _, e := range s.events() {
		if e.At.After(from) && !e.At.After(to) {
			out = append(out, e)
		}
	}
	return out
}

// Events returns the events that were entered and those that the snapshots show: a
// restart at the start of an epoch, a version at its change. They are in time order.
func (s *Series) Events() []Event { return slices.Clone(s.events()) }

func (s *Series) newEvents() []Event {
	out := slices.Clone(s.in.Events)
	for i := 1; i < len(s.Snapshots); i++ {
		at := s.Snapshots[i].CapturedAt
		if at.IsZero() {
			continue
		}
		if s.Epochs[i] != s.Epochs[i-1] {
			when := at
			if began, ok := s.began(i); ok {
				when = began
			}
			out = append(out, Event{At: when, Kind: "restart", Shown: &Change{Before: i}})
		}
		if before, after := s.Snapshots[i-1].Process.Version.Value, s.Snapshots[i].Process.Version.Value; differ(before, after) {
			out = append(out, Event{At: at, Kind: "version", Shown: &Change{Before: i, Was: before, Is: after}})
		}
	}
	slices.SortStableFunc(out, func(a, b Event) int { return a.At.Compare(b.At) })
	return out
}

// onsetSteps is the number of positions tried inside each interval.
const onsetSteps = 8

// onsetWindows fits the hinge y = a of its epoch + b max(0, t-k), b > 0, weights
// 1/count. The profile likelihood of k, summed over each interval, is the interval's
// share of the probability. Intervals after growth had begun have none. It returns the
// smallest set with 95 %, in time order.
func (p *part) onsetWindows() []Window {
	var timed []point
	var epochs []int
	for r, run := range p.comparable() {
		for _, pt := range timedOf(run) {
			timed = append(timed, pt)
			epochs = append(epochs, r)
		}
	}
	if len(timed) < 3 {
		return nil
	}
	h := newHinge(timed, epochs)
	type scored struct {
		w     Window
		fits  []float64
		width float64
		// none reports no members at the end. What leaks stays, so no leak had begun by
		// then.
		none bool
	}
	var all []scored
	best := math.Inf(1)
	for k := 1; k < len(timed); k++ {
		if epochs[k] != epochs[k-1] || timed[k].at <= timed[k-1].at {
			continue
		}
		sc := scored{w: Window{From: timed[k-1].index, To: timed[k].index}, width: timed[k].at - timed[k-1].at, none: timed[k].count == 0}
		for step := range onsetSteps {
			at := timed[k-1].at + sc.width*(float64(step)+0.5)/onsetSteps
			left := h.residual(epochs[k], at)
			sc.fits = append(sc.fits, left)
			best = min(best, left)
		}
		all = append(all, sc)
	}
	if len(all) == 0 {
		return nil
	}
	// Counts scatter more than Poisson. The best fit's own scatter sets the scale,
	// never below overdispersion 2.
	scale := max(2, best/float64(max(1, len(timed)-len(p.runs)-2)))
	begun, total := p.begun(), 0.0
	for k := range all {
		if begun >= 0 && all[k].w.To > begun || all[k].none {
			continue
		}
		for _, left := range all[k].fits {
			all[k].w.Mass += math.Exp(-(left-best)/(2*scale)) * all[k].width / onsetSteps
		}
		total += all[k].w.Mass
	}
	if total < 1e-9 { // the hinge bends after the counts had left their level
		for k := range all {
			if all[k].w.To == begun {
				all[k].w.Mass, total = 1, 1
			}
		}
	}
	if total == 0 {
		return nil
	}
	windows := make([]Window, len(all))
	for k := range all {
		windows[k] = all[k].w
		windows[k].Mass /= total
	}
	return smallestSet(windows)
}

// smallestSet keeps the windows with the most mass until 95 % are reached, in time
// order.
func smallestSet(windows []Window) []Window {
	slices.SortStableFunc(windows, func(a, b Window) int {
		switch {
		case a.Mass > b.Mass:
			return -1
		case a.Mass < b.Mass:
			return 1
		}
		return a.From - b.From
	})
	mass := 0.0
	for k, w := range windows {
		if mass += w.Mass; mass >= 0.95 {
			windows = windows[:k+1]
			break
		}
	}
	slices.SortFunc(windows, func(a, b Window) int { return a.From - b.From })
	return windows
}

// Births counts the members born in one hour of the clock that are still present.
type Births struct {
	// Hour is its start, in UTC.
	Hour time.Time
	Born int
}

// Births dates the members of a family in snapshot i by their ages. It has one entry
// per hour from the oldest member to the dump, without members that started with the
// process. It is empty if ages are unknown or the snapshot has no time. It covers at
// most 90 days: older members count in the first hour.
//
// A wait is only a lower bound of an age. Members with waits alone are therefore also
// dated by the last snapshot without them. Members of the epoch's first snapshot are
// left out. The result is empty unless both bounds of every other member lie in one
// hour.
func (s *Series) Births(fingerprint string, i int) []Births {
	p := s.parts[fingerprint]
	if p == nil || i < 0 || i >= len(s.Snapshots) {
		return nil
	}
	at := s.takenAt(i, p.family.Kind)
	ages, exact := p.agesAt(i, nil)
	if at.IsZero() || len(ages) == 0 {
		return nil
	}
	if !exact {
		return perHour(p.bornBetween(i, at))
	}
	uptime := s.uptime(i, p.family.Kind, ages)
	oldest := 0.0
	kept := ages[:0]
	for _, h := range ages {
		if uptime > 0 && h > 0.95*uptime && h > 0 {
			continue
		}
		kept = append(kept, min(h, 90*24))
		oldest = max(oldest, min(h, 90*24))
	}
	if len(kept) == 0 {
		return nil
	}
	born := make([]time.Time, len(kept))
	for k, h := range kept {
		born[k] = at.Add(-hoursLong(h))
	}
	return perHour(born, at)
}

// bornBetween dates the members of snapshot i, taken at a time, to an hour each:
// between the last snapshot without a member and the first with it, or the start of its
// wait. It is nil if a member cannot be dated to an hour.
func (p *part) bornBetween(i int, at time.Time) ([]time.Time, time.Time) {
	s, none := p.series, time.Time{}
	row := s.groups[p.family.Fingerprint]
	if row[i] == nil || !row[i].Members.Identified() || !p.tracking.complete[i] {
		return nil, none
	}
	type bounds struct{ after, until time.Time }
	seen := map[analysis.Identity]bounds{}
	last := none // the time of the last snapshot before that lists all members
	for k := s.starts[i]; k <= i; k++ {
		taken := s.takenAt(k, p.family.Kind)
		if group := row[k]; group != nil && !taken.IsZero() {
			for id := range group.Members.Identities() {
				if _, known := seen[id]; !known {
					seen[id] = bounds{last, taken}
				}
			}
		}
		if p.tracking.complete[k] && !taken.IsZero() {
			last = taken
		}
	}
	var born []time.Time
	for m := range row[i].Members.All() {
		b := seen[m.Identity]
		if b.after.IsZero() {
			if s.starts[i] == i {
				return nil, none
			}
			continue
		}
		if parked := at.Add(-time.Duration(max(0, m.Wait)) * time.Minute); parked.Before(b.until) {
			b.until = parked
		}
		if !b.after.UTC().Truncate(time.Hour).Equal(b.until.UTC().Truncate(time.Hour)) {
			return nil, none
		}
		born = append(born, b.until)
	}
	return born, at
}

// perHour counts births by the hours of the clock, from the first birth to a time.
func perHour(born []time.Time, at time.Time) []Births {
	if len(born) == 0 {
		return nil
	}
	first := slices.MinFunc(born, time.Time.Compare).UTC().Truncate(time.Hour)
	out := make([]Births, int(at.Sub(first)/time.Hour)+1)
	for k := range out {
		out[k].Hour = first.Add(time.Duration(k) * time.Hour)
	}
	for _, b := range born {
		out[int(b.Sub(first)/time.Hour)].Born++
	}
	return out
}
