package trend

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// plainResidual is the hinge by its definition: two passes over all points.
func plainResidual(points []point, epochs []int, bend float64) float64 {
	n := epochs[len(epochs)-1] + 1
	sumW, sumX, sumY := make([]float64, n), make([]float64, n), make([]float64, n)
	for k, pt := range points {
		e, w, x := epochs[k], hingeWeight(pt), math.Max(0, pt.at-bend)
		sumW[e] += w
		sumX[e] += w * x
		sumY[e] += w * float64(pt.count)
	}
	var sxx, sxy, syy float64
	for k, pt := range points {
		e, w := epochs[k], hingeWeight(pt)
		dx, dy := math.Max(0, pt.at-bend)-sumX[e]/sumW[e], float64(pt.count)-sumY[e]/sumW[e]
		sxx += w * dx * dx
		sxy += w * dx * dy
		syy += w * dy * dy
	}
	if sxx == 0 || sxy <= 0 {
		return syy
	}
	return syy - sxy*sxy/sxx
}

func TestTheHingeWithPreparedSumsLeavesWhatTheDefinitionDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var points []point
		var epochs []int
		at := 0.0
		for e := range rapid.IntRange(1, 4).Draw(t, "epochs") {
			for range rapid.IntRange(2, 30).Draw(t, "points") {
				// Evidence of one kind may be older than that of the capture before.
				at += rapid.Float64Range(-0.002, 2).Draw(t, "interval")
				points = append(points, point{index: len(points), count: rapid.IntRange(0, 2000).Draw(t, "count"), at: at, timed: true})
				epochs = append(epochs, e)
			}
		}
		h := newHinge(points, epochs)
		for k := 1; k < len(points); k++ {
			if epochs[k] != epochs[k-1] || points[k].at < points[k-1].at+0.01 {
				continue
			}
			bend := points[k-1].at + (points[k].at-points[k-1].at)*rapid.Float64Range(1./16, 15./16).Draw(t, "bend")
			got, want := h.residual(epochs[k], bend), plainResidual(points, epochs, bend)
			if math.Abs(got-want) > 1e-6*(1+h.syy) {
				t.Fatalf("the bend at %v leaves %v, by its definition %v", bend, got, want)
			}
		}
	})
}
