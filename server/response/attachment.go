package response

import (
	"io"
	"net/http"
	"net/url"
	"strings"

	"leakdiff/analysis/say/wording"
)

// AsAttachment makes raw bytes harmless: plain text, never sniffed, saved instead of
// shown.
func AsAttachment(w http.ResponseWriter, name string) {
	name = SafeName(name)
	name = name[strings.LastIndexByte(name, '/')+1:]
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Disposition", `attachment; filename*=UTF-8''`+url.PathEscape(name))
}

// Send copies a body to the client. If the body fails, it breaks the connection: an answer
// that only ends early would look complete.
func Send(w http.ResponseWriter, body io.Reader) {
	if _, err := io.Copy(w, body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// SafeName is a display name with slashes, without empty, "." or ".." elements and control
// characters, and bounded. It is never the name of a file on disk.
func SafeName(name string) string {
	name = wording.Printable(strings.ReplaceAll(name, `\`, "/"))
	var keep []string
	for _, e := range strings.Split(name, "/") {
		if e != "" && e != "." && e != ".." {
			keep = append(keep, e)
		}
	}
	name = strings.Join(keep, "/")
	if len(name) > 400 {
		name = strings.ToValidUTF8(name[len(name)-400:], "")
	}
	if name == "" {
		return "upload"
	}
	return name
}
