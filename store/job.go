package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"leakdiff/analysis"
)

// jobKind is the kind of a job.
type jobKind string

// Ingest reads a bundle for the first time, Reingest again with the current engine.
const (
	jobIngest   jobKind = "ingest"
	jobReingest jobKind = "reingest"
)

// maxAttempts is how often a job may crash the process.
const maxAttempts = 3

// Job is the analysis of a bundle.
type Job struct {
	ID       string
	BundleID string
	Kind     jobKind
	Status   Status
	// Attempts counts the claims without an orderly end, including the current one.
	Attempts int
	// Generation is that of the rows which this claim writes; each claim has a new one.
	Generation int64
	Created    time.Time
}

func insertJob(ctx context.Context, tx *sql.Tx, job Job, bundleSeq int64) error {
	_, err := tx.ExecContext(ctx, insertJobSQL, job.ID, bundleSeq, job.Kind, job.Status, job.Generation, job.Created.UnixMicro())
	return err
}

const insertJobSQL = `
INSERT INTO job (id, bundle_seq, kind, status, generation, created_at)
VALUES (?, ?, ?, ?, ?, ?)`

// QueuedJob is a job that waits to be claimed.
type QueuedJob struct {
	ID, BundleID string
	// Size is that of the upload in bytes.
	Size int64
}

// ClaimJob claims the oldest queued job and reports whether one was queued.
func (s *Store) ClaimJob(ctx context.Context) (job Job, claimed bool, err error) {
	return s.ClaimChosen(ctx, func(queued []QueuedJob) int { return 0 })
}

// ClaimChosen claims the queued job at the index that choose returns, -1 for none. choose gets
// all queued jobs, the oldest first, and is not called if there are none. The claim is
// durable, so that the next start detects a job that crashed the process.
func (s *Store) ClaimChosen(ctx context.Context, choose func(queued []QueuedJob) int) (job Job, claimed bool, err error) {
	// Most calls find nothing, and need not wait for the writer.
	if n, err := s.Queued(ctx); n == 0 || err != nil {
		return Job{}, false, err
	}
	err = s.write(ctx, "claiming a job", func(tx *sql.Tx) error {
		claimed = false
		queued, err := collect(ctx, tx, scanQueued, queuedJobsSQL)
		if err != nil || len(queued) == 0 {
			return err
		}
		at := choose(queued)
		if at < 0 {
			return nil
		}
		var created int64
		if err := tx.QueryRowContext(ctx, claimJobSQL, s.self, s.lease(), queued[at].ID).Scan(&job.ID, &job.Kind, &job.Status, &job.Attempts, &job.Generation, &created); err != nil {
			return err
		}
		claimed = true
		job.Created = fromMicros(created)
		var caseSeq int64
		if err := tx.QueryRowContext(ctx, startBundleSQL, job.ID).Scan(&job.BundleID, &caseSeq); err != nil {
			return err
		}
		return revise(ctx, tx, caseSeq)
	})
	if err != nil {
		return Job{}, false, err
	}
	return job, claimed, nil
}

const queuedJobsSQL = `
SELECT j.id, b.id, b.size
FROM job j
JOIN bundle b ON b.seq = j.bundle_seq
WHERE j.status = 'queued'
ORDER BY j.seq`

func scanQueued(rows *sql.Rows) (j QueuedJob, err error) {
	err = rows.Scan(&j.ID, &j.BundleID, &j.Size)
	return j, err
}

const claimJobSQL = `
UPDATE job
SET status = 'running', attempts = attempts + 1, generation = generation + 1,
    owner = ?1, leased_until = CASE WHEN CAST(?2 AS BIGINT) > 0 THEN clock_micros() + ?2 END, progress = ''
WHERE id = ?3
RETURNING id, kind, status, attempts, generation, created_at`

// Queued is how many jobs wait to be claimed.
func (s *Store) Queued(ctx context.Context) (n int, err error) {
	err = s.reader.QueryRowContext(ctx, countQueuedSQL).Scan(&n)
	return n, fault("counting the queued jobs", err)
}

const countQueuedSQL = `
SELECT count(*) FROM job WHERE status = 'queued'`

const startBundleSQL = `
UPDATE bundle SET status = 'running', fault = ''
WHERE seq = (SELECT bundle_seq FROM job WHERE id = ?)
RETURNING id, case_seq`

// Waits reports whether a bundle of the case is queued or being read.
func (s *Store) Waits(ctx context.Context, caseID string) (waits bool, err error) {
	err = s.reader.QueryRowContext(ctx, waitsSQL, caseID).Scan(&waits)
	return waits, fault("looking for jobs", err)
}

