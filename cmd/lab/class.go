package lab

import (
	"math"
	"math/rand/v2"
	"slices"

	"leakdiff/analysis/judge/trend"
)

// Class is one way in which the count of a family behaves.
type Class struct {
	Name string
	// Leak is the truth.
	Leak bool
	make func(r *rand.Rand, base, permanent float64) world
}

// Series simulates one series of n snapshots: base log-uniform from 5 to 300, of
// which 0.3 to 0.9 stay.
func (c Class) Series(r *rand.Rand, n int) trend.Input {
	base := 5 * math.Pow(60, r.Float64())
	w := c.make(r, base, 0.3+0.6*r.Float64())
	return w.seen(r, n)
}

// Classes are those of statistics.md 8, leaks first.
func Classes() []Class {
	return []Class{
		{"leak-linear", true, leakLinear},
		{"leak-restarts", true, leakRestarts},
		{"leak-stairs", true, leakStairs},
		{"leak-10pct-day", true, leakTenPercentADay},
		{"leak+diurnal", true, leakDiurnal},
		{"leak-trickle", true, leakTrickle},
		{"noise", false, noise},
		{"ar1-drift", false, drift},
		{"step-up", false, stepUp},
		{"burst-decay", false, burstDecay},
		{"diurnal", false, diurnal},
		{"load-growth", false, loadGrowth},
		{"warmup-plateau", false, warmUp},
		{"restart-warmup", false, restartWarmUp},
		{"sessions-12h", false, sessions(12)},
		{"sessions-3d", false, sessions(72)},
		{"backlog-10min", false, backlog},
		{"sawtooth", false, sawtooth},
		{"load-persistent", false, loadPersistent},
	}
}

// size is a leak's at the end of the window.
func size(r *rand.Rand, base float64) int { return int((0.4+4*r.Float64())*base) + 15 }

// between is uniform from low to high.
func between(r *rand.Rand, low, high float64) float64 { return low + (high-low)*r.Float64() }

// restarts are one to three, anywhere.
func restarts(r *rand.Rand, w *world) {
	for range 1 + r.IntN(3) {
		w.restarts = append(w.restarts, r.Float64()*w.hours)
	}
	slices.Sort(w.restarts)
}

func leakLinear(r *rand.Rand, base, permanent float64) world {
	w := steady(base, permanent)
	for range size(r, base) {
		w.add(r.Float64() * w.hours)
	}
	return w
}

func leakRestarts(r *rand.Rand, base, permanent float64) world {
	w := leakLinear(r, base, permanent)
	restarts(r, &w)
	return w
}

// leakStairs leaks in twelve batches at random times.
func leakStairs(r *rand.Rand, base, permanent float64) world {
	w := steady(base, permanent)
	var batches [12]float64
	for k := range batches {
		batches[k] = r.Float64() * w.hours
	}
	for range size(r, base) {
		w.add(batches[r.IntN(len(batches))])
	}
	return w
}

// leakTenPercentADay grows 500 goroutines by a tenth a day, over 3 to 14 days.
func leakTenPercentADay(r *rand.Rand, _, permanent float64) world {
	w := steady(500, permanent)
	w.hours = between(r, 3*24, 14*24)
	total := 500 * (math.Pow(1.1, w.hours/24) - 1)
	for range int(math.Round(total)) {
		// The inverse of the cumulated births.
		w.add(24 * math.Log(1+r.Float64()*total/500) / math.Log(1.1))
	}
	return w
}

// daily is a load that swings around 1 once a day.
func daily(r *rand.Rand) func(float64) float64 {
	amplitude, phase := between(r, 0.2, 0.7), 2*math.Pi*r.Float64()
	return func(at float64) float64 { return 1 + amplitude*math.Sin(2*math.Pi*at/24+phase) }
}

// underLoad lets the short-lived part of the base follow a known load.
func (w *world) underLoad(load func(float64) float64) {
	rest := w.transient
	w.transient = func(at float64) float64 { return rest(at) * load(at) }
	w.load = func(at float64) float64 { return 100 * load(at) }
}

func leakDiurnal(r *rand.Rand, base, permanent float64) world {
	w := leakLinear(r, base, permanent)
	w.underLoad(daily(r))
	return w
}

func leakTrickle(r *rand.Rand, base, permanent float64) world {
	w := steady(base, permanent)
	for range int(8 + 0.15*base) {
		w.add(r.Float64() * w.hours)
	}
	return w
}

func noise(_ *rand.Rand, base, permanent float64) world { return steady(base, permanent) }

// drift is a log-AR(1) level with a memory of 20 hours, one step an hour.
func drift(r *rand.Rand, base, permanent float64) world {
	w := steady(base, permanent)
	keep := math.Exp(-1.0 / 20)
	level := make([]float64, int(week)+2)
	x := 0.4 * r.NormFloat64()
	for k := range level {
		level[k] = math.Exp(x)
		x = keep*x + 0.4*math.Sqrt(1-keep*keep)*r.NormFloat64()
	}
	rest := w.transient
	w.transient = func(at float64) float64 { return rest(at) * level[int(at)] }
	return w
}

