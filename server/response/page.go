package response

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/a-h/templ"

	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/ingest"
	"leakdiff/web/view"
)

// pageBuffers reuses buffers that grew to the size of a page, which saves allocating,
// clearing and copying them.
var pageBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPageBuffer bounds the size of a reused buffer.
const maxPageBuffer = 1 << 20

// PageOf renders a page.
func PageOf(ctx context.Context, c templ.Component) (Content, error) {
	b := pageBuffers.Get().(*bytes.Buffer)
	b.Reset()
	err := c.Render(ctx, b)
	body := bytes.Clone(b.Bytes())
	if b.Cap() <= maxPageBuffer {
		pageBuffers.Put(b)
	}
	return Content{Kind: HTMLType, Body: body}, err
}

// Page writes a page, whole or not at all.
func (s *Responder) Page(w http.ResponseWriter, r *http.Request, status int, c templ.Component) {
	var b bytes.Buffer
	// A broken request body cancels the context, but the sender may still read the answer.
	if err := c.Render(context.WithoutCancel(r.Context()), &b); err != nil {
		id := ErrorID()
		s.log.Error("rendering a page failed", "id", id, "error", err)
		http.Error(w, "error "+id+": the page could not be rendered; the log of the server names it under this id", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", HTMLType)
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

// OfferSharing adds the link that freezes the page at u to its actions.
func OfferSharing(shell *view.Shell, u url.URL, caseID string) {
	q := u.Query()
	if !strings.HasPrefix(u.Path, "/cases/") {
		q.Set("case", caseID)
	}
	u.RawQuery = q.Encode()
	shell.Actions = append(shell.Actions, view.Link{Text: view.Sharing, URL: "/share?view=" + url.QueryEscape(u.RequestURI())})
}

// Engine is the version line in the footer.
func (s *Responder) Engine() string {
	return fmt.Sprintf("leakdiff %s · engine %d · fingerprint g%d", s.cfg.Version, ingest.Engine, family.Version)
}

// Policy allows only what the pages need: no inline script or style, no foreign origin, no
// frame.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
