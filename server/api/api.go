// Package api lists cases, bundles and families for programs, serves the OpenAPI 3.1
// description of the whole interface, and limits the rate of requests. Requests that
// change something, and twins of pages, belong to the room of their page.
package api

import (
	"context"
	"net/http"
	"time"

	"leakdiff/analysis"
	"leakdiff/server/page"
	"leakdiff/server/response"
	"leakdiff/store"
)

type Store interface {
	Case(ctx context.Context, id string) (store.Case, error)
	Cases(ctx context.Context, q store.CaseQuery) (cases []store.CountedCase, total int, err error)
	Bundle(ctx context.Context, id string) (store.Bundle, error)
	Bundles(ctx context.Context, caseID string) ([]store.Bundle, error)
	Artifacts(ctx context.Context, bundleID string) ([]analysis.Artifact, error)
	Problems(ctx context.Context, bundleID string) ([]analysis.Problem, error)
	SearchFunctions(ctx context.Context, query string, aliases store.Aliases, limit, offset int) (store.SearchResult, error)
	Fleet(ctx context.Context, q store.FleetQuery) (store.Fleet, error)
	page.FleetSeriesStore
	Leaks(ctx context.Context, q store.LeakQuery) (leaks []store.Leak, total int, err error)
	PlanRetention(ctx context.Context, keep store.Retention, caseID string) ([]store.CaseRetained, error)
}

type Config struct {
	Store   Store
	Respond *response.Responder
	// Keep is the policy of retention for cases without one of their own.
	Keep store.Retention
	// Pages know what people call things.
	Pages *page.Service
	// Sender is whose requests are counted together.
	Sender func(*http.Request) (string, error)
	// BaseURL is the address of the server behind a proxy, for the description.
	BaseURL string
	// Now is the time, from which days are counted back.
	Now func() time.Time
}

type Service struct {
	cfg     Config
	store   Store
	respond *response.Responder
}

func New(cfg Config) *Service { return &Service{cfg: cfg, store: cfg.Store, respond: cfg.Respond} }
