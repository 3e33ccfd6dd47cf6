package block

import (
	"context"

	"leakdiff/analysis/say/document"
	"leakdiff/web"
)

// withheld reports whether a block is left out for readers who may change nothing: a form
// or a button that does, or a fold of nothing else.
func withheld(ctx context.Context, b document.Block) bool {
	return web.AccountOf(ctx).ReadOnly && changes(b)
}

func changes(b document.Block) bool {
	switch x := b.(type) {
	case document.Form:
		return x.Post
	case document.Press:
		return x.Post
	case document.Fold:
		for _, inner := range x.Blocks {
			if !changes(inner) {
				return false
			}
		}
		return len(x.Blocks) > 0
	}
	return false
}
