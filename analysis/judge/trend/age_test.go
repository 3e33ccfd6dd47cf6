package trend

import (
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
)

// aged is one dump of one family: members with these waits in minutes, in a process
// that has run for this many hours.
func aged(uptime float64, minutes ...int32) *analysis.Snapshot {
	snap := &analysis.Snapshot{Label: "t0", CapturedAt: testEpoch, MaxGoroutineID: 10_000_000}
	snap.Process.Start.Value = testEpoch.Add(-hoursLong(uptime)).Format(time.RFC3339)
	group := analysis.Group{
		Family: &analysis.Family{Fingerprint: onlyFamily, Kind: analysis.KindGoroutine}, Count: len(minutes),
		States: map[string]int{"chan receive": len(minutes)}, OldestWait: -1,
	}
	for m, w := range minutes {
		group.Members.Fill().ID = append(group.Members.Fill().ID, int64(m+100))
		group.Members.Fill().Wait = append(group.Members.Fill().Wait, w)
		group.OldestWait = max(group.OldestWait, int(w))
	}
	snap.Groups = []analysis.Group{group}
	setTotal(snap, analysis.KindGoroutine, group.Count)
	return snap
}

// every is waits from one to another minute in steps.
func every(from, to, step int32) []int32 {
	var out []int32
	for w := from; w <= to; w += step {
		out = append(out, w)
	}
	return out
}

func times(n int, minutes int32) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = minutes
	}
	return out
}

func join(lists ...[]int32) []int32 {
	var out []int32
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

func TestAgesOfOneDump(t *testing.T) {
	tests := []struct {
		name   string
		uptime float64
		waits  []int32
		want   bool
	}{
		{"uniform ages over a day are a leak", 48, every(60, 1440, 60), true},
		{"nine old members are too few", 48, every(180, 1620, 180), false},
		{"all of one hour are a burst", 48, times(30, 600), false},
		{"members of the process's start are no births", 24, join(times(40, 24*60-10), times(5, 60)), false},
		{"a process of two hours is too young", 2, every(31, 110, 5), false},
		{"no birth in the younger half is a warm-up that ended", 48, every(1500, 2700, 60), false},
		{"many young and few old ones are churn", 48, join(times(60, 35), times(20, 90), times(8, 200), times(4, 500), times(2, 900), times(1, 1500)), false},
		{"less than a twentieth of the family says nothing", 48, join(times(400, -1), every(60, 1320, 120)), false},
		{"requests of the last minutes do not hide a leak", 48, join(times(100, -1), every(60, 1440, 60)), true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := seriesOf([]*analysis.Snapshot{aged(tc.uptime, tc.waits...)})
			a := s.parts[onlyFamily].measureAges(new(buffers))
			if a.holds != tc.want {
				t.Errorf("holds = %v, want %v: %+v", a.holds, tc.want, a)
			}
			want := analysis.TooFewPoints
			if tc.want {
				want = analysis.Suspicious // one dump never proves more
			}
			if got := s.JudgeAll()[onlyFamily].Verdict; got != want {
				t.Errorf("verdict %s, want %s", got, want)
			}
		})
	}
}

func TestFamiliesThatWakeOnTimersHaveNoAges(t *testing.T) {
	snap := aged(48, every(60, 1440, 60)...)
	snap.Groups[0].States = map[string]int{"sleep": snap.Groups[0].Count}
	if got := seriesOf([]*analysis.Snapshot{snap}).JudgeAll()[onlyFamily].Verdict; got != analysis.TooFewPoints {
		t.Errorf("verdict %s, want too few points", got)
	}
}

func TestAgesProveAGrowthOfTwoSnapshots(t *testing.T) {
	earlier := aged(24, every(60, 720, 60)...)
	earlier.CapturedAt = testEpoch.Add(-24 * time.Hour)
	earlier.Label = "t-1"
	earlier.Process.Start.Value = testEpoch.Add(-48 * time.Hour).Format(time.RFC3339)
	later := aged(48, join(every(60, 1440, 30), every(1500, 2160, 60))...)
	judged := seriesOf([]*analysis.Snapshot{earlier, later}).JudgeAll()[onlyFamily]
	if judged.Verdict != analysis.Leaking {
		t.Errorf("verdict %s, want leaking: %v", judged.Verdict, judged.Evidence)
	}
}

