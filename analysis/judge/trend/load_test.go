package trend

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"leakdiff/analysis"
)

// counter is a metric that the tests below know as a counter of demand.
const counter = "shop_http_requests_total"

// counted adds a counter to the snapshots of a scenario: its value at each, "-" where the page
// of metrics is missing.
func (sc scenario) counted(t testing.TB, values string) *Series {
	t.Helper()
	snaps := sc.snapshots(t)
	for i, word := range strings.Fields(values) {
		if value, err := strconv.ParseFloat(word, 64); err == nil {
			snaps[i].Figures = map[string]float64{counter: value}
		}
	}
	return seriesOf(snaps)
}

func TestTheRateOfACounter(t *testing.T) {
	for _, tc := range []struct{ name, values, times, pids, want string }{
		{"the first capture has none, the others have that of the time around them", "0 60 180 300", "", "", "- 1.5 2 2"},
		{"the nearer time weighs more", "0 60 960", "0 60 360", "", "- 1.33 3"},
		{"a counter that falls begins anew", "0 600 60 660", "", "", "- 10 - 10"},
		{"a restart begins anew", "0 600 1200 1800", "", "1 1 2 2", "- 10 - 10"},
		{"few requests wait for more", "0 10 30 60", "", "", "- - 0.417 0.5"},
		{"sixteen requests wait for the next", "0 16 32 48", "", "", "- - 0.267 0.267"},
		{"twenty requests are enough", "0 20 40 60", "", "", "- 0.333 0.333 0.333"},
		{"a capture without metrics has none, and the next one counts from the one before it", "0 600 - 1800 2400", "", "", "- 10 - 10 10"},
		{"a counter that fell meanwhile begins anew", "0 600 - 100 700", "", "", "- 10 - - 10"},
		{"captures without a time have none", "0 600 1200", "- - -", "", ""},
		{"a process that nobody asks has no load", "5 5 5", "", "", ""},
	} {
		sc := only(strings.TrimSpace(strings.Repeat("1-9 ", len(strings.Fields(tc.values)))))
		sc.times, sc.pids = tc.times, tc.pids
		var got []string
		for _, l := range sc.counted(t, tc.values).rates {
			for _, v := range l.values {
				if math.IsNaN(v) {
					got = append(got, "-")
					continue
				}
				got = append(got, fmt.Sprintf("%.3g", v))
			}
		}
		if words := strings.Join(got, " "); words != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, words, tc.want)
		}
	}
}

// fresh are counts whose members are new at every snapshot, stays counts whose members stay.
func fresh(counts ...int) string { return ids(counts, 1000) }
func stays(counts ...int) string { return ids(counts, 0) }

func ids(counts []int, apart int) string {
	var words []string
	for i, n := range counts {
		words = append(words, fmt.Sprintf("%d-%d", 1+i*apart, n+i*apart))
	}
	return strings.Join(words, " ")
}

// blind are counts without identities.
func blind(counts ...int) string {
	var words []string
	for _, n := range counts {
		words = append(words, "#"+strconv.Itoa(n))
	}
	return strings.Join(words, " ")
}

// sums are the values of a counter whose rate is so many requests a minute.
func sums(perMinute ...int) string {
	words, sum := []string{"0"}, 0
	for _, n := range perMinute {
		sum += n
		words = append(words, strconv.Itoa(sum))
	}
	return strings.Join(words, " ")
}

// The rate of a demand that swings and rises, what is in progress by it, and what leaks of it.
var (
	swinging   = []int{600, 900, 1500, 900, 600, 1200, 2100, 2700, 1800, 1200, 1800, 3000, 3600}
	inProgress = []int{20, 25, 40, 40, 25, 30, 55, 80, 75, 50, 50, 80, 120, 120}
	perRequest = []int{20, 22, 25, 30, 33, 35, 39, 46, 55, 61, 65, 71, 81, 93}
)

