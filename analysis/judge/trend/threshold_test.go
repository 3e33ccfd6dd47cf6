package trend

import (
	"testing"

	"leakdiff/analysis"
)

// The tables of this file stand on both sides of every threshold: a rule that moves turns one
// of them red. `make mutate` asks whether that is so.
func TestEveryRowOfTheVerdictTable(t *testing.T) {
	ended := &stop{recent: 10, took: 1, closing: 0.5}
	enough := fit{n: 4, longest: 4, epochs: 1}
	risen := enough
	risen.rise = 1
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
		{"cohorts", signals{fit: risen, cohorts: true}, analysis.Suspicious},
		{"cohorts of a family without a rise", signals{fit: enough, cohorts: true}, analysis.Stable},
		{"cohorts that follow a gauge", signals{fit: risen, cohorts: true, up: levelLeaking, follows: &following{}}, analysis.Suspicious},
		{"cohorts that have stopped", signals{fit: enough, cohorts: true, stop: ended}, analysis.Stopped},
		{"ages", signals{fit: enough, ages: ages{holds: true}}, analysis.Suspicious},
		{"counts", signals{fit: enough, up: levelSuspicious}, analysis.Suspicious},
		{"nobody stays", signals{fit: enough, up: levelSuspicious, passing: true}, analysis.Grew},
		{"nobody stays, without identities", signals{fit: enough, up: levelLeaking, passing: true}, analysis.Grew},
		{"nobody of those that came early is there", signals{fit: enough, up: levelSuspicious, acquitted: 20, ages: ages{holds: true}}, analysis.Grew},
		{"nobody of those that came early is there, level counts", signals{fit: enough, acquitted: 20, ages: ages{holds: true}}, analysis.Stable},
		{"all are replaced at a level", signals{fit: enough, up: levelSuspicious, renewed: true}, analysis.Stable},
		{"back after a restart", signals{fit: enough, up: levelSuspicious, returned: 5}, analysis.Stable},
		{"a warm-up that ends", signals{fit: enough, up: levelSuspicious, warmed: true}, analysis.Stable},
		{"emptied before", signals{fit: enough, up: levelLeaking, emptied: &emptying{}}, analysis.Grew},
		{"emptied before, members that stay since", signals{fit: enough, cohorts: true, up: levelLeaking, emptied: &emptying{}}, analysis.Grew},
		{"cohorts of replaced members", signals{fit: risen, cohorts: true, turnover: true}, analysis.Stable},
		{"cohorts of replaced members of which more came than left", signals{fit: risen, cohorts: true, turnover: true, grew: true}, analysis.Suspicious},
		{"counts of replaced members", signals{fit: enough, up: levelSuspicious, turnover: true}, analysis.Suspicious},
		{"new before stopped", signals{fit: enough, appeared: true, stop: ended}, analysis.New},
		{"suspicious before new", signals{fit: risen, appeared: true, cohorts: true}, analysis.Suspicious},
		{"stopped before grew", signals{fit: enough, stop: ended, grew: true}, analysis.Stopped},
		{"stands still for too short a time, and not stopped", signals{fit: risen, cohorts: true, up: levelSuspicious, stop: &stop{recent: 10, took: 1, closing: 0.4}}, analysis.Grew},
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
		{"nobody of those that came early is there", signals{fit: one, up: levelLeaking, ages: old, acquitted: 20}, false},
		{"emptied before", signals{fit: one, cohorts: true, up: levelLeaking, emptied: &emptying{}}, false},
		{"old ones of replaced members, two starts", signals{fit: two, cohorts: true, cohort: cohort{older: 1}}, true},
		{"old ones of replaced members, and ages", signals{fit: one, cohorts: true, cohort: cohort{older: 1}, ages: old}, true},
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
