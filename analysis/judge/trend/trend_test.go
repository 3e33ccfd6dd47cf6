package trend

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

func TestCountsTellAbsentFromNotCaptured(t *testing.T) {
	want := analysis.CountsOf(0, 4, -1, 7)
	s := scenario{families: map[string]string{onlyFamily: ". 1-4 - #7"}}.series(t)
	if diff := cmp.Diff(want, s.Counts(onlyFamily)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if got := s.Counts("g1:nobody"); got != nil {
		t.Errorf("counts of an unknown family = %v, want nil", got)
	}
}

func TestWhatAnEncodingCannotShowIsNoEnd(t *testing.T) {
	snaps := only("1-10 1-20 1-30 1-40 . .").snapshots(t)
	if got := seriesOf(snaps).JudgeAll()[onlyFamily]; got.RecoveredAt != 4 {
		t.Fatalf("where the encoding can show it: recovered at %d, want 4", got.RecoveredAt)
	}
	s := NewSeries(Input{Snapshots: snaps, NotShown: map[string][]bool{onlyFamily: {false, false, false, false, true, true}}})
	want := append(analysis.CountsOf(10, 20, 30, 40), analysis.Count{State: analysis.NotShown}, analysis.Count{State: analysis.NotShown})
	if diff := cmp.Diff(want, s.Counts(onlyFamily)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if got := s.JudgeAll()[onlyFamily]; got.RecoveredAt != -1 || got.Verdict != analysis.Leaking {
		t.Errorf("%s, recovered at %d, want leaking and not recovered", got.Verdict, got.RecoveredAt)
	}
	if got := s.Counts("g1:main").Known(); len(got) != 6 {
		t.Errorf("the other family is known at %d snapshots, want 6", len(got))
	}
}

func TestATotalWithoutAnyFamilyIsNoListing(t *testing.T) {
	snaps := scenario{families: map[string]string{onlyFamily: ". 1-4"}, kind: analysis.KindDescriptor}.snapshots(t)
	files := 31
	snaps[0].Totals.Descriptors = &files
	s := seriesOf(snaps)
	if got := s.Counts(onlyFamily)[0]; got.Known() {
		t.Errorf("count at t0 = %d, want nil: 31 descriptors were counted and none was named", got.N)
	}
	if s.usable(0, analysis.KindDescriptor) {
		t.Error("t0 is usable, want not")
	}
}

func TestALowerBoundIsACountThatNoTestMayUse(t *testing.T) {
	snaps := only(piling("10 20 30")).snapshots(t)
	snaps[1].LowerBound, snaps[1].Truncated = true, true
	s := seriesOf(snaps)
	got := []bool{s.usable(0, analysis.KindGoroutine), s.usable(1, analysis.KindGoroutine), s.usable(1, analysis.KindDescriptor)}
	if diff := cmp.Diff([]bool{true, false, false}, got); diff != "" {
		t.Errorf("usable (-want +got):\n%s", diff)
	}
	if got := s.Counts(onlyFamily)[1].N; got != 20 {
		t.Errorf("count at t1 = %d, want what was read, 20", got)
	}
}

func TestFamiliesAreTheUnionInOrderOfFingerprints(t *testing.T) {
	s := seriesOf(scenario{families: map[string]string{"g1:c": "1 .", "g1:a": ". 2", "g1:b": "3 3"}}.snapshots(t))
	var got []string
	for _, family := range s.Families {
		got = append(got, family.Fingerprint)
	}
	if diff := cmp.Diff([]string{"g1:a", "g1:b", "g1:c"}, got); diff != "" {
		t.Errorf("families (-want +got):\n%s", diff)
	}
}

func TestLifelinesRunFromFirstToLastSightWithinAnEpoch(t *testing.T) {
	s := scenario{families: map[string]string{onlyFamily: "7,3 3,9 3,7 3"}, pids: "1 1 1 2"}.series(t)
	id := func(n int64) analysis.Identity { return analysis.Identity{ID: n} }
	want := []Lifeline{
		{Identity: id(3), First: 0, Last: 2, Seen: 3},
		{Identity: id(7), First: 0, Last: 2, Seen: 2},
		{Identity: id(9), First: 1, Last: 1, Seen: 1},
		{Identity: id(3), First: 3, Last: 3, Seen: 1},
	}
	if diff := cmp.Diff(want, s.Lifelines(onlyFamily, -1)); diff != "" {
		t.Errorf("lifelines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:2], s.Lifelines(onlyFamily, 2)); diff != "" {
		t.Errorf("bounded lifelines (-want +got):\n%s", diff)
	}
}

func TestDescriptorsAreFollowedByNumberAndInode(t *testing.T) {
	snaps := scenario{families: map[string]string{onlyFamily: "5,6 5,6"}, kind: analysis.KindDescriptor}.snapshots(t)
	snaps[0].Groups[0].Members.Fill().Sub = []int64{100, 101}
	snaps[1].Groups[0].Members.Fill().Sub = []int64{100, 999} // 6 was closed and opened again
	want := []Lifeline{
		{Identity: analysis.Identity{ID: 5, Sub: 100}, First: 0, Last: 1, Seen: 2},
		{Identity: analysis.Identity{ID: 6, Sub: 101}, First: 0, Last: 0, Seen: 1},
		{Identity: analysis.Identity{ID: 6, Sub: 999}, First: 1, Last: 1, Seen: 1},
	}
	if diff := cmp.Diff(want, seriesOf(snaps).Lifelines(onlyFamily, -1)); diff != "" {
		t.Errorf("lifelines (-want +got):\n%s", diff)
	}
}

func TestSmallestVisibleIsTheGateOfTheTypicalFamily(t *testing.T) {
	twelve := "1-20 1-20 1-20 1-20 1-20 1-20 1-20 1-20 1-20 1-20 1-20 1-20 1-20"
	hours := "0 900 1800 2700 3600 4500 5400 6300 7200 8100 9000 9900 10800"
	got, ok := scenario{families: map[string]string{onlyFamily: twelve}}.at(hours).series(t).SmallestVisible()
	// From 20: r = 1.64² + sqrt(1.64⁴ + 4 x 1.64² x 20) = 17.6, over 3 h.
	want := Visible{Snapshots: 13, Span: 3, Rise: 18, Slope: 6, Unit: analysis.PerHour, Base: 20, Largest: 20, LargestSlope: 6}
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("visible, %v (-want +got):\n%s", ok, diff)
	}
	if _, ok := only("1-5").series(t).SmallestVisible(); ok {
		t.Error("one snapshot shows a growth, want none")
	}
}

func TestAGrowthAtTheSmallestVisibleRateIsSeen(t *testing.T) {
	for _, counts := range []string{"0 2 4 6 8 10", "20 24 28 32 36 40", "100 107 114 121 128 136"} {
		s := scenario{families: map[string]string{onlyFamily: unidentified(counts)}}.series(t)
		v, ok := s.SmallestVisible()
		if !ok {
			t.Fatalf("%s: nothing visible", counts)
		}
		judged := s.JudgeAll()[onlyFamily]
		seen := judged.Verdict == analysis.Leaking || judged.Verdict == analysis.Suspicious
		if seen != (judged.Rise >= v.Rise) {
			t.Errorf("%s: rise %d is %s, the smallest visible is %d", counts, judged.Rise, judged.Verdict, v.Rise)
		}
	}
}

func TestAKindsOwnTimeWins(t *testing.T) {
	snaps := only(unidentified("0 10 20 30")).at("0 60 120 180").snapshots(t)
	for _, snap := range snaps {
		snap.Times = map[analysis.Kind]time.Time{analysis.KindGoroutine: testEpoch.Add(10 * snap.CapturedAt.Sub(testEpoch))}
	}
	if got := seriesOf(snaps).JudgeAll()[onlyFamily].Slope; got < 59.9 || got > 60.1 {
		t.Errorf("slope = %v per hour, want 60: 10 each in 10 minutes", got)
	}
}
