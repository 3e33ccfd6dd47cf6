package trend

import (
	"math"
	"strings"
	"testing"

	"leakdiff/analysis"
)

// starts is a family in a process that starts anew where its pid changes.
func starts(line, pids string) scenario {
	sc := only(line)
	sc.pids = pids
	return sc
}

func TestTheNewestStartIsJudgedAloneBeyondTheOthers(t *testing.T) {
	const leaks = " 101-110 101-115 101-120 101-125 101-130"
	tests := []struct {
		name, line, pids string
		want             bool
	}{
		{"ten above the earlier start", "1-20 1-20" + leaks, "1 1 2 2 2 2 2", true},
		{"nine above it", "1-21 1-21" + leaks, "1 1 2 2 2 2 2", false},
		{"nine above the first of two earlier starts", "1-21 1-21 41-45 41-45" + leaks, "1 1 2 2 3 3 3 3 3", false},
		{"one capture of an earlier start shows no level", "1-10" + leaks, "1 2 2 2 2 2", false},
		{"one start", "1-10 1-10" + leaks, "2 2 2 2 2 2 2", false},
	}
	for _, tc := range tests {
		s := starts(tc.line, tc.pids).series(t)
		if got := s.parts[onlyFamily].newestStart() != nil; got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
	if got := starts("1-10 1-10"+leaks, "1 1 2 2 2 2 2").series(t).JudgeAll()[onlyFamily]; got.Verdict != analysis.Leaking || got.Life == nil || got.Life.Born != 20 {
		t.Errorf("%+v, want the twenty of the newest start", got)
	}
}

func TestMembersThatCameLastStayAsThoseBefore(t *testing.T) {
	tests := []struct {
		name, line string
		want       int
	}{
		{"all stay", "1-10 1-20 1-30 1-40", 10},
		{"half of those before did", "1-10 1-10,11-20 1-10,11-15,21-30 1-10,11-15,21-25,31-40", 5},
		{"none of those before did", "1-10 1-10,11-20 1-10,21-30 1-10,31-40", 0},
		{"seven came before, too few to tell", "1-10 1-17 1-10 1-10,31-40", 10},
		{"eight came before", "1-10 1-18 1-10 1-10,31-40", 0},
	}
	for _, tc := range tests {
		run, births := only(tc.line).series(t).parts[onlyFamily].staying()
		if got := births[len(births)-1]; len(run) != 4 || got != tc.want {
			t.Errorf("%s: %d of those that came last count, want %d", tc.name, got, tc.want)
		}
	}
}

func TestWhatComesAndGoesIsNoPartOfAUnit(t *testing.T) {
	tests := []struct {
		name, line string
		want       bool
	}{
		{"eight came and four stayed", "1-2 1-2,11-18 1-2,11-14 1-2,11-14", false},
		{"nine came and four stayed", "1-2 1-2,11-19 1-2,11-14 1-2,11-14", true},
		{"seven came and none stayed", "1-2 1-2,11-17 1-2 1-2", false},
		{"eight came and none stayed", "1-2 1-2,11-18 1-2 1-2", true},
	}
	for _, tc := range tests {
		j := only(tc.line).series(t).judgements().byFingerprint[onlyFamily]
		if got := j.comesAndGoes(); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestTheTimeThatDecidesBringsTwelveMembers(t *testing.T) {
	tests := []struct {
		name, line, times string
		want              float64
	}{
		{"10 in an hour", "1-10 1-20", "0 3600", 1.2},
		{"10 in a minute", "1-10 1-20", "0 60", 0.02},
		{"10 in two months", "1-10 1-20", "0 5184000", 30 * 24},
	}
	for _, tc := range tests {
		got := only(tc.line).at(tc.times).series(t).JudgeAll()[onlyFamily]
		if got.Verdict != analysis.Grew || math.Abs(got.DecidesIn-tc.want) > 1e-9 {
			t.Errorf("%s: %s, %v hours, want %v", tc.name, got.Verdict, got.DecidesIn, tc.want)
		}
	}
	if got := only(strings.Repeat("1-10 ", 4)[:19]).series(t).JudgeAll()[onlyFamily]; got.DecidesIn != 0 {
		t.Errorf("stable: %v hours, want none", got.DecidesIn)
	}
}
