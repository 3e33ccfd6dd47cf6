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
	// policy replaces the content security policy of the pages, file is the name to
	// save it under, saved says that browsers save it and do not show it.
	policy, file string
	saved        bool
}

// headers says what the body is.
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

// Write answers what is not kept.
func (d Content) Write(w http.ResponseWriter) {
	d.headers(w.Header())
	w.Write(d.Body)
}

// StrongTag names a body by a hash of it: the state that it was made of says less,
// since another binary writes other pages of the same state. It is the same after a
// restart, which costs a browser nothing then. Who may write a case could make two
// pages of one tag, and would see his own older one.
func StrongTag(body []byte) string {
	return fmt.Sprintf(`"%016x-%x"`, xxhash.Sum64(body), len(body))
}

// Tagged answers under a tag of the body.
func (d Content) Tagged(w http.ResponseWriter, r *http.Request) { d.Serve(w, r, StrongTag(d.Body)) }

// Serve answers with the content, or that whoever asks has it already under this tag.
func (d Content) Serve(w http.ResponseWriter, r *http.Request, etag string) {
	h := w.Header()
	h.Set("ETag", etag)
	d.headers(h)
	// ServeContent answers If-None-Match, ranges and HEAD.
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(d.Body))
}
