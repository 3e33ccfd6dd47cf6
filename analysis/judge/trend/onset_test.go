package trend

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

func TestOnsetIsTheWindowInWhichTheCountsBend(t *testing.T) {
	snaps := only(piling("50 50 50 50 80 110 140 170 200")).at("0 3600 7200 10800 14400 18000 21600 25200 28800").snapshots(t)
	events := []Event{{At: hour(3.5), Kind: "deploy", Text: "1.4"}, {At: hour(6.5), Kind: "deploy", Text: "1.5"}}
	s := NewSeries(Input{Snapshots: snaps, Events: events})
	o, ok := s.Onset(onlyFamily)
	if !ok || len(o.Windows) == 0 {
		t.Fatal("no onset")
	}
	inside := false
	for _, w := range o.Windows {
		inside = inside || w.From == 3 && w.To == 4
		if w.From > 4 || w.To < 3 {
			t.Errorf("window %s to %s is far from the bend", snaps[w.From].Label, snaps[w.To].Label)
		}
	}
	if !inside {
		t.Errorf("windows %+v do not hold t3 to t4", o.Windows)
	}
	var found []string
	for _, w := range o.Windows {
		for _, e := range w.Events {
			found = append(found, fmt.Sprintf("%s %s at %s", e.Kind, e.Text, e.At.Format(time.TimeOnly)))
		}
	}
	if diff := cmp.Diff([]string{"deploy 1.4 at 06:30:00"}, found); diff != "" {
		t.Errorf("events in the windows (-want +got):\n%s", diff)
	}
}

func TestAFamilyThatDoesNotGrowHasNoOnset(t *testing.T) {
	if o, ok := only(piling("50 50 50 50")).series(t).Onset(onlyFamily); ok {
		t.Errorf("%+v", o)
	}
}

func TestAUnitHasTheOnsetOfItsMembers(t *testing.T) {
	s := lockstep(map[string]string{"a": "0 0 0 0 20 40 60 80", "b": "0 0 0 0 10 20 30 40"}).series(t)
	o, ok := s.UnitOnset("u1")
	if !ok || !slices.ContainsFunc(o.Windows, func(w Window) bool { return w.From == 3 && w.To == 4 }) {
		t.Errorf("windows %+v do not hold t3 to t4", o.Windows)
	}
	if _, ok := s.UnitOnset("u9"); ok {
		t.Error("an unknown unit has an onset")
	}
}

func TestOnsetOfOneDumpIsItsOldestLeakedMember(t *testing.T) {
	snap := aged(48, every(60, 1440, 60)...)
	o, ok := seriesOf([]*analysis.Snapshot{snap}).Onset(onlyFamily)
	if want := testEpoch.Add(-hoursLong(24)); !ok || !o.Oldest.Equal(want) {
		t.Errorf("oldest %v, want %v", o.Oldest, want)
	}
}

