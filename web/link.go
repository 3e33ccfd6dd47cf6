package web

import (
	"context"
	"strings"

	"github.com/a-h/templ"
)

type pathKey struct{}

// Under says below which path the pages of ctx are reached through a proxy,
// "/tools/leakdiff"; empty for none.
func Under(ctx context.Context, path string) context.Context {
	return context.WithValue(ctx, pathKey{}, path)
}

// Link is the address of a page of this server as a browser asks for it. Other addresses
// stay as they are, unless they are unsafe.
//
//	"/cases/c1"   ->  "/tools/leakdiff/cases/c1"
//	"#top"        ->  "#top"
func Link(ctx context.Context, address string) templ.SafeURL {
	if strings.HasPrefix(address, "/") {
		path, _ := ctx.Value(pathKey{}).(string)
		address = path + address
	}
	return templ.URL(address)
}
