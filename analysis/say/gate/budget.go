package gate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/filter"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// Budget says how many members of families, or how many objects, a process may have in its last
// capture: so many, or so many for each unit of a load. Its lines are
//
//	NUMBER [per LOAD] FILTER
//	NUMBER [per LOAD] object NAME
//
// with a filter as of --filter, or the name of an object type, in which * stands for any
// characters but a slash. A family counts for the first line whose filter it passes. # begins
// a comment.
type Budget struct {
	lines []budgetLine
}

type budgetLine struct {
	number int // of the line in the file
	each   float64
	load   string
	filter filter.Filter
	object string
	text   string // what is meant: the filter, or "object NAME"
	whole  string // the line without its comment
}

// mostBudgetLines bounds a budget.
const mostBudgetLines = 10_000

// ParseBudget reads a budget. name is that of its file, for errors.
func ParseBudget(name, text string) (*Budget, error) {
	b := &Budget{}
	text = strings.TrimPrefix(text, "\ufeff") // some editors begin a file with it
	number := 0
	for raw := range strings.Lines(text) {
		number++
		line, _, _ := strings.Cut(raw, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		parsed, hint, err := parseBudgetLine(line)
		if err == nil && len(b.lines) == mostBudgetLines {
			err, hint = fmt.Errorf("it has more than %d lines", mostBudgetLines), "use filters that several families pass"
		}
		if err != nil {
			return nil, &analysis.Fault{Code: "usage", What: "the budget was not understood", Where: fmt.Sprintf("%s, line %d", name, number), Why: err.Error(), Hint: hint}
		}
		parsed.number, parsed.whole = number, line
		b.lines = append(b.lines, parsed)
	}
	if len(b.lines) == 0 {
		return nil, &analysis.Fault{Code: "usage", What: "the budget is empty", Where: name, Hint: "write a line such as: 20 func:net/http.(*persistConn)"}
	}
	return b, nil
}

func parseBudgetLine(line string) (out budgetLine, hint string, err error) {
	const example = "write for example: 2 per connections func:net/http.(*conn).serve"
	word, rest, _ := strings.Cut(line, " ")
	out.each, err = strconv.ParseFloat(word, 64)
	if err != nil || out.each < 0 || math.IsInf(out.each, 0) || math.IsNaN(out.each) {
		return out, example, fmt.Errorf("%q is no number of members", word)
	}
	rest = strings.TrimSpace(rest)
	if after, ok := strings.CutPrefix(rest, "per "); ok {
		out.load, rest, _ = strings.Cut(strings.TrimSpace(after), " ")
		rest = strings.TrimSpace(rest)
	}
	if rest == "" {
		return out, example, errors.New("it does not say of what")
	}
	if rest == "per" || strings.HasPrefix(rest, "per ") {
		return out, example, errors.New("it names two loads")
	}
	out.text = rest
	if name, ok := strings.CutPrefix(rest, "object "); ok {
		out.object = strings.TrimSpace(name)
		if _, err := path.Match(out.object, ""); err != nil {
			return out, `write the name of a type as pages show it: object *cache.Reflector`, fmt.Errorf("%q is no pattern of names", out.object)
		}
		return out, "", nil
	}
	if out.filter, err = filter.Parse(rest); err != nil {
		var e *filter.Error
		if errors.As(err, &e) {
			return out, cmp.Or(e.Hint, example), errors.New(e.Said())
		}
		return out, example, err
	}
	return out, "", nil
}

// named reports whether a pattern means an object type. A leading * is that of a pointer, since
// names of types begin with one.
func (l *budgetLine) named(o *report.ObjectCount) bool {
	for _, name := range []string{o.Name, o.Type} {
		if name == l.object {
			return true
		}
		if ok, err := path.Match(l.object, name); err == nil && ok {
			return true
		}
	}
	return false
}

// kind is the only kind that a line can count, empty for a line that says none.
func (l *budgetLine) kind() analysis.Kind {
	if l.object != "" || l.filter.Uses(filter.Func) || l.filter.Uses(filter.Pkg) || l.filter.Uses(filter.Created) || l.filter.Uses(filter.State) || l.filter.Uses(filter.Wait) {
		return analysis.KindGoroutine
	}
	for _, clause := range l.filter.Clauses {
		if len(clause.Terms) == 1 && clause.Terms[0].Field == filter.Kind && !clause.Terms[0].Not {
			return analysis.Kind(clause.Terms[0].Text)
		}
	}
	return ""
}

// kinds are those that a line can count.
func (l *budgetLine) kinds() []analysis.Kind {
	switch kind := l.kind(); kind {
	case "":
		return analysis.Kinds()
	case analysis.KindGoroutine:
		return []analysis.Kind{kind, analysis.KindThread}
	default:
		return []analysis.Kind{kind}
	}
}

// spending holds all series of a case against a budget.
type spending struct {
	of     *report.Case
	budget *Budget
	// seen are the lines that counted something.
	seen map[int]bool
	// unchecked are what could not be checked, one for each line.
	unchecked []report.GateUnchecked
	open      map[int]bool
}

// leave says that a line cannot be checked.
func (s *spending) leave(line int, process string, host *string, why *analysis.Fault) {
	if s.open[line] {
		return
	}
	s.open[line] = true
	why.Hint = wording.Capital(why.Hint)
	why.Where = fmt.Sprintf("line %d of the budget: %s", s.budget.lines[line].number, s.budget.lines[line].text)
	s.unchecked = append(s.unchecked, report.GateUnchecked{Process: process, Host: host, Line: s.budget.lines[line].number, Text: wording.Capital(why.Error())})
}

// end adds what could not be checked, and notes on lines that counted nothing.
func (s *spending) end(r *report.Gate) {
	processes := capturedIn(&s.of.Report)
	for k := range s.budget.lines {
		l := &s.budget.lines[k]
		r.Lines = append(r.Lines, report.GateLine{Number: l.number, Text: l.whole})
		if s.open[k] {
			continue
		}
		kind := l.kind()
		with := 0
		var without []*captured
		for _, p := range processes {
			if p.shows(kind) {
				with++
			} else if l.means(p.process) {
				without = append(without, p)
			}
		}
		kinds := wording.Kinds(cmp.Or(kind, analysis.KindGoroutine))
		switch {
		case with == 0:
			s.leave(k, "", nil, &analysis.Fault{What: "the budget cannot be checked: nothing that was read has " + kinds,
				Hint: "capture them too, as leakdiff collect does, or leave the line out"})
		case len(without) > 0:
			var names []string
			for _, p := range without {
				names = append(names, wording.ProcessOn(p.process, p.host, p.pid))
			}
			host := s.of.Report.Series[without[0].number].Host
			s.leave(k, without[0].process, host, &analysis.Fault{What: "the budget cannot be checked: nothing that was read has " + kinds + " of " + wording.List(names, 5),
				Hint: "capture them too, as leakdiff collect does, or say in the line which process it means, as process=NAME"})
		case !s.seen[k] && l.each > 0:
			r.Notes = append(r.Notes, wording.CountsNothing(l.number, l.text, s.named(l)))
		}
	}
	r.Unchecked = append(r.Unchecked, s.unchecked...)
}

// shows reports whether a process has evidence of a kind, or any for an empty one.
func (c *captured) shows(kind analysis.Kind) bool {
	// Threads have functions and states too.
	return c.kinds[kind] || kind == "" || kind == analysis.KindGoroutine && c.kinds[analysis.KindThread]
}

// means reports whether a line is of a process, by its clauses of processes alone.
func (l *budgetLine) means(process string) bool {
	of := filter.Filter{}
	for _, clause := range l.filter.Clauses {
		if !slices.ContainsFunc(clause.Terms, func(t filter.Term) bool { return t.Field != filter.Process }) {
			of.Clauses = append(of.Clauses, clause)
		}
	}
	return of.Match(&filter.Facts{Process: process})
}

// named are the types of objects that the captures have, for a line that means none of them.
func (s *spending) named(l *budgetLine) (names []string) {
	if l.object == "" {
		return nil
	}
	for i := range s.of.Series {
		for _, o := range s.of.ObjectCounts(i) {
			if !slices.Contains(names, o.Name) {
				names = append(names, o.Name)
			}
		}
	}
	return names
}

// spend adds an item for each line that the series exceeds.
func (g *gated) spend(all *spending) {
	spent := make([][]*report.Family, len(all.budget.lines))
	facts := g.of.Said().Facts(g.number)
	for i := range g.Families {
		f := &g.Families[i]
		if f.Counts.Last() == 0 {
			continue
		}
		row := facts(f)
		row.Count = filter.Known(float64(f.Counts.Last()))
		for k := range all.budget.lines {
			if l := &all.budget.lines[k]; l.object == "" && l.filter.Match(row) {
				spent[k] = append(spent[k], f)
				break
			}
		}
	}
	for k := range all.budget.lines {
		l := &all.budget.lines[k]
		item := g.item(report.OverBudget, l.text, "", []string{})
		now := 0
		if l.object != "" {
			for _, o := range g.of.ObjectCounts(g.number) {
				if l.named(&o) {
					all.seen[k] = true
					now += o.N
					item.Families = append(item.Families, o.Families...)
				}
			}
		}
		slices.SortStableFunc(spent[k], func(a, b *report.Family) int { return cmp.Compare(b.Counts.Last(), a.Counts.Last()) })
		for _, f := range spent[k] {
			all.seen[k] = true
			now += f.Counts.Last()
			item.Families = append(item.Families, f.Fingerprint)
		}
		value := 0.0
		if now > 0 {
			var unknown *analysis.Fault
			if value, unknown = g.load(l); unknown != nil {
				all.leave(k, g.Process, g.Host, unknown)
				continue
			}
		}
		allowed := l.each * value
		if float64(now) <= allowed {
			if g.cut(l.kinds()...) && l.means(g.Process) {
				all.leave(k, g.Process, g.Host, &analysis.Fault{What: "the budget cannot be checked: the last capture of " + cmp.Or(g.Process, "the process") + " is cut, so that more may be there", Hint: l.hintOfCut()})
			}
			continue
		}
		if len(spent[k]) > 0 {
			item.Title = spent[k][0].Title
			if more := len(spent[k]) - 1; more > 0 {
				item.Title += " and " + wording.Plural(more, "more family", "more families")
			}
		}
		item.Now, item.Allowed, item.Line = &now, &allowed, l.number
		item.Text = wording.OverBudget(now, allowed, l.each, l.load, value)
		g.put(item, "")
	}
}

// hintOfCut is what to do where the last capture is cut.
func (l *budgetLine) hintOfCut() string {
	if kind := l.kind(); kind == analysis.KindDescriptor || kind == analysis.KindWatch {
		return "capture again"
	}
	return "capture again, with debug=1 beside debug=2 where there are many"
}

// cut reports that the last capture has only lower bounds of one of some kinds.
func (g *gated) cut(kinds ...analysis.Kind) bool {
	ids := g.Snapshots
	for i := range g.of.Report.Snapshots {
		if s := &g.of.Report.Snapshots[i]; len(ids) > 0 && s.ID == ids[len(ids)-1] {
			return slices.ContainsFunc(kinds, s.Bounded)
		}
	}
	return false
}

// load is the value of the load of a line at the last capture that has it, 1 for a line
// without one. It fails where nobody knows it: a budget that cannot be checked must not pass.
func (g *gated) load(l *budgetLine) (float64, *analysis.Fault) {
	if l.load == "" {
		return 1, nil
	}
	if value, ok := g.options.Loads[l.load]; ok {
		return value, nil
	}
	var known []string
	for _, load := range g.of.Series[g.number].Trend.Loads() {
		known = append(known, load.Name)
		if load.Name != l.load {
			continue
		}
		for _, value := range slices.Backward(load.Values) {
			if !math.IsNaN(value) {
				return value, nil
			}
		}
	}
	why := "the captures have no load"
	if len(known) > 0 {
		why = "the captures have " + wording.List(known, 5)
	}
	return 0, &analysis.Fault{What: "the budget cannot be checked: nobody knows the load " + l.load, Why: why,
		Hint: "capture metrics with the dumps, or give it: --load " + l.load + "=20"}
}
