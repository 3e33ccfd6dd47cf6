package server

import (
	"context"
	"io"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/store"
	"leakdiff/store/blob"
)

// Blobs keeps raw uploads by their hash.
type Blobs interface {
	Put(ctx context.Context, r io.Reader, limit int64) (blob.Ref, error)
	// Open gives a fault instead of io.EOF where the bytes are not those of the hash.
	Open(sha string) (io.ReadCloser, error)
	Verify(ctx context.Context, sha string) error
	Look(sha string) error
	Free() (int64, error)
}

// Storage is what the server asks of a database; package store has it.
type Storage interface {
	Ping(ctx context.Context) error
	Sweep(ctx context.Context) error
	Reap(ctx context.Context) (more bool, err error)
	Setting(ctx context.Context, name string) (value string, set bool, err error)
	SetSetting(ctx context.Context, name, value string) error

	OpenCase(ctx context.Context, title, sample, name string, files []store.File) (c store.Case, b store.Bundle, ownerKey string, err error)
	Case(ctx context.Context, id string) (store.Case, error)
	Cases(ctx context.Context, q store.CaseQuery) (cases []store.Case, total int, err error)
	CheckOwner(ctx context.Context, caseID, key string) bool
	RenameCase(ctx context.Context, id, title string) error
	SetCaseSummary(ctx context.Context, id string, sum store.Summary) error
	CasesToSummarise(ctx context.Context, knowledge string) (ids []string, err error)
	CasePage(ctx context.Context, caseID, form, state string) (page store.CasePage, found bool, err error)
	KeepCasePage(ctx context.Context, caseID string, page store.CasePage) error
	ForgetCasePage(ctx context.Context, caseID, state string) error
	DeleteCase(ctx context.Context, id string, fate store.PermalinkFate) error
	SetField(ctx context.Context, caseID, name, value string) (before store.Field, err error)
	Fields(ctx context.Context, caseID string) (map[string]store.Field, error)
	SetMark(ctx context.Context, caseID string, m store.Mark) (before store.Mark, err error)
	Marks(ctx context.Context, caseID string) ([]store.Mark, error)
	EndingsOf(ctx context.Context, fingerprint string, caseIDs []string) ([]store.CaseEnding, error)
	Memories(ctx context.Context, fingerprint string, limit int) (memories []store.Memory, total int, err error)

	AddBundle(ctx context.Context, caseID, name string, files []store.File) (store.Bundle, store.Job, error)
	Discard(ctx context.Context, files []store.File) error
	FindBundle(ctx context.Context, caseID string, hashes []string) (b store.Bundle, found bool, err error)
	FailedOn(ctx context.Context, code string, hashes []string) (bundleIDs []string, err error)
	Bundle(ctx context.Context, id string) (store.Bundle, error)
	Bundles(ctx context.Context, caseID string) ([]store.Bundle, error)
	SetKind(ctx context.Context, bundleID, path, kind string) error
	Kinds(ctx context.Context, bundleID string) (map[string]string, error)
	RemoveBundle(ctx context.Context, id string) error
	Artifacts(ctx context.Context, bundleID string) ([]analysis.Artifact, error)
	Problems(ctx context.Context, bundleID string) ([]analysis.Problem, error)

	ClaimJob(ctx context.Context) (job store.Job, claimed bool, err error)
	FinishJob(ctx context.Context, jobID string, r store.Result) error
	FailJob(ctx context.Context, jobID string, why *analysis.Fault) error
	CancelJob(ctx context.Context, jobID string) error
	CancelOpenJob(ctx context.Context, bundleID string) error
	PostponeJob(ctx context.Context, jobID string, why *analysis.Fault) error
	Requeue(ctx context.Context, bundleID string) (store.Job, error)

	Snapshots(ctx context.Context, caseID string) ([]analysis.Snapshot, error)
	SnapshotHeads(ctx context.Context, caseID string) ([]analysis.Snapshot, error)
	SnapshotsPacked(ctx context.Context, caseID string) ([]analysis.Snapshot, error)
	SnapshotsAged(ctx context.Context, caseID string) ([]analysis.Snapshot, error)
	FindSnapshot(ctx context.Context, id string) (caseIDs []string, err error)
	SnapshotBundles(ctx context.Context, caseID string) (bundleOf map[string]string, err error)
	AddEdit(ctx context.Context, caseID string, e identity.Edit) (identity.Edit, error)
	Edits(ctx context.Context, caseID string) ([]identity.Edit, error)
	UndoEdit(ctx context.Context, caseID string, number int64) error

	FamilyCases(ctx context.Context, fingerprint string) (int, error)
	FamilySightings(ctx context.Context, fingerprint string, limit int) (store.Sightings, error)
	SearchFunctions(ctx context.Context, query string, limit, offset int) (store.SearchResult, error)

	CreatePermalink(ctx context.Context, p store.Permalink) (out store.Permalink, ownerKey string, err error)
	Permalink(ctx context.Context, id string) (store.Permalink, error)
	// Changes stays the same while nothing is written.
	Changes(ctx context.Context) (int64, error)
	PermalinkCount(ctx context.Context, caseID string) (int, error)
	OwnsPermalink(ctx context.Context, id, key string) bool
	ExtendPermalink(ctx context.Context, id, key string, until time.Time) error
	WithdrawPermalink(ctx context.Context, id, key string) error

	Remember(ctx context.Context, key string, a store.Answer) error
	Recall(ctx context.Context, key string) (a store.Answer, known bool, err error)
}
