package view

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// Problem is something not understood or not believed, ready to print. Problems
// that differ only in their place are one, with a Count above 1.
type Problem struct {
	Severity string
	What     string
	// Where holds the first places; More says in words how many follow.
	Where []Place
	More  string
	Why   string
	Hint  string
	Count int
}

// Place is a place in words with the address of its raw lines, empty where
// there are none to show.
type Place struct {
	Text, URL string
}

// maxPlaces bounds the places of a group of problems that are printed.
const maxPlaces = 3

// unlinkedProblems groups problems by what and hint in order of first sight, errors
// before warnings before notes.
func unlinkedProblems(problems []analysis.Problem) []Problem {
	return newProblems(problems, func(analysis.Problem) string { return "" })
}

// newProblems takes the address of a problem's raw lines from link.
func newProblems(problems []analysis.Problem, link func(analysis.Problem) string) []Problem {
	type key struct{ what, hint string }
	index := map[key]int{}
	var groups []Problem
	for _, p := range problems {
		k := key{p.What, p.Hint}
		i, seen := index[k]
		if !seen {
			i = len(groups)
			index[k] = i
			groups = append(groups, Problem{Severity: string(p.Severity), What: Visible(p.What), Why: Visible(p.Why), Hint: Visible(p.Hint)})
		}
		g := &groups[i]
		g.Count++
		if severityRank(string(p.Severity)) < severityRank(g.Severity) {
			g.Severity = string(p.Severity)
		}
		if len(g.Where) < maxPlaces {
			g.Where = append(g.Where, Place{Text: where(p), URL: link(p)})
		}
	}
	for i := range groups {
		if rest := groups[i].Count - len(groups[i].Where); rest > 0 {
			groups[i].More = "and " + wording.PagePlural(int64(rest), "more place", "more places")
		}
	}
	sortBySeverity(groups)
	return groups
}

// where writes a place: "t1/kubelet.txt, line 18 234, byte 532 101".
func where(p analysis.Problem) string {
	path := p.Path
	if path == "" {
		path = "whole bundle"
	}
	parts := []string{Visible(path)}
	if p.Line > 0 {
		parts = append(parts, fmt.Sprintf("line %s", wording.Exact(p.Line)))
	}
	if p.Offset >= 0 && (p.Line > 0 || p.Offset > 0) {
		parts = append(parts, fmt.Sprintf("byte %s", wording.Exact(p.Offset)))
	}
	return strings.Join(parts, ", ")
}

func severityRank(severity string) int {
	switch analysis.Severity(severity) {
	case analysis.Error:
		return 0
	case analysis.Warning:
		return 1
	}
	return 2
}

func sortBySeverity(groups []Problem) {
	slices.SortStableFunc(groups, func(a, b Problem) int {
		return severityRank(a.Severity) - severityRank(b.Severity)
	})
}

// Block is one group of problems.
func (p Problem) Block() document.Problem {
	out := document.Problem{Severity: p.Severity, What: p.What, Count: p.Count, More: p.More, Why: p.Why, Hint: p.Hint}
	for _, w := range p.Where {
		out.Where = append(out.Where, document.LinkTo(w.URL, w.Text))
	}
	return out
}

// problemBlock lists groups of problems.
func problemBlock(look document.Look, groups []Problem) document.Problems {
	out := document.Problems{Look: look}
	for _, p := range groups {
		out.List = append(out.List, p.Block())
	}
	return out
}
