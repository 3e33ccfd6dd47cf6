package web

import (
	"context"

	"leakdiff/analysis/say/wording"
)

type outgoingKey struct{}

// Asking says to whom the server of the pages of ctx makes requests of its own, in words;
// empty for nobody.
func Asking(ctx context.Context, to []string) context.Context {
	return context.WithValue(ctx, outgoingKey{}, to)
}

func asked(ctx context.Context) []string {
	to, _ := ctx.Value(outgoingKey{}).([]string)
	return to
}

// Outgoing is the sentence about the requests that the server itself makes.
func Outgoing(ctx context.Context) string { return wording.Outgoing(asked(ctx)) }

// DataGoes says where uploads go.
func DataGoes(ctx context.Context) string { return wording.DataGoes(asked(ctx)) }
