package view

import (
	"strconv"

	"leakdiff/analysis/say/document"
)

// Page is the start page: a place to drop files, and the list of cases.
func (h Home) Page() Page {
	out := Page{Shell: h.Shell}
	b := &out.Body
	b.Title("What is leaking?")
	b.Add(h.Upload.block())
	if len(h.Cases) > 0 || h.Choice.Narrow() {
		b.Add(h.cases())
	} else {
		b.Add(h.firstSteps())
	}
	b.Add(h.samples(), h.background())
	if h.Whole && len(h.Cases) > 1 {
		out.Shell.Scripts = append(out.Shell.Scripts, "cases.js")
	}
	return out
}

func (u *Upload) block() document.Block {
	if u.Refusal == "" {
		return document.Upload{Max: u.MaxBytes, Free: u.FreeBytes, Keyed: u.Keyed}
	}
	return document.Group{Look: "box refuse", Role: "alert", Blocks: document.Blocks{
		document.Heading{Level: 2, Text: document.Words("Nothing can be uploaded now")}, document.Paragraph{Text: document.Words(u.Refusal)},
	}}
}

// cases are the list with the form that chooses from it.
func (h *Home) cases() document.Section {
	out := document.NewSection("recent", "Cases", "")
	out.End.Add(document.Paragraph{ID: "cases-shown", Role: "status", Text: document.Words(h.Shown)})
	out.Add(h.Choice.form())
	if h.Choice.Wrong != "" {
		out.Add(document.Paragraph{Look: "note", Role: "alert", Text: document.Words(h.Choice.Wrong)})
	}
	if len(h.Cases) == 0 {
		out.Say("empty", "Nothing is left: loosen the filter, or look at archived cases as well.")
	} else {
		out.Add(h.table(), document.Paragraph{ID: "cases-none", Look: "note", Unseen: true, Text: document.Words("No case fits. Archived cases are listed by “More fields”.")})
	}
	pages := document.Group{Role: "navigation", Look: "act", Label: "Pages of the list"}
	for _, l := range []Link{{"Previous page", h.Newer}, {"Next page", h.Older}} {
		if l.URL != "" {
			pages.Add(document.Text{document.LinkButton("btn quiet", l.URL, l.Text)})
		}
	}
	if len(pages.Blocks) > 0 {
		out.Add(pages)
	}
	return out
}

func (h *Home) table() document.Table {
	out := document.Table{
		ID: "cases", Look: "data cases", Label: "List of cases", Caption: "Cases with process, host and diagnosis",
		Head: heads("Case", "Growth, own scale", "Lowest to highest*", "Verdict", "Added"), Parts: []document.Part{{}},
	}
	for i := range h.Cases {
		out.Parts[0].Rows = append(out.Parts[0].Rows, h.Cases[i].row("spark-"+strconv.Itoa(i)))
	}
	return out
}

// row is a case in the list, with what a script sorts and filters it by.
func (r *CaseRow) row(id string) document.Row {
	var name document.Text
	if r.About != "" {
		name = append(name, document.Marked("of", r.About), document.Plain(" "))
	}
	below := document.Made("by", document.Made("word", document.Plain(r.Below)))
	for _, more := range []string{r.Ticket, map[bool]string{true: "archived"}[r.Archived]} {
		if more != "" {
			below.Inside = append(below.Inside, document.Plain(" · "+more))
		}
	}
	name = append(name, document.Span{URL: r.URL, Text: r.Sentence, Link: &document.Link{Look: "nm"}}, document.Plain(" "), below)
	growth := document.Cell{Look: "opt-c", Text: document.Text{document.Marked(document.Muted, "nothing to draw")}}
	if len(r.Points) > 0 {
		growth.Text, growth.Blocks = nil, document.Blocks{document.Drawing{Chart: r.Spark(id)}}
	}
	figures := document.Marked(document.Muted, "n/a")
	if r.Range != "" {
		figures = document.Plain(r.Range)
	}
	return document.Row{
		Facts: []document.Fact{{Name: "verdict", Value: r.Verdict}, {Name: "name", Value: r.Name}, {Name: "rank", Value: strconv.Itoa(r.Rank)}, {Name: "newest", Value: strconv.FormatInt(r.Made, 10)}, {Name: "activity", Value: strconv.FormatInt(r.Active, 10)}},
		Cells: []document.Cell{
			{Header: true, Text: name}, growth, {Look: "num opt-c", Text: document.Text{figures}}, {Text: r.judged()}, {Look: "nowrap soft opt-c", Text: document.Words(r.Day)},
		},
	}
}

