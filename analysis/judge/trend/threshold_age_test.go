package trend

import (
	"testing"
	"time"

	"leakdiff/analysis"
)

// spread returns ages in hours: n members, evenly from low to high.
func spread(n int, low, high float64) []float64 {
	out := make([]float64, n)
	for k := range out {
		out[k] = low + (high-low)*float64(k)/float64(n-1)
	}
	return out
}

func TestAgesHoldOnBothSidesOfTheirThresholds(t *testing.T) {
	join := func(lists ...[]float64) (out []float64) {
		for _, l := range lists {
			out = append(out, l...)
		}
		return out
	}
	tests := []struct {
		name    string
		members int
		kept    []float64
		want    bool
	}{
		{"ten even ages", 10, spread(10, 0.5, 10), true},
		{"nine even ages", 9, spread(9, 0.5, 10), false},
		{"a twentieth of the members", 200, spread(10, 0.5, 10), true},
		{"less than a twentieth", 201, spread(10, 0.5, 10), false},
		{"as old as asked", 10, spread(10, 0.5, 2), true},
		{"younger than asked", 10, spread(10, 0.5, 1.99), false},
		{"half in one bin", 20, join(spread(10, 9.5, 10), spread(10, 0.6, 8)), true},
		{"more than half in one bin", 20, join(spread(11, 9.5, 10), spread(9, 0.6, 8)), false},
		{"four bins", 20, join(spread(5, 0.5, 0.6), spread(5, 3.8, 3.9), spread(5, 6.6, 6.7), spread(5, 9.9, 10)), true},
		{"three bins", 21, join(spread(7, 0.5, 0.6), spread(7, 5, 5.1), spread(7, 9.9, 10)), false},
		{"half older than .30 of the oldest", 20, join(spread(9, 0.5, 2.9), spread(11, 3.1, 10)), true},
		{"half younger than .30 of the oldest", 20, join(spread(12, 0.5, 2.9), spread(8, 3.1, 10)), false},
		{"a fifth younger than half", 20, join(spread(4, 1, 4), spread(16, 5.5, 10)), true},
		{"less than a fifth younger", 21, join(spread(4, 1, 4), spread(17, 5.5, 10)), false},
	}
	for _, tc := range tests {
		a := ages{members: tc.members}
		if a.judge(tc.kept, 0.5, 2); a.holds != tc.want {
			t.Errorf("%s: %v, want %v: %+v", tc.name, a.holds, tc.want, a)
		}
	}
}

func TestWhichAgesCountTurnsAtItsThresholds(t *testing.T) {
	kept := func(uptime float64, waits ...int32) ages {
		return seriesOf([]*analysis.Snapshot{aged(uptime, waits...)}).parts[onlyFamily].measureAges(new(buffers))
	}
	tests := []struct {
		name   string
		uptime float64
		wait   int32
		want   int
	}{
		{"half an hour", 10, 30, 10}, {"29 minutes", 10, 29, 9},
		{"95 % of the uptime", 10, 570, 10}, {"with the start", 10, 571, 9},
	}
	for _, tc := range tests {
		if a := kept(tc.uptime, append(every(60, 300, 30), tc.wait)...); a.kept != tc.want {
			t.Errorf("%s: %d ages count, want %d", tc.name, a.kept, tc.want)
		}
	}
	for _, tc := range []struct {
		name   string
		uptime float64
		oldest int32
		want   bool
	}{
		{"a quarter of the uptime", 16, 240, true}, {"less than a quarter", 16.2, 240, false},
		{"two hours", 4, 120, true}, {"less than two hours", 4, 119, false},
	} {
		step := (tc.oldest - 31) / 11
		if a := kept(tc.uptime, append(every(31, tc.oldest-step, step), tc.oldest)...); a.holds != tc.want {
			t.Errorf("%s: %v, want %v: %+v", tc.name, a.holds, tc.want, a)
		}
	}
}