func TestAFamilyFollowsTheRateOfRequestsUnlessItsMembersStay(t *testing.T) {
	exponential, both := []int{600, 900, 1350, 2025, 3038, 4557, 6834}, []int{10, 14, 21, 31, 47, 70, 106, 159}
	for _, tc := range []struct {
		name, line, requests string
		want                 analysis.Verdict
	}{
		{"requests in progress rise with the rate and none stays", fresh(20, 25, 30, 40, 55, 65, 70), sums(600, 720, 960, 1320, 1560, 1680), analysis.Scaling},
		{"they swing with the rate", fresh(inProgress...), sums(swinging...), analysis.Scaling},
		{"without a metric nobody knows a load, and none stays", fresh(20, 25, 30, 40, 55, 65, 70), "", analysis.Grew},
		{"each request leaves a member while the rate swings", stays(perRequest...), sums(swinging...), analysis.Leaking},
		{"each request leaves a member and the rate rises exponentially, as their sum does", stays(both...), sums(exponential...), analysis.Leaking},
		{"the same without identities", blind(both...), sums(exponential...), analysis.Leaking},
		{"without identities, twelve rates that swing tell requests in progress", blind(inProgress...), sums(swinging...), analysis.Scaling},
		{"without identities, fewer rates do not", blind(20, 25, 40, 55, 70, 90, 120), sums(600, 1200, 1650, 2100, 2700, 3600), analysis.Leaking},
		{"without identities, eleven rates do not", blind(20, 25, 40, 40, 25, 30, 55, 80, 85, 90, 110, 120), sums(600, 900, 1500, 900, 600, 1200, 2100, 2700, 2400, 3000, 3600), analysis.Leaking},
		{"a rate that stays explains nothing", stays(20, 30, 40, 50, 60, 70), sums(600, 600, 600, 600, 600), analysis.Leaking},
		{"two rates are too few", fresh(20, 25, 50), sums(600, 1200), analysis.Suspicious},
	} {
		s := only(tc.line).counted(t, tc.requests)
		if got := s.Verdicts()[onlyFamily]; got != tc.want {
			t.Errorf("%s: %s, want %s: %v", tc.name, got, tc.want, s.JudgeAll()[onlyFamily].Evidence)
		}
	}
}

func TestAGrowthByIdentityInStepWithItsTargetsScales(t *testing.T) {
	for _, tc := range []struct {
		name, line string
		targets    []float64
		want       analysis.Verdict
	}{
		{"in one step that has ended", stays(80, 80, 80, 80, 228, 228, 228, 228), []float64{40, 40, 40, 40, 114, 114, 114, 114}, analysis.Scaling},
		{"in few small steps", stays(16, 16, 16, 16, 19, 22), []float64{16, 16, 16, 16, 19, 22}, analysis.Scaling},
		{"four captures are enough", stays(16, 16, 19, 22), []float64{16, 16, 19, 22}, analysis.Scaling},
		{"three are in proportion by chance", stays(16, 19, 22), []float64{16, 19, 22}, analysis.Grew},
		{"a step of the load at another time explains nothing", stays(80, 80, 80, 80, 228, 228, 228, 228), []float64{40, 114, 114, 114, 114, 114, 114, 114}, analysis.Stopped},
	} {
		snaps := only(tc.line).snapshots(t)
		for i, snap := range snaps {
			snap.Figures = map[string]float64{"prometheus_sd_discovered_targets": tc.targets[i]}
		}
		s := seriesOf(snaps)
		if got := s.Verdicts()[onlyFamily]; got != tc.want {
			t.Errorf("%s: %s, want %s: %v", tc.name, got, tc.want, s.JudgeAll()[onlyFamily].Evidence)
		}
	}
}

