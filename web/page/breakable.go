package page

import (
	"context"

	"github.com/a-h/templ"

	"leakdiff/web/chart"
	"leakdiff/web/view"
)

// breakable prints text that may break behind "/" and "|", where browsers do not
// break by themselves: "IN_CREATE|IN_DELETE" gives "IN_CREATE|<wbr>IN_DELETE". It
// is written in Go because a template would put spaces between the pieces.
func breakable(text string) templ.Component {
	return pieced(2*len(text)+16, func(_ context.Context, b markup) markup { return b.breaking(text) })
}

// pathAndName prints both parts of a name, of which the page may cut the path.
func pathAndName(f view.Func) templ.Component {
	return pieced(256, func(_ context.Context, b markup) markup { return b.pathAndName(&f) })
}

// breaking is text with the places to break.
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
