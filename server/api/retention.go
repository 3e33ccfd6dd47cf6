package api

import (
	"net/http"

	"leakdiff/server/response"
	"leakdiff/store"
)

// RetentionAPI is GET /api/v1/retention?case=. It shows what policies of retention would drop
// now, of all cases or of one.
func (s *Service) RetentionAPI(w http.ResponseWriter, r *http.Request) {
	cases, err := s.store.PlanRetention(r.Context(), s.cfg.Keep, r.URL.Query().Get("case"))
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	out := struct {
		Keep  store.Retention      `json:"keep"`
		Cases []store.CaseRetained `json:"cases"`
	}{s.cfg.Keep, append([]store.CaseRetained{}, cases...)}
	response.WriteJSON(w, http.StatusOK, out)
}
