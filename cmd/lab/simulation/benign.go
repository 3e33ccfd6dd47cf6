package simulation

import (
	"fmt"
	"math"
	"slices"
)

// benign are the classes that only look like a leak.
func benign() []Class {
	return []Class{
		{Name: "noise", regimes: every(), make: noise,
			Definition: "5 to 80 requests are there at a time, each for 0.1 to 5 % of the window."},
		{Name: "step-up", regimes: every(), make: stepUp,
			Definition: "15 to 150 members are born at one moment and stay."},
		{Name: "feature-step", regimes: every(), make: featureStep,
			Definition: "A feature is switched on: 6 families gain 5 to 20 members each at one moment and keep them."},
		{Name: "cache-cap", regimes: every(), make: cacheCap,
			Definition: "A cache fills evenly to its cap of 25 to 200 members until 30 to 70 % of the window and stands since."},
		{Name: "cache-saturating", regimes: every(), make: cacheSaturating,
			Definition: "25 to 200 members are born at a rate that decays, with a time constant of 10 to 25 % of the window."},
		{Name: "pool-resized", regimes: middle(), make: poolResized,
			Definition: "A pool of 5 to 40 members is resized 2 or 3 times, each time by 8 to 30; all stay."},
		{Name: "pool-idle", regimes: middle(), make: poolIdle,
			Definition: "A pool grows with a swinging demand and closes what was idle for 5 to 15 % of the window."},
		{Name: "sawtooth-periods", regimes: slow(), make: sawtoothPeriods,
			Definition: "Members are born evenly and all freed at the end of each period; 3 to 8 periods in the window."},
		{Name: "sawtooth-once", regimes: slow(), make: sawtoothOnce,
			Definition: "Members are born evenly and all freed once, at 30 to 60 % of the window; the next collapse comes after it."},
		{Name: "sawtooth-sloped", regimes: slow(), make: sawtoothSloped,
			Definition: "Members are born evenly in the first half of each of 2 to 4 periods and leave one after another in the second."},
		{Name: "diurnal", regimes: []regime{days, weeks}, make: diurnal,
			Definition: "Requests follow a load that swings with the day by 20 to 70 %."},
		{Name: "load-growth", regimes: middle(), make: loadGrowth,
			Definition: "Requests grow to 1.5 to 3.5 times over the window, and no metric shows it."},
		{Name: "load-known", regimes: middle(), make: loadKnown,
			Definition: "Requests grow to 1.5 to 3.5 times over the window, and a counter of requests shows it."},
		{Name: "load-rate", regimes: middle(), make: loadRate,
			Definition: "Requests in progress follow a known rate that swings by 30 to 70 % and grows to 1.5 to 3.5 times."},
		{Name: "load-rate-counts", form: debug1, regimes: middle(), make: loadRate,
			Definition: "As load-rate, in dumps without identities."},
		{Name: "load-persistent", regimes: middle(), make: loadPersistent(0),
			Definition: "1 to 4 members stay for each target; known targets grow to 1.5 to 3.5 times in 3 to 10 steps."},
		{Name: "load-persistent-noisy", regimes: middle(), make: loadPersistent(0.25),
			Definition: "As load-persistent, and a quarter as many members of the family come and go."},
		{Name: "diurnal-totals", form: totals, regimes: []regime{days, weeks}, make: diurnal,
			Definition: "As diurnal, in metrics that count goroutines and show none."},
		{Name: "step-up-totals", form: totals, regimes: every(), make: stepUp,
			Definition: "As step-up, in metrics that count goroutines and show none."},
		{Name: "restart-totals", form: totals, regimes: slow(), make: restartWarmUp,
			Definition: "As restart-warm-up, in metrics that count goroutines and show none."},
		{Name: "deploy-totals", form: totals, regimes: slow(), make: deploy,
			Definition: "As deploy, in metrics that count goroutines and show none."},
		{Name: "load-totals", form: totals, regimes: middle(), make: loadRate,
			Definition: "As load-rate, in metrics that count goroutines and show none."},
		{Name: "warm-up", regimes: every(), make: warmUp,
			Definition: "The process starts just before the window and fills a pool of 20 to 150 with a time constant of 3 to 12 % of it."},
		{Name: "restart-warm-up", regimes: slow(), make: restartWarmUp,
			Definition: "1 or 2 restarts, after each of which a pool of 20 to 150 fills anew within 3 to 12 % of the window."},
		{Name: "deploy", regimes: slow(), make: deploy,
			Definition: "A restart brings a version with 1.3 to 2.5 times the workers in one family and a new family of 10 to 40."},
		{Name: "burst", regimes: every(), make: burst,
			Definition: "40 to 200 members come at one moment and leave after an exponential time of 3 to 15 % of the window."},
		{Name: "backlog", regimes: middle(), make: backlog,
			Definition: "A dependency hangs for 10 to 25 % of the window: 30 to 200 requests pile up evenly, and all leave when it answers."},
		{Name: "backlog-late", regimes: middle(), make: backlogLate,
			Definition: "The same in the last tenth of the window: somebody captures because requests pile up."},
		{Name: "sessions-short", regimes: slow(), make: sessions(0.08),
			Definition: "10 to 80 sessions at a time, each of an exponential time of 8 % of the window."},
		{Name: "sessions-long", regimes: slow(), make: sessions(0.4),
			Definition: "10 to 80 sessions at a time, each of an exponential time of 40 % of the window."},
		{Name: "sessions-tail", regimes: slow(), make: sessionsTail,
			Definition: "20 to 80 sessions at a time whose length is log-normal: half end within 2 % of the window, some outlive it."},
		{Name: "batch-job", regimes: slow(), make: batchJob,
			Definition: "1 to 4 times in the window a job starts 20 to 100 goroutines, which end within 5 to 10 % of it."},
		{Name: "retries", regimes: middle(), make: retries,
			Definition: "In an outage of 10 to 30 % of the window retries multiply; they end one after another in as long a time."},
		{Name: "eviction", regimes: slow(), make: eviction,
			Definition: "A full cache of 20 to 150 members replaces its oldest; every member is replaced 1 to 4 times in the window."},
		{Name: "drift", regimes: slow(), make: drift,
			Definition: "The level of requests is a log-AR(1) series with a memory of 12 % of the window."},
		{Name: "stuck-few", regimes: every(), make: stuckFew,
			Definition: "2 to 4 members get stuck at one moment, in a family of 5 to 40 that come and go."},
		{Name: "failover", regimes: slow(), make: failover,
			Definition: "The process becomes leader, starts 15 to 60 workers at once, and loses the lead again after 20 to 50 % of the window."},
		{Name: "tenants-come-and-go", regimes: slow(), make: tenants,
			Definition: "Each of 20 to 60 tenants at a time has a family of its own and leaves after 15 % of the window."},
		{Name: "cut-dumps-benign", flaw: cut, regimes: every(), make: noise,
			Definition: "As noise; one dump of four is cut in its second half."},
		{Name: "repeated-dumps-benign", flaw: repeated, regimes: every(), make: noise,
			Definition: "As noise; one dump of four is there twice under other names, and one is empty."},
		{Name: "skewed-clock-benign", flaw: skewed, regimes: every(), make: sessions(0.08),
			Definition: "As sessions-short; all clocks are hours off, and one dump's by a third of an interval more."},
		{Name: "log-wrapped-benign", flaw: wrapped, regimes: every(), make: noise,
			Definition: "As noise; the dumps come as lines of a container's log, the journal or JSON."},
		{Name: "counts-only-noise", form: debug1, regimes: every(), make: noise,
			Definition: "As noise, and the dumps are debug=1, without identities."},
		{Name: "counts-only-sessions", form: debug1, regimes: slow(), make: sessions(0.2),
			Definition: "As sessions-short with 20 % of the window, and the dumps are debug=1, without identities."},
		{Name: "sockets-churn", form: sockets, regimes: every(), make: socketChurn,
			Definition: "20 to 80 connections to one address, seen by lsof; each is replaced after 5 to 15 % of the window."},
		{Name: "node-handles-churn", form: node, regimes: every(), make: socketChurn,
			Definition: "Connections of a Node.js program to one remote address come and go, 20 to 80 at a time, seen in diagnostic reports."},
		{Name: "watches-churn", form: watches, regimes: every(), make: watchChurn,
			Definition: "10 to 50 inotify instances, seen in fdinfo; each is replaced after 5 to 15 % of the window."},
		{Name: "thread-pool-fills", form: java, regimes: every(), make: threadPoolFills,
			Definition: "One thread pool fills evenly to its maximum of 15 to 60 until 20 to 50 % of the window."},
		{Name: "thread-pool-cached", form: java, regimes: every(), make: threadPoolCached,
			Definition: "A cached pool follows a drifting demand of 10 to 60 threads, each of which lives for 5 to 15 % of the window."},
		{Name: "lock-convoy", regimes: middle(), make: lockConvoy,
			Definition: "1 to 3 times in the window 10 to 60 requests wait for one mutex for 2 to 6 % of it and go on."},
	}
}

