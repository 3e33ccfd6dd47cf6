package view

import (
	"strconv"
	"strings"

	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/say/document"
)

// Page is the page of the processes alone, which answers a form that was refused.
func (v Identity) Page() Page {
	out := Page{Shell: v.Shell}
	out.Body.Title("Processes and times")
	out.Body.Add(v.blocks()...)
	return out
}

// blocks show the processes, with a form behind every value. A form opens by its value, without
// scripts.
func (v *Identity) blocks() document.Blocks {
	d := document.Blocks{document.NewSection("processes", "Processes and times", "", document.Paragraph{Text: document.Words(v.Sentence)}, document.Paragraph{Look: "note", Text: document.Words("A value opens its form. Every change is worked out at once, holds when the bundles are read again, and can be undone below.")})}
	if v.Said != "" {
		form := document.Form{Look: "box grow", Role: "status", Post: true, Action: v.URL("/undo")}
		form.Add(document.Words(v.Said + " "))
		if v.SaidEdit > 0 {
			form.Add(v.undo(v.SaidEdit)...)
		}
		d.Add(document.Group{Look: "act", Blocks: document.Blocks{form}})
	}
	if v.Refused != "" {
		d.Add(document.Notice{Word: "Not taken", Role: "alert", Text: document.Words(v.Refused)})
	}
	if v.Mind != "" {
		d.Mind(v.Mind)
	}
	if v.Paging != nil {
		d.Add(v.Paging.Blocks("Pages of the snapshots")...)
	}
	for i := range v.Series {
		d.Add(v.series(&v.Series[i]))
	}
	if v.Paging != nil {
		d.Add(v.Paging.Blocks("Pages of the snapshots, once more")...)
	}
	d.Add(v.happened(), v.zone())
	if len(v.LeftOut) > 0 {
		d.Add(v.leftOut())
	}
	d.Add(v.history())
	return d
}

// form changes one thing of the case.
func (v *Identity) form(look document.Look, kind, target string, blocks ...document.Block) document.Form {
	return document.Form{Look: look, Post: true, Action: v.URL(""), Blocks: append(document.Blocks{document.Hide("kind", kind), document.Hide("target", target)}, blocks...)}
}

// ownerKey is asked for where the server does not take everybody's edits.
func (v *Identity) ownerKey() document.Blocks {
	if !v.NeedsKey {
		return nil
	}
	return document.Blocks{document.Field{Look: "field", Type: "password", Name: "key", Placeholder: "owner key", Label: "Owner key", Autocomplete: "current-password", Required: true}}
}

// send ends a form: the key, and the button.
func (v *Identity) send(look document.Look, text string) document.Blocks {
	return append(v.ownerKey(), document.Press{Look: look, Text: text})
}

func (v *Identity) undo(number int64) document.Blocks {
	return append(document.Blocks{document.Hide("number", strconv.FormatInt(number, 10))}, v.send("link", "Undo")...)
}

func (v *Identity) series(s *IdentitySeries) document.Section {
	about := s.About
	if s.Host != "" {
		about = "on " + s.Host + ", " + about
	}
	whole := document.Group{Look: "box"}
	if len(s.Others) > 0 {
		whole.Add(v.merge(s.Target, "Merge it into", s.Others))
	}
	whole.Add(v.plainly("leave_out", s.Target, "Leave it out of the case"))
	if s.Theirs {
		whole.Add(v.plainly("ours", s.Target, ourProgram))
	}
	out := document.Section{Look: "block", Anchor: document.ID(s.ID), ID: document.ID(s.ID + "-h"), Title: document.Words(s.Name), Note: document.Words(about)}
	out.End.Add(document.Group{Look: "end", Blocks: document.Blocks{document.Fold{
		Look: "ed r", Name: "ed", Summary: document.Text{document.Plain("whole series"), document.Marked(document.Hidden, " of "+s.Name)}, Blocks: document.Blocks{whole},
	}}})
	table := document.Table{Look: "data idt", Caption: s.Sources, Parts: []document.Part{{}}}
	for _, word := range []string{"Snapshot", "Time (UTC)", "Host", "Program", "Pid", "Version", "Evidence"} {
		table.Head = append(table.Head, document.Cell{Words: word})
	}
	table.Head = append(table.Head, document.Cell{Text: document.Text{document.Marked(document.Hidden, "More")}})
	for i := range s.Rows {
		table.Parts[0].Rows = append(table.Parts[0].Rows, v.row(s, &s.Rows[i]))
	}
	if s.Unnamed {
		out.Add(v.counted(s))
	}
	out.Add(table, v.loads(s))
	return out
}

