package simulation

import (
	"fmt"
	"math"
	"strings"
)

// leaks are the classes whose subject grows for ever.
func leaks() []Class {
	return []Class{
		{Name: "steady-fast", Leak: true, regimes: fast(), make: steadyFast,
			Definition: "60 to 300 members are born evenly over seconds to hours and stay."},
		{Name: "steady-slow", Leak: true, regimes: slow(), make: steadySlow,
			Definition: "12 to 40 members are born evenly over hours to weeks and stay, beside a base of 5 to 60."},
		{Name: "trickle-6", Leak: true, regimes: slow(), make: trickle,
			Definition: "6 members are born evenly over hours to weeks and stay, beside a base of 2 to 20."},
		{Name: "since-start", Leak: true, regimes: every(), make: sinceStart,
			Definition: "Members have been born at one rate since the process started, 12 to 120 of them in the window."},
		{Name: "late-onset", Leak: true, regimes: every(), make: lateOnset,
			Definition: "20 to 150 members are born evenly from a time in the middle third of the window on."},
		{Name: "accelerating", Leak: true, regimes: every(), make: accelerating,
			Definition: "40 to 200 members, their rate grows with the time since the begin."},
		{Name: "batches", Leak: true, regimes: middle(), make: batches,
			Definition: "5 to 9 batches of 4 to 15 members each at random times; all stay."},
		{Name: "jobs", Leak: true, regimes: every(), make: jobs,
			Definition: "Jobs come at random and each leaves 2 to 6 members; 8 to 30 jobs in the window."},
		{Name: "churn-quick", Leak: true, churn: true, regimes: middle(), make: leakUnderChurn(0.002, 0.02),
			Definition: "20 to 60 members leak in a family of which 20 to 100 others are there at a time, each for 0.2 to 2 % of the window."},
		{Name: "churn-middle", Leak: true, churn: true, regimes: middle(), make: leakUnderChurn(0.02, 0.08),
			Definition: "20 to 60 members leak in a family of which 20 to 100 others are there at a time, each for 2 to 8 % of the window."},
		{Name: "churn-long", Leak: true, churn: true, regimes: middle(), make: leakUnderChurn(0.08, 0.2),
			Definition: "20 to 60 members leak in a family of which 20 to 100 others are there at a time, each for 8 to 20 % of the window."},
		{Name: "churn-two-speeds", Leak: true, churn: true, regimes: middle(), make: leakUnderTwoChurns,
			Definition: "20 to 60 members leak in a family with requests of 0.5 % and sessions of 10 % of the window, 20 to 60 of each."},
		{Name: "partial-cleanup", Leak: true, mortal: true, regimes: slow(), make: partialCleanup,
			Definition: "100 to 300 members are born evenly; 3 to 6 cleanups each free 20 to 40 % of what is there."},
		{Name: "cardinality-type", Leak: true, cardinality: true, regimes: middle(), make: perType,
			Definition: "Each of 40 to 150 tenants has a goroutine in a method of its own type, all started by one function; none ends."},
		{Name: "cardinality-closure", Leak: true, cardinality: true, regimes: middle(), make: perClosure,
			Definition: "Each of 40 to 150 plugins has a goroutine in a closure of its own package, all started by one manager; none ends."},
		{Name: "cardinality-creator", Leak: true, cardinality: true, regimes: middle(), make: perCreator,
			Definition: "Each of 40 to 150 topics has a goroutine with a function and a creator of its own in one package; none ends."},
		{Name: "cardinality-total", Leak: true, cardinality: true, regimes: middle(), make: perPackage,
			Definition: "Each of 40 to 150 extensions has a goroutine with function, creator and package of its own; none ends."},
		{Name: "leak-restarts", Leak: true, mortal: true, regimes: slow(), make: leakRestarts,
			Definition: "80 to 300 members are born evenly; one restart in the middle third ends those that are there."},
		{Name: "leak-diurnal", Leak: true, regimes: []regime{days, weeks}, make: leakDiurnal,
			Definition: "30 to 150 members leak in a family of requests whose number swings with the day by 20 to 70 %."},
		{Name: "leak-flat-load", Leak: true, regimes: middle(), make: leakFlatLoad,
			Definition: "12 to 120 members leak while metrics show requests at a rate that stays within 5 %."},
		{Name: "leak-beside-load", Leak: true, regimes: middle(), make: leakBesideLoad,
			Definition: "30 to 150 members leak in a family of requests that follow a known rate, which swings by 30 to 70 % and grows to 1.5 to 3.5 times."},
		{Name: "leak-beside-load-counts", Leak: true, form: debug1, regimes: middle(), make: leakBesideLoad,
			Definition: "As leak-beside-load, in dumps without identities."},
		{Name: "leak-growing-load", Leak: true, regimes: middle(), make: leakGrowingLoad,
			Definition: "15 to 150 members leak, one for each so many requests of a known rate that grows by 1.3 to 1.8."},
		{Name: "leak-totals", Leak: true, form: totals, regimes: middle(), make: leakFlatLoad,
			Definition: "As leak-flat-load, in metrics that count goroutines and show none."},
		{Name: "leak-per-request", Leak: true, regimes: middle(), make: leakPerRequest(true),
			Definition: "One of so many requests leaves a member, 20 to 150 in all, beside 5 to 40 in progress; their known rate grows exponentially to 2 to 5 times."},
		{Name: "leak-per-request-counts", Leak: true, form: debug1, regimes: middle(), make: leakPerRequest(false),
			Definition: "As leak-per-request, without those in progress, in dumps without identities."},
		{Name: "two-causes", Leak: true, regimes: middle(), make: twoCauses,
			Definition: "Two causes with objects and creators of their own leak at the same steps, 2 families each; both must be found."},
		{Name: "recovered-remainder", Leak: true, regimes: middle(), make: remainder,
			Definition: "Four families grow together; at 80 % of the window two of them end, the other two keep what they gained and go on."},
		{Name: "cut-dumps", Leak: true, flaw: cut, regimes: every(), make: steadyMiddle,
			Definition: "12 to 120 members leak evenly; one dump of four is cut in its second half."},
		{Name: "repeated-dumps", Leak: true, flaw: repeated, regimes: every(), make: steadyMiddle,
			Definition: "12 to 120 members leak evenly; one dump of four is there twice under other names, and one is empty."},
		{Name: "skewed-clock", Leak: true, flaw: skewed, regimes: every(), make: steadyMiddle,
			Definition: "12 to 120 members leak evenly; all clocks are hours off, and one dump's by a third of an interval more."},
		{Name: "log-wrapped", Leak: true, flaw: wrapped, regimes: every(), make: steadyMiddle,
			Definition: "12 to 120 members leak evenly; the dumps come as lines of a container's log, the journal or JSON."},
		{Name: "counts-only", Leak: true, form: debug1, regimes: every(), make: countsOnly,
			Definition: "60 to 200 members leak evenly and the dumps are debug=1, without identities."},
		{Name: "wakes-on-timer", Leak: true, regimes: every(), make: wakesOnTimer,
			Definition: "12 to 120 members leak evenly; each sleeps and wakes, so that waits say nothing of ages."},
		{Name: "sockets", Leak: true, form: sockets, regimes: every(), make: socketLeak,
			Definition: "12 to 120 connections to one remote address are opened evenly and never closed, seen by lsof without a stack."},
		{Name: "node-handles", Leak: true, form: node, regimes: every(), make: socketLeak,
			Definition: "12 to 120 connections of a Node.js program to one remote address are opened evenly and never closed, seen in diagnostic reports."},
		{Name: "watches", Leak: true, form: watches, regimes: every(), make: watchLeak,
			Definition: "12 to 100 inotify instances with 1 to 3 watches each are opened evenly and never closed, seen in fdinfo."},
		{Name: "thread-pools", Leak: true, form: java, regimes: every(), make: threadPools,
			Definition: "A thread pool of 1 to 4 threads is made per call, 15 to 60 calls in the window, and none is shut down."},
		{Name: "lock-queue", Leak: true, regimes: every(), make: lockQueue,
			Definition: "A goroutine never releases a mutex; 12 to 120 requests come evenly and wait for it."},
		{Name: "retries-unending", Leak: true, regimes: middle(), make: unendingRetries,
			Definition: "From the first quarter on 1 request of 5 fails, and the goroutine of a failed one retries for ever; 20 to 100 of them."},
	}
}

