package lab

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
)

// The bench of statistics.md 8, in hours: seven days, transient members that live
// for twelve minutes in the mean.
const (
	week          = 7 * 24.0
	transientLife = 0.2
)

// Fingerprint is the one family of a simulated series.
const Fingerprint = "g1:00000000000000000000000000000000"

// life is one member that outlives a request. Born 0 is the start of its process.
type life struct {
	born, ends float64
	// inherent members are there after every restart.
	inherent bool
}

// world is one series before anybody looks.
type world struct {
	hours float64
	lives []life
	// transient is the expected number of short-lived members at a time.
	transient func(at float64) float64
	// restarts are the starts of the process after the first, in order.
	restarts []float64
	// load is the demand from outside, nil where none is known.
	load func(at float64) float64
	// backlog is a time at which many short-lived members wait; 0 for none.
	backlog     float64
	backlogSize int
}

// steady is a base of which a share stays for ever and the rest comes and goes.
func steady(base, permanent float64) world {
	w := world{hours: week, transient: func(float64) float64 { return base * (1 - permanent) }}
	for range int(math.Round(base * permanent)) {
		w.lives = append(w.lives, life{ends: math.Inf(1), inherent: true})
	}
	return w
}

// add makes a member that stays from born on.
func (w *world) add(born float64) { w.until(born, math.Inf(1)) }

func (w *world) until(born, ends float64) {
	if born < w.hours {
		w.lives = append(w.lives, life{born: max(born, 1e-9), ends: ends})
	}
}

// startOf is when the process of a time started, and which one it is.
func (w *world) startOf(at float64) (start float64, epoch int) {
	for _, restart := range w.restarts {
		if restart > at {
			break
		}
		start, epoch = restart, epoch+1
	}
	return start, epoch
}

// origin is the calendar time of hour 0.
func origin() time.Time { return time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC) }

func clock(at float64) time.Time { return origin().Add(time.Duration(at * float64(time.Hour))) }

// moments are n irregular times, the first in the first 15 % of the window and the
// last in the last 15 %.
func (w *world) moments(r *rand.Rand, n int) []float64 {
	times := make([]float64, n)
	times[0] = 0.15 * r.Float64() * w.hours
	times[n-1] = (0.85 + 0.15*r.Float64()) * w.hours
	for i := 1; i < n-1; i++ {
		times[i] = times[0] + r.Float64()*(times[n-1]-times[0])
	}
	slices.Sort(times)
	return times
}

// seen is what n snapshots of the world show.
func (w *world) seen(r *rand.Rand, n int) trend.Input {
	times := w.moments(r, n)
	if w.backlog > 0 {
		// Somebody looks because the backlog is there.
		w.backlog = times[n-1] - r.Float64()/6
	}
	in := trend.Input{Snapshots: make([]*analysis.Snapshot, n)}
	if w.load != nil {
		in.Loads = map[string][]float64{"demand": make([]float64, n)}
	}
	passing := &passers{next: int64(10 * len(w.lives))}
	for i, at := range times {
		start, epoch := w.startOf(at)
		passing.advance(r, w, at, epoch)
		in.Snapshots[i] = w.snapshot(i, at, start, epoch, passing)
		if w.load != nil {
			in.Loads["demand"][i] = w.load(at)
		}
	}
	return in
}

func (w *world) snapshot(i int, at, start float64, epoch int, passing *passers) *analysis.Snapshot {
	group := analysis.Group{Family: simulated(), OldestWait: -1}
	show := func(id int64, born float64) {
		minutes := int32((at - born) * 60)
		if minutes == 0 {
			minutes = -1 // the runtime prints no wait below one minute
		}
		group.Members.ID = append(group.Members.ID, id)
		group.Members.Wait = append(group.Members.Wait, minutes)
		group.OldestWait = max(group.OldestWait, int(minutes))
	}
	for m, member := range w.lives {
		born := member.born
		if member.inherent {
			born = start
		}
		if born <= at && born >= start && at < member.ends {
			show(int64(m+1), born)
		}
	}
	for _, p := range passing.there {
		show(p.id, p.born)
	}
	group.Count = len(group.Members.ID)
	total := group.Count + 1
	snap := &analysis.Snapshot{
		Label: "t" + strconv.Itoa(i), Order: i, CapturedAt: clock(at), MaxGoroutineID: passing.next + 1,
		Totals: analysis.Totals{Goroutines: &total},
	}
	snap.Process.PID.Value = strconv.Itoa(100 + epoch)
	snap.Process.Start.Value = clock(start).Format(time.RFC3339)
	if group.Count > 0 {
		snap.Groups = []analysis.Group{group}
	}
	return snap
}

func simulated() *analysis.Family {
	return &analysis.Family{Fingerprint: Fingerprint, Kind: analysis.KindGoroutine, Title: "simulated"}
}

// passers are the short-lived members, an M/M/inf queue looked at now and then.
type passers struct {
	next  int64
	at    float64
	epoch int
	there []passer
}

type passer struct {
	id         int64
	born, ends float64
}

// advance lets time pass until at: of those there, some have left; those born
// since and not yet gone are Poisson.
func (p *passers) advance(r *rand.Rand, w *world, at float64, epoch int) {
	if epoch != p.epoch {
		p.there, p.epoch = nil, epoch
	}
	p.there = slices.DeleteFunc(p.there, func(m passer) bool { return m.ends <= at })
	gone := math.Exp(-(at - p.at) / transientLife)
	if p.at == 0 {
		gone = 0
	}
	start, _ := w.startOf(at)
	for range poisson(r, w.transient(at)*(1-gone)) {
		p.next++
		// The age of one that is still there is exponential, cut at the last look.
		age := -transientLife * math.Log(1-r.Float64()*(1-gone))
		p.there = append(p.there, passer{p.next, max(start, at-age), at + r.ExpFloat64()*transientLife})
	}
	if w.backlog > 0 && at >= w.backlog && p.at < w.backlog {
		for range w.backlogSize {
			p.next++
			p.there = append(p.there, passer{p.next, w.backlog + r.Float64()*(at-w.backlog), w.backlog + 1.0/6})
		}
	}
	p.at = at
}

func poisson(r *rand.Rand, mean float64) int {
	if mean > 50 {
		return max(0, int(math.Round(mean+math.Sqrt(mean)*r.NormFloat64())))
	}
	limit, product, n := math.Exp(-mean), r.Float64(), 0
	for product > limit {
		product *= r.Float64()
		n++
	}
	return n
}
