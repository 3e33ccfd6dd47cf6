package trend

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/analysis"
)

func TestFamiliesAreInLockstepOnBothSidesOfItsThresholds(t *testing.T) {
	tests := []struct {
		name string
		b    string // beside 20 members in each of five intervals
		want string
	}{
		{"twenty members, two beside the line", "0 4 10 12 16 20", "a:5 b:1"},
		{"22 members, 2.2 beside the line", "0 4 11 13 18 22", ""},
		{"nineteen members, less than one beside the line", "0 4 8 11 15 19", "a:21 b:4"},
		{"nineteen members, 1.4 beside the line", "0 4 9 11 15 19", ""},
		{"a hundred members, five beside the line", "0 20 45 60 80 100", "a:1 b:1"},
		{"a hundred members, six beside the line", "0 20 46 60 80 100", ""},
	}
	for _, tc := range tests {
		if got := shapes(lockstep(map[string]string{"a": "0 20 40 60 80 100", "b": tc.b}).series(t).Units()); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestRatiosAreWholeOnBothSidesOfTheirThresholds(t *testing.T) {
	tests := []struct{ name, a, b, want string }{
		{"five to four", "0 10 20 30 40 50", "0 8 16 24 32 40", "a:5 b:4"},
		{"six to five", "0 12 24 36 48 60", "0 10 20 30 40 50", "a:1.2 b:1"},
		{"2.09 to one", "0 52 104 157 209", "0 25 50 75 100", "a:2 b:1"},
		{"2.12 to one", "0 53 106 159 212", "0 25 50 75 100", "a:2.1 b:1"},
	}
	for _, tc := range tests {
		if got := shapes(lockstep(map[string]string{"a": tc.a, "b": tc.b}).series(t).Units()); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestAUnitNeedsBirthsInThreeIntervals(t *testing.T) {
	for counts, want := range map[string]bool{"0 2 2 4 4 6": true, "0 6 6 12 12": false} {
		units := lockstep(map[string]string{"a": counts, "b": counts}).series(t).Units()
		if len(units) != 1 {
			t.Fatalf("%s: %d units", counts, len(units))
		}
		if got := units[0].Verdict == analysis.Leaking; got != want {
			t.Errorf("%s: %s, want it leaking: %v", counts, units[0].Verdict, want)
		}
	}
}

func TestASmallFamilyLeavesWithTheOthersWhereAFifthIsLeft(t *testing.T) {
	for counts, want := range map[string]int{"0 1 2 3 4 5 1": 6, "0 2 4 5 7 9 2": -1, "0 1 2 3 4 5 2": -1} {
		s := lockstep(map[string]string{"a": "0 10 20 30 40 50 0", "b": counts}).series(t)
		if got := s.JudgeAll()["b"].RecoveredAt; got != want {
			t.Errorf("%s: recovered at %d, want %d", counts, got, want)
		}
	}
}

func TestAKeyIsTheFindingWhereItsFamiliesAreNot(t *testing.T) {
	key := func(lines ...string) string {
		sc := only("101-110 101-110")
		for k, line := range lines {
			sc.families[fmt.Sprintf("g1:tenant%d", k)] = line
		}
		snaps := sc.snapshots(t)
		for _, snap := range snaps {
			for g := range snap.Groups {
				if f := snap.Groups[g].Family; strings.HasPrefix(f.Fingerprint, "g1:tenant") {
					f.LooseCreator = "tenant.Open"
				}
			}
		}
		var names []string
		for _, k := range seriesOf(snaps).Keys() {
			names = append(names, k.Name)
		}
		return strings.Join(names, " ")
	}
	small := []string{"11 11-13", "21 21-23", "31 31-33"}
	if got := key(small...); got != "tenant.Open" {
		t.Errorf("two snapshots: %q", got)
	}
	if got := key(append(small, "41 41-47")...); got != "tenant.Open" {
		t.Errorf("half of the rise is that of a family that grew: %q", got)
	}
	if got := key(append(small, "41 41-48")...); got != "" {
		t.Errorf("more than half is that of a family that grew: %q", got)
	}
}

func TestALeakIsRememberedForThirtySixSnapshots(t *testing.T) {
	// It leaks until t4 and stands since.
	for n, want := range map[int]bool{41: true, 42: false} {
		counts := "0 10 20 30 40" + strings.Repeat(" 40", n-5)
		if text := textOf(only(piling(counts)).series(t).JudgeAll()[onlyFamily], ruleMemory); (text != "") != want {
			t.Errorf("%d snapshots: %q, want it remembered: %v", n, text, want)
		}
	}
}

func TestARecoveryAtTheThirdSnapshot(t *testing.T) {
	for line, want := range map[string]bool{
		". 1-10 .": true,
		". 1-10":   false,
		// Nine had stayed, and more than a fifth of them are left.
		". 1-9 1-45 1-2": false, ". 1-10 1-45 1-2": true,
		// Ten that came after the fall leave again within three snapshots.
		". 1-30 1-60 101-110 101-110 111-120": false, ". 1-30 1-60 101-110 101-110 101-110": true,
	} {
		if _, got := only(line).series(t).parts[onlyFamily].recovered(); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}

func TestAPlateauTurnsAtItsThresholds(t *testing.T) {
	tests := []struct {
		name, line string
		want       bool
	}{
		{"between 65 and 128: 63 are less than 4 times the root of 256", churning("128 65 128"), true},
		{"between 64 and 128: 64 are not", churning("128 64 128"), false},
		{"half of them came", "1-20 11-30", true},
		{"less than half came", "1-21 11-21,31-39", false},
		{"half as many left", "1-12 1-2,21-38", true},
		{"less than half as many left", "1-12 1-3,21-37", false},
	}
	for _, tc := range tests {
		if text := textOf(only(tc.line).series(t).JudgeAll()[onlyFamily], rulePlateau); (text != "") != tc.want {
			t.Errorf("%s: %q, want a plateau: %v", tc.name, text, tc.want)
		}
	}
}

func TestAStartWithOneSnapshotDoesNotHideOneWithTwo(t *testing.T) {
	sc := only("1-20 1-40 51-53")
	sc.pids = "1 1 2"
	if got := sc.series(t).JudgeAll()[onlyFamily].Verdict; got != analysis.Grew {
		t.Errorf("%s, want grew", got)
	}
}

func TestABoundOfAQuintillionIsNone(t *testing.T) {
	for bound, want := range map[float64]int{9e17: 1, 1.1e18: 0} {
		snaps := only("1-9 1-9").snapshots(t)
		for _, snap := range snaps {
			snap.Figures = map[string]float64{"memory_max_bytes": bound, "resident_memory_bytes": 5e8}
		}
		if got := len(seriesOf(snaps).Limits()); got != want {
			t.Errorf("%v: %d limits, want %d", bound, got, want)
		}
	}
}

func TestWhatGrowsAgainHasNotRecovered(t *testing.T) {
	for counts, want := range map[string]bool{
		// Forty came in four minutes: half that pace is five a minute.
		"0 10 20 30 40 0 4 9": true, "0 10 20 30 40 0 4 11": false,
		"0 10 20 30 40 0 7": true, "0 10 20 30 40 0 8": false,
	} {
		if _, got := only(unidentified(counts)).series(t).parts[onlyFamily].recovered(); got != want {
			t.Errorf("%s: recovered %v, want %v", counts, got, want)
		}
	}
}

func TestSomethingEmptiedAFamilyOnBothSidesOfItsThresholds(t *testing.T) {
	tests := []struct {
		name, line string
		want       bool
	}{
		{"a fall after the first snapshot", "1-20 1-2", false},
		{"a fall after two", "1-10 1-20 1-2", true},
		{"eight less", "1-8 1-9 9", true},
		{"seven less", "1-8 1-9 9-10", false},
		{"half of forty", "1-20 1-40 21-40", true},
		{"less than half of forty", "1-20 1-40 21-41", false},
		{"18 of a hundred stayed", "1-100 1-110 1-18", true},
		{"22 of a hundred stayed", "1-100 1-110 1-22", false},
		{"then not above 1.2 times the level before", "1-100 1-110 1-18 1001-1130", true},
		{"then above 1.2 times the level before", "1-100 1-110 1-18 1001-1134", false},
		{"a listing is missing before the last two", "1-20 #20 1-20 1-2", false},
		{"no listing is missing", "1-20 1-20 1-20 1-2", true},
	}
	for _, tc := range tests {
		if got := only(tc.line).series(t).parts[onlyFamily].emptied() != nil; got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// oldLives are members at 14 snapshots, an hour apart: those that stay came at these snapshots,
// one that came first leaves at the ninth, others were seen once.
func oldLives(gone, once int, stay ...int) (all []life, at []float64) {
	for _, first := range stay {
		all = append(all, life{first, 13})
	}
	for range gone {
		all = append(all, life{1, 8})
	}
	for range once {
		all = append(all, life{5, 5})
	}
	for k := range 14 {
		at = append(at, float64(k))
	}
	return all, at
}

func TestOldMembersOutliveOthersByMoreThanChance(t *testing.T) {
	judged := func(gone, once int, stay ...int) (cohort, bool) {
		all, at := oldLives(gone, once, stay...)
		c := cohort{run: even(14), dated: true}
		return c.oldOnes(all, at, 6, 0)
	}
	// Fourteen were there for 84 hours below six and 42 above, each of the others for one.
	fourteen := []int{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7}
	for once, want := range map[int]bool{10: false, 11: true} { // chances .0115 and .0077
		if _, got := judged(0, once, fourteen...); got != want {
			t.Errorf("%d of the young left: %v, want %v", once, got, want)
		}
	}
	if c, ok := judged(1, 40, 1, 1, 2, 3, 4, 5, 6, 7, 7); !ok || !c.alone {
		t.Errorf("one of ten old ones left: %v, suffices %v", ok, c.alone)
	}
	if c, ok := judged(1, 40, 1, 2, 3, 4, 5, 6, 7, 7); !ok || c.alone {
		t.Errorf("one of nine old ones left: %v, suffices %v; want true, false", ok, c.alone)
	}
	if got := (life{1, 2}).stay([]float64{0, 1, 3, 7, 9}); got != 4.5 { // from the middle of 0 and 1 to that of 3 and 7
		t.Errorf("a stay of %v, want 4.5", got)
	}
}

func TestRequestsOrSessionsSayWhatIsOld(t *testing.T) {
	// At each of 14 snapshots 20 come that are seen once, 6 twice, 4 five times, and 2 stay.
	lines := make([][]string, 14)
	for i := range 14 {
		for _, kind := range []struct{ from, n, seen int }{{0, 20, 1}, {20, 6, 2}, {26, 4, 5}, {30, 2, 14}} {
			first := 1000*(i+1) + kind.from
			for k := i; k < min(14, i+kind.seen); k++ {
				lines[k] = append(lines[k], fmt.Sprintf("%d-%d", first, first+kind.n-1))
			}
		}
	}
	var words []string
	for _, l := range lines {
		words = append(words, strings.Join(l, ","))
	}
	c, _ := only(strings.Join(words, " ")).series(t).parts[onlyFamily].bestCohort()
	// Old is three times two minutes: the median stay of those seen twice or more.
	if got := fmt.Sprintf("%.3f", c.older); !c.holds || got != "0.100" {
		t.Errorf("holds %v, older than %s hours; want 0.100", c.holds, got)
	}
}
