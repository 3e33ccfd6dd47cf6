package view

import (
	"net/http"
	"strconv"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
)

// NewError makes the page of a refusal: what, where, why, what to do. An id finds the
// request in the server's log and stands for everything that is not told. The caller adds
// the shell's engine line.
func NewError(status int, f *analysis.Fault, id string) Page {
	var what, where, why, hint string
	if f != nil {
		what, where, why, hint = Visible(f.What), Visible(f.Where), Visible(f.Why), Visible(f.Hint)
	}
	if what == "" {
		what = http.StatusText(status)
	}
	if hint == "" && status >= 500 {
		hint = "try again; if it stays, give the operator of this server the id below"
	}
	v := Page{Shell: Shell{Title: what, Section: "error", Crumbs: []Link{{"Cases", "/"}}, Here: refusal(status)}}
	said := document.Terms{Look: "said"}
	add := func(name, value string, look document.Look) {
		if value != "" {
			said.Rows = append(said.Rows, document.Term{Name: document.Words(name), Look: look, Blocks: document.Blocks{document.Words(value)}})
		}
	}
	add("Where", where, "mono")
	add("Why", why, "")
	add("Do", hint, "")
	add("Status", strconv.Itoa(status), "")
	add("Id", id, "mono")
	v.Body.Add(
		document.Heading{Level: 1, Look: "small what", Text: document.Words(what)}, said,
		document.Paragraph{Look: "act", Text: document.Text{document.LinkButton("btn", "/", "All cases")}},
	)
	return v
}

// refusal is the kind of an answer in two words.
func refusal(status int) string {
	switch {
	case status == http.StatusNotFound, status == http.StatusGone:
		return "Not found"
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "Not allowed"
	case status >= 500:
		return "Not answered"
	}
	return "Not accepted"
}
