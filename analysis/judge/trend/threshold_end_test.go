package trend

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"leakdiff/analysis"
)

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

func TestAGrowthHasStoppedOnceNoneCameForFiveGapsOfItsNewestThird(t *testing.T) {
	tests := []struct {
		name, counts, times string
		want                bool
	}{
		{"20, then 5 in each of two minutes, and none for one minute: 5 were due", "0 20 25 30 30", "0 60 120 180 240", true},
		{"20, then 5 and 5, and none for less", "0 20 25 30 30", "0 60 120 180 239", false},
		{"the newest third came slower than the others", "0 20 26 30 30", "0 60 600 1200 1440", false},
		{"and none for five of its gaps", "0 20 26 30 30", "0 60 600 1200 1770", true},
		{"a tenth of what was due came", "0 20 30 31", "0 60 120 180", true},
		{"more than a tenth of what was due came", "0 20 25 30 31 31", "0 60 120 180 240 270", false},
	}
	for _, tc := range tests {
		stop := only(unidentified(tc.counts)).at(tc.times).series(t).parts[onlyFamily].stopped()
		if stop == nil {
			t.Errorf("%s: does not even pause", tc.name)
		} else if stop.settled() != tc.want {
			t.Errorf("%s: %v of %+v, want %v", tc.name, !tc.want, *stop, tc.want)
		}
	}
}

func TestWhatDecidesTakesFiveGapsOfTheNewestThird(t *testing.T) {
	tests := []struct {
		name, counts, times string
		minutes             float64
	}{
		{"10 each 10 minutes: 12 more are enough", "1-10 1-20 1-30 1-40", "0 600 1200 1800", 12},
		{"10 in the newest 20 minutes: five gaps of 2 minutes are less than 12 at the slope of .75 a minute", "1-10 1-30 1-35 1-40", "0 600 1200 1800", 16},
		{"10 in the newest 200 minutes: five gaps of 20 minutes are more than 12 of the 30 in 210", "1-10 1-30 1-40 1-40", "0 600 6600 12600", 100},
	}
	for _, tc := range tests {
		s := only(tc.counts).at(tc.times).series(t)
		p := s.parts[onlyFamily]
		if got := 60 * p.decidesIn(s.judgements().byFingerprint[onlyFamily].signals); math.Abs(got-tc.minutes) > 0.5 {
			t.Errorf("%s: %.1f minutes, want %.0f", tc.name, got, tc.minutes)
		}
	}
}

