package trend

import (
	"math"
	"slices"
)

// level is what one direction of the counts amounts to.
type level int

const (
	levelNone level = iota
	levelSuspicious
	levelLeaking
)

// mostPoints bounds the work of the pair statistics, which grows with the square
// of the snapshots: longer runs are thinned evenly to this many.
const mostPoints = 36

// line is evidence S: what the counts of a family do over time, pooled over the
// epochs (statistics.md 3). Slopes are per hour, or per snapshot where the part
// is not dated.
type line struct {
	// n counts the snapshots of epochs with at least two; longest is the largest
	// number in one epoch.
	n, longest int
	// p is one-sided, for rising and for falling.
	pUp, pDown float64
	// slope is Theil and Sen's, low and high its 95 % interval.
	slope, low, high float64
	// growth is the slope over the longest epoch; rise is what was seen, the sum
	// of last minus first.
	growth float64
	rise   int
	// gate is the least growth that counts as an effect.
	gate float64
	// z is the rise in deviations of a Poisson count with overdispersion 2.
	z float64
	// straight says that a line fits as well as the best single step.
	straight bool
	// newer is the slope in the newer half of the longest epoch, newest that of
	// the newer halves of all epochs.
	newer, newest float64
	epochs        int
	// filled says that slopes and shape were computed; variance is that of S.
	filled   bool
	variance float64
}

// scratch is the room for pair slopes, kept from one family to the next.
type scratch struct {
	slopes, ages []float64
	thinned      []point
	counts       []int
	at           []float64
}

// fitLine measures the counts. What only a growth beyond the gate asks for is
// filled in where chance and the pairs of counts do not exclude one; fill does the rest.
func fitLine(runs [][]point, room *scratch) line {
	l := line{pUp: 1, pDown: 1, epochs: len(runs)}
	if len(runs) == 0 {
		return l
	}
	var firsts [4]float64
	starts := firsts[:0]
	first, last := 0, 0
	for _, run := range runs {
		l.n += len(run)
		l.longest = max(l.longest, len(run))
		first += run[0].count
		last += run[len(run)-1].count
		starts = append(starts, float64(run[0].count))
	}
	l.rise = last - first
	if first+last > 0 {
		l.z = float64(l.rise) / math.Sqrt(2*float64(first+last))
	}
	l.gate = leastGrowth(median(starts))
	if flat(runs) {
		l.filled = true
		return l
	}
	l.rank(runs, room)
	// Of several epochs, evidence C asks as well whether they go on.
	several := len(runs) > 1
	if !several && !l.unlikely(1, l.pUp) && !l.unlikely(-1, l.pDown) || !l.mayGrow(runs, room) {
		return l
	}
	l.typical(runs, room)
	if several || math.Abs(l.growth) >= l.gate {
		l.shape(runs, room)
	}
	return l
}

// rank counts the pairs that rise less those that fall, and what they amount to.
func (l *line) rank(runs [][]point, room *scratch) {
	s := 0
	for _, run := range runs {
		n := float64(min(len(run), max(2, mostPoints/len(runs))))
		l.variance += n * (n - 1) * (2*n + 5) / 18
		room.spread(thin(run, mostPoints/len(runs), room))
		for i, count := range room.counts {
			for _, other := range room.counts[i+1:] {
				rise := other - count
				// The sign without a branch: noise would mispredict every other one.
				s += (rise >> 63) | int(uint(-rise)>>63)
			}
		}
	}
	l.pUp, l.pDown = tail(s, l.variance), tail(-s, l.variance)
}

// mayGrow counts the pairs of all runs whose slope would pass the gate over the
// longest span, up or down. Where fewer than half of the pairs pass, their median does
// not.
func (l *line) mayGrow(runs [][]point, room *scratch) bool {
	least := l.gate / longestSpan(runs)
	pairs, passing := 0, 0
	for _, run := range runs {
		room.spread(thin(run, mostPoints/len(runs), room))
		for i, count := range room.counts {
			at := room.at[i]
			later := room.at[i+1:]
			for j, other := range room.counts[i+1:] {
				rise := other - count
				if apart := later[j] - at; apart > 0 {
					pairs++
					if float64(max(rise, -rise)) >= least*apart {
						passing++
					}
				}
			}
		}
	}
	return 2*passing+2 >= pairs
}

