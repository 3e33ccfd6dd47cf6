package trend

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

// textOf is the first evidence of a rule, "" without any.
func textOf(judged analysis.Judgement, rule string) string {
	for _, e := range judged.Evidence {
		if e.Rule == rule {
			return e.Text
		}
	}
	return ""
}

// allTexts are all texts of a rule.
func allTexts(judged analysis.Judgement, rule string) string {
	var texts []string
	for _, e := range judged.Evidence {
		if e.Rule == rule {
			texts = append(texts, e.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func TestWhatCountsSayTurnsWithTheNumberOfSnapshots(t *testing.T) {
	tests := []struct {
		name, line string
		want       string // how the sentence ends
	}{
		{"three snapshots that grew are told without statistics", piling("0 20 40"), "from 0 (t0) to 40 (t2)"},
		{"three snapshots that grew by identity alone", piling("10 14 18"), "from 10 (t0) to 18 (t2)"},
		{"four snapshots below the gate", piling("10 13 16 19"), "; the counts alone would be within noise: the typical rate +180/h would make 9 in 3 min, and a change counts from 10 on"},
		{"three counts beyond the gate and within the noise", unidentified("100 110 116"), "; not distinguishable from noise"},
		{"three counts below the gate", unidentified("100 105 109"), "; within noise"},
		{"five counts of which the newer half stands", unidentified("200 220 240 240 240"), "not distinguishable from noise (p = 0.071)"},
		{"six counts of which the newer half stands", unidentified("200 220 240 240 240 240"), "but the newer half hardly moves"},
		{"the typical rate makes 79 of 100", unidentified("0 19 38 58 100"), "; typical rate +1185/h (95 % interval +1140/h to +2520/h), p = 0.014"},
		{"the typical rate makes 72 of 100", unidentified("0 18 36 54 100"), "; +1500/h on the whole, but unevenly: +1080/h (95 % interval +1080/h to +2760/h) between most snapshots, p = 0.014"},
	}
	for _, tc := range tests {
		text := textOf(only(tc.line).series(t).JudgeAll()[onlyFamily], ruleSeries)
		if !strings.HasSuffix(text, tc.want) {
			t.Errorf("%s: %q, want it to end with %q", tc.name, text, tc.want)
		}
	}
}

func TestFourEpochsAreToldAndTheOthersCounted(t *testing.T) {
	sc := only("1-10 1-11 21-30 21-32 41-50 41-53 61-70 61-74 81-90 81-95 101-110 101-116")
	sc.pids = "1 1 2 2 3 3 4 4 5 5 6 6"
	text := textOf(sc.series(t).JudgeAll()[onlyFamily], ruleSeries)
	if !strings.Contains(text, "from 10 (t6) to 14 (t7) and 2 more epochs") {
		t.Errorf("%q, want four epochs and 2 more", text)
	}
}

func TestARiseHappenedOnceOnBothSidesOfItsThresholds(t *testing.T) {
	tests := []struct {
		name, counts, times string
		want                string
	}{
		{"one interval of five counts has 87 %", "0 80 84 88 92", "", "rose by 80 between t0 and t1, 80 of 92 in all"},
		{"one interval of six counts has 83 %", "0 80 84 88 92 96", "", ""},
		{"81 % in one of four intervals", "0 81 88 94 100", "", "rose by 81 between t0 and t1, 81 of 100 in all"},
		{"79 % in one of four intervals", "0 79 86 93 100", "", ""},
		{"86 % in seven tenths of the time", "0 7 93 100", "0 15 85 100", "rose by 86 between t1 and t2, 86 of 100 in all"},
		{"84 % in seven tenths of the time", "0 8 92 100", "0 15 85 100", ""},
		{"96 % in nine tenths of the time", "0 2 98 100", "0 5 95 100", "rose by 96 between t1 and t2, 96 of 100 in all"},
		{"94 % in nine tenths of the time", "0 3 97 100", "0 5 95 100", ""},
		{"4.5 % came in the last two intervals", "0 96 191 195 200", "", "rose by 191 until t2, hardly at all in the last two intervals"},
		{"6 % came in the last two intervals", "0 94 188 194 200", "", ""},
		{"10 % came in the last interval but one", "0 90 180 200 200", "", ""},
	}
	for _, tc := range tests {
		got := textOf(only(unidentified(tc.counts)).at(tc.times).series(t).JudgeAll()[onlyFamily], ruleRoseOnce)
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestTwelveIntervalsWithBirthsAreListed(t *testing.T) {
	text := textOf(only(piling("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15")).series(t).JudgeAll()[onlyFamily], ruleCohort)
	if !strings.Contains(text, "t12 1 and 2 more)") {
		t.Errorf("%q, want twelve intervals and 2 more", text)
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
		if p.measureOnce(&tc.s); (tc.s.onceUp != "") != tc.want {
			t.Errorf("%s: %q, want it once: %v", name, tc.s.onceUp, tc.want)
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
	wantText(t, standing, ruleSurvivors, "20 of 20 members of t0 are still there at t1")
}

func TestWhoLeftBetweenTheSecondAndTheThirdDumpIsNoBirth(t *testing.T) {
	judged := only("1-20 1-40 1-35,41-60").series(t).JudgeAll()[onlyFamily]
	wantText(t, judged, ruleTurnover, "35 new, 0 gone, 20 of 20 still there; 20 came until t1, 20 until t2")
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
		text := textOf(only(piling("10 20 30 40")).at(times).series(t).JudgeAll()[onlyFamily], ruleSpan)
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
	wantText(t, none, ruleMissing, "no goroutines were captured at t2, t3, t4, t5, t6 and 2 more")
	cut := count(9, func(_ int, snap *analysis.Snapshot) { snap.LowerBound = true })
	wantText(t, cut, ruleMissing, "left out, because the dump is cut and its counts are lower bounds: t2, t3, t4, t5, t6 and 2 more")
	undated := count(9, func(_ int, snap *analysis.Snapshot) { snap.CapturedAt = time.Time{} })
	wantText(t, undated, ruleMissing, "without a time, left out of the slope: t2, t3, t4, t5, t6 and 2 more")

	for counts, want := range map[string]string{
		"10 10 10":    "3 snapshots: too few for a trend or for cohorts (all pairs of 3 rise by chance with p = 0.17)",
		"10 10 10 10": "",
	} {
		if got := textOf(only(piling(counts)).series(t).JudgeAll()[onlyFamily], ruleMissing); got != want {
			t.Errorf("%s: %q, want %q", counts, got, want)
		}
	}

	// Four snapshots of two processes have no cohorts. Three would be too few in any case.
	const lacking = "no epoch has four snapshots with identities: no cohorts"
	for _, tc := range []struct {
		line, pids string
		want       bool
	}{{"1-9 1-9 11-19 11-19", "1 1 2 2", true}, {"1-9 1-9 1-9", "1 1 1", false}} {
		sc := only(tc.line)
		sc.pids = tc.pids
		if got := strings.Contains(allTexts(sc.series(t).JudgeAll()[onlyFamily], ruleMissing), lacking); got != tc.want {
			t.Errorf("%s: %v, want it told: %v", tc.line, got, tc.want)
		}
	}
}

func TestALoadThatMostSnapshotsLackIsAskedForFiveOfThem(t *testing.T) {
	snaps := only(piling("10 20 30 40 50 60 70 80 90")).snapshots(t)
	s := NewSeries(Input{Snapshots: snaps, Loads: map[string][]float64{"targets": {1, 2}}})
	wantText(t, s.JudgeAll()[onlyFamily], ruleMissing, "targets is not known at t2, t3, t4, t5, t6 and 2 more: enter it on the identity page to compare")
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
		{"288 in ten hours are twelve in 25 minutes", dump(288, 600), "3 more snapshots in 30 minutes would decide: births in two of them that stay are a leak"},
		{"210 in 10.2 hours are twelve in 35 minutes", dump(210, 612), "3 more snapshots in 35 min would decide: births in two of them that stay are a leak"},
		{"eleven in 25 minutes are twelve in 27", series(piling("10 21"), "0 1500"), "2 more snapshots in 30 minutes would decide: births in two of them that stay are a leak"},
		{"snapshots 35 minutes apart", series(piling("90 70 50 30 12"), "0 2100 4200 6300 8400"), "members that come back at the next snapshot in 35 min would change this"},
	}
	for _, tc := range tests {
		if got := textOf(NewSeries(tc.in).JudgeAll()[onlyFamily], ruleDecides); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestAChanceBelowOneInTenThousandHasNoFigure(t *testing.T) {
	for p, want := range map[float64]string{0.0001: "p = 0.0001", 0.00009: "p < 0.0001"} {
		if got := chance(p); got != want {
			t.Errorf("%q, want %q", got, want)
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

func TestTheLargestGroupIsToldWhereItsRateIsAnother(t *testing.T) {
	visible := Visible{Snapshots: 8, Span: "3 h", Slope: 10, Unit: "per hour", Largest: 90}
	for slope, want := range map[float64]string{
		12: "In 8 snapshots, 3 h, a rise of 10/h would have been seen",
		13: "In 8 snapshots, 3 h, a rise of 10/h would have been seen, in the largest group, of 90, one of 13/h",
	} {
		visible.LargestSlope = slope
		if got := visible.Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestThreeLocksAreTold(t *testing.T) {
	s := NewSeries(manyLocks(1, 5, 20))
	if got := strings.Count(allTexts(s.JudgeAll()["f0"], ruleObjects), "goroutines wait for one lock"); got != 3 {
		t.Errorf("%d of five locks, want 3", got)
	}
}

func TestAgesOfSecondsAreToldOfOneDumpAlone(t *testing.T) {
	// A JVM of ten minutes: its oldest thread is far below half an hour.
	dump := func(label string, minutes int) *analysis.Snapshot {
		snap := aged(1, every(0, 23, 1)...)
		snap.Label, snap.CapturedAt = label, testEpoch.Add(time.Duration(minutes)*time.Minute)
		snap.Process.Start.Value = testEpoch.Add(-10 * time.Minute).Format(time.RFC3339)
		snap.Groups[0].Family.Kind, snap.Groups[0].Members.Wait = analysis.KindThread, nil
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
		if text := textOf(s.JudgeAll()[onlyFamily], ruleAges); (text != "") != tc.want {
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
		{"all along", 48, every(60, 1440, 60), "born all along, and old ones are still there"},
		{"one hour", 48, times(30, 600), "most came at once"},
		{"few old ones", 48, join(times(20, 35), times(20, 90), times(8, 200), times(4, 500), times(2, 900), times(1, 1500)), "most came at once"},
		{"old ones are few", 48, join(every(31, 300, 9), every(400, 1500, 300)), "the old ones are few, as in churn"},
		{"nobody came lately", 48, every(1500, 2700, 60), "no births lately"},
		{"two hours", 2, every(31, 110, 5), "too young for a judgement by age"},
	}
	for _, tc := range tests {
		text := textOf(seriesOf([]*analysis.Snapshot{aged(tc.uptime, tc.waits...)}).JudgeAll()[onlyFamily], ruleAges)
		if _, why, _ := strings.Cut(text, "the fullest with "); !strings.HasSuffix(why, ": "+tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, text, tc.want)
		}
	}
	if diff := cmp.Diff("", textOf(only("1-9 1-9").series(t).JudgeAll()[onlyFamily], ruleAges)); diff != "" {
		t.Errorf("dumps without waits tell ages:\n%s", diff)
	}
}
