package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/ingest"
	"leakdiff/web/view"
)

// render writes a page, whole or not at all.
func (s *Server) render(w http.ResponseWriter, r *http.Request, status int, c templ.Component) {
	var b bytes.Buffer
	// A body that broke off has ended the request's context, and its sender may still read.
	if err := c.Render(context.WithoutCancel(r.Context()), &b); err != nil {
		id := errorID()
		s.log.Error("rendering a page failed", "id", id, "error", err)
		http.Error(w, "error "+id+": the page could not be rendered; the log of the server names it under this id", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", htmlType)
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

// offerSharing adds the way to freeze what the page at u shows to its actions.
func offerSharing(shell *view.Shell, u url.URL, caseID string) {
	q := u.Query()
	if !strings.HasPrefix(u.Path, "/cases/") {
		q.Set("case", caseID)
	}
	u.RawQuery = q.Encode()
	shell.Actions = append(shell.Actions, view.Link{Text: view.Sharing, URL: "/share?view=" + url.QueryEscape(u.RequestURI())})
}

// engine is the footer's line.
func (s *Server) engine() string {
	return fmt.Sprintf("leakdiff %s · engine %d · fingerprint g%d", s.cfg.Version, ingest.Engine, family.Version)
}