// spread lays the counts and times of a run side by side; a time that is not known
// is NaN, which is apart from nothing.
func (room *scratch) spread(run []point) {
	room.counts, room.at = room.counts[:0], room.at[:0]
	for k := range run {
		at := run[k].at
		if !run[k].placed {
			at = math.NaN()
		}
		room.counts = append(room.counts, run[k].count)
		room.at = append(room.at, at)
	}
}

// fill computes the slopes and the shape.
func (l *line) fill(runs [][]point, room *scratch) {
	if l.filled || len(runs) == 0 {
		return
	}
	l.typical(runs, room)
	l.shape(runs, room)
}

// typical computes the slope of all pairs, which it leaves in the room.
func (l *line) typical(runs [][]point, room *scratch) {
	room.slopes = room.slopes[:0]
	for _, run := range runs {
		room.slopes = pairSlopes(thin(run, mostPoints/len(runs), room), room.slopes)
	}
	l.slope = median(room.slopes)
	l.growth = l.slope * longestSpan(runs)
}

// shape computes what is asked of a growth, from the slopes in the room.
func (l *line) shape(runs [][]point, room *scratch) {
	l.filled = true
	l.low, l.high = interval(room.slopes, l.variance)
	l.straight = straight(runs)
	var longest []point
	for _, run := range runs {
		if len(run) > len(longest) || len(run) == len(longest) && spanOf(run) >= spanOf(longest) {
			longest = run
		}
	}
	l.newer = room.theilSen(l.slope, pairSlopes(thin(newerHalf(longest), mostPoints, room), room.slopes[:0]))
	l.newest = l.newer
	if len(runs) < 2 {
		return
	}
	room.slopes = room.slopes[:0]
	for _, run := range runs {
		room.slopes = pairSlopes(newerHalf(thin(run, mostPoints/len(runs), room)), room.slopes)
	}
	l.newest = room.theilSen(l.slope, room.slopes)
}

// leastGrowth is the effect gate: 10 members, and 15 % of the typical start.
func leastGrowth(start float64) float64 { return max(10, 0.15*max(1, start)) }

// rising is the level of growth, falling that of the mirrored counts.
func (l line) rising() level  { return l.level(1, l.pUp) }
func (l line) falling() level { return l.level(-1, l.pDown) }

// level is the table of evidence S in statistics.md 3.
func (l line) level(sign, p float64) level {
	if !l.unlikely(sign, p) || !l.filled || sign*l.growth < l.gate {
		return levelNone
	}
	switch {
	case l.few():
		return levelSuspicious
	case l.n < 6:
		if p <= 0.05 && l.straight {
			return levelLeaking
		}
		return levelSuspicious
	case !l.goesOn(sign):
		return levelNone
	case p <= enough(l.n) && l.straight:
		return levelLeaking
	case sign*l.z >= 1.64 && p <= 0.1:
		return levelSuspicious
	}
	return levelNone
}

// unlikely reports what every level asks of chance, before any slope is known.
func (l line) unlikely(sign, p float64) bool {
	z := sign * l.z
	switch {
	case l.n < 2:
		return false
	case l.few():
		return z >= 2.33
	case l.n < 6:
		return z >= 2.33 && p <= 0.25
	default:
		return p <= enough(l.n) || z >= 1.64 && p <= 0.1
	}
}

// few says that there are too few snapshots for a trend.
func (l line) few() bool { return l.n < 4 || l.longest < 3 }

// enough is the p that "leaking" asks of six and more snapshots.
func enough(n int) float64 {
	if n >= 8 {
		return 0.01
	}
	return 0.05
}

// goesOn reports whether the newer half still moves; with several epochs the
// newer halves of all must, or every restart with a warm-up looks like a leak.
func (l line) goesOn(sign float64) bool {
	if sign*l.newer <= 0.3*sign*l.slope {
		return false
	}
	return l.epochs < 2 || sign*l.newest > 0.3*sign*l.slope
}

// Levelled reports whether the newer half of a family's counts, before a recovery, does
// not grow any more; false with fewer than four counts.
func (s *Series) Levelled(fingerprint string) bool {
	q := s.studied().of[fingerprint]
	if q == nil {
		return false
	}
	p, signals := q.judged()
	l := signals.line
	l.fill(p.comparable(), new(scratch))
	return l.n >= 4 && !l.goesOn(1)
}

// tail is the one-sided p of s or more, with continuity correction.
func tail(s int, variance float64) float64 {
	if variance == 0 {
		return 1
	}
	z := float64(s)
	switch {
	case s > 0:
		z--
	case s < 0:
		z++
	}
	return 0.5 * math.Erfc(z/math.Sqrt(2*variance))
}

