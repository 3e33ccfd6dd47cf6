package server

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"leakdiff/server/api"
	"leakdiff/server/loader"
	"leakdiff/server/mcp"
	pages "leakdiff/server/page"
	"leakdiff/server/response"
	"leakdiff/web"
)

// routes lists every URL of the server, and rules who may use each. A page has twins with
// the suffixes .md, .jira, .txt, .html, .csv, .json and .svg, redacted with ?redact=1.
// Snapshots and comparisons .folded and .pb.gz.
func (s *Server) routes() chi.Router {
	r := chi.NewRouter()
	r.NotFound(s.respond.NotFound)
	r.MethodNotAllowed(s.respond.MethodNotAllowed)
	r.Use(loader.PerRequest)

	root := r
	r.Group(func(r chi.Router) {
		r.Use(s.check)
		s.pageRoutes(r)
	})
	r.Group(func(r chi.Router) {
		r.Use(s.api.LimitRate(), s.check)
		s.apiRoutes(r, root)
	})
	r.Group(func(r chi.Router) {
		r.Use(s.limitLogins(), s.check)
		r.Post("/login", s.account.Login)
	})
	return r
}

// pageRoutes are those of browsers.
func (s *Server) pageRoutes(r chi.Router) {
	r.Get("/", s.pages.Home)
	r.Post("/upload", s.stop.Uploads(s.intake.Upload))
	r.Post("/samples/{name}", s.intake.TrySample)
	r.Get("/search", s.pages.Search)
	r.Get("/fleet", s.pages.Fleet)
	for _, suffix := range pages.FleetSuffixes {
		r.Get("/fleet"+suffix, s.pages.Fleet)
	}
	r.Get("/fleet/{fingerprint}", s.pages.FleetFamily)
	r.Get("/server", s.pages.Server)
	r.Get("/retention", s.pages.ToServer("retention"))
	r.Get("/help", s.pages.Help)
	r.Get("/api", s.pages.APIPage)
	r.Get("/knowledge", s.pages.KnowledgePage)
	r.Get("/knowledge.json", s.pages.KnowledgeJSON)
	r.Get("/knowledge/schema.json", s.pages.KnowledgeSchema)

	r.Get("/cases/{id}", s.share.OrRedacted(s.cases.Page))
	r.Get("/cases/{id}/identity", s.cases.IdentityPage)
	r.Get("/cases/{id}/identity.json", s.cases.EditsAPI)
	r.Post("/cases/{id}/identity", s.cases.EditForm)
	r.Post("/cases/{id}/identity/undo", s.cases.UndoForm)
	r.Post("/cases/{id}/baseline", s.cases.ChooseBaseline)
	r.Post("/cases/{id}/fields", s.cases.FieldForm)
	r.Post("/cases/{id}/triage", s.cases.TriageForm)
	r.Post("/cases/{id}/delete", s.cases.DeleteCase)

	r.Get("/bundles/{id}", s.intake.BundlePage)
	r.Get("/bundles/{id}/events", s.intake.BundleEvents)
	r.Get("/bundles/{id}/files/{sha}", s.intake.BundleFile)
	r.Post("/bundles/{id}/cancel", s.intake.CancelBundle)
	r.Post("/bundles/{id}/remove", s.intake.RemoveBundle)
	r.Post("/bundles/{id}/read", s.intake.ReadAgain)
	r.Post("/bundles/{id}/kind", s.intake.KindForm)

	r.Get("/snapshots/{id}", s.share.OrRedacted(s.cases.Page))
	r.Get("/snapshots/{id}/pprof", s.toFlame)
	r.Get("/diff-pick", s.cases.PickDiff)
	r.Get("/diff/{pair}", s.share.OrRedacted(s.cases.Page))
	r.Get("/diff-other", s.cases.ElsewherePage)
	r.Get("/compare", s.cases.Page)
	for _, suffix := range response.Suffixes {
		if !strings.HasPrefix(suffix, ".ticket") && suffix != ".svg" && suffix != ".folded" && suffix != ".pb.gz" { // the page is no case and has no charts and no stacks
			r.Get("/compare"+suffix, s.share.OrRedacted(s.cases.Page))
		}
	}
	r.Get("/snapshots/{id}/{page}", s.share.OrRedacted(s.cases.Page))
	r.Get("/diff/{pair}/pprof", s.toFlame)
	r.Get("/diff/{pair}/{page}", s.share.OrRedacted(s.cases.Page))
	r.Get("/families/{fingerprint}", s.share.OrRedacted(s.cases.Page))
	r.Get("/members/{id}", s.share.OrRedacted(s.cases.Page))
	r.Get("/objects/{id}", s.share.OrRedacted(s.cases.ObjectPage))
	r.Post("/families/{fingerprint}/remember", s.cases.RememberForm)
	r.Get("/knowledge/own/{id}", s.cases.EntryPage)
	r.Post("/knowledge/own/{id}", s.cases.EntryForm)
	r.Get("/raw/{bundle}", s.cases.RawExcerpt)
	r.Get("/raw/{bundle}/download", s.cases.RawDownload)

	r.Get("/share", s.share.SharePage)
	r.Post("/share", s.share.Freeze)
	r.Get("/p/{id}", s.share.Permalink)
	r.Get("/p/{id}/{tail}", s.share.Permalink)
	r.Post("/p/{id}/withdraw", s.share.WithdrawForm)
	r.Post("/p/{id}/extend", s.share.ExtendForm)
	r.Post("/p/{id}/again", s.share.FreezeAgain)

	r.Get("/collect.sh", s.pages.CollectScript)
	r.Get("/healthz", s.healthz)
	r.Get("/readyz", s.readyz)
	r.Method(http.MethodGet, "/metrics", s.metrics())
	r.Method(http.MethodGet, "/assets/*", web.Handler())
	r.Get("/login", s.account.LoginPage)
	r.Post("/logout", s.account.Logout)
	r.Get("/audit", s.pages.ToServer("audit"))
	r.Get("/audit.jsonl", s.pages.AuditLines)
}

