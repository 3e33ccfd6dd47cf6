package trend

import (
	"fmt"
	"testing"

	"leakdiff/analysis"
)

// The tables of this file stand on both sides of every threshold: a rule that moves turns one
// of them red. `make mutate` asks whether that is so.

func TestEveryRowOfTheVerdictTable(t *testing.T) {
	ended := &stop{}
	enough := fit{n: 4, longest: 4, epochs: 1}
	tests := []struct {
		name string
		s    signals
		want analysis.Verdict
	}{
		{"nothing", signals{fit: enough}, analysis.Stable},
		{"a mark", signals{fit: enough, marked: 1}, analysis.Leaking},
		{"a mark before too few points", signals{marked: 1}, analysis.Leaking},
		{"one point", signals{fit: fit{n: 1}}, analysis.TooFewPoints},
		{"two points", signals{fit: fit{n: 2}}, analysis.Stable},
		{"one point with ages", signals{fit: fit{n: 1}, ages: ages{holds: true}}, analysis.Suspicious},
		{"a load before cohorts", signals{fit: enough, loadFit: loadFit{scales: true}, cohorts: true, up: levelSuspicious}, analysis.Scaling},
		{"cohorts and counts", signals{fit: enough, cohorts: true, up: levelSuspicious}, analysis.Leaking},
		{"cohorts and counts that have stopped", signals{fit: enough, cohorts: true, up: levelSuspicious, stop: ended}, analysis.Stopped},
		{"cohorts", signals{fit: enough, cohorts: true}, analysis.Suspicious},
		{"cohorts that have stopped", signals{fit: enough, cohorts: true, stop: ended}, analysis.Stopped},
		{"ages", signals{fit: enough, ages: ages{holds: true}}, analysis.Suspicious},
		{"counts", signals{fit: enough, up: levelSuspicious}, analysis.Suspicious},
		{"nobody stays", signals{fit: enough, up: levelSuspicious, passing: true}, analysis.Grew},
		{"nobody stays, without identities", signals{fit: enough, up: levelLeaking, passing: true}, analysis.Grew},
		{"emptied before", signals{fit: enough, up: levelLeaking, emptied: &emptying{}}, analysis.Grew},
		{"emptied before, members that stay since", signals{fit: enough, cohorts: true, up: levelLeaking, emptied: &emptying{}}, analysis.Grew},
		{"cohorts of replaced members", signals{fit: enough, cohorts: true, turnover: true}, analysis.Stable},
		{"cohorts of replaced members of which more came than left", signals{fit: enough, cohorts: true, turnover: true, grew: true}, analysis.Suspicious},
		{"counts of replaced members", signals{fit: enough, up: levelSuspicious, turnover: true}, analysis.Suspicious},
		{"new before stopped", signals{fit: enough, appeared: true, stop: ended}, analysis.New},
		{"suspicious before new", signals{fit: enough, appeared: true, cohorts: true}, analysis.Suspicious},
		{"stopped before grew", signals{fit: enough, stop: ended, grew: true}, analysis.Stopped},
		{"grew", signals{fit: enough, grew: true}, analysis.Grew},
		{"grew before shrinking", signals{fit: enough, grew: true, down: levelSuspicious}, analysis.Grew},
		{"shrinking", signals{fit: enough, down: levelSuspicious}, analysis.Shrinking},
		{"shrinking before gone", signals{fit: enough, down: levelLeaking, vanished: true}, analysis.Shrinking},
		{"gone", signals{fit: enough, vanished: true}, analysis.Gone},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := analysis.Stable
			for _, row := range verdicts() {
				if verdict, ok := row(&tc.s); ok {
					got = verdict
					break
				}
			}
			if got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestWhatAccuses(t *testing.T) {
	one := fit{n: 10, longest: 10, epochs: 1}
	two := fit{n: 10, longest: 5, epochs: 2, slope: 1, newer: 1, newest: 1}
	slowing := fit{n: 10, longest: 5, epochs: 2, slope: 1, newer: 0.1, newest: 0.1}
	old := ages{holds: true}
	tests := []struct {
		name string
		s    signals
		want bool
	}{
		{"nothing", signals{fit: one}, false},
		{"cohorts and suspicious counts", signals{fit: one, cohorts: true, up: levelSuspicious}, true},
		{"cohorts without counts", signals{fit: one, cohorts: true}, false},
		{"members are replaced", signals{fit: one, cohorts: true, up: levelLeaking, turnover: true}, false},
		{"nobody stays", signals{fit: one, cohorts: true, up: levelLeaking, passing: true}, false},
		{"emptied before", signals{fit: one, cohorts: true, up: levelLeaking, emptied: &emptying{}}, false},
		{"old ones of replaced members, and ages", signals{fit: one, cohorts: true, cohort: cohort{older: 1}, ages: old}, false},
		{"batches", signals{fit: one, cohorts: true, up: levelLeaking, batches: 3}, false},
		{"batches of old members", signals{fit: one, cohorts: true, up: levelSuspicious, batches: 3, ages: old}, false},
		{"batches of old members in line", signals{fit: one, cohorts: true, up: levelLeaking, batches: 3, ages: old}, true},
		{"two starts, suspicious counts", signals{fit: two, cohorts: true, up: levelSuspicious}, false},
		{"two starts, counts that go on", signals{fit: two, cohorts: true, up: levelLeaking}, true},
		{"two starts, suspicious counts and ages", signals{fit: two, cohorts: true, up: levelSuspicious, ages: old}, true},
		{"cohorts that suffice alone", signals{fit: one, cohorts: true, cohort: cohort{alone: true}}, true},
		{"cohorts that suffice alone, two starts", signals{fit: two, cohorts: true, cohort: cohort{alone: true}}, false},
		{"cohorts and ages", signals{fit: one, cohorts: true, ages: old}, true},
		{"cohorts and ages, two starts that go on", signals{fit: two, cohorts: true, ages: old}, true},
		{"cohorts and ages, two starts that slow down", signals{fit: slowing, cohorts: true, ages: old}, false},
		{"cohorts and ages, two starts of 5 snapshots", signals{fit: fit{n: 5, epochs: 2, slope: 1}, cohorts: true, ages: old}, true},
		{"cohorts and ages, two starts of 6 snapshots", signals{fit: fit{n: 6, epochs: 2, slope: 1}, cohorts: true, ages: old}, false},
		{"ages", signals{fit: one, ages: old}, false},
		{"ages and suspicious counts", signals{fit: one, ages: old, up: levelSuspicious, identified: true}, false},
		{"ages and leaking counts", signals{fit: one, ages: old, up: levelLeaking, identified: true}, true},
		{"ages and suspicious counts of 3 snapshots", signals{fit: fit{n: 3, epochs: 1}, ages: old, up: levelSuspicious}, true},
		{"ages and suspicious counts of 4 snapshots", signals{fit: fit{n: 4, epochs: 1}, ages: old, up: levelSuspicious}, false},
		{"ages of 3 snapshots", signals{fit: fit{n: 3, epochs: 1}, ages: old}, false},
		{"leaking counts with identities", signals{fit: one, up: levelLeaking, identified: true}, false},
		{"leaking counts without identities", signals{fit: one, up: levelLeaking}, true},
		{"suspicious counts without identities", signals{fit: one, up: levelSuspicious}, false},
	}
	for _, tc := range tests {
		if got := tc.s.accuses(); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestTheLevelsOfCountsTurnAtTheirThresholds(t *testing.T) {
	// A trend that passes everything; each case takes one thing away.
	strong := func(n int) fit {
		return fit{n: n, longest: n, epochs: 1, z: 5, filled: true, straight: true, growth: 10, gate: 10, slope: 1, newer: 1, newest: 1}
	}
	tests := []struct {
		name   string
		n      int
		p      float64
		change func(*fit)
		want   level
	}{
		{"one snapshot", 1, 0, nil, levelNone},
		{"two snapshots", 2, 1, nil, levelSuspicious},
		{"two snapshots, deviation 2.33", 2, 1, func(f *fit) { f.z = 2.33 }, levelSuspicious},
		{"two snapshots, deviation 2.32", 2, 1, func(f *fit) { f.z = 2.32 }, levelNone},
		{"three snapshots", 3, 0, nil, levelSuspicious},
		{"four snapshots", 4, 0.05, nil, levelLeaking},
		{"four snapshots of epochs of two", 4, 0.05, func(f *fit) { f.longest = 2 }, levelSuspicious},
		{"four snapshots, p .051", 4, 0.051, nil, levelSuspicious},
		{"four snapshots, p .25", 4, 0.25, nil, levelSuspicious},
		{"four snapshots, p .26", 4, 0.26, nil, levelNone},
		{"four snapshots, a step", 4, 0.05, func(f *fit) { f.straight = false }, levelSuspicious},
		{"five snapshots, deviation 2.33", 5, 0.05, func(f *fit) { f.z = 2.33 }, levelLeaking},
		{"five snapshots, deviation 2.32", 5, 0.05, func(f *fit) { f.z = 2.32 }, levelNone},
		{"five snapshots that stand", 5, 0.05, func(f *fit) { f.newer = 0 }, levelLeaking},
		{"six snapshots that stand", 6, 0.05, func(f *fit) { f.newer = 0 }, levelNone},
		{"six snapshots, p .05, small deviation", 6, 0.05, func(f *fit) { f.z = 0 }, levelLeaking},
		{"six snapshots, p .06", 6, 0.06, nil, levelSuspicious},
		{"seven snapshots, p .05", 7, 0.05, nil, levelLeaking},
		{"eight snapshots, p .05", 8, 0.05, nil, levelSuspicious},
		{"eight snapshots, p .01", 8, 0.01, nil, levelLeaking},
		{"eight snapshots, p .011", 8, 0.011, nil, levelSuspicious},
		{"eight snapshots, p .1", 8, 0.1, nil, levelSuspicious},
		{"eight snapshots, p .11", 8, 0.11, nil, levelNone},
		{"eight snapshots, p .1, deviation 1.64", 8, 0.1, func(f *fit) { f.z = 1.64 }, levelSuspicious},
		{"eight snapshots, p .1, deviation 1.63", 8, 0.1, func(f *fit) { f.z = 1.63 }, levelNone},
		{"eight snapshots, a step", 8, 0.01, func(f *fit) { f.straight = false }, levelSuspicious},
		{"eight snapshots, a step, deviation 1.64", 8, 0.01, func(f *fit) { f.straight, f.z = false, 1.64 }, levelSuspicious},
		{"eight snapshots, a step, deviation 1.63", 8, 0.01, func(f *fit) { f.straight, f.z = false, 1.63 }, levelNone},
		{"six snapshots of epochs of three", 6, 0.05, func(f *fit) { f.longest = 3 }, levelLeaking},
		{"six snapshots of epochs of two", 6, 0.05, func(f *fit) { f.longest = 2 }, levelSuspicious},
		{"growth below the gate", 8, 0.01, func(f *fit) { f.growth = 9.9 }, levelNone},
		{"the newer half at .31", 8, 0.01, func(f *fit) { f.newer = 0.31 }, levelLeaking},
		{"the newer half at .3", 8, 0.01, func(f *fit) { f.newer = 0.3 }, levelNone},
		{"one start, the newest halves stand", 8, 0.01, func(f *fit) { f.newest = 0 }, levelLeaking},
		{"two starts, the newest halves at .31", 8, 0.01, func(f *fit) { f.epochs, f.newest = 2, 0.31 }, levelLeaking},
		{"two starts, the newest halves at .3", 8, 0.01, func(f *fit) { f.epochs, f.newest = 2, 0.3 }, levelNone},
	}
	for _, tc := range tests {
		f := strong(tc.n)
		if tc.change != nil {
			tc.change(&f)
		}
		if got := f.level(1, tc.p); got != tc.want {
			t.Errorf("%s: level %d, want %d", tc.name, got, tc.want)
		}
	}
	for start, want := range map[float64]float64{0: 10, 66: 10, 100: 15, 200: 30} {
		if got := leastGrowth(start); got != want {
			t.Errorf("gate of %v: %v, want %v", start, got, want)
		}
	}
}

// spread returns ages in hours: n members, evenly from low to high.
func spread(n int, low, high float64) []float64 {
	out := make([]float64, n)
	for k := range out {
		out[k] = low + (high-low)*float64(k)/float64(n-1)
	}
	return out
}

func TestAgesHoldOnBothSidesOfTheirThresholds(t *testing.T) {
	join := func(lists ...[]float64) (out []float64) {
		for _, l := range lists {
			out = append(out, l...)
		}
		return out
	}
	tests := []struct {
		name    string
		members int
		kept    []float64
		want    bool
	}{
		{"ten even ages", 10, spread(10, 0.5, 10), true},
		{"nine even ages", 9, spread(9, 0.5, 10), false},
		{"a twentieth of the members", 200, spread(10, 0.5, 10), true},
		{"less than a twentieth", 201, spread(10, 0.5, 10), false},
		{"as old as asked", 10, spread(10, 0.5, 2), true},
		{"younger than asked", 10, spread(10, 0.5, 1.99), false},
		{"half in one bin", 20, join(spread(10, 9.5, 10), spread(10, 0.6, 8)), true},
		{"more than half in one bin", 20, join(spread(11, 9.5, 10), spread(9, 0.6, 8)), false},
		{"four bins", 20, join(spread(5, 0.5, 0.6), spread(5, 3.8, 3.9), spread(5, 6.6, 6.7), spread(5, 9.9, 10)), true},
		{"three bins", 21, join(spread(7, 0.5, 0.6), spread(7, 5, 5.1), spread(7, 9.9, 10)), false},
		{"half older than .30 of the oldest", 20, join(spread(9, 0.5, 2.9), spread(11, 3.1, 10)), true},
		{"half younger than .30 of the oldest", 20, join(spread(12, 0.5, 2.9), spread(8, 3.1, 10)), false},
		{"a fifth younger than half", 20, join(spread(4, 1, 4), spread(16, 5.5, 10)), true},
		{"less than a fifth younger", 21, join(spread(4, 1, 4), spread(17, 5.5, 10)), false},
	}
	for _, tc := range tests {
		a := ages{members: tc.members}
		if a.judge(tc.kept, 0.5, 2); a.holds != tc.want {
			t.Errorf("%s: %v, want %v: %+v", tc.name, a.holds, tc.want, a)
		}
	}
}

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

func TestGrewTurnsAtItsThresholds(t *testing.T) {
	for _, tc := range []struct {
		born, gone int
		want       bool
	}{{3, 0, true}, {2, 0, false}, {4, 1, false}, {9, 1, false}, {10, 1, true}, {60, 40, false}, {70, 40, true}} {
		if got := outweighs(tc.born, tc.gone); got != tc.want {
			t.Errorf("%d new, %d gone: %v, want %v", tc.born, tc.gone, got, tc.want)
		}
	}
	// Without identities: the gate and a deviation of 2.33.
	for counts, want := range map[string]analysis.Verdict{"#30 #20": analysis.Stable, "#1 #10": analysis.Stable, "#1 #13": analysis.Stable, "#1 #14": analysis.Grew} {
		verdict := only(counts).series(t).JudgeAll()[onlyFamily].Verdict
		if got := verdict.Rose(); got != (want == analysis.Grew) {
			t.Errorf("%s: %s", counts, verdict)
		}
	}
}

func TestStoppedTurnsAtItsThresholds(t *testing.T) {
	tests := []struct {
		name, counts, times string
		want                bool
	}{
		{"five expected and none came", "0 5 5", "0 60 120", true}, // chance .0067
		{"four expected and none came", "0 4 4", "0 60 120", false},
		{"a tenth came", "0 20 22", "0 60 120", true},
		{"more than a tenth came", "0 20 23", "0 60 120", false},
		{"a tenth of what came before", "0 20 22", "0 60 240", true},
		{"more than a tenth of what came before", "0 20 23", "0 60 240", false},
		{"a pause twice as long", "0 10 10 20 20", "0 60 120 180 299", false},
		{"a pause more than twice as long", "0 10 10 20 20", "0 60 120 180 301", true},
		{"two snapshots", "0 20", "0 60", false},
		{"a fifth of the births ended", "0 20 20 16", "0 60 120 180", true},
		{"more than a fifth of the births ended", "0 20 20 15", "0 60 120 180", false},
	}
	for _, tc := range tests {
		s := only(unidentified(tc.counts)).at(tc.times).series(t)
		if got := s.parts[onlyFamily].stopped() != nil; got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
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
}

func TestARecoveryTurnsAtItsThresholds(t *testing.T) {
	tests := []struct {
		name, counts string
		want         bool
	}{
		{"a rise of eight that went", "2 6 10 2", true},
		{"a rise of seven that went", "2 6 9 2", false},
		{"a fifth is left", "0 5 10 2", true},
		{"more than a fifth is left", "0 5 10 3", false},
		{"a quarter is left", "0 5 20 5", false},
		{"half came back", "0 5 10 0 5", true},
		{"more than half came back", "0 5 10 0 6", false},
		{"a fall of eight before", "0 16 8 16 0", false},
		{"a fall of seven before", "0 14 7 14 0", true},
		{"a fall of less than half before", "0 17 9 17 0", true},
	}
	for _, tc := range tests {
		s := only(unidentified(tc.counts)).series(t)
		if _, got := s.parts[onlyFamily].recovered(); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestARecoveryEndsThoseThatCame(t *testing.T) {
	for line, want := range map[string]bool{". 1-5 1-10 5,10": true, ". 1-5 1-10 4-5": false} {
		if _, got := only(line).series(t).parts[onlyFamily].recovered(); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
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

func TestDeviationsByIdentity(t *testing.T) {
	p := only("1-200 1-204 1-208 1-212").series(t).parts[onlyFamily]
	s := signals{fit: fit{n: 4, rise: 12, z: 0.4, filled: true}}
	if p.weighByIdentity(&s, new(buffers)); fmt.Sprintf("%.3f", s.fit.z) != "2.449" { // 12 over the root of 24
		t.Errorf("deviation %.3f, want 2.449", s.fit.z)
	}
	for n, want := range map[int]bool{3: false, 4: true} {
		s := signals{fit: fit{n: n, rise: 12, filled: true}}
		if p.weighByIdentity(&s, new(buffers)); s.fit.z > 0 != want {
			t.Errorf("%d snapshots: %v, want it weighed: %v", n, s.fit.z, want)
		}
	}
	counted := only("#1 #14").series(t).parts[onlyFamily]
	for z, want := range map[float64]bool{2.32: false, 2.33: true, 2.4: true} {
		s := signals{fit: fit{n: 2, rise: 13, gate: 10, z: z}}
		if counted.measureBalance(&s); s.grew != want {
			t.Errorf("deviation %v: grew %v, want %v", z, s.grew, want)
		}
	}
	for gate, want := range map[float64]bool{13: true, 13.1: false} {
		s := signals{fit: fit{n: 2, rise: 13, gate: gate, z: 3}}
		if counted.measureBalance(&s); s.grew != want {
			t.Errorf("gate %v: grew %v, want %v", gate, s.grew, want)
		}
	}
}

func TestAFamilyScalesOnBothSidesOfItsThresholds(t *testing.T) {
	tests := []struct {
		name, counts string
		loads        []float64
		want         bool
	}{
		{"in proportion", "#100 #150 #200", []float64{100, 150, 200}, true},
		{"15 % above", "#100 #172 #200", []float64{100, 150, 200}, true},
		{"16 % above", "#100 #174 #200", []float64{100, 150, 200}, false},
		{"two members beside", "#4 #8 #8", []float64{4, 6, 8}, true},
		{"three members beside", "#4 #9 #8", []float64{4, 6, 8}, false},
		{"a load that varies by 10 %", "#100 #105 #110", []float64{100, 105, 110}, true},
		{"a load that varies by 9 %", "#100 #105 #109", []float64{100, 105, 109}, false},
		{"a small variation, 3.5 % beside", "#1000 #1087 #1100", []float64{1000, 1050, 1100}, true},
		{"a small variation, 4 % beside", "#1000 #1092 #1100", []float64{1000, 1050, 1100}, false},
		{"two snapshots with a load", "#0 #4 #8", []float64{0, 4, 8}, true},
		{"one snapshot with a load", "#0 #0 #8", []float64{0, 0, 8}, false},
	}
	for _, tc := range tests {
		s := only(tc.counts).series(t)
		if _, got := s.parts[onlyFamily].scalesWith(&load{name: "pods", values: tc.loads}, 0); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
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

func TestWhichAgesCountTurnsAtItsThresholds(t *testing.T) {
	kept := func(uptime float64, waits ...int32) ages {
		return seriesOf([]*analysis.Snapshot{aged(uptime, waits...)}).parts[onlyFamily].measureAges(new(buffers))
	}
	tests := []struct {
		name   string
		uptime float64
		wait   int32
		want   int
	}{
		{"half an hour", 10, 30, 10}, {"29 minutes", 10, 29, 9},
		{"95 % of the uptime", 10, 570, 10}, {"with the start", 10, 571, 9},
	}
	for _, tc := range tests {
		if a := kept(tc.uptime, append(every(60, 300, 30), tc.wait)...); a.kept != tc.want {
			t.Errorf("%s: %d ages count, want %d", tc.name, a.kept, tc.want)
		}
	}
	for _, tc := range []struct {
		name   string
		uptime float64
		oldest int32
		want   bool
	}{
		{"a quarter of the uptime", 16, 240, true}, {"less than a quarter", 16.2, 240, false},
		{"two hours", 4, 120, true}, {"less than two hours", 4, 119, false},
	} {
		step := (tc.oldest - 31) / 11
		if a := kept(tc.uptime, append(every(31, tc.oldest-step, step), tc.oldest)...); a.holds != tc.want {
			t.Errorf("%s: %v, want %v: %+v", tc.name, a.holds, tc.want, a)
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

func TestALeakIsRememberedOnBothSidesOfItsThresholds(t *testing.T) {
	// 10, 20, 30, 40, 50 came; then some of the 30 that proved it leave and none comes.
	leaves := func(left int) *memory {
		lines := []string{"1-10", "1-20", "1-30", "1-40", "1-50"}
		for range 8 {
			lines = append(lines, fmt.Sprintf("1-10,%d-50", 11+left))
		}
		line := ""
		for _, l := range lines {
			line += l + " "
		}
		return only(line[:len(line)-1]).series(t).judgements().byFingerprint[onlyFamily].signals.memory
	}
	for left, want := range map[int]bool{6: true, 7: false} {
		if got := leaves(left); (got != nil) != want {
			t.Errorf("%d of 30 left: %+v, want it remembered: %v", left, got, want)
		}
	}
	slowed := func(counts string) bool {
		return only(piling(counts)).series(t).parts[onlyFamily].slowedSince(2)
	}
	for counts, want := range map[string]bool{
		"0 10 20 22 25": true, "0 10 20 23 26": false, // 20 were due
		"0 10 20 20 20": true, "0 3 5 5 5": true, "0 2 4 4 4": false,
	} {
		if got := slowed(counts); got != want {
			t.Errorf("%s: %v, want %v", counts, got, want)
		}
	}
}

func TestALineFitsAsWellAsAStepWithinFivePercent(t *testing.T) {
	for counts, want := range map[string]bool{
		"#0 #10 #20 #30 #40 #50": true, "#0 #0 #0 #50 #50 #50": false, "#0 #1 #2 #50 #51 #52": false, "#0 #15 #15 #30 #30 #50": true,
		"#0 #0 #0 #12 #12 #32": true,  // 0.99 times the rest of a step
		"#0 #0 #0 #8 #16 #36":  false, // 1.08 times
	} {
		if got := straight(only(counts).series(t).parts[onlyFamily].comparable()); got != want {
			t.Errorf("%s: %v, want %v", counts, got, want)
		}
	}
}

func TestOldMembersAreJudgedOnBothSidesOfTheirThresholds(t *testing.T) {
	// At each of 12 snapshots twenty come that are there at the next and then leave, and some
	// that stay.
	mixture := func(stay int, oldLeave int) cohort {
		line := ""
		for i := range 12 {
			words := fmt.Sprintf("%d-%d,%d-%d", 1000+100*i, 1000+100*i+19, 1100+100*i, 1100+100*i+19)
			for j := range i + 1 {
				for k := range stay {
					if id := 1 + 10*j + k; j*stay+k >= oldLeave || i < 8 {
						words += fmt.Sprintf(",%d", id)
					}
				}
			}
			line += words + " "
		}
		p := only(line[:len(line)-1]).series(t).parts[onlyFamily]
		c, _ := p.bestCohort()
		return c
	}
	if c := mixture(2, 0); !c.holds || c.older == 0 {
		t.Errorf("two stay each time: %v, older than %v; want that of the old ones", c.holds, c.older)
	}
	if c := mixture(2, 8); c.holds {
		t.Error("eight of the old ones left, and the cohort holds")
	}
	if c := mixture(0, 0); c.holds {
		t.Error("nobody stays, and the cohort holds")
	}
}

func TestUnitsFormOnBothSidesOfTheirThresholds(t *testing.T) {
	for _, tc := range []struct {
		name   string
		counts map[string]string
		want   string
	}{
		{"two rises", map[string]string{"a": "0 16 16 32 32", "b": "0 8 8 16 16"}, "a:2 b:1"},
		{"one rise", map[string]string{"a": "0 32 32 32 32", "b": "0 16 16 16 16"}, ""},
		{"five members in two rises", map[string]string{"a": "0 6 6 10 10", "b": "0 3 3 5 5"}, "a:2 b:1"},
		{"four members in two rises", map[string]string{"a": "0 4 4 8 8", "b": "0 2 2 4 4"}, ""},
		{"four members in four rises", map[string]string{"a": "0 10 20 30 40", "b": "0 1 2 3 4"}, "a:10 b:1"},
		{"three members in three rises", map[string]string{"a": "0 10 20 30", "b": "0 1 2 3"}, ""},
	} {
		if got := shapes(lockstep(tc.counts).series(t).Units()); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestAgesToTheSecondCountByShares(t *testing.T) {
	measured := func(hours ...float64) ages {
		snap := aged(10, make([]int32, len(hours))...)
		snap.Groups[0].Family.Kind = analysis.KindThread
		snap.Groups[0].Members.Wait = nil
		setTotal(snap, analysis.KindThread, len(hours))
		in := Input{Snapshots: []*analysis.Snapshot{snap}, Elapsed: []map[string][]float64{{onlyFamily: hours}}}
		return NewSeries(in).parts[onlyFamily].measureAges(new(buffers))
	}
	for age, want := range map[float64]int{0.2: 12, 0.19: 11, 9.5: 12, 9.6: 11} {
		if a := measured(append(spread(11, 1, 6), age)...); a.kept != want {
			t.Errorf("%v of 10 hours: %d count, want %d", age, a.kept, want)
		}
	}
	for oldest, want := range map[float64]bool{2.5: true, 2.4: false} {
		if a := measured(spread(12, 0.3, oldest)...); a.holds != want {
			t.Errorf("the oldest %v of 10 hours: %v, want %v", oldest, a.holds, want)
		}
	}
}

func TestStartTimesOfOneProcessDifferByTenSeconds(t *testing.T) {
	for apart, want := range map[float64]int{10: 0, 11: 1} {
		snaps := only(piling("10 20")).snapshots(t)
		for i, snap := range snaps {
			snap.Figures = map[string]float64{startFigure: 1e9 + apart*float64(i)}
		}
		if got := Epochs(snaps)[1]; got != want {
			t.Errorf("%v seconds apart: epoch %d, want %d", apart, got, want)
		}
	}
}

func TestAKeyIsSharedByThreeFamilies(t *testing.T) {
	lines := []string{"1 1-3 1-3 1-3 1-3 1-3", "11 11 11 11-13 11-13 11-13", "21 21 21-23 21-23 21-23 21-23", "31 31 31 31 31-33 31-33", "41 41 41 41 41 41-43"}
	for families, want := range map[int]int{2: 0, 3: 1, 5: 1} {
		sc := only("101-110 101-110 101-110 101-110 101-110 101-110")
		for k, line := range lines[:families] {
			sc.families[fmt.Sprintf("g1:tenant%d", k)] = line
		}
		snaps := sc.snapshots(t)
		for _, snap := range snaps {
			for g := range snap.Groups {
				if f := snap.Groups[g].Family; f.Fingerprint != onlyFamily && f.Fingerprint != "g1:main" {
					f.LooseCreator = "tenant.Open"
				}
			}
		}
		if got := len(seriesOf(snaps).Keys()); got != want {
			t.Errorf("%d families: %d keys, want %d", families, got, want)
		}
	}
}

func TestATotalNamesFiveFamiliesAndThreeCreators(t *testing.T) {
	sc := only("1-10 1-10")
	for k := range 7 {
		sc.families[fmt.Sprintf("g1:f%d", k)] = fmt.Sprintf(". %d-%d", 100*(k+1), 100*(k+1)+3+k)
	}
	snaps := sc.snapshots(t)
	for _, snap := range snaps {
		for g := range snap.Groups {
			snap.Groups[g].Family.LooseCreator = "of." + snap.Groups[g].Family.Fingerprint
		}
		setTotal(snap, analysis.KindGoroutine, totalOf(snap))
	}
	totals := seriesOf(snaps).Totals()
	if len(totals) != 1 || len(totals[0].Families) != 5 || len(totals[0].Creators) != 3 {
		t.Errorf("%+v", totals)
	}
}

func totalOf(snap *analysis.Snapshot) int {
	n := 0
	for g := range snap.Groups {
		n += snap.Groups[g].Count
	}
	return n
}