func TestAgesToTheSecondCountByShares(t *testing.T) {
	measured := func(hours ...float64) ages {
		snap := aged(10, make([]int32, len(hours))...)
		snap.Groups[0].Family.Kind = analysis.KindThread
		snap.Groups[0].Members.Fill().Wait = nil
		setTotal(snap, analysis.KindThread, len(hours))
		in := Input{Snapshots: []*analysis.Snapshot{snap}, Elapsed: []map[string][]float64{{onlyFamily: hours}}}
		return NewSeries(in).parts[onlyFamily].measureAges(new(buffers))
	}
	for age, want := range map[float64]int{0.2: 12, 0.19: 11, 9.5: 12, 9.6: 11} {
		if a := measured(append(spread(11, 1, 6), age)...); a.kept != want {
			t.Errorf("%v of 10 hours: %d count, want %d", age, a.kept, want)
		}
	}
	for oldest, want := range map[float64]bool{2.5: true, 2.4: false} {
		if a := measured(spread(12, 0.3, oldest)...); a.holds != want {
			t.Errorf("the oldest %v of 10 hours: %v, want %v", oldest, a.holds, want)
		}
	}
}

func TestStartTimesOfOneProcessDifferByTenSeconds(t *testing.T) {
	for apart, want := range map[float64]int{10: 0, 11: 1} {
		snaps := only(piling("10 20")).snapshots(t)
		for i, snap := range snaps {
			snap.Figures = map[string]float64{startFigure: 1e9 + apart*float64(i)}
		}
		if got := Epochs(snaps)[1]; got != want {
			t.Errorf("%v seconds apart: epoch %d, want %d", apart, got, want)
		}
	}
}

func TestHalfOfTheIdsAreOneProcess(t *testing.T) {
	for line, want := range map[string]int{"1-9,100 1-5": 0, "1-9,100 1-4": 1} {
		snaps := scenario{families: map[string]string{onlyFamily: line}}.snapshots(t)
		if got := Epochs(snaps)[1]; got != want {
			t.Errorf("%s: epoch %d, want %d", line, got, want)
		}
	}
}

func TestTheOldestGoroutineOrTheMetricsTellTheUptime(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*analysis.Snapshot)
	}{
		{"the oldest goroutine waits for ten hours", func(snap *analysis.Snapshot) {
			snap.Groups = append(snap.Groups, analysis.Group{Family: &analysis.Family{Fingerprint: "g1:main", Kind: analysis.KindGoroutine}, Count: 1, OldestWait: 600})
		}},
		{"the metrics name a start ten hours ago", func(snap *analysis.Snapshot) {
			snap.Figures = map[string]float64{"process_start_time_seconds": float64(testEpoch.Add(-10 * time.Hour).Unix())}
		}},
	} {
		// Members of more than 95 % of ten hours came with the start.
		for wait, want := range map[int32]int{570: 10, 571: 9} {
			snap := aged(10, append(every(60, 300, 30), wait)...)
			snap.Process.Start.Value = ""
			tc.change(snap)
			if a := seriesOf([]*analysis.Snapshot{snap}).parts[onlyFamily].measureAges(new(buffers)); a.kept != want {
				t.Errorf("%s, a member of %d minutes: %d ages count, want %d", tc.name, wait, a.kept, want)
			}
		}
	}
}

func TestMembersOfTheStartAreNoBirths(t *testing.T) {
	// Of 48 hours 95 % are 45.6.
	for hours, want := range map[float64]int{45.5: 3, 45.7: 2} {
		snap := aged(48, 1, 2, 3)
		s := NewSeries(Input{Snapshots: []*analysis.Snapshot{snap}, Elapsed: []map[string][]float64{{onlyFamily: {1, 2, hours}}}})
		born := 0
		for _, b := range s.Births(onlyFamily, 0) {
			born += b.Born
		}
		if born != want {
			t.Errorf("one of %v hours: %d births, want %d", hours, born, want)
		}
	}
}
