package trend

import (
	"fmt"
	"testing"
)

// even is a run of n points an hour apart.
func even(n int) []point {
	run := make([]point, n)
	for k := range run {
		run[k] = point{index: k, at: float64(k), timed: true}
	}
	return run
}

// judgedCohort has alive members per interval, the last of which is not tested, and others
// that were established and left.
func judgedCohort(gone int, alive ...int) cohort {
	c := cohort{run: even(len(alive)), dated: true, alive: alive, established: append([]int{}, alive...), tested: make([]bool, len(alive))}
	for k := 1; k < len(alive)-1; k++ {
		c.tested[k] = true
	}
	c.established[1] += gone
	c.judge()
	return c
}

func TestCohortsHoldOnBothSidesOfTheirThresholds(t *testing.T) {
	tests := []struct {
		name string
		c    cohort
		want bool
	}{
		{"eight alive from two intervals", judgedCohort(0, 0, 4, 4, 0), true},
		{"seven alive", judgedCohort(0, 0, 4, 3, 0), false},
		{"three snapshots", judgedCohort(0, 0, 8, 0), false},
		{"three snapshots, even", judgedCohort(0, 4, 4, 4), false},
		{"one interval", judgedCohort(0, 0, 8, 0, 0), false},
		{"two of eight gone", judgedCohort(2, 0, 4, 4, 0), true},
		{"three of eleven gone", judgedCohort(3, 0, 4, 4, 0), false},
		{"seven snapshots, two intervals", judgedCohort(0, 0, 0, 0, 4, 4, 0, 0), true},
		{"eight snapshots, two intervals", judgedCohort(0, 0, 0, 0, 4, 0, 4, 0, 0), false},
		{"eight snapshots, three intervals", judgedCohort(0, 0, 0, 3, 3, 0, 4, 0, 0), true},
		{"seven tenths in one interval", judgedCohort(0, 0, 3, 7, 0), true},
		{"more than seven tenths in one interval", judgedCohort(0, 0, 5, 13, 0), false},
		{"a fifth in the newer half", judgedCohort(0, 0, 4, 4, 2, 0, 0), true},
		{"less than a fifth in the newer half", judgedCohort(0, 0, 5, 4, 1, 1, 0), false},
	}
	for _, tc := range tests {
		if tc.c.holds != tc.want {
			t.Errorf("%s: %v, want %v: %v", tc.name, tc.c.holds, tc.want, tc.c.alive)
		}
	}
	long := func(share float64, alive ...int) bool { // the second interval is that share of the time
		c := cohort{run: even(4), dated: true, alive: alive, established: alive, tested: []bool{false, true, true, false}}
		c.run[2].at = c.run[1].at + share/(1-share)
		c.run[3].at = c.run[2].at + 1
		c.judge()
		return c.holds
	}
	for _, tc := range []struct {
		share float64
		alive []int
		want  bool
	}{
		{0.7, []int{0, 16, 84, 0}, true}, {0.7, []int{0, 14, 86, 0}, false},
		{0.85, []int{0, 10, 90, 0}, true}, {0.85, []int{0, 9, 91, 0}, false},
	} {
		if got := long(tc.share, tc.alive...); got != tc.want {
			t.Errorf("%v of the time, %v: %v, want %v", tc.share, tc.alive, got, tc.want)
		}
	}
}

func TestCohortsSufficeAloneWhereTheyAreSteady(t *testing.T) {
	tests := []struct {
		alive []int
		want  bool
	}{
		{[]int{0, 3, 3, 3, 3, 0}, true},
		{[]int{0, 4, 4, 4, 0, 0}, false},
		{[]int{0, 3, 0, 3, 3, 0}, false},
		{[]int{0, 3, 2, 3, 2, 0, 0, 0, 0, 0}, false},
		{[]int{0, 2, 2, 0, 0, 2, 0, 2, 0, 0}, true},
		{[]int{0, 2, 2, 0, 0, 2, 2, 0, 0, 0, 0}, false},
		{[]int{0, 2, 2, 0, 0, 2, 2, 0, 0, 0}, true},
		{[]int{0, 6, 0, 0, 0, 0, 0, 0, 2, 1, 1, 0}, false},
		{[]int{0, 3, 3, 2, 2, 0}, true},
		{[]int{0, 4, 3, 2, 2, 0}, false},
	}
	for _, tc := range tests {
		if c := judgedCohort(0, tc.alive...); c.steady() != tc.want {
			t.Errorf("%v: %v, want %v", tc.alive, c.steady(), tc.want)
		}
	}
	// Fifteen intervals: six suffice.
	six := judgedCohort(0, 0, 2, 0, 0, 2, 0, 0, 2, 0, 0, 2, 0, 0, 2, 0, 2, 0, 0)
	five := judgedCohort(0, 0, 2, 0, 0, 2, 0, 0, 2, 0, 0, 2, 0, 0, 2, 0, 0, 0, 0)
	if !six.steady() || five.steady() {
		t.Errorf("six of sixteen intervals: %v, five: %v; want true, false", six.steady(), five.steady())
	}
}

