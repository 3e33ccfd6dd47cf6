package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/store/blob"
)

// Status is the state of a bundle or a job.
type Status string

// The first result makes a bundle done. A re-analysis queues it again, keeps the old result
// visible, and sets it to done even if it fails.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Done      Status = "done"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// File is one uploaded file of a bundle; the hash names its blob.
type File struct {
	Name   string
	SHA256 string
	// Object is that which this upload brought, see blob.Name. Stored bundles do not say it.
	Object string
	// Size is in uploaded bytes.
	Size int64
	// Modified is when the file was last written, as its sender says; zero if not known.
	Modified time.Time
}

// Bundle is one upload.
type Bundle struct {
	ID      string
	CaseID  string
	Name    string
	Created time.Time
	Status  Status
	// Size is the sum over Files, in bytes.
	Size  int64
	Files []File
	// Error is why the last job failed, or nil.
	Error *analysis.Fault
	// Engine is the version of the rules of the visible result, 0 without a result. Generation
	// changes with every reading.
	Engine, Generation int
	// Unpacked is the number of bytes after unpacking.
	Unpacked            int64
	Snapshots, Problems int
	// Dropped is when a policy of retention dropped the bytes of Files, zero if none did.
	Dropped time.Time
}

// AddBundle records an upload whose blobs are stored, and its job, in one transaction: both
// survive a crash once it returns. A missing case is *analysis.Fault "not_found"; a missing
// blob is "missing_blob", and the file must be uploaded again. ErrThere means that the case has
// a bundle of exactly these files: FindBundle finds it.
func (s *Store) AddBundle(ctx context.Context, caseID, name string, files []File, receipts ...Receipt) (Bundle, Job, error) {
	return s.addBundle(ctx, caseID, name, files, steps{
		before: func(tx *sql.Tx) error {
			var there bool
			err := tx.QueryRowContext(ctx, bundleIsThereSQL, caseID, contentHash(hashesOf(files))).Scan(&there)
			if err == nil && there {
				err = ErrThere
			}
			return err
		},
		after: func(tx *sql.Tx, b Bundle) error { return s.issueAll(ctx, tx, receipts, b, "") },
	})
}

func (s *Store) issueAll(ctx context.Context, tx *sql.Tx, receipts []Receipt, b Bundle, ownerKey string) error {
	for _, r := range receipts {
		if err := s.issue(ctx, tx, r, b, ownerKey); err != nil {
			return err
		}
	}
	return nil
}

// ErrThere is the error of AddBundle for an upload that its case has.
var ErrThere = errors.New("the case has the upload")

const bundleIsThereSQL = `
SELECT EXISTS (SELECT 1 FROM bundle b JOIN cases c ON c.seq = b.case_seq WHERE c.id = ? AND b.content_hash = ?)`

// OpenCase creates a case and records its first upload in one transaction: a crash leaves
// both or nothing. Only this call returns the owner key.
func (s *Store) OpenCase(ctx context.Context, title, sample, name string, files []File, receipts ...Receipt) (c Case, b Bundle, ownerKey string, err error) {
	c, ownerKey, hash, err := s.newCase(title, sample)
	if err != nil {
		return Case{}, Bundle{}, "", err
	}
	b, _, err = s.addBundle(ctx, c.ID, name, files, steps{
		before: func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, createCaseSQL, c.ID, title, sample, hash, c.Created.UnixMicro())
			return err
		},
		after: func(tx *sql.Tx, b Bundle) error { return s.issueAll(ctx, tx, receipts, b, ownerKey) },
	})
	if err != nil {
		return Case{}, Bundle{}, "", err
	}
	return c, b, ownerKey, nil
}

// steps are those before and after a bundle is recorded, in the same transaction.
type steps struct {
	before func(*sql.Tx) error
	after  func(*sql.Tx, Bundle) error
}