func noise(w *world) {
	w.churn(w.subject(), flat(w.about(5, 80)), w.about(0.001, 0.05)*w.span)
}

func stepUp(w *world) {
	s, at := w.subject(), w.r.Float64()*w.span
	w.standing(s, int(w.about(2, 60)))
	for range int(w.about(15, 150)) {
		w.add(s, at+1e-4*w.r.Float64()*w.span, never)
	}
}

func featureStep(w *world) {
	at := w.r.Float64() * w.span
	for range 6 {
		s := w.subject()
		w.standing(s, w.whole(1, 8))
		for range w.whole(5, 20) {
			w.add(s, at+1e-4*w.r.Float64()*w.span, never)
		}
	}
}

func cacheCap(w *world) {
	s := w.subject()
	w.evenly(s, int(w.about(25, 200)), 0, w.between(0.3, 0.7)*w.span)
}

// fill adds a pool that saturates after a start.
func (w *world) fill(s *stack, size int, start, end, mean float64) {
	for range size {
		if born := start + mean*w.r.ExpFloat64(); born < end {
			w.add(s, born, never)
		}
	}
}

func cacheSaturating(w *world) {
	w.fill(w.subject(), int(w.about(25, 200)), 0, w.span, w.between(0.1, 0.25)*w.span)
}

