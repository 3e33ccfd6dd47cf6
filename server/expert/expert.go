// Package expert mounts the web interface of pprof itself, over a profile that is in memory.
// Its pages need inline scripts, so that they are framed in a sandbox with an origin of its
// own, under an address that ends soon. Of its handlers only those are reachable that read no
// file of a name that they are given, write none and start no program: /source reads any file
// that a profile names, /saveconfig writes into the home directory on GET, /graph starts
// graphviz.
package expert

import (
	"log/slog"
	"net/http"
	"time"

	"leakdiff/server/casepage"
	"leakdiff/server/response"
)

// Pages gives the snapshots of a page, with its frame.
type Pages interface {
	SnapshotStacks(r *http.Request, id string) (casepage.StackView, error)
	PairStacks(r *http.Request, pair string) (casepage.StackView, error)
}

// Config says what is mounted.
type Config struct {
	Log     *slog.Logger
	Now     func() time.Time
	Respond *response.Responder
	Pages   Pages
}

// Service frames pprof beside pages.
type Service struct {
	respond *response.Responder
	pages   Pages
	mounts  *mounts
}

// New makes a service.
func New(cfg Config) *Service {
	return &Service{respond: cfg.Respond, pages: cfg.Pages, mounts: newMounts(cfg.Log, cfg.Now)}
}
