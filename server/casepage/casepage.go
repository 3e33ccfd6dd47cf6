// Package casepage shows a case: its page, its snapshots, families, objects, comparisons
// and stacks, each in every form. It takes what people write about a case. It makes pages from
// a loaded case; it reads no upload and freezes nothing.
package casepage

import (
	"context"
	"io"
	"log/slog"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/source"
	"leakdiff/server/access"
	"leakdiff/server/catalogue"
	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/store"
)

// Store is what this package needs of the database.
type Store interface {
	access.Owners
	CaseStore
	EditStore
	FamilyStore
	SummaryStore
}

type CaseStore interface {
	Case(ctx context.Context, id string) (store.Case, error)
	Cases(ctx context.Context, q store.CaseQuery) (cases []store.CountedCase, total int, err error)
	DeleteCase(ctx context.Context, id string, fate store.PermalinkFate) error
	Bundle(ctx context.Context, id string) (store.Bundle, error)
	Bundles(ctx context.Context, caseID string) ([]store.Bundle, error)
	Artifacts(ctx context.Context, bundleID string) ([]analysis.Artifact, error)
	CasesOnHosts(ctx context.Context, hosts []string, note string) ([]store.CaseOnHost, error)
	FindSnapshot(ctx context.Context, id string) (caseIDs []string, err error)
	PermalinkCount(ctx context.Context, caseID string) (int, error)
}

// EditStore stores what people write about a case.
type EditStore interface {
	RenameCase(ctx context.Context, id, title string) error
	SetField(ctx context.Context, caseID, name, value string) (before store.Field, err error)
	SetMark(ctx context.Context, caseID string, m store.Mark) (before store.Mark, err error)
	Marks(ctx context.Context, caseID string) ([]store.Mark, error)
	AddEdit(ctx context.Context, caseID string, e identity.Edit) (identity.Edit, error)
	AddAlertEvent(ctx context.Context, caseID string, e identity.Edit) (made identity.Edit, added bool, err error)
	UndoEdit(ctx context.Context, caseID string, number int64) error
}

// FamilyStore finds families over all cases.
type FamilyStore interface {
	FamilyCases(ctx context.Context, fingerprint string) (int, error)
	FamilySightings(ctx context.Context, fingerprint string, limit int) (store.Sightings, error)
	EndingsOf(ctx context.Context, fingerprint string, caseIDs []string) ([]store.CaseEnding, error)
	Memories(ctx context.Context, fingerprint string, limit int) (memories []store.Memory, total int, err error)
}

// SummaryStore stores the rows of the list of cases.
type SummaryStore interface {
	SetCaseSummary(ctx context.Context, id string, revision int64, sum store.Summary) error
	CasesToSummarise(ctx context.Context, knowledge string) (ids []string, err error)
}

// Loader loads cases and their reports.
type Loader interface {
	Evidence(ctx context.Context, caseID string, part loader.Part) (*loader.Loaded, error)
	Heads(ctx context.Context, caseID string) (*loader.Loaded, error)
	Report(ctx context.Context, caseID string) (*loader.Report, error)
	Brief(ctx context.Context, caseID string) (identity.Outcome, error)
	Judge(ctx context.Context, caseID string) (revision int64, said *report.CaseReport, err error)
}

// Queue controls the worker.
type Queue interface {
	// Notify wakes the worker: there is a job, or room for one.
	Notify()
	// Cancel stops the reading of a bundle.
	Cancel(bundleID string) bool
	// Progress is how far the reading of a bundle is: in words and in bytes of the upload.
	Progress(ctx context.Context, b store.Bundle) (text string, taken int64)
}

// Raw opens the unpacked bytes of a file in a bundle.
type Raw interface {
	OpenArtifact(ctx context.Context, b store.Bundle, path string) (io.ReadCloser, error)
}

type Config struct {
	Store     Store
	Log       *slog.Logger
	Now       func() time.Time
	Respond   *response.Responder
	Access    *access.Access
	Catalogue *catalogue.Catalogue
	Loader    Loader
	Queue     Queue
	Raw       Raw
	// Keep is the policy of retention for cases without one of their own.
	Keep store.Retention
	// Source has the reader's source, nil for none. Frozen pages show nothing of it.
	Source *source.Tree
	// Changed is called after the summary of a case was stored, or the case deleted.
	Changed func()
}

// Service shows cases.
type Service struct {
	cfg       Config
	store     Store
	log       *slog.Logger
	respond   *response.Responder
	access    *access.Access
	catalogue *catalogue.Catalogue
	loader    Loader
	queue     Queue
	raw       Raw
	source    *source.Tree
}

func New(cfg Config) *Service {
	return &Service{
		cfg: cfg, store: cfg.Store, log: cfg.Log, respond: cfg.Respond, access: cfg.Access, catalogue: cfg.Catalogue,
		loader: cfg.Loader, queue: cfg.Queue, raw: cfg.Raw, source: cfg.Source,
	}
}
