package simulation

import "math"

// lookAlikes are benign classes that rise or stay for a while as leaks do.
func lookAlikes() []Class {
	return []Class{
		{Name: "ttl-long", regimes: slow(), make: ttlLong,
			Definition: "A cache of 30 to 150 entries, each with a time to live of 1.2 to 2 windows, in a process that is older: as many expire as come."},
		{Name: "fifo-queue", regimes: middle(), make: fifoQueue,
			Definition: "Work waits in one queue, first in first out, whose arrivals swing by 50 to 90 % around 90 % of its capacity."},
		{Name: "leaders-staggered", regimes: slow(), make: leadersStaggered,
			Definition: "The process becomes leader of 3 to 6 shards one after another, starts 5 to 20 workers for each, and loses each after 20 to 50 % of the window."},
		{Name: "outage-back-off", regimes: middle(), make: outageBackOff,
			Definition: "In an outage of 15 to 40 % of the window 40 to 200 clients wait ever longer before they try again; each leaves at its first try after it."},
		{Name: "morning-rise", regimes: []regime{hours}, make: morningRise,
			Definition: "Requests of 0.1 to 1 % of the window rise to 3 to 8 times in a morning, and no metric shows it."},
		{Name: "tcp-time-outs", regimes: []regime{{25.0 / 60, 90.0 / 60}}, make: tcpTimeOuts,
			Definition: "From the first quarter on a peer is dead: 2 to 8 calls a minute wait for it, and each ends after 15 min 24 s."},
		{Name: "rollout-warm-up", regimes: slow(), make: rolloutWarmUp,
			Definition: "1 to 3 restarts in the first 60 % of the window, each of a new version; after each 20 to 150 workers start within 3 to 12 % of it, the same number within 5 %."},
		{Name: "states-steady", regimes: middle(), make: statesSteady,
			Definition: "30 to 120 members of one creator stand and are found in one of three functions of it, now here and now there."},
		{Name: "oscillation-steady", regimes: middle(), make: oscillationSteady,
			Definition: "60 to 200 requests, each of 0.5 to 5 % of the window, whose number swings by 50 to 80 % 1.5 to 4 times."},
		{Name: "clustered-sessions", regimes: middle(), make: clusteredSessions,
			Definition: "20 to 80 sessions at a time, each of 10 to 30 % of the window; the captures lie in 2 or 3 clusters, and one is alone at its end."},
		{Name: "tenants-metric", regimes: slow(), outside: true, make: tenantsMetric,
			Definition: "20 to 120 tenants sign up evenly and keep a member each; a gauge of the program says how many there are."},
	}
}

func ttlLong(w *world) {
	s, size, life := w.subject(), w.about(30, 150), w.between(1.2, 2)*w.span
	w.starts[0] = -life - w.span
	for range poisson(w.r, size/life*(life+w.span)) {
		born := w.between(-life, w.span)
		w.add(s, born, born+life)
	}
}

func fifoQueue(w *world) {
	s, work := w.subject(), w.about(300, 2000)
	swing, service := w.swing(w.between(0.5, 0.9), w.between(1, 4)), w.span/work
	done, at := -w.span, -0.5*w.span
	w.starts[0] = min(w.starts[0], -w.span)
	for at < w.span {
		at += w.r.ExpFloat64() / (0.9 * work / w.span * max(0.05, swing(at)))
		done = max(done, at) + service
		if done > 0 {
			w.add(s, at, done)
		}
	}
}

func leadersStaggered(w *world) {
	s := w.subject()
	for range w.whole(3, 6) {
		at := w.between(-0.1, 0.8) * w.span
		ends := at + w.between(0.2, 0.5)*w.span
		for range w.whole(5, 20) {
			w.add(s, max(at, w.starts[0])+1e-3*w.span*w.r.Float64(), ends)
		}
	}
}

func outageBackOff(w *world) {
	s, from, long := w.subject(), w.between(0, 0.5)*w.span, w.between(0.15, 0.4)*w.span
	w.churn(s, flat(w.about(3, 20)), 0.003*w.span)
	for range int(w.about(40, 200)) {
		born := from + long*w.r.Float64()
		wait := 0.002 * w.span
		try := born
		for try < from+long {
			try += wait * w.between(0.8, 1.2)
			wait = min(2*wait, 0.1*w.span)
		}
		w.add(s, born, try)
	}
}

func morningRise(w *world) {
	level, factor, noon := w.about(10, 60), w.between(3, 8), w.between(0.4, 0.7)*w.span
	w.churn(w.subject(), func(at float64) float64 {
		return level * (1 + (factor-1)/(1+math.Exp(-8*(at-noon)/w.span)))
	}, w.about(0.001, 0.01)*w.span)
}

func tcpTimeOuts(w *world) {
	s, from, rate := w.subject(), 0.25*w.r.Float64()*w.span, w.between(2, 8)*60
	w.churn(s, flat(w.about(3, 20)), 0.003*w.span)
	for range poisson(w.r, rate*(w.span-from)) {
		born := w.between(from, w.span)
		w.add(s, born, born+924.0/3600)
	}
}

func rolloutWarmUp(w *world) {
	w.rollout(w.whole(1, 3))
	s, size, mean := w.subject(), w.about(20, 150), w.between(0.03, 0.12)*w.span
	for k, start := range w.starts {
		end := w.span
		if k+1 < len(w.starts) {
			end = w.starts[k+1]
		}
		w.fill(s, int(size*w.between(0.95, 1.05)), start, end, mean)
	}
}

func statesSteady(w *world) {
	all := w.turning()
	w.standing(all[0], int(w.about(30, 120)))
	for k := range w.members {
		w.members[k].turns, w.members[k].wakes = all, true
	}
}

func oscillationSteady(w *world) {
	level, swing := w.about(60, 200), w.swing(w.between(0.5, 0.8), w.between(1.5, 4))
	w.churn(w.subject(), func(at float64) float64 { return level * swing(at) }, w.about(0.005, 0.05)*w.span)
}

func clusteredSessions(w *world) {
	w.cluster()
	w.churn(w.subject(), flat(w.about(20, 80)), w.between(0.1, 0.3)*w.span)
}

func tenantsMetric(w *world) {
	s, before, n := w.subject(), w.whole(5, 20), int(w.about(20, 120))
	w.standing(s, before)
	w.evenly(s, n, 0, w.span)
	w.loads["app_tenants"] = func(at float64) float64 { return float64(w.subjects(at)) }
}
