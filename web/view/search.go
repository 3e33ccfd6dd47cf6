package view

import (
	"net/url"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// Hit is one thing that was found. Path and Name are the two parts of a
// function; Path is empty for everything else. Aside is what a title says behind
// the function: its creator, or what tells it from a namesake.
type Hit struct {
	Path, Name, Aside, Text, URL, Verdict string
	// State is that of a case, in place of a verdict.
	State string
	// Things is what people call it, before its function.
	Things string
	// Points are the totals of a case, empty for everything else. Lower says which of them are
	// lower bounds.
	Points []int
	Lower  []bool
}

// NewFunctionHit is a hit on a family by its title, which names a function
// except for resources, whose names hold spaces.
func NewFunctionHit(title, text, url, verdict string) Hit {
	function, aside := splitTitle(title)
	if strings.ContainsRune(function, ' ') {
		return NewHit(title, text, url, verdict)
	}
	path, name := document.FunctionName(function)
	return Hit{Path: Visible(path), Name: Visible(name), Aside: Visible(arrow(aside)), Text: Visible(text), URL: url, Verdict: verdict}
}

// NewHit is any other hit.
func NewHit(name, text, url, verdict string) Hit {
	return Hit{Name: Visible(name), Text: Visible(text), URL: url, Verdict: verdict}
}

// NewSearch makes the page of what was found on the whole server; processes lead to the
// cases that hold them. The caller adds the shell's engine line. known says what the catalogue has of the words, empty for nothing.
func NewSearch(query, known string, families, cases, processes []Hit) Page {
	shown := Visible(query)
	v := Page{Shell: Shell{Title: "Search", Query: shown, Section: "search", Sheet: "inventory", Here: "Search"}}
	if query != "" {
		v.Shell.Title = "Search: " + shown
	}
	v.Body.Title(searchSentence(shown, len(families), len(processes), len(cases)))
	v.Body.Add(document.Form{Look: "tools", Role: "search", Label: "Search", Action: "/search", Blocks: document.Blocks{
		document.Label{Look: "vh", For: "sq", Blocks: document.Blocks{document.Words("Words of an answer, thing, function, process, host, case or ticket, a file with or without a line, an address or a fingerprint")}},
		document.Field{Look: "field grow", ID: "sq", Name: "q", Type: "search", Value: shown, Placeholder: "probe workers, worker.run, prober.go:88, node-1", Key: "/"},
		document.Press{Look: "btn primary", Text: "Search"},
	}})
	switch {
	case query == "":
		v.Body.Say("lead", "All cases of this server are searched: their answers, processes and hosts, and every group by its function, file and line, address or name.")
	case len(families)+len(processes)+len(cases) == 0:
		v.Body.Say("lead", "No answer, function, source file, address, process, host, case, ticket or bundle has all of these words. Shorter words find more; case does not matter.")
	}
	v.Body.Add(hits("Cases", "found-cases", cases)...)
	v.Body.Add(hits("Processes", "found-processes", processes)...)
	v.Body.Add(hits("Groups", "families", families)...)
	if known != "" {
		v.Body.Add(document.Paragraph{Look: "apart", Text: document.Text{document.Plain("The catalogue has "), document.LinkTo("/knowledge?q="+url.QueryEscape(query), known), document.Plain(".")}})
	}
	return v
}

// searchSentence says what was found: "7 groups and 1 case match “worker”".
func searchSentence(query string, families, processes, cases int) string {
	var parts []string
	found := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, wording.PagePlural(int64(n), one, many))
		}
	}
	found(cases, "case", "cases")
	found(processes, "process", "processes")
	found(families, "group", "groups")
	switch {
	case query == "":
		return "Search answers, functions, processes and hosts"
	case len(parts) == 0:
		return "Nothing matches “" + query + "”"
	}
	return wording.List(parts, len(parts)) + " " + wording.Fit(families+processes+cases, "matches", "match") + " “" + query + "”"
}

// hits are a section, or nothing where nothing was found.
func hits(title, id string, list []Hit) document.Blocks {
	if len(list) == 0 {
		return nil
	}
	found := document.List{Look: "hits"}
	for i, h := range list {
		item := document.Item{Blocks: document.Blocks{h.line()}}
		if len(h.Points) > 1 {
			s := sparkOf(id+"-"+strconv.Itoa(i), h.Points, h.Lower)
			s.Calm = h.State != "" && stateChip(h.State).calm()
			item.Add(document.Drawing{Chart: s})
		}
		item.Paragraph(h.Text)
		found.Items = append(found.Items, item)
	}
	return document.Blocks{document.NewSection(document.ID(id), title, wording.Exact(int64(len(list))), found)}
}

// line is what was found with its verdict.
func (h *Hit) line() document.Text {
	name := document.Span{URL: h.URL, Look: document.Strong, Text: h.Name}
	if h.Path != "" {
		name.Look, name.Text = document.Function, h.Path+h.Name
	}
	out := document.Text{name}
	if h.Things != "" {
		out = append(document.Text{document.Span{URL: h.URL, Look: document.Strong, Text: h.Things}, document.Plain(" ")}, name)
		out[2].URL = ""
	}
	if h.Aside != "" {
		out = append(out, document.Plain(" "), document.Marked("via", h.Aside))
	}
	switch {
	case h.State != "":
		out = append(out, document.Plain(" "), stateChip(h.State).span())
	case h.Verdict != "":
		out = append(out, document.Plain(" "), document.Marked(document.Verdict, h.Verdict))
	}
	return out
}

// sparkOf draws totals; the labels are places in the series.
func sparkOf(id string, points []int, lower []bool) chart.SparkData {
	s := chart.SparkData{ID: id, A: -1, B: -1, Values: analysis.CountsOf(points...), Lower: lower}
	for i := range points {
		s.Labels = append(s.Labels, "#"+strconv.Itoa(i+1))
	}
	return s
}
