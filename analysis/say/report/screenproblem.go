package report

import (
	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// problems are what cost evidence. Without any evidence they are told in full.
func (s *screen) problems() []string {
	if len(s.r.Series) == 0 {
		return nil
	}
	var out []string
	groups, rest := groupProblems(s.r.Problems), 0
	for _, g := range groups {
		switch {
		case g.first.Severity == analysis.Note:
		case len(out) == mostScreenProblems:
			rest++
		default:
			text := cut(wording.Printable(shortPlace(g.first)+": "+g.first.What), columns-labelWidth)
			out = append(out, s.labelled(string(g.first.Severity), text, 1)...)
		}
	}
	if rest > 0 {
		out = append(out, s.label("")+wording.Plural(rest, "more problem", "more problems"))
	}
	return out
}

// mostScreenProblems is how many problems the screen tells.
const mostScreenProblems = 2

// mostPlace bounds the name of a file in a line about it.
const mostPlace = 24

// shortPlace is the place of a problem, by the end of the name of its file where that is long.
func shortPlace(p analysis.Problem) string {
	if runes := []rune(p.Path); len(runes) > mostPlace {
		p.Path = "…" + string(runes[len(runes)-mostPlace+1:])
	}
	if p.Line > 0 {
		p.Offset = -1 // the line is enough to find it
	}
	return place(p)
}
