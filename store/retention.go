package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"leakdiff/analysis"
)

// Retention says for how many days after their upload parts of a case are kept. 0 keeps them
// for ever.
type Retention struct {
	// Members are those of families: goroutines, threads, descriptors and watches with their
	// identities. Those of some snapshots are kept for ever: see surplus.
	Members int `json:"members"`
	// Uploads are the uploaded bytes.
	Uploads int `json:"uploads"`
}

// MostDays bounds each of the days of a policy.
const MostDays = 36500

// Valid reports whether the days are from 0 to MostDays.
func (r Retention) Valid() bool {
	return r.Members >= 0 && r.Members <= MostDays && r.Uploads >= 0 && r.Uploads <= MostDays
}

// The fields of a case (see SetField) with days of its own. Empty is as the server keeps.
const (
	KeepMembersField = "keep_members"
	KeepUploadsField = "keep_uploads"
)

// Retained is what a policy drops, or would drop.
type Retained struct {
	// Snapshots lose their members, Bundles their uploads. Both are counted as stored,
	// MemberBytes packed and UploadBytes as uploaded.
	Snapshots   int   `json:"snapshots"`
	MemberBytes int64 `json:"member_bytes"`
	Bundles     int   `json:"bundles"`
	UploadBytes int64 `json:"upload_bytes"`
}

// Add adds what is dropped elsewhere.
func (r *Retained) Add(other Retained) {
	r.Snapshots += other.Snapshots
	r.MemberBytes += other.MemberBytes
	r.Bundles += other.Bundles
	r.UploadBytes += other.UploadBytes
}

// CaseRetained is what a policy drops of one case.
type CaseRetained struct {
	CaseID string `json:"case"`
	Title  string `json:"title"`
	// Keep is the policy of the case.
	Keep Retention `json:"keep"`
	Retained
}

// TotalOf adds up what a policy drops of cases.
func TotalOf(cases []CaseRetained) (all Retained) {
	for _, c := range cases {
		all.Add(c.Retained)
	}
	return all
}

// PlanRetention returns what Retain would drop now, by case in the order of their making. A
// case of which nothing is dropped is left out, unless it is asked for by its id.
func (s *Store) PlanRetention(ctx context.Context, keep Retention, caseID string) (out []CaseRetained, err error) {
	cases, err := s.casesToRetain(ctx, keep, caseID)
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		err := s.surplusOfCase(ctx, c, func(of Retained, _ []int64) error { c.Add(of); return nil })
		if err != nil {
			return nil, err
		}
		bundles, err := s.uploadsToDrop(ctx, c)
		if err != nil {
			return nil, err
		}
		for _, b := range bundles {
			c.Add(Retained{Bundles: 1, UploadBytes: b.size})
		}
		if caseID != "" || c.Retained != (Retained{}) {
			out = append(out, c.CaseRetained)
		}
	}
	return out, nil
}

// retaining is the duty to drop.
const retaining = "retention"

// RetainedElsewhere is the Code of the fault of Retain while another server drops.
const RetainedElsewhere = "retained_elsewhere"

// Retain drops what policies no longer keep, in small transactions, and returns what it
// dropped by case, also beside an error. What is said of a case does not change: its report
// stays, and so do the families, counts and totals of every snapshot. After an interruption the
// next call goes on.
func (s *Store) Retain(ctx context.Context, keep Retention) (done []CaseRetained, err error) {
	mine, err := s.TakeDuty(ctx, retaining)
	if err == nil && !mine {
		err = errOffDuty
	}
	if err == nil {
		err = s.clockAhead(ctx)
	}
	if err == nil {
		done, err = s.retain(ctx, keep)
	}
	if errors.Is(err, errOffDuty) {
		err = &analysis.Fault{
			Code: RetainedElsewhere, What: "another server with this database drops what its policy of retention no longer keeps", Why: "one does so at a time",
			Hint: "Repeat this in a minute.",
		}
	}
	return done, err
}

