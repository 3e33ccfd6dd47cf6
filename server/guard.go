package server

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"leakdiff/analysis"
	"leakdiff/server/response"
	"leakdiff/web"
)

// guard runs before every handler. It checks Host and origin, sets the headers that keep
// hostile dumps harmless in a browser, and logs the request.
func (s *Server) guard(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.respond.Fail(w, r, response.Refuse("cross_origin", "a request from another site was refused", r.URL.Path, "browsers send such requests on behalf of foreign pages", "open leakdiff's own page and try again"))
	}))
	protected := protection.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", response.Policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "private, no-cache")
		if r.TLS != nil {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		id := response.ErrorID()
		h.Set(response.RequestIDHeader, id)
		r = web.Themed(response.WithRequestID(r, id))
		r = r.WithContext(web.Asking(r.Context(), s.outgoing()))
		lw := &loggedWriter{ResponseWriter: w, began: time.Now()}
		defer s.done(lw, r)
		if !s.allowedHost(r.Host) {
			s.respond.Fail(lw, r, response.Refuse("misdirected", "this server does not answer for that host name", r.Host, "other names can be pointed at a loopback server to read it", "open it as "+s.respond.Scheme()+"://"+s.cfg.Listen+"/ or start it with --host "+hostOnly(r.Host)))
			return
		}
		protected.ServeHTTP(lw, r)
	})
}

// done logs the request without its query and the contents of its path. It turns a panic
// into an error page with an id.
func (s *Server) done(w *loggedWriter, r *http.Request) {
	if v := recover(); v != nil {
		if v == http.ErrAbortHandler {
			panic(v)
		}
		id := response.ErrorID()
		s.cfg.Log.Error("a handler panicked", "id", id, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		if w.status == 0 {
			s.respond.Fail(w, r, &analysis.Fault{Code: "internal", What: "something went wrong inside leakdiff", Where: "error " + id, Hint: "the log of the server names it under this id; your upload is kept"})
		}
	}
	s.cfg.Log.Debug("request", "request", response.RequestID(r), "method", r.Method, "route", s.routeOf(r), "status", w.status, "bytes", w.bytes, "ms", time.Since(w.began).Milliseconds())
}

// routeOf is the first part of a path, if the server has such pages: what else people ask
// for may be a secret that was pasted into the wrong field.
func (s *Server) routeOf(r *http.Request) string {
	if route := response.RouteOf(r); s.known[route] {
		return route
	}
	return "unknown"
}

// firstParts are the first parts of all paths of a router.
func firstParts(routes chi.Routes) map[string]bool {
	known := map[string]bool{}
	_ = chi.Walk(routes, func(_, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		known["/"+first] = true
		return nil
	})
	return known
}

// allowedHost reports whether a request may ask for this host: a loopback literal,
// localhost, the listen address or a name given at start.
func (s *Server) allowedHost(hostport string) bool {
	host := hostOnly(hostport)
	if strings.EqualFold(host, "localhost") {
		return true
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return true
	}
	for _, allowed := range append([]string{s.cfg.Listen}, s.cfg.Hosts...) {
		if u, err := url.Parse(allowed); err == nil && u.Host != "" {
			allowed = u.Host
		}
		if name := hostOnly(allowed); name != "" && strings.EqualFold(host, name) && !unspecified(name) {
			return true
		}
	}
	// A server that listens on every address is reached by each IP literal.
	return unspecified(hostOnly(s.cfg.Listen)) && net.ParseIP(host) != nil
}

func unspecified(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

func hostOnly(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

type loggedWriter struct {
	http.ResponseWriter
	status int
	bytes  int64
	began  time.Time
}

// ready adds Server-Timing: how long the answer took to make. Browsers show it beside the
// time on the network.
func (w *loggedWriter) ready() {
	if w.status == 0 {
		w.Header().Set("Server-Timing", fmt.Sprintf("made;dur=%.3f", time.Since(w.began).Seconds()*1e3))
	}
}

func (w *loggedWriter) WriteHeader(status int) {
	w.ready()
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *loggedWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.ready()
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *loggedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// underPath serves pages below the path of a proxy. Requests come with the path or
// without, as the proxy is configured. Links take the path from the context.
func (s *Server) underPath(next http.Handler) http.Handler {
	path := s.respond.Path()
	if path == "" {
		return next
	}
	stripped := http.StripPrefix(path, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(web.Under(r.Context(), path))
		switch rest, ok := strings.CutPrefix(r.URL.Path, path); {
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
