package trend

import (
	"math"
	"slices"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/demand"
)

func TestWhatFollowsAGaugeOfTheProgramIsSuspiciousAtMost(t *testing.T) {
	const line = "1-20 1-30 1-40 1-50 1-60"
	for _, tc := range []struct {
		name    string
		line    string
		gauge   string
		values  []float64
		follows bool
	}{
		{"one for each tenant", line, "app_tenants", []float64{20, 30, 40, 50, 60}, true},
		{"two for each", line, "app_tenants", []float64{10, 15, 20, 25, 30}, true},
		{"within a tenth", line, "app_tenants", []float64{20, 30, 40, 50, 54.6}, true},
		{"beyond a tenth", line, "app_tenants", []float64{20, 30, 40, 50, 54.5}, false},
		{"one more or less", "1-3 1-5 1-8 1-12 1-17", "app_tenants", []float64{4, 5, 8, 12, 17}, true},
		{"two more or less", "1-3 1-5 1-8 1-12 1-17", "app_tenants", []float64{5, 5, 8, 12, 17}, false},
		{"a capture without it", line, "app_tenants", []float64{20, math.NaN(), 40, 50, 60}, false},
		{"none at first", "- 1-10 1-20 1-30 1-40", "app_tenants", []float64{0, 10, 20, 30, 40}, true},
	} {
		snaps := only(tc.line).snapshots(t)
		for i, v := range tc.values {
			if !math.IsNaN(v) {
				snaps[i].Figures = map[string]float64{demand.FigureOf(tc.gauge): v}
			}
		}
		s := seriesOf(snaps)
		got := s.JudgeAll()[onlyFamily]
		follows := slices.ContainsFunc(got.Evidence, func(e analysis.Evidence) bool { return e.Rule == ruleLoad && e.Form == "follows" })
		if follows != tc.follows || follows && got.Verdict != analysis.Suspicious {
			t.Errorf("%s: %s, follows: %v", tc.name, got.Verdict, follows)
		}
	}
}

func TestAFamilyFollowsAGaugeOnBothSidesOfItsThresholds(t *testing.T) {
	for _, tc := range []struct {
		name string
		line string
		want bool
	}{
		{"four captures", "1-20 1-22 1-23 1-24", true},
		{"three captures", "1-20 1-22 1-24", false},
		{"the gauge varies by a fifth", "1-20 1-20 1-20 1-24", true},
		{"the gauge varies by less", "1-100 1-100 1-100 1-119", false},
	} {
		snaps := only(tc.line).snapshots(t)
		for _, snap := range snaps {
			snap.Figures = map[string]float64{}
			for _, g := range snap.Groups {
				if g.Family.Fingerprint == onlyFamily {
					snap.Figures[demand.FigureOf("app_tenants")] = float64(g.Count)
				}
			}
		}
		s := seriesOf(snaps)
		p := s.judgements().byFingerprint[onlyFamily].part
		if got := p.follows() != nil; got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}
