package view

import (
	"strings"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// Page is the form that freezes a result.
func (v Share) Page() Page {
	out := Page{Shell: v.Shell}
	out.Body.Title("Share this result")
	out.Body.Say("lead", "A frozen copy under its own address. It does not change.")
	out.Body.Add(document.Form{Look: "share", Post: true, Action: "/share", Blocks: document.Blocks{document.Hide("case", v.Case), document.Hide("view", v.View), v.takenOut(), v.chat()}})
	return out
}

// takenOut says what redaction removes, and what the copy holds.
func (v *Share) takenOut() document.Group {
	out := document.Group{Role: "section", LabelledBy: "out"}
	out.Add(document.Heading{Level: 2, ID: "out", Text: document.Words("What is taken out")})
	out.Say(document.Muted, "The same name gets the same pseudonym everywhere, so figures and differences stay.")
	out.Add(document.Label{Look: "opt on", Blocks: document.Blocks{document.Field{Type: "checkbox", Name: "redact", Value: "on", Checked: true}, document.Text{document.Made("word", document.Marked(document.Strong, "Take these out"))}}})
	if v.NeedsKey {
		out.Add(document.Line{Blocks: document.Blocks{label("key-share", "Owner key of the case, only to leave them in"), document.Field{Type: "password", Look: "field mono", ID: "key-share", Name: "key", Autocomplete: "off"}}})
	}
	out.Add(foundFirst(v.Redaction)...)
	out.Add(document.Heading{Level: 2, Text: document.Words("What is frozen")})
	list := document.List{Look: "plain-list"}
	item := func(text document.Text) {
		list.Items = append(list.Items, document.Item{Blocks: document.Blocks{text}})
	}
	for _, f := range v.Freezes {
		item(document.Words(f))
	}
	item(document.Text{document.LinkTo(v.Look, "See the page as its readers will"), document.Plain(", redacted and not frozen yet.")})
	item(document.Words("Not part of it: the uploaded files, raw lines beyond those on the page, and every live page of this server. The link leads to none of them."))
	out.Add(list, document.Fold{Look: "fold", Summary: document.Words("The Markdown that goes out"), Blocks: document.Blocks{document.Code{Label: "Markdown", Lines: strings.Split(v.Markdown, "\n")}}})
	return out
}

// chat chooses what is shown of the link, how long it is kept and who may read it.
func (v *Share) chat() document.Group {
	out := document.Group{Role: "section", LabelledBy: "chat"}
	out.Add(document.Heading{Level: 2, ID: "chat", Text: document.Words("What a chat shows before anyone opens it")})
	out.Say(document.Muted, "Previews are fetched by machines that are not logged in.")
	previews := document.Fieldset{Look: "previews", LegendLook: document.Hidden, Legend: document.Words("Preview")}
	for _, p := range v.Previews {
		text := document.Text{document.Made("word", document.Plain(p.Name+" "), document.Marked(document.Muted, p.Note))}
		if p.Title != "" || p.Text != "" {
			text = append(text, document.Made("prev", document.Marked("s", "leakdiff"), document.Marked(document.Strong, p.Title), document.Plain(p.Text)))
		}
		previews.Add(document.Label{Look: "opt", Blocks: document.Blocks{document.Field{Type: "radio", Name: "preview", Value: p.Value, Checked: p.Checked}, text}})
	}
	const anyone = "anyone with the address (160 random bits)"
	rows := document.Group{Look: "kv", Blocks: document.Blocks{
		label("title", "Title"), document.Field{Look: "field", ID: "title", Name: "title", Value: v.Title, Length: "300"}, label("keep", "Keep for"), keepSelect(v.Keep),
	}}
	if v.Accounts {
		rows.Add(label("audience", "Who may read"), document.Select{ID: "audience", Name: "audience", Value: "link", Groups: []document.Choices{{List: []document.Choice{{Value: "link", Text: anyone}, {Value: "account", Text: "whoever has an account on this server"}}}}})
	} else {
		rows.Add(document.Text{document.Made("word", document.Plain("Who may read"))}, document.Text{document.Made("word", document.Plain(anyone))})
	}
	out.Add(previews, rows, pressLine("btn primary", "Freeze"))
	out.Say("note", "You get a key, shown once, with which the link can be withdrawn or extended without an account.")
	return out
}

func keepSelect(all []KeepOption) document.Select {
	list := document.Choices{}
	chosen := ""
	for _, k := range all {
		list.List = append(list.List, document.Choice{Value: k.Value, Text: k.Text})
		if k.Selected {
			chosen = k.Value
		}
	}
	return document.Select{ID: "keep", Name: "keep", Value: chosen, Groups: []document.Choices{list}}
}

// foundFirst lists the rules that took something out, and folds the others.
func foundFirst(rules []RedactionRule) document.Blocks {
	var found, others []RedactionRule
	for _, r := range rules {
		if r.Found {
			found = append(found, r)
		} else {
			others = append(others, r)
		}
	}
	var out document.Blocks
	if len(found) > 0 {
		out.Add(ruleList(found))
	}
	if len(others) > 0 {
		out.Add(document.Fold{Look: "fold", Summary: document.Words(wording.PagePlural(int64(len(others)), "rule", "rules") + " found nothing"), Blocks: document.Blocks{ruleList(others)}})
	}
	return out
}

// ruleList are the rules of redaction with what they took out.
func ruleList(rules []RedactionRule) document.List {
	out := document.List{Look: "rules"}
	for _, r := range rules {
		item := document.Item{Look: "opt", Blocks: document.Blocks{document.Text{document.Made("word"), document.Made("word", document.Plain(r.Name)), document.Marked("num soft", r.Count)}}}
		if r.Text != "" {
			item.Add(document.Text{document.Marked("ex", r.Text)})
		}
		if len(r.First) > 0 {
			first := document.List{Look: "plain-list"}
			for _, f := range r.First {
				first.Items = append(first.Items, document.Item{Blocks: document.Blocks{document.Words(f)}})
			}
			item.Add(document.Fold{Look: "ex", Summary: document.Words("Where each stands first"), Blocks: document.Blocks{first}})
		}
		out.Items = append(out.Items, item)
	}
	return out
}

// Page is shown once, after freezing.
func (s Shared) Page() Page {
	out := Page{Shell: s.Shell}
	b := &out.Body
	b.Title("The result is frozen")
	b.Say("lead", s.Expires)
	copied := func(id, value string) document.Line {
		return document.Line{Look: "copyline", Blocks: document.Blocks{document.Field{Look: "field mono", ID: document.ID(id), Value: value, ReadOnly: true, Autocomplete: "off"}, copyPress(id)}}
	}
	also := document.Text{document.Plain("Also as ")}
	for i, t := range s.Twins {
		if i > 0 {
			also = append(also, document.Plain(", "))
		}
		also = append(also, document.LinkTo(t.URL, t.Text))
	}
	both := document.Group{Look: "handed", Blocks: document.Blocks{document.Group{Blocks: document.Blocks{label("link", "Link for the ticket"), copied("link", s.URL), document.Paragraph{Look: "note", Text: also}}}}}
	if s.OwnerKey != "" {
		box := document.Group{Look: "box advice"}
		box.Add(document.Heading{Level: 2, Text: document.Words("Owner key, shown only now")})
		box.Paragraph("Withdraws the link or extends its time, without an account. It is stored hashed and cannot be shown again. It does not belong into the ticket. This browser remembers it: the result opened here offers both.")
		key := copied("key", s.OwnerKey)
		box.Add(key, document.Code{Label: "How to withdraw the link", Lines: []string{"curl -X DELETE -H 'Authorization: Bearer KEY' " + apiAddress(s.URL)}})
		both.Add(box)
	}
	receipt := document.NewSection("receipt", "What was taken out", wording.PagePlural(int64(len(s.Receipt)), "rule", "rules"))
	if len(s.Receipt) == 0 {
		receipt.Say("empty", "Nothing: the result was frozen as it is, without redaction.")
	} else {
		receipt.Add(ruleList(s.Receipt))
	}
	b.Add(both, receipt, document.Paragraph{Look: "act", Text: document.Text{document.LinkButton("btn primary", s.URL, "Open it as the recipient sees it")}})
	return out
}

// apiAddress turns a permalink into its address in the API:
//
//	https://host/p/k7w2 → https://host/api/v1/permalinks/k7w2
func apiAddress(permalink string) string {
	if host, id, ok := strings.Cut(permalink, "/p/"); ok {
		return host + "/api/v1/permalinks/" + id
	}
	return permalink
}

// Own is for who may change a frozen result: its time, its end, or the same by a newer engine.
func (s *Seal) Own() document.Blocks {
	var out document.Blocks
	if s.Owned != "" {
		extend := document.Form{Post: true, Always: true, Action: s.Owned + "/extend", Blocks: document.Blocks{label("keep", "Keep for"), keepSelect(s.Keep), document.Press{Look: "btn", Text: "Extend"}}}
		withdraw := document.Form{Post: true, Always: true, Action: s.Owned + "/withdraw", Blocks: document.Blocks{document.Line{Look: "act", Blocks: document.Blocks{
			document.Press{Look: "btn danger", Text: "Withdraw it"}, document.Words(" Its address then says that it ended. This cannot be undone."),
		}}}}
		box := document.Group{Look: "box"}
		box.Paragraph("This browser has the owner key of this result: only here you see this.")
		box.Add(extend, withdraw)
		out.Add(document.Fold{Look: "confirm noprint", SummaryLook: "btn quiet", Summary: document.Words("Extend or withdraw"), Blocks: document.Blocks{box}})
	}
	if s.Newer != "" {
		line := document.Line{Look: "warn", Blocks: document.Blocks{document.Text{document.Marked(document.Strong, "Mind"), document.Plain(s.Newer + " ")}}}
		line.Add(keyBlocks(s.NeedsKey, "again")...)
		line.Add(document.Words("This page stays as it is; "), document.Press{Look: "link", Text: "compute again"}, document.Words(" makes another link."))
		out.Add(document.Form{Look: "noprint", Post: true, Action: s.Again, Blocks: document.Blocks{line}})
	}
	return out
}
