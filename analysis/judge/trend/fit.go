package trend

import (
	"math"
	"slices"
)

// level is the strength of a trend in one direction.
type level int

const (
	levelNone level = iota
	levelSuspicious
	levelLeaking
)

// mostPoints bounds the work of the pair statistics, which grows with the square of the
// number of snapshots. Longer runs are thinned evenly to this many points.
const mostPoints = 36

// fit is the trend of the counts of a family, pooled over the epochs. Slopes are per
// hour, or per snapshot if the part has no dates.
type fit struct {
	// n counts the snapshots of epochs with at least two. longest is the largest number
	// in one epoch.
	n, longest int
	// The one-sided p-values of a rise and of a fall.
	pUp, pDown float64
	// slope is Theil and Sen's. low and high are its 95 % interval.
	slope, low, high float64
	// growth is the slope times the length of the longest epoch. rise is the observed
	// sum of last minus first.
	growth float64
	rise   int
	// gate is the least growth that counts as an effect.
	gate float64
	// z is the rise in standard deviations of a Poisson count with overdispersion 2.
	z float64
	// straight reports that a straight line fits as well as the best single step.
	straight bool
	// newer is the slope in the newer half of the longest epoch. newest is the slope in
	// the newer halves of all epochs.
	newer, newest float64
	epochs        int
	// filled reports that slopes and shape were computed. variance is the variance of
	// S.
	filled   bool
	variance float64
}

// buffers hold pair slopes and are reused from one family to the next.
type buffers struct {
	slopes, ages []float64
	thinned      []point
	counts       []int
	at           []float64
}

// fitCounts measures the counts. It computes slopes and shape only if p-value and pairs
// allow a growth beyond the gate. fill computes the rest on demand.
func fitCounts(runs [][]point, buf *buffers) fit {
	f := fit{pUp: 1, pDown: 1, epochs: len(runs)}
	if len(runs) == 0 {
		return f
	}
	var firsts [4]float64
	starts := firsts[:0]
	first, last := 0, 0
	for _, run := range runs {
		f.n += len(run)
		f.longest = max(f.longest, len(run))
		first += run[0].count
		last += run[len(run)-1].count
		starts = append(starts, float64(run[0].count))
	}
	f.rise = last - first
	if first+last > 0 {
		f.z = float64(f.rise) / math.Sqrt(2*float64(first+last))
	}
	f.gate = leastGrowth(median(starts))
	if flat(runs) {
		f.filled = true
		return f
	}
	f.rankPairs(runs, buf)
	// With several epochs, the evidence of cohorts also needs to know whether they go
	// on.
	several := len(runs) > 1
	if !several && !f.unlikely(1, f.pUp) && !f.unlikely(-1, f.pDown) || !f.mayGrow(runs, buf) {
		return f
	}
	f.medianSlope(runs, buf)
	if several || math.Abs(f.growth) >= f.gate {
		f.shape(runs, buf)
	}
	return f
}

// rankPairs computes S, the rising pairs minus the falling pairs, and its p-values.
func (f *fit) rankPairs(runs [][]point, buf *buffers) {
	s := 0
	for _, run := range runs {
		n := float64(min(len(run), max(2, mostPoints/len(runs))))
		f.variance += n * (n - 1) * (2*n + 5) / 18
		buf.split(thin(run, mostPoints/len(runs), buf))
		for i, count := range buf.counts {
			for _, other := range buf.counts[i+1:] {
				rise := other - count
				// The sign without a branch: noise would mispredict every other one.
				s += (rise >> 63) | int(uint(-rise)>>63)
			}
		}
	}
	f.pUp, f.pDown = tail(s, f.variance), tail(-s, f.variance)
}