func steadyFast(w *world) {
	w.evenly(w.subject(), w.whole(60, 300), 0, w.span)
}

func steadySlow(w *world) {
	s := w.subject()
	w.standing(s, int(w.about(5, 60)))
	w.evenly(s, w.whole(12, 40), 0, w.span)
}

func steadyMiddle(w *world) {
	s := w.subject()
	w.standing(s, int(w.about(2, 40)))
	w.evenly(s, int(w.about(12, 120)), 0, w.span)
}

func trickle(w *world) {
	s := w.subject()
	w.standing(s, w.whole(2, 20))
	for k := range 6 { // one in each sixth: all are seen
		w.add(s, (float64(k)+0.1+0.8*w.r.Float64())/6*w.span, never)
	}
}

func sinceStart(w *world) {
	s := w.subject()
	rate := w.about(12, 120) / w.span
	past := min(-w.starts[0], 2*w.span)
	w.starts[0] = -past
	w.evenly(s, int(rate*(past+w.span)), -past, w.span)
}

func lateOnset(w *world) {
	s := w.subject()
	w.standing(s, int(w.about(2, 40)))
	w.evenly(s, int(w.about(20, 150)), w.between(0.33, 0.67)*w.span, w.span)
}

func accelerating(w *world) {
	s := w.subject()
	w.standing(s, int(w.about(2, 20)))
	for range int(w.about(40, 200)) {
		w.add(s, math.Sqrt(w.r.Float64())*w.span, never)
	}
}

