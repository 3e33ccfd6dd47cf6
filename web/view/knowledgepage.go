package view

import (
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// KnownBoxes are the advice and the known leaks of a finding.
func KnownBoxes(advice []ClassAdvice, known []KnownLeak, note string) document.Blocks {
	var out document.Blocks
	for i := range advice {
		out.Add(advice[i].box())
	}
	if len(known) > 0 || note != "" {
		out.Add(knownBox(note, known))
	}
	return out
}

// knownBox lists known leaks behind a sentence.
func knownBox(note string, known []KnownLeak) document.Group {
	out := document.Group{Look: "box"}
	out.Add(labelled("Known leaks", note))
	for i := range known {
		out.Add(known[i].fold())
	}
	return out
}

// labelled is a sentence behind its word.
func labelled(word, text string) document.Paragraph {
	return document.Paragraph{Text: document.Text{document.Marked(document.Named, word), document.Plain(" " + text)}}
}

const foldedAdvice = "What to do, what to take care of, how to check afterwards, when to report"

// box says first what to check; the rest opens.
func (a *ClassAdvice) box() document.Group {
	cause := document.Text{document.Marked(document.Named, report.WhatItIs), document.Plain(" "), document.LinkTo(a.URL, a.Cause)}
	if a.Seen != "" {
		cause = append(cause, document.Plain(" ("+a.Seen+")"))
	}
	out := document.Group{Look: "box advice"}
	out.Add(document.Paragraph{Text: cause})
	for _, s := range a.Signs {
		out.Paragraph(s)
	}
	if a.FirstCheck != "" {
		out.Add(labelled(report.CheckFirst, a.FirstCheck), document.Fold{Look: "more", Summary: document.Words(foldedAdvice), Rest: true, Blocks: document.Blocks{a.terms(a.LooksLike)}})
	}
	return out
}

// terms is everything of a class but its first check.
func (a *ClassAdvice) terms(looksLike string) document.Terms {
	out := document.Terms{Look: "said"}
	for _, p := range []Pair{{"Looks like", looksLike}, {"Expected", a.Expected}, {"At rest", a.Idle}, {"Stuck", a.Stuck}, {"Versions", a.Corner}} {
		if p.Value != "" {
			out.Rows = append(out.Rows, p.term())
		}
	}
	add := func(name string, blocks document.Blocks) {
		out.Rows = append(out.Rows, document.Term{Name: document.Words(name), Blocks: blocks})
	}
	if len(a.Metrics) > 0 {
		var metrics document.Blocks
		for _, m := range a.Metrics {
			text := ": " + m.Why
			if m.Warning != "" {
				text += "; warning sign: " + m.Warning
			}
			metrics.Add(document.Paragraph{Text: document.Text{document.Marked(document.Literal, m.Name), document.Plain(text)}})
		}
		add("Metrics", metrics)
	}
	for i := range out.Rows {
		out.Rows[i].PageOnly = true // a ticket takes what to do
	}
	var care, validate, upstream document.Blocks
	for _, w := range a.Warnings {
		care.Paragraph(w)
	}
	if len(care) > 0 {
		add(report.TakeCare, care)
	}
	add(report.DoThis, document.Blocks{steps(a.Remedy)})
	for _, s := range a.Validate {
		validate.Paragraph(s)
	}
	add(report.Afterwards, validate)
	upstream.Paragraph("When " + a.UpstreamWhen + ". Attach:")
	upstream.Add(steps(a.Attach))
	add(report.Upstream, upstream)
	for _, c := range a.Corrections {
		row := oftenSaid(c)
		row.PageOnly = true
		out.Rows = append(out.Rows, row)
	}
	return out
}

func oftenSaid(c Pair) document.Term {
	row := document.Term{Name: document.Words("Often said")}
	row.Paragraph("“" + c.Name + "”")
	row.Paragraph(c.Value + ".")
	return row
}

// steps is an ordered list of sentences.
func steps(all []string) document.List {
	out := document.List{Ordered: true}
	for _, s := range all {
		out.Items = append(out.Items, document.Item{Blocks: document.Blocks{document.Words(s)}})
	}
	return out
}

func (k *KnownLeak) fold() document.Fold {
	summary := document.Text{document.Marked(document.Strong, k.ID), document.Plain(" " + k.Title)}
	if k.Status != "leak" {
		summary = append(summary, document.Plain(" "), document.Marked(document.Muted, k.Status))
	}
	if k.Versions != "" {
		summary = append(summary, document.Plain(" "), document.Marked(document.Muted, "("+k.Versions+")"))
	}
	out := document.Fold{Look: "more", Summary: summary}
	out.Add(document.Paragraph{Text: document.Words(k.Text)})
	if k.Compare != "" {
		out.Paragraph(k.Compare + ".")
	}
	out.Add(k.terms()...)
	return out
}

// terms are versions, trigger, remedy and where it is written.
func (k *KnownLeak) terms() document.Blocks {
	said := document.Terms{Look: "said"}
	for _, f := range k.Facts {
		said.Rows = append(said.Rows, f.term())
	}
	if k.Reference != "" {
		link := document.Span{Look: document.Breakable, Text: k.Reference, URL: k.Reference, Link: &document.Link{Rel: "noreferrer"}}
		said.Rows = append(said.Rows, document.Term{Name: document.Words("Reference"), Blocks: document.Blocks{document.Text{link}}})
	}
	if k.Origin != "" {
		said.Rows = append(said.Rows, Pair{"From", k.Origin}.term())
	}
	out := document.Blocks{said}
	if k.URL != "" {
		out.Add(document.Paragraph{Look: "noprint", Text: document.Text{document.LinkTo(k.URL, "Its entry in the catalogue")}})
	}
	return out
}

// contextBlocks stand beside the proofs: thresholds in circulation, and what is healthy,
// folded.
func (c Case) contextBlocks() document.Blocks {
	if len(c.Context) == 0 {
		return nil
	}
	out := document.NewSection("h-ctx", seenWords, seenNote)
	for _, x := range c.Context {
		out.Heading(3, x.Process)
		if len(x.Thresholds) > 0 {
			out.Add(said(x.Thresholds))
		}
		if x.Healthy != "" {
			normal := document.List{Look: "seen"}
			for i := range x.Normal {
				n := &x.Normal[i]
				normal.Items = append(normal.Items, document.Item{Blocks: document.Blocks{n.Name.titleBlock(), document.Paragraph{Look: "note", Text: document.Words(n.Count + ": " + n.Reason)}}})
			}
			// The list is as long as the dump.
			out.Add(document.TextOnly{Blocks: document.Blocks{document.Paragraph{Text: document.Words(x.Healthy)}}}, document.PageOnly{Blocks: document.Blocks{
				document.Fold{Look: "rest", Summary: document.Words(x.Healthy), Blocks: document.Blocks{normal}},
			}})
		}
	}
	return document.Blocks{out}
}

// said lists what is said under names.
func said(pairs []Pair) document.Terms {
	out := document.Terms{Look: "said"}
	for _, p := range pairs {
		out.Rows = append(out.Rows, p.term())
	}
	return out
}

// Blocks returns what the catalogue says of a family.
func (k *FamilyKnowledge) Blocks() document.Blocks {
	if k == nil {
		return nil
	}
	out := document.NewSection("h-known", "What is known of it", "Class, published leaks and normal stacks of the catalogue.")
	for i := range k.Advice {
		out.Add(k.Advice[i].box())
	}
	for _, b := range k.Belongs {
		out.Add(document.Paragraph{Look: document.Muted, Text: document.Text{document.Plain("Belongs to:  "), document.LinkTo(b.URL, b.Text)}})
	}
	if n := k.Normal; n != nil {
		normal := document.Group{Look: "box"}
		normal.Add(document.Paragraph{Text: document.Text{document.Marked(document.Named, "Normal stack"), document.Plain(" "), document.LinkTo(n.URL, n.Library)}})
		normal.Paragraph(n.Reason)
		normal.Paragraph(n.Note)
		out.Add(normal)
	}
	known := knownBox(k.KnownNote, k.Known)
	for i := range k.Alike {
		known.Add(k.Alike[i].fold())
	}
	out.Add(known)
	return document.Blocks{out}
}

// Page is the page of the catalogue.
func (k Knowledge) Page() Page {
	v := Page{Shell: k.Shell}
	v.Body.Title("What is known: causes, published leaks, normal stacks")
	v.Body.Say("lead", "A signature alone accuses nobody: state and growth, or a count above what is expected, must say so too. A proof by identities beats the catalogue.")
	v.Body.Add(k.search())
	note := document.Words(k.Summary + "; catalogue " + k.Version + ".")
	if k.OwnDir != "" {
		note = append(note, document.Plain(" Own entries: put a file of the same schema, named *.json, into "), document.Marked("fn", k.OwnDir),
			document.Plain(". It is read at the next request; an entry with the id of another replaces it."))
	}
	if len(k.Ours) > 0 {
		note = append(note, document.Plain(" Programs of which people said that they are their own: "+wording.Ands(k.Ours)+"."))
	}
	if len(k.Loads) > 0 {
		note = append(note, document.Plain(" Metrics of which people said that they are load: "+wording.Ands(k.Loads)+"."))
	}
	v.Body.Add(document.Paragraph{Look: "note", Text: note})
	if len(k.Problems) > 0 {
		v.Body.Add(document.NewSection("h-kp", "Own files that were not understood", "", problemBlock("", k.Problems)))
	}
	if len(k.Classes) > 0 {
		v.Body.Add(k.classes())
	}
	if len(k.Groups) > 0 {
		v.Body.Add(k.published())
	}
	if len(k.Normal) > 0 {
		v.Body.Add(k.healthy())
	}
	if len(k.Corrections) > 0 {
		often := document.Terms{Look: "said"}
		for _, c := range k.Corrections {
			often.Rows = append(often.Rows, oftenSaid(c))
		}
		v.Body.Add(document.NewSection("h-kx", "Often said, and measured", "", often))
	}
	if len(k.Thresholds) > 0 {
		v.Body.Add(document.NewSection("h-kt", "Rules of thumb", k.ThresholdNote, said(k.Thresholds)))
	}
	if len(k.Classes)+len(k.Groups)+len(k.Normal)+len(k.Corrections)+len(k.Thresholds) == 0 {
		v.Body.Say("empty", "Nothing in the catalogue has all of these words.")
	}
	return v
}

func (k *Knowledge) search() document.Form {
	line := document.Line{Look: "act", Blocks: document.Blocks{
		document.Label{Look: "vh", For: "kq", Blocks: document.Blocks{document.Words("Words to filter by")}},
		document.Field{Look: "field", ID: "kq", Name: "q", Type: "search", Size: "36", Value: k.Query, Placeholder: "Words, for example spdystream or 1.6.36"},
		document.Press{Look: "btn primary", Type: "submit", Text: "Filter"},
	}}
	if k.Query != "" {
		line.Add(document.Text{document.LinkButton("btn", "/knowledge", "Show all")})
	}
	return document.Form{Role: "search", Label: "Catalogue", Action: "/knowledge", Blocks: document.Blocks{line}}
}

func (k *Knowledge) classes() document.Section {
	out := document.NewSection("h-kc", "Classes", "Causes, with the first thing to check.")
	for i := range k.Classes {
		a := &k.Classes[i]
		box := document.Group{Look: "box advice", ID: document.ID("c-" + a.Key)}
		box.Heading(3, a.Cause)
		box.Paragraph(a.LooksLike)
		box.Add(labelled(report.CheckFirst, a.FirstCheck), document.Fold{Look: "more", Summary: document.Words(foldedAdvice), Rest: true, Blocks: document.Blocks{a.terms("")}})
		out.Add(box)
	}
	return out
}

// published are the known leaks with their signatures; a link to the anchor of one opens
// it.
func (k *Knowledge) published() document.Section {
	out := document.NewSection("h-kk", "Known leaks", "By cause; the status says what is no leak.")
	for _, g := range k.Groups {
		out.Heading(3, g.Name)
		for i := range g.Known {
			out.Add(g.Known[i].entry(k.Query != ""))
		}
	}
	return out
}

// entry is a known leak in the catalogue.
func (k *KnownLeak) entry(open bool) document.Fold {
	out := document.Fold{Look: "fold", ID: document.ID("k-" + k.ID), Open: open, Summary: document.Text{document.Marked(document.Strong, k.ID), document.Plain(" " + k.Title + " "), document.Marked(document.Muted, k.Status)}}
	out.Add(document.Paragraph{Look: document.Soft, Text: document.Words(k.Text)})
	out.Add(k.terms()...)
	if k.Edit != "" {
		out.Add(document.Paragraph{Look: "noprint", Text: document.Text{document.LinkTo(k.Edit, "Change or forget this entry")}})
	}
	for _, s := range k.Signature {
		out.Add(document.Paragraph{Text: document.Text{document.Marked(document.Mono, s)}})
	}
	if k.Excerpt != "" {
		out.Add(document.Code{Label: "What " + k.ID + " rests on", Lines: []string{k.Excerpt}})
	}
	return out
}

func (k *Knowledge) healthy() document.Section {
	terms := document.Terms{Look: "said"}
	for _, n := range k.Normal {
		row := document.Term{ID: document.ID("n-" + n.ID), Name: document.Words(n.Library)}
		row.Add(document.Paragraph{Text: document.Words(n.Expected)})
		for _, f := range n.Frames {
			row.Add(document.Paragraph{Text: document.Text{document.Marked(document.Mono, f)}})
		}
		row.Paragraph(n.Note)
		if n.Origin != "" {
			row.Say(document.Muted, "from "+n.Origin)
		}
		terms.Rows = append(terms.Rows, row)
	}
	return document.NewSection("h-kn", "Normal stacks", "Healthy, with the number to expect.", terms)
}
