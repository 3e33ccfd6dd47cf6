package api

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"leakdiff/analysis"
	"leakdiff/server/page"
	"leakdiff/server/response"
	"leakdiff/store"
)

// CaseListed is a case in a list.
type CaseListed struct {
	ID        string           `json:"id"`
	Title     string           `json:"title"`
	Link      string           `json:"link"`
	URL       string           `json:"url"`
	Ticket    string           `json:"ticket"`
	Archived  bool             `json:"archived"`
	CreatedAt time.Time        `json:"created_at"`
	UpdatedAt time.Time        `json:"updated_at"`
	Headline  string           `json:"headline"`
	Verdict   analysis.Verdict `json:"verdict"`
	Bundles   int              `json:"bundles"`
	Snapshots int              `json:"snapshots"`
}

func (s *Service) listedCase(r *http.Request, c store.CountedCase) CaseListed {
	link := "/cases/" + c.ID
	return CaseListed{
		ID: c.ID, Title: c.Title, Link: link, URL: s.respond.Base(r) + link, Ticket: c.Ticket, Archived: c.Archived, CreatedAt: c.Created, UpdatedAt: c.Updated,
		Headline: c.Headline, Verdict: analysis.Verdict(c.Verdict), Bundles: c.Bundles, Snapshots: c.Snapshots,
	}
}

// CasesAPI is GET /api/v1/cases, with the parameters of the list on the start page. Every
// page but the last has the address of the next one, in the body and as Link.
func (s *Service) CasesAPI(w http.ResponseWriter, r *http.Request) {
	choice, q, err := page.CaseChoice(r.URL.Query())
	if err == nil {
		err = response.KnownVerdict(choice.Verdict)
	}
	if err == nil {
		q.Limit, err = response.LimitOf(r.URL.Query())
	}
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	q.Offset = (choice.Page - 1) * q.Limit
	cases, total, err := s.store.Cases(r.Context(), q)
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	out := struct {
		Cases []CaseListed `json:"cases"`
		Total int          `json:"total"`
		Page  int          `json:"page"`
		Next  string       `json:"next,omitempty"`
	}{Cases: []CaseListed{}, Total: total, Page: choice.Page}
	for _, c := range cases {
		out.Cases = append(out.Cases, s.listedCase(r, c))
	}
	if q.Offset+len(cases) < total && len(cases) > 0 {
		out.Next = s.respond.NextPage(w, r, choice.Page)
	}
	s.respond.ListJSON(w, r, out)
}

// BundlesAPI is GET /api/v1/cases/{id}/bundles.
func (s *Service) BundlesAPI(w http.ResponseWriter, r *http.Request) {
	c, err := s.store.Case(r.Context(), response.PathValue(r, "id"))
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	bundles, err := s.store.Bundles(r.Context(), c.ID)
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	type file struct {
		Name   string `json:"name"`
		SHA256 string `json:"sha256"`
		Size   int64  `json:"size"`
	}
	type bundle struct {
		ID        string       `json:"id"`
		Name      string       `json:"name"`
		Status    store.Status `json:"status"`
		CreatedAt time.Time    `json:"created_at"`
		Size      int64        `json:"size"`
		Unpacked  int64        `json:"unpacked"`
		Engine    int          `json:"engine"`
		Snapshots int          `json:"snapshots"`
		Problems  int          `json:"problems"`
		Files     []file       `json:"files"`
		// DroppedAt is when the bytes of the files were dropped.
		DroppedAt *time.Time `json:"dropped_at"`
	}
	out := []bundle{}
	for _, b := range bundles {
		x := bundle{b.ID, b.Name, b.Status, b.Created, b.Size, b.Unpacked, b.Engine, b.Snapshots, b.Problems, []file{}, nil}
		if !b.Dropped.IsZero() {
			x.DroppedAt = &b.Dropped
		}
		for _, f := range b.Files {
			x.Files = append(x.Files, file{f.Name, f.SHA256, f.Size})
		}
		out = append(out, x)
	}
	s.respond.ListJSON(w, r, map[string]any{"case": c.ID, "bundles": out})
}

// InventoryAPI is GET /api/v1/bundles/{id}/inventory. It lists every file with its kind,
// the reason for the kind and its reading status, and every problem.
func (s *Service) InventoryAPI(w http.ResponseWriter, r *http.Request) {
	id := response.PathValue(r, "id")
	if _, err := s.store.Bundle(r.Context(), id); err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	artifacts, err := s.store.Artifacts(r.Context(), id)
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	problems, err := s.store.Problems(r.Context(), id)
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	s.respond.ListJSON(w, r, map[string]any{"bundle": id, "artifacts": append([]analysis.Artifact{}, artifacts...), "problems": append([]analysis.Problem{}, problems...)})
}

// SearchAPI is GET /api/v1/search?q=&limit=&page=. A page has up to limit results of each
// kind.
func (s *Service) SearchAPI(w http.ResponseWriter, r *http.Request) {
	query := strings.TrimSpace(r.URL.Query().Get("q"))
	limit, err := response.LimitOf(r.URL.Query())
	page, pageErr := response.PageOfList(r.URL.Query())
	if err = cmp.Or(err, pageErr); err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	if query == "" {
		s.respond.FailAPI(w, r, response.Refuse("bad_request", "nothing is searched for", "q", "the parameter is missing or empty", "send ?q=prober"))
		return
	}
	// One result more than the limit shows that there is another page.
	found, err := s.store.SearchFunctions(r.Context(), query, s.cfg.Pages.Aliases, limit+1, (page-1)*limit)
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	more := max(len(found.Families), len(found.Processes), len(found.Cases)) > limit
	found.Families, found.Processes, found.Cases = found.Families[:min(len(found.Families), limit)], found.Processes[:min(len(found.Processes), limit)], found.Cases[:min(len(found.Cases), limit)]
	type family struct {
		Fingerprint string        `json:"fingerprint"`
		Kind        analysis.Kind `json:"kind"`
		Title       string        `json:"title"`
		Cases       int           `json:"cases"`
		Snapshots   int           `json:"snapshots"`
		Highest     int           `json:"highest"`
		LastSeen    *time.Time    `json:"last_seen"`
	}
	type process struct {
		Host      string `json:"host"`
		Process   string `json:"process"`
		Cases     int    `json:"cases"`
		Snapshots int    `json:"snapshots"`
	}
	families, processes, cases := []family{}, []process{}, []CaseListed{}
	for _, f := range found.Families {
		x := family{f.Family.Fingerprint, f.Family.Kind, f.Family.Title, f.Cases, f.Snapshots, f.Highest, nil}
		if !f.LastSeen.IsZero() {
			x.LastSeen = &f.LastSeen
		}
		families = append(families, x)
	}
	for _, p := range found.Processes {
		processes = append(processes, process{p.Host, p.Name, p.Cases, p.Snapshots})
	}
	for _, c := range found.Cases {
		cases = append(cases, s.listedCase(r, c))
	}
	out := map[string]any{"query": query, "page": page, "families": families, "processes": processes, "cases": cases}
	if more {
		out["next"] = s.respond.NextPage(w, r, page)
	}
	s.respond.ListJSON(w, r, out)
}

// TwinAPI answers with the JSON twin of a page: the same bytes, the same ETag.
func TwinAPI(root http.Handler, page string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		inner := r.Clone(context.WithValue(r.Context(), chi.RouteCtxKey, nil))
		inner.URL.Path, inner.URL.RawPath = page+response.PathValue(r, "id")+".json", ""
		root.ServeHTTP(w, inner)
	}
}