func poolResized(w *world) {
	s := w.subject()
	w.standing(s, int(w.about(5, 40)))
	for range w.whole(2, 3) {
		at := w.r.Float64() * w.span
		for range w.whole(8, 30) {
			w.add(s, at+1e-4*w.r.Float64()*w.span, never)
		}
	}
}

func poolIdle(w *world) {
	s, idle := w.subject(), w.between(0.05, 0.15)*w.span
	level, period, phase := w.about(10, 60), w.between(0.3, 0.8)*w.span, 6*w.r.Float64()
	const steps = 200
	var open []int // indices of members in the pool, the least used last
	last := map[int]float64{}
	for k := range steps {
		at := (float64(k)/steps*1.2 - 0.2) * w.span
		want := int(level * (1 + 0.6*math.Sin(2*math.Pi*at/period+phase)))
		for len(open) < want {
			w.add(s, max(w.starts[0], at), never)
			open = append(open, len(w.members)-1)
		}
		for j, m := range open {
			if j < want {
				last[m] = at
			}
		}
		for len(open) > 0 && at-last[open[len(open)-1]] > idle {
			w.members[open[len(open)-1]].ends = at
			open = open[:len(open)-1]
		}
	}
}

// teeth bears members evenly from one collapse to the next.
func (w *world) teeth(perPeriod int, first, period float64) {
	s := w.subject()
	for start := first; start < w.span; start += period {
		for range perPeriod {
			w.add(s, max(w.starts[0], start+w.r.Float64()*period), start+period)
		}
	}
}

func sawtoothPeriods(w *world) {
	period := w.span / w.between(3, 8)
	w.teeth(w.whole(20, 120), -w.r.Float64()*period, period)
}

func sawtoothOnce(w *world) {
	collapse := w.between(0.3, 0.6) * w.span
	period := w.between(1, 1.3) * max(collapse, w.span-collapse)
	w.teeth(w.whole(40, 150), collapse-period, period)
}

func sawtoothSloped(w *world) {
	s, period := w.subject(), w.span/w.between(2, 4)
	size := w.whole(20, 100)
	for start := -w.r.Float64() * period; start < w.span; start += period {
		for range size {
			age := w.r.Float64() * period / 2 // first in, first out
			w.add(s, max(w.starts[0], start+age), start+period/2+age)
		}
	}
}

func diurnal(w *world) {
	w.churn(w.subject(), w.daily(w.about(15, 100)), w.between(0.01, 0.3))
}

// growing is a factor that grows from 1 to 1.5 to 3.5 over the window.
func (w *world) growing() func(float64) float64 {
	factor := w.between(1.5, 3.5)
	return func(at float64) float64 { return 1 + (factor-1)*max(0, at)/w.span }
}

func loadGrowth(w *world) {
	level, grow := w.about(15, 80), w.growing()
	w.churn(w.subject(), func(at float64) float64 { return level * grow(at) }, w.about(0.001, 0.01)*w.span)
}

func loadKnown(w *world) {
	level, grow, rate := w.about(15, 80), w.growing(), w.about(1000, 1e6)/w.span
	w.requests(func(at float64) float64 { return rate * grow(at) })
	w.churn(w.subject(), func(at float64) float64 { return level * grow(at) }, w.about(0.001, 0.01)*w.span)
}

