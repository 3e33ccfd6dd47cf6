package trend

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
)

// ran is one epoch of a version: hours, rise.
func ran(version string, hours float64, rise int) Exposure {
	return Exposure{Version: version, Hours: hours, Rise: rise, Rate: float64(rise) / hours, Snapshots: 6, Leaks: rise >= 20, Where: "a"}
}

func TestVersionsAreOrderedByTheirNumbers(t *testing.T) {
	got := []string{"v1.10.0", "v1.9.3", "v1.10.0-rc2", "v1.2", "v1.10.0-rc10", "v1.10", "5.5.5", "5.5.4"}
	slices.SortFunc(got, compareVersions)
	want := []string{"v1.2", "v1.9.3", "v1.10", "v1.10.0-rc2", "v1.10.0-rc10", "v1.10.0", "5.5.4", "5.5.5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestBisect(t *testing.T) {
	tests := []struct {
		name      string
		exposures []Exposure
		verdicts  string
		firstBad  string
		answer    string
	}{
		{
			// The public example: 5.5.4 good, 5.5.5 bad.
			name:      "neighbours, both long enough",
			exposures: []Exposure{ran("5.5.4", 48, 0), ran("5.5.5", 24, 120)},
			verdicts:  "good bad", firstBad: "5.5.5", answer: "good=5.5.4 bad=5.5.5",
		},
		{
			// At 5/h none in 1.38 hours has a chance of .001.
			name:      "an hour clears nobody",
			exposures: []Exposure{ran("1.0", 48, 1), ran("1.1", 1, 0), ran("1.2", 24, 120)},
			verdicts:  "good unknown bad", firstBad: "", answer: "good=1.0 bad=1.2",
		},
		{
			name:      "everything grows",
			exposures: []Exposure{ran("1.0", 24, 120), ran("1.1", 24, 110)},
			verdicts:  "bad bad", firstBad: "", answer: "bad=1.0",
		},
		{
			name:      "nothing grows",
			exposures: []Exposure{ran("1.0", 24, 0), ran("1.1", 24, 1)},
			verdicts:  "unknown unknown", firstBad: "", answer: "",
		},
		{
			name:      "versions between two neighbours of the table were not seen",
			exposures: []Exposure{ran("v1.5.2", 48, 0), ran("v1.5.5", 24, 120)},
			verdicts:  "good bad", firstBad: "", answer: "good=v1.5.2 bad=v1.5.5 next=v1.5.3 hours=1.382",
		},
		{
			name:      "a good version after the bad ones is the fix, and does not unsay which was first",
			exposures: []Exposure{ran("v1.5.2", 48, 0), ran("v1.5.3", 24, 120), ran("v1.5.4", 24, 110), ran("v1.5.5", 48, 0)},
			verdicts:  "good bad bad good", firstBad: "v1.5.3", answer: "good=v1.5.2 bad=v1.5.3 fixed=v1.5.5",
		},
		{
			name:      "a version that was hardly seen after the bad one is no fix",
			exposures: []Exposure{ran("v1.5.2", 48, 0), ran("v1.5.3", 24, 120), ran("v1.5.4", 1, 0)},
			verdicts:  "good bad unknown", firstBad: "v1.5.3", answer: "good=v1.5.2 bad=v1.5.3",
		},
		{
			name:      "commits have no order",
			exposures: []Exposure{ran("3f2a1bc", 48, 0), ran("9e8d7c6", 24, 120)},
			verdicts:  "good bad", firstBad: "", answer: "bad=9e8d7c6 unordered",
		},
		{
			name:      "counts that vary hide a growth of a tenth of the pace",
			exposures: []Exposure{varied("1.0", 48, 20), ran("1.1", 24, 120)},
			verdicts:  "unknown bad", firstBad: "", answer: "bad=1.1",
		},
		{
			name:      "three that came and stay are never good, however long it was watched",
			exposures: []Exposure{staying("1.0", 480, 3), ran("1.1", 24, 120)},
			verdicts:  "unknown bad", firstBad: "", answer: "bad=1.1",
		},
		{
			name:      "two that came and stay are chance",
			exposures: []Exposure{staying("1.0", 480, 2), ran("1.1", 24, 120)},
			verdicts:  "good bad", firstBad: "1.1", answer: "good=1.0 bad=1.1",
		},
		{
			name:      "a tenth of the load clears nobody in the same time",
			exposures: []Exposure{under(ran("1.0", 13, 0), 10), under(ran("1.1", 24, 120), 100)},
			verdicts:  "unknown bad", firstBad: "", answer: "bad=1.1",
		},
		{
			name:      "and does in ten times as long",
			exposures: []Exposure{under(ran("1.0", 14, 0), 10), under(ran("1.1", 24, 120), 100)},
			verdicts:  "good bad", firstBad: "1.1", answer: "good=1.0 bad=1.1",
		},
		{
			name:      "no load clears nobody at all",
			exposures: []Exposure{idle("1.0", 4800), under(ran("1.1", 24, 120), 100)},
			verdicts:  "unknown bad", firstBad: "", answer: "bad=1.1",
		},
		{
			name:      "the pace of a bad version under more load is that of its load",
			exposures: []Exposure{under(ran("1.0", 48, 0), 100), under(ran("1.1", 24, 60), 50), under(ran("1.2", 24, 1200), 1000)},
			verdicts:  "good bad bad", firstBad: "1.1", answer: "good=1.0 bad=1.1",
		},
		{
			name:      "a version that is good is never in the set of those that may be first",
			exposures: []Exposure{ran("1.0", 48, 0), slowly("1.1", 48, 18), ran("1.2", 6, 30)},
			verdicts:  "good good bad", firstBad: "1.2", answer: "good=1.1 bad=1.2",
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			b := Bisect(tc.exposures)
			var verdicts []string
			for _, r := range b.Rows {
				verdicts = append(verdicts, string(r.Verdict))
			}
			if diff := cmp.Diff(tc.verdicts, strings.Join(verdicts, " ")); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			if b.FirstBad != tc.firstBad {
				t.Errorf("first bad %q, want %q", b.FirstBad, tc.firstBad)
			}
			if got := answerOf(b); got != tc.answer && !strings.HasPrefix(got, tc.answer+" ") {
				t.Errorf("answer %q, want %q", got, tc.answer)
			}
		})
	}
}