func TestMembersAreReplacedOnBothSidesOfAFifth(t *testing.T) {
	for line, want := range map[string]bool{". 1-40 1-40 9-50": false, ". 1-40 1-40 10-50": true} {
		c, _ := only(line).series(t).parts[onlyFamily].bestCohort()
		if c.turnover != want {
			t.Errorf("%s: %v, want %v", line, c.turnover, want)
		}
	}
	for line, want := range map[string]bool{". 1-11 1-22 1-33 1-44 5-55": true, ". 1-11 1-22 1-33 1-43 5-54": false} {
		c, _ := only(line).series(t).parts[onlyFamily].bestCohort()
		if c.alone != want {
			t.Errorf("%s suffices: %v, want %v", line, c.alone, want)
		}
	}
}

func TestTheSpacingOfCohortsHasBounds(t *testing.T) {
	for span, want := range map[float64]float64{1.0 / 3600: 0.5 / 3600, 10: 0.2, 49: 0.98, 200: 1} {
		run := []point{{at: 0, timed: true}, {at: span, timed: true}}
		if got := spacing(run); fmt.Sprintf("%.6f", got) != fmt.Sprintf("%.6f", want) {
			t.Errorf("%v hours: %v, want %v", span, got, want)
		}
	}
}

func TestNobodyStaysTurnsAtItsThresholds(t *testing.T) {
	tests := []struct {
		name                     string
		born, established, alive int
		want                     bool
	}{
		{"twenty came, two were seen again", 20, 2, 2, true},
		{"nineteen came", 19, 1, 1, false},
		{"more than a tenth were seen again", 20, 3, 3, false},
		{"an eighth were seen again", 40, 5, 5, false},
		{"seven of many are there", 200, 20, 7, true},
		{"eight of many are there", 200, 20, 8, false},
	}
	for _, tc := range tests {
		s := signals{cohortsSeen: true, up: levelSuspicious, cohort: cohort{
			born: []int{0, tc.born, 50, 50}, established: []int{0, tc.established, 0, 0}, alive: []int{0, tc.alive, 0, 0}, tested: []bool{false, true, false, false}}}
		if new(part).measurePassing(&s); s.passing != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, s.passing, tc.want)
		}
	}
	for name, change := range map[string]func(*signals){
		"no cohort is possible": func(s *signals) { s.cohortsSeen = false },
		"cohorts hold":          func(s *signals) { s.cohorts = true },
		"ages hold":             func(s *signals) { s.ages.holds = true },
		"a mark":                func(s *signals) { s.marked = 1 },
		"counts do not rise":    func(s *signals) { s.up = levelNone },
	} {
		s := signals{cohortsSeen: true, up: levelSuspicious, cohort: cohort{
			born: []int{0, 20, 50, 50}, established: []int{0, 2, 0, 0}, alive: []int{0, 2, 0, 0}, tested: []bool{false, true, false, false}}}
		change(&s)
		if new(part).measurePassing(&s); s.passing {
			t.Errorf("%s, and nobody stays", name)
		}
	}
}

func TestBatchesTurnAtTheirThresholds(t *testing.T) {
	tests := []struct {
		name, counts string
		want         int
	}{
		{"three batches with pauses", "0 5 5 5 10 10 15 15", 3},
		{"four batches", "0 5 5 10 10 15 15 20", 0},
		{"no pause", "0 5 10 15 15 15", 0},
		{"two batches side by side", "0 5 10 10 10", 0},
		{"two batches apart", "0 5 5 10 10", 2},
		{"a pause that chance explains", "0 2 2 4 4", 0},
		{"seven members, chance .057", "0 4 4 7 7", 0},
		{"eight members, chance .038", "0 4 4 8 8", 2},
	}
	for _, tc := range tests {
		s := signals{cohorts: true}
		only(piling(tc.counts)).series(t).parts[onlyFamily].measureBatches(&s)
		if s.batches != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, s.batches, tc.want)
		}
	}
	var s signals
	if only(piling("0 5 5 5 10 10 15 15")).series(t).parts[onlyFamily].measureBatches(&s); s.batches != 0 {
		t.Error("batches without cohorts")
	}
}
