// Package share freezes what a page shows into a record, and shows the record under a link
// that says the same as long as it lives. It computes no page: those of cases are given to it.
package share

import (
	"context"
	"net/http"
	"time"

	"leakdiff/server/access"
	"leakdiff/server/casepage"
	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/store"
)

// Store is what frozen results ask of a database.
type Store interface {
	CreatePermalink(ctx context.Context, p store.Permalink) (out store.Permalink, ownerKey string, err error)
	Permalink(ctx context.Context, id string) (store.Permalink, error)
	OwnsPermalink(ctx context.Context, id, key string) bool
	ExtendPermalink(ctx context.Context, id, key string, until time.Time) error
	WithdrawPermalink(ctx context.Context, id, key string) error
	Bundles(ctx context.Context, caseID string) ([]store.Bundle, error)
	Requeue(ctx context.Context, bundleID string) (store.Job, error)
}

// Pages gives what the page at an address shows, the case that it is of, and all that it
// tells of.
type Pages interface {
	FrozenView(r *http.Request, address string) (v casepage.View, of *loader.Loaded, all []*loader.Loaded, err error)
}

// Queue is told that a bundle is to be read again.
type Queue interface{ Notify() }

// Config says what results are frozen from.
type Config struct {
	Store   Store
	Now     func() time.Time
	Respond *response.Responder
	Access  *access.Access
	Pages   Pages
	Queue   Queue
	// BaseURL is how people reach the server through a proxy: over https the browser
	// keeps owner keys for https alone.
	BaseURL string
}

// Service freezes and shows results.
type Service struct {
	cfg     Config
	store   Store
	respond *response.Responder
	access  *access.Access
	pages   Pages
	queue   Queue
}

// New makes a service.
func New(cfg Config) *Service {
	return &Service{cfg: cfg, store: cfg.Store, respond: cfg.Respond, access: cfg.Access, pages: cfg.Pages, queue: cfg.Queue}
}
