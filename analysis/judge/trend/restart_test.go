package trend

import "testing"

func TestAGrowthEndsWithItsProcessWhereTheNextOneDoesNotGrow(t *testing.T) {
	run := func(from float64, counts ...int) (out []point) {
		for i, n := range counts {
			out = append(out, point{index: int(from) + i, at: from + float64(i), count: n})
		}
		return out
	}
	for _, test := range []struct {
		name  string
		runs  [][]point
		ended bool
	}{
		{"flat for as long as shows 40", [][]point{run(0, 5, 25, 45), run(3, 5, 5, 5)}, true},
		{"two counts tell nothing", [][]point{run(0, 5, 25, 45), run(3, 5, 5)}, false},
		{"at its pace 5 were due", [][]point{run(0, 5, 7, 10), run(3, 5, 5, 5)}, true},
		{"at its pace fewer than 5 were due", [][]point{run(0, 5, 7, 9), run(3, 5, 5, 5)}, false},
		{"a tenth of what was due came", [][]point{run(0, 5, 25, 45), run(3, 5, 5, 9)}, true},
		{"more than a tenth of what was due came", [][]point{run(0, 5, 25, 45), run(3, 5, 5, 10)}, false},
		{"a peak since counts", [][]point{run(0, 5, 25, 45), run(3, 5, 15, 5)}, false},
		{"the next process begins with as many", [][]point{run(0, 5, 25, 45), run(3, 45, 45, 45)}, false},
		{"the first process did not grow", [][]point{run(0, 45, 25, 5), run(3, 1, 1, 1)}, false},
		{"there was no other process", [][]point{run(0, 5, 25, 45, 45, 45, 45)}, false},
	} {
		if got := (&part{runs: test.runs}).endedByStart(); (got != nil) != test.ended {
			t.Errorf("%s: %+v", test.name, got)
		} else if got != nil && (got.at.count != test.runs[0][len(test.runs[0])-1].count || got.expected < stopExpected) {
			t.Errorf("%s: ended at %+v, %.1f were due", test.name, got.at, got.expected)
		}
	}
}
