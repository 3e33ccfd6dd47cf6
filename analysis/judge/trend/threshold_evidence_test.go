package trend

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

func TestWhatCountsSayTurnsWithTheNumberOfSnapshots(t *testing.T) {
	tests := []struct {
		name, line string
		want       string
	}{
		{"three snapshots that grew are told without statistics", piling("0 20 40"), "few 3 hour span=0.03333 {t0:0 t2:40}"},
		{"three snapshots that grew by identity alone", piling("10 14 18"), "few 3 hour span=0.03333 {t0:10 t2:18}"},
		{"four snapshots below the gate", piling("10 13 16 19"), "below_gate_alone 4 hour gate=10 growth=9 growth_span=0.05 slope=180 span=0.05 {t0:10 t3:19}"},
		{"three counts beyond the gate and within the noise", unidentified("100 110 116"), "perhaps_noise 3 hour span=0.03333 {t0:100 t2:116}"},
		{"three counts below the gate", unidentified("100 105 109"), "noise 3 hour span=0.03333 {t0:100 t2:109}"},
		{"five counts of which the newer half stands", unidentified("200 220 240 240 240"), "unproven 5 hour p=0.07082 slope=600 span=0.06667 {t0:200 t4:240}"},
		{"six counts of which the newer half stands", unidentified("200 220 240 240 240 240"), "levelled"},
		{"the typical rate makes 79 of 100", unidentified("0 19 38 58 100"), "trend 5 hour high=2520 low=1140 p=0.01374 slope=1185 span=0.06667 {t0:0 t4:100}"},
		{"the typical rate makes 72 of 100", unidentified("0 18 36 54 100"), "trend 5 hour high=2760 low=1080 overall=1500 p=0.01374 slope=1080 span=0.06667 {t0:0 t4:100}"},
	}
	for _, tc := range tests {
		if got := evidenceOf(only(tc.line).series(t).JudgeAll()[onlyFamily], ruleSeries); got != tc.want && !strings.HasPrefix(got, tc.want+" ") {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestFourEpochsAreToldAndTheOthersCounted(t *testing.T) {
	sc := only("1-10 1-11 21-30 21-32 41-50 41-53 61-70 61-74 81-90 81-95 101-110 101-116")
	sc.pids = "1 1 2 2 3 3 4 4 5 5 6 6"
	text := evidenceOf(sc.series(t).JudgeAll()[onlyFamily], ruleSeries)
	if !strings.HasSuffix(text, "} {t6:10 t7:14}") || !strings.Contains(text, "epochs=6") {
		t.Errorf("%q, want four epochs of six", text)
	}
}

func TestARiseHappenedOnceOnBothSidesOfItsThresholds(t *testing.T) {
	tests := []struct {
		name, counts, times string
		want                string
	}{
		{"one interval of five counts has 87 %", "0 80 84 88 92", "", "mostly 80/92 from=t0 to=t1"},
		{"one interval of six counts has 83 %", "0 80 84 88 92 96", "", ""},
		{"81 % in one of four intervals", "0 81 88 94 100", "", "mostly 81/100 from=t0 to=t1"},
		{"79 % in one of four intervals", "0 79 86 93 100", "", ""},
		{"86 % in seven tenths of the time", "0 7 93 100", "0 15 85 100", "mostly 86/100 from=t1 to=t2"},
		{"84 % in seven tenths of the time", "0 8 92 100", "0 15 85 100", ""},
		{"96 % in nine tenths of the time", "0 2 98 100", "0 5 95 100", "mostly 96/100 from=t1 to=t2"},
		{"94 % in nine tenths of the time", "0 3 97 100", "0 5 95 100", ""},
		{"4.5 % came in the last two intervals", "0 96 191 195 200", "", "slowed 191/200 to=t2"},
		{"6 % came in the last two intervals", "0 94 188 194 200", "", ""},
		{"10 % came in the last interval but one", "0 90 180 200 200", "", ""},
	}
	for _, tc := range tests {
		got := evidenceOf(only(unidentified(tc.counts)).at(tc.times).series(t).JudgeAll()[onlyFamily], ruleRoseOnce)
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestTwelveIntervalsWithBirthsAreListed(t *testing.T) {
	text := evidenceOf(only(piling("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15")).series(t).JudgeAll()[onlyFamily], ruleCohort)
	if !strings.HasSuffix(text, " t12:1]") || !strings.Contains(text, "births=14") {
		t.Errorf("%q, want twelve intervals of 14", text)
	}
}

func TestOnlyARiseThatCountsHappenedOnceAndNoneThatAgesProve(t *testing.T) {
	p := only(unidentified("0 80 84 88 92")).series(t).parts[onlyFamily]
	for name, tc := range map[string]struct {
		s    signals
		want bool
	}{
		"a suspicious rise": {signals{up: levelSuspicious}, true},
		"no rise":           {signals{}, false},
		"ages":              {signals{up: levelSuspicious, ages: ages{holds: true}}, false},
	} {
		if p.measureOnce(&tc.s); (tc.s.onceUp != nil) != tc.want {
			t.Errorf("%s: %v, want it once: %v", name, tc.s.onceUp, tc.want)
		}
	}
}

func TestTwoDumpsWithMembersCanDeny(t *testing.T) {
	for line, want := range map[string]analysis.Verdict{
		". . . . #20 #40 #60 #80": analysis.Leaking, // nobody was there to be followed
		"#10 #30 #50 #70 1-90":    analysis.Leaking, // one listing denies nothing
		"#10 #30 #50 1-70 1-90":   analysis.Suspicious,
	} {
		if got := only(line).series(t).JudgeAll()[onlyFamily].Verdict; got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestTwoDumpsHaveSurvivors(t *testing.T) {
	if got := only("1-10 1-20").series(t).JudgeAll()[onlyFamily].Survivors; got != 20 {
		t.Errorf("%d, want the 20 of the snapshot in which it grew", got)
	}
	standing := only("1-20 1-20").series(t).JudgeAll()[onlyFamily]
	wantEvidence(t, standing, ruleSurvivors, "stayed 20/20 from=t0 to=t1")
}

func TestWhoLeftBetweenTheSecondAndTheThirdDumpIsNoBirth(t *testing.T) {
	judged := only("1-20 1-40 1-35,41-60").series(t).JudgeAll()[onlyFamily]
	wantEvidence(t, judged, ruleTurnover, "followed 20/20 gone=0 new=35 passed=5 [t1:20 t2:20]")
}

func TestThreeMembersThatLeftAreGoneAndTwoAreNot(t *testing.T) {
	for line, want := range map[string]analysis.Verdict{"1-3 1-3 .": analysis.Gone, "1-2 1-2 .": analysis.Stable} {
		if got := only(line).series(t).JudgeAll()[onlyFamily].Verdict; got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestASeriesOfTenMinutesIsNotShort(t *testing.T) {
	for times, want := range map[string]bool{"0 180 360 540": true, "0 200 400 600": false} {
		text := evidenceOf(only(piling("10 20 30 40")).at(times).series(t).JudgeAll()[onlyFamily], ruleSpan)
		if got := text != ""; got != want {
			t.Errorf("%s: %q, want it called short: %v", times, text, want)
		}
	}
}

func TestWhatIsMissingIsToldUpToItsBounds(t *testing.T) {
	count := func(n int, change func(k int, snap *analysis.Snapshot)) analysis.Judgement {
		counts := strings.TrimSpace(strings.Repeat("10 ", n))
		snaps := only(piling(counts)).snapshots(t)
		for k, snap := range snaps[2:] {
			change(k, snap)
		}
		return seriesOf(snaps).JudgeAll()[onlyFamily]
	}
	none := count(9, func(_ int, snap *analysis.Snapshot) { snap.Groups, snap.Totals = nil, analysis.Totals{} })
	wantEvidence(t, none, ruleMissing, "not_captured goroutine 7 [t2:0 t3:0 t4:0 t5:0 t6:0]")
	cut := count(9, func(_ int, snap *analysis.Snapshot) { snap.LowerBound = true })
	wantEvidence(t, cut, ruleMissing, "cut 7 [t2:0 t3:0 t4:0 t5:0 t6:0]")
	undated := count(9, func(_ int, snap *analysis.Snapshot) { snap.CapturedAt = time.Time{} })
	wantEvidence(t, undated, ruleMissing, "undated 7 [t2:0 t3:0 t4:0 t5:0 t6:0]")

	for counts, want := range map[string]string{
		"10 10 10":    "few_counts 3 p=0.1667",
		"10 10 10 10": "",
	} {
		if got := evidenceOf(only(piling(counts)).series(t).JudgeAll()[onlyFamily], ruleMissing); got != want {
			t.Errorf("%s: %q, want %q", counts, got, want)
		}
	}

	// Four snapshots of two processes have no cohorts. Three would be too few in any case.
	for _, tc := range []struct {
		line, pids string
		want       bool
	}{{"1-9 1-9 11-19 11-19", "1 1 2 2", true}, {"1-9 1-9 1-9", "1 1 1", false}} {
		sc := only(tc.line)
		sc.pids = tc.pids
		if got := slices.Contains(everyEvidence(sc.series(t).JudgeAll()[onlyFamily], ruleMissing), "no_cohorts"); got != tc.want {
			t.Errorf("%s: %v, want it told: %v", tc.line, got, tc.want)
		}
	}
}

func TestALoadThatMostSnapshotsLackIsAskedForFiveOfThem(t *testing.T) {
	snaps := only(piling("10 20 30 40 50 60 70 80 90")).snapshots(t)
	s := NewSeries(Input{Snapshots: snaps, Loads: map[string][]float64{"targets": {1, 2}}})
	wantEvidence(t, s.JudgeAll()[onlyFamily], ruleMissing, "load_at 7 [t2:0 t3:0 t4:0 t5:0 t6:0] (targets)")
}

func TestTheNextSnapshotIsHalfAnHourAwayOrMore(t *testing.T) {
	// Waits between one and ten hours of members that came one after the other.
	dump := func(members, oldest int) Input {
		waits := make([]int32, members)
		for k := range waits {
			waits[k] = int32(60 + (oldest-60)*k/(members-1))
		}
		return Input{Snapshots: []*analysis.Snapshot{aged(24, waits...)}}
	}
	series := func(line, times string) Input { return Input{Snapshots: only(line).at(times).snapshots(t)} }
	tests := []struct {
		name string
		in   Input
		want string
	}{
		{"288 in ten hours are twelve in 25 minutes", dump(288, 600), "more_snapshots 3 hour wait=0.5"},
		{"210 in 10.2 hours are twelve in 35 minutes", dump(210, 612), "more_snapshots 3 hour wait=0.5833"},
		{"eleven in 25 minutes are twelve in 27", series(piling("10 21"), "0 1500"), "more_snapshots 2 hour wait=0.5"},
		{"snapshots 35 minutes apart", series(piling("90 70 50 30 12"), "0 2100 4200 6300 8400"), "if_back hour wait=0.5833"},
	}
	for _, tc := range tests {
		if got := evidenceOf(NewSeries(tc.in).JudgeAll()[onlyFamily], ruleDecides); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestTheSmallestVisibleRiseTurnsAtSixSnapshots(t *testing.T) {
	tests := []struct {
		name, counts string
		want         int
	}{
		// c² + the root of c⁴ + 4c² times 20, with c = 2.33 below six snapshots and 1.64 from there on.
		{"five snapshots from 20", "20 20 20 20 20", 27},
		{"six snapshots from 20", "20 20 20 20 20 20", 18},
		{"five snapshots from nothing", "0 0 0 0 1", 11}, // twice c²
	}
	for _, tc := range tests {
		v, ok := scenario{families: map[string]string{onlyFamily: piling(tc.counts)}}.series(t).SmallestVisible()
		if !ok || v.Rise != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, v.Rise, tc.want)
		}
	}
}

func TestThreeLocksAreTold(t *testing.T) {
	s := NewSeries(manyLocks(1, 5, 20))
	if got := len(everyEvidence(s.JudgeAll()["f0"], ruleObjects)); got != 3 {
		t.Errorf("%d of five locks, want 3", got)
	}
}

func TestAgesOfSecondsAreToldOfOneDumpAlone(t *testing.T) {
	// A JVM of ten minutes: its oldest thread is far below half an hour.
	dump := func(label string, minutes int) *analysis.Snapshot {
		snap := aged(1, every(0, 23, 1)...)
		snap.Label, snap.CapturedAt = label, testEpoch.Add(time.Duration(minutes)*time.Minute)
		snap.Process.Start.Value = testEpoch.Add(-10 * time.Minute).Format(time.RFC3339)
		snap.Groups[0].Family.Kind, snap.Groups[0].Members.Fill().Wait = analysis.KindThread, nil
		setTotal(snap, analysis.KindThread, snap.Groups[0].Count)
		return snap
	}
	elapsed := map[string][]float64{onlyFamily: spread(24, 0.01, 0.16)}
	for _, tc := range []struct {
		name  string
		snaps []*analysis.Snapshot
		want  bool
	}{
		{"one dump", []*analysis.Snapshot{dump("t0", 0)}, true},
		{"two dumps", []*analysis.Snapshot{dump("t0", 0), dump("t1", 1)}, false},
	} {
		s := NewSeries(Input{Snapshots: tc.snaps, Elapsed: slices.Repeat([]map[string][]float64{elapsed}, len(tc.snaps))})
		if text := evidenceOf(s.JudgeAll()[onlyFamily], ruleAges); (text != "") != tc.want {
			t.Errorf("%s: %q, want ages told: %v", tc.name, text, tc.want)
		}
	}
}

func TestAgesThatProveNothingSayWhy(t *testing.T) {
	tests := []struct {
		name   string
		uptime float64
		waits  []int32
		want   string
	}{
		{"all along", 48, every(60, 1440, 60), "all_along"},
		{"one hour", 48, times(30, 600), "at_once"},
		{"few old ones", 48, join(times(20, 35), times(20, 90), times(8, 200), times(4, 500), times(2, 900), times(1, 1500)), "at_once"},
		{"old ones are few", 48, join(every(31, 300, 9), every(400, 1500, 300)), "few_old"},
		{"nobody came lately", 48, every(1500, 2700, 60), "none_lately"},
		{"two hours", 2, every(31, 110, 5), "too_young"},
	}
	for _, tc := range tests {
		got := evidenceOf(seriesOf([]*analysis.Snapshot{aged(tc.uptime, tc.waits...)}).JudgeAll()[onlyFamily], ruleAges)
		if !strings.HasPrefix(got, tc.want+" ") {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if diff := cmp.Diff("", evidenceOf(only("1-9 1-9").series(t).JudgeAll()[onlyFamily], ruleAges)); diff != "" {
		t.Errorf("dumps without waits tell ages:\n%s", diff)
	}
}