// mayGrow counts the pairs of all runs whose slope would pass the gate over the longest
// span, up or down. If fewer than half of the pairs pass, their median does not pass.
func (f *fit) mayGrow(runs [][]point, buf *buffers) bool {
	least := f.gate / longestSpan(runs)
	pairs, passing := 0, 0
	for _, run := range runs {
		buf.split(thin(run, mostPoints/len(runs), buf))
		for i, count := range buf.counts {
			at := buf.at[i]
			later := buf.at[i+1:]
			for j, other := range buf.counts[i+1:] {
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

// split copies the counts and times of a run into two columns. An unknown time is NaN,
// so it makes no pair.
func (buf *buffers) split(run []point) {
	buf.counts, buf.at = buf.counts[:0], buf.at[:0]
	for k := range run {
		at := run[k].at
		if !run[k].timed {
			at = math.NaN()
		}
		buf.counts = append(buf.counts, run[k].count)
		buf.at = append(buf.at, at)
	}
}

// fill computes the slopes and the shape.
func (f *fit) fill(runs [][]point, buf *buffers) {
	if f.filled || len(runs) == 0 {
		return
	}
	f.medianSlope(runs, buf)
	f.shape(runs, buf)
}

// medianSlope computes the median slope of all pairs. The slopes stay in the buffer.
func (f *fit) medianSlope(runs [][]point, buf *buffers) {
	buf.slopes = buf.slopes[:0]
	for _, run := range runs {
		buf.slopes = pairSlopes(thin(run, mostPoints/len(runs), buf), buf.slopes)
	}
	f.slope = median(buf.slopes)
	f.growth = f.slope * longestSpan(runs)
}

// shape computes interval, straightness and the slopes of the newer halves. It reads
// the slopes in the buffer.
func (f *fit) shape(runs [][]point, buf *buffers) {
	f.filled = true
	f.low, f.high = interval(buf.slopes, f.variance)
	f.straight = straight(runs)
	var longest []point
	for _, run := range runs {
		if len(run) > len(longest) || len(run) == len(longest) && spanOf(run) >= spanOf(longest) {
			longest = run
		}
	}
	f.newer = buf.theilSen(f.slope, pairSlopes(thin(newerHalf(longest), mostPoints, buf), buf.slopes[:0]))
	f.newest = f.newer
	if len(runs) < 2 {
		return
	}
	buf.slopes = buf.slopes[:0]
	for _, run := range runs {
		buf.slopes = pairSlopes(newerHalf(thin(run, mostPoints/len(runs), buf)), buf.slopes)
	}
	f.newest = buf.theilSen(f.slope, buf.slopes)
}

// leastGrowth is the effect gate: 10 members, and 15 % of the typical start.
func leastGrowth(start float64) float64 { return max(10, 0.15*max(1, start)) }

// rising is the level of growth, falling that of the mirrored counts.
func (f fit) rising() level  { return f.level(1, f.pUp) }
func (f fit) falling() level { return f.level(-1, f.pDown) }

// level returns how strong the trend is, with stricter rules for fewer snapshots.
func (f fit) level(sign, p float64) level {
	if !f.unlikely(sign, p) || sign*f.growth < f.gate {
		return levelNone
	}
	switch {
	case f.few():
		return levelSuspicious
	case f.n < 6:
		if p <= 0.05 && f.straight {
			return levelLeaking
		}
		return levelSuspicious
	case !f.goesOn(sign):
		return levelNone
	case p <= enough(f.n) && f.straight:
		return levelLeaking
	case f.perhaps(sign, p):
		return levelSuspicious
	}
	return levelNone
}

// perhaps reports what makes six and more snapshots suspicious.
func (f fit) perhaps(sign, p float64) bool { return sign*f.z >= 1.64 && p <= 0.1 }

// unlikely reports whether chance alone permits a level, before any slope is known.
func (f fit) unlikely(sign, p float64) bool {
	z := sign * f.z
	switch {
	case f.n < 2:
		return false
	case f.few():
		return z >= 2.33
	case f.n < 6:
		return z >= 2.33 && p <= 0.25
	default:
		return p <= enough(f.n) || f.perhaps(sign, p)
	}
}

// few reports too few snapshots for a trend.
func (f fit) few() bool { return f.n < 4 || f.longest < 3 }

// enough is the p-value that "leaking" requires with six and more snapshots.
func enough(n int) float64 {
	if n >= 8 {
		return 0.01
	}
	return 0.05
}

// goesOn reports whether the newer half still moves. With several epochs the newer
// halves of all must move. Otherwise every restart with a warm-up would look like a
// leak.
func (f fit) goesOn(sign float64) bool {
	if sign*f.newer <= 0.3*sign*f.slope {
		return false
	}
	return f.epochs < 2 || sign*f.newest > 0.3*sign*f.slope
}

// Levelled reports whether the newer half of a family's counts, before a recovery, no
// longer grows. It is false with fewer than four counts.
func (s *Series) Levelled(fingerprint string) bool {
	j := s.judgements().byFingerprint[fingerprint]
	if j == nil {
		return false
	}
	p, signals := j.judgedPart()
	f := signals.fit
	f.fill(p.comparable(), new(buffers))
	return f.n >= 4 && !f.goesOn(1)
}

// tail is the one-sided p-value of s or more, with continuity correction.
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

// allPairsRise is the exact probability that n counts without a trend rise in every
// pair: 2 0.50, 3 0.167, 4 0.042, 5 0.008.
func allPairsRise(n int) float64 { return 1 / math.Gamma(float64(n)+1) }

// pairSlopes appends the slopes of all pairs of a run whose points both have a time.
func pairSlopes(run []point, slopes []float64) []float64 {
	for i := range run {
		a := &run[i]
		for j := i + 1; j < len(run); j++ {
			if b := &run[j]; a.timed && b.timed && b.at != a.at {
				slopes = append(slopes, float64(b.count-a.count)/(b.at-a.at))
			}
		}
	}
	return slopes
}

// interval is the 95 % interval of the median of pair slopes (Sen 1968): the slopes
// 0.98 standard deviations of S to either side of the middle rank.
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

// theilSen is the median of slopes, or otherwise if there are none.
func (buf *buffers) theilSen(otherwise float64, slopes []float64) float64 {
	buf.slopes = slopes
	if len(slopes) == 0 {
		return otherwise
	}
	return median(slopes)
}

// straight compares a line with the best single step in one epoch. The line has one
// slope for all epochs and an intercept for each. The result is false if the residual
// of the line exceeds that of the step by more than 5 %.
func straight(runs [][]point) bool {
	var sxx, sxy, syy, step float64
	for _, run := range runs {
		timed := timedOf(run)
		n := float64(len(timed))
		var sumX, sumY float64
		for _, pt := range timed {
			sumX += pt.at
			sumY += float64(pt.count)
		}
		left := 0.0
		for k, pt := range timed {
			dx, dy := pt.at-sumX/n, float64(pt.count)-sumY/n
			sxx += dx * dx
			sxy += dx * dy
			syy += dy * dy
			left += dy
			if k+1 < len(timed) {
				step = max(step, left*left*n/(float64(k+1)*(n-float64(k+1))))
			}
		}
	}
	if sxx == 0 {
		return false
	}
	return syy-sxy*sxy/sxx <= 1.05*(syy-step)+1e-9*syy
}

// newerHalf is the newer half of a run by its points, or by its time if that is more: where
// the newest captures are dense, as Select leaves them, half of the points may be a short pause.
func newerHalf(run []point) []point {
	first, last := run[0], run[len(run)-1]
	from := len(run) / 2
	for first.timed && last.timed && from > 1 && run[from-1].timed && 2*run[from-1].at >= first.at+last.at {
		from--
	}
	return run[from:]
}

// thin keeps at most limit points of a run, evenly spread, including the first and the
// last. The result is valid until the next call.
func thin(run []point, limit int, buf *buffers) []point {
	limit = max(limit, 2)
	if len(run) <= limit {
		return run
	}
	buf.thinned = buf.thinned[:0]
	for k := range limit {
		buf.thinned = append(buf.thinned, run[k*(len(run)-1)/(limit-1)])
	}
	return buf.thinned
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

// median reorders values and returns their median, 0 for no values.
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

// nth reorders values so that the k-th smallest is at index k with no larger value
// before it, and returns it (Hoare's selection). It skips equal values in one step,
// because pair slopes of small counts are mostly equal.
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
