package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"leakdiff/analysis"
)

// Several servers may have one PostgreSQL database. A job that runs is leased by one of them:
// its row names the owner, and until when it is the owner's without another sign. Each claim
// draws a new generation, by which everything is refused that an earlier owner still writes.
// One process owns a file, so jobs there have no end of their lease.

// leaseTime is how long a server that gives no sign keeps its jobs and the keys of answers, and
// dutyTime its duties.
const (
	leaseTime = 20 * time.Second
	dutyTime  = time.Minute
)

// Shared reports whether other servers may have the database open.
func (s *Store) Shared() bool { return !s.engine.ownsFile() }

// lease is the length of a lease in microseconds, 0 for one without an end.
func (s *Store) lease() int64 {
	if !s.Shared() {
		return 0
	}
	return leaseTime.Microseconds()
}

// Lease is a job of this server with a text that says how far it is, for other servers.
type Lease struct {
	Job      Job
	Progress string
}

// Renew renews leases and returns the jobs that are no longer this server's: they were
// cancelled or deleted, or another server has inherited them.
func (s *Store) Renew(ctx context.Context, leases []Lease) (lost []Job, err error) {
	if !s.Shared() {
		return nil, nil
	}
	for _, l := range leases {
		n, err := rowsOf(s.beats.ExecContext(ctx, renewSQL+s.engine.skipLocked()+`)`, s.lease(), l.Progress, l.Job.ID, s.self, l.Job.Generation))
		var own bool
		if err == nil && n == 0 {
			// A result is being written, which renews the lease itself.
			err = s.beats.QueryRowContext(ctx, ownsJobSQL, l.Job.ID, s.self, l.Job.Generation).Scan(&own)
		}
		if err != nil {
			return nil, fault("renewing a lease", err)
		}
		if n == 0 && !own {
			lost = append(lost, l.Job)
		}
	}
	return lost, nil
}

const renewSQL = `
UPDATE job SET leased_until = clock_micros() + ?1, progress = ?2
WHERE seq IN (SELECT seq FROM job WHERE id = ?3 AND owner = ?4 AND generation = ?5 AND status = 'running'`

const ownsJobSQL = `
SELECT EXISTS (SELECT 1 FROM job WHERE id = ? AND owner = ? AND generation = ? AND status = 'running')`

// Progress returns what the owner of a bundle's running job last said with Renew, "" if no job
// of it runs.
func (s *Store) Progress(ctx context.Context, bundleID string) (progress string, err error) {
	err = s.reader.QueryRowContext(ctx, progressSQL, bundleID).Scan(&progress)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return progress, fault("reading how far a job is", err)
}

const progressSQL = `
SELECT j.progress FROM job j JOIN bundle b ON b.seq = j.bundle_seq WHERE b.id = ? AND j.status = 'running'`

// Inherit queues the jobs again whose owner gave no sign until their lease ended, or fails
// those that have ended several servers.
func (s *Store) Inherit(ctx context.Context) error {
	var ended bool
	if err := s.reader.QueryRowContext(ctx, anyEndedLeaseSQL).Scan(&ended); err != nil || !ended {
		return fault("looking for jobs", err)
	}
	return s.writeReserved(ctx, "inheriting jobs", func(tx *sql.Tx) error {
		_, err := s.requeueEnded(ctx, tx)
		return err
	})
}

const anyEndedLeaseSQL = `
SELECT EXISTS (SELECT 1 FROM job WHERE status = 'running' AND leased_until < clock_micros())`

