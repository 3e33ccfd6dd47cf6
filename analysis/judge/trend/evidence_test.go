package trend

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
)

// figuresOf writes evidence in a line: its form, the number of what, snapshots, unit, figures,
// points, courses, holders and names.
//
//	followed 4/4 gone=0 new=36
//	slow_growth hour span=0.005556
//	undated 2 [2 3]
//	few 2 hour span=0.005556 {0:4 1:40}
func figuresOf(e analysis.Evidence) string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	for _, word := range []string{string(e.Form), string(e.Kind), string(e.Verdict)} {
		if word != "" {
			words = append(words, word)
		}
	}
	switch {
	case e.Of != 0:
		add("%d/%d", e.N, e.Of)
	case e.N != 0:
		add("%d", e.N)
	}
	for _, at := range []struct {
		name  string
		index *int
	}{{"from", e.From}, {"to", e.To}, {"at", e.At}} {
		if at.index != nil {
			add("%s=t%d", at.name, *at.index)
		}
	}
	if e.Unit != "" {
		add("%s", e.Unit)
	}
	for _, f := range slices.Sorted(maps.Keys(e.Figures)) {
		add("%s=%.4g", f, e.Figures[f])
	}
	if len(e.Points) > 0 {
		points := make([]string, len(e.Points))
		for i, p := range e.Points {
			points[i] = fmt.Sprintf("t%d:%d", p.At, p.N)
		}
		add("%v", points)
	}
	for _, c := range e.Courses {
		add("{t%d:%d t%d:%d}", c.From, c.First, c.To, c.Last)
		if c.Lowest != min(c.First, c.Last) || c.Highest != max(c.First, c.Last) {
			add("within %d to %d", c.Lowest, c.Highest)
		}
	}
	for _, h := range e.Holders {
		add("holder %d in %s of %s", h.Goroutine, h.In, h.Of)
	}
	if len(e.Names) > 0 {
		add("(%s)", strings.Join(e.Names, ", "))
	}
	return strings.Join(words, " ")
}

// evidenceOf are the figures of the first evidence of a rule, "" without any.
func evidenceOf(judged analysis.Judgement, rule string) string {
	if all := everyEvidence(judged, rule); len(all) > 0 {
		return all[0]
	}
	return ""
}

// everyEvidence are the figures of all evidence of a rule.
func everyEvidence(judged analysis.Judgement, rule string) (all []string) {
	for _, e := range judged.Evidence {
		if e.Rule == rule {
			all = append(all, figuresOf(e))
		}
	}
	return all
}

func wantEvidence(t *testing.T, judged analysis.Judgement, rule, want string) {
	t.Helper()
	if all := everyEvidence(judged, rule); !slices.Contains(all, want) {
		t.Errorf("no evidence %s: %s in %q", rule, want, all)
	}
}