func stepUp(r *rand.Rand, base, permanent float64) world {
	w := steady(base, permanent)
	at := r.Float64() * w.hours
	for range size(r, base) {
		w.add(at)
	}
	return w
}

// burstDecay is three times the base at once, of a mean life of 2 to 32 hours.
func burstDecay(r *rand.Rand, base, permanent float64) world {
	w := steady(base, permanent)
	at, mean := r.Float64()*w.hours, 2*math.Pow(16, r.Float64())
	for range int(3 * base) {
		w.until(at, at+mean*r.ExpFloat64())
	}
	return w
}

func diurnal(r *rand.Rand, base, permanent float64) world {
	w := steady(base, permanent)
	w.underLoad(daily(r))
	return w
}

// loadGrowth multiplies the load by 1.5 to 3.5 over the window.
func loadGrowth(r *rand.Rand, base, permanent float64) world {
	w := steady(base, permanent)
	factor := between(r, 1.5, 3.5)
	w.underLoad(func(at float64) float64 { return 1 + (factor-1)*at/week })
	return w
}

// warmUp fills a pool after the start.
func warmUp(r *rand.Rand, base, permanent float64) world {
	w := steady(base, permanent)
	w.fill(r, 0, week, warmUpTime(r), size(r, base))
	return w
}

// warmUpTime is the mean time, in hours, after which a pool's member is there:
// between two hours and half a day.
func warmUpTime(r *rand.Rand) float64 { return between(r, 2, 12) }

// fill gives a process that lives from start to end a pool that saturates.
func (w *world) fill(r *rand.Rand, start, end, mean float64, pool int) {
	for range pool {
		if born := start + mean*r.ExpFloat64(); born < end {
			w.add(born)
		}
	}
}

// restartWarmUp fills it anew after each of one to three restarts.
func restartWarmUp(r *rand.Rand, base, permanent float64) world {
	w := steady(base, permanent)
	restarts(r, &w)
	mean, pool := warmUpTime(r), size(r, base)
	start := 0.0
	for _, end := range append(w.restarts, week) {
		w.fill(r, start, end, mean, pool)
		start = end
	}
	return w
}

// sessions live for a mean time each; the permanent share of the base is sessions.
func sessions(mean float64) func(*rand.Rand, float64, float64) world {
	return func(r *rand.Rand, base, permanent float64) world {
		w := steady(base, permanent)
		w.lives = nil
		for range poisson(r, base*permanent) {
			w.until(0, mean*r.ExpFloat64())
		}
		for range poisson(r, base*permanent*w.hours/mean) {
			born := r.Float64() * w.hours
			w.until(born, born+mean*r.ExpFloat64())
		}
		return w
	}
}

// backlog is ten minutes in which everything waits, at the last snapshot.
func backlog(r *rand.Rand, base, permanent float64) world {
	w := steady(base, permanent)
	w.backlog, w.backlogSize = w.hours, size(r, base)
	return w
}

// sawtooth is born evenly and freed all at once, every 8 to 80 hours.
func sawtooth(r *rand.Rand, base, permanent float64) world {
	w := steady(base, permanent)
	period := between(r, 8, 80)
	perHour := float64(size(r, base)) / week
	if least := 15 / period; perHour < least {
		perHour = least
	}
	for range poisson(r, perHour*w.hours) {
		born := r.Float64() * w.hours
		w.until(born, (math.Floor(born/period)+1)*period)
	}
	return w
}

// loadPersistent holds one to four members for each unit of a load that rises in
// three to ten steps, by half to two and a half times in all.
func loadPersistent(r *rand.Rand, base, _ float64) world {
	w := world{hours: week, transient: func(float64) float64 { return 0 }}
	each := 1 + r.IntN(4)
	first := max(3, int(base/float64(each)))
	last := int(float64(first) * between(r, 1.5, 3.5))
	steps := 3 + r.IntN(8)
	type rise struct {
		at float64
		to int
	}
	var rises []rise
	for k := range steps {
		rises = append(rises, rise{r.Float64() * w.hours, 0})
		rises[k].to = first + (last-first)*(k+1)/steps
	}
	slices.SortFunc(rises, func(a, b rise) int {
		if a.at < b.at {
			return -1
		}
		return 1
	})
	for k := range rises {
		rises[k].to = first + (last-first)*(k+1)/steps
	}
	at := func(t float64) int {
		level := first
		for _, step := range rises {
			if step.at <= t {
				level = step.to
			}
		}
		return level
	}
	for range each * first {
		w.lives = append(w.lives, life{ends: math.Inf(1), inherent: true})
	}
	before := first
	for _, step := range rises {
		for range each * (step.to - before) {
			w.add(step.at)
		}
		before = step.to
	}
	w.load = func(t float64) float64 { return float64(at(t)) }
	return w
}