// repair restores a consistent state after a crash. It queues running jobs again whose lease
// has ended, or fails them after too many crashes, and removes their rows. If no other server
// has the database, these are all running jobs.
func (s *Store) repair(ctx context.Context) error {
	return s.writeReserved(ctx, "repairing the database", func(tx *sql.Tx) error {
		if s.alone {
			for _, query := range []string{endLeasesSQL, endDutiesSQL} {
				if _, err := tx.ExecContext(ctx, query); err != nil {
					return err
				}
			}
		}
		again, err := s.requeueEnded(ctx, tx)
		if err != nil || s.Shared() {
			return err
		}
		if err := reviseFound(ctx, tx, requeueBundlesSQL); err != nil {
			return err
		}
		left, err := rowsOf(tx.ExecContext(ctx, deleteUnfinishedSQL))
		if err != nil || again+left == 0 {
			return err
		}
		s.log.InfoContext(ctx, "repaired after a crash", "jobs_queued_again", again, "snapshots_removed", left)
		_, err = tx.ExecContext(ctx, forgetAllSeriesSQL)
		return err
	})
}

// requeueEnded queues the jobs again whose lease has ended. Of those in a file repair removes
// the rows.
func (s *Store) requeueEnded(ctx context.Context, tx *sql.Tx) (again int64, err error) {
	type endedJob struct {
		id       string
		attempts int
	}
	ended, err := collect(ctx, tx, func(rows *sql.Rows) (j endedJob, err error) {
		return j, rows.Scan(&j.id, &j.attempts)
	}, endedLeasesSQL+s.engine.skipLocked())
	if err != nil {
		return 0, err
	}
	for _, j := range ended {
		t, err := targetOf(ctx, tx, j.id)
		if err != nil {
			return again, err
		}
		if j.attempts >= maxAttempts {
			s.log.WarnContext(ctx, "job given up", "job", j.id)
			if err := endJob(ctx, tx, t, Failed, crashed()); err != nil {
				return again, err
			}
			continue
		}
		if s.Shared() {
			s.log.InfoContext(ctx, "a job is read again whose server gave no sign", "job", j.id)
			if err := requeue(ctx, tx, t); err != nil {
				return again, err
			}
		} else if _, err := tx.ExecContext(ctx, requeueJobSQL, t.job); err != nil {
			return again, err
		}
		again++
	}
	return again, nil
}

// requeue queues a running job again, without its rows.
func requeue(ctx context.Context, tx *sql.Tx, t target) error {
	if _, err := tx.ExecContext(ctx, deleteGenerationSQL, t.bundle, t.generation); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, requeueJobSQL, t.job); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, waitAgainSQL, t.bundle); err != nil {
		return err
	}
	if err := revise(ctx, tx, t.caseSeq); err != nil {
		return err
	}
	return forgetSeries(ctx, tx, t.caseSeq)
}

const endedLeasesSQL = `
SELECT id, attempts FROM job
WHERE status = 'running' AND (leased_until IS NULL OR leased_until < clock_micros())`

const requeueJobSQL = `
UPDATE job SET status = 'queued', owner = '', leased_until = NULL, progress = '' WHERE seq = ?`

const waitAgainSQL = `
UPDATE bundle SET status = 'queued' WHERE seq = ?`

const requeueBundlesSQL = `
UPDATE bundle SET status = 'queued' WHERE status = 'running' RETURNING case_seq`

// giveBack queues the running jobs of this server again and ends its duties.
func (s *Store) giveBack(ctx context.Context) error {
	return s.write(ctx, "giving jobs back", func(tx *sql.Tx) error {
		own, err := collect(ctx, tx, scanOne[string], ownJobsSQL, s.self)
		if err != nil {
			return err
		}
		for _, id := range own {
			t, err := targetOf(ctx, tx, id)
			if err != nil {
				return err
			}
			if err := requeue(ctx, tx, t); err != nil {
				return err
			}
			// A job that ran when its server stopped did not crash it.
			if _, err := tx.ExecContext(ctx, noAttemptSQL, t.job); err != nil {
				return err
			}
		}
		if !s.Shared() {
			return nil
		}
		_, err = tx.ExecContext(ctx, endOwnDutiesSQL, s.self)
		return err
	})
}

const ownJobsSQL = `
SELECT id FROM job WHERE status = 'running' AND owner = ?`

const noAttemptSQL = `
UPDATE job SET attempts = attempts - 1 WHERE seq = ?`

const endOwnDutiesSQL = `
DELETE FROM duty WHERE owner = ?`

