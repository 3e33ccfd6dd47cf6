// Package expert mounts the web interface of pprof over a profile in memory. Its pages
// need inline scripts. They run in a sandboxed frame with an origin of its own, under an
// address that expires soon. Only handlers are reachable that read no file by name, write
// no file and start no program: /source reads any file that a profile names, /saveconfig
// writes into the home directory on GET, /graph starts graphviz.
package expert

import (
	"log/slog"
	"net/http"
	"time"

	"leakdiff/server/casepage"
	"leakdiff/server/response"
)

// Pages returns the snapshots of a page and its frame.
type Pages interface {
	SnapshotStacks(r *http.Request, id string) (casepage.StackView, error)
	PairStacks(r *http.Request, pair string) (casepage.StackView, error)
}

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

func New(cfg Config) *Service {
	return &Service{respond: cfg.Respond, pages: cfg.Pages, mounts: newMounts(cfg.Log, cfg.Now)}
}