func (v *Identity) row(s *IdentitySeries, r *IdentitySnapshot) document.Row {
	name := document.Cell{Header: true, Blocks: document.Blocks{document.Text{document.LinkTo(r.URL, r.Label)}}}
	name.Blocks.Add(v.moves(r)...)
	row := document.Row{Look: "plain", Cells: []document.Cell{name}}
	for _, c := range []struct {
		name string
		cell *Cell
	}{{"Time", &r.Time}, {"Host", &r.Host}, {"Program", &r.Process}, {"Pid", &r.PID}, {"Version", &r.Version}} {
		row.Cells = append(row.Cells, document.Cell{Name: c.name, Blocks: document.Blocks{v.editable(c.cell, r.Label)}})
	}
	row.Cells = append(row.Cells, document.Cell{Name: "Evidence", Blocks: document.Blocks{r.evidence()}}, document.Cell{Blocks: document.Blocks{v.more(s, r)}})
	return row
}

// loads returns what people say was asked of a process, in figures.
func (v *Identity) loads(s *IdentitySeries) document.Fold {
	l := &s.Loads
	out := document.Fold{
		Look: "fold", ID: document.ID(s.ID + "-asked"), Open: len(l.Rows) > 0 || l.Error != "",
		Summary: document.Text{document.Plain(l.About), document.Marked(document.Hidden, ": "+s.Name)},
	}
	out.Say("note", "A family that rises in step with a demand from outside, such as sessions, pods or requests, is scaling and no leak. A load of the same name replaces the one before. Of a metric that the captures have the name is enough, and counts for this program in every case.")
	out.Add(v.said(l.Rows)...)
	note := s.ID + "-asked-n"
	name, numbers := s.ID+"-name", s.ID+"-numbers"
	figures := wanted(document.Field{Type: "textarea", ID: document.ID(numbers), Name: "numbers", Value: l.Numbers, Placeholder: "12 12 14 -", Describes: note}, l.Wrong == "numbers")
	figures.Required = false // a metric of the captures has its own
	form := v.form("compare", "load", s.Target,
		label(document.ID(name), "Load"), wanted(document.Field{ID: document.ID(name), Name: "name", Value: l.Name, Placeholder: "sessions", Describes: note}, l.Wrong == "name"),
		label(document.ID(numbers), "in each snapshot"), figures)
	form.Add(v.send("btn", "Save")...)
	out.Add(form, document.Paragraph{Look: "note", ID: document.ID(note), Text: alerted(l.Error, l.Hint)})
	return out
}

// label names the field with an id.
func label(id document.ID, text string) document.Label {
	return document.Label{For: id, Blocks: document.Blocks{document.Words(text)}}
}

// wanted completes a field that must be filled in. One that was refused gets the cursor.
func wanted(f document.Field, refused bool) document.Field {
	f.Look, f.Autocomplete, f.Required, f.Focus, f.Invalid = "field", "off", true, refused, refused
	return f
}

// alerted returns what is said below a field, behind why its value was refused.
func alerted(refused, hint string) document.Text {
	var out document.Text
	if refused != "" {
		out = append(out, document.Marked(document.Alert, refused), document.Plain(" "))
	}
	return append(out, document.Plain(hint))
}

// said lists what people said, each with the way back.
func (v *Identity) said(rows []SaidRow) document.Blocks {
	if len(rows) == 0 {
		return nil
	}
	list := document.List{Look: "plain-list"}
	for _, r := range rows {
		form := document.Form{Post: true, Action: v.URL("/undo")}
		form.Add(document.Text{document.Marked(document.Strong, r.Text), document.Plain(" " + r.Aside + " ")})
		form.Add(v.undo(r.Number)...)
		list.Items = append(list.Items, document.Item{Blocks: document.Blocks{form}})
	}
	return document.Blocks{list}
}

// editable is a value that opens its form.
func (v *Identity) editable(c *Cell, of string) document.Fold {
	out := document.Fold{Look: "ed", Name: "ed", Open: c.Error != "", Title: c.Source}
	if c.Entry == "" && c.Error == "" {
		out.SummaryLook = document.Muted
	}
	out.Summary = document.Text{document.Marked(document.Hidden, c.Label+" of "+of+": "), document.Plain(c.Text + " "), document.Marked(document.Confidence, c.Confidence)}
	if c.Entered {
		out.Summary = append(out.Summary, document.Plain(" "), document.Marked("by", "entered"))
	}
	hint := c.Hint
	if c.Source != "" {
		hint = strings.TrimSpace(hint + " From: " + c.Source + ".")
	}
	field := document.Field{Look: "field", ID: document.ID(c.ID), Name: "value", Value: c.Entry, Autocomplete: "off", Required: c.Kind != "time", Focus: c.Error != "", Invalid: c.Error != "", Describes: c.ID + "-n"}
	form := document.Form{Look: "box", Post: true, Action: v.URL("")}
	form.Add(document.Hide("kind", c.Kind), label(document.ID(c.ID), c.Label+" of "+of), field, document.Paragraph{ID: document.ID(c.ID + "-n"), Text: alerted(c.Error, hint)})
	if len(c.Scopes) == 1 {
		form.Add(document.Hide("target", c.Scopes[0].Value))
	} else {
		form.Add(document.Select{Name: "target", Label: "What it holds for", Value: c.Scope, Groups: []document.Choices{{List: options(c.Scopes)}}})
	}
	form.Add(v.send("btn", "Save")...)
	out.Add(form)
	return out
}

