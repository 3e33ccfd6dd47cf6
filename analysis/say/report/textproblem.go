package report

import (
	"fmt"
	"strings"

	"leakdiff/analysis"
)

// problemLines say what was not understood, equal problems together.
func problemLines(problems []analysis.Problem) []string {
	groups := groupProblems(problems)
	if len(groups) == 0 {
		return nil
	}
	out := []string{"Problems"}
	add := func(indent, text string) {
		for _, line := range wrapped(text, columns-len(indent), mostLines) {
			out = append(out, indent+line)
		}
	}
	for _, g := range groups {
		where := place(g.first)
		if g.count > 1 {
			where += fmt.Sprintf(" and %d more", g.count-1)
		}
		add("  ", fmt.Sprintf("%s: %s: %s", g.first.Severity, where, g.first.What))
		if g.first.Why != "" {
			add("    ", "Why: "+g.first.Why)
		}
		if g.first.Hint != "" {
			add("    ", "Do: "+g.first.Hint)
		}
	}
	return out
}

func place(p analysis.Problem) string {
	where := p.Path
	if where == "" {
		where = "the upload"
	}
	if p.Line > 0 {
		where += fmt.Sprintf(", line %d", p.Line)
	}
	if p.Offset >= 0 {
		where += fmt.Sprintf(", byte %d", p.Offset)
	}
	return where
}

// problemGroup is problems with equal words at several places.
type problemGroup struct {
	first analysis.Problem
	count int
	paths []string
}

// groupProblems groups problems with equal words and advice, errors first, in the order
// of first sighting. Figures in the words are ignored.
func groupProblems(problems []analysis.Problem) []problemGroup {
	at := map[string]int{}
	var out []problemGroup
	for _, severity := range []analysis.Severity{analysis.Error, analysis.Warning, analysis.Note} {
		for _, p := range problems {
			if p.Severity != severity {
				continue
			}
			key := string(p.Severity) + withoutDigits(p.What) + p.Hint
			i, ok := at[key]
			if !ok {
				i = len(out)
				at[key] = i
				out = append(out, problemGroup{first: p})
			}
			out[i].count++
			if len(out[i].paths) < 20 {
				out[i].paths = append(out[i].paths, place(p))
			}
		}
	}
	return out
}

func withoutDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}
