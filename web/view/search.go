package view

import (
	"strings"

	"leakdiff/analysis/say/wording"
)

// Search is the page of what was found on the whole server.
type Search struct {
	Shell    Shell
	Query    string
	Families []Hit
	Cases    []Hit
	// Processes lead to the cases that hold them.
	Processes []Hit
}

// Hit is one thing that was found. Path and Name are the two parts of a
// function; Path is empty for everything else. Aside is what a title says behind
// the function: its creator, or what tells it from a namesake.
type Hit struct {
	Path, Name, Aside, Text, URL, Verdict string
}

// NewFunctionHit is a hit on a family by its title, which names a function
// except for resources, whose names hold spaces.
func NewFunctionHit(title, text, url, verdict string) Hit {
	function, aside := splitTitle(title)
	if strings.ContainsRune(function, ' ') {
		return NewHit(title, text, url, verdict)
	}
	path, name := funcName(function)
	return Hit{Path: Visible(path), Name: Visible(name), Aside: Visible(arrow(aside)), Text: Visible(text), URL: url, Verdict: verdict}
}

// NewHit is any other hit.
func NewHit(name, text, url, verdict string) Hit {
	return Hit{Name: Visible(name), Text: Visible(text), URL: url, Verdict: verdict}
}

// NewSearch makes the page; the caller adds the shell's engine line.
func NewSearch(query string, families, cases, processes []Hit) Search {
	title := "Search"
	if query != "" {
		title = "Search: " + Visible(query)
	}
	return Search{
		Shell: Shell{Title: title, Query: Visible(query), Section: "search", Crumbs: []Link{{"Cases", "/"}}, Here: "Search"},
		Query: Visible(query), Families: families, Cases: cases, Processes: processes,
	}
}

// Sentence says what was found.
func (s Search) Sentence() string {
	switch {
	case s.Query == "":
		return "Search functions, resources, processes and cases"
	case len(s.Families)+len(s.Cases)+len(s.Processes) == 0:
		return "Nothing matches “" + s.Query + "”"
	}
	return wording.PagePlural(int64(len(s.Families)), "family", "families") + ", " + wording.PagePlural(int64(len(s.Processes)), "process", "processes") + " and " + wording.PagePlural(int64(len(s.Cases)), "case", "cases") + " match “" + s.Query + "”"
}
