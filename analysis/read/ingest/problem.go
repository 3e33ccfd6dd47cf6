package ingest

import (
	"fmt"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
)

// problemList holds the problems of a bundle. Each severity has a budget of its own,
// so that no number of notes hides an error.
type problemList struct {
	list []analysis.Problem
	// listed and unlisted count them by severity; most are listed of each.
	listed, unlisted map[analysis.Severity]int
	most             int
}

func newProblemList(b bundle.Budget) problemList {
	most := b.Problems
	if most <= 0 {
		most = bundle.DefaultBudget().Problems
	}
	return problemList{listed: map[analysis.Severity]int{}, unlisted: map[analysis.Severity]int{}, most: most}
}

func (t *problemList) add(problems ...analysis.Problem) {
	for _, p := range problems {
		if t.listed[p.Severity] >= t.most {
			t.unlisted[p.Severity]++
			continue
		}
		t.listed[p.Severity]++
		t.list = append(t.list, p)
	}
}

// errors counts the errors that were added, listed or not.
func (t *problemList) errors() int { return t.listed[analysis.Error] + t.unlisted[analysis.Error] }

// separate starts a list for the problems of one dump whose places are not known yet.
// restore returns that list and goes on with the former one.
func (t *problemList) separate() (restore func() []analysis.Problem) {
	list, listed := t.list, t.listed
	t.list, t.listed = nil, map[analysis.Severity]int{}
	return func() []analysis.Problem {
		inner := t.list
		t.list, t.listed = list, listed
		return inner
	}
}

// close adds one problem with the number of those that are not listed.
func (t *problemList) close() {
	more, severity := 0, analysis.Warning
	for _, n := range t.unlisted {
		more += n
	}
	if more == 0 {
		return
	}
	if t.unlisted[analysis.Error] > 0 {
		severity = analysis.Error
	}
	t.list = append(t.list, analysis.Problem{Offset: -1, Severity: severity,
		What: fmt.Sprintf("%d more problems of these files are not listed", more),
		Why:  fmt.Sprintf("at most %d errors, as many warnings and as many notes are kept for one upload", t.most),
		Hint: "mend the first ones; they are often of one kind"})
}

// problem reports what was not understood or not believed.
func (r *reader) problem(problems ...analysis.Problem) { r.problems.add(problems...) }
