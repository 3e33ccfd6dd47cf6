package trend

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/analysis"
)

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
	for counts, want := range map[string]int{"0 1 2 3 4 5 1": 6, "0 2 4 5 7 9 2": -1, "0 1 2 3 4 5 2": -1, "0 1 3 4 6 1 1": -1} {
		s := lockstep(map[string]string{"a": "0 10 20 30 40 50 0", "b": counts}).series(t)
		if got := s.JudgeAll()["b"].RecoveredAt; got != want {
			t.Errorf("%s: recovered at %d, want %d", counts, got, want)
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

func TestAFamilyRisesOftenEnoughToBeCompared(t *testing.T) {
	for counts, want := range map[string]bool{
		"0 6 6 10 10": true, "0 10 0 10 0 11": false, // it fell by more than it rose
		"0 1 2 3 4": true, "0 2 1 2 3 4": false, // four members must never fall
		"0 5 5": false, "0 3 5": true, "0 1 2 3": false,
	} {
		p := only(unidentified(counts)).series(t).parts[onlyFamily]
		if got := p.risesOften(p.gain()); got != want {
			t.Errorf("%s: %v, want %v", counts, got, want)
		}
	}
}

func TestWhatAUnitProvesTogether(t *testing.T) {
	births := cohort{born: []int{0, 2, 2, 2}}
	tests := []struct {
		name string
		s    signals
		want bool
	}{
		{"counts and cohorts", signals{up: levelSuspicious, cohorts: true, cohort: births}, true},
		{"counts alone", signals{up: levelLeaking, cohort: births}, false},
		{"cohorts alone", signals{cohorts: true, cohort: births}, false},
		{"what has stopped", signals{up: levelSuspicious, cohorts: true, cohort: births, stop: &stop{}}, false},
		{"births in two intervals", signals{up: levelSuspicious, cohorts: true, cohort: cohort{born: []int{0, 3, 0, 3}}}, false},
	}
	for _, tc := range tests {
		u := unit{signals: &tc.s}
		if got := u.pooled(); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestAUnitIsDividedWhereTwoFunctionsStartedTwoFamiliesEach(t *testing.T) {
	units := func(creators map[string]string, loose map[string]string) string {
		counts := map[string]string{}
		for name := range creators {
			counts[name] = "0 10 20 30 40"
		}
		snaps := lockstep(counts).snapshots(t)
		for _, snap := range snaps {
			for g := range snap.Groups {
				f := snap.Groups[g].Family
				if f.LooseCreator = creators[f.Fingerprint]; loose[f.Fingerprint] != "" {
					f.Loose = []string{loose[f.Fingerprint]}
				}
			}
		}
		return shapes(seriesOf(snaps).Units())
	}
	const a, b = "example.org/app/a.Start", "example.org/app/b.Start"
	for _, tc := range []struct {
		name            string
		creators, loose map[string]string
		want            string
	}{
		{"two functions, two families each", map[string]string{"a1": a, "a2": a, "b1": b, "b2": b}, nil, "a1:1 a2:1 | b1:1 b2:1"},
		{"two and one", map[string]string{"a1": a, "a2": a, "b1": b}, nil, "a1:1 a2:1 b1:1"},
		{"one started the other", map[string]string{"a1": a, "a2": a, "b1": b, "b2": b}, map[string]string{"a1": b}, "a1:1 a2:1 b1:1 b2:1"},
		{"one function", map[string]string{"a1": a, "a2": a}, nil, "a1:1 a2:1"},
		{"the standard library tells no causes apart", map[string]string{"a1": "net/http.a", "a2": "net/http.a", "b1": "net/rpc.b", "b2": "net/rpc.b"}, nil, "a1:1 a2:1 b1:1 b2:1"},
	} {
		if got := units(tc.creators, tc.loose); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestAUnitIsRememberedAsItsFamiliesAreNot(t *testing.T) {
	judged := func(counts string, mark bool) Unit {
		snaps := lockstep(map[string]string{"a": counts, "b": counts}).snapshots(t)
		last := snaps[len(snaps)-1]
		for g := range last.Groups {
			if group := &last.Groups[g]; mark && group.Family.Fingerprint == "a" {
				group.Leaked = 1
			}
		}
		units := seriesOf(snaps).Units()
		if len(units) != 1 {
			t.Fatalf("%s: %d units", counts, len(units))
		}
		return units[0]
	}
	for _, tc := range []struct {
		name, counts string
		mark         bool
		want         analysis.Verdict
	}{
		{"together they leaked until t3 and stand since", "0 2 4 6 6 6", false, analysis.Stopped},
		{"a mark proves more", "0 2 4 6 6 6", true, analysis.Leaking},
		{"together they are suspicious, and never leaked", "1 5 9", false, analysis.Grew},
	} {
		if got := judged(tc.counts, tc.mark).Verdict; got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
