package page

import (
	"bytes"
	"net/http"
	"time"

	"leakdiff/server/response"
)

// CollectScript serves the shell script that captures a process on a node:
//
//	curl -s SERVER/collect.sh | sh -s -- --pid 4711 -o capture.tar.gz
func (s *Service) CollectScript(w http.ResponseWriter, r *http.Request) {
	if len(s.cfg.Script) == 0 {
		s.respond.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/x-shellscript; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", response.StrongTag(s.cfg.Script))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.cfg.Script))
}