func (s *Store) retain(ctx context.Context, keep Retention) (done []CaseRetained, err error) {
	cases, err := s.casesToRetain(ctx, keep, "")
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		of, err := s.retainCase(ctx, c)
		if of != (Retained{}) {
			c.Retained = of
			done = append(done, c.CaseRetained)
		}
		if err != nil {
			return done, err
		}
	}
	if err := s.endDuty(ctx, "giving the work of retention back", retaining); err != nil || len(done) == 0 {
		return done, err
	}
	return done, s.reclaim(ctx)
}

// retainCase is Retain for one case.
func (s *Store) retainCase(ctx context.Context, c retainedCase) (done Retained, err error) {
	err = s.surplusOfCase(ctx, c, func(of Retained, seqs []int64) error {
		err := s.thin(ctx, c.seq, seqs)
		if err == nil {
			done.Add(of)
		}
		return err
	})
	if err != nil {
		return done, err
	}
	bundles, err := s.uploadsToDrop(ctx, c)
	if err != nil {
		return done, err
	}
	for _, b := range bundles {
		dropped, err := s.dropUpload(ctx, b.seq)
		if err != nil {
			return done, err
		}
		if dropped {
			done.Add(Retained{Bundles: 1, UploadBytes: b.size})
		}
	}
	return done, nil
}

// retainedCase is a case with the times before which uploads count as old, 0 for never.
type retainedCase struct {
	CaseRetained
	seq, members, uploads int64
}

// casesToRetain returns the cases with a policy, or the one with an id.
func (s *Store) casesToRetain(ctx context.Context, keep Retention, caseID string) (out []retainedCase, err error) {
	now := s.time()
	before := func(days int) int64 {
		if days <= 0 {
			return 0
		}
		return now.AddDate(0, 0, -min(days, MostDays)).UnixMicro() // more days would overflow
	}
	err = s.read(ctx, "looking for policies of retention", func(tx *sql.Tx) error {
		out, err = collect(ctx, tx, func(rows *sql.Rows) (c retainedCase, err error) {
			err = rows.Scan(&c.seq, &c.CaseID, &c.Title, &c.Keep.Members, &c.Keep.Uploads)
			c.members, c.uploads = before(c.Keep.Members), before(c.Keep.Uploads)
			return c, err
		}, casesToRetainSQL, keep.Members, keep.Uploads, KeepMembersField, KeepUploadsField, caseID)
		if err == nil && len(out) == 0 && caseID != "" {
			err = notFound("case", caseID)
		}
		return err
	})
	return slices.DeleteFunc(out, func(c retainedCase) bool { return caseID == "" && c.members == 0 && c.uploads == 0 }), err
}

const casesToRetainSQL = `
SELECT c.seq, c.id, c.title,
       coalesce((SELECT CAST(f.value AS BIGINT) FROM case_field f WHERE f.case_seq = c.seq AND f.field = ?3 AND f.value <> ''), CAST(?1 AS BIGINT)),
       coalesce((SELECT CAST(f.value AS BIGINT) FROM case_field f WHERE f.case_seq = c.seq AND f.field = ?4 AND f.value <> ''), CAST(?2 AS BIGINT))
FROM cases c
WHERE c.deleting = '' AND (?5 = '' OR c.id = ?5)
ORDER BY c.seq`

// captureTotals are the totals of a snapshot by kind, -1 where it has none.
type captureTotals [4]int

// thinnable is a snapshot with members in its series.
type thinnable struct {
	seq, at int64
	// bytes is the size of the packed members.
	bytes int64
	// old is true if the policy no longer keeps all members of its upload.
	old    bool
	totals captureTotals
}

const (
	microsOfHour = 60 * 60 * 1_000_000
	// fewestKept is the number of snapshots of a series that keep their members at least. Fewer
	// would often prove less by identity than was proven.
	fewestKept = 24
)

// surplus returns the snapshots of a series that a policy takes the members of: the replaceable
// ones, without as many, spread evenly, as must stay for fewestKept. The list has the snapshots
// with members alone, in order of time. So what it leaves has no surplus.
func surplus(list []thinnable) []thinnable {
	out := replaceable(list)
	need := fewestKept - (len(list) - len(out))
	if need >= len(out) {
		return nil
	}
	for i := need - 1; i >= 0; i-- {
		at := i * len(out) / need
		out = slices.Delete(out, at, at+1)
	}
	return out
}

