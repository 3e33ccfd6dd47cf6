package chart

import (
	"strings"

	"leakdiff/analysis"
)

// members counts all.
func (l *LifeLane) members() (n int) {
	for _, r := range l.Runs {
		n += r.N
	}
	return n
}

// perLine is about how many members a line is for.
func (l *LifeLane) perLine() int { return max(1, (l.members()+mostLifeLines-1)/mostLifeLines) }

// lines are how many lines each run has: one at least, unless there are more runs than lines.
func (l *LifeLane) lines() (of []int, all int) {
	per, before := l.perLine(), 0
	for _, r := range l.Runs {
		n := (before+r.N)/per - before/per
		if before += r.N; len(l.Runs) <= mostLifeLines {
			n = max(1, r.N/per)
		}
		of, all = append(of, n), all+n
	}
	return of, all
}

// cohorts are in how many columns members were first seen.
func (l *LifeLane) cohorts() int {
	n := 0
	for i, r := range l.Runs {
		if i == 0 || r.First != l.Runs[i-1].First {
			n++
		}
	}
	return n
}

// alive counts the members in each of n columns, as the evidence does where it counts: a member that
// was in another state before is drawn from where it was first seen.
func (l *LifeLane) alive(n int) analysis.Counts {
	if len(l.Runs) == 0 || l.Values.FirstAt() >= 0 {
		return l.Values
	}
	out := make([]int, n)
	for _, r := range l.Runs {
		for i := max(0, r.First); i <= r.Last && i < n; i++ {
			out[i] += r.N
		}
	}
	return analysis.CountsOf(out...)
}

// Count gives the lane its counts, unless its runs have the same.
func (l *LifeLane) Count(values analysis.Counts) {
	for i, n := range l.alive(len(values)) {
		if values[i].Known() && values[i].N != n.N {
			l.Values = values
			return
		}
	}
	if len(l.Runs) == 0 {
		l.Values = values
	}
}

// born are the members that were first seen in each of n columns.
func (l *LifeLane) born(n int) []int {
	out := make([]int, n)
	for _, r := range l.Runs {
		if r.First >= 0 && r.First < n {
			out[r.First] += r.N
		}
	}
	return out
}

// name is the lane in words: "24 pod starts".
func (l *LifeLane) name() string { return strings.TrimSpace(l.Figure + " " + l.Noun) }
