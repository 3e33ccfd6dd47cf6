package block

import (
	"context"

	"leakdiff/analysis/say/document"
	"leakdiff/web"
)

// withheld reports whether a block is left out for readers who may change nothing: a form
// or a button that does, or a part of the page with nothing else below its heading.
func withheld(ctx context.Context, b document.Block) bool {
	return web.AccountOf(ctx).ReadOnly && changes(b)
}

func changes(b document.Block) bool {
	switch x := b.(type) {
	case document.Form:
		return x.Post && !x.Always
	case document.Press:
		return x.Post
	case document.Fold:
		return x.Changes || onlyChanges(x.Blocks)
	case document.Group:
		return onlyChanges(x.Blocks)
	case document.Section:
		return x.Changes || onlyChanges(x.Blocks)
	}
	return false
}

func onlyChanges(all document.Blocks) bool {
	for _, inner := range all {
		if !changes(inner) {
			return false
		}
	}
	return len(all) > 0
}
