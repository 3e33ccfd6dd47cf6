// Package response turns values into answers: pages, their twins in every form, JSON, and
// refusals as error pages or as problem+json (RFC 9457). It knows no store and no case.
package response

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"leakdiff/web"
)

// Config is common to all answers of a server.
type Config struct {
	Log *slog.Logger
	// Version is printed in the footer of pages.
	Version string
	// BaseURL is the address of the server behind a proxy. If it is empty, links use the
	// host of the request.
	BaseURL string
	// TLS says that the server itself speaks https.
	TLS bool
	// Refused, when set, receives the code of every refusal.
	Refused func(r *http.Request, code string)
}

type Responder struct {
	cfg Config
	log *slog.Logger
}

func New(cfg Config) *Responder { return &Responder{cfg: cfg, log: cfg.Log} }

// pathOf is the path of a base URL without a slash at its end, "" for none.
func pathOf(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.Path, "/")
}

// Path is the path of this server behind a proxy, "" for none.
func (s *Responder) Path() string { return pathOf(s.cfg.BaseURL) }

// Redirect answers a form with the address of a page.
func (s *Responder) Redirect(w http.ResponseWriter, r *http.Request, address string) {
	http.Redirect(w, r, string(web.Link(r.Context(), address)), http.StatusSeeOther)
}

// Scheme returns that of the server's own address.
func (s *Responder) Scheme() string {
	if s.cfg.TLS {
		return "https"
	}
	return "http"
}

// Base is put before a path in links to paste.
func (s *Responder) Base(r *http.Request) string {
	if s.cfg.BaseURL != "" {
		return strings.TrimSuffix(s.cfg.BaseURL, "/")
	}
	return s.Scheme() + "://" + r.Host
}
