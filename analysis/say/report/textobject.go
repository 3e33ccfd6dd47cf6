package report

import (
	"fmt"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// mostPrinted is how many kinds of objects of one process are printed.
const mostPrinted = 12

// Matters reports objects that rose, that have several goroutines each, or that no dump of
// goroutines shows, such as connections. Any other kind says no more than its family.
func (o *Object) Matters() bool {
	return o.Verdict.Rose() && o.Verdict != analysis.New || o.Parts() != 1
}

// objects lists the kinds of objects of one snapshot, those with most goroutines first.
// Goroutines that belong to nothing but themselves stand in the table of families.
func (p *printer) objects(s *Series) {
	var proven []*Object
	for i := range s.Objects {
		if o := &s.Objects[i]; o.Level != analysis.ByGoroutine {
			proven = append(proven, o)
		}
	}
	if len(proven) == 0 {
		return
	}
	slices.SortStableFunc(proven, func(a, b *Object) int { return b.Each[0].N*b.Counts.Highest() - a.Each[0].N*a.Counts.Highest() })
	p.line("")
	named, width := map[string]int{}, 16
	for _, o := range proven {
		named[o.Name]++
		width = max(width, min(len(o.Shape()), 24))
	}
	p.line("%8s  %-*s %s", "objects", width, "each", "what they are")
	for _, o := range proven[:min(len(proven), mostPrinted)] {
		p.line("%8d  %-*s %s", o.Counts.Highest(), width, o.Shape(), cut(o.apart(named)+o.hangsOn(), max(20, p.width-width-11)))
	}
	if more := len(proven) - mostPrinted; more > 0 {
		fewer := "fewer " + wording.Kinds(proven[0].Each[0].Kind)
		p.line("%s.", wording.Plural(more, "more kind of objects has "+fewer, "more kinds of objects have "+fewer))
	}
}

// courses lists the kinds of objects of several snapshots: how many there were, how many came
// and ended, and what each is made of.
func (p *printer) courses(s *Series, j *JudgedSeries) {
	var shown []*Object
	for i := range s.Objects {
		if o := &s.Objects[i]; o.Matters() && o.Counts.Rise() > 0 {
			shown = append(shown, o)
		}
	}
	if len(shown) == 0 {
		return
	}
	p.line("")
	p.line("%-16s %6s %6s  %-28s %s", "objects", "born", "ended", "each", "what they are")
	figure := func(n int, known bool) string {
		if !known {
			return "–"
		}
		return fmt.Sprint(n)
	}
	named := map[string]int{}
	for _, o := range shown {
		named[o.Name]++
	}
	for _, o := range shown[:min(len(shown), mostPrinted)] {
		each := cut(o.Shape(), 28)
		what := o.apart(named) + o.hangsOn()
		if last := o.Counts.LastAt(); last < len(o.Counts)-1 {
			what = "shown until " + j.Snapshots[last].Label + ": " + what
		}
		p.line("%-16s %6s %6s  %-28s %s", cut(Rises(o.Counts, j.Trend.Epochs), 16), figure(o.BornTotal()), figure(o.EndedTotal()), each, cut(what, max(20, p.width-61)))
	}
	if more := len(shown) - mostPrinted; more > 0 {
		p.line("%s.", wording.Plural(more, "more kind of objects", "more kinds of objects"))
	}
}

// apart is the name of the objects, with what they do where several kinds have the name.
func (o *Object) apart(named map[string]int) string {
	if named[o.Name] > 1 {
		return o.Name + " in " + shortRole(o.Each[0].Roles[0].Role)
	}
	return o.Name
}