// addBundle writes a bundle and its job.
func (s *Store) addBundle(ctx context.Context, caseID, name string, files []File, with steps) (Bundle, Job, error) {
	b := Bundle{CaseID: caseID, Name: name, Created: s.time(), Status: Queued, Files: slices.Clone(files)}
	for _, f := range files {
		b.Size += f.Size
	}
	var err error
	if b.ID, err = s.newID("b"); err != nil {
		return Bundle{}, Job{}, err
	}
	job := Job{BundleID: b.ID, Kind: jobIngest, Status: Queued, Generation: 1, Created: b.Created}
	if job.ID, err = s.newID("j"); err != nil {
		return Bundle{}, Job{}, err
	}
	if len(files) == 0 {
		return Bundle{}, Job{}, &analysis.Fault{Code: "empty", What: "the bundle has no file", Hint: "Upload at least one file."}
	}
	if s.uploads.bucket == nil {
		// Until the rows exist, only this lock protects the blobs from a deletion.
		s.referring.Lock()
		defer s.referring.Unlock()
		if err := s.haveBlobs(ctx, files); err != nil {
			return Bundle{}, Job{}, err
		}
	}
	err = s.write(ctx, "adding a bundle", func(tx *sql.Tx) error {
		if err := with.before(tx); err != nil {
			return err
		}
		if err := s.insertBundle(ctx, tx, b, job); err != nil {
			return err
		}
		return with.after(tx, b)
	})
	if unknown := (*commitError)(nil); errors.As(err, &unknown) && s.isAdded(ctx, b.ID) {
		err = nil
	}
	if err != nil {
		return Bundle{}, Job{}, err
	}
	for _, f := range files {
		s.uploads.directory.Claim(f.SHA256)
	}
	return b, job, nil
}

// isAdded reports whether a bundle was added although its commit seemed to fail. It asks until
// the database answers, for askTime at most: a lost connection takes a moment to be replaced.
func (s *Store) isAdded(ctx context.Context, id string) (added bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	for {
		if err := s.writer.QueryRowContext(ctx, bundleExistsSQL, id).Scan(&added); err == nil {
			return added
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(askPause):
		}
	}
}

const (
	askTime  = 10 * time.Second
	askPause = 50 * time.Millisecond
)

const bundleExistsSQL = `
SELECT EXISTS (SELECT 1 FROM bundle WHERE id = ?)`

// Discard removes the blobs of an unrecorded upload, unless another upload has recorded
// them.
func (s *Store) Discard(ctx context.Context, files []File) error {
	if s.uploads.bucket != nil {
		return s.discardObjects(ctx, files)
	}
	s.referring.Lock()
	defer s.referring.Unlock()
	var errs []error
	for _, f := range files {
		var recorded bool
		err := s.reader.QueryRowContext(ctx, blobRecordedSQL, f.SHA256).Scan(&recorded)
		switch {
		case err != nil:
			errs = append(errs, fault("looking for the uses of an upload", err))
		case recorded:
			s.uploads.directory.Claim(f.SHA256)
		default:
			errs = append(errs, s.uploads.directory.Release(f.SHA256))
		}
	}
	return errors.Join(errs...)
}

const blobRecordedSQL = `
SELECT EXISTS (SELECT 1 FROM blob WHERE sha256 = ?)`

func (s *Store) haveBlobs(ctx context.Context, files []File) error {
	for _, f := range files {
		switch err := s.uploads.Look(ctx, f.SHA256); {
		case err == nil:
		case codeOf(err) != "not_found" && codeOf(err) != blob.Damaged:
			return err
		default:
			return missingBlob(f)
		}
	}
	return nil
}

func missingBlob(f File) error {
	return &analysis.Fault{
		Code: "missing_blob", What: "the bytes of a file are not stored", Where: f.Name,
		Why: "another case that held the same bytes was deleted just now", Hint: "Upload the file again.",
	}
}

func (s *Store) insertBundle(ctx context.Context, tx *sql.Tx, b Bundle, job Job) error {
	var seq, caseSeq int64
	err := tx.QueryRowContext(ctx, insertBundleSQL, b.ID, b.CaseID, b.Name, b.Created.UnixMicro(), Queued, b.Size, contentHash(hashesOf(b.Files))).Scan(&seq, &caseSeq)
	if err != nil {
		return orNotFound(err, "case", b.CaseID)
	}
	for place, f := range b.Files {
		if err := s.referBlob(ctx, tx, f); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, insertFileSQL, seq, place, f.Name, f.SHA256, f.Size, microsOrNull(f.Modified)); err != nil {
			return err
		}
	}
	if err := insertJob(ctx, tx, job, seq); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, touchCaseSQL, b.Created.UnixMicro(), b.CaseID); err != nil {
		return err
	}
	return revise(ctx, tx, caseSeq)
}

const insertBundleSQL = `
INSERT INTO bundle (id, case_seq, name, created_at, status, size, content_hash)
SELECT ?1, c.seq, ?3, ?4, ?5, ?6, ?7
FROM cases c
WHERE c.id = ?2
RETURNING seq, case_seq`

