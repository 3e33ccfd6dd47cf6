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
}

// mostBudgetLines bounds a budget.
const mostBudgetLines = 10_000

// ParseBudget reads a budget. name is that of its file, for errors.
func ParseBudget(name, text string) (*Budget, error) {
	b := &Budget{}
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
		parsed.number = number
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
func (l *budgetLine) named(o *report.Object) bool {
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

// spend adds an item for each line that a series of the case exceeds.
func (g *gated) spend() error {
	spent := make([][]*report.Family, len(g.options.Budget.lines))
	facts := g.of.Said().Facts(g.number)
	for i := range g.Families {
		f := &g.Families[i]
		if last(f.Counts) == 0 {
			continue
		}
		row := facts(f)
		row.Count = filter.Known(float64(last(f.Counts)))
		for k := range g.options.Budget.lines {
			if l := &g.options.Budget.lines[k]; l.object == "" && l.filter.Match(row) {
				spent[k] = append(spent[k], f)
				break
			}
		}
	}
	for k := range g.options.Budget.lines {
		l := &g.options.Budget.lines[k]
		item := g.item(report.OverBudget, l.text, "", []string{})
		now := 0
		if l.object != "" {
			for i := range g.Objects {
				if o := &g.Objects[i]; l.named(o) {
					now += last(o.Counts)
					item.Families = append(item.Families, o.Families...)
				}
			}
		}
		slices.SortStableFunc(spent[k], func(a, b *report.Family) int { return cmp.Compare(last(b.Counts), last(a.Counts)) })
		for _, f := range spent[k] {
			now += last(f.Counts)
			item.Families = append(item.Families, f.Fingerprint)
		}
		if now == 0 {
			continue
		}
		value, err := g.load(l)
		if err != nil {
			return err
		}
		allowed := l.each * value
		if float64(now) <= allowed {
			continue
		}
		if len(spent[k]) > 0 {
			item.Title = spent[k][0].Title
			if more := len(spent[k]) - 1; more > 0 {
				item.Title += " and " + wording.Plural(more, "more family", "more families")
			}
		}
		item.Now, item.Allowed = &now, &allowed
		item.Text = wording.OverBudget(now, allowed, l.each, l.load, value)
		g.put(item, "")
	}
	return nil
}

// load is the value of the load of a line at the last capture that has it, 1 for a line
// without one. It fails where nobody knows it: a budget that cannot be checked must not pass.
func (g *gated) load(l *budgetLine) (float64, error) {
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
	return 0, &analysis.Fault{Code: "usage", What: "the budget cannot be checked: nobody knows the load " + l.load, Where: fmt.Sprintf("line %d of the budget", l.number), Why: why,
		Hint: "capture metrics with the dumps, or give it: --load " + l.load + "=20"}
}
