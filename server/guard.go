package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/store/blob"
)

// policy allows what the pages need and nothing else: no inline script or style,
// no foreign origin, no frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard stands before every handler: the Host check, the cross-origin check,
// the headers that keep hostile dumps harmless in a browser, and the log.
func (s *Server) guard(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, refuse("cross_origin", "a request from another site was refused", r.URL.Path, "browsers send such requests on behalf of foreign pages", "open leakdiff's own page and try again"))
	}))
	protected := protection.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "private, no-cache")
		id := errorID()
		h.Set(requestIDHeader, id)
		r = withRequestID(r, id)
		lw := &loggedWriter{ResponseWriter: w, began: time.Now()}
		defer s.done(lw, r)
		if !s.allowedHost(r.Host) {
			s.fail(lw, r, refuse("misdirected", "this server does not answer for that host name", r.Host, "other names can be pointed at a loopback server to read it", "open it as http://"+s.cfg.Listen+"/ or start it with --host "+hostOnly(r.Host)))
			return
		}
		protected.ServeHTTP(lw, r)
	})
}

// done logs the request without query and path contents, and turns a panic into
// an error page with an id.
func (s *Server) done(w *loggedWriter, r *http.Request) {
	if v := recover(); v != nil {
		if v == http.ErrAbortHandler {
			panic(v)
		}
		id := errorID()
		s.log.Error("a handler panicked", "id", id, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		if w.status == 0 {
			s.fail(w, r, &analysis.Fault{Code: "internal", What: "something went wrong inside leakdiff", Where: "error " + id, Hint: "the log of the server names it under this id; your upload is kept"})
		}
	}
	s.log.Debug("request", "request", requestID(r), "method", r.Method, "route", routeOf(r), "status", w.status, "bytes", w.bytes, "ms", time.Since(w.began).Milliseconds())
}

// requestIDHeader tells a sender the id under which the log speaks of the request.
const requestIDHeader = "X-Request-Id"

type requestIDKey struct{}

func withRequestID(r *http.Request, id string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id))
}

// requestID is the id under which the log speaks of the request.
func requestID(r *http.Request) string {
	id, _ := r.Context().Value(requestIDKey{}).(string)
	return id
}

// by says in a line of the log which request did something, and what allowed it: the
// owner's key, which is never told, or that only this machine reaches the server.
func by(r *http.Request, role string) []any {
	allowed := "owner key"
	if role != ownerRole {
		allowed = "loopback, no key"
	}
	return []any{"request", requestID(r), "method", r.Method, "route", routeOf(r), "remote", r.RemoteAddr, "allowed_by", allowed}
}

// routeOf is the first element of a path: enough for a log, without names.
func routeOf(r *http.Request) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return "/" + first
}

// allowedHost reports whether a request may ask for this host: a loopback
// literal, localhost, the listen address or a name given at start.
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
	// A server that listens on every address is asked by each of its literals.
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

// ready says how long the answer took to make (Server-Timing, which browsers show
// beside the time on the way).
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

func errorID() string {
	b := make([]byte, 6)
	rand.Read(b)
	return hex.EncodeToString(b)
}

func isNotFound(err error) bool {
	var f *analysis.Fault
	return errors.As(err, &f) && f.Code == "not_found"
}

// statuses are the HTTP statuses of refusals by code; a code that is not here is
// our own failure.
var statuses = map[string]int{
	"misdirected":     http.StatusMisdirectedRequest,
	"cross_origin":    http.StatusForbidden,
	"forbidden":       http.StatusForbidden,
	"not_found":       http.StatusNotFound,
	"gone":            http.StatusGone,
	"too_large":       http.StatusRequestEntityTooLarge,
	"disk_full":       http.StatusInsufficientStorage,
	"bad_request":     http.StatusBadRequest,
	"empty":           http.StatusBadRequest,
	"unreadable":      http.StatusUnprocessableEntity,
	"conflict":        http.StatusConflict,
	"busy":            http.StatusServiceUnavailable,
	"missing_blob":    http.StatusServiceUnavailable,
	"still_reading":   http.StatusConflict,
	"interrupted":     http.StatusBadRequest,
	"method":          http.StatusMethodNotAllowed,
	"too_many":        http.StatusTooManyRequests,
	"invalid":         http.StatusBadRequest,
	"cancelled":       http.StatusConflict,
	"mismatched_body": http.StatusUnprocessableEntity,
	blob.Damaged:      http.StatusInternalServerError,
}

// fault makes a refusal of any error; what is not one already is our own
// failure, which is logged under an id and shown without its inside.
func (s *Server) fault(err error) (*analysis.Fault, int) {
	var f *analysis.Fault
	if errors.As(err, &f) {
		if status, ok := statuses[f.Code]; ok {
			return f, status
		}
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return refuse("too_large", "the request is too large", "", fmt.Sprintf("the limit is %d bytes", tooLarge.Limit), "send less at once"), http.StatusRequestEntityTooLarge
	}
	if errors.Is(err, context.Canceled) {
		// The sender has left, or the server ends: nobody reads this, and nothing is wrong.
		return refuse("interrupted", "the request stopped before its end", "", "the connection was closed", "send it again"), statuses["interrupted"]
	}
	id := errorID()
	s.log.Error("request failed", "id", id, "error", err)
	return &analysis.Fault{Code: "internal", What: "something went wrong inside leakdiff", Where: "error " + id, Hint: "the log of the server names it under this id; nothing that was uploaded is lost"}, http.StatusInternalServerError
}