// apiRoutes are those of programs.
func (s *Server) apiRoutes(r chi.Router, root http.Handler) {
	r.Put("/api/v1/bundles", s.stop.Uploads(s.intake.PutBundle))
	r.Put("/api/v1/bundles/*", s.stop.Uploads(s.intake.PutBundle))
	r.Post("/api/v1/bundles", s.stop.Uploads(s.intake.PostBundle))
	r.Get("/api/v1/bundles/{id}", s.intake.GetBundleAPI)
	r.Delete("/api/v1/bundles/{id}", s.intake.DeleteBundleAPI)
	r.Get("/api/v1/bundles/{id}/inventory", s.api.InventoryAPI)
	r.Put("/api/v1/bundles/{id}/kinds", s.intake.KindAPI)
	r.Get("/api/v1/cases", s.api.CasesAPI)
	r.Get("/api/v1/cases/{id}", api.TwinAPI(root, "/cases/"))
	r.Delete("/api/v1/cases/{id}", s.cases.DeleteCaseAPI)
	r.Get("/api/v1/cases/{id}/bundles", s.api.BundlesAPI)
	r.Get("/api/v1/families/{fingerprint}", s.cases.SightingsAPI)
	r.Get("/api/v1/search", s.api.SearchAPI)
	r.Get("/api/v1/retention", s.api.RetentionAPI)
	r.Get("/api/v1/annotations", s.api.AnnotationsAPI)
	r.Get("/api/v1/fleet", s.api.FleetAPI)
	r.Get("/api/v1/fleet/{fingerprint}", s.api.FleetFamilyAPI)
	r.Get("/api/v1/snapshots/{id}", api.TwinAPI(root, "/snapshots/"))
	r.Get("/api/v1/diffs/{id}", api.TwinAPI(root, "/diff/"))
	r.Get("/api/v1/compare", api.TwinAPI(root, "/compare"))
	r.Get("/api/v1/permalinks/{id}", api.TwinAPI(root, "/p/"))
	r.Get("/api/v1/openapi.json", s.api.OpenAPI)
	r.Patch("/api/v1/cases/{id}", s.cases.FieldsAPI)
	r.Get("/api/v1/cases/{id}/triage", s.cases.MarksAPI)
	r.Put("/api/v1/cases/{id}/triage", s.cases.MarkAPI)
	r.Get("/api/v1/cases/{id}/edits", s.cases.EditsAPI)
	r.Post("/api/v1/cases/{id}/edits", s.cases.EditAPI)
	r.Delete("/api/v1/cases/{id}/edits/{number}", s.cases.UndoAPI)
	r.Post("/api/v1/alertmanager", s.cases.AlertmanagerAPI)
	r.Post("/api/v1/permalinks", s.share.FreezeAPI)
	r.Patch("/api/v1/permalinks/{id}", s.share.ExtendAPI)
	r.Delete("/api/v1/permalinks/{id}", s.share.WithdrawAPI)
	r.Method(http.MethodPost, "/mcp", mcp.Handler(mcp.ServedConfig{Reports: s.loader, Respond: s.respond, Pages: root, Version: s.cfg.Version}))
}

// head lets handlers answer HEAD like GET. net/http drops the body.
func head(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			get := r.Clone(r.Context())
			get.Method = http.MethodGet
			r = get
		}
		next.ServeHTTP(w, r)
	})
}

// toFlame answers the addresses of pprof's own pages, which a snapshot and a comparison once had.
func (s *Server) toFlame(w http.ResponseWriter, r *http.Request) {
	address := *r.URL
	address.Path = strings.TrimSuffix(address.Path, "/pprof") + "/flame"
	s.respond.Redirect(w, r, address.RequestURI())
}