// referBlob has a row for the bytes of a file.
func (s *Store) referBlob(ctx context.Context, tx *sql.Tx, f File) error {
	if s.uploads.bucket != nil {
		return s.referObject(ctx, tx, f)
	}
	_, err := tx.ExecContext(ctx, referBlobSQL, f.SHA256, f.Size)
	return err
}

// A marked blob is in use again.
const referBlobSQL = `
INSERT INTO blob (sha256, size) VALUES (?, ?)
ON CONFLICT (sha256) DO UPDATE SET forgotten = 0`

const insertFileSQL = `
INSERT INTO bundle_file (bundle_seq, place, name, sha256, size, modified)
VALUES (?, ?, ?, ?, ?, ?)`

// A changed case invalidates its summary, see SetCaseSummary.
const touchCaseSQL = `
UPDATE cases SET updated_at = ?, summarised = 0 WHERE id = ?`

func hashesOf(files []File) []string {
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = f.SHA256
	}
	return out
}

// contentHash is equal for the same set of files in any order.
func contentHash(hashes []string) []byte {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(hashes)), "\n")))
	return sum[:]
}

// FindBundle returns the newest bundle of a case with exactly these file hashes, in any
// order, and whether it exists.
func (s *Store) FindBundle(ctx context.Context, caseID string, hashes []string) (b Bundle, found bool, err error) {
	var id string
	err = s.reader.QueryRowContext(ctx, findBundleSQL, caseID, contentHash(hashes)).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return Bundle{}, false, nil
	}
	if err != nil {
		return Bundle{}, false, fault("looking for a bundle", err)
	}
	b, err = s.Bundle(ctx, id)
	return b, err == nil, err
}

const findBundleSQL = `
SELECT b.id
FROM bundle b
JOIN cases c ON c.seq = b.case_seq
WHERE c.id = ? AND b.content_hash = ?
ORDER BY b.seq DESC
LIMIT 1`

// FailedOn returns the bundles with a file with one of these hashes whose last reading
// failed with this code.
func (s *Store) FailedOn(ctx context.Context, code string, hashes []string) (ids []string, err error) {
	list, err := json.Marshal(append([]string{}, hashes...))
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, "looking for failed bundles", func(tx *sql.Tx) error {
		_, err := collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
			var id, text string
			if err := rows.Scan(&id, &text); err != nil {
				return none, err
			}
			why, err := readFault(text)
			if err == nil && why != nil && why.Code == code {
				ids = append(ids, id)
			}
			return none, err
		}, failedOnSQL, string(list))
		return err
	})
	return ids, err
}

// Bundles of a case that is being deleted have the generation -1.
const failedOnSQL = `
SELECT b.id, b.fault
FROM bundle b
WHERE b.fault <> '' AND b.status IN ('failed', 'done') AND b.generation >= 0
  AND b.seq IN (SELECT f.bundle_seq FROM bundle_file f WHERE f.sha256 IN (SELECT value FROM json_each(?)))
ORDER BY b.seq`

// Bundle returns a bundle, or *analysis.Fault "not_found".
func (s *Store) Bundle(ctx context.Context, id string) (Bundle, error) {
	found, err := s.bundles(ctx, bundleSQL, id)
	if err == nil && len(found) == 0 {
		err = notFound("bundle", id)
	}
	if err != nil {
		return Bundle{}, err
	}
	return found[0], nil
}

// Bundles returns the bundles of a case in the order of upload.
func (s *Store) Bundles(ctx context.Context, caseID string) ([]Bundle, error) {
	return s.bundles(ctx, bundlesSQL, caseID)
}

const bundleColumns = `
SELECT b.seq, b.id, c.id, b.name, b.created_at, b.status, b.size, b.fault, b.engine, b.generation,
       b.unpacked, b.snapshot_count, b.problem_count, b.dropped_at
FROM bundle b
JOIN cases c ON c.seq = b.case_seq`

const bundleSQL = bundleColumns + `
WHERE b.id = ?`

const bundlesSQL = bundleColumns + `
WHERE c.id = ?
ORDER BY b.seq`

// A bundleRow is a scanned row of a bundle.
type bundleRow struct {
	Bundle
	seq int64
}

