package view

import (
	"strings"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

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
	path, name := document.FunctionName(function)
	return Hit{Path: Visible(path), Name: Visible(name), Aside: Visible(arrow(aside)), Text: Visible(text), URL: url, Verdict: verdict}
}

// NewHit is any other hit.
func NewHit(name, text, url, verdict string) Hit {
	return Hit{Name: Visible(name), Text: Visible(text), URL: url, Verdict: verdict}
}

// NewSearch makes the page of what was found on the whole server; processes lead to the
// cases that hold them. The caller adds the shell's engine line.
func NewSearch(query string, families, cases, processes []Hit) Page {
	shown := Visible(query)
	v := Page{Shell: Shell{Title: "Search", Query: shown, Section: "search", Crumbs: []Link{{"Cases", "/"}}, Here: "Search"}}
	if query != "" {
		v.Shell.Title = "Search: " + shown
	}
	v.Body.Title(searchSentence(shown, len(families), len(processes), len(cases)))
	v.Body.Add(document.Form{Look: "tools", Role: "search", Label: "Search", Action: "/search", Blocks: document.Blocks{
		document.Label{Look: "vh", For: "sq", Blocks: document.Blocks{document.Words("Words of a function, source file, path, remote address, process, host, case, bundle or ticket, or a fingerprint")}},
		document.Field{Look: "field grow", ID: "sq", Name: "q", Type: "search", Value: shown, Placeholder: "prober.(*worker).run", Key: "/"},
		document.Press{Look: "btn primary", Text: "Search"},
	}})
	if query == "" {
		v.Body.Say("lead", "Every family of every case on this server is searched: where did it ever grow?")
		return v
	}
	v.Body.Add(
		hits("Families", "families", "No family has this in its functions, attributes or fingerprint, and no function of one stands in such a source file. Shorter words find more; case does not matter.", families),
		hits("Processes", "found-processes", "No process or host is called so.", processes),
		hits("Cases", "found-cases", "No case has this in its title, its ticket or the name of a bundle.", cases),
	)
	return v
}

// searchSentence says what was found.
func searchSentence(query string, families, processes, cases int) string {
	switch {
	case query == "":
		return "Search functions, resources, processes and cases"
	case families+cases+processes == 0:
		return "Nothing matches “" + query + "”"
	}
	return wording.PagePlural(int64(families), "family", "families") + ", " + wording.PagePlural(int64(processes), "process", "processes") + " and " + wording.PagePlural(int64(cases), "case", "cases") + " match “" + query + "”"
}

func hits(title, id, none string, list []Hit) document.Section {
	out := document.NewSection(document.ID(id), title, wording.Exact(int64(len(list))))
	if len(list) == 0 {
		out.Say("empty", none)
		return out
	}
	found := document.List{Look: "hits"}
	for _, h := range list {
		name := document.Span{URL: h.URL, Look: document.Strong, Text: h.Name}
		if h.Path != "" {
			name.Look, name.Text = document.Function, h.Path+h.Name
		}
		line := document.Text{name}
		if h.Aside != "" {
			line = append(line, document.Plain(" "), document.Marked("via", h.Aside))
		}
		line = append(line, document.Plain(" "), document.Marked(document.Verdict, h.Verdict))
		item := document.Item{Blocks: document.Blocks{line}}
		item.Paragraph(h.Text)
		found.Items = append(found.Items, item)
	}
	out.Add(found)
	return out
}
