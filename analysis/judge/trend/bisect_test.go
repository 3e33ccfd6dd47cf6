package trend

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
			verdicts:  "good unknown bad", firstBad: "", text: "after 1.0, at the latest in 1.2",
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