// varied is a version whose counts went up and down.
func varied(version string, hours float64, seen int) Exposure {
	e := ran(version, hours, 0)
	e.Seen = seen
	return e
}

// slowly is a version whose members followed show no growth though the count rose.
func slowly(version string, hours float64, rise int) Exposure {
	e := ran(version, hours, 0)
	e.Rise, e.Rate = rise/9, float64(rise)/hours
	return e
}

// staying is a version in which members came and none ended.
func staying(version string, hours float64, came int) Exposure {
	e := ran(version, hours, came)
	e.Stay, e.Seen = came, came
	return e
}

// idle is a version without load.
func idle(version string, hours float64) Exposure {
	e := ran(version, hours, 0)
	e.Loads = []Demand{{"requests/s", 0}}
	return e
}

// under is an epoch under a load.
func under(e Exposure, load float64) Exposure {
	e.Load, e.Mean = "requests/s", load
	return e
}

func TestTheProofOfAFix(t *testing.T) {
	bad := ran("before", 5.0/60, 24)
	tests := []struct {
		name   string
		before Exposure
		after  Exposure
		proven bool
		more   float64 // minutes
		ratio  float64
	}{
		// 24 in 5 minutes are 288 an hour: 6.91 are due in 1.44 minutes.
		{"half an hour without growth proves it", bad, ran("after", .5, 0), true, 0, 0},
		{"a minute does not", bad, ran("after", 1.0/60, 0), false, 0.44, 0},
		{"a minute and a half does", bad, ran("after", 1.5/60, 0), true, 0, 0},
		{"a rise of ten in half an hour may be a tenth of the pace", bad, ran("after", .5, 10), false, 5.33, 0},
		{"a rise of ten in forty minutes is less than a tenth", bad, ran("after", 40.0/60, 10), true, 0, 0},
		{"loads that compare change nothing", under(bad, 100), under(ran("after", .5, 0), 96), true, 0, .96},
		{"a fifth of the load needs five times as long", under(bad, 100), under(ran("after", 6.0/60, 0), 20), false, 1.2, .2},
		{"and is proven then", under(bad, 100), under(ran("after", 7.5/60, 0), 20), true, 0, .2},
		{"a load that is known of one side only is none", under(bad, 100), ran("after", .5, 0), true, 0, 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f := Bisect([]Exposure{tc.before, tc.after}).Fix
			if f == nil {
				t.Fatal("no proof")
			}
			if f.Proven != tc.proven || math.Abs(60*f.More-tc.more) > .1 || math.Abs(f.Ratio-tc.ratio) > .001 {
				t.Errorf("proven %v, %.2f more minutes, load %.2f; want %v, %.2f, %.2f", f.Proven, 60*f.More, f.Ratio, tc.proven, tc.more, tc.ratio)
			}
			if f.Before.Version != "before" || f.Before.Rise != 24 {
				t.Errorf("before is %+v", f.Before)
			}
		})
	}
}

