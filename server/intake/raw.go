package intake

import (
	"context"
	"errors"
	"io"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/store"
	"leakdiff/store/blob"
)

// RawBytes opens uploaded files.
type RawBytes struct {
	Blobs Blobs
	// Unpack configures the unpacking.
	Unpack bundle.Config
}

// inputs returns the files of an upload, to be read from their blobs.
func (raw RawBytes) inputs(ctx context.Context, files []store.File) []bundle.Input {
	out := make([]bundle.Input, len(files))
	for i, f := range files {
		out[i] = bundle.Input{Name: f.Name, Size: f.Size, ModTime: f.Modified, Open: func() (io.ReadCloser, error) { return raw.Blobs.Open(ctx, f.SHA256) }}
	}
	return out
}

// verify returns what is wrong with the stored bytes of an uploaded file. A download calls
// it before its first byte, since sent bytes cannot be taken back. The blob store does not
// hash bytes again that it hashed within the last minutes and that did not change, so
// pages with raw lines stay cheap.
func (raw RawBytes) verify(ctx context.Context, f store.File) error {
	return damageOf(f, raw.Blobs.Verify(ctx, f.SHA256))
}

// verifyAll verifies the files of a bundle and returns the first damage.
func (raw RawBytes) verifyAll(ctx context.Context, files []store.File) error {
	for _, f := range files {
		if err := raw.verify(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// damageOf words an error about the stored bytes of a file.
func damageOf(f store.File, err error) error {
	var fault *analysis.Fault
	if !errors.As(err, &fault) {
		return err
	}
	named := *fault
	switch fault.Code {
	case blob.Damaged:
		named.Where = f.Name + ", " + fault.Where
	case "not_found":
		named = analysis.Fault{
			Code: blob.Damaged, What: "the stored bytes of this file are missing", Where: f.Name + ", " + fault.Where,
			Why:  "somebody removed the file from where uploads are kept (blobs in the data directory, or a bucket), or this is not the place that the database belongs to",
			Hint: "Upload the same file again: that puts it back for every case that holds it.",
		}
	}
	return &named
}

// damaged returns the damaged files of a bundle by hash, with their damage. Files of a
// large bundle are not hashed, only looked for: hashing takes as long as reading.
func (raw RawBytes) damaged(ctx context.Context, b store.Bundle) (map[string]string, error) {
	out := map[string]string{}
	if !b.Dropped.IsZero() {
		return out, nil
	}
	for _, f := range b.Files {
		err := raw.Blobs.Look(ctx, f.SHA256)
		if err == nil && b.Size <= largeBundle {
			err = raw.Blobs.Verify(ctx, f.SHA256)
		}
		var fault *analysis.Fault
		if err = damageOf(f, err); errors.As(err, &fault) && fault.Code == blob.Damaged {
			out[f.SHA256] = fault.What + " (" + fault.Why + "). " + fault.Hint
		} else if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// OpenArtifact opens the unpacked bytes of a file in a bundle. It verifies the upload
// first. The error is as of store.UploadDropped if the bytes were dropped.
func (raw RawBytes) OpenArtifact(ctx context.Context, b store.Bundle, path string) (io.ReadCloser, error) {
	if !b.Dropped.IsZero() {
		return nil, store.UploadDropped(b.Name, b.Dropped)
	}
	var damage error
	inputs := raw.inputs(ctx, b.Files)
	for i, f := range b.Files {
		open := inputs[i].Open
		inputs[i].Open = func() (io.ReadCloser, error) {
			if err := raw.verify(ctx, f); err != nil {
				damage = err
				return nil, err
			}
			return open()
		}
	}
	body, err := bundle.Open(ctx, raw.Unpack, inputs, path)
	if err != nil && damage != nil {
		return nil, damage // the error of the walk is less exact
	}
	return body, err
}
