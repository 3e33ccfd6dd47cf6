package view

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// ServerInput is what the page of the server shows. Only admins see Tokens and Audit, which are
// nil for others.
type ServerInput struct {
	Retention RetentionInput
	Tokens    []TokenRow
	Audit     *AuditInput
}

// TokenRow is one API token without its secret.
type TokenRow struct {
	Name, Role, State string
	Made              time.Time
}

// NewServer makes the page of what the server keeps, whom it admits and what was done on it.
func NewServer(in ServerInput) Page {
	v := Page{Shell: Shell{Title: "Server", Section: "server", Here: "Server"}}
	if r := &in.Retention; r.CaseID != "" {
		v.Shell.Crumbs = []Link{{"Cases", "/"}, {Visible(r.CaseTitle), "/cases/" + url.PathEscape(r.CaseID)}}
	}
	v.Body.Title("Server")
	v.Body.Add(retentionSection(&in.Retention))
	if in.Audit != nil {
		v.Body.Add(tokenSection(in.Tokens), auditSection(in.Audit))
	}
	return v
}

// tokenSection lists the tokens, also those that admit nobody any more.
func tokenSection(rows []TokenRow) document.Section {
	out := document.NewSection("tokens", "API tokens", "")
	out.Say("note", "leakdiff token makes and revokes them. A secret is shown once and is not stored.")
	if len(rows) == 0 {
		out.Say("empty", "There is none.")
		return out
	}
	table := document.Table{Look: "data", Caption: "API tokens, the oldest first", Parts: []document.Part{{}}}
	for _, head := range []string{"Name", "Role", "Made", "State"} {
		table.Head = append(table.Head, document.Cell{Words: head})
	}
	for _, r := range rows {
		var row document.Row
		for _, text := range []string{r.Name, r.Role, wording.Day(r.Made), r.State} {
			row.Cells = append(row.Cells, document.Cell{Words: Visible(text)})
		}
		row.Cells[0].Header = true
		table.Parts[0].Rows = append(table.Parts[0].Rows, row)
	}
	out.Add(table)
	return out
}

// RetentionInput is what policies of retention would drop now.
type RetentionInput struct {
	// CaseID and CaseTitle are those of the one case that was asked for, or empty.
	CaseID, CaseTitle string
	Cases             []RetainedCase
}

// RetainedCase is what the policy of a case would drop: the members of snapshots, MemberBytes as
// stored, and uploads.
type RetainedCase struct {
	ID, Title                string
	KeepMembers, KeepUploads int
	Snapshots, Bundles       int
	MemberBytes, UploadBytes int64
}

// retentionSection says what the policies would drop.
func retentionSection(in *RetentionInput) document.Section {
	var all RetainedCase
	for _, c := range in.Cases {
		all.Snapshots, all.MemberBytes = all.Snapshots+c.Snapshots, all.MemberBytes+c.MemberBytes
		all.Bundles, all.UploadBytes = all.Bundles+c.Bundles, all.UploadBytes+c.UploadBytes
	}
	out := document.NewSection("retention", "Retention", "")
	out.Paragraph(wording.Droppable(all.Snapshots, all.MemberBytes, all.Bundles, all.UploadBytes))
	out.Say("note", wording.RetentionKeeps)
	if len(in.Cases) == 0 {
		return out
	}
	table := document.Table{Look: "data", Label: "Cases", Caption: "What would be dropped of each case", Numeric: 3,
		Head: []document.Cell{{Words: "Case"}, {Words: "Members are kept"}, {Words: "Uploads are kept"}, {Words: "Captures", Look: document.Figured}, {Words: "Their members", Look: document.Figured}, {Words: "Uploads", Look: document.Figured}, {Words: "Their size", Look: document.Figured}}}
	part := document.Part{}
	for _, c := range in.Cases {
		part.Rows = append(part.Rows, document.Row{Cells: []document.Cell{
			{Header: true, Text: document.Text{{URL: "/cases/" + url.PathEscape(c.ID), Look: document.Strong, Text: Visible(c.Title)}}},
			{Words: wording.KeptDays(c.KeepMembers)}, {Words: wording.KeptDays(c.KeepUploads)},
			{Look: document.Figured, Words: wording.Number(int64(c.Snapshots))}, {Look: "num nowrap", Words: wording.Size(c.MemberBytes)},
			{Look: document.Figured, Words: wording.Number(int64(c.Bundles))}, {Look: "num nowrap", Words: wording.Size(c.UploadBytes)},
		}})
	}
	table.Parts = []document.Part{part}
	out.Add(table)
	return out
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

// auditSection is the audit log.
func auditSection(in *AuditInput) document.Section {
	out := document.NewSection("audit", "Audit log", "", auditChoice(in))
	out.Say("note", "Who shared, withdrew, deleted, changed or added what, and who signed in, for a year or 100,000 entries. It holds ids and no evidence.")
	out.End.Add(document.Text{document.LinkTo("/audit.jsonl", "JSON lines")})
	if len(in.Rows) == 0 {
		out.Say("empty", "No entry fits.")
		return out
	}
	out.Add(document.Group{Look: "scroll", Role: "region", Label: "Entries", Blocks: document.Blocks{auditTable(in.Rows)}})
	out.Add(auditPaging(in)...)
	return out
}

func auditChoice(in *AuditInput) document.Form {
	choose := document.Select{ID: "action", Name: "action", Value: in.Action, Groups: []document.Choices{{List: []document.Choice{{Value: "", Text: "everything"}}}}}
	for _, a := range in.Actions {
		choose.Groups[0].List = append(choose.Groups[0].List, document.Choice{Value: a, Text: a})
	}
	return document.Form{Look: "act", Role: "search", Label: "Choose entries", Action: "/server", Blocks: document.Blocks{
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

func auditPaging(in *AuditInput) document.Blocks {
	q := url.Values{}
	if in.Action != "" {
		q.Set("action", in.Action)
	}
	if in.Text != "" {
		q.Set("text", in.Text)
	}
	address := func(q url.Values) string { return strings.TrimSuffix("/server?"+q.Encode(), "?") + "#audit" }
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
