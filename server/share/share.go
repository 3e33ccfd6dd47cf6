// Package share freezes what a page shows into a record, and shows the record under a
// permalink that never changes. It computes no page: casepage does.
package share

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"leakdiff/analysis/say/wording"
	"leakdiff/server/access"
	"leakdiff/server/casepage"
	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/store"
)

type Store interface {
	CreatePermalink(ctx context.Context, p store.Permalink) (out store.Permalink, ownerKey string, err error)
	Permalink(ctx context.Context, id string) (store.Permalink, error)
	OwnsPermalink(ctx context.Context, id, key string) bool
	ExtendPermalink(ctx context.Context, id, key string, until time.Time) error
	ExtendAnyPermalink(ctx context.Context, id string, until time.Time) error
	WithdrawPermalink(ctx context.Context, id, key string) error
	WithdrawAnyPermalink(ctx context.Context, id string) error
	Bundles(ctx context.Context, caseID string) ([]store.Bundle, error)
	Requeue(ctx context.Context, bundleID string) (store.Job, error)
}

// Pages makes the view of the page at an address. It returns the case of the page and all
// cases that the page shows something of.
type Pages interface {
	FrozenView(r *http.Request, address string) (v casepage.View, of *loader.Loaded, all []*loader.Loaded, err error)
}

// Queue wakes the worker when a bundle is to be read again.
type Queue interface{ Notify() }

type Config struct {
	Store   Store
	Log     *slog.Logger
	Now     func() time.Time
	Respond *response.Responder
	Access  *access.Access
	Pages   Pages
	Queue   Queue
	// SignIn answers somebody who needs an account.
	SignIn http.HandlerFunc
	// BaseURL is the address of the server behind a proxy. With https the cookie of an
	// owner key is for https alone.
	BaseURL string
}

type Service struct {
	cfg     Config
	store   Store
	log     *slog.Logger
	respond *response.Responder
	access  *access.Access
	pages   Pages
	queue   Queue
	// redacting holds a token while a page is redacted.
	redacting chan struct{}
}

func New(cfg Config) *Service {
	return &Service{cfg: cfg, store: cfg.Store, log: cfg.Log, respond: cfg.Respond, access: cfg.Access, pages: cfg.Pages, queue: cfg.Queue, redacting: make(chan struct{}, 1)}
}

// safe is the redacted record of the page at an address, with its case.
func (s *Service) safe(r *http.Request, address string) (Record, *loader.Loaded, error) {
	done, err := s.turn(r.Context())
	if err != nil {
		return Record{}, nil, err
	}
	defer done()
	v, l, cases, err := s.pages.FrozenView(r, address)
	if err != nil {
		return Record{}, nil, err
	}
	hide, err := redactor(cases)
	if err != nil {
		return Record{}, nil, err
	}
	f, err := redacted(v, hide)
	return f, l, err
}

// longestTurn is how long a request waits to be redacted.
const longestTurn = 30 * time.Second

// turn waits until no other page is redacted: the names of a large case take some hundred
// megabytes meanwhile. The caller ends its turn with done.
func (s *Service) turn(ctx context.Context) (done func(), err error) {
	enough := time.NewTimer(longestTurn)
	defer enough.Stop()
	select {
	case s.redacting <- struct{}{}:
		return func() { <-s.redacting }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-enough.C:
		return nil, response.Refuse("busy", "other pages are being redacted", "", fmt.Sprintf("one is at a time, and this one waited for %s", wording.PageDuration(longestTurn)), "ask again in a minute")
	}
}
