package store

import (
	"context"
	"database/sql"
	"errors"
	"io"

	"leakdiff/analysis"
	"leakdiff/store/blob"
)

// Uploads are the raw bytes of uploads, by their hashes: in the data directory, or in a bucket
// where rows say which object has them. The errors of its methods are those of blob.Store.
type Uploads struct {
	// directory is empty if there is a bucket.
	directory *blob.Directory
	bucket    *blob.Bucket
	reader    *sql.DB
}

// Bucket is where the uploads are, nil for the data directory.
func (u *Uploads) Bucket() *blob.Bucket { return u.bucket }

func (u *Uploads) place() blob.Store {
	if u.bucket != nil {
		return u.bucket
	}
	return u.directory
}

// name is where the bytes of an upload are.
func (u *Uploads) name(ctx context.Context, sha string) (blob.Name, error) {
	name := blob.Name{SHA256: sha}
	if u.bucket == nil {
		return name, nil
	}
	err := u.reader.QueryRowContext(ctx, objectSQL, sha).Scan(&name.Object)
	if errors.Is(err, sql.ErrNoRows) {
		return name, nil // the bucket refuses a name without an object
	}
	return name, fault("looking for an upload", err)
}

const objectSQL = `
SELECT object FROM blob WHERE sha256 = ?`

// Put stores bytes that no bundle refers to yet: AddBundle, OpenCase or Discard follows.
func (u *Uploads) Put(ctx context.Context, r io.Reader, limit int64) (blob.Ref, error) {
	return u.place().Put(ctx, r, limit)
}

// Open returns the raw bytes of an upload.
func (u *Uploads) Open(ctx context.Context, sha string) (io.ReadCloser, error) {
	name, err := u.name(ctx, sha)
	if err != nil {
		return nil, err
	}
	return u.place().Open(ctx, name)
}

// Verify hashes the stored bytes of an upload, unless they were hashed recently.
func (u *Uploads) Verify(ctx context.Context, sha string) error {
	name, err := u.name(ctx, sha)
	if err != nil {
		return err
	}
	return u.place().Verify(ctx, name)
}

// Look looks for the stored bytes of an upload.
func (u *Uploads) Look(ctx context.Context, sha string) error {
	name, err := u.name(ctx, sha)
	if err != nil {
		return err
	}
	return u.place().Look(ctx, name)
}

// Damaged is the number of uploads that were found damaged and not put back since.
func (u *Uploads) Damaged() (int, error) {
	if u.bucket != nil {
		return u.bucket.Damaged(), nil
	}
	return u.directory.Damaged()
}

// Answers reports why uploads cannot be written where they are kept. A bucket has a check of its own.
func (u *Uploads) Answers() error {
	if u.bucket != nil {
		return nil
	}
	return u.directory.Answers()
}

// Free is how many bytes may still be written to the volume of the data directory, where
// archives are unpacked also if uploads are in a bucket.
func (u *Uploads) Free() (int64, error) { return u.directory.Free() }

// IsUnreachable reports whether an error means that uploads cannot be reached for now.
func IsUnreachable(err error) bool {
	var f *analysis.Fault
	return errors.As(err, &f) && (f.Code == blob.Unreachable || f.Code == blob.Away)
}