func loadRate(w *world) {
	grow, amplitude := w.growing(), w.between(0.3, 0.7)
	turns, phase := w.between(1, 3), 2*math.Pi*w.r.Float64()
	course := func(at float64) float64 {
		return grow(at) * (1 + amplitude*math.Sin(2*math.Pi*turns*at/w.span+phase))
	}
	rate, level := w.about(1000, 1e6)/w.span, w.about(15, 80)
	w.requests(func(at float64) float64 { return rate * course(at) })
	w.churn(w.subject(), func(at float64) float64 { return level * course(at) }, w.about(0.001, 0.01)*w.span)
}

func loadPersistent(noisy float64) func(*world) {
	return func(w *world) {
		s, each := w.subject(), w.whole(1, 4)
		first := w.whole(8, 40)
		last := int(float64(first) * w.between(1.5, 3.5))
		steps := w.whole(3, 10)
		rises := make([]float64, steps)
		for k := range rises {
			rises[k] = w.r.Float64() * w.span
		}
		level := func(at float64) float64 {
			passed := 0
			for _, rise := range rises {
				if rise <= at {
					passed++
				}
			}
			return float64(first + (last-first)*passed/steps)
		}
		w.standing(s, each*first)
		passed := first
		for k, rise := range slices.Sorted(slices.Values(rises)) {
			to := first + (last-first)*(k+1)/steps
			for range each * (to - passed) {
				w.add(s, rise+1e-5*w.span*w.r.Float64(), never)
			}
			passed = to
		}
		w.loads[pick(w.r, []string{"prometheus_sd_discovered_targets", "kubelet_running_pods"})] = level
		if noisy > 0 {
			w.churn(s, func(at float64) float64 { return noisy * float64(each) * level(at) }, 0.003*w.span)
		}
	}
}

func warmUp(w *world) {
	w.starts[0] = -0.01 * w.span
	w.fill(w.subject(), int(w.about(20, 150)), w.starts[0], w.span, w.between(0.03, 0.12)*w.span)
}

func restartWarmUp(w *world) {
	s, size, mean := w.subject(), int(w.about(20, 150)), w.between(0.03, 0.12)*w.span
	for range w.whole(1, 2) {
		w.restart(w.between(0.1, 0.9) * w.span)
	}
	starts := slices.Sorted(slices.Values(w.starts))
	for k, start := range starts {
		end := w.span
		if k+1 < len(starts) {
			end = starts[k+1]
		}
		w.fill(s, size, start, end, mean)
	}
}

func deploy(w *world) {
	at := w.between(0.2, 0.8) * w.span
	w.restart(at)
	w.versions = []string{"1.4.2", "1.5.0"}
	s, fresh, before := w.subject(), w.subject(), w.whole(15, 60)
	w.standing(s, before)
	for range int(float64(before) * w.between(1.3, 2.5)) {
		w.add(s, at+1e-4*w.span*w.r.Float64(), never)
	}
	for range w.whole(10, 40) {
		w.add(fresh, at+1e-4*w.span*w.r.Float64(), never)
	}
}

func burst(w *world) {
	s, at, mean := w.subject(), w.r.Float64()*w.span, w.between(0.03, 0.15)*w.span
	w.churn(s, flat(w.about(3, 20)), 0.005*w.span)
	for range int(w.about(40, 200)) {
		w.add(s, at, at+mean*w.r.ExpFloat64())
	}
}

// pileUp is a dependency that hangs for a while: requests pile up, and all leave.
func (w *world) pileUp(from, to float64) {
	s := w.subject()
	w.churn(s, flat(w.about(3, 20)), 0.003*w.span)
	for range int(w.about(30, 200)) {
		w.add(s, w.between(from, to), to+0.005*w.span*w.r.Float64())
	}
}

func backlog(w *world) {
	from, long := w.r.Float64()*0.75*w.span, w.between(0.1, 0.25)*w.span
	w.pileUp(from, from+long)
}

func backlogLate(w *world) { w.pileUp(0.9*w.span, 1.02*w.span) }

func sessions(share float64) func(*world) {
	return func(w *world) { w.churn(w.subject(), flat(w.about(10, 80)), share*w.span) }
}

func sessionsTail(w *world) {
	s, level := w.subject(), w.about(20, 80)
	// The mean of a log-normal length, with a median of 2 % and a deviation of 1.5.
	const sigma = 1.5
	median := 0.02 * w.span
	mean := median * math.Exp(sigma*sigma/2)
	past := 3 * w.span // sessions from before the window are still there
	w.starts[0] = -past
	for range poisson(w.r, level/mean*(past+w.span)) {
		born := w.between(-past, w.span)
		if ends := born + median*math.Exp(sigma*w.r.NormFloat64()); ends > 0 {
			w.add(s, born, ends)
		}
	}
}

