package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"leakdiff/analysis"
	"leakdiff/store/blob"
)

// ownerSetting identifies the database in its bucket.
const ownerSetting = "owner of the bucket"

// openBucket opens the bucket of the uploads, if there is one. The uploads of a database are
// in one place: it refuses a database that has them in another.
func (s *Store) openBucket(ctx context.Context, address string) error {
	var inDirectory, inBucket bool
	if err := s.reader.QueryRowContext(ctx, placesSQL).Scan(&inDirectory, &inBucket); err != nil {
		return err
	}
	switch {
	case address == "" && inBucket:
		return bucketNeeded("the database was not opened")
	case address == "":
		return nil
	case inDirectory:
		return &analysis.Fault{
			Code: "other_place", What: "the database was not opened", Where: "--blobs", Why: "the uploads of this database are in the data directory, and those of one database are in one place",
			Hint: "Start without --blobs, or move everything into the bucket first with leakdiff migrate --from DIR --to NEW --blobs s3://….",
		}
	}
	owner, set, err := s.Setting(ctx, ownerSetting)
	if err == nil && !set {
		// Several servers may start at once.
		err = s.ChangeSetting(ctx, ownerSetting, func(drawn string) (string, error) {
			owner = cmp.Or(drawn, rand.Text())
			return owner, nil
		})
	}
	if err != nil {
		return err
	}
	s.uploads.bucket, err = blob.OpenBucket(ctx, blob.BucketConfig{Address: address, Log: s.log, Owner: owner, Used: inBucket})
	s.owner = owner
	return err
}

// A row that is forgotten has no bytes that anybody needs.
const placesSQL = `
SELECT EXISTS (SELECT 1 FROM blob WHERE object IS NULL AND forgotten = 0),
       EXISTS (SELECT 1 FROM blob WHERE object IS NOT NULL)`

// bucketNeeded refuses to work on a database whose uploads are in a bucket without it.
func bucketNeeded(what string) error {
	return &analysis.Fault{
		Code: "other_place", What: what, Where: "--blobs", Why: "the uploads of this database are in a bucket",
		Hint: "Give the address of the bucket with --blobs s3://….",
	}
}

// replacedLife is how long an object stays that the same upload replaced: it may be read yet.
const replacedLife = time.Hour

// referObject has the row of an upload name the object that brought it. What another upload of
// the same bytes brought before may be damaged or missing, and is removed. The error is
// "missing_blob" if the object is to be removed itself, or if there is none.
func (s *Store) referObject(ctx context.Context, tx *sql.Tx, f File) error {
	var noted bool
	if err := tx.QueryRowContext(ctx, objectNotedSQL, f.Object).Scan(&noted); err != nil {
		return err
	}
	var before string
	err := tx.QueryRowContext(ctx, objectSQL, f.SHA256).Scan(&before)
	known := err == nil
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	switch {
	case noted || f.Object == "" && !known:
		return missingBlob(f)
	case !known:
		_, err := tx.ExecContext(ctx, insertObjectSQL, f.SHA256, f.Size, f.Object)
		return err
	case f.Object == "" || f.Object == before:
		return nil
	}
	if _, err := tx.ExecContext(ctx, replaceObjectSQL, f.Object, f.SHA256); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, noteObjectSQL, before, s.time().Add(replacedLife).UnixMicro())
	return err
}

// PutBack has bundles read what an upload brought that a case holds already: what it brought
// before may be damaged. Put does so itself in a directory.
func (s *Store) PutBack(ctx context.Context, files []File) error {
	if s.uploads.bucket == nil {
		return nil
	}
	return s.write(ctx, "putting uploads back", func(tx *sql.Tx) error {
		for _, f := range files {
			if err := s.referObject(ctx, tx, f); err != nil {
				return err
			}
		}
		return nil
	})
}

const objectNotedSQL = `
SELECT EXISTS (SELECT 1 FROM object_to_forget WHERE object = ?)`

const insertObjectSQL = `
INSERT INTO blob (sha256, size, object) VALUES (?, ?, ?)`

const replaceObjectSQL = `
UPDATE blob SET object = ? WHERE sha256 = ?`

const noteObjectSQL = `
INSERT INTO object_to_forget (object, due_at) VALUES (?, ?) ON CONFLICT DO NOTHING`

// forgetObjects drops the rows of uploads that no file refers to, and notes their objects.
func (s *Store) forgetObjects(ctx context.Context, tx *sql.Tx, hashes string) error {
	if _, err := tx.ExecContext(ctx, noteUnusedSQL, hashes, s.time().UnixMicro()); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, dropUnusedSQL, hashes)
	return err
}

