package trend

import (
	"maps"
	"math"
	"slices"

	"leakdiff/analysis/demand"
)

// A counter of requests is a load by its rate: what is in progress at a time is the rate times
// how long one takes. A member that each request leaves behind adds up instead: it follows the
// sum of the requests, and not their rate. So a rate never explains members that stay.

// asked is what a counter says at the snapshots: the load is its rate per second.
type asked struct {
	// unit is one of what it counts: "request".
	unit string
	// requests are how many the rate at each snapshot rests on, total how many came since the
	// first snapshot of the epoch. Both are NaN where the rate is.
	requests, total []float64
}

// leastRequests is how many a rate must rest on: fewer scatter by more than a quarter.
const leastRequests = 20

// newRates collects the counters of demand in the order of the list.
func (s *Series) newRates() []load {
	names := make(map[string]bool)
	for _, snap := range s.Snapshots {
		for name := range snap.Figures {
			names[name] = true
		}
	}
	var rates []load
	for _, c := range demand.Counters(slices.Sorted(maps.Keys(names))) {
		if _, given := s.in.Loads[c.Name]; given {
			continue
		}
		if l := s.rateOf(c); slices.ContainsFunc(l.values, func(v float64) bool { return v > 0 }) {
			rates = append(rates, l)
		}
	}
	return rates
}

// rateOf is the rate of a counter at each snapshot: that of the time before it and, where the
// next one is known, of the time after it, the nearer the more. The first snapshot of an epoch
// has none, and a counter that falls begins anew.
func (s *Series) rateOf(c demand.Counter) load {
	n := len(s.Snapshots)
	l := load{name: c.Name, values: unknown(n), asked: &asked{unit: c.Unit, requests: unknown(n), total: unknown(n)}}
	first := 0
	for i := range s.Snapshots {
		if i == 0 || s.Epochs[i] != s.Epochs[i-1] || s.increase(c.Name, i-1, i).fell {
			first = i
		}
		before := rise{}
		for j := i - 1; j >= first && before.requests < leastRequests; j-- {
			if before = s.increase(c.Name, j, i); before.fell {
				first = i
			}
		}
		if before.requests < leastRequests {
			continue
		}
		l.values[i], l.asked.requests[i] = before.rate(), before.requests
		l.asked.total[i] = s.increase(c.Name, first, i).requests
		if i+1 == n || s.Epochs[i+1] != s.Epochs[i] {
			continue
		}
		if after := s.increase(c.Name, i, i+1); after.requests >= leastRequests {
			l.values[i] = (before.rate()*after.seconds + after.rate()*before.seconds) / (before.seconds + after.seconds)
			l.asked.requests[i] += after.requests
		}
	}
	return l
}

// rise is what a counter gained in a time, zero where that is not known.
type rise struct {
	requests, seconds float64
	fell              bool
}

func (r rise) rate() float64 { return r.requests / r.seconds }

func (s *Series) increase(name string, from, to int) rise {
	a, b := s.Snapshots[from], s.Snapshots[to]
	was, before := a.Figures[name]
	is, after := b.Figures[name]
	seconds := b.CapturedAt.Sub(a.CapturedAt).Seconds()
	switch {
	case !before || !after || a.CapturedAt.IsZero() || b.CapturedAt.IsZero() || seconds <= 0:
		return rise{}
	case is < was:
		return rise{fell: true}
	}
	return rise{requests: is - was, seconds: seconds}
}

// measureRates compares a family that rose with the rates at which others ask.
func (p *part) measureRates(s *signals, buf *buffers) {
	for k := range p.series.rates {
		l := &p.series.rates[k]
		points := p.asked(l)
		if len(points) < leastRates {
			continue
		}
		f := loadFit{load: l, first: points[0].rate, last: points[len(points)-1].rate, stay: p.retains(s)}
		f.factor = perRate(points)
		f.scales = !f.stay && follows(points, f.factor) && p.steadyPer(l, buf)
		if f.scales && !s.cohortsSeen {
			f.scales = len(points) >= leastBlindRates && !sumExplains(points, f.factor) && !sumAdds(points, f.factor)
		}
		if f.scales || s.loadFit.load == nil {
			s.loadFit = f
		}
		if f.scales {
			return
		}
	}
}

// leastRates is how many snapshots need a rate: two of them fit every line. leastBlindRates is
// how many where members cannot be followed: with 9 of them, counts of requests and counts of
// requests beside a leak look alike.
const (
	leastRates      = 3
	leastBlindRates = 12
)

// retains reports that members stay, which no rate explains: where identities tell, at least
// half of those that were born are there at the next snapshot.
func (p *part) retains(s *signals) bool {
	if s.cohorts || s.ages.holds || s.marked > 0 {
		return true
	}
	if !s.cohortsSeen {
		return false
	}
	born, established, _ := s.cohort.tried(p.tracking)
	return born < fewestEstablished || 2*established > born
}

// ratePoint is a count with the rate at its time.
type ratePoint struct{ count, rate, requests, total float64 }

