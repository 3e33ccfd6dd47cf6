package page

import (
	"net/http"

	"leakdiff/web/page"
	"leakdiff/web/view"
)

// Retention is GET /retention?case=. It shows what policies of retention would drop now, of all
// cases or of one.
func (s *Service) Retention(w http.ResponseWriter, r *http.Request) {
	caseID := r.URL.Query().Get("case")
	cases, err := s.store.PlanRetention(r.Context(), s.cfg.Keep, caseID)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	in := view.RetentionInput{CaseID: caseID}
	for _, c := range cases {
		if c.CaseID == caseID {
			in.CaseTitle = c.Title
		}
		in.Cases = append(in.Cases, view.RetainedCase{
			ID: c.CaseID, Title: c.Title, KeepMembers: c.Keep.Members, KeepUploads: c.Keep.Uploads,
			Snapshots: c.Snapshots, MemberBytes: c.MemberBytes, Bundles: c.Bundles, UploadBytes: c.UploadBytes,
		})
	}
	v := view.NewRetention(in)
	v.Shell.Engine = s.respond.Engine()
	s.respond.Page(w, r, http.StatusOK, page.HTML(v))
}
