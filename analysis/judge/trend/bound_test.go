package trend

import (
	"fmt"
	"testing"

	"leakdiff/analysis"
)

// TestOfTooManyFamiliesThoseThatRiseMostAreJudged has one family that grows among many that
// are in one snapshot each.
func TestOfTooManyFamiliesThoseThatRiseMostAreJudged(t *testing.T) {
	const snapshots, each = 1100, 2
	growing := &analysis.Family{Fingerprint: "d1:growing", Kind: analysis.KindDescriptor}
	var in Input
	for i := range snapshots {
		s := &analysis.Snapshot{}
		for k := range each {
			s.Groups = append(s.Groups, analysis.Group{Family: &analysis.Family{Fingerprint: fmt.Sprintf("d1:%d-%d", i, k), Kind: analysis.KindDescriptor}, Count: 1})
		}
		s.Groups = append(s.Groups, analysis.Group{Family: growing, Count: 10 + i})
		in.Snapshots = append(in.Snapshots, s)
	}
	s := NewSeries(in)
	most := mostCells / snapshots
	if len(s.Families) != most || s.LeftOut != snapshots*each+1-most {
		t.Errorf("%d families are judged and %d left out, want %d of %d", len(s.Families), s.LeftOut, most, snapshots*each+1)
	}
	if counts := s.Counts(growing.Fingerprint); len(counts) != snapshots || counts[snapshots-1].N != 10+snapshots-1 {
		t.Errorf("the one that grows has %d counts", len(counts))
	}
	in.Snapshots = in.Snapshots[:400]
	if s := NewSeries(in); s.LeftOut != 0 || len(s.Families) != 400*each+1 {
		t.Errorf("of fewer %d are judged and %d left out", len(s.Families), s.LeftOut)
	}
}
