package view

import (
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
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
	out.Add(k.terms())
	if k.URL != "" {
		out.Add(document.Paragraph{Look: "noprint", Text: document.Text{document.LinkTo(k.URL, "Its entry in the catalogue")}})
	}
	return out
}

// terms are versions, trigger, remedy and where it is written.
func (k *KnownLeak) terms() document.Terms {
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
	return said
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
