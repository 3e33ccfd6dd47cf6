package view

import (
	"slices"

	"leakdiff/analysis/say/document"
)

// words are the family as text for a ticket.
func (f *Family) words() document.Document {
	var m document.Document
	m.Heading(1, f.Headline)
	m.Paragraph("Verdict: " + verdictWord(f.Verdict) + ". " + f.Lead)
	for _, e := range f.Evidence {
		m.Item(e.Name + ": " + e.Value)
	}
	m.Gap()
	if f.Triage != nil && f.Triage.Text != "" {
		m.Paragraph("Triage: " + f.Triage.Text)
	}
	head, row := []string{"Snapshot"}, []string{"Members"}
	for i, l := range f.Members.Labels {
		head = append(head, l)
		if i < len(f.Members.Values) {
			row = append(row, atLeast(orDash(f.Members.Values[i]), isLower(f.Members.Lower, i)))
		}
	}
	for _, at := range f.Members.Epochs {
		if at < len(f.Members.Labels) {
			head[at+1] += " (restarted)"
		}
	}
	m.Table(1, head, [][]string{row})
	for _, text := range slices.Concat([]string{f.Onset}, f.Cannot, f.Decides, []string{f.HourNote}) {
		m.Paragraph(text)
	}
	if k := f.Knowledge; k != nil {
		m.Heading(2, "What is known of it")
		for _, b := range k.Belongs {
			m.Paragraph("Belongs to: " + b.Text + ".")
		}
		writeKnown(&m, k.Advice, slices.Concat(k.Known, k.Alike), k.KnownNote)
		if k.Normal != nil {
			m.Paragraph(k.Normal.Reason)
		}
	}
	if f.Unit != nil {
		m.Heading(2, "Unit "+f.Unit.ID)
		m.Paragraph(f.Unit.Text)
		writeShares(&m, f.Unit.Rows)
	}
	if len(f.Holders) > 0 {
		m.Heading(2, "Possible holders of what it waits for")
		writeShares(&m, f.Holders)
	}
	if len(f.Behind) > 0 {
		m.Heading(2, "Who may wait for it")
		writeShares(&m, f.Behind)
	}
	if f.Versions != nil {
		m.Heading(2, "Versions")
		m.Paragraph(f.Versions.Text)
		var rows [][]string
		for _, v := range f.Versions.Rows {
			rows = append(rows, []string{v.Version, v.Rate, v.Exposure, v.Verdict, v.Share})
		}
		m.Table(1, []string{"Version", "Per hour", "Exposure", "Verdict", "First bad"}, rows)
	}
	if len(f.Attributes) > 0 {
		var rows [][]string
		for _, a := range f.Attributes {
			rows = append(rows, []string{a.Name, a.Value})
		}
		m.Table(2, []string{"Attribute", "Value"}, rows)
	}
	if len(f.Watched) > 0 {
		m.Heading(2, "What they watch at "+f.At)
		m.Paragraph(f.WatchedNote)
		var rows [][]string
		for _, w := range f.Watched {
			rows = append(rows, []string{w.What, w.Watches, w.Still, w.Pod})
		}
		m.Table(1, []string{"Target", "Watches", "Still there?", "Pod"}, rows)
	}
	for i, v := range f.Variants {
		if i > 0 {
			break
		}
		m.Heading(2, "Stack ("+v.Count+")")
		m.Add(v.Stack)
	}
	if len(f.Raw) > 0 {
		m.Heading(2, "Raw: "+f.RawTitle)
		lines := make([]string, len(f.Raw))
		for i, l := range f.Raw {
			lines[i] = l.Text
		}
		m.Fence(lines)
	}
	m.Paragraph("Fingerprint: " + f.Fingerprint)
	return m
}
