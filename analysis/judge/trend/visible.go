package trend

import (
	"math"
	"slices"

	"leakdiff/analysis"
)

// Visible is the smallest growth that a series would have shown.
type Visible struct {
	// Snapshots counts the comparable snapshots. Span is the length of their longest
	// epoch.
	Snapshots int
	Span      float64
	// Rise is in members over the span; Slope is per Unit.
	Rise  int
	Slope float64
	Unit  analysis.TimeUnit
	// Base is the size of the typical family, Largest that of the largest one. In the
	// largest one only LargestSlope would have been visible.
	Base, Largest int
	LargestSlope  float64
}

// SmallestVisible computes the smallest visible growth for the family of median size
// among those of the kind with most families. A growth is visible if its trend is at
// least suspicious: from b members it must pass the effect gate max(10, 15 % of b), and
// its z must reach c = 1.64 with six snapshots and more, 2.33 with fewer. With z = r /
// sqrt(2 (b + (b + r))) that is r = c² + sqrt(c⁴ + 4 c² b). The larger of the two over
// the longest epoch is the slope. ok is false if nothing can be compared.
func (s *Series) SmallestVisible() (v Visible, ok bool) {
	parts := s.commonest()
	if len(parts) == 0 {
		return Visible{}, false
	}
	starts := make([]float64, len(parts))
	for i, p := range parts {
		starts[i] = float64(p.runs[0][0].count)
	}
	start := median(starts)

	p := parts[0]
	runs := p.comparable()
	span := longestSpan(runs)
	if span == 0 {
		return Visible{}, false
	}
	n := len(flatten(runs))
	c := 2.33
	if n >= 6 {
		c = 1.64
	}
	least := func(start float64) float64 {
		return math.Ceil(max(leastGrowth(start), c*c+math.Sqrt(math.Pow(c, 4)+4*c*c*start)))
	}
	largest := slices.Max(starts)
	return Visible{
		Snapshots: n, Span: p.length(runs), Rise: int(least(start)), Slope: least(start) / span, Unit: p.unit(),
		Base: int(math.Round(start)), Largest: int(largest), LargestSlope: least(largest) / span,
	}, true
}

// commonest returns the parts of the kind with most families. Of two kinds with equally
// many it takes the one that pages show first.
func (s *Series) commonest() []*part {
	byKind := make(map[analysis.Kind][]*analysis.Family)
	for _, family := range s.Families {
		byKind[family.Kind] = append(byKind[family.Kind], family)
	}
	var families []*analysis.Family
	for _, kind := range analysis.Kinds() {
		if len(byKind[kind]) > len(families) {
			families = byKind[kind]
		}
	}
	var parts []*part
	for _, family := range families {
		if p := s.parts[family.Fingerprint]; len(p.comparable()) > 0 {
			parts = append(parts, p)
		}
	}
	return parts
}
