package trend

import (
	"fmt"
	"math"
	"testing"
	"time"

	"leakdiff/analysis"
)

// signalSeries has a capture an hour with the figures that of returns.
func signalSeries(n int, of func(i int) map[string]float64) *Series {
	at := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	var snaps []*analysis.Snapshot
	for i := range n {
		snaps = append(snaps, &analysis.Snapshot{CapturedAt: at.Add(time.Duration(i) * time.Hour), Figures: of(i)})
	}
	return NewSeries(Input{Snapshots: snaps})
}

func TestSignalsBesideAGrowth(t *testing.T) {
	const errors, refusals = `rest_client_requests_total{code="5xx"}`, `rest_client_requests_total{code="4xx"}`
	const probes, relist = "prober_probe_total", "kubelet_pleg_relist_duration_seconds_bucket"
	counter := func(name string, counts ...float64) func(int) map[string]float64 {
		return func(i int) map[string]float64 { return map[string]float64{name: counts[i]} }
	}
	// probing has 100 probes an hour of ten pods, and in the end so many probes and pods.
	probing := func(last, pods float64) func(int) map[string]float64 {
		return func(i int) map[string]float64 {
			return map[string]float64{probes: []float64{0, 100, 200, last}[i], "kubelet_running_pods": []float64{10, 10, 10, pods}[i]}
		}
	}
	// relists has 1,000 more relists in each hour, of which so many take above ten seconds.
	relists := func(slow ...float64) func(int) map[string]float64 {
		sum := make([]float64, len(slow))
		for i := range slow {
			sum[i] = slow[i]
			if i > 0 {
				sum[i] += sum[i-1]
			}
		}
		return func(i int) map[string]float64 {
			all := 1000 * float64(i+1)
			return map[string]float64{relist + `{le="1"}`: all - sum[i] - 100, relist + `{le="10"}`: all - sum[i], relist + `{le="+Inf"}`: all}
		}
	}
	for _, tc := range []struct {
		name string
		n    int
		of   func(int) map[string]float64
		want string
	}{
		{"errors from the second hour on", 4, counter(errors, 5, 5, 95, 185), "[server_errors since 2: NaN 0 90 90]"},
		{"errors that ended", 4, counter(errors, 0, 90, 90, 90), "[]"},
		{"a counter that began anew", 4, counter(errors, 500, 20, 110, 200), "[server_errors since 2: NaN NaN 90 90]"},
		{"one capture", 1, counter(errors, 500), "[]"},
		{"one relist in a hundred above ten seconds", 3, relists(0, 10, 10), "[]"},
		{"eleven in a thousand", 3, relists(0, 11, 11), "[pleg since 1: NaN 10+ 10+]"},
		{"slow relists that ended", 3, relists(0, 500, 0), "[]"},
		{"more than twice the probes of nobody knows how many pods", 4, counter(probes, 0, 100, 200, 401), "[]"},
		{"twice the probes of as many pods", 4, probing(400, 10), "[]"},
		{"more than twice", 4, probing(401, 10), "[probes since 3: NaN 100 100 201]"},
		{"more than twice the probes of twice the pods", 4, probing(401, 20), "[]"},
		{"a few refusals all the time", 4, counter(refusals, 0, 5, 10, 15), "[]"},
		{"refusals that doubled and more", 4, counter(refusals, 0, 5, 10, 30), "[client_errors since 3: NaN 5 5 20]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, x := range signalSeries(tc.n, tc.of).Signals() {
				text := fmt.Sprintf("%s since %d:", x.Name, x.Since)
				for i, v := range x.Values {
					text += fmt.Sprintf(" %g", v)
					if x.Beyond[i] && !math.IsNaN(v) {
						text += "+"
					}
				}
				got = append(got, text)
			}
			if fmt.Sprint(got) != tc.want {
				t.Errorf("%v, want %s", got, tc.want)
			}
		})
	}
}
