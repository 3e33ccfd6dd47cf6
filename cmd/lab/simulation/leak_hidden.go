package simulation

import (
	"math"
	"slices"
)

// hiddenLeaks are the leaks that turnover, states, restarts or the times of the captures hide.
func hiddenLeaks() []Class {
	return []Class{
		{Name: "oscillation", Leak: true, mortal: true, regimes: middle(), make: oscillation,
			Definition: "30 to 100 members leak in a family of 60 to 200 requests, each of 0.5 to 5 % of the window, whose number swings by 50 to 80 % 1.5 to 4 times."},
		{Name: "oscillation-threads", Leak: true, mortal: true, form: java, regimes: middle(), make: oscillationOfThreads,
			Definition: "As oscillation, with threads of a JVM."},
		{Name: "error-episodes", Leak: true, regimes: middle(), make: errorEpisodes,
			Definition: "3 to 6 episodes of 5 % of the window in each of which 6 to 20 failing requests stay, among 20 to 80 that end within 0.5 to 5 % of it."},
		{Name: "generations", Leak: true, mortal: true, regimes: middle(), make: generations,
			Definition: "8 to 15 generations of 20 to 60 members follow each other; of each 5 to 15 % stay."},
		{Name: "sessions-stay", Leak: true, regimes: slow(), make: sessionsStay,
			Definition: "20 to 80 sessions at a time, each of 4 to 12 % of the window; 5 % of those that begin in it never end."},
		{Name: "sessions-stay-sockets", Leak: true, form: sockets, regimes: slow(), make: socketsStay,
			Definition: "As sessions-stay, with connections to one address, seen by lsof."},
		{Name: "states", Leak: true, regimes: middle(), make: changingStates(0),
			Definition: "20 to 120 members of one creator leak evenly; each is found in one of three functions of it, now here and now there."},
		{Name: "states-threads", Leak: true, form: java, regimes: middle(), make: changingThreads,
			Definition: "20 to 120 threads of a pool come evenly and none ends; at each capture each is in one of three stacks."},
		{Name: "states-churn", Leak: true, regimes: middle(), make: changingStates(40),
			Definition: "As states, among 40 at a time that end within 1 % of the window."},
		{Name: "rollout-leak", Leak: true, mortal: true, regimes: slow(), make: rolloutLeak,
			Definition: "1 to 3 restarts in the first 60 % of the window, each of a new version with the same 10 to 60 workers; the last version leaks 30 to 120 members."},
		{Name: "night-pauses", Leak: true, regimes: []regime{days}, make: nightPauses,
			Definition: "30 to 150 members are born on days of 10 hours and none at night; all stay."},
		{Name: "flat-total", Leak: true, regimes: middle(), make: flatTotal,
			Definition: "20 to 120 members leak evenly while as many of another family end evenly: the total stands."},
		{Name: "semaphore-full", Leak: true, regimes: middle(), make: semaphoreFull,
			Definition: "8 to 32 holders of a semaphore hang within 2 % of the window in its first half; from then on 20 to 150 requests come evenly and wait for it."},
		{Name: "oom-cycles", Leak: true, mortal: true, regimes: slow(), make: oomCycles,
			Definition: "2 to 4 times in the window the process is killed at 80 to 300 members, all of which leaked evenly since its start."},
		{Name: "beside-thousands", Leak: true, regimes: middle(), make: besideThousands,
			Definition: "30 to 150 members leak evenly in a family of 800 to 2000 that stand."},
		{Name: "late-onset-churn", Leak: true, regimes: middle(), make: lateOnsetChurn,
			Definition: "20 to 100 members leak evenly from 60 to 80 % of the window on, in a family of which 20 to 100 others are there at a time, each for 0.2 to 2 % of it."},
		{Name: "clustered-captures", Leak: true, regimes: middle(), make: clusteredCaptures,
			Definition: "20 to 120 members leak evenly; the captures lie in 2 or 3 clusters of 2 % of the window, and one is alone at its end."},
	}
}

// swing is a level that swings around 1 some times in the window.
func (w *world) swing(amplitude, turns float64) func(float64) float64 {
	phase := 2 * math.Pi * w.r.Float64()
	return func(at float64) float64 { return 1 + amplitude*math.Sin(2*math.Pi*turns*at/w.span+phase) }
}

func oscillation(w *world) { w.oscillate(w.subject()) }

func oscillationOfThreads(w *world) {
	s := w.pooled()
	w.marks = append(w.marks, s.own.function)
	w.oscillate(s)
}

func (w *world) oscillate(s *stack) {
	level, swing := w.about(60, 200), w.swing(w.between(0.5, 0.8), w.between(1.5, 4))
	w.churn(s, func(at float64) float64 { return level * swing(at) }, w.about(0.005, 0.05)*w.span)
	w.evenly(s, int(w.about(30, 100)), 0, w.span)
}

func errorEpisodes(w *world) {
	s, n := w.subject(), w.whole(3, 6)
	w.churn(s, flat(w.about(20, 80)), w.about(0.005, 0.05)*w.span)
	for k := range n {
		from := (float64(k) + w.between(0, 0.8)) / float64(n) * w.span
		w.evenly(s, w.whole(6, 20), from, from+0.05*w.span)
	}
}

func generations(w *world) {
	s, size, n, stay := w.subject(), w.whole(20, 60), w.whole(8, 15), w.between(0.05, 0.15)
	period := w.span / float64(n)
	w.starts[0] = min(w.starts[0], -1.1*period)
	for k := -1; k < n; k++ {
		for range size {
			born, ends := (float64(k)+0.1*w.r.Float64())*period, (float64(k)+1+0.1*w.r.Float64())*period
			if k >= 0 && w.r.Float64() < stay {
				ends = never
			}
			w.add(s, born, ends)
		}
	}
}