// options are choices as a select box lists them.
func options(all []Choice) []document.Choice {
	out := make([]document.Choice, len(all))
	for i, c := range all {
		out[i] = document.Choice{Value: c.Value, Text: c.Text}
	}
	return out
}

// moves are the buttons of a snapshot that has no time.
func (v *Identity) moves(r *IdentitySnapshot) document.Blocks {
	var out document.Blocks
	for _, m := range []struct{ place, glyph, words string }{{r.Up, "↑", "Move " + r.Label + " up"}, {r.Down, "↓", "Move " + r.Label + " down"}} {
		if m.place != "" {
			form := v.form("mv", "order", r.From, document.Hide("value", m.place))
			form.Add(v.ownerKey()...)
			form.Add(document.Press{Look: "btn quiet", Text: m.glyph, Label: m.words, Title: m.words})
			out.Add(form)
		}
	}
	return out
}

func (r *IdentitySnapshot) evidence() document.Fold {
	start := document.Text{document.Plain("Start of the process: " + r.Start + " "), document.Marked(document.Confidence, r.StartConfidence)}
	if r.StartSource != "" {
		start = append(start, document.Plain(" "), document.Marked(document.Muted, "("+r.StartSource+")"))
	}
	list := document.List{Look: "plain-list box", Items: []document.Item{{Blocks: document.Blocks{start}}}}
	if r.Later != "" {
		list.Items = append(list.Items, document.Item{Blocks: document.Blocks{document.Words(r.Later)}})
	}
	list.Items = append(list.Items, evidenceItems(r.Files)...)
	return document.Fold{Look: "ed r", Name: "ed", Summary: document.Words(r.Evidence), Blocks: document.Blocks{list}}
}

func evidenceItems(files []EvidenceFile) []document.Item {
	out := make([]document.Item, len(files))
	for i, f := range files {
		text := document.Text{document.Marked("path", f.Path), {Look: document.NewLine}, document.Plain(f.Kind + " "), document.Marked(document.Confidence, f.Confidence), document.Plain(" " + f.Outcome)}
		if f.Reason != "" {
			text = append(text, document.Plain(" "), document.Marked(document.Muted, "("+f.Reason+")"))
		}
		out[i].Add(text)
	}
	return out
}

// more holds what is done with a whole snapshot.
func (v *Identity) more(s *IdentitySeries, r *IdentitySnapshot) document.Fold {
	box := document.Group{Look: "box", Blocks: document.Blocks{v.plainly("leave_out", r.From, "Leave "+r.Label+" out")}}
	if len(s.Others) > 0 {
		box.Add(v.merge(r.From, "Move "+r.Label+" to", s.Others))
	}
	field, note := r.ID+"-s", r.ID+"-sn"
	split := v.form("", "series", r.SplitTarget, label(document.ID(field), "Split from "+r.Label+" on, as"),
		document.Field{Look: "field", ID: document.ID(field), Name: "value", Value: r.SplitValue, Placeholder: "host/program", Autocomplete: "off", Required: true, Describes: note},
		document.Paragraph{ID: document.ID(note), Text: alerted(r.SplitError, r.Label+" and the later ones become a series of their own. Without a host: /program.")})
	split.Add(v.send("btn", "Split")...)
	box.Add(split)
	return document.Fold{
		Look: "ed r", Name: "ed", Open: r.SplitError != "",
		Summary: document.Text{document.Plain("more"), document.Marked(document.Hidden, " about "+r.Label)}, Blocks: document.Blocks{box},
	}
}

func (v *Identity) merge(target, words string, others []Choice) document.Form {
	form := v.form("", "series", target, document.Label{Blocks: document.Blocks{document.Words(words + " "), document.Select{Name: "value", Groups: []document.Choices{{List: options(others)}}}}})
	form.Add(v.send("btn", "Merge")...)
	return form
}

// counted asks what numbers are of.
func (v *Identity) counted(s *IdentitySeries) document.Form {
	var all []Choice
	for _, what := range identity.Countable() {
		all = append(all, Choice{Value: what, Text: what})
	}
	form := v.form("compare", "counts", s.Target, document.Label{Blocks: document.Blocks{document.Words("What do these numbers count? "), document.Select{Name: "value", Groups: []document.Choices{{List: options(all)}}}}})
	form.Add(v.send("btn", "Save")...)
	return form
}