func (s *Store) bundles(ctx context.Context, query, id string) (out []Bundle, err error) {
	err = s.read(ctx, "reading bundles", func(tx *sql.Tx) error {
		rows, err := collect(ctx, tx, scanBundle, query, id)
		if err != nil {
			return err
		}
		at := make(map[int64]int, len(rows))
		seqs := make([]int64, len(rows))
		for i, r := range rows {
			at[r.seq], seqs[i] = i, r.seq
			out = append(out, r.Bundle)
		}
		_, err = collect(ctx, tx, func(rows *sql.Rows) (struct{}, error) {
			var seq int64
			var f File
			var modified sql.NullInt64
			err := rows.Scan(&seq, &f.Name, &f.SHA256, &f.Size, &modified)
			f.Modified = timeOrZero(modified)
			out[at[seq]].Files = append(out[at[seq]].Files, f)
			return struct{}{}, err
		}, filesSQL, listOf(seqs))
		return err
	})
	return out, err
}

func scanBundle(rows *sql.Rows) (r bundleRow, err error) {
	var created int64
	var dropped sql.NullInt64
	var failure string
	err = rows.Scan(&r.seq, &r.ID, &r.CaseID, &r.Name, &created, &r.Status, &r.Size, &failure, &r.Engine, &r.Generation,
		&r.Unpacked, &r.Snapshots, &r.Problems, &dropped)
	if err != nil {
		return r, err
	}
	r.Created, r.Dropped = fromMicros(created), timeOrZero(dropped)
	r.Error, err = readFault(failure)
	return r, err
}

const filesSQL = `
SELECT bundle_seq, name, sha256, size, modified
FROM (
    SELECT bundle_seq, place, name, sha256, size, modified FROM bundle_file
    UNION ALL
    SELECT bundle_seq, place, name, sha256, size, modified FROM dropped_file
) file
WHERE bundle_seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))
ORDER BY bundle_seq, place`

// A storedFault is the part of a fault that the database contains.
type storedFault struct {
	Code  string `json:"code"`
	What  string `json:"what"`
	Where string `json:"where,omitempty"`
	Why   string `json:"why,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

func writeFault(f *analysis.Fault) (string, error) {
	if f == nil {
		f = &analysis.Fault{Code: "unknown", What: "the analysis failed"}
	}
	text, err := json.Marshal(storedFault{
		Code: f.Code, What: cmp.Or(f.What, "the analysis failed"), Where: f.Where, Why: f.Why, Hint: f.Hint,
	})
	return string(text), err
}

func readFault(text string) (*analysis.Fault, error) {
	if text == "" {
		return nil, nil
	}
	var f storedFault
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return nil, err
	}
	return &analysis.Fault{Code: f.Code, What: f.What, Where: f.Where, Why: f.Why, Hint: f.Hint}, nil
}

// RemoveBundle removes a bundle, its job, its snapshots and its unreferenced blobs. A
// running job fails at its next write.
func (s *Store) RemoveBundle(ctx context.Context, id string) error {
	err := s.writeReserved(ctx, "removing a bundle", func(tx *sql.Tx) error {
		hashes, err := collect(ctx, tx, scanOne[string], bundleBlobsSQL, id)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, touchCaseOfBundleSQL, s.time().UnixMicro(), id); err != nil {
			return err
		}
		var seq, caseSeq, generation int64
		if err := tx.QueryRowContext(ctx, bundleRowSQL, id).Scan(&seq, &caseSeq, &generation); err != nil {
			return orNotFound(err, "bundle", id)
		}
		days, err := shownDays(ctx, tx, seq, generation)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, deleteBundleSQL, id); err != nil {
			return err
		}
		if err := s.forgetBlobs(ctx, tx, hashes); err != nil {
			return err
		}
		if err := sumAgain(ctx, tx, days); err != nil {
			return err
		}
		// They tell of the bundle.
		if _, err := tx.ExecContext(ctx, forgetCaseJudgementsSQL, caseSeq); err != nil {
			return err
		}
		if err := forgetObjects(ctx, tx, caseSeq); err != nil {
			return err
		}
		if err := revise(ctx, tx, caseSeq); err != nil {
			return err
		}
		return forgetSeries(ctx, tx, caseSeq)
	})
	if err != nil {
		return err
	}
	return s.reclaim(context.WithoutCancel(ctx))
}

const bundleBlobsSQL = `
SELECT DISTINCT f.sha256
FROM bundle b
JOIN bundle_file f ON f.bundle_seq = b.seq
WHERE b.id = ?`

const touchCaseOfBundleSQL = `
UPDATE cases SET updated_at = ?, summarised = 0
WHERE seq = (SELECT case_seq FROM bundle WHERE id = ?)`

const bundleRowSQL = `
SELECT seq, case_seq, generation FROM bundle WHERE id = ?`

const deleteBundleSQL = `
DELETE FROM bundle WHERE id = ?`

const forgetCaseJudgementsSQL = `
DELETE FROM series_judgement WHERE case_seq = ?`