// form sorts and filters the list. Where all cases are on the page, a script does both there.
func (c *CaseChoice) form() document.Form {
	choose := func(words, name, value string, all []Pair) document.Label {
		list := document.Choices{}
		for _, p := range all {
			list.List = append(list.List, document.Choice{Value: p.Value, Text: p.Name})
		}
		return document.Label{Blocks: document.Blocks{document.Words(words + " "), document.Select{Name: name, Value: value, Groups: []document.Choices{list}}}}
	}
	field := func(words, kind, name, value string) document.Label {
		return document.Label{Blocks: document.Blocks{document.Words(words + " "), document.Field{Type: kind, Look: "field", Name: name, Value: value}}}
	}
	out := document.Form{ID: "choice", Look: "tools finder", Action: "/#recent"}
	out.Add(
		document.Field{Type: "search", Look: "field", Name: "find", Value: c.Find, Placeholder: "Process, host, words, ticket", Label: "Find cases", Autocomplete: "off"},
		choose("Verdict", "verdict", c.Verdict, append([]Pair{{"any", ""}}, c.Verdicts()...)), choose("Sort by", "sort", c.Sort, c.Sorts()),
		document.Press{ID: "choice-show", Look: "btn", Type: "submit", Text: "Show"},
	)
	if c.Narrow() {
		out.Add(document.Text{document.LinkButton("btn quiet", "/#recent", "All cases")})
	}
	return document.Form{ID: out.ID, Look: out.Look, Action: out.Action, Blocks: append(out.Blocks, document.Fold{Look: "more", Open: c.Open(), Summary: document.Words("More fields"), Blocks: document.Blocks{
		document.Group{Look: "tools", Blocks: document.Blocks{
			field("Title or ticket", "", "text", c.Text), field("Process", "", "process", c.Process), field("Host", "", "host", c.Host), field("From", "date", "since", c.Since), field("To", "date", "until", c.Until),
			choose("Archive", "archived", c.Archived, []Pair{{"not archived", ""}, {"archived", "yes"}, {"both", "all"}}),
		}},
	}})}
}

// firstSteps stands where the list of cases will be.
func (h *Home) firstSteps() document.Section {
	out := document.NewSection("first", "No case yet", "The first upload makes one. Or take a capture of a process, and send it:")
	out.Add(document.Group{Look: "copyline", Blocks: document.Blocks{document.Code{ID: "first-command", Label: "Command", Lines: []string{h.Command}}, copyPress("first-command")}})
	if h.Archived {
		out.Add(document.Paragraph{Look: "note", Text: document.Text{document.LinkTo("/?archived=all#recent", "Archived cases")}})
	}
	return out
}

// samples are folded where there are cases.
func (h *Home) samples() document.Block {
	if len(h.Samples) == 0 {
		return document.Paragraph{Look: "note background", Text: document.Words("This server was started without samples.")}
	}
	list := document.List{Look: "samples"}
	for _, s := range h.Samples {
		size := s.Size
		if s.Loaded {
			size += ", loaded: opens its case"
		}
		form := document.Form{Post: true, Action: "/samples/" + s.ID, Blocks: document.Blocks{document.Press{Look: "link", Text: s.Name}}}
		form.Paragraph(s.Text)
		form.Say("s", size)
		list.Items = append(list.Items, document.Item{Blocks: document.Blocks{form}})
	}
	if len(h.Cases) > 0 {
		return document.Fold{ID: "samples", Look: "with background", Changes: true, Summary: document.Words("Try a sample"), Blocks: document.Blocks{list}}
	}
	out := document.NewSection("samples", "Try a sample", "Real captures that come with leakdiff. Nothing is uploaded.", list)
	out.Changes = true
	return out
}

// background returns what is worth knowing once: it is folded.
func (h *Home) background() document.Fold {
	part := func(id, title string, inside ...document.Block) document.Group {
		out := document.Group{Role: "section", LabelledBy: document.ID(id)}
		out.Add(document.Heading{Level: 2, ID: document.ID(id), Text: document.Words(title)})
		out.Add(inside...)
		return out
	}
	limits := document.Terms{}
	for _, l := range h.Limits {
		limits.Rows = append(limits.Rows, document.Term{Name: document.Words(l.Name), Blocks: document.Blocks{document.Words(l.Value)}})
	}
	if h.Upload.Free != "" {
		limits.Rows = append(limits.Rows, document.Term{Name: document.Words("Disk"), Blocks: document.Blocks{document.Words(h.Upload.Free + " on this server")}})
	}
	data := part("data-title", "Where does my data go?",
		document.Paragraph{Text: document.Text{{Look: document.Destination}, document.Plain(" Uploads are kept " + h.UploadsKept + ", or as long as their case says; deleting removes the files as well.")}},
		document.Paragraph{Text: document.Words("A shared result is a copy with host names, addresses, paths and pointers taken out, unless you say otherwise.")})
	data.ID = "data"
	shell := document.Code{Label: "From a shell", Lines: []string{
		"curl -H Accept:text/plain -T bundle.tgz '" + h.Base + "/api/v1/bundles/?wait=1'", "kubectl exec POD -- cat dump.txt | curl -T - " + h.Base + "/api/v1/bundles/", "leakdiff report bundle.tgz",
	}}
	return document.Fold{Look: "with background", Summary: document.Words("Limits, where data goes, and lines for a shell"), Blocks: document.Blocks{
		document.Group{Look: "cols3", Blocks: document.Blocks{part("limits", "Limits", limits), data, part("shell", "From a shell", shell)}},
	}}
}

