// Package page writes HTML: each page takes one view model and prints it inside
// the layout. It decides elements, names for assistive technology and order; it
// refuses to format values, to know domain types, and to contain a script or a
// style.
package page

import (
	"context"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"leakdiff/web"
	"leakdiff/web/block"
	"leakdiff/web/view"
)

// StandalonePolicy is the content security policy of a page in one file: its own
// style by its hash, and nothing else from anywhere.
func StandalonePolicy() string {
	return "default-src 'none'; style-src " + web.StyleHash() + "; base-uri 'none'; form-action 'none'"
}

// Alone marks the rendering of a page in one file, which leads nowhere: addresses are
// printed as text.
func Alone(ctx context.Context) context.Context { return block.Alone(ctx) }

// writes reports whether the reader of a page may use forms that change something.
func writes(ctx context.Context) bool { return !web.AccountOf(ctx).ReadOnly }

type addressKey struct{}

// At says under which address the page is rendered, "https://host/cases/c1": paper tells
// it, since nobody can click there.
func At(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, addressKey{}, address)
}

// printedLine returns what paper begins with: the address, who computed the page and when
// what it shows was captured.
func printedLine(ctx context.Context, shell view.Shell) string {
	address, _ := ctx.Value(addressKey{}).(string)
	parts := []string{view.Visible(address), shell.Engine}
	if shell.Captured != "" {
		parts = append(parts, "captured "+shell.Captured)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// inlineStyle holds the style of all pages, which is ours and has no end tag inside.
func inlineStyle() templ.Component { return templ.Raw("<style>" + web.Style() + "</style>") }