func batches(w *world) {
	s := w.subject()
	w.standing(s, int(w.about(2, 20)))
	for range w.whole(5, 9) {
		at := w.r.Float64() * w.span
		for range w.whole(4, 15) {
			w.add(s, at+1e-5*w.r.Float64()*w.span, never)
		}
	}
}

func jobs(w *world) {
	s := w.subject()
	for range w.whole(8, 30) {
		at := w.r.Float64() * w.span
		for range w.whole(2, 6) {
			w.add(s, at+1e-5*w.r.Float64()*w.span, never)
		}
	}
}

func leakUnderChurn(shortest, longest float64) func(*world) {
	return func(w *world) {
		s := w.subject()
		w.churn(s, flat(w.about(20, 100)), w.about(shortest, longest)*w.span)
		w.evenly(s, w.whole(20, 60), 0, w.span)
	}
}

func leakUnderTwoChurns(w *world) {
	s := w.subject()
	w.churn(s, flat(w.about(20, 60)), 0.005*w.span)
	w.churn(s, flat(w.about(20, 60)), 0.1*w.span)
	w.evenly(s, w.whole(20, 60), 0, w.span)
}

func partialCleanup(w *world) {
	s := w.subject()
	w.evenly(s, w.whole(100, 300), 0, w.span)
	for range w.whole(3, 6) {
		at, share := w.r.Float64()*w.span, w.between(0.2, 0.4)
		for k := range w.members {
			if m := &w.members[k]; m.there(at) && w.r.Float64() < share {
				m.ends = at
			}
		}
	}
}

// each calls make for 40 to 150 names at even times.
func (w *world) each(make func(name string) *stack) {
	for range w.whole(40, 150) {
		w.add(make(w.word()), w.r.Float64()*w.span, never)
	}
}

func perType(w *world) {
	pkg, maker := pick(w.r, packages), pick(w.r, makers)
	creator := fmt.Sprintf("%s/internal/%s.%sAll", w.module, pkg, maker)
	w.marks = append(w.marks, creator)
	w.each(func(name string) *stack {
		s := w.stackOf("select", pkg, fmt.Sprintf("%s/internal/%s.(*%sHandler).run", w.module, pkg, name), creator)
		s.below = nil
		return s
	})
}

