package casepage

import (
	"net/http"

	"leakdiff/server/response"
)

// show answers with what make returns, with a hash of its bytes as ETag.
func (s *Service) show(w http.ResponseWriter, r *http.Request, make func() (response.Content, error)) {
	made, err := make()
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	made.Tagged(w, r)
}
