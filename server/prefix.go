package server

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
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

// underPath serves pages below a path of a proxy: requests may come with it or without,
// and the addresses in pages and redirects get it. Our templates write every address in
// double quotes and escape quotes in all other text, so that these attributes are ours.
func underPath(prefix string, next http.Handler) http.Handler {
	if prefix == "" {
		return next
	}
	attributes := strings.NewReplacer(
		` href="/`, ` href="`+prefix+`/`, ` src="/`, ` src="`+prefix+`/`, ` action="/`, ` action="`+prefix+`/`, ` formaction="/`, ` formaction="`+prefix+`/`,
		` data-copy-url="/`, ` data-copy-url="`+prefix+`/`, ` data-poll="/`, ` data-poll="`+prefix+`/`, ` data-events="/`, ` data-events="`+prefix+`/`, ` data-to="/`, ` data-to="`+prefix+`/`, ` data-api="/`, ` data-api="`+prefix+`/`,
	)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, ok := strings.CutPrefix(r.URL.Path, prefix); ok && (rest == "" || rest[0] == '/') {
			inner := r.Clone(r.Context())
			inner.URL.Path, inner.URL.RawPath = "/"+strings.TrimPrefix(rest, "/"), strings.TrimPrefix(r.URL.RawPath, prefix)
			r = inner
		}
		out := &prefixed{ResponseWriter: w, prefix: prefix}
		next.ServeHTTP(out, r)
		out.finish(attributes)
	})
}

// prefixed holds a page back until it is whole; everything else passes.
type prefixed struct {
	http.ResponseWriter
	prefix string
	begun  bool
	page   *bytes.Buffer
	status int
}

func (p *prefixed) WriteHeader(status int) {
	if p.begun {
		return
	}
	p.begun, p.status = true, status
	h := p.Header()
	if to := h.Get("Location"); strings.HasPrefix(to, "/") {
		h.Set("Location", p.prefix+to)
	}
	if to := h.Get("Link"); strings.HasPrefix(to, "</") {
		h.Set("Link", "<"+p.prefix+to[1:])
	}
	if strings.HasPrefix(h.Get("Content-Type"), "text/html") {
		h.Del("Content-Length")
		p.page = &bytes.Buffer{}
		return
	}
	p.ResponseWriter.WriteHeader(status)
}

func (p *prefixed) Write(b []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	if p.page != nil {
		return p.page.Write(b)
	}
	return p.ResponseWriter.Write(b)
}

// Unwrap lets events be flushed.
func (p *prefixed) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *prefixed) finish(attributes *strings.Replacer) {
	if p.page == nil {
		return
	}
	p.ResponseWriter.WriteHeader(p.status)
	attributes.WriteString(p.ResponseWriter, p.page.String())
}
