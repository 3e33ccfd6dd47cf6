package server

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"leakdiff/web"
)

// pathOf is the path under which people reach the server through a proxy, without a
// slash at its end; empty for none.
func pathOf(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.Path, "/")
}

// path is that path for this server.
func (s *Server) path() string { return pathOf(s.cfg.BaseURL) }

// under lets pages that are made with ctx link below the path of the proxy.
func (s *Server) under(ctx context.Context) context.Context {
	return web.Under(ctx, s.path())
}

// underPath serves pages below the path of a proxy: requests may come with it or without.
func (s *Server) underPath(next http.Handler) http.Handler {
	prefix := s.path()
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

// redirect answers a form with the address of a page.
func (s *Server) redirect(w http.ResponseWriter, r *http.Request, address string) {
	http.Redirect(w, r, string(web.Link(r.Context(), address)), http.StatusSeeOther)
}