func perClosure(w *world) {
	creator := w.module + "/internal/plugin.(*Manager).Start"
	w.marks = append(w.marks, creator)
	w.each(func(name string) *stack {
		pkg := strings.ToLower(name)
		return w.stackOf("chan receive", pkg, fmt.Sprintf("%s/plugins/%s.Register.func1", w.module, pkg), creator)
	})
}

func perCreator(w *world) {
	pkg := pick(w.r, packages) + "hub"
	w.marks = append(w.marks, w.module+"/internal/"+pkg+".")
	w.each(func(name string) *stack {
		s := w.stackOf("select", pkg, fmt.Sprintf("%s/internal/%s.(*%sTopic).run", w.module, pkg, name), fmt.Sprintf("%s/internal/%s.Open%s", w.module, pkg, name))
		s.below = nil
		return s
	})
}

func perPackage(w *world) {
	w.marks = append(w.marks, "/extensions/")
	w.each(func(name string) *stack {
		pkg := strings.ToLower(name)
		return w.stackOf("select", pkg, fmt.Sprintf("%s/extensions/%s.Run", w.module, pkg), fmt.Sprintf("%s/extensions/%s.Init", w.module, pkg))
	})
}

func leakRestarts(w *world) {
	w.evenly(w.subject(), w.whole(80, 300), 0, w.span)
	w.restart(w.between(0.33, 0.67) * w.span)
}

// daily is a level that swings once a day.
func (w *world) daily(level float64) func(float64) float64 {
	amplitude, phase := w.between(0.2, 0.7), 2*math.Pi*w.r.Float64()
	return func(at float64) float64 { return level * (1 + amplitude*math.Sin(2*math.Pi*at/24+phase)) }
}

func leakDiurnal(w *world) {
	s := w.subject()
	w.churn(s, w.daily(w.about(10, 80)), w.between(0.01, 0.2))
	w.evenly(s, int(w.about(30, 150)), 0, w.span)
}

// requests tells a load as a counter of requests, or as a gauge where the metric is one.
func (w *world) requests(rate func(float64) float64) {
	name := pick(w.r, []string{"http_requests_total", "grpc_server_handled_total", "http_request_duration_seconds_count"})
	w.loads[name], w.counters[name] = rate, true
}

func leakFlatLoad(w *world) {
	rate, phase := w.about(1000, 1e6)/w.span, w.r.Float64()
	w.requests(func(at float64) float64 { return rate * (1 + 0.03*math.Sin(7*at/w.span+phase)) })
	s := w.subject()
	w.standing(s, int(w.about(2, 20)))
	w.evenly(s, int(w.about(12, 120)), 0, w.span)
}

func leakGrowingLoad(w *world) {
	factor := w.between(1.3, 1.8)
	rate := w.about(1000, 1e6) / w.span
	load := func(at float64) float64 { return rate * (1 + (factor-1)*at/w.span) }
	w.requests(load)
	s := w.subject()
	w.standing(s, w.whole(5, 12))
	for range int(w.about(15, 150)) {
		for {
			if at := w.r.Float64() * w.span; w.r.Float64()*factor*rate < load(at) {
				w.add(s, at, never)
				break
			}
		}
	}
}

func leakBesideLoad(w *world) {
	loadRate(w)
	w.evenly(w.members[0].stack, int(w.about(30, 150)), 0, w.span)
}

// leakPerRequest makes a leak whose sum rises as its rate does: counts alone can hardly tell them.
func leakPerRequest(busy bool) func(*world) {
	return func(w *world) {
		factor, rate := w.between(2, 5), w.about(1000, 1e6)/w.span
		grow := func(at float64) float64 { return math.Pow(factor, at/w.span) }
		w.requests(func(at float64) float64 { return rate * grow(at) })
		s := w.subject()
		for range int(w.about(20, 150)) {
			for {
				if at := w.r.Float64() * w.span; w.r.Float64()*factor < grow(at) {
					w.add(s, at, never)
					break
				}
			}
		}
		if busy {
			level := w.about(5, 40) / factor
			w.churn(s, func(at float64) float64 { return level * grow(at) }, w.about(0.001, 0.01)*w.span)
		} else {
			w.standing(s, w.whole(2, 12))
		}
	}
}

