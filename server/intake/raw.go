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

// RawBytes opens what was uploaded.
type RawBytes struct {
	Blobs Blobs
	// Unpack says how it is unpacked.
	Unpack bundle.Config
}

// inputs are the files of an upload, to be read from their blobs.
func (raw RawBytes) inputs(files []store.File) []bundle.Input {
	out := make([]bundle.Input, len(files))
	for i, f := range files {
		out[i] = bundle.Input{Name: f.Name, Size: f.Size, Open: func() (io.ReadCloser, error) { return raw.Blobs.Open(f.SHA256) }}
	}
	return out
}

// verify reports what is wrong with the stored bytes of an uploaded file, under its name.
// A download asks before its first byte is sent: what was sent cannot be taken back. Bytes
// that were hashed within the last minutes and not written to since are not hashed again
// (blob.Store), so that a page which shows raw lines costs that once.
func (raw RawBytes) verify(ctx context.Context, f store.File) error {
	return damageOf(f, raw.Blobs.Verify(ctx, f.SHA256))
}

// verifyAll is verify for the files of a bundle: the first one that is damaged.
func (raw RawBytes) verifyAll(ctx context.Context, files []store.File) error {
	for _, f := range files {
		if err := raw.verify(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// damageOf words an error about the stored bytes of a file that a bundle refers to.
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
			Why:  "somebody removed the file from blobs in the data directory, or the directory is not the one that the database belongs to",
			Hint: "Upload the same file again: that puts it back for every case that holds it.",
		}
	}
	return &named
}

// damaged are the files of a bundle whose stored bytes are damaged, by hash, with what is
// wrong. Files of a large bundle are only looked for: to hash them takes as long as to
// read them, and a page is no reading.
func (raw RawBytes) damaged(ctx context.Context, b store.Bundle) (map[string]string, error) {
	out := map[string]string{}
	for _, f := range b.Files {
		err := raw.Blobs.Look(f.SHA256)
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

// OpenArtifact opens the unpacked bytes of a file in a bundle. The upload that they come
// from is verified before.
func (raw RawBytes) OpenArtifact(ctx context.Context, b store.Bundle, path string) (io.ReadCloser, error) {
	var damage error
	inputs := raw.inputs(b.Files)
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
		return nil, damage // the walk has ended, and knows less
	}
	return body, err
}