// Page follows an upload without scripts, on a server that others reach.
func (s Stored) Page() Page {
	out := Page{Shell: s.Shell}
	out.Body.Add(document.Heading{Level: 1, Text: document.Words("Stored. Keep the owner key.")}, document.Group{Look: "box advice", Blocks: document.Blocks{document.OwnerKey{Key: s.Key, Next: s.URL}}})
	return out
}

// Page asks for a name and a password.
func (l Login) Page() Page {
	out := Page{Shell: l.Shell}
	b := &out.Body
	b.Title("Sign in")
	b.Say("lead", "This server shows its cases to people with an account.")
	if l.Wrong != "" {
		b.Add(document.Notice{Word: "Mind", Text: document.Words(l.Wrong), Role: "alert"})
	}
	b.Add(document.Form{Look: "triage", Post: true, Always: true, Action: "/login", Blocks: document.Blocks{
		document.Hide("next", l.Next),
		document.Group{Look: "kv", Blocks: document.Blocks{
			label("user", "Name"), document.Field{Look: "field", ID: "user", Name: "user", Value: l.User, Length: "200", Autocomplete: "username", Verbatim: true, Required: true, Focus: l.User == ""},
			label("password", "Password"), document.Field{Type: "password", Look: "field", ID: "password", Name: "password", Length: "1024", Autocomplete: "current-password", Required: true, Focus: l.User != ""},
		}},
		pressLine("btn primary", "Sign in"),
	}})
	b.Say("note", "A frozen result opens without an account at its own address, /p/…, unless it was shared with accounts alone. Scripts send an API token. The operator of this server makes accounts and tokens.")
	return out
}

// Page shows numbered lines of an artifact as text.
func (r Raw) Page() Page {
	out := Page{Shell: r.Shell}
	b := &out.Body
	b.Add(document.Heading{Level: 1, Look: "small mono-title", Text: document.Words(r.Path)})
	b.Say("lead", r.Sentence)
	b.Add(document.Paragraph{Look: "note", Text: document.Text{document.Plain("Exactly what was uploaded, except that controls and invisible characters are written as "), document.Marked(document.Literal, `\xNN`), document.Plain(".")}})
	links := document.Group{Look: "act"}
	for _, l := range []Link{{"Before", r.Before}, {"After", r.After}} {
		if l.URL != "" {
			links.Add(document.Text{document.LinkButton("btn", l.URL, l.Text)})
		}
	}
	if r.Download != "" {
		links.Add(document.Text{{URL: r.Download, Text: "Download the whole file", Link: &document.Link{Look: "btn quiet", Download: true}}})
	}
	b.Add(links)
	if len(r.Lines) == 0 {
		b.Say("empty", "There is nothing to show at this place.")
		return out
	}
	table := rawTable(r.Sentence, "Lines", r.Lines)
	table.Look, table.Region = "", "raw"
	b.Add(table)
	b.Say("note", r.Cut)
	return out
}

// Page is the page of one upload: stages while it is read, then what was found in it.
func (b Bundle) Page() Page {
	out := Page{Shell: b.Shell}
	d := &out.Body
	d.Title(b.Sentence)
	d.Say("lead", b.Lead)
	if !b.Running {
		if len(b.Stages) > 0 {
			d.Add(b.stages())
		}
		d.Add(b.Inventory()...)
		return out
	}
	out.Shell.Scripts = append(out.Shell.Scripts, "progress.js")
	d.Say("lead", "This tab may be closed; reading goes on, and this address shows the result.")
	bar := document.Bar{ID: "progress-bar", Label: "Read", Unseen: b.Taken == 0}
	if b.Taken > 0 {
		bar.Value, bar.Max = b.Taken, b.Size
	}
	cancel := document.Form{Look: "act", Post: true, Action: b.URL("/cancel"), Blocks: keyBlocks(b.NeedsKey, "cancel")}
	cancel.Add(document.Press{Look: "btn", Text: "Cancel reading"}, document.Text{document.Marked("muted no-js", "This page loads itself again every few seconds.")})
	d.Add(document.Group{ID: "progress", Events: b.URL("/events"), Poll: b.URL(".json"), Blocks: document.Blocks{
		b.stages(), bar, document.Paragraph{ID: "progress-say", Look: document.Hidden, Role: "status"}, cancel,
	}})
	d.Add(b.Uploaded()...)
	return out
}

// stages are the steps of reading, which a script keeps up to date.
func (b *Bundle) stages() document.List {
	out := document.List{Look: "stages", Label: "Stages", Ordered: true}
	for _, s := range b.Stages {
		word := s.State
		if word == "now" {
			word = "under way"
		}
		out.Items = append(out.Items, document.Item{Look: document.Look(s.State), Stage: document.ID(s.Key), Blocks: document.Blocks{document.Text{
			document.Made("mark"), document.Plain(" "), document.Marked("name", s.Name), document.Plain(" "), document.Marked("vh state", word), document.Plain(" "), document.Marked("text", s.Text),
		}}})
	}
	return out
}
