package response

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Content is one answer of a handler: its content type and body.
type Content struct {
	Kind string
	Body []byte
	// policy replaces the content security policy of pages. file is the name to save the
	// answer under. With saved, browsers save it and do not show it.
	policy, file string
	saved        bool
}

// headers sets the headers that describe the body.
func (d Content) headers(h http.Header) {
	h.Set("Content-Type", d.Kind)
	if d.policy != "" {
		h.Set("Content-Security-Policy", d.policy)
	}
	if d.file != "" {
		how := "inline"
		if d.saved {
			how = "attachment"
		}
		h.Set("Content-Disposition", how+`; filename="`+d.file+`"`)
	}
}

// Write answers without an ETag.
func (d Content) Write(w http.ResponseWriter) {
	d.headers(w.Header())
	w.Write(d.Body)
}

// StrongTag is a hash of the body. The state of a case is no substitute: another build
// makes other pages of the same state. A hash survives restarts, so browsers keep their
// copies. Two pages with one hash could be made by somebody who may write the case, and
// only they would see the older one.
func StrongTag(body []byte) string {
	return fmt.Sprintf(`"%016x-%x"`, xxhash.Sum64(body), len(body))
}

// Tagged answers with a hash of the body as ETag.
func (d Content) Tagged(w http.ResponseWriter, r *http.Request) { d.Serve(w, r, StrongTag(d.Body)) }

// Serve answers with the content, or with 304 if the client has it under this ETag.
func (d Content) Serve(w http.ResponseWriter, r *http.Request, etag string) {
	h := w.Header()
	h.Set("ETag", etag)
	d.headers(h)
	// ServeContent answers If-None-Match, ranges and HEAD.
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(d.Body))
}
