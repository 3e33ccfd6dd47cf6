package report

import (
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/object"
	"leakdiff/analysis/judge/trend"
)

// TestForgottenDescriptorsTitleTheFindingOnAllOfThem: of two groups that they are in one finding has
// its own counts, which are not theirs.
func TestForgottenDescriptorsTitleTheFindingOnAllOfThem(t *testing.T) {
	j := &JudgedSeries{
		Snapshots: []*analysis.Snapshot{{Label: "t0"}, {Label: "t1"}, {Label: "t2"}},
		orphans: []object.Orphans{{
			Sort: object.Sort{One: "TCP connection", Many: "TCP connections"}, Families: []string{"closed", "open"},
			Counts: append(numbers(7, 62), analysis.Count{}), All: append(numbers(9, 73), analysis.Count{}),
		}},
	}
	j.Trend = &trend.Series{Epochs: []int{0, 0, 0}}
	byPrint := map[string]*Family{"closed": {Kind: analysis.KindDescriptor}, "open": {Kind: analysis.KindDescriptor}}
	const text, next = "No goroutine waits for 62 of 73 TCP connections of t1, and no known object holds them.", "Find the code that opens the TCP connections, and close each there when it is done with it."
	both := j.forgotten([]Finding{{Families: []string{"closed", "open"}}}, nil, byPrint)
	if f := both[0]; len(both) != 1 || !strings.HasPrefix(f.Title, "No goroutine reads 62 TCP connections") || strings.TrimSpace(f.Text) != text || f.Next != next {
		t.Errorf("of all groups: %+v", both)
	}
	apart := j.forgotten([]Finding{{Families: []string{"closed"}}, {Families: []string{"open"}}}, nil, byPrint)
	if len(apart) != 2 || apart[0].Title != "" || strings.TrimSpace(apart[0].Text) != text || apart[0].Next != next || apart[1].Title != "" || apart[1].Text != "" {
		t.Errorf("of one group each: %+v", apart)
	}
}