func sessionsStay(w *world) { w.sessionsOf(w.subject()) }

func socketsStay(w *world) { w.sessionsOf(w.remoteSubject()) }

func (w *world) sessionsOf(s *stack) {
	w.churn(s, flat(w.about(20, 80)), w.about(0.04, 0.12)*w.span)
	for k := range w.members {
		if m := &w.members[k]; m.born > 0 && w.r.Float64() < 0.05 {
			m.ends = never
		}
	}
}

// turning are three stacks of one creator between which members move.
func (w *world) turning() []*stack {
	first := w.newStack("select")
	all := []*stack{first, w.newStack("sleep"), w.newStack("chan send")}
	for _, s := range all {
		s.creator = first.creator
	}
	w.marks = append(w.marks, first.creator.function)
	return all
}

func changingStates(busy float64) func(*world) {
	return func(w *world) {
		all := w.turning()
		w.standing(all[0], w.whole(2, 20))
		if busy > 0 {
			w.churn(all[0], flat(busy), 0.01*w.span)
		}
		w.evenly(all[0], int(w.about(20, 120)), 0, w.span)
		for k := range w.members {
			w.members[k].turns, w.members[k].wakes = all, true
		}
	}
}

func changingThreads(w *world) {
	all := []*stack{w.pooledSubject(), w.pooledSubject(), w.pooledSubject()}
	w.standing(all[0], w.whole(2, 20))
	w.evenly(all[0], int(w.about(20, 120)), 0, w.span)
	for k := range w.members {
		w.members[k].turns = all
	}
}

// rollout restarts the process some times in the first 60 % of the window, each time as a new
// version.
func (w *world) rollout(times int) {
	for range times {
		w.restart(w.between(0.05, 0.6) * w.span)
	}
	slices.Sort(w.starts)
	w.versions = []string{"2.0.0", "2.0.1", "2.1.0", "2.1.1"}[:times+1]
}

func rolloutLeak(w *world) {
	w.rollout(w.whole(1, 3))
	s, workers := w.subject(), w.whole(10, 60)
	for _, start := range w.starts {
		for range workers {
			w.add(s, start+1e-4*w.span*w.r.Float64(), never)
		}
	}
	w.evenly(s, int(w.about(30, 120)), w.starts[len(w.starts)-1], w.span)
}

func nightPauses(w *world) {
	s, dawn := w.subject(), 24*w.r.Float64()
	w.standing(s, w.whole(2, 20))
	for range int(w.about(30, 150)) {
		for {
			if at := w.r.Float64() * w.span; math.Mod(at+dawn, 24) < 10 {
				w.add(s, at, never)
				break
			}
		}
	}
}

func flatTotal(w *world) {
	s, size := w.subject(), int(w.about(20, 120))
	w.standing(s, w.whole(2, 20))
	w.evenly(s, size, 0, w.span)
	other := w.newStack("select")
	for range size + w.whole(5, 20) {
		w.add(other, w.starts[0]+1e-6*w.span, w.r.Float64()*w.span*1.1).subject = false
	}
}

func semaphoreFull(w *world) {
	s, from := w.newStack("chan send"), w.between(0.05, 0.5)*w.span
	s.own.function = w.module + "/internal/limit.(*Sem).Acquire"
	w.marks = append(w.marks, s.own.function)
	w.churn(s, flat(2), 0.001*w.span)
	w.evenly(s, int(w.about(20, 150)), from+0.02*w.span, w.span)
	holder := w.newStack("IO wait")
	for range w.whole(8, 32) {
		w.add(holder, w.between(from, from+0.02*w.span), never).subject = false
	}
	w.ended = append(w.ended, holder.own.function) // they stand as well: no innocents
}

func oomCycles(w *world) {
	s, n, size := w.subject(), w.whole(2, 4), w.whole(80, 300)
	period, first := w.span/(float64(n)+w.between(0.3, 0.9)), w.between(-0.5, 0)
	w.starts[0] = first * period
	for k := range n + 2 {
		start := (first + float64(k)) * period
		if k > 0 && start < w.span {
			w.restart(start)
		}
		w.evenly(s, size, start, min(start+period, w.span))
	}
}

func besideThousands(w *world) {
	s := w.subject()
	w.standing(s, int(w.about(800, 2000)))
	w.evenly(s, int(w.about(30, 150)), 0, w.span)
}

// cluster moves the captures into clusters, the last one to the end of the window.
func (w *world) cluster() {
	n, clusters := len(w.times), w.whole(2, 3)
	for i := range n - 1 {
		w.times[i] = (float64(i%clusters) + w.between(0.2, 0.22)) / float64(clusters) * w.span
	}
	w.times[n-1] = w.span
	slices.Sort(w.times)
	for i := 1; i < n; i++ {
		w.times[i] = max(w.times[i], w.times[i-1]+1e-4*w.span)
	}
}

func clusteredCaptures(w *world) {
	w.cluster()
	s := w.subject()
	w.standing(s, w.whole(2, 20))
	w.evenly(s, int(w.about(20, 120)), 0, w.span)
}

func lateOnsetChurn(w *world) {
	s := w.subject()
	w.churn(s, flat(w.about(20, 100)), w.about(0.002, 0.02)*w.span)
	w.evenly(s, int(w.about(20, 100)), w.between(0.6, 0.8)*w.span, w.span)
}
