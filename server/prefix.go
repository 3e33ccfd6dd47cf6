package server

import (
	"context"
	"net/http"
	"strings"

	"leakdiff/web"
)

// under lets pages that are made with ctx link below the path of the proxy.
func (s *Server) under(ctx context.Context) context.Context {
	return web.Under(ctx, s.respond.Path())
}

// underPath serves pages below the path of a proxy: requests may come with it or without.
func (s *Server) underPath(next http.Handler) http.Handler {
	prefix := s.respond.Path()
	if prefix == "" {
		return next
	}
	stripped := http.StripPrefix(prefix, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(s.under(r.Context()))
		switch rest, ok := strings.CutPrefix(r.URL.Path, prefix); {
		case ok && strings.HasPrefix(rest, "/"):
			stripped.ServeHTTP(w, r)
		case ok && rest == "":
			r.URL.Path, r.URL.RawPath = "/", ""
			next.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
