package chart

import (
	"fmt"
	"testing"
)

func TestLivesHaveALinePerMemberOrForSeveral(t *testing.T) {
	l := LivesData{ID: "l", Title: "Born", Labels: []string{"t0", "t1", "t2"}, RecoveredAt: -1, Runs: []Run{{0, 2, 3}, {1, 1, 2}, {2, 2, 4}}}
	d := l.draw(400, 160)
	if n := len(lines(d, "lf thin")); n != 3 { // those that were seen once have no length
		t.Errorf("%d lines, want 3", n)
	}
	if n := len(lines(d, "lf")); n != 3 {
		t.Errorf("%d births are marked, want 3", n)
	}
	if d.desc != "3 from t0 to t2, 2 from t1 to t1, 4 from t2 to t2" {
		t.Errorf("said: %s", d.desc)
	}
	l.Runs[0].N = 600
	if per := l.PerLine(); per != 16 {
		t.Errorf("a line is for %d", per)
	}
}

func TestLivesOfManySnapshotsStayInTheirFrame(t *testing.T) {
	l := LivesData{ID: "l", RecoveredAt: -1}
	for i := range 200 {
		l.Labels = append(l.Labels, fmt.Sprint("t", i))
		l.Runs = append(l.Runs, Run{i, 199, 50})
	}
	for _, m := range l.draw(400, 160).marks {
		for _, y := range []float64{m.y, m.y2} {
			if y < 0 || y > 160 {
				t.Fatalf("a mark at %g of 160", y)
			}
		}
	}
	LivesData{ID: "none"}.draw(400, 160)
}
