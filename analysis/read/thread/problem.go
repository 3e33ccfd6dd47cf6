package thread

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
	"leakdiff/analysis/say/wording"
)

// problems is line.Problems with the bound of a Config.
type problems struct {
	list    line.Problems
	max     int
	listed  int
	omitted int
	// reported are the notes that one file needs once.
	reported map[string]bool
}

func newProblems(cfg Config) *problems {
	return &problems{list: line.Problems{Path: cfg.Path}, max: min(cfg.MaxProblems, line.MaxProblems), reported: map[string]bool{}}
}

func (p *problems) add(s analysis.Severity, at line.Line, what, why, hint string) {
	if p.listed >= p.max {
		p.omitted++
		return
	}
	p.listed++
	p.list.Add(s, at, what, why, hint)
}

// once adds a note about the file unless it was added before.
func (p *problems) once(at line.Line, what, why, hint string) {
	if p.reported[what] {
		return
	}
	p.reported[what] = true
	p.add(analysis.Note, at, what, why, hint)
}

// leftOut adds what was left out of the whole file and returns the dumps that are kept.
func (p *problems) leftOut(dumps []Dump, tooMany int, stacks *stackTable) []Dump {
	if extra := len(dumps) - maxDumps; extra > 0 {
		p.add(analysis.Warning, line.Line{}, wording.Plural(extra, "dump", "dumps")+" of the file were left out",
			wording.Plural(tooMany, "thread", "threads")+" stand in dumps beyond the first "+strconv.Itoa(maxDumps), "split the file")
		dumps = dumps[:maxDumps]
	}
	if stacks.others > 0 {
		p.add(analysis.Warning, line.Line{}, wording.Plural(stacks.others, "thread", "threads")+" have no stack",
			"the file holds more distinct stacks than are kept", "split the file")
	}
	return dumps
}

// all are the problems in the order of their lines, those of the whole file last: a line that may
// go on in the next one is judged late.
func (p *problems) all() []analysis.Problem {
	list := p.list.All()
	slices.SortStableFunc(list, func(a, b analysis.Problem) int {
		if a.Line == 0 || b.Line == 0 {
			return cmp.Compare(b.Line, a.Line)
		}
		return cmp.Compare(a.Line, b.Line)
	})
	if p.omitted > 0 {
		list = append(list, analysis.Problem{
			Path: p.list.Path, Offset: -1, Severity: analysis.Note,
			What: fmt.Sprintf("%d more problems are not listed", p.omitted),
			Why:  fmt.Sprintf("only the first %d are kept", p.max),
			Hint: "look at the first ones; the rest is mostly of the same kind",
		})
	}
	return list
}

// at is a place for a problem.
func at(number, offset int64) line.Line { return line.Line{Number: number, Offset: offset} }
