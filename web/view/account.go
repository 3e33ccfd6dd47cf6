package view

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// Login is the page that asks for a name and a password.
type Login struct {
	Shell Shell
	// Next is the address that it leads to. User is the name that was entered, and Wrong
	// why it was refused.
	Next, User, Wrong string
}

// NewLogin makes the page; the caller adds the engine line.
func NewLogin(next, user, wrong string) Login {
	return Login{Shell: Shell{Title: "Sign in", Bare: true}, Next: next, User: user, Wrong: Visible(wrong)}
}

// AuditRow is one entry of the audit log.
type AuditRow struct {
	At                                             time.Time
	Account, Role, Action, Subject, Route, Address string
	Status                                         int
}

// AuditInput is a page of the audit log, the newest entry first. Older is the number that
// older entries are below, 0 for none.
type AuditInput struct {
	Rows         []AuditRow
	Action, Text string
	Actions      []string
	Older        int64
	// Newest says that the page begins with the last entry.
	Newest bool
}

// NewAudit makes the page of the audit log; the caller adds the engine line.
func NewAudit(in AuditInput) Page {
	v := Page{Shell: Shell{Title: "Audit log", Crumbs: []Link{{"Cases", "/"}}, Here: "Audit log", Twins: []Link{{"JSON lines", "/audit.jsonl"}}}}
	v.Body.Title("Audit log")
	v.Body.Say("lead", "Who shared, withdrew, deleted, changed or added what, and who signed in, for a year or 100,000 entries. It holds ids and no evidence.")
	v.Body.Add(auditChoice(in))
	if len(in.Rows) == 0 {
		v.Body.Say("empty", "No entry fits.")
		return v
	}
	v.Body.Add(document.Group{Look: "scroll", Role: "region", Label: "Entries", Blocks: document.Blocks{auditTable(in.Rows)}})
	v.Body.Add(auditPaging(in)...)
	return v
}

func auditChoice(in AuditInput) document.Form {
	choose := document.Select{ID: "action", Name: "action", Value: in.Action, Groups: []document.Choices{{List: []document.Choice{{Value: "", Text: "everything"}}}}}
	for _, a := range in.Actions {
		choose.Groups[0].List = append(choose.Groups[0].List, document.Choice{Value: a, Text: a})
	}
	return document.Form{Look: "act", Role: "search", Label: "Choose entries", Action: "/audit", Blocks: document.Blocks{
		document.Label{For: "action", Blocks: document.Blocks{document.Words("What")}}, choose,
		document.Label{For: "text", Blocks: document.Blocks{document.Words("Who, about or from")}},
		document.Field{ID: "text", Name: "text", Look: "field", Value: in.Text, Placeholder: "alice, c123, 192.0.2.7", Autocomplete: "off"},
		document.Press{Look: "btn", Text: "Show"},
	}}
}

func auditTable(rows []AuditRow) document.Table {
	out := document.Table{Look: "data", Caption: "Entries of the audit log, the newest first, times in UTC"}
	for _, head := range []string{"When", "Who", "What", "About", "From", "Address", "Answer"} {
		out.Head = append(out.Head, document.Cell{Text: document.Words(head)})
	}
	var part document.Part
	for _, r := range rows {
		who := r.Account
		if r.Role != "" {
			who += ", " + r.Role
		}
		var row document.Row
		for _, text := range []string{wording.Time(r.At), who, r.Action, r.Subject, r.Address, r.Route, answerWord(r.Status)} {
			row.Cells = append(row.Cells, document.Cell{Text: document.Words(Visible(text))})
		}
		row.Cells[0].Look = "nowrap"
		part.Rows = append(part.Rows, row)
	}
	out.Parts = []document.Part{part}
	return out
}

// answerWord says what became of a request.
func answerWord(status int) string {
	switch {
	case status < 400:
		return "done"
	case status < 500:
		return "refused, " + strconv.Itoa(status)
	}
	return "failed, " + strconv.Itoa(status)
}

func auditPaging(in AuditInput) document.Blocks {
	q := url.Values{}
	if in.Action != "" {
		q.Set("action", in.Action)
	}
	if in.Text != "" {
		q.Set("text", in.Text)
	}
	address := func(q url.Values) string { return strings.TrimSuffix("/audit?"+q.Encode(), "?") }
	var links document.Text
	if !in.Newest {
		links = append(links, document.LinkButton("btn quiet", address(q), "Newest"), document.Plain(" "))
	}
	if in.Older > 0 {
		q.Set("before", strconv.FormatInt(in.Older, 10))
		links = append(links, document.LinkButton("btn quiet", address(q), "Older"))
	}
	if len(links) == 0 {
		return nil
	}
	return document.Blocks{document.Paragraph{Look: "act", Text: links}}
}