func TestGrowthStopsByCountsUnlessThreeDumpsNameTheirMembers(t *testing.T) {
	for line, want := range map[string]bool{
		"#1 #5 #20 1-20 1-20":    true,  // two listings: the counts rose until t2
		"#1 #5 1-20 1-20 1-20":   false, // three listings: nobody came since the first
		"#1 #5 1-20 1-20 1-21,9": false,
	} {
		s := only(line).series(t)
		if got := s.parts[onlyFamily].stopped() != nil; got != want {
			t.Errorf("%s: stopped %v, want %v", line, got, want)
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

func TestWhatLeftWasALeakOnBothSidesOfItsThresholds(t *testing.T) {
	pods := func(values ...float64) map[string][]float64 { return map[string][]float64{"pods": values} }
	tests := []struct {
		name      string
		in        scenario
		loads     map[string][]float64
		want      analysis.Verdict
		recovered int
	}{
		{"four snapshots prove what left", only(piling("0 10 20 30 0")), nil, analysis.Leaking, 4},
		{"three that followed their load prove nothing", only("#100 #200 #300 #0"), pods(10, 20, 30, 30), analysis.Gone, -1},
		{"four that followed their load prove it", only("#100 #200 #300 #400 #0"), pods(10, 20, 30, 40, 40), analysis.Scaling, 4},
		{"a load that rose for 3 of 15 minutes", only("#100 #200 #300 #400 #0 #0").at("0 60 120 180 240 900"), pods(10, 20, 30, 40, 40, 40), analysis.Scaling, 4},
		{"it lasted 3 of 8 minutes", only(piling("0 10 20 30 0 0")).at("0 60 120 180 240 480"), nil, analysis.Leaking, 4},
		{"it lasted 3 of 15 minutes", only(piling("0 10 20 30 0 0")).at("0 60 120 180 240 900"), nil, analysis.Gone, -1},
		{"it lasted 3 of 10 minutes, from a fifth of its peak on", only(piling("0 4 10 15 20 0 0")).at("0 60 120 180 240 300 600"), nil, analysis.Suspicious, 5},
		{"it lasted 4 of 10 minutes, a quarter of its peak being no start", only(piling("0 5 10 15 20 0 0")).at("0 60 120 180 240 300 600"), nil, analysis.Leaking, 5},
		{"less than a fifth ended before the others", only(piling("0 20 40 60 80 100 82 0")), nil, analysis.Leaking, 7},
		{"more than a fifth ended before the others", only(piling("0 20 40 60 80 100 78 0")), nil, analysis.Suspicious, 7},
		{"it lasted 3 of 10 minutes", only(piling("0 10 20 30 0 0")).at("0 60 120 180 240 600"), nil, analysis.Suspicious, 4},
	}
	for _, tc := range tests {
		got := NewSeries(Input{Snapshots: tc.in.snapshots(t), Loads: tc.loads}).JudgeAll()[onlyFamily]
		if got.Verdict != tc.want || got.RecoveredAt != tc.recovered {
			t.Errorf("%s: %s, recovered at %d; want %s, %d: %v", tc.name, got.Verdict, got.RecoveredAt, tc.want, tc.recovered, got.Evidence)
		}
	}
	// A mark proves a leak that was short, and one of two snapshots.
	for line, times := range map[string]string{". 1-10 1-20 1-30 . .": "0 60 120 180 240 900", ". 1-10 1-20 .": "0 60 120 180", "1-10 1-20 . .": "0 60 120 180"} {
		snaps := only(line).at(times).snapshots(t)
		for g := range snaps[1].Groups {
			if group := &snaps[1].Groups[g]; group.Family.Fingerprint == onlyFamily {
				group.Leaked = 1
			}
		}
		if got := seriesOf(snaps).JudgeAll()[onlyFamily]; got.Verdict != analysis.Leaking || got.RecoveredAt < 0 {
			t.Errorf("%s with a mark: %s, recovered at %d", line, got.Verdict, got.RecoveredAt)
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
		{"seven had been there for a while", "1-7 1-20 21", false},
		{"eight had been there for a while", "1-8 1-20 21", true},
		{"it is not known who is left", "1-20 1-20 #2", false},
		{"it is not known who was there", "1-20 #20 1-2", false},
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

func TestALeakIsRememberedForThirtySixSnapshots(t *testing.T) {
	// It leaks until t4 and stands since.
	for n, want := range map[int]bool{41: true, 42: false} {
		counts := "0 10 20 30 40" + strings.Repeat(" 40", n-5)
		if text := evidenceOf(only(piling(counts)).series(t).JudgeAll()[onlyFamily], ruleMemory); (text != "") != want {
			t.Errorf("%d snapshots: %q, want it remembered: %v", n, text, want)
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
		if text := evidenceOf(only(tc.line).series(t).JudgeAll()[onlyFamily], rulePlateau); (text != "") != tc.want {
			t.Errorf("%s: %q, want a plateau: %v", tc.name, text, tc.want)
		}
	}
}

func TestACutListingIsNoProofThatAFamilyWasEmptied(t *testing.T) {
	for cut, want := range map[bool]bool{false: true, true: false} {
		snaps := only("1-20 1-20 1-2").snapshots(t)
		for g := range snaps[1].Groups {
			if group := &snaps[1].Groups[g]; cut && group.Family.Fingerprint == onlyFamily {
				group.Members.Fill().ID = group.Members.Fill().ID[:12]
			}
		}
		if got := seriesOf(snaps).parts[onlyFamily].emptied() != nil; got != want {
			t.Errorf("cut %v: %v, want %v", cut, got, want)
		}
	}
}

func TestWhoLeftIsKnownOnlyByTheirNames(t *testing.T) {
	for line, want := range map[string]int{". 1-5 1-10 1": 9, ". 1-5 1-10 #1": -1, ". 1-5 #10 1": -1} {
		r, ok := only(line).series(t).parts[onlyFamily].recovered()
		if !ok || r.gone != want {
			t.Errorf("%s: %v, %d gone; want %d", line, ok, r.gone, want)
		}
	}
}
