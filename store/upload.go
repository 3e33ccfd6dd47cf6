package store

import (
	"context"
	"io"

	"leakdiff/store/blob"
)

// Uploads are the raw bytes of uploads, by their hashes. The errors of its methods are those
// of blob.Store.
type Uploads struct {
	directory *blob.Directory
}

// Put stores bytes that no bundle refers to yet: AddBundle, OpenCase or Discard follows.
func (u *Uploads) Put(ctx context.Context, r io.Reader, limit int64) (blob.Ref, error) {
	return u.directory.Put(ctx, r, limit)
}

// Open returns the raw bytes of an upload.
func (u *Uploads) Open(ctx context.Context, sha string) (io.ReadCloser, error) {
	return u.directory.Open(ctx, blob.Name{SHA256: sha})
}

// Verify hashes the stored bytes of an upload, unless they were hashed recently.
func (u *Uploads) Verify(ctx context.Context, sha string) error {
	return u.directory.Verify(ctx, blob.Name{SHA256: sha})
}

// Look looks for the stored bytes of an upload.
func (u *Uploads) Look(ctx context.Context, sha string) error {
	return u.directory.Look(ctx, blob.Name{SHA256: sha})
}

// Damaged is the number of uploads that were found damaged and not put back since.
func (u *Uploads) Damaged() (int, error) { return u.directory.Damaged() }

// Free is how many bytes may still be written to the volume of the data directory.
func (u *Uploads) Free() (int64, error) { return u.directory.Free() }
