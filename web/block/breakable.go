package block

import "leakdiff/web/chart"

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
