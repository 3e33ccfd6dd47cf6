package ingest

import (
	"fmt"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
)

// told are the problems of a bundle. Each severity has a budget of its own, so that no
// number of notes hides an error.
type told struct {
	list []analysis.Problem
	// listed and unlisted count them by severity; most are listed of each.
	listed, unlisted map[analysis.Severity]int
	most             int
}

func newTold(b bundle.Budget) told {
	most := b.Problems
	if most <= 0 {
		most = bundle.DefaultBudget().Problems
	}
	return told{listed: map[analysis.Severity]int{}, unlisted: map[analysis.Severity]int{}, most: most}
}

func (t *told) add(problems ...analysis.Problem) {
	for _, p := range problems {
		if t.listed[p.Severity] >= t.most {
			t.unlisted[p.Severity]++
			continue
		}
		t.listed[p.Severity]++
		t.list = append(t.list, p)
	}
}

// errors is how many errors were told, listed or not.
func (t *told) errors() int { return t.listed[analysis.Error] + t.unlisted[analysis.Error] }

// aside makes room for the problems of one dump whose places are not known yet; back
// gives them and brings back those of before.
func (t *told) aside() (back func() []analysis.Problem) {
	list, listed := t.list, t.listed
	t.list, t.listed = nil, map[analysis.Severity]int{}
	return func() []analysis.Problem {
		inner := t.list
		t.list, t.listed = list, listed
		return inner
	}
}

// close adds one problem that says how many are not listed.
func (t *told) close() {
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

// problem tells what was not understood or not believed.
func (r *reader) problem(problems ...analysis.Problem) { r.told.add(problems...) }
