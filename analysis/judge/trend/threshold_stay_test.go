package trend

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// stayers are members at 17 snapshots, an hour apart: some came at these snapshots and stay, some
// came first and left at the ninth, others were seen once, at the fifth.
func stayers(gone, once int, stay ...int) (all []life, at []float64) {
	for _, first := range stay {
		all = append(all, life{first, 16})
	}
	for range gone {
		all = append(all, life{1, 9})
	}
	for range once {
		all = append(all, life{5, 5})
	}
	for k := range 17 {
		at = append(at, float64(k))
	}
	return all, at
}

// Eight members that are old after eight of 16 hours, from three intervals.
var eightOld = []int{1, 1, 2, 2, 2, 8, 8, 8}

func TestWhoStaysIsToldFromWhoLeavesOnBothSidesOfEveryThreshold(t *testing.T) {
	tests := []struct {
		name       string
		gone, once int
		stay       []int
		want       bool
	}{
		{"eight stay of three intervals", 0, 40, eightOld, true},
		{"seven stay", 0, 40, eightOld[1:], false},
		{"they came in two intervals", 0, 40, []int{1, 1, 1, 1, 8, 8, 8, 8}, false},
		{"seven tenths came in one interval", 0, 40, []int{1, 2, 2, 2, 2, 2, 2, 2, 8, 8}, true},
		{"eight of eleven came in one interval", 0, 40, []int{1, 2, 2, 2, 2, 2, 2, 2, 2, 8, 8}, false},
		{"one of ten old ones left", 1, 60, append([]int{3}, eightOld...), true},
		{"one of nine old ones left", 1, 60, eightOld, false},
		{"two of 13 came in the newer half", 0, 40, []int{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 5, 8}, true},
		{"two of 14 came in the newer half", 0, 40, []int{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 5, 8}, false},
		{"chance explains it with .0027", 0, 13, slices.Concat(eightOld, eightOld), false},
		{"chance explains it with .0023", 0, 14, slices.Concat(eightOld, eightOld, []int{7}), true},
	}
	for _, tc := range tests {
		all, at := stayers(tc.gone, tc.once, tc.stay...)
		c := cohort{run: even(17), dated: true}
		if _, got := c.oldOnes(all, at, 8); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestYoungMembersMustHaveLeft(t *testing.T) {
	for once, want := range map[int]bool{4: false, 5: true} {
		all, at := stayers(0, once, eightOld...)
		c := cohort{run: even(17), dated: true}
		if _, got := c.oldOnes(all, at, 2); got != want {
			t.Errorf("%d of them: %v, want %v", once, got, want)
		}
	}
	if got := (life{1, 2}).stay([]float64{0, 1, 3, 7, 9}); got != 4.5 { // from the middle of 0 and 1 to that of 3 and 7
		t.Errorf("a stay of %v, want 4.5", got)
	}
}

// turning is a family in which at each of 17 snapshots 20 come that are seen once, and one
// that stays; some of the former are in another family of its creator then.
func turning(t *testing.T, moved int) *part {
	lines := map[string][]string{}
	for i := range 17 {
		here := fmt.Sprintf("%d-%d", 1000+100*i, 1019+100*i)
		for k := 1; k <= i; k++ {
			here += fmt.Sprintf(",%d", k)
		}
		there := "5000"
		if i > 0 && moved > 0 {
			there += fmt.Sprintf(",%d-%d", 900+100*i, 899+100*i+moved)
		}
		lines["g1:a"], lines["g1:b"] = append(lines["g1:a"], here), append(lines["g1:b"], there)
	}
	s := created(t, map[string]string{"g1:a": strings.Join(lines["g1:a"], " "), "g1:b": strings.Join(lines["g1:b"], " ")})
	return s.parts["g1:a"]
}

func TestMembersThatMoveHaveNotEnded(t *testing.T) {
	if _, ok := turning(t, 0).keepers(); !ok {
		t.Error("nobody moves, and those that stay are not seen")
	}
	if _, ok := turning(t, 3).keepers(); ok {
		t.Error("members that move count as ended")
	}
}

func TestAFamilyOfWhichNobodyStaysIsAcquitted(t *testing.T) {
	tests := []struct {
		name, line string
		want       int
	}{
		{"twenty came and left", ". 1-20 . . . . .", 20},
		{"nineteen came and left", ". 1-19 . . . . .", 0},
		{"more than a third of the window ago", ". . . 1-20 . . .", 20},
		{"less than a third of the window ago", ". . . . 1-20 . .", 0},
		{"one of them is there", ". 1-21 1 1 1 1 1", 0},
		{"one of the first snapshot is there", "100 100,1-20 100 100 100 100 100", 20},
		{"three that came since were seen again", ". 1-20 . . 30-32 30-32 .", 20},
		{"four that came since were seen again", ". 1-20 . . 30-33 30-33 .", 0},
		{"one of forty was seen again, then four of twenty", ". 1-40 1 . 50-69 50-53 .", 0},
		{"half were seen again, then 12 of 16", ". 1-40 1-20 . 50-65 50-61 .", 40},
		{"half were seen again, then 13 of 16", ". 1-40 1-20 . 50-65 50-62 .", 0},
		{"three snapshots", ". 1-20 .", 0},
	}
	for _, tc := range tests {
		s := signals{cohortsSeen: true}
		sc := only(tc.line)
		if len(strings.Fields(tc.line)) == 7 {
			sc = sc.at("0 100 200 370 401 500 600")
		}
		sc.series(t).parts[onlyFamily].measureAcquittal(&s)
		if s.acquitted != tc.want || s.acquitted > 0 && s.acquittedAt == 0 {
			t.Errorf("%s: %d, the last at %d, want %d", tc.name, s.acquitted, s.acquittedAt, tc.want)
		}
	}
	for name, s := range map[string]signals{
		"no cohort is possible": {},
		"cohorts hold":          {cohortsSeen: true, cohorts: true},
		"a mark":                {cohortsSeen: true, marked: 1},
	} {
		if only(tests[0].line).series(t).parts[onlyFamily].measureAcquittal(&s); s.acquitted > 0 {
			t.Errorf("%s, and nobody stays", name)
		}
	}
}

func TestTheAgesOfOldMembersAreSharesOfTheWindow(t *testing.T) {
	// At each of 17 snapshots 20 come that are seen once, and one stays from some on.
	for _, tc := range []struct {
		name  string
		stays []int
		want  float64
	}{
		{"eight came until an eighth before the end", []int{1, 3, 5, 7, 9, 11, 13, 14}, 2},
		{"one of them came a fifth before it", []int{1, 3, 5, 7, 9, 11, 12, 12, 15}, 2},
		{"one came in the last eighth", []int{1, 3, 5, 7, 9, 11, 13, 15}, 0},
	} {
		var all []life
		at := make([]float64, 17)
		for k := range at {
			at[k] = float64(k)
			if k > 0 {
				all = append(all, slices.Repeat([]life{{k, k}}, 20)...)
			}
		}
		for _, first := range tc.stays {
			all = append(all, life{first, 16})
		}
		c := cohort{run: even(17), dated: true}
		got := 0.0
		for _, share := range oldAges() {
			if out, ok := c.oldOnes(all, at, share*16); ok {
				got = out.older
				break
			}
		}
		if got != tc.want {
			t.Errorf("%s: old after %v, want %v", tc.name, got, tc.want)
		}
	}
}
