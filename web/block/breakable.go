package block

import (
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// unbroken is the text of a heading, in whose lines no number ends that has its unit in the next.
func unbroken(t document.Text) document.Text {
	out := make(document.Text, len(t))
	for i, span := range t {
		span.Text, span.Inside = wording.Unbroken(span.Text), unbroken(span.Inside)
		out[i] = span
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// breaking is text with the places to break behind "/" and "|".
func (b markup) breaking(s string) markup {
	from := 0
	for i := range len(s) {
		if s[i] == '/' || s[i] == '|' {
			b = append(chart.AppendText(b, s[from:i+1]), "<wbr>"...)
			from = i + 1
		}
	}
	return chart.AppendText(b, s[from:])
}
