package trend

import (
	"math"
	"strings"
	"testing"
)

// versioned is a series whose snapshots name these versions.
func versioned(t *testing.T, line, versions string) *Series {
	t.Helper()
	snaps := only(line).snapshots(t)
	for i, version := range strings.Fields(versions) {
		snaps[i].Process.Version.Value = version
		snaps[i].Figures = map[string]float64{"kubelet_running_pods": 30}
	}
	return seriesOf(snaps)
}

func TestAnEpochShowsSomethingFromTwoSnapshotsOn(t *testing.T) {
	s := versioned(t, "1-5 1-9 1-12", "1.0 1.0 1.1")
	got := s.Exposures(s.Families[0])
	if len(got) != 2 || got[0].Snapshots != 2 || got[0].Rise != 4 || got[0].Mean != 30 {
		t.Fatalf("%+v; want two snapshots of 1.0 that rose by 4 at 30 pods", got)
	}
	if got[1].Snapshots != 1 || got[1].Mean != 0 {
		t.Errorf("%+v; want one snapshot of 1.1, which shows nothing", got[1])
	}
	for line, want := range map[string]bool{"#0 #60": false, "#0 #40 #80": true} {
		snaps := only(line).snapshots(t)
		for _, snap := range snaps {
			snap.Process.Version.Value = "1.0"
		}
		s := seriesOf(snaps)
		if got := s.Exposures(s.Families[0]); len(got) != 1 || got[0].Leaks != want {
			t.Errorf("%s: %+v, want a leak: %v", line, got, want)
		}
	}
}

func TestALoadThatHalfOfTheSnapshotsShowHasAMean(t *testing.T) {
	none := math.NaN()
	for _, tc := range []struct {
		values []float64
		want   float64
	}{{[]float64{10, none, 20, none}, 15}, {[]float64{10, none, none}, 0}, {[]float64{none, none}, 0}} {
		l := load{values: tc.values}
		if got := l.mean(even(len(tc.values))); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.values, got, tc.want)
		}
	}
}

