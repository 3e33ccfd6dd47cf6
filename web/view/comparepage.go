package view

import (
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// moreText says what a list leaves out, and leads to all of it.
func moreText(more, url string) document.Text {
	if url == "" {
		return document.Words(more)
	}
	return document.Text{document.Plain(more + " "), document.LinkTo(url, "Show all")}
}

// inUnit is the name of a family in a table, behind its unit.
func (f *FamilyName) inUnit(unit string) document.Blocks {
	out := make(document.Blocks, 0, 3)
	if unit != "" {
		out.Add(document.Text{document.Marked(document.Chip, unit)})
	}
	return append(out, f.titleBlock(), f.byBlock())
}

// figureSpan is a figure; one with a sign is a change.
func figureSpan(text string, sign int) document.Span {
	switch {
	case sign != 0:
		return document.Span{Look: document.Change, Text: text, Sign: sign}
	case text == "n/a":
		return document.Marked(document.Muted, text)
	}
	return document.Plain(text)
}

// deltaSpan is a difference, n/a where it is not known.
func deltaSpan(n int, known bool) document.Span {
	switch {
	case !known:
		return document.Marked(document.Muted, "n/a")
	case n == 0:
		return document.Marked(document.Change, "0")
	}
	return document.Span{Look: document.Change, Text: wording.Signed(n), Sign: n}
}

// judgedText is a verdict with what a person decided.
func judgedText(verdict, triage string) document.Text {
	out := document.Text{document.Marked(document.Verdict, verdict)}
	if verdict == "" {
		out[0] = document.Marked(document.Muted, "not judged")
	}
	if triage != "" {
		out = append(out, document.Plain(" "), document.Marked(document.Mark, triage))
	}
	return out
}