const waitsSQL = `
SELECT EXISTS (
    SELECT 1
    FROM job j
    JOIN bundle b ON b.seq = j.bundle_seq
    JOIN cases c ON c.seq = b.case_seq
    WHERE j.status IN ('queued', 'running') AND c.id = ?)`

// FailJob ends a claimed job without a result and stores the fault for the bundle. An older
// result stays visible. *analysis.Fault "cancelled", "conflict" or "not_found" means that the
// job has ended meanwhile, "lost" that another server has it.
func (s *Store) FailJob(ctx context.Context, job Job, why *analysis.Fault) error {
	return s.giveUp(ctx, job, Failed, why)
}

// CancelJob ends a claimed job like FailJob, without a fault.
func (s *Store) CancelJob(ctx context.Context, job Job) error {
	return s.giveUp(ctx, job, Cancelled, nil)
}

// CancelOpenJob cancels the queued or running job of a bundle. Its worker gets "cancelled" at
// the next write. It does nothing if the job has ended meanwhile. An older result stays
// visible.
func (s *Store) CancelOpenJob(ctx context.Context, bundleID string) error {
	return s.writeReserved(ctx, "ending the job of a bundle", func(tx *sql.Tx) error {
		var seq, generation int64
		if err := tx.QueryRowContext(ctx, requeueBundleSQL, bundleID).Scan(&seq, &generation, new(sql.NullInt64)); err != nil {
			return orNotFound(err, "bundle", bundleID)
		}
		open, err := collect(ctx, tx, scanJob, openJobSQL, seq)
		if err != nil {
			return err
		}
		for _, job := range open {
			target, err := targetOf(ctx, tx, job.ID)
			if err != nil {
				return err
			}
			if err := endJob(ctx, tx, target, Cancelled, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// PostponeJob moves a claimed job to the end of the queue and stores why for the bundle, nil
// for nothing. An older result stays visible. Its faults are those of FailJob.
func (s *Store) PostponeJob(ctx context.Context, job Job, why *analysis.Fault) error {
	text := ""
	if why != nil {
		var err error
		if text, err = writeFault(why); err != nil {
			return err
		}
	}
	return s.writeReserved(ctx, "postponing a job", func(tx *sql.Tx) error {
		t, err := s.own(ctx, tx, job)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, deleteGenerationSQL, t.bundle, t.generation); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, postponeJobSQL+s.engine.lastInQueue()+` WHERE seq = ?`, t.job); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, postponeBundleSQL, text, t.bundle); err != nil {
			return err
		}
		if err := revise(ctx, tx, t.caseSeq); err != nil {
			return err
		}
		return forgetSeries(ctx, tx, t.caseSeq)
	})
}

// The attempt had an orderly end, so it does not count.
const postponeJobSQL = `
UPDATE job
SET status = 'queued', attempts = attempts - 1, owner = '', leased_until = NULL, progress = '', seq = `

const postponeBundleSQL = `
UPDATE bundle SET status = 'queued', fault = ? WHERE seq = ?`

func (s *Store) giveUp(ctx context.Context, job Job, end Status, why *analysis.Fault) error {
	return s.writeReserved(ctx, "ending a job", func(tx *sql.Tx) error {
		target, err := s.own(ctx, tx, job)
		if err != nil {
			return err
		}
		return endJob(ctx, tx, target, end, why)
	})
}

// endJob removes the rows of the job and stores its end.
func endJob(ctx context.Context, tx *sql.Tx, t target, end Status, why *analysis.Fault) error {
	text := ""
	if end == Failed {
		var err error
		if text, err = writeFault(why); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, deleteGenerationSQL, t.bundle, t.generation); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, endJobSQL, end, t.job); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, endBundleSQL, end, text, t.bundle); err != nil {
		return err
	}
	if err := revise(ctx, tx, t.caseSeq); err != nil {
		return err
	}
	return forgetSeries(ctx, tx, t.caseSeq)
}

const deleteGenerationSQL = `
DELETE FROM snapshot WHERE bundle_seq = ? AND generation = ?`

const endJobSQL = `
UPDATE job SET status = ? WHERE seq = ?`

const endBundleSQL = `
UPDATE bundle
SET status = CASE WHEN generation > 0 THEN 'done' ELSE ?1 END, fault = ?2
WHERE seq = ?3`

// target is the bundle and generation that a job writes.
type target struct {
	job, bundle, generation, caseSeq int64
	status                           Status
}

func targetOf(ctx context.Context, tx *sql.Tx, jobID string) (t target, err error) {
	err = tx.QueryRowContext(ctx, targetSQL, jobID).Scan(&t.job, &t.bundle, &t.generation, &t.status, &t.caseSeq)
	return t, orNotFound(err, "job", jobID)
}