// replaceable returns the old snapshots that are neither the first nor the last one, nor the
// first one of an hour (UTC), nor the first one with the highest total of a kind.
func replaceable(list []thinnable) (out []thinnable) {
	var peaks [len(captureTotals{})]int
	for i, x := range list {
		for k, total := range x.totals {
			if total > list[peaks[k]].totals[k] {
				peaks[k] = i
			}
		}
	}
	for i, x := range list {
		begins := i == 0 || x.at/microsOfHour != list[i-1].at/microsOfHour
		if x.old && i < len(list)-1 && !begins && !slices.Contains(peaks[:], i) {
			out = append(out, x)
		}
	}
	return out
}

// Limits of one transaction.
const (
	thinSnapshots = 200
	thinBytes     = 16 << 20
)

// surplusOfCase passes the snapshots of a case that lose their members to drop, some at a time.
func (s *Store) surplusOfCase(ctx context.Context, c retainedCase, drop func(of Retained, seqs []int64) error) error {
	if c.members == 0 {
		return nil
	}
	var all []int64
	err := s.read(ctx, "looking for series to thin", func(tx *sql.Tx) (err error) {
		all, err = collect(ctx, tx, scanOne[int64], seriesToThinSQL, c.seq, c.members)
		return err
	})
	if err != nil {
		return err
	}
	for _, series := range all {
		left, err := s.surplusOfSeries(ctx, series, c.members)
		if err != nil {
			return err
		}
		var of Retained
		var seqs []int64
		for i, x := range left {
			of.Snapshots, of.MemberBytes, seqs = of.Snapshots+1, of.MemberBytes+x.bytes, append(seqs, x.seq)
			if i < len(left)-1 && len(seqs) < thinSnapshots && of.MemberBytes < thinBytes {
				continue
			}
			if err := drop(of, seqs); err != nil {
				return err
			}
			of, seqs = Retained{}, nil
		}
	}
	return nil
}

const seriesToThinSQL = `
SELECT DISTINCT s.series_seq
FROM bundle b
JOIN snapshot s ON s.bundle_seq = b.seq AND s.generation = b.generation
WHERE b.case_seq = ? AND b.created_at < ? AND s.captured_at IS NOT NULL AND s.thinned_at IS NULL
ORDER BY 1`

func (s *Store) surplusOfSeries(ctx context.Context, series, before int64) (out []thinnable, err error) {
	err = s.read(ctx, "looking for members to drop", func(tx *sql.Tx) error {
		list, err := collect(ctx, tx, func(rows *sql.Rows) (x thinnable, err error) {
			return x, rows.Scan(&x.seq, &x.at, &x.bytes, &x.old)
		}, thinnableSQL, series, before)
		if err != nil || len(surplus(list)) == 0 {
			return err // totals can only keep more
		}
		if err := readTotals(ctx, tx, list); err != nil {
			return err
		}
		out = surplus(list)
		return nil
	})
	return out, err
}

const thinnableSQL = `
SELECT s.seq, s.captured_at, length(m.members), CASE WHEN b.created_at < ?2 THEN 1 ELSE 0 END
FROM snapshot s
JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation
JOIN snapshot_members m ON m.snapshot_seq = s.seq
WHERE s.series_seq = ?1 AND s.captured_at IS NOT NULL
ORDER BY s.captured_at, b.seq, s.place`

// readTotals sets the totals of the list. A head that cannot be read has none.
func readTotals(ctx context.Context, tx *sql.Tx, list []thinnable) error {
	at := map[int64]int{}
	seqs := make([]int64, len(list))
	for i, x := range list {
		at[x.seq], seqs[i] = i, x.seq
		list[i].totals = captureTotals{-1, -1, -1, -1}
	}
	var p packer
	defer p.close()
	_, err := collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
		var seq int64
		var label string
		var head sql.RawBytes
		if err := rows.Scan(&seq, &label, &head); err != nil {
			return none, err
		}
		snap, _, err := unpackHead(&p, "", label, head)
		if err != nil {
			return none, nil
		}
		for k, total := range []*int{snap.Totals.Goroutines, snap.Totals.Threads, snap.Totals.Descriptors, snap.Totals.Watches} {
			if total != nil {
				list[at[seq]].totals[k] = *total
			}
		}
		return none, nil
	}, headsSQL, listOf(seqs))
	return err
}