// allPairsRise is the exact chance that n counts without a trend rise in every
// pair: 2 0.50, 3 0.167, 4 0.042, 5 0.008 (statistics.md 2).
func allPairsRise(n int) float64 { return 1 / math.Gamma(float64(n)+1) }

// pairSlopes appends the slopes of all pairs of a run that have two times.
func pairSlopes(run []point, slopes []float64) []float64 {
	for i := range run {
		a := &run[i]
		for j := i + 1; j < len(run); j++ {
			if b := &run[j]; a.placed && b.placed && b.at != a.at {
				slopes = append(slopes, float64(b.count-a.count)/(b.at-a.at))
			}
		}
	}
	return slopes
}

// interval is the 95 % interval of the median of pair slopes (Sen 1968: the slopes
// 0.98 standard deviations of S to either side of the middle rank).
func interval(slopes []float64, variance float64) (low, high float64) {
	n := len(slopes)
	if n == 0 {
		return 0, 0
	}
	aside := 0.98 * math.Sqrt(variance)
	rank := func(r float64) int { return min(n-1, max(0, int(math.Round(r)))) }
	low = nth(slopes, rank(float64(n)/2-aside-1))
	high = nth(slopes, rank(float64(n)/2+aside))
	return low, high
}

// theilSen is the median of slopes, otherwise where there is none.
func (room *scratch) theilSen(otherwise float64, slopes []float64) float64 {
	room.slopes = slopes
	if len(slopes) == 0 {
		return otherwise
	}
	return median(slopes)
}

// straight compares the line with one slope for all epochs and an intercept for
// each with the best single step in one epoch: "step" where the step leaves less
// than the line by more than a twentieth.
func straight(runs [][]point) bool {
	var sxx, sxy, syy, step float64
	for _, run := range runs {
		placed := placedOf(run)
		if len(placed) < 2 {
			continue
		}
		n := float64(len(placed))
		var sumX, sumY float64
		for _, pt := range placed {
			sumX += pt.at
			sumY += float64(pt.count)
		}
		left := 0.0
		for k, pt := range placed {
			dx, dy := pt.at-sumX/n, float64(pt.count)-sumY/n
			sxx += dx * dx
			sxy += dx * dy
			syy += dy * dy
			left += dy
			if k+1 < len(placed) {
				step = max(step, left*left*n/(float64(k+1)*(n-float64(k+1))))
			}
		}
	}
	if sxx == 0 {
		return false
	}
	return syy-sxy*sxy/sxx <= 1.05*(syy-step)+1e-9*syy
}

func newerHalf(run []point) []point { return run[len(run)/2:] }

// thin keeps at most limit points of a run, evenly, the first and last among
// them. What it returns is good until the next call.
func thin(run []point, limit int, room *scratch) []point {
	limit = max(limit, 2)
	if len(run) <= limit {
		return run
	}
	room.thinned = room.thinned[:0]
	for k := range limit {
		room.thinned = append(room.thinned, run[k*(len(run)-1)/(limit-1)])
	}
	return room.thinned
}

func flat(runs [][]point) bool {
	for _, run := range runs {
		for k := range run {
			if run[k].count != run[0].count {
				return false
			}
		}
	}
	return true
}

// median reorders values and returns their middle, 0 of none.
func median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	upper := nth(values, n/2)
	if n%2 == 1 {
		return upper
	}
	// nth leaves the lower half below n/2.
	return (slices.Max(values[:n/2]) + upper) / 2
}

// nth reorders values so that the k-th smallest is at k, no larger ones before
// it, and returns it (Hoare's selection; equal values are skipped in one step,
// since pair slopes of small counts are mostly equal).
func nth(values []float64, k int) float64 {
	low, high := 0, len(values)-1
	for low < high {
		pivot := middle(values[low], values[(low+high)/2], values[high])
		less, i, more := low, low, high
		for i <= more {
			switch {
			case values[i] < pivot:
				values[less], values[i] = values[i], values[less]
				less++
				i++
			case values[i] > pivot:
				values[i], values[more] = values[more], values[i]
				more--
			default:
				i++
			}
		}
		switch {
		case k < less:
			high = less - 1
		case k > more:
			low = more + 1
		default:
			return pivot
		}
	}
	return values[k]
}

func middle(a, b, c float64) float64 { return max(min(a, b), min(max(a, b), c)) }
