package casepage

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/store"
)

func TestAnEndingIsThatOfItsProcess(t *testing.T) {
	ending := func(caseID, process, verdict string) store.CaseEnding {
		return store.CaseEnding{CaseID: caseID, Ending: store.Ending{Process: process, Verdict: verdict}}
	}
	s := seen{places: []place{
		{caseID: "a", process: "kubelet"}, {caseID: "a", process: "agent"},
		{caseID: "b", process: "7"}, {caseID: "b", process: "agent"},
		{caseID: "c", process: "x"}, {caseID: "c", process: "y"},
	}}
	at := map[[2]string]int{}
	for i, p := range s.places {
		at[[2]string{p.caseID, p.process}] = i
	}
	s.end(at, []store.CaseEnding{ending("a", "agent", "leaking"), ending("b", "agent", "gone"), ending("b", "renamed", "leaking"), ending("c", "z", "new")})
	var got []string
	for _, p := range s.places {
		got = append(got, p.caseID+" "+p.process+" "+string(p.verdict))
	}
	want := []string{
		"a kubelet stable", "a agent leaking", // the ending of another process does not count
		"b 7 leaking", "b agent gone", // under the name that people gave it
		"c x stable", "c y stable", // nobody can tell which of them it was
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestThePlaceOfAFamilySaysWhatItsSnapshotsShow(t *testing.T) {
	for _, tc := range []struct {
		counts  []int
		verdict analysis.Verdict
		want    string
	}{
		{[]int{4, 4, 4, 4, 4, 4, 4}, analysis.Gone, "4 in 7\u00a0snapshots, then none"},
		{[]int{4}, analysis.New, "4 in 1\u00a0snapshot"},
		{[]int{4, 9}, analysis.Leaking, "4 to 9 in 2\u00a0snapshots"},
		{[]int{4, 64, 4}, analysis.Stable, "4 to 64 and back to 4 in 3\u00a0snapshots"},
	} {
		p := place{verdict: tc.verdict, counts: analysis.CountsOf(tc.counts...)}
		if got := p.course(); got != tc.want {
			t.Errorf("%v %s: %q, want %q", tc.counts, tc.verdict, got, tc.want)
		}
	}
}

func TestPlacesThatAreNotListedAreCounted(t *testing.T) {
	s := seen{total: 500}
	for i := range 200 {
		s.places = append(s.places, place{caseID: fmt.Sprint(i % 150), process: fmt.Sprint(i)})
	}
	listed, more := s.elsewhere("g1:00", "7") // two of the places are of case 7
	if len(listed) != maxPlaces || more != 500-2-maxPlaces {
		t.Errorf("%d listed and %d more, want %d and %d", len(listed), more, maxPlaces, 500-2-maxPlaces)
	}
	s.total = 200
	if listed, more := s.elsewhere("g1:00", "none of them"); len(listed) != maxPlaces || more != 100 {
		t.Errorf("%d listed and %d more, want %d and 100", len(listed), more, maxPlaces)
	}
}
