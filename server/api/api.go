// Package api lists cases, bundles and families for programs, describes the whole interface
// (OpenAPI 3.1), and bounds what one address asks of it. What changes something, and what is a
// twin of a page, belongs to the room of that page.
package api

import (
	"context"

	"leakdiff/analysis"
	"leakdiff/server/response"
	"leakdiff/store"
)

// Store lists what there is.
type Store interface {
	Case(ctx context.Context, id string) (store.Case, error)
	Cases(ctx context.Context, q store.CaseQuery) (cases []store.Case, total int, err error)
	Bundle(ctx context.Context, id string) (store.Bundle, error)
	Bundles(ctx context.Context, caseID string) ([]store.Bundle, error)
	Artifacts(ctx context.Context, bundleID string) ([]analysis.Artifact, error)
	Problems(ctx context.Context, bundleID string) ([]analysis.Problem, error)
	SearchFunctions(ctx context.Context, query string, limit, offset int) (store.SearchResult, error)
}

// Config says what is listed.
type Config struct {
	Store   Store
	Respond *response.Responder
	// BaseURL is how people reach the server through a proxy, for its description.
	BaseURL string
}

// Service answers programs.
type Service struct {
	cfg     Config
	store   Store
	respond *response.Responder
}

// New makes a service.
func New(cfg Config) *Service { return &Service{cfg: cfg, store: cfg.Store, respond: cfg.Respond} }