func TestElapsedTimesOfThreadsAreAges(t *testing.T) {
	// A JVM of ten minutes: the shares of its uptime replace half an hour and two
	// hours.
	snap := aged(1.0/6, every(0, 23, 1)...)
	snap.Groups[0].Family.Kind = analysis.KindThread
	snap.Groups[0].Members.Fill().Wait = nil
	setTotal(snap, analysis.KindThread, snap.Groups[0].Count)
	elapsed := make([]float64, snap.Groups[0].Count)
	for m := range elapsed {
		elapsed[m] = float64(m+1) / 150 // 24 s apart, to 9.6 of 10 minutes
	}
	in := Input{Snapshots: []*analysis.Snapshot{snap}, Elapsed: []map[string][]float64{{onlyFamily: elapsed}}}
	judged := NewSeries(in).JudgeAll()[onlyFamily]
	if got := judged.Verdict; got != analysis.Suspicious {
		t.Errorf("verdict %s, want suspicious", got)
	}
	for _, e := range judged.Evidence {
		if e.Rule == ruleAges && hoursLong(e.Figures["least"]).Round(time.Second) != 12*time.Second {
			t.Errorf("members from %v hours on are kept, want 12 s", e.Figures["least"])
		}
	}
	if got := seriesOf(in.Snapshots).JudgeAll()[onlyFamily].Verdict; got != analysis.TooFewPoints {
		t.Errorf("without ages: %s, want too few points", got)
	}
}

func TestBirthsPerHour(t *testing.T) {
	// 03:00 less 30, 61, 62 and 200 minutes; the one of 47 hours came with the
	// process.
	snap := aged(48, 30, 61, 62, 200, 47*60)
	if got := seriesOf([]*analysis.Snapshot{snap}).Births(onlyFamily, 0); got != nil {
		t.Errorf("waits are taken for ages: %v", got)
	}
	var elapsed []float64
	for minutes := range snap.Groups[0].Members.Waits() {
		elapsed = append(elapsed, float64(minutes)/60)
	}
	s := NewSeries(Input{Snapshots: []*analysis.Snapshot{snap}, Elapsed: []map[string][]float64{{onlyFamily: elapsed}}})
	got := s.Births(onlyFamily, 0)
	want := map[string]int{"23:00": 1, "00:00": 0, "01:00": 2, "02:00": 1, "03:00": 0}
	if len(got) != len(want) {
		t.Fatalf("%d hours, want %d: %v", len(got), len(want), got)
	}
	for _, b := range got {
		if n, ok := want[b.Hour.Format("15:04")]; !ok || n != b.Born {
			t.Errorf("%s: %d births, want %d", b.Hour.Format("15:04"), b.Born, n)
		}
	}
	if got := s.Births("g1:nobody", 0); got != nil {
		t.Errorf("an unknown family has births: %v", got)
	}
}

func TestAWaitDatesABirthOnlyWithASnapshotThatLacksTheMember(t *testing.T) {
	// Members by their ids from 100 on; at is in minutes after 03:00.
	round := func(at int, waits ...int32) *analysis.Snapshot {
		snap := aged(48, waits...)
		snap.Label, snap.CapturedAt = "t"+itoa(at), testEpoch.Add(time.Duration(at)*time.Minute)
		return snap
	}
	for _, tt := range []struct {
		name  string
		snaps []*analysis.Snapshot
		want  string
	}{
		{"within the hour", []*analysis.Snapshot{round(1), round(10, 0, 0), round(20, 9, 9, 0)}, "03:00 3"},
		{"some were there from the first", []*analysis.Snapshot{round(1, 0, 0), round(20, 18, 18, 2, 1)}, "03:00 2"},
		{"all were there from the first", []*analysis.Snapshot{round(1, 0, 0), round(20, 18, 18)}, ""},
		{"before the hour or after", []*analysis.Snapshot{round(-2), round(6, 0, 5)}, ""},
		{"the wait began before the hour", []*analysis.Snapshot{round(-4), round(1, 2, 3)}, "02:00 2 03:00 0"},
		{"two hours", []*analysis.Snapshot{round(1), round(30, 0), round(61, 30, 0), round(70, 39, 0, 0)}, ""},
		{"two hours with a snapshot between", []*analysis.Snapshot{round(1), round(30, 0), round(60, 29), round(70, 39, 0)}, "03:00 1 04:00 1"},
	} {
		var got []string
		for _, b := range seriesOf(tt.snaps).Births(onlyFamily, len(tt.snaps)-1) {
			got = append(got, b.Hour.Format("15:04"), itoa(b.Born))
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, text, tt.want)
		}
	}
}