func TestNoFixIsComparedWhereTheNewestVersionIsBad(t *testing.T) {
	if f := Bisect([]Exposure{ran("1.0", 48, 0), ran("1.1", 24, 120)}).Fix; f != nil {
		t.Errorf("%+v", f)
	}
}

func TestTheOrderOfExposuresDoesNotMatter(t *testing.T) {
	all := []Exposure{ran("1.0", 48, 1), ran("1.0", 7, 0), ran("1.1", 1, 0), ran("1.2", 24, 120), under(ran("1.2", 23, 130), 3), ran("1.3", .1, 0)}
	all[0].Present, all[3].Present = true, true
	for i := range all {
		all[i].Began = hour(float64(i))
	}
	text := func(exposures []Exposure) string {
		b := Bisect(exposures)
		fix := *b.Fix
		b.Fix = nil
		return fmt.Sprintf("%+v %+v", b, fix)
	}
	want := text(all)
	rapid.Check(t, func(t *rapid.T) {
		if got := text(rapid.Permutation(all).Draw(t, "exposures")); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	})
}

func TestAVersionBetweenTwo(t *testing.T) {
	for _, tc := range []struct{ good, bad, want string }{
		{"v1.5.2", "v1.5.5", "v1.5.3"}, {"1.5.2", "1.5.4", "1.5.3"}, {"1.5.2", "1.5.3", ""}, {"v1.30.0", "v1.31.0", ""},
		{"v1.29.4", "v1.30.6", "v1.30.0"}, {"v1.29.4", "v1.30.1", "v1.30.0"}, {"v1.29.4", "v1.30.0", ""}, {"v1.9.3", "v2.1.0", "v2.0.0"}, {"v1.9.3", "v2.0.0", ""}, {"v1.30.6", "v1.29.4", ""}, {"1.4", "2.1", "2.0"},
		{"v1.5.2", "v1.8.0", "v1.6.0"}, {"1.5", "1.5.2", ""}, {"1.5.2-rc1", "1.5.2", ""}, {"v0.0.0-20261121030405-abc", "v0.0.0-20261123030405-abd", ""}, {"1.5.2", "1.5.2", ""},
	} {
		if got := halfway(tc.good, tc.bad); got != tc.want {
			t.Errorf("between %s and %s is %q, want %q", tc.good, tc.bad, got, tc.want)
		}
	}
}