// own locks the row of a running job until the transaction ends and renews its lease. It fails
// for jobs that are not running, or not under this claim (any more).
func (s *Store) own(ctx context.Context, tx *sql.Tx, job Job) (target, error) {
	n, err := rowsOf(tx.ExecContext(ctx, ownJobSQL, s.lease(), job.ID, s.self, job.Generation))
	if err != nil {
		return target{}, err
	}
	t, err := targetOf(ctx, tx, job.ID)
	switch {
	case err != nil:
		return t, err
	case t.status != Running:
		return t, over(t.status)
	case n == 0:
		return t, &analysis.Fault{Code: "lost", What: "the job is not that of this server", Why: "this server gave no sign for " + leaseTime.String() + ", and another one reads the bundle"}
	}
	return t, nil
}

// The row is locked by its first statement: a transaction that waits for another one sees the
// state after it.
const ownJobSQL = `
UPDATE job SET leased_until = CASE WHEN CAST(?1 AS BIGINT) > 0 THEN clock_micros() + ?1 END
WHERE id = ?2 AND owner = ?3 AND generation = ?4 AND status = 'running'`

// errOffDuty means that another server has a duty.
var errOffDuty = errors.New("another server does this")

// onDuty takes or renews a duty for a minute within a transaction, which thereby is that of the
// only server on duty. It reports whether the duty is new to this server: another one may have
// had it before. The error is errOffDuty while another server has it.
func (s *Store) onDuty(ctx context.Context, tx *sql.Tx, name string) (isNew bool, err error) {
	return s.onDutyFor(ctx, tx, name, dutyTime)
}

// onDutyFor is onDuty for another time.
func (s *Store) onDutyFor(ctx context.Context, tx *sql.Tx, name string, length time.Duration) (isNew bool, err error) {
	var owner string
	var over bool
	err = tx.QueryRowContext(ctx, dutySQL, name).Scan(&owner, &over)
	none := errors.Is(err, sql.ErrNoRows)
	switch {
	case err != nil && !none:
		return false, err
	case !none && owner != s.self && !over:
		return false, errOffDuty
	}
	_, err = tx.ExecContext(ctx, takeDutySQL, name, s.self, length.Microseconds())
	return owner != s.self, err
}

const dutySQL = `
SELECT owner, CASE WHEN until < clock_micros() THEN 1 ELSE 0 END FROM duty WHERE name = ?`

const takeDutySQL = `
INSERT INTO duty (name, owner, until) VALUES (?1, ?2, clock_micros() + ?3)
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until`

const endLeasesSQL = `
UPDATE job SET leased_until = NULL WHERE status = 'running' AND leased_until IS NOT NULL`

const endDutiesSQL = `
DELETE FROM duty`

// TakeDuty takes or renews a duty for a minute, and reports whether this server has it. On a
// file every duty is that of its process, and nothing is written.
func (s *Store) TakeDuty(ctx context.Context, name string) (mine bool, err error) {
	return s.takeDuty(ctx, fmt.Sprintf("taking the duty %q", name), name, dutyTime)
}

// takeDuty is TakeDuty for another time. what says in a fault what was done.
func (s *Store) takeDuty(ctx context.Context, what, name string, length time.Duration) (mine bool, err error) {
	if !s.Shared() {
		return true, nil
	}
	err = s.write(ctx, what, func(tx *sql.Tx) error {
		_, err := s.onDutyFor(ctx, tx, name, length)
		return err
	})
	if errors.Is(err, errOffDuty) {
		return false, nil
	}
	return err == nil, err
}

// endDuty gives a duty of this server back before its time. what says in a fault what was done.
func (s *Store) endDuty(ctx context.Context, what, name string) error {
	if !s.Shared() {
		return nil
	}
	_, err := s.writer.ExecContext(ctx, endDutySQL, name, s.self)
	return fault(what, err)
}

const endOldDutiesSQL = `
DELETE FROM duty WHERE until < clock_micros() - ?`

const endDutySQL = `
DELETE FROM duty WHERE name = ? AND owner = ?`
