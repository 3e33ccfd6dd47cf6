package page

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"

	"leakdiff/web/view"
)

// breakable prints text that may break behind "/" and "|", where browsers do not
// break by themselves: "IN_CREATE|IN_DELETE" gives "IN_CREATE|<wbr>IN_DELETE". It
// is written in Go because a template would put spaces between the pieces.
func breakable(text string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, withBreaks(text))
		return err
	})
}

// pathAndName prints both parts of a name, of which the page may cut the path.
func pathAndName(f view.Func) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		html := `<span class="n">` + withBreaks(f.Name) + "</span>"
		if f.Path != "" {
			html = `<span class="p">` + withBreaks(f.Path) + "</span>" + html
		}
		_, err := io.WriteString(w, html)
		return err
	})
}

var breaks = strings.NewReplacer("/", "/<wbr>", "|", "|<wbr>")

// withBreaks escapes text and adds the places to break. Escapes hold neither of
// the two characters.
func withBreaks(text string) string {
	return breaks.Replace(templ.EscapeString(text))
}