func TestNoVersionIsTheFirstBadOneWhileItsLineHasOlderReleases(t *testing.T) {
	if b := Bisect([]Exposure{ran("v1.29.4", 48, 0), ran("v1.30.6", 24, 120)}); b.FirstBad != "" || b.Next != "v1.30.0" {
		t.Errorf("first bad %q, next %q", b.FirstBad, b.Next)
	}
	if b := Bisect([]Exposure{ran("v1.29.4", 48, 0), ran("v1.30.0", 24, 120)}); b.FirstBad != "v1.30.0" || b.Next != "" {
		t.Errorf("first bad %q, next %q", b.FirstBad, b.Next)
	}
}

func TestTheNextVersionToTestHalvesTheProbability(t *testing.T) {
	exposures := []Exposure{ran("1.0", 48, 0), ran("1.8", 24, 120)}
	for _, v := range []string{"1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7"} {
		exposures = append(exposures, ran(v, 0.01, 0)) // deployed, hardly seen
	}
	b := Bisect(exposures)
	if !slices.Contains([]string{"1.3", "1.4", "1.5"}, b.Next) {
		t.Errorf("next to test is %s, want one in the middle: %+v", b.Next, b.Rows)
	}
	if math.Abs(b.NextHours-6.91/5) > 1e-9 {
		t.Errorf("for %v hours, want those in which 6.91 are due", b.NextHours)
	}
	if len(b.Set) < 6 || slices.Contains(b.Set, "1.0") {
		t.Errorf("set %v, want the unseen versions and never the good one", b.Set)
	}
}

func TestDifferentHostsAreAConfound(t *testing.T) {
	good, bad := ran("1.0", 48, 0), ran("1.1", 24, 120)
	bad.Where = "b"
	if got := Bisect([]Exposure{good, bad}).Confounds; len(got) != 1 {
		t.Errorf("confounds %v, want the hosts", got)
	}
}

func TestExposuresAreCutWhereTheVersionChanges(t *testing.T) {
	snaps := only(piling("5 5 5 5 15 25 35 45")).at("0 3600 7200 10800 14400 18000 21600 25200").snapshots(t)
	for i, snap := range snaps {
		snap.Process.Version.Value = "1.0"
		if i >= 4 {
			snap.Process.Version.Value = "1.1"
		}
	}
	series := seriesOf(snaps)
	got := series.Exposures(series.Families[0])
	if len(got) != 2 || got[0].Version != "1.0" || got[0].Hours != 3 || got[0].Leaks || got[1].Rate != 10 || !got[1].Leaks {
		t.Errorf("%+v; want 3 hours of 1.0 without and 3 of 1.1 at 10/h", got)
	}
}

func TestAVersionThatSomeSnapshotsOfAnEpochKnowHoldsForAll(t *testing.T) {
	snaps := only(piling("5 5 5 5 15 25 35 45")).at("0 3600 7200 10800 14400 18000 21600 25200").snapshots(t)
	snaps[2].Process.Version.Value = "1.0"
	series := seriesOf(snaps)
	if got := series.Exposures(series.Families[0]); len(got) != 1 || got[0].Version != "1.0" || got[0].Hours != 7 {
		t.Errorf("%+v; want 7 hours of 1.0", got)
	}
}

func TestASeriesWithoutTheFamilyIsExposureWithoutGrowth(t *testing.T) {
	snaps := only(piling("5 5 5 5")).at("0 3600 7200 10800").snapshots(t)
	for _, snap := range snaps {
		snap.Process.Version.Value = "1.0"
	}
	other := &analysis.Family{Fingerprint: "g1:other", Kind: analysis.KindGoroutine}
	if got := seriesOf(snaps).Exposures(other); len(got) != 1 || got[0].Hours != 3 || got[0].Rise != 0 || got[0].Leaks {
		t.Errorf("%+v; want 3 hours without growth", got)
	}
	other.Kind = analysis.KindWatch
	if got := seriesOf(snaps).Exposures(other); len(got) != 0 {
		t.Errorf("%+v of a kind that was never captured", got)
	}
}

