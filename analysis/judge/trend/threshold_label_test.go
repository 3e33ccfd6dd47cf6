package trend

import (
	"fmt"
	"testing"

	"leakdiff/analysis"
)

// tenants are the judgement on a family of which some stand and others come, and so many of each
// have a label. Counted members have no identities.
func tenants(t *testing.T, counted bool, earlier, earlierWith, born, bornWith int) analysis.Judgement {
	t.Helper()
	line := fmt.Sprintf("1-%d 1-%d 1-%d", earlier, earlier+born/2, earlier+born)
	snaps := only(line).snapshots(t)
	with := analysis.LabelsOf(map[string]string{"tenant": "a"})
	for _, snap := range snaps {
		for i := range snap.Groups {
			g := &snap.Groups[i]
			if g.Family.Fingerprint != onlyFamily || g.Members.Columns == nil {
				continue
			}
			g.Members.States = []string{"select", analysis.Labelled("select", with)}
			g.Members.State = nil
			n := 0
			for _, id := range g.Members.ID {
				has := id <= int64(earlierWith) || id > int64(earlier) && id <= int64(earlier+bornWith)
				g.Members.State = append(g.Members.State, map[bool]uint16{true: 1}[has])
				if has {
					n++
				}
			}
			snap.Labels = map[string][]analysis.LabelCount{onlyFamily: analysis.LabelCounts(map[analysis.Labels]int{with: n})}
			if counted {
				g.Members = analysis.Members{}
			}
		}
	}
	return seriesOf(snaps).JudgeAll()[onlyFamily]
}

func TestALabelSplitsAGrowthOnBothSidesOfItsThresholds(t *testing.T) {
	for _, tc := range []struct {
		name                                string
		earlier, earlierWith, born, bornHas int
		split                               bool
	}{
		{"all that came and none of the others", 20, 0, 60, 60, true},
		{"nine tenths of those that came", 20, 0, 60, 54, true},
		{"fewer of those that came", 20, 0, 60, 53, false},
		{"less than three fifths of the others", 20, 11, 60, 60, true},
		{"three fifths of the others", 20, 12, 60, 60, false},
		{"eight that came", 20, 0, 8, 8, true},
		{"seven that came", 20, 0, 7, 7, false},
	} {
		for _, counted := range []bool{false, true} {
			split := false
			for _, e := range tenants(t, counted, tc.earlier, tc.earlierWith, tc.born, tc.bornHas).Evidence {
				if e.Rule == ruleLabels {
					split = true
					if e.N != tc.bornHas || e.Of != tc.born || e.Figures["earlier"] != float64(tc.earlierWith) || e.Figures["earlier_of"] != float64(tc.earlier) {
						t.Errorf("%s, counted %v: %+v", tc.name, counted, e)
					}
				}
			}
			if split != tc.split {
				t.Errorf("%s, counted %v: split is %v", tc.name, counted, split)
			}
		}
	}
}

// A later capture with counts alone may have labels where the last one with identities has no member.
func TestLabelsOfCountsAloneNeedNoMembersBefore(t *testing.T) {
	snaps := only("1-20 1-20 . #40").snapshots(t)
	snaps[3].Labels = map[string][]analysis.LabelCount{onlyFamily: {{Label: analysis.Label{Key: "tenant", Value: "a"}, Count: 40}}}
	for _, e := range seriesOf(snaps).JudgeAll()[onlyFamily].Evidence {
		if e.Rule == ruleLabels {
			t.Errorf("nobody is there whose labels could be compared: %+v", e)
		}
	}
}

// Of counts alone nobody knows who came: where others of the family ended, more came than the counts
// show.
func TestLabelsOfCountsSplitNothingWhereSomeEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		b     int
		split bool
	}{"none of b ended": {20, true}, "all of b ended": {0, false}, "one of b ended": {19, false}} {
		snaps := only("#20 #40 #60 #80").snapshots(t)
		of := func(a, b int) map[string][]analysis.LabelCount {
			out := []analysis.LabelCount{{Label: analysis.Label{Key: "tenant", Value: "a"}, Count: a}}
			if b > 0 {
				out = append(out, analysis.LabelCount{Label: analysis.Label{Key: "tenant", Value: "b"}, Count: b})
			}
			return map[string][]analysis.LabelCount{onlyFamily: out}
		}
		snaps[0].Labels, snaps[3].Labels = of(0, 20), of(80-tc.b, tc.b)
		split := false
		for _, e := range seriesOf(snaps).JudgeAll()[onlyFamily].Evidence {
			split = split || e.Rule == ruleLabels
		}
		if split != tc.split {
			t.Errorf("%s: split is %v", name, split)
		}
	}
}
