package server

import (
	"context"

	"leakdiff/server/api"
	"leakdiff/server/casepage"
	"leakdiff/server/intake"
	"leakdiff/server/loader"
	pages "leakdiff/server/page"
	"leakdiff/server/share"
)

// Storage is what the rooms and the server need of the database. Package store implements
// it.
type Storage interface {
	intake.Store
	intake.JobStore
	loader.Store
	casepage.Store
	share.Store
	pages.Store
	api.Store

	Ping(ctx context.Context) error
	Sweep(ctx context.Context) error
}