func TestAVersionUnderAGrowingLoadIsNotBad(t *testing.T) {
	snaps := only(piling("10 20 30 40 50 60")).at("0 3600 7200 10800 14400 18000").snapshots(t)
	for i, snap := range snaps {
		snap.Process.Version.Value = "1.0"
		snap.Figures = map[string]float64{"kubelet_running_pods": float64(10 * (i + 1))}
	}
	series := seriesOf(snaps)
	if got := series.JudgeAll()[onlyFamily].Verdict; got != analysis.Scaling {
		t.Fatalf("verdict %s, want scaling", got)
	}
	if got := series.Exposures(series.Families[0]); len(got) != 1 || got[0].Leaks || got[0].Load != "kubelet_running_pods" || got[0].Mean != 35 {
		t.Errorf("%+v; want an epoch that does not leak, at a mean of 35 pods", got)
	}
}

func TestCountsThatFallHideNoGrowth(t *testing.T) {
	snaps := only(piling("50 40 30 20 10 14")).at("0 3600 7200 10800 14400 18000").snapshots(t)
	for _, snap := range snaps {
		snap.Process.Version.Value = "1.0"
	}
	series := seriesOf(snaps)
	// The members of the last snapshot were all there at the first: none came.
	if got := series.Exposures(series.Families[0]); len(got) != 1 || got[0].Seen != 0 || got[0].Stay != 0 {
		t.Errorf("%+v; want none that came", got)
	}
	if got := series.Watched(series.Families[0]); got.Hours != 5 || got.Clears(1.38) || !got.Clears(1.39) {
		t.Errorf("%+v; want 5 hours that exclude 1.382 an hour", got)
	}
	// Without identities the counts tell.
	snaps = only("#50 #40 #30 #20 #10 #14").at("0 3600 7200 10800 14400 18000").snapshots(t)
	for _, snap := range snaps {
		snap.Process.Version.Value = "1.0"
	}
	series = seriesOf(snaps)
	if got := series.Watched(series.Families[0]); got.Hours != 5 || got.Clears(18) || !got.Clears(18.5) {
		t.Errorf("%+v; want 5 hours with a rise of 4, which exclude 1.83 an hour", got)
	}
}

func TestMembersThatComeAndStayAreSeenBelowFallingCounts(t *testing.T) {
	for _, tc := range []struct {
		name, line string
		seen, stay int
	}{
		{"those that end are not seen", "1-30 11-40 31-60 51-80", 10, 0},
		{"those that are gone at the next snapshot hide nothing", "1-5,11-30 1-5,31-50 1-5,51-70 1-5,71-90", 0, 0},
		{"none ended", "1-5 1-7 1-9 1-11", 4, 6},
		{"fewer, though five came for good", "1-40 11-45 21-45 31-45", 5, 5},
		{"three snapshots tell by their counts", "1-5 1-9 1-7", 4, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			snaps := only(tc.line).snapshots(t)
			for _, snap := range snaps {
				snap.Process.Version.Value = "1.0"
			}
			series := seriesOf(snaps)
			got := series.Exposures(series.Families[0])
			if len(got) != 1 || got[0].Seen != tc.seen || got[0].Stay != tc.stay || !got[0].Present {
				t.Errorf("%+v; want %d seen and %d that stay", got, tc.seen, tc.stay)
			}
		})
	}
}