const noteUnusedSQL = `
INSERT INTO object_to_forget (object, due_at)
SELECT object, ?2
FROM blob
WHERE sha256 IN (SELECT value FROM json_each(?1))
  AND NOT EXISTS (SELECT 1 FROM bundle_file f WHERE f.sha256 = blob.sha256)
ON CONFLICT DO NOTHING`

const dropUnusedSQL = `
DELETE FROM blob
WHERE sha256 IN (SELECT value FROM json_each(?))
  AND NOT EXISTS (SELECT 1 FROM bundle_file f WHERE f.sha256 = blob.sha256)`

// discardObjects removes the objects of an upload that was not recorded.
func (s *Store) discardObjects(ctx context.Context, files []File) error {
	var errs []error
	for _, f := range files {
		if f.Object == "" {
			continue
		}
		var recorded bool
		err := s.reader.QueryRowContext(ctx, objectRecordedSQL, f.Object).Scan(&recorded)
		if err != nil {
			// It is found later, should it not be recorded.
			errs = append(errs, fault("looking for the uses of an upload", err))
		} else if !recorded {
			errs = append(errs, s.uploads.bucket.Delete(ctx, blob.Name{Object: f.Object}))
		}
	}
	return errors.Join(errs...)
}

const objectRecordedSQL = `
SELECT EXISTS (SELECT 1 FROM blob WHERE object = ?)`

// reapObjects is how many objects one batch removes.
const reapObjects = 100

// removeObjects removes a batch of the objects that nothing refers to.
func (s *Store) removeObjects(ctx context.Context) (more bool, err error) {
	if s.uploads.bucket == nil {
		return false, nil
	}
	var due []string
	err = s.read(ctx, "looking for objects to remove", func(tx *sql.Tx) error {
		due, err = collect(ctx, tx, scanOne[string], dueObjectsSQL, s.time().UnixMicro(), reapObjects)
		return err
	})
	if err != nil || len(due) == 0 {
		return false, err
	}
	removed := []string{}
	for _, object := range due {
		if err = s.uploads.bucket.Delete(ctx, blob.Name{Object: object}); err != nil {
			break
		}
		removed = append(removed, object)
	}
	list, failed := json.Marshal(removed)
	if failed != nil {
		return false, failed
	}
	failed = s.writeReserved(ctx, "noting that objects were removed", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, objectsForgottenSQL, string(list))
		return err
	})
	return len(due) == reapObjects && err == nil && failed == nil, errors.Join(err, failed)
}

const dueObjectsSQL = `
SELECT object
FROM object_to_forget
WHERE due_at <= ? AND NOT EXISTS (SELECT 1 FROM blob b WHERE b.object = object_to_forget.object)
ORDER BY due_at
LIMIT ?`

const objectsForgottenSQL = `
DELETE FROM object_to_forget WHERE object IN (SELECT value FROM json_each(?))`

// strayAge is how old an object or an unfinished upload without a row must be to be noted, and
// how long it then stays: a database of before it may have been restored by mistake.
const strayAge = 24 * time.Hour

// noteStrays looks through the bucket for objects without a row, which a crash left before
// they were acknowledged, and ends uploads that nobody finishes.
func (s *Store) noteStrays(ctx context.Context) error {
	if s.uploads.bucket == nil {
		return nil
	}
	now := s.time()
	var strays int
	err := s.uploads.bucket.Objects(ctx, s.owner, now.Add(-strayAge), func(objects []string) error {
		list, err := json.Marshal(objects)
		if err != nil {
			return err
		}
		return s.write(ctx, "noting unknown objects", func(tx *sql.Tx) error {
			n, err := rowsOf(tx.ExecContext(ctx, noteStraysSQL, string(list), now.Add(strayAge).UnixMicro()))
			strays += int(n)
			return err
		})
	})
	if err != nil {
		return err
	}
	if strays > 0 {
		s.log.WarnContext(ctx, "the bucket has objects that no upload refers to, which are removed in a day: a crash came before they were acknowledged, or the database is older than they are",
			"objects", strays)
	}
	ended, err := s.uploads.bucket.AbortUploads(ctx, now.Add(-strayAge))
	if ended > 0 {
		s.log.InfoContext(ctx, "unfinished uploads to the bucket were ended", "uploads", ended)
	}
	return err
}

const noteStraysSQL = `
INSERT INTO object_to_forget (object, due_at)
SELECT word.value, ?2
FROM json_each(?1) word
WHERE NOT EXISTS (SELECT 1 FROM blob b WHERE b.object = word.value)
ON CONFLICT DO NOTHING`
