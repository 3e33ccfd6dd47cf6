// Package page shows what belongs to no case: the start page with the list of cases,
// search, help, the catalogue, the server itself, and the script that captures a process.
package page

import (
	"context"
	"time"

	"leakdiff/analysis/read/bundle"
	"leakdiff/server/access"
	"leakdiff/server/catalogue"
	"leakdiff/server/response"
	"leakdiff/store"
	"leakdiff/web/view"
)

type Store interface {
	Cases(ctx context.Context, q store.CaseQuery) (cases []store.CountedCase, total int, err error)
	SearchFunctions(ctx context.Context, query string, aliases store.Aliases, limit, offset int) (store.SearchResult, error)
	Fleet(ctx context.Context, q store.FleetQuery) (store.Fleet, error)
	FleetDays(ctx context.Context, fingerprints []string, since time.Time) ([]store.FleetDay, error)
	FleetSeriesStore
	PlanRetention(ctx context.Context, keep store.Retention, caseID string) ([]store.CaseRetained, error)
}

// Accounts lists the API tokens, and reads the audit log.
type Accounts interface {
	Tokens(ctx context.Context) ([]store.Token, error)
	AuditLog(ctx context.Context, q store.AuditQuery) ([]store.AuditEntry, error)
}

// Volume is the disk of the uploads.
type Volume interface{ Free() (int64, error) }

type Config struct {
	Store     Store
	Accounts  Accounts
	Volume    Volume
	Respond   *response.Responder
	Access    *access.Access
	Catalogue *catalogue.Catalogue
	// UploadLimit is the size of one upload in bytes. Reserved is what it must leave free.
	UploadLimit, Reserved int64
	// Budget is that of one bundle, zero for the default.
	Budget  bundle.Budget
	Samples []view.Sample
	// Keep is the policy of retention for cases without one of their own.
	Keep store.Retention
	// KnowledgeDir is the directory of own files of the catalogue.
	KnowledgeDir string
	// Script is the content of /collect.sh. Without it there is no such page.
	Script []byte
	// Now is the time, from which days are counted back.
	Now func() time.Time
}

type Service struct {
	cfg       Config
	store     Store
	respond   *response.Responder
	access    *access.Access
	catalogue *catalogue.Catalogue
}

func New(cfg Config) *Service {
	return &Service{cfg: cfg, store: cfg.Store, respond: cfg.Respond, access: cfg.Access, catalogue: cfg.Catalogue}
}
