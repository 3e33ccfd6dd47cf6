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
		{"twenty members, three beside the line", "0 4 11 12 16 20", ""},
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
	for counts, want := range map[string]int{"0 1 2 3 4 5 1": 6, "0 3 4 6 8 9 2": -1, "0 1 3 4 4 5 2": -1} {
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