const targetSQL = `
SELECT j.seq, j.bundle_seq, j.generation, j.status, b.case_seq
FROM job j
JOIN bundle b ON b.seq = j.bundle_seq
WHERE j.id = ?`

func over(status Status) error {
	code := "conflict"
	if status == Cancelled {
		code = "cancelled"
	}
	return &analysis.Fault{Code: code, What: "the job is not running", Why: "it is " + string(status)}
}

// Requeue queues a bundle for analysis again; the current result stays visible until the new
// one is complete. If a job is queued or running already, Requeue returns that one. A bundle
// whose bytes were dropped is refused as by UploadDropped.
func (s *Store) Requeue(ctx context.Context, bundleID string) (Job, error) {
	id, err := s.newID("j")
	if err != nil {
		return Job{}, err
	}
	job := Job{ID: id, BundleID: bundleID, Kind: jobReingest, Status: Queued, Created: s.time()}
	err = s.write(ctx, "queueing a bundle again", func(tx *sql.Tx) error {
		var seq, generation int64
		var dropped sql.NullInt64
		if err := tx.QueryRowContext(ctx, requeueBundleSQL, bundleID).Scan(&seq, &generation, &dropped); err != nil {
			return orNotFound(err, "bundle", bundleID)
		}
		if dropped.Valid {
			return UploadDropped(bundleID, fromMicros(dropped.Int64))
		}
		open, err := collect(ctx, tx, scanJob, openJobSQL, seq)
		if err != nil {
			return err
		}
		if len(open) > 0 {
			job = open[0]
			return nil
		}
		if generation == 0 {
			job.Kind = jobIngest
		}
		if _, err := tx.ExecContext(ctx, deleteOldJobsSQL, seq); err != nil {
			return err
		}
		job.Generation = generation + 1
		if err := insertJob(ctx, tx, job, seq); err != nil {
			return err
		}
		return reviseFound(ctx, tx, queueBundleSQL, seq)
	})
	if err != nil {
		return Job{}, err
	}
	return job, nil
}

const requeueBundleSQL = `
SELECT seq, generation, dropped_at FROM bundle WHERE id = ?`

const jobColumns = `
SELECT j.id, b.id, j.kind, j.status, j.attempts, j.generation, j.created_at
FROM job j
JOIN bundle b ON b.seq = j.bundle_seq`

const openJobSQL = jobColumns + `
WHERE j.bundle_seq = ? AND j.status IN ('queued', 'running')`

const jobSQL = jobColumns + `
WHERE j.id = ?`

const deleteOldJobsSQL = `
DELETE FROM job WHERE bundle_seq = ?`

const queueBundleSQL = `
UPDATE bundle SET status = 'queued', fault = '' WHERE seq = ? RETURNING case_seq`

func scanJob(rows *sql.Rows) (j Job, err error) {
	var created int64
	err = rows.Scan(&j.ID, &j.BundleID, &j.Kind, &j.Status, &j.Attempts, &j.Generation, &created)
	j.Created = fromMicros(created)
	return j, err
}

// Job returns a job, or *analysis.Fault "not_found".
func (s *Store) Job(ctx context.Context, id string) (j Job, err error) {
	err = s.read(ctx, "reading a job", func(tx *sql.Tx) error {
		found, err := collect(ctx, tx, scanJob, jobSQL, id)
		if err == nil && len(found) == 0 {
			return notFound("job", id)
		}
		if err == nil {
			j = found[0]
		}
		return err
	})
	return j, err
}

// Crashed is the Code of the fault about a bundle that crashed the process too often.
const Crashed = "crashed"

func crashed() *analysis.Fault {
	return &analysis.Fault{
		Code: Crashed,
		What: "the bundle was not read",
		Why:  fmt.Sprintf("the server stopped unexpectedly %d times while reading it: killed, out of memory, or by a fault in it", maxAttempts),
		Hint: "If the server or its machine was stopped for another reason, upload it again. Otherwise upload its files one by one to find the one that does it, and report it.",
	}
}

const forgetAllSeriesSQL = `
DELETE FROM series
WHERE NOT EXISTS (SELECT 1 FROM snapshot s WHERE s.series_seq = series.seq)`

// Cases that are being deleted have generation -1. Sweep deletes them, because a full volume
// may have no room for it here.
const deleteUnfinishedSQL = `
DELETE FROM snapshot
WHERE seq IN (
    SELECT s.seq
    FROM snapshot s
    JOIN bundle b ON b.seq = s.bundle_seq
    WHERE s.generation <> b.generation AND b.generation >= 0
)`