// thin drops the members of snapshots of a case and marks these. The revision of the case rises,
// so that no server shows members which it has in memory. What is said of the case does not
// change: its report stays, now as that of the new revision, and nothing is judged again.
func (s *Store) thin(ctx context.Context, caseSeq int64, seqs []int64) error {
	now, list := s.time().UnixMicro(), listOf(seqs)
	return s.writeReserved(ctx, "dropping members", func(tx *sql.Tx) error {
		if _, err := s.onDuty(ctx, tx, retaining); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, reviseSQL, caseSeq); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, markThinnedSQL, now, list); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, dropMembersSQL, list)
		return err
	})
}

const markThinnedSQL = `
UPDATE snapshot SET thinned_at = ?1 WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?2))`

const dropMembersSQL = `
DELETE FROM snapshot_members WHERE snapshot_seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`

// droppable is a bundle with its size in uploaded bytes.
type droppable struct{ seq, size int64 }

func (s *Store) uploadsToDrop(ctx context.Context, c retainedCase) (out []droppable, err error) {
	if c.uploads == 0 {
		return nil, nil
	}
	err = s.read(ctx, "looking for uploads to drop", func(tx *sql.Tx) error {
		out, err = collect(ctx, tx, func(rows *sql.Rows) (d droppable, err error) {
			return d, rows.Scan(&d.seq, &d.size)
		}, uploadsToDropSQL, c.seq, c.uploads)
		return err
	})
	return out, err
}

// A bundle that waits or is being read needs its upload.
const droppableSQL = `dropped_at IS NULL AND status IN ('done', 'failed', 'cancelled') AND generation >= 0
  AND NOT EXISTS (SELECT 1 FROM job j WHERE j.bundle_seq = bundle.seq AND j.status IN ('queued', 'running'))`

const uploadsToDropSQL = `
SELECT seq, size FROM bundle WHERE case_seq = ? AND created_at < ? AND ` + droppableSQL + `
ORDER BY seq`

// dropUpload drops the uploaded bytes of a bundle, unless it is read again by now. Names,
// hashes and sizes of its files stay. Reclaim removes the bytes, if no other bundle refers to
// them.
func (s *Store) dropUpload(ctx context.Context, bundle int64) (dropped bool, err error) {
	err = s.writeReserved(ctx, "dropping an upload", func(tx *sql.Tx) error {
		if _, err := s.onDuty(ctx, tx, retaining); err != nil {
			return err
		}
		n, err := rowsOf(tx.ExecContext(ctx, markDroppedSQL, s.time().UnixMicro(), bundle))
		if dropped = n > 0; err != nil || !dropped {
			return err
		}
		hashes, err := collect(ctx, tx, scanOne[string], hashesOfBundleSQL, bundle)
		if err != nil {
			return err
		}
		for _, query := range []string{keepFilesSQL, dropFilesSQL} {
			if _, err := tx.ExecContext(ctx, query, bundle); err != nil {
				return err
			}
		}
		return s.forgetBlobs(ctx, tx, hashes)
	})
	return dropped, err
}

const markDroppedSQL = `
UPDATE bundle SET dropped_at = ?1 WHERE seq = ?2 AND ` + droppableSQL

const hashesOfBundleSQL = `
SELECT DISTINCT sha256 FROM bundle_file WHERE bundle_seq = ?`

const keepFilesSQL = `
INSERT INTO dropped_file (bundle_seq, place, name, sha256, size, modified)
SELECT bundle_seq, place, name, sha256, size, modified FROM bundle_file WHERE bundle_seq = ?`

const dropFilesSQL = `
DELETE FROM bundle_file WHERE bundle_seq = ?`

// UploadDropped is the fault of what needs the bytes of a bundle that were dropped.
func UploadDropped(where string, at time.Time) *analysis.Fault {
	return &analysis.Fault{
		Code: "gone", What: "the uploaded bytes of this bundle were dropped", Where: where,
		Why:  "the policy of retention keeps uploads for some days, and dropped these on " + at.UTC().Format("2006-01-02"),
		Hint: "What was read of them stays. To read them again, upload the same file into a new case.",
	}
}