func batchJob(w *world) {
	s := w.subject()
	w.standing(s, w.whole(1, 4))
	for range w.whole(1, 4) {
		at, long := w.r.Float64()*w.span, w.between(0.05, 0.1)*w.span
		for range w.whole(20, 100) {
			w.add(s, at+0.005*w.span*w.r.Float64(), at+long*w.between(0.5, 1))
		}
	}
}

func retries(w *world) {
	s, from, long := w.subject(), w.r.Float64()*0.6*w.span, w.between(0.1, 0.3)*w.span
	w.churn(s, flat(w.about(3, 20)), 0.003*w.span)
	for range int(w.about(30, 150)) {
		at := from + long*math.Sqrt(w.r.Float64())
		w.add(s, at, from+long+long*w.r.Float64())
	}
}

func eviction(w *world) {
	s, size := w.subject(), int(w.about(20, 150))
	life := w.span / w.between(1, 4)
	for k := range int(float64(size) * (w.span/life + 2)) {
		born := (float64(k)/float64(size) - 1) * life
		w.add(s, max(w.starts[0], born), born+life)
	}
}

// wandering is a log-AR(1) level around 1.
func (w *world) wandering() func(float64) float64 {
	const steps, memory = 200, 24.0
	keep := math.Exp(-1 / memory)
	levels, x := make([]float64, steps+1), 0.4*w.r.NormFloat64()
	for k := range levels {
		levels[k] = math.Exp(x)
		x = keep*x + 0.4*math.Sqrt(1-keep*keep)*w.r.NormFloat64()
	}
	return func(at float64) float64 { return levels[int(max(0, min(1, at/w.span))*steps)] }
}

func drift(w *world) {
	level, wander := w.about(15, 100), w.wandering()
	w.churn(w.subject(), func(at float64) float64 { return level * wander(at) }, w.about(0.002, 0.02)*w.span)
}

func stuckFew(w *world) {
	s, at := w.subject(), w.r.Float64()*w.span
	w.churn(s, flat(w.about(5, 40)), 0.01*w.span)
	for range w.whole(2, 4) {
		w.add(s, at+1e-4*w.span*w.r.Float64(), never)
	}
}

func failover(w *world) {
	s, at := w.subject(), w.r.Float64()*0.7*w.span
	ends := at + w.between(0.2, 0.5)*w.span
	for range w.whole(15, 60) {
		w.add(s, at+1e-3*w.span*w.r.Float64(), ends)
	}
}

func tenants(w *world) {
	pkg := pick(w.r, packages)
	creator := fmt.Sprintf("%s/internal/%s.OpenAll", w.module, pkg)
	w.marks = append(w.marks, creator)
	life := 0.15 * w.span
	level := float64(w.whole(20, 60))
	past := 3 * life
	w.starts[0] = min(w.starts[0], -past)
	for range poisson(w.r, level/life*(past+w.span)) {
		born := w.between(-past, w.span)
		if ends := born + life*w.r.ExpFloat64(); ends > 0 {
			w.add(w.stackOf("select", pkg, fmt.Sprintf("%s/internal/%s.(*%sTenant).run", w.module, pkg, w.word()), creator), born, ends)
		}
	}
}

func socketChurn(w *world) {
	w.churn(w.remoteSubject(), flat(w.about(20, 80)), w.between(0.05, 0.15)*w.span)
}

func watchChurn(w *world) {
	w.churn(w.watchSubject(), flat(w.about(10, 50)), w.between(0.05, 0.15)*w.span)
}

func threadPoolFills(w *world) {
	s := w.pooled()
	w.marks = append(w.marks, s.own.function)
	w.standing(s, w.whole(1, 5))
	w.evenly(s, w.whole(15, 60), 0, w.between(0.2, 0.5)*w.span)
}

func threadPoolCached(w *world) {
	s := w.pooled()
	w.marks = append(w.marks, s.own.function)
	level, wander := w.about(10, 60), w.wandering()
	w.churn(s, func(at float64) float64 { return level * wander(at) }, w.between(0.05, 0.15)*w.span)
}

func lockConvoy(w *world) {
	s := w.newStack("sync.Mutex.Lock")
	w.marks = append(w.marks, s.own.function)
	s.lock = 0xc000123008
	for range w.whole(1, 3) {
		from, long := w.r.Float64()*w.span, w.between(0.02, 0.06)*w.span
		for range w.whole(10, 60) {
			w.add(s, w.between(from, from+long), from+long)
		}
	}
}
