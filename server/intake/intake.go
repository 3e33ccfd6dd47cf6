// Package intake takes uploads. It streams them into the store, has a worker read them one
// after the other, and shows the progress. It makes no report: it knows only what the
// answer to an upload contains.
package intake

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/say/report"
	"leakdiff/server/access"
	"leakdiff/server/response"
	"leakdiff/store"
	"leakdiff/store/blob"
	"leakdiff/web/view"
)

// Blobs stores raw uploads by their hash.
type Blobs interface {
	Put(ctx context.Context, r io.Reader, limit int64) (blob.Ref, error)
	// The reader returns a fault instead of io.EOF if the bytes do not have the hash.
	Open(ctx context.Context, sha string) (io.ReadCloser, error)
	Verify(ctx context.Context, sha string) error
	Look(ctx context.Context, sha string) error
	Free() (int64, error)
}

// Store is what the handlers of uploads need of the database.
type Store interface {
	Setting(ctx context.Context, name string) (value string, set bool, err error)
	SetSetting(ctx context.Context, name, value string) error

	OpenCase(ctx context.Context, title, sample, name string, files []store.File, receipts ...store.Receipt) (c store.Case, b store.Bundle, ownerKey string, err error)
	Case(ctx context.Context, id string) (store.Case, error)
	Cases(ctx context.Context, q store.CaseQuery) (cases []store.CountedCase, total int, err error)

	AddBundle(ctx context.Context, caseID, name string, files []store.File, receipts ...store.Receipt) (store.Bundle, store.Job, error)
	Discard(ctx context.Context, files []store.File) error
	PutBack(ctx context.Context, files []store.File) error
	FindBundle(ctx context.Context, caseID string, hashes []string) (b store.Bundle, found bool, err error)
	FailedOn(ctx context.Context, code string, hashes []string) (bundleIDs []string, err error)
	Bundle(ctx context.Context, id string) (store.Bundle, error)
	Waits(ctx context.Context, caseID string) (bool, error)
	SetKind(ctx context.Context, bundleID, path, kind string) error
	Kinds(ctx context.Context, bundleID string) (map[string]string, error)
	RemoveBundle(ctx context.Context, id string) error
	Artifacts(ctx context.Context, bundleID string) ([]analysis.Artifact, error)
	Problems(ctx context.Context, bundleID string) ([]analysis.Problem, error)
	BundleSnapshots(ctx context.Context, bundleID string) (own map[string]bool, err error)

	Queued(ctx context.Context) (int, error)
	TakeDuty(ctx context.Context, name string) (mine bool, err error)
	CancelOpenJob(ctx context.Context, bundleID string) error
	Requeue(ctx context.Context, bundleID string) (store.Job, error)

	BeginAnswer(ctx context.Context, key string) (mine bool, err error)
	RenewAnswer(ctx context.Context, key string) error
	EndAnswer(ctx context.Context, key string) error
	Remember(ctx context.Context, key string, a store.Answer) error
	Reword(ctx context.Context, key string, a store.Answer) error
	Recall(ctx context.Context, key string) (a store.Answer, known bool, err error)
}

// JobStore is what the worker needs of the database.
type JobStore interface {
	ClaimChosen(ctx context.Context, choose func(queued []store.QueuedJob) int) (job store.Job, claimed bool, err error)
	FinishJob(ctx context.Context, job store.Job, r store.Result) error
	FailJob(ctx context.Context, job store.Job, why *analysis.Fault) error
	CancelJob(ctx context.Context, job store.Job) error
	PostponeJob(ctx context.Context, job store.Job, why *analysis.Fault) error
	Bundle(ctx context.Context, id string) (store.Bundle, error)
	Kinds(ctx context.Context, bundleID string) (map[string]string, error)
	Waits(ctx context.Context, caseID string) (bool, error)
	Shared() bool
	Renew(ctx context.Context, leases []store.Lease) (lost []store.Job, err error)
	Inherit(ctx context.Context) error
	Queued(ctx context.Context) (int, error)
	TakeDuty(ctx context.Context, name string) (mine bool, err error)
	Reap(ctx context.Context) (more bool, err error)
}

// Cases returns what was read of a case.
type Cases interface {
	Brief(ctx context.Context, caseID string) (identity.Outcome, error)
	Snapshots(ctx context.Context, caseID string) (*report.CaseReport, error)
}

// Processes shows what was recognised in a case.
type Processes interface {
	Processes(r *http.Request, caseID string) (*view.IdentityInput, error)
}

type Config struct {
	Store     Store
	Blobs     Blobs
	Log       *slog.Logger
	Respond   *response.Responder
	Access    *access.Access
	Cases     Cases
	Processes Processes
	Summaries Summaries
	Raw       RawBytes
	// Worker works off Queue.
	Queue  *Queue
	Worker *Worker
	// UploadLimit is in bytes.
	UploadLimit int64
	// Slots is how many uploads are stored at once, 32 for 0.
	Slots   int
	Samples []Sample
}

type Service struct {
	cfg       Config
	store     Store
	blobs     Blobs
	log       *slog.Logger
	respond   *response.Responder
	access    *access.Access
	cases     Cases
	summaries Summaries
	raw       RawBytes
	queue     *Queue
	worker    *Worker
	// placing is locked while an upload is added to a case. A key is locked while its
	// answer is made.
	placing sync.Mutex
	keys    keyLocks
	// beginnings bounds the uploads whose beginning is received, slots those being stored.
	beginnings, slots *slots
}

func New(cfg Config) *Service {
	if cfg.Slots == 0 {
		cfg.Slots = uploadSlots
	}
	return &Service{
		cfg: cfg, store: cfg.Store, blobs: cfg.Blobs, log: cfg.Log, respond: cfg.Respond, access: cfg.Access, cases: cfg.Cases,
		summaries: cfg.Summaries, raw: cfg.Raw, queue: cfg.Queue, worker: cfg.Worker,
		beginnings: newSlots(beginnings, beginnings), slots: newSlots(cfg.Slots, mostWaiting),
	}
}
