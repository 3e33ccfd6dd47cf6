package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"path"

	"github.com/minio/minlz"

	"leakdiff/analysis"
)

// Look implements Store.
func (b *Bucket) Look(ctx context.Context, name Name) error {
	_, err := b.look(ctx, name)
	return err
}

// look returns the state of an object.
func (b *Bucket) look(ctx context.Context, name Name) (etag string, err error) {
	if name.Object == "" {
		return "", notFound(name.SHA256)
	}
	etag, _, err = b.stat(ctx, b.key(name.Object))
	if isMissing(err) {
		return "", notFound(name.SHA256)
	}
	return etag, b.fault(ctx, "looking for "+name.Object, err)
}

// Verify implements Store.
func (b *Bucket) Verify(ctx context.Context, name Name) error {
	if b.isVerified(name.Object, "") {
		etag, err := b.look(ctx, name)
		if err != nil || b.isVerified(name.Object, etag) {
			return err
		}
	}
	r, err := b.open(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err
}

// Open implements Store. Its error is that of Look.
func (b *Bucket) Open(ctx context.Context, name Name) (io.ReadCloser, error) {
	return b.open(ctx, name)
}

func (b *Bucket) open(ctx context.Context, name Name) (*objectReader, error) {
	if name.Object == "" {
		return nil, notFound(name.SHA256)
	}
	s := &objectStream{ctx: ctx, bucket: b, object: name.Object}
	if err := s.connect(); isMissing(err) {
		return nil, notFound(name.SHA256)
	} else if err != nil {
		return nil, b.fault(ctx, "reading "+name.Object, err)
	}
	r := &objectReader{name: name, stream: s, content: s, sum: sha256.New()}
	if path.Ext(name.Object) == packed {
		r.content = minlz.NewReader(s, minlz.ReaderMaxBlockSize(blockSize))
	}
	return r, nil
}

// isVerified reports whether an object was verified recently, in this state if etag is given.
func (b *Bucket) isVerified(object, etag string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	v, known := b.verified[object]
	return known && (etag == "" || v.etag == etag) && b.now().Sub(v.since) < trustTime
}

func (b *Bucket) setVerified(object, etag string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.verified) >= mostTrusted {
		clear(b.verified)
	}
	b.verified[object] = verification{etag, b.now()}
	delete(b.damaged, object)
}

// setDamaged records damage and returns the fault about it.
func (b *Bucket) setDamaged(name Name, why string) error {
	b.mu.Lock()
	delete(b.verified, name.Object)
	if len(b.damaged) < mostTrusted {
		b.damaged[name.Object] = true
	}
	b.mu.Unlock()
	b.log.Error("a stored upload is damaged: the same upload puts it back", "sha256", name.SHA256, "object", name.Object, "why", why)
	return &analysis.Fault{
		Code: Damaged, What: "the stored bytes of this file are damaged", Where: printable(name.SHA256), Why: why,
		Hint: "Upload the same file again: that puts it back for every case that holds it. Then check the bucket of the uploads.",
	}
}

// objectReader hashes the content of an object as it is read. It returns io.EOF only if the
// hash is right.
type objectReader struct {
	name   Name
	stream *objectStream
	// content is stream or its decompressor.
	content io.Reader
	sum     hash.Hash
	err     error
}

func (r *objectReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.content.Read(p)
	r.sum.Write(p[:n])
	if err != nil {
		r.err = r.verdict(err)
	}
	return n, r.err
}

// verdict returns the final error of the reader.
func (r *objectReader) verdict(end error) error {
	b := r.stream.bucket
	if r.stream.err != nil {
		return r.stream.err
	}
	if end != io.EOF {
		return b.setDamaged(r.name, "what was compressed cannot be unpacked: "+end.Error())
	}
	if got := hex.EncodeToString(r.sum.Sum(nil)); got != r.name.SHA256 {
		return b.setDamaged(r.name, "what is stored has the SHA-256 "+got[:12]+"…")
	}
	b.setVerified(r.name.Object, r.stream.etag)
	return io.EOF
}

func (r *objectReader) Close() error { return r.stream.body.Close() }

// objectStream reads the bytes of an object. A connection that ends early is followed by
// another one, which goes on where it ended.
type objectStream struct {
	ctx    context.Context
	bucket *Bucket
	object string

	body io.ReadCloser
	etag string
	// at bytes of size were read.
	at, size int64
	// failed counts the connections that ended without a byte, one after the other.
	failed int
	// err is the fault that ended the stream early, or nil.
	err error
}

// connect requests the rest of the object.
func (s *objectStream) connect() error {
	answer, err := s.bucket.get(s.ctx, s.bucket.key(s.object), s.at, s.etag)
	if err != nil {
		return err
	}
	if s.at == 0 {
		s.etag, s.size = etagOf(answer), answer.ContentLength
	}
	s.body = answer.Body
	return nil
}

func (s *objectStream) Read(p []byte) (int, error) {
	for s.err == nil {
		n, err := s.body.Read(p)
		s.at += int64(n)
		switch {
		case n > 0:
			s.failed = 0
			return n, nil // the next Read returns the error
		case s.at == s.size:
			return 0, io.EOF
		case err == nil:
			return 0, nil
		}
		if err = s.again(err); err != nil {
			s.err = s.bucket.fault(s.ctx, "reading "+s.object, err)
		}
	}
	return 0, s.err
}

// again connects after an error, unless this failed too often.
func (s *objectStream) again(err error) error {
	if s.failed++; s.failed >= mostTries || s.ctx.Err() != nil {
		return err
	}
	s.body.Close()
	return s.connect()
}
