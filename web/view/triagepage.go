package view

import (
	"leakdiff/analysis/say/document"
)

// blocks returns what people said of the family, and the forms that say more.
func (t *FamilyTriage) blocks() document.Blocks {
	if t == nil {
		return nil
	}
	out := document.NewSection("h-triage", "Triage", "")
	out.Anchor, out.Note = "triage", document.Text{document.Marked(document.Mark, t.State), document.Plain(" " + t.Memory)}
	if t.Over != "" {
		out.Mind(t.Over)
	}
	out.Paragraph(t.Text)
	if t.Text != "" && t.Replaced != "" && t.Over == "" {
		out.Say("note", "Before that: "+t.Replaced)
	}
	if len(t.Memories) > 0 {
		list := document.List{Look: "seen"}
		for _, m := range t.Memories {
			list.Items = append(list.Items, document.Item{Blocks: document.Blocks{document.Text{document.LinkTo(m.URL, m.CaseTitle), document.Plain(" "), document.Marked(document.Muted, m.Counts)}}})
		}
		out.Add(list)
	}
	if t.Form != nil {
		out.Add(t.Form.form())
		if t.Form.Remember {
			out.Add(t.Form.remember()...)
		}
	}
	return document.Blocks{out}
}

// form marks the family.
func (f *TriageForm) form() document.Form {
	out := document.Form{Look: "triage noprint", Post: true, Action: "/cases/" + f.Case + "/triage"}
	out.Add(document.Hide("process", f.Process), document.Hide("series", f.Series), document.Hide("fingerprint", f.Fingerprint), document.Hide("seen", f.Seen))
	states := document.Fieldset{Look: "tools", LegendLook: document.Hidden, Legend: document.Words("What is it?")}
	for _, s := range f.States {
		states.Add(document.Label{Look: "check", Blocks: document.Blocks{document.Field{Type: "radio", Name: "state", Value: s.Value, Checked: s.Value == f.State}, document.Words(" " + s.Text)}})
	}
	rows := document.Group{Look: "kv", Blocks: document.Blocks{
		label("note", "Note, or the reason why it is benign"), document.Field{Look: "field", ID: "note", Name: "note", Value: f.Note, Length: "2000"},
		label("outcome", "What it turned out to be"), document.Field{Look: "field", ID: "outcome", Name: "outcome", Value: f.Outcome, Length: "200", List: "outcomes", Suggestions: f.Outcomes},
	}}
	rows.Add(keyBlocks(f.NeedsKey, "triage")...)
	save := submitLine("btn", "Save")
	save.Add(document.Text{document.Marked("muted hint", "Benign holds for every process of this name from now on, in all cases; findings about benign families only are set aside.")})
	out.Add(states, rows, save)
	return out
}

// remember keeps the family as an entry of the server's own knowledge.
func (f *TriageForm) remember() document.Blocks {
	var out document.Blocks
	for _, k := range f.Kept {
		out.Add(document.Paragraph{Look: "noprint", Text: document.Text{document.Plain("Remembered as "), document.LinkTo(k.URL, k.Text), document.Plain(": change or forget it there.")}})
	}
	about := document.Paragraph{Look: document.Muted, Text: document.Text{
		document.Plain("Makes an entry of the catalogue: every case is compared with its stack, states and growth from then on. "), document.LinkTo("/knowledge.json?own=1", "The entries can be handed on"), document.Plain("."),
	}}
	form := f.Entry.form()
	form.Blocks = append(document.Blocks{about}, form.Blocks...)
	return append(out, document.Fold{Look: "with noprint", Summary: document.Words("Remember this family"), Blocks: document.Blocks{form}})
}

// form are the words of an entry.
func (f *EntryForm) form() document.Form {
	out := document.Form{Look: "triage", Post: true, Action: f.Action, Blocks: document.Blocks{document.Hide("case", f.Case)}}
	rows := document.Group{Look: "kv"}
	row := func(name, words, value string, field document.Field) {
		field.ID, field.Name, field.Value, field.Look = document.ID("r-"+name), name, value, "field"
		rows.Add(label(document.ID(string(field.ID)), words), field)
	}
	row("title", "What leaks, in a few words", f.Title, document.Field{Length: "200", Required: true})
	statuses := document.Choices{}
	for _, s := range f.Statuses {
		statuses.List = append(statuses.List, document.Choice{Value: s.Value, Text: s.Text})
	}
	rows.Add(label("r-status", "It is"), document.Select{ID: "r-status", Name: "status", Value: f.Status, Groups: []document.Choices{statuses}})
	row("bound", "A backlog ends within, in minutes", f.Bound, document.Field{Length: "6", Mode: "numeric"})
	row("affected", "Affected versions", f.Affected, document.Field{Length: "200"})
	row("fixed", "Fixed in", f.Fixed, document.Field{Length: "200"})
	row("trigger", "What sets it off", f.Trigger, document.Field{Length: "500"})
	row("remedy", "What helps", f.Remedy, document.Field{Length: "500"})
	row("url", "Report", f.URL, document.Field{Length: "500", Mode: "url"})
	rows.Add(keyBlocks(f.NeedsKey, "remember")...)
	line := submitLine("btn", "Remember")
	if f.Kept {
		line = submitLine("btn primary", "Save")
		line.Add(document.Press{Look: "btn", Type: "submit", Name: "forget", Value: "yes", Unchecked: true, Text: "Forget it"})
	}
	out.Add(rows, line)
	return out
}

// Page is the page that makes or changes an entry.
func (v EntryPage) Page() Page {
	out := Page{Shell: v.Shell}
	out.Body.Title(v.Name)
	if v.Wrong != "" {
		out.Body.Add(document.Notice{Word: "Mind", Text: document.Words(v.Wrong), Role: "alert"})
	}
	out.Body.Add(v.Form.form())
	return out
}
