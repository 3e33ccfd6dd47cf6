package page

import (
	"context"
	"io"

	"github.com/a-h/templ"

	"leakdiff/analysis/say/document"
	"leakdiff/web/block"
	"leakdiff/web/view"
)

// HTML prints a page.
func HTML(v view.Page) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		ctx = block.Pictures(ctx, v.Shell.Pictures)
		return Layout(v.Shell).Render(templ.WithChildren(ctx, block.Blocks(v.Body.Blocks)), w)
	})
}

// Keep writes what a page says, to be read again by Kept.
func Keep(body document.Document) ([]byte, error) { return block.Keep(body) }

// Kept reads what Keep wrote. It returns an error for everything else.
func Kept(text []byte) (document.Document, error) { return block.Kept(text) }
