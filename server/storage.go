package server

import (
	"context"

	"leakdiff/server/alert"
	"leakdiff/server/api"
	"leakdiff/server/casepage"
	"leakdiff/server/catalogue"
	"leakdiff/server/intake"
	"leakdiff/server/loader"
	pages "leakdiff/server/page"
	"leakdiff/server/share"
	"leakdiff/store"
)

// Storage is what the rooms and the server need of the database. Package store implements
// it.
type Storage interface {
	intake.Store
	intake.JobStore
	intake.Elsewhere
	catalogue.Rows
	loader.Store
	casepage.Store
	share.Store
	pages.Store
	api.Store
	alert.Store

	// Accounts has tokens, sessions and the audit log.
	Accounts() *store.Accounts

	Ping(ctx context.Context) error
	Sweep(ctx context.Context) error
	Reap(ctx context.Context) (more bool, err error)
	Retain(ctx context.Context, keep store.Retention) ([]store.CaseRetained, error)
	Deletions() (deleted, reaped int64)
	Deleted() <-chan struct{}
	State(ctx context.Context) (store.State, error)
}
