package trend

import (
	"math"
	"testing"
)

// beside returns points that follow their rate, two at a hundred and two at gap more, each above
// or below it so that the sum of the squares is off. Counts for a rate of 100 vary by 149: 100
// and 7 % of it squared.
func beside(gap, off float64) []ratePoint {
	variance := func(rate float64) float64 { return rate + 0.07*rate*0.07*rate }
	d := math.Sqrt(off / (2/variance(100) + 2/variance(100+gap)))
	var points []ratePoint
	for _, p := range []struct{ rate, by float64 }{{100, d}, {100, -d}, {100 + gap, d}, {100 + gap, -d}} {
		points = append(points, ratePoint{count: p.rate + p.by, rate: p.rate, requests: math.Inf(1)})
	}
	return points
}

func TestARateIsBetterThanAConstantOnBothSidesOfItsThresholds(t *testing.T) {
	// A constant leaves that much more than the rate does: 3.5, 4.5, 4.4, 6 and 95 where the gap
	// is so large.
	const gap35, gap45, gap44, gap6, wide = 24.457355, 27.957122, 27.623905, 32.613399, 200
	tests := []struct {
		name     string
		gap, off float64
		want     bool
	}{
		{"3.5 better", gap35, 0.5, false},
		{"4.5 better", gap45, 0.5, true},
		{"2.2 times as much by a constant", gap6, 5, true},
		{"1.8 times as much by a constant", gap44, 5.5, false},
		{"5.7 for four points", wide, 5.7, true},
		{"6.3 for four points", wide, 6.3, false},
	}
	for _, tc := range tests {
		if got := follows(beside(tc.gap, tc.off), 1); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
	// One small count beside its rate, and thirteen on it.
	for off, want := range map[float64]bool{1.9: true, 2.1: false} {
		points := []ratePoint{{count: 0.2 + off, rate: 0.2, requests: math.Inf(1)}}
		for k := range 13 {
			rate := float64(10 + 10*k)
			points = append(points, ratePoint{count: rate, rate: rate, requests: math.Inf(1)})
		}
		if got := follows(points, 1); got != want {
			t.Errorf("%v members beside a rate: %v, want %v", off, got, want)
		}
	}
}

func TestTheSumOfRequestsExplainsOnBothSidesOfItsThresholds(t *testing.T) {
	// Where the sum does not rise it is a constant: that leaves so much more than the rate.
	const gap35, gap45, gap44, gap6 = 24.748881, 28.387513, 28.039537, 33.286805
	tests := []struct {
		name     string
		gap, off float64
		want     bool
	}{
		{"3.5 worse", gap35, 0.5, true},
		{"4.5 worse", gap45, 0.5, false},
		{"2.2 times as much", gap6, 5, false},
		{"1.8 times as much", gap44, 5.5, true},
	}
	for _, tc := range tests {
		if got := sumExplains(beside(tc.gap, tc.off), 1); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestTheSumOfRequestsAddsOnBothSidesOfOne(t *testing.T) {
	// The counts are the rate and a share of the sum: both together leave nothing.
	for better, want := range map[float64]bool{0.9: false, 1.1: true} {
		points := []ratePoint{{rate: 100, total: 1}, {rate: 120, total: 1}, {rate: 100, total: 3}, {rate: 120, total: 3}}
		squares := 0.0
		for _, pt := range points {
			squares += pt.total * pt.total / (pt.rate + 0.07*pt.rate*0.07*pt.rate)
		}
		for k := range points {
			points[k].count = points[k].rate + math.Sqrt(better/squares)*points[k].total
			points[k].requests = math.Inf(1)
		}
		if got := sumAdds(points, 1); got != want {
			t.Errorf("%v better: %v, want %v", better, got, want)
		}
	}
}

func TestARateIsComparedFromThreeSnapshotsWithItOn(t *testing.T) {
	for n, want := range map[int]bool{3: false, 4: true} {
		s := only(fresh(inProgress[:n]...)).counted(t, sums([]int{600, 900, 1500}[:n-1]...))
		sig := signals{up: levelSuspicious, risen: levelSuspicious}
		s.parts[onlyFamily].measureRates(&sig, new(buffers))
		if got := sig.loadFit.load != nil; got != want {
			t.Errorf("%d snapshots: %v, want %v", n, got, want)
		}
	}
}

func TestMembersStayWhereMoreThanHalfAreSeenAgain(t *testing.T) {
	for established, want := range map[int]bool{10: false, 11: true} {
		s := signals{cohortsSeen: true, cohort: cohort{
			born: []int{0, 20, 50}, established: []int{0, established, 0}, alive: []int{0, 0, 0}, tested: []bool{false, true, false}}}
		if got := new(part).retains(&s); got != want {
			t.Errorf("%d of 20 were seen again: %v, want %v", established, got, want)
		}
	}
}