func TestRequestsAreALoadOfAVersion(t *testing.T) {
	for _, tc := range []struct {
		name  string
		total []float64
		want  []Demand
	}{
		{"ten requests a second", []float64{1000, 37000, 73000, 109000}, []Demand{{"http_requests_total per second", 10}}},
		{"few requests are a load too", []float64{1000, 1001, 1002, 1003}, []Demand{{"http_requests_total per second", 1. / 3600}}},
		{"none is no load", []float64{1000, 1000, 1000, 1000}, []Demand{{"http_requests_total per second", 0}}},
		{"a counter that begins anew is known of the rest", []float64{72000, 0, 36000, 72000}, []Demand{{"http_requests_total per second", 10}}},
		{"without a counter nothing is known", nil, nil},
		{"a counter that is known for half of the time", []float64{0, 36000, math.NaN(), 36000, 72000}, []Demand{{"http_requests_total per second", 10}}},
		{"a counter that is known for less", []float64{0, 36000, math.NaN(), 36000, 72000, math.NaN()}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := max(4, len(tc.total))
			snaps := only(piling(strings.TrimSpace(strings.Repeat("5 ", n)))).at(strings.Join(strings.Fields("0 3600 7200 10800 14400 18000")[:n], " ")).snapshots(t)
			for i, snap := range snaps {
				snap.Process.Version.Value = "1.0"
				if tc.total != nil && !math.IsNaN(tc.total[i]) {
					snap.Figures = map[string]float64{"http_requests_total": tc.total[i]}
				}
			}
			series := seriesOf(snaps)
			got := series.Exposures(series.Families[0])
			if len(got) != 1 {
				t.Fatalf("%+v", got)
			}
			if diff := cmp.Diff(tc.want, got[0].Loads); diff != "" {
				t.Errorf("loads (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAFamilyThatLeaksInsteadIsNamed(t *testing.T) {
	here := func(e Exposure) Exposure { e.Present = true; return e }
	lead := []Exposure{here(ran("1.0", 48, 0)), here(ran("1.1", 24, 120)), ran("1.2", 24, 0), ran("1.3", 48, 0)}
	for _, tc := range []struct {
		name   string
		others map[string][]Exposure
		want   []Instead
	}{
		{"where the family is gone", map[string][]Exposure{"serve": {here(ran("1.2", 24, 96))}}, []Instead{{"1.2", "serve", 4}}},
		{"in every version after the rename", map[string][]Exposure{"serve": {here(ran("1.2", 24, 96)), here(ran("1.3", 24, 48))}}, []Instead{{"1.2", "serve", 4}, {"1.3", "serve", 2}}},
		{"the fastest", map[string][]Exposure{"accept": {ran("1.2", 24, 24)}, "serve": {ran("1.2", 24, 96)}}, []Instead{{"1.2", "serve", 4}}},
		{"not where the family is there", map[string][]Exposure{"serve": {ran("1.0", 24, 96)}}, nil},
		{"not what leaks beside it in a bad version", map[string][]Exposure{"serve": {ran("1.1", 24, 96), ran("1.2", 24, 96)}}, nil},
		{"not what does not leak", map[string][]Exposure{"serve": {here(ran("1.2", 24, 3))}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Replaced(lead, tc.others)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	b := Bisect(lead, Instead{"1.2", "serve", 4})
	if r := b.Rows[2]; r.Verdict != Unknown || r.Instead == nil || b.Fixed != "" || b.Rows[3].Verdict != Good {
		t.Errorf("%+v; want 1.2 unknown, and no fix in it", b.Rows)
	}
	if got, want := answerOf(b), "good=1.0 bad=1.1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b = Bisect([]Exposure{ran("1.0", 48, 0), here(ran("1.1", 24, 120))}, Instead{"1.0", "serve", 4})
	if b.FirstBad != "" || b.LastGood != "" || b.Next != "" {
		t.Errorf("first bad %q, last good %q, next %q: a version whose leak may have another name is none of them", b.FirstBad, b.LastGood, b.Next)
	}
}

// answerOf writes the answer of a bisection: the last good and the earliest bad version, what
// ended it and what to test next.
func answerOf(b Bisection) string {
	var words []string
	for _, w := range []struct{ name, version string }{{"good", b.LastGood}, {"bad", b.EarliestBad}, {"fixed", b.Fixed}, {"next", b.Next}} {
		if w.version != "" {
			words = append(words, w.name+"="+w.version)
		}
	}
	if b.Next != "" {
		words = append(words, fmt.Sprintf("hours=%.4g", b.NextHours))
	}
	if b.Unordered {
		words = append(words, "unordered")
	}
	return strings.Join(words, " ")
}