func twoCauses(w *world) {
	var steps []float64
	for k, n := 0, w.whole(12, 50); k < n; k++ {
		steps = append(steps, (float64(k)+w.r.Float64())/float64(n)*w.span)
	}
	for cause := range 2 {
		first, second := w.subject(), w.subject()
		second.creator = first.creator
		w.apart[cause] = []string{first.own.function, second.own.function}
		for _, at := range steps {
			at += 1e-6 * w.span * w.r.Float64()
			object := w.add(first, at, never).object
			w.add(second, at, never).object = object
		}
	}
}

func remainder(w *world) {
	var all []*stack
	for k := range 4 {
		s := w.newStack("select")
		if k >= 2 {
			w.marks = append(w.marks, s.own.function)
		} else {
			w.ended = append(w.ended, s.own.function)
		}
		all = append(all, s)
	}
	for range int(w.about(20, 80)) {
		at := w.r.Float64() * w.span
		for k, s := range all {
			ends := never
			if k < 2 {
				if at > 0.8*w.span {
					continue
				}
				ends = 0.8 * w.span
			}
			w.add(s, at, ends).subject = k >= 2
		}
	}
}

func countsOnly(w *world) {
	s := w.subject()
	w.standing(s, int(w.about(2, 20)))
	w.evenly(s, int(w.about(60, 200)), 0, w.span)
}

func wakesOnTimer(w *world) {
	s := w.newStack("sleep")
	w.marks = append(w.marks, s.own.function)
	w.standing(s, int(w.about(2, 20)))
	w.evenly(s, int(w.about(12, 120)), 0, w.span)
	for k := range w.members {
		w.members[k].wakes = true
	}
}

// remoteSubject is a subject that listings name by its remote address.
func (w *world) remoteSubject() *stack {
	s := w.newStack("IO wait")
	w.marks = append(w.marks, s.remote)
	return s
}

func socketLeak(w *world) {
	s := w.remoteSubject()
	w.standing(s, int(w.about(2, 10)))
	w.evenly(s, int(w.about(12, 120)), 0, w.span)
}

func (w *world) watchSubject() *stack {
	w.marks = append(w.marks, "inotify")
	s := w.newStack("IO wait")
	s.status = "inotify"
	return s
}

func watchLeak(w *world) {
	s := w.watchSubject()
	w.standing(s, w.whole(1, 5))
	w.evenly(s, int(w.about(12, 100)), 0, w.span)
}

// pooled is a Java stack; its own frame is a method that no other one has.
func (w *world) pooled() *stack {
	s := w.newStack("waiting")
	s.own.function = fmt.Sprintf("com.%s.%s.%s.run", pick(w.r, owners), pick(w.r, packages), w.word())
	return s
}

func (w *world) pooledSubject() *stack {
	s := w.pooled()
	s.pool = "pool-%d-thread-%d"
	w.marks = append(w.marks, s.own.function)
	return s
}

func threadPools(w *world) {
	s, each := w.pooledSubject(), w.whole(1, 4)
	for range w.whole(15, 60) {
		at := w.r.Float64() * w.span
		for range each {
			w.add(s, at+1e-6*w.r.Float64()*w.span, never)
		}
	}
}

func lockQueue(w *world) {
	s := w.newStack("sync.Mutex.Lock")
	w.marks = append(w.marks, s.own.function)
	s.lock = 0xc000123008
	w.evenly(s, int(w.about(12, 120)), 0, w.span)
	holder := w.newStack("chan receive")
	w.add(holder, -0.01*w.span, never).subject = false
}

func unendingRetries(w *world) {
	s := w.subject()
	w.churn(s, flat(w.about(3, 15)), 0.003*w.span)
	w.evenly(s, int(w.about(20, 100)), 0.25*w.r.Float64()*w.span, w.span)
}
