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
		text      string
	}{
		{
			// The public example: 5.5.4 good, 5.5.5 bad.
			name:      "neighbours, both long enough",
			exposures: []Exposure{ran("5.5.4", 48, 0), ran("5.5.5", 24, 120)},
			verdicts:  "good bad", firstBad: "5.5.5", text: "first bad version: 5.5.5",
		},
		{
			// At 5/h the effect of ten needs six hours.
			name:      "an hour clears nobody",
			exposures: []Exposure{ran("1.0", 48, 1), ran("1.1", 1, 0), ran("1.2", 24, 120)},
			verdicts:  "good unknown bad", firstBad: "", text: "it began between 1.0 (good) and 1.2 (bad)",
		},
		{
			name:      "everything grows",
			exposures: []Exposure{ran("1.0", 24, 120), ran("1.1", 24, 110)},
			verdicts:  "bad bad", firstBad: "", text: "bad from 1.0 at the latest; no older version is known to be good",
		},
		{
			name:      "nothing grows",
			exposures: []Exposure{ran("1.0", 24, 0), ran("1.1", 24, 1)},
			verdicts:  "unknown unknown", firstBad: "", text: "no version is known to be bad",
		},
		{
			name:      "versions between two neighbours of the table were not seen",
			exposures: []Exposure{ran("v1.5.2", 48, 0), ran("v1.5.5", 24, 120)},
			verdicts:  "good bad", firstBad: "", text: "it began between v1.5.2 (good) and v1.5.5 (bad); next to test: v1.5.3, at least 6 h with a snapshot every 1 h 12 min",
		},
		{
			name:      "a good version after the bad ones is the fix, and does not unsay which was first",
			exposures: []Exposure{ran("v1.5.2", 48, 0), ran("v1.5.3", 24, 120), ran("v1.5.4", 24, 110), ran("v1.5.5", 48, 0)},
			verdicts:  "good bad bad good", firstBad: "v1.5.3", text: "first bad version: v1.5.3; last good: v1.5.2; fixed in v1.5.5",
		},
		{
			name:      "a version that was hardly seen after the bad one is no fix",
			exposures: []Exposure{ran("v1.5.2", 48, 0), ran("v1.5.3", 24, 120), ran("v1.5.4", 1, 0)},
			verdicts:  "good bad unknown", firstBad: "v1.5.3", text: "first bad version: v1.5.3; last good: v1.5.2",
		},
		{
			name:      "commits have no order",
			exposures: []Exposure{ran("3f2a1bc", 48, 0), ran("9e8d7c6", 24, 120)},
			verdicts:  "good bad", firstBad: "", text: "bad: 9e8d7c6; good: 3f2a1bc; the order of commits is not known",
		},
		{
			name:      "counts that vary hide a growth of half the pace",
			exposures: []Exposure{varied("1.0", 48, 150), ran("1.1", 24, 120)},
			verdicts:  "unknown bad", firstBad: "", text: "bad from 1.1 at the latest",
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
			if !strings.HasPrefix(b.Text(), tc.text) {
				t.Errorf("text %q, want %q", b.Text(), tc.text)
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
		// 24 in 5 minutes are 288 an hour: a tenth of it is excluded after 6.25 minutes.
		{"half an hour without growth proves it", bad, ran("after", .5, 0), true, 0, 0},
		{"two minutes do not", bad, ran("after", 2.0/60, 0), false, 4.25, 0},
		{"a rise of ten in half an hour is far below the pace", bad, ran("after", .5, 10), true, 0, 0},
		{"a rise of 15 in seven minutes is not", bad, ran("after", 7.0/60, 15), false, 2.7, 0},
		{"loads that compare change nothing", under(bad, 100), under(ran("after", .5, 0), 96), true, 0, .96},
		{"a fifth of the load needs five times as long", under(bad, 100), under(ran("after", 25.0/60, 0), 20), false, 6.25, .2},
		{"and is proven then", under(bad, 100), under(ran("after", 32.0/60, 0), 20), true, 0, .2},
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
		{"v1.5.2", "v1.8.0", "v1.6.0"}, {"1.5", "1.5.2", ""}, {"1.5.2-rc1", "1.5.2", ""}, {"v0.0.0-20261121030405-abc", "v0.0.0-20261123030405-abd", ""}, {"1.5.2", "1.5.2", ""},
	} {
		if got := halfway(tc.good, tc.bad); got != tc.want {
			t.Errorf("between %s and %s is %q, want %q", tc.good, tc.bad, got, tc.want)
		}
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
	// Ten times 3 hours over 5/h.
	if b.NextHours != 6 {
		t.Errorf("for %v hours, want 6", b.NextHours)
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
	if got := series.Exposures(series.Families[0]); len(got) != 1 || got[0].Seen != 4 {
		t.Errorf("%+v; want a largest rise of 4", got)
	}
	if got := series.Watched(series.Families[0]); got.Hours != 5 || got.Clears(4) || !got.Clears(8) {
		t.Errorf("%+v; want 5 hours that exclude 8 an hour and not 4", got)
	}
}
