// Package response turns values into answers: a page, its twins in every form, JSON, and
// refusals as an error page or as problem+json (RFC 9457). It knows no store and no case.
package response

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"leakdiff/web"
)

// Config says what every answer of a server has in common.
type Config struct {
	Log *slog.Logger
	// Version is printed in the footer of pages.
	Version string
	// BaseURL is how people reach the server through a proxy; empty means the host that
	// they asked for.
	BaseURL string
}

// Responder answers requests.
type Responder struct {
	cfg Config
	log *slog.Logger
}

// New makes a responder.
func New(cfg Config) *Responder { return &Responder{cfg: cfg, log: cfg.Log} }

// pathOf is the path under which people reach the server through a proxy, without a
// slash at its end; empty for none.
func pathOf(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.Path, "/")
}

// Path is the path under which people reach this server, empty for none.
func (s *Responder) Path() string { return pathOf(s.cfg.BaseURL) }

// Redirect answers a form with the address of a page.
func (s *Responder) Redirect(w http.ResponseWriter, r *http.Request, address string) {
	http.Redirect(w, r, string(web.Link(r.Context(), address)), http.StatusSeeOther)
}

// Base is the address to put before a path in what people paste elsewhere.
func (s *Responder) Base(r *http.Request) string {
	if s.cfg.BaseURL != "" {
		return strings.TrimSuffix(s.cfg.BaseURL, "/")
	}
	return "http://" + r.Host
}
