package trend

import (
	"cmp"
	"math"
	"slices"
)

// A hinge fits a level per epoch and one slope after a bend by weighted least squares,
// weights 1/count. The sums over the points after a bend are prepared, so that a bend costs
// the same however many points there are.
type hinge struct {
	epochs []hingeEpoch
	// syy is the weighted sum of squares around the levels.
	syy float64
	// early is the latest time before each epoch, late the earliest one after it.
	early, late []float64
	// after holds the sums of all epochs after each.
	after []hingeSums
}

// hingeSums are what a bend needs of an epoch: the weighted squares of the times after the
// bend around their mean, and their products with the counts.
type hingeSums struct{ sxx, sxy float64 }

// A hingeEpoch holds the points of one epoch in the order of their times, counted from
// start. Entry k of the sums is over the points from k on: weights, weighted times and
// their squares, and with dy, the count less the level, weighted dy and weighted time × dy.
type hingeEpoch struct {
	start         float64
	times         []float64
	w, wx, wxx    []float64
	wdy, wxdy     []float64
	whole         hingeSums
	earliest, end float64
}

// newHinge takes the points of all epochs in order, and the epoch of each, from 0.
func newHinge(points []point, epochs []int) *hinge {
	h := &hinge{}
	for from := 0; from < len(points); {
		to := from + 1
		for to < len(points) && epochs[to] == epochs[from] {
			to++
		}
		h.add(points[from:to])
		from = to
	}
	n := len(h.epochs)
	h.early, h.late, h.after = make([]float64, n), make([]float64, n), make([]hingeSums, n)
	early := math.Inf(-1)
	for e := range n {
		h.early[e] = early
		early = max(early, h.epochs[e].end)
	}
	late := math.Inf(1)
	var after hingeSums
	for e := n - 1; e >= 0; e-- {
		h.late[e], h.after[e] = late, after
		late = min(late, h.epochs[e].earliest)
		after.sxx += h.epochs[e].whole.sxx
		after.sxy += h.epochs[e].whole.sxy
	}
	return h
}

func (h *hinge) add(points []point) {
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	n := len(points)
	e := hingeEpoch{
		start: points[0].at, earliest: points[0].at, end: points[n-1].at, times: make([]float64, n),
		w: make([]float64, n+1), wx: make([]float64, n+1), wxx: make([]float64, n+1), wdy: make([]float64, n+1), wxdy: make([]float64, n+1),
	}
	sumW, sumY := 0.0, 0.0
	for _, pt := range points {
		w := hingeWeight(pt)
		sumW += w
		sumY += w * float64(pt.count)
	}
	level := sumY / sumW
	for k := n - 1; k >= 0; k-- {
		w, x, dy := hingeWeight(points[k]), points[k].at-e.start, float64(points[k].count)-level
		e.times[k] = x
		e.w[k] = e.w[k+1] + w
		e.wx[k] = e.wx[k+1] + w*x
		e.wxx[k] = e.wxx[k+1] + w*x*x
		e.wdy[k] = e.wdy[k+1] + w*dy
		e.wxdy[k] = e.wxdy[k+1] + w*x*dy
		h.syy += w * dy * dy
	}
	e.whole = e.sums(0, 0)
	h.epochs = append(h.epochs, e)
}

func hingeWeight(pt point) float64 { return 1 / math.Max(1, float64(pt.count)) }

// sums are those of a bend, counted from start, below the point from and not below the one
// before it.
func (e *hingeEpoch) sums(from int, bend float64) hingeSums {
	w, wx, wxx := e.w[from], e.wx[from], e.wxx[from]
	x := wx - bend*w
	return hingeSums{
		sxx: wxx - 2*bend*wx + bend*bend*w - x*x/e.w[0],
		sxy: e.wxdy[from] - bend*e.wdy[from],
	}
}

// at are the sums of an epoch for any bend.
func (e *hingeEpoch) at(bend float64) hingeSums {
	from, _ := slices.BinarySearch(e.times, bend-e.start)
	return e.sums(from, max(0, bend-e.start))
}

// residual is the weighted sum of squares that the best hinge with its bend in an epoch
// leaves.
func (h *hinge) residual(epoch int, bend float64) float64 {
	sum := h.epochs[epoch].at(bend)
	if h.early[epoch] <= bend && bend <= h.late[epoch] {
		sum.sxx += h.after[epoch].sxx
		sum.sxy += h.after[epoch].sxy
	} else { // epochs whose times overlap
		for e := range h.epochs {
			if e != epoch {
				other := h.epochs[e].at(bend)
				sum.sxx += other.sxx
				sum.sxy += other.sxy
			}
		}
	}
	if sum.sxx <= 0 || sum.sxy <= 0 {
		return h.syy
	}
	return h.syy - sum.sxy*sum.sxy/sum.sxx
}