func TestRestartsAndVersionsAreEventsOfTheirOwn(t *testing.T) {
	sc := only(piling("10 20 3 9"))
	sc.pids = "1 1 2 2"
	snaps := sc.snapshots(t)
	for i, v := range []string{"1.3", "1.3", "1.4", "1.4"} {
		snaps[i].Process.Version.Value = v
	}
	var got []string
	for _, e := range seriesOf(snaps).Events() {
		got = append(got, fmt.Sprintf("%s %+v", e.Kind, *e.Shown))
	}
	if diff := cmp.Diff([]string{"restart {Before:2 Was: Is:}", "version {Before:2 Was:1.3 Is:1.4}"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestTheSetOfWindowsCoversTheTruth counts how often the windows hold the true bend: 14
// days, base 100, 12 snapshots, growth of twice the base after a bend.
func TestTheSetOfWindowsCoversTheTruth(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const runs = 300
	covered, size := 0, 0
	for range runs {
		bend := 24 * (2 + 8*r.Float64())
		sc := scenario{}
		var counts, at []string
		var times []float64
		for k := range 12 {
			times = append(times, 24*14*(float64(k)+r.Float64())/12)
		}
		for _, x := range times {
			mean := 100.0
			if x > bend {
				mean += 200 * (x - bend) / (24*14 - bend)
			}
			counts = append(counts, strconv.Itoa(int(math.Round(mean+math.Sqrt(mean)*r.NormFloat64()))))
			at = append(at, strconv.FormatFloat(x*3600, 'f', 0, 64))
		}
		sc = only(unidentified(strings.Join(counts, " "))).at(strings.Join(at, " "))
		windows := sc.series(t).parts[onlyFamily].onsetWindows()
		size += len(windows)
		for _, w := range windows {
			if times[w.From] <= bend && bend <= times[w.To] {
				covered++
			}
		}
	}
	if share := float64(covered) / runs; share < 0.93 {
		t.Errorf("the set covers the bend in %.3f of the runs, want 0.95", share)
	}
	if mean := float64(size) / runs; mean > 5.5 {
		t.Errorf("the set has %.1f windows in the mean, want at most 5.5", mean)
	}
}

func TestLimitsTellTheTimeLeft(t *testing.T) {
	snaps := scenario{families: map[string]string{onlyFamily: piling("100 140 180 220")}, kind: analysis.KindDescriptor}.at("0 3600 7200 10800").snapshots(t)
	for _, snap := range snaps {
		snap.Figures = map[string]float64{"limit_open_files": 1020, "process_max_fds": 1020}
	}
	limits := seriesOf(snaps).Limits()
	if len(limits) != 1 {
		t.Fatalf("%d limits, want open files once: %+v", len(limits), limits)
	}
	// 800 left at 40 an hour.
	want := Limit{What: "open files", Bound: 1020, Used: 220, At: 3, Peak: 220, PeakAt: 3, Scope: OfProcess, Rate: 40, RateLow: 40, RateHigh: 40, Hours: 20, HoursLow: 20, HoursHigh: 20, Known: true}
	got := limits[0]
	got.Counts = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("limit (-want +got):\n%s", diff)
	}
}

func TestLimitsOfALevelUseAndOfOneSnapshot(t *testing.T) {
	watches := scenario{families: map[string]string{onlyFamily: piling("50 50 50")}, kind: analysis.KindWatch}.snapshots(t)
	for _, snap := range watches {
		snap.Figures = map[string]float64{"inotify_max_user_watches": 8192}
	}
	if l := seriesOf(watches).Limits()[0]; l.What != "inotify watches" || l.Used != 50 || l.Bound != 8192 || !l.Known || !math.IsInf(l.Hours, 1) {
		t.Errorf("%+v, want 50 of 8192 inotify watches that do not rise", l)
	}
	if l := seriesOf(watches[:1]).Limits()[0]; l.Known {
		t.Errorf("one snapshot has a rate: %+v", l)
	}
	if got := only("1-9").series(t).Limits(); len(got) != 0 {
		t.Errorf("limits nobody captured: %+v", got)
	}
}

func TestInotifyInstancesAreCountedByTheirDescriptors(t *testing.T) {
	snaps := scenario{families: map[string]string{onlyFamily: piling("14 30 60 100"), "d1:pipes": piling("5 5 5 5")}, kind: analysis.KindDescriptor}.at("0 3600 7200 10800").snapshots(t)
	for _, snap := range snaps {
		snap.Figures = map[string]float64{"fs.inotify.max_user_instances": 128}
		for g := range snap.Groups {
			if f := snap.Groups[g].Family; f.Fingerprint == onlyFamily {
				f.Attributes = map[string]string{"type": "anon_inode", "name": "inotify"}
			}
		}
	}
	limits := seriesOf(snaps).Limits()
	if len(limits) != 1 || limits[0].Used != 100 || limits[0].What != "inotify instances" {
		t.Fatalf("%+v; want 100 inotify instances", limits)
	}
	// 16, 30 and 40 an hour: half of all pairs rise faster than 29.
	if l := limits[0]; l.Hours <= 0 || l.Hours > 2 || l.Scope != OfUser {
		t.Errorf("%v hours left, of %s", l.Hours, l.Scope)
	}
}

func TestARestartGivesTheLimitBack(t *testing.T) {
	sc := scenario{families: map[string]string{onlyFamily: piling("800 900 1000 10 12 14")}, kind: analysis.KindDescriptor, pids: "1 1 1 2 2 2"}.at("0 3600 7200 10800 14400 18000")
	snaps := sc.snapshots(t)
	for _, snap := range snaps {
		snap.Figures = map[string]float64{"limit_open_files": 1024}
	}
	l := seriesOf(snaps).Limits()[0]
	if l.Rate != 2 || math.Abs(l.Hours-505) > 1e-9 {
		t.Errorf("rate %v, %v hours; want 2 and 505, of the new process alone", l.Rate, l.Hours)
	}
}

func TestOnsetNeverContradictsTheCounts(t *testing.T) {
	for _, tt := range []struct{ name, counts, want string }{
		{"a rise in the first interval that is more than scatter", "37 121 177 232 288 344 400 456", "before t0 to t1"},
		{"nothing there until the third snapshot", "0 0 17 35 53 68 84 100", "t1 to t2"},
		{"from nothing at once", "0 10 20 30 40 50 60", "t0 to t1"},
		{"as fast from the first snapshot on", "60 120 180 240 300 360", "before t0 to t1"},
		{"back to where it started", "37 121 177 232 288 344 400 456 36", "t0 to t1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := began(only(piling(tt.counts)).series(t)); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestAnEvenGrowthFromTheFirstIntervalOnIsNotSaidToBeginAnywhere(t *testing.T) {
	// 2 or 3 members in each 5 s, beside 409 older ones: the counts alone cannot date
	// the onset, the members can.
	sc := only(piling("409 412 414 417 419 422 424 427")).at("0 5 10 15 20 25 30 35")
	s := sc.series(t)
	if got := s.JudgeAll()[onlyFamily].Verdict; got != analysis.Leaking {
		t.Fatalf("verdict %s", got)
	}
	if o, _ := s.Onset(onlyFamily); !o.Before || !o.Evenly || len(o.Windows) < 3 || o.Windows[0].From != 0 {
		t.Errorf("%+v, want before t0 and as many in the first interval as later", o)
	}
	late := only(piling("409 409 409 409 414 419 424 429 434 439 444 449")).at("0 5 10 15 20 25 30 35 40 45 50 55")
	if got := began(late.series(t)); strings.HasPrefix(got, "before") {
		t.Errorf("a growth that began at t3 began %s", got)
	}
}

// began writes the windows in which the growth of the family began, "" if it is unknown.
func began(s *Series) string {
	o, ok := s.Onset(onlyFamily)
	if !ok || len(o.Windows) == 0 {
		return ""
	}
	text := ""
	if o.Before {
		text = "before "
	}
	return text + fmt.Sprintf("t%d to t%d", o.Windows[0].From, o.Windows[len(o.Windows)-1].To)
}