func TestARateIsMeasuredInRequestsPerSecond(t *testing.T) {
	// 285 members in sum over 123 requests per second in sum.
	const names = "(shop_http_requests_total, request)"
	for _, tc := range map[string]struct{ line, requests, load, decides string }{
		"several for each": {fresh(20, 25, 30, 40, 55, 65, 70), sums(600, 720, 960, 1320, 1560, 1680),
			"explains factor=2.317 first=11 last=28 " + names, "if_load_stands " + names},
		"fewer than one for each": {fresh(20, 25, 30, 40, 55, 65, 70), sums(60000, 72000, 96000, 132000, 156000, 168000),
			"explains factor=0.02317 first=1100 last=2800 " + names, "if_load_stands " + names},
		"members that stay": {stays(perRequest...), sums(swinging...),
			"other_and_stay first=12.5 last=60 " + names, "if_those_gone 61"},
	} {
		judged := only(tc.line).counted(t, tc.requests).JudgeAll()[onlyFamily]
		wantEvidence(t, judged, ruleLoad, tc.load)
		wantEvidence(t, judged, ruleDecides, tc.decides)
	}
}

func TestALoadThatPeopleEnterWinsOverTheCounterOfItsName(t *testing.T) {
	sc := only(fresh(20, 30, 40))
	snaps := sc.snapshots(t)
	for i, snap := range snaps {
		snap.Figures = map[string]float64{counter: float64(1000 * i)}
	}
	s := NewSeries(Input{Snapshots: snaps, Loads: map[string][]float64{counter: {1, 2, 3}}})
	if len(s.rates) != 0 || len(s.Loads()) != 1 {
		t.Errorf("%d rates, loads %v", len(s.rates), s.Loads())
	}
}

func TestACountFollowsARateOnBothSidesOfItsThresholds(t *testing.T) {
	deviation := math.Sqrt(400 + 0.07*400*0.07*400) // of 400 members
	for _, tc := range []struct {
		name          string
		factor        float64
		counts, rates []float64
		want          bool
	}{
		{"in proportion", 20, []float64{20, 40, 60}, []float64{1, 2, 3}, true},
		{"a rate that varies by a fifth, which chance explains", 100, []float64{1000, 1100, 1200}, []float64{10, 11, 12}, false},
		{"a rate that varies by a half", 100, []float64{1000, 1250, 1500}, []float64{10, 12.5, 15}, true},
		{"a rate that varies by a fifth, at many captures", 100, []float64{1000, 1200, 1000, 1200, 1000, 1200}, []float64{10, 12, 10, 12, 10, 12}, true},
		{"a rate that varies by less than a fifth", 100, []float64{1000, 1190, 1000, 1190, 1000, 1190}, []float64{10, 11.9, 10, 11.9, 10, 11.9}, false},
		{"a snapshot without requests", 20, []float64{0, 40, 60}, []float64{0, 2, 3}, false},
		{"one of many counts less than three deviations beside", 100, []float64{100, 200, 300, 100, 200, 300, 400 - 2.99*deviation}, []float64{1, 2, 3, 1, 2, 3, 4}, true},
		{"one of many counts more than three deviations beside", 100, []float64{100, 200, 300, 100, 200, 300, 400 - 3.01*deviation}, []float64{1, 2, 3, 1, 2, 3, 4}, false},
		{"counts that are mostly beside", 100, []float64{130, 150, 390, 300}, []float64{1, 2, 3, 4}, false},
		{"two members beside", 3, []float64{0, 12, 24, 30}, []float64{0.5, 4, 8, 10}, true},
	} {
		var points []ratePoint
		for i := range tc.counts {
			points = append(points, ratePoint{count: tc.counts[i], rate: tc.rates[i], requests: math.Inf(1)})
		}
		if got := follows(points, tc.factor); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestALoadWithoutBoundLeavesNoNumberThatJSONLacks(t *testing.T) {
	s := NewSeries(Input{Snapshots: only(piling("10 20 30 40 50 60")).snapshots(t), Loads: map[string][]float64{"targets": {1, 2, 3, 4, 5, math.Inf(1)}}})
	judged := s.JudgeAll()[onlyFamily]
	if evidenceOf(judged, ruleLoad) == "" {
		t.Fatal("no load is told")
	}
	if _, err := json.Marshal(judged.Evidence); err != nil {
		t.Error(err)
	}
}