// asked are the points of the part with a rate. It is empty where another than the first point
// of an epoch has none.
func (p *part) asked(l *load) []ratePoint {
	var points []ratePoint
	for _, run := range p.runs {
		for k, pt := range run {
			switch rate := l.values[pt.index]; {
			case !math.IsNaN(rate):
				points = append(points, ratePoint{float64(pt.count), rate, l.asked.requests[pt.index], l.asked.total[pt.index]})
			case k > 0:
				return nil
			}
		}
	}
	return points
}

// perRate is how many members there are for each request per second.
func perRate(points []ratePoint) float64 {
	members, rates := 0.0, 0.0
	for _, pt := range points {
		members, rates = members+pt.count, rates+pt.rate
	}
	if rates == 0 {
		return 0
	}
	return members / rates
}

// The thresholds of a family that follows a rate. The rate must vary by a fifth. A count
// scatters by its root, by that of the requests, and by rateSlack since the rate is a mean over
// the time between captures.
const (
	leastVariation = 0.2
	rateSlack      = 0.07
	mostDeviation  = 3
	meanDeviation  = 2 // of the squares: counts of requests scatter more than by chance alone
	betterBy       = 4 // of the sum of squares, than a constant and than the sum of the requests
	addsBy         = 1 // of the sum of squares, by both together: rather doubt a load than miss a leak
)

func (pt ratePoint) variance(want float64) float64 {
	return want + want*want*(1/pt.requests+rateSlack*rateSlack)
}

// follows reports that the counts are the rate times factor, and that a constant is not.
func follows(points []ratePoint, factor float64) bool {
	slowest, fastest, mean := math.Inf(1), 0.0, 0.0
	for _, pt := range points {
		slowest, fastest, mean = min(slowest, pt.rate), max(fastest, pt.rate), mean+pt.count/float64(len(points))
	}
	if slowest <= 0 || fastest < (1+leastVariation)*slowest {
		return false
	}
	byRate, byConstant := 0.0, 0.0
	for _, pt := range points {
		want := factor * pt.rate
		off, variance := pt.count-want, pt.variance(want)
		if math.Abs(off) > 2 && off*off > mostDeviation*mostDeviation*variance {
			return false
		}
		byRate += off * off / variance
		byConstant += (pt.count - mean) * (pt.count - mean) / variance
	}
	return byRate <= meanDeviation*float64(len(points)-1) && byConstant >= 2*byRate && byConstant-byRate >= betterBy
}

// sumExplains reports that a base and a share of all requests so far explain the counts about
// as well as the rate does: each request may leave a member then. Where members can be
// followed, they tell.
func sumExplains(points []ratePoint, factor float64) bool {
	var weights, x, y, xx, xy, byRate float64
	for _, pt := range points {
		want := factor * pt.rate
		w := 1 / pt.variance(want)
		weights, x, y = weights+w, x+w*pt.total, y+w*pt.count
		xx, xy = xx+w*pt.total*pt.total, xy+w*pt.total*pt.count
		byRate += w * (pt.count - want) * (pt.count - want)
	}
	slope := 0.0
	if spread := weights*xx - x*x; spread > 0 {
		slope = max(0, (weights*xy-x*y)/spread)
	}
	base, bySum := (y-slope*x)/weights, 0.0
	for _, pt := range points {
		off := pt.count - base - slope*pt.total
		bySum += off * off / pt.variance(factor*pt.rate)
	}
	return bySum < 2*byRate || bySum-byRate < betterBy
}

// sumAdds reports that a share of all requests so far, beside those in progress, explains the
// counts better than the rate alone.
func sumAdds(points []ratePoint, factor float64) bool {
	var rr, rt, tt, rc, tc, byRate float64
	for _, pt := range points {
		w := 1 / pt.variance(factor*pt.rate)
		rr, rt, tt = rr+w*pt.rate*pt.rate, rt+w*pt.rate*pt.total, tt+w*pt.total*pt.total
		rc, tc = rc+w*pt.rate*pt.count, tc+w*pt.total*pt.count
		byRate += w * (pt.count - factor*pt.rate) * (pt.count - factor*pt.rate)
	}
	spread := rr*tt - rt*rt
	if spread <= 0 {
		return true // nothing tells them apart
	}
	of, share := (rc*tt-tc*rt)/spread, (tc*rr-rc*rt)/spread
	byBoth := 0.0
	for _, pt := range points {
		off := pt.count - of*pt.rate - share*pt.total
		byBoth += off * off / pt.variance(factor*pt.rate)
	}
	return share > 0 && byRate-byBoth >= addsBy
}

// steadyPer reports that the counts for each request per second show no growth of their own.
func (p *part) steadyPer(l *load, buf *buffers) bool {
	known := *p
	known.runs = nil
	for _, run := range p.runs {
		var own []point
		for _, pt := range run {
			if !math.IsNaN(l.values[pt.index]) {
				own = append(own, pt)
			}
		}
		if len(own) > 0 {
			known.runs = append(known.runs, own)
		}
	}
	per, ok := known.normalised(l, buf)
	return ok && per.rising() == levelNone
}
