package goroutine

import (
	"fmt"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// problems collects at most a given number of problems and counts the rest.
type problems struct {
	path    string
	max     int
	list    []analysis.Problem
	omitted int
}

// add lists a problem, or counts it once the list is full.
func (p *problems) add(found analysis.Problem) {
	if len(p.list) >= p.max {
		p.omitted++
		return
	}
	p.always(found)
}

// always lists a problem that must not be lost among many small ones. Callers
// do so at most once per parse for each kind.
func (p *problems) always(found analysis.Problem) {
	found.Path = p.path
	p.list = append(p.list, found)
}

// brokenNames counts the names that a line breaks off and the next one does not continue.
type brokenNames struct {
	count int
	line  int64 // of the first
}

// broken reports names that are cut.
func (p *problems) broken(n brokenNames) {
	if n.count == 0 {
		return
	}
	p.always(analysis.Problem{
		Line: n.line, Offset: -1, Severity: analysis.Warning,
		What: wording.Plural(n.count, "name of a function is", "names of functions are") + " cut",
		Why:  "a line of a stack ends within a name, and the next line does not continue it",
		Hint: "upload the file itself, or copy the text where lines are not wrapped or cut",
	})
}

// all returns the problems, with a summary of those left out.
func (p *problems) all() []analysis.Problem {
	if p.omitted > 0 {
		p.always(analysis.Problem{
			Offset:   -1,
			Severity: analysis.Note,
			What:     fmt.Sprintf("%d more problems are not listed", p.omitted),
			Why:      fmt.Sprintf("only the first %d are kept", p.max),
			Hint:     "look at the first ones; the rest is mostly of the same kind",
		})
		p.omitted = 0
	}
	return p.list
}