// ourProgram is the press by which a reader says that the code can be changed.
const ourProgram = "This is our program"

// plainly is the form of an edit without a value.
func (v *Identity) plainly(kind, target, words string) document.Form {
	form := v.form("", kind, target)
	form.Add(v.send("btn", words)...)
	return form
}

func (v *Identity) happened() document.Section {
	e := &v.Events
	out := document.Section{Look: "block", Anchor: "happened", ID: "happened-h", Title: document.Words("What happened"), Note: document.Words(e.About)}
	out.Add(v.said(e.Rows)...)
	form := v.form("compare", "event", "case",
		label("event-time", "At"), wanted(document.Field{ID: "event-time", Name: "at", Value: e.At, Placeholder: "2026-11-21 02:58:10", Describes: "event-n"}, e.Wrong == "time"),
		label("event-kind", "kind"), wanted(document.Field{ID: "event-kind", Name: "what", Value: e.Kind, List: "event-kinds", Suggestions: e.Kinds, Placeholder: "deploy", Describes: "event-n"}, e.Wrong == "kind"),
		label("event-text", "what"), wanted(document.Field{ID: "event-text", Name: "text", Value: e.Text, Placeholder: "1.31 on all nodes", Describes: "event-n"}, e.Wrong == "text"))
	form.Add(v.send("btn", "Save")...)
	out.Add(form, document.Paragraph{Look: "note", ID: "event-n", Text: alerted(e.Error, e.Hint+" The kind is one of "+strings.Join(e.Kinds, ", ")+", or a word of your own.")})
	return out
}

func (v *Identity) zone() document.Section {
	field := document.Field{Look: "field", ID: "zone", Name: "value", Value: v.Zone.Value, Required: true, Autocomplete: "off", Focus: v.Zone.Error != "", Describes: "zone-n"}
	form := v.form("compare", "zone", "case", label("zone", "Times without a zone are of"), field)
	form.Add(v.send("btn", "Save")...)
	return document.NewSection("zone-h", "Zone", v.Zone.Text, form,
		document.Paragraph{Look: "note", ID: "zone-n", Text: alerted(v.Zone.Error, "A name such as Europe/Berlin, or an offset such as +02:00. Times that were entered stay as they are.")})
}

func (v *Identity) leftOut() document.Section {
	list := document.List{Look: "plain-list"}
	for _, r := range v.LeftOut {
		form := v.form("", "keep", r.ID, document.Words(r.Text+" "))
		form.Add(v.send("link", "Take back in")...)
		list.Items = append(list.Items, document.Item{Blocks: document.Blocks{form}})
	}
	out := document.NewSection("left-h", "Left out", "These count in no series and no verdict.", list)
	out.Say("note", v.LeftOutNote)
	return out
}

func (v *Identity) history() document.Section {
	out := document.NewSection("edits-h", "Edits", "The latest first; of two about one value the later one holds.")
	if len(v.History) == 0 {
		out.Say("empty", "Nobody has changed anything.")
		return out
	}
	list := document.List{Look: "plain-list", Ordered: true}
	for i := range v.History {
		list.Items = append(list.Items, document.Item{Blocks: document.Blocks{v.edit(&v.History[i])}})
	}
	out.Add(list)
	out.Say("note", v.HistoryNote)
	return out
}

// edit is one edit with the way back, or forward again.
func (v *Identity) edit(h *HistoryRow) document.Form {
	number := strconv.FormatInt(h.Number, 10)
	what := document.Strong
	if h.Undone {
		what = document.Struck
	}
	text := document.Text{document.Plain(number + ". "), document.Marked(what, h.What), document.Plain(" ")}
	if h.Applies != "" {
		text = append(text, document.Plain("("+h.Applies+") "))
	}
	made := h.Made
	if h.Note != "" {
		made += ", “" + h.Note + "”"
	}
	text = append(text, document.Marked(document.Muted, made), document.Plain(" "))
	if h.Unused != "" {
		look := ""
		if h.Lost {
			look = "st bad"
		}
		text = append(text, document.Marked(document.Look(look), "changes nothing: "+h.Unused), document.Plain(" "))
	}
	form := document.Form{Post: true, Action: v.URL("/undo"), Blocks: document.Blocks{text}}
	if !h.Undone {
		form.Add(v.undo(h.Number)...)
		return form
	}
	form.Action = v.URL("")
	form.Add(document.Hide("again", number))
	form.Add(v.ownerKey()...)
	form.Add(document.Words("undone "), document.Press{Look: "link", Text: "Do it again"})
	return form
}