func TestAVersionIsGoodOnBothSidesOfItsThresholds(t *testing.T) {
	for _, tc := range []struct {
		name         string
		hours, below float64
		want         bool
	}{
		{"none came where 7 were due", .7, 3 / .7, true}, {"none came where 6.9 were due", .69, 3 / .69, false},
		{"one came where 47.5 were due", 4.75, 4.744 / 4.75, true}, {"one came where 47 were due", 4.7, 4.744 / 4.7, false},
		{"nothing was followed", 48, math.NaN(), false},
	} {
		r := VersionRow{Hours: tc.hours, Below: tc.below}
		if got := r.Clears(10); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
	// The upper bounds of Poisson means at 95 %, from tables: that of none is 2.996.
	for seen, want := range map[int]float64{0: 2.996, 1: 4.744, 2: 6.296, 5: 10.513, 10: 16.962} {
		if got := excluded(seen); math.Abs(got-want) > 0.01*want {
			t.Errorf("%d seen exclude %.3f, want %.3f", seen, got, want)
		}
	}
}

func TestLoadsCompareWithinAFactorOfOneAndAHalf(t *testing.T) {
	for ratio, want := range map[float64]bool{1.4: true, 1.6: false, 0.7: true, 0.6: false} {
		f := Fix{Ratio: ratio}
		if got := f.Compares(); got != want {
			t.Errorf("%v times the load: %v, want %v", ratio, got, want)
		}
	}
}

func TestTheLikelihoodOfARise(t *testing.T) {
	e := Exposure{Hours: 10, Rise: 20}
	// Without the leak 20 are 4 deviations of 5. With it 50 come, with a variance of twice 50,
	// 25, and 25 squared for the rate.
	for leaks, want := range map[bool]float64{false: -20*20/(2*25.) - math.Log(25)/2, true: -30*30/(2*750.) - math.Log(750)/2} {
		if got := e.likelihood(5, leaks); math.Abs(got-want) > 1e-9 {
			t.Errorf("leaks %v: %v, want %v", leaks, got, want)
		}
	}
}

func TestTheSetOfVersionsHas95PercentAndTheNextHalvesIt(t *testing.T) {
	// Seven that were hardly seen and the first that is known to be bad: each may be it.
	exposures := []Exposure{ran("1.0", 48, 0), ran("1.8", 24, 120)}
	for _, v := range []string{"1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7"} {
		exposures = append(exposures, ran(v, 0.01, 0))
	}
	if got := strings.Join(Bisect(exposures).Set, " "); got != "1.1 1.2 1.3 1.4 1.5 1.6 1.7 1.8" {
		t.Errorf("%s, want eight: seven of them have less than 95 %%", got)
	}
	for _, tc := range []struct {
		masses [3]float64
		want   string
	}{{[3]float64{.42, .2, .38}, "1.0"}, {[3]float64{.3, .25, .45}, "1.1"}} {
		b := Bisection{Rows: []VersionRow{{Version: "1.0", Verdict: Unknown}, {Version: "1.1", Verdict: Unknown}, {Version: "1.2", Verdict: Bad}}}
		for k := range b.Rows {
			b.Rows[k].Mass = tc.masses[k]
		}
		if b.advise(5); b.Next != tc.want {
			t.Errorf("%v: next %s, want %s", tc.masses, b.Next, tc.want)
		}
	}
}

func TestSevenHexadecimalDigitsAreACommit(t *testing.T) {
	for version, want := range map[string]bool{"abcdef0": true, "abcde0": false} {
		if got := commit(version); got != want {
			t.Errorf("%s: %v, want %v", version, got, want)
		}
	}
}

func TestNumbersOfFiveDigitsHaveNoMiddle(t *testing.T) {
	for versions, want := range map[[2]string]string{{"1.2024.3", "1.2026.0"}: "1.2025.0", {"1.20240.3", "1.20260.0"}: ""} {
		if got := halfway(versions[0], versions[1]); got != want {
			t.Errorf("%v: %q, want %q", versions, got, want)
		}
	}
}

func TestALoadThatIsZeroInHalfOfTheSnapshotsIsNone(t *testing.T) {
	none := math.NaN()
	for _, tc := range []struct {
		values []float64
		want   int
	}{{[]float64{0, 0, none, none}, 1}, {[]float64{0, none, none, none}, 0}, {[]float64{0, 0, none, none, none}, 0}, {[]float64{0, 0, 0, none, none}, 1}} {
		snaps := only(piling(strings.TrimSpace(strings.Repeat("5 ", len(tc.values))))).snapshots(t)
		s := NewSeries(Input{Snapshots: snaps, Loads: map[string][]float64{"sessions": tc.values}})
		if got := s.demands(s.parts[onlyFamily].lastRun()); len(got) != tc.want {
			t.Errorf("%v: %+v, want %d loads", tc.values, got, tc.want)
		}
	}
}

func TestOneSnapshotOfAVersionHasNoLoad(t *testing.T) {
	load := func(snapshots int, mean float64) Exposure {
		return Exposure{Version: "1.0", Snapshots: snapshots, Hours: float64(snapshots - 1), Loads: []Demand{{"sessions", mean}}}
	}
	for _, tc := range []struct {
		list []Exposure
		want float64
	}{{[]Exposure{load(2, 10), load(2, 20)}, 15}, {[]Exposure{load(2, 10), load(1, 20)}, 10}, {[]Exposure{load(1, 10), load(3, 20)}, 20}} {
		list := append(tc.list, Exposure{Version: "1.0", Snapshots: 1}) // nothing is known of its load
		if got := demandsOf(list); len(got) != 1 || got[0].Mean != tc.want {
			t.Errorf("%+v: %+v, want %v", list, got, tc.want)
		}
	}
}
