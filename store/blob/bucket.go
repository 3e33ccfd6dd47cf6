package blob

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

// Unreachable is the Code of the fault about a bucket that does not do what it is asked.
const Unreachable = "bucket_unreachable"

// Bucket is a Store in a bucket of a server that speaks S3. Each Put makes an object of its
// own under a random name, because the hash is known only at its end; the caller remembers
// which object has which content. Objects are PREFIX/ab/abcdef….mz and PREFIX/ab/abcdef….raw,
// as files of a Directory are. They are never written again.
type Bucket struct {
	*client
	log *slog.Logger
	now func() time.Time

	mu sync.Mutex
	// verified are the recent verifications, by object.
	verified map[string]verification
	// damaged are the objects that were found damaged and are not deleted yet.
	damaged map[string]bool
}

// verification is the verified state of an object, and when it was verified.
type verification struct {
	etag  string
	since time.Time
}

// BucketConfig configures a Bucket.
type BucketConfig struct {
	// Address is s3://bucket/prefix?endpoint=…&region=…&style=….
	Address string
	Log     *slog.Logger
	// Owner identifies the database that names the objects. A prefix belongs to one.
	Owner string
	// Used says that the database names objects already: then a prefix without its owner is
	// not the one they are in.
	Used bool
	// ReadOnly leaves the prefix to whom it belongs.
	ReadOnly bool
}

// OpenBucket takes a prefix of a bucket for the database of cfg, and so proves that the bucket
// can be reached, and written to unless it is ReadOnly. The error is an *analysis.Fault that
// says what to do.
func OpenBucket(ctx context.Context, cfg BucketConfig) (*Bucket, error) {
	a, err := parseAddress(cfg.Address)
	if err != nil {
		return nil, err
	}
	creds, err := findCredentials(a)
	if err != nil {
		return nil, err
	}
	b := &Bucket{client: newClient(a, creds), log: cfg.Log, now: time.Now, verified: map[string]verification{}, damaged: map[string]bool{}}
	err = b.claim(ctx, cfg)
	var refused *refusal
	if errors.As(err, &refused) && a.region == "" && refused.Region != "" {
		b.region = refused.Region
		err = b.claim(ctx, cfg)
	}
	var known *analysis.Fault
	if err != nil && !errors.As(err, &known) {
		err = a.refused(err)
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Close ends the connections that wait for the next request.
func (b *Bucket) Close() { b.http.CloseIdleConnections() }

// findCredentials looks for credentials where tools of AWS and MinIO have them.
func findCredentials(a address) (*credentials.Credentials, error) {
	client := &http.Client{Timeout: 5 * time.Second}
	chain := credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.EnvMinio{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: client},
	})
	value, err := chain.GetWithContext(&credentials.CredContext{Client: client})
	if err != nil || value.AccessKeyID == "" {
		return nil, &analysis.Fault{
			Code: "no_credentials", What: "there are no credentials for the bucket", Where: a.String(),
			Why:  "neither the environment nor ~/.aws/credentials nor a role of this machine has them",
			Hint: "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment of the server.", Err: err,
		}
	}
	return chain, nil
}

// ownerObject says which database a prefix belongs to.
const ownerObject = "leakdiff-database"

// claim takes the prefix for a database, unless it belongs to another one.
func (b *Bucket) claim(ctx context.Context, cfg BucketConfig) error {
	before, err := b.owner(ctx)
	if err != nil {
		return err
	}
	if before == "" && cfg.Used {
		return &analysis.Fault{
			Code: "other_place", What: "the bucket has no uploads of this database", Where: b.address.String(),
			Why:  "the database has uploads in a bucket, and here is no object " + ownerObject + ", which is beside them",
			Hint: "Give the bucket and the prefix that were given before. If that object alone was lost there, put it back with the content " + cfg.Owner + ".",
		}
	}
	if before != "" && before != cfg.Owner {
		return &analysis.Fault{
			Code: "foreign_bucket", What: "the bucket has the uploads of another database", Where: b.address.String(),
			Why:  "its object " + ownerObject + " names another one, which knows these uploads; this one would remove them as unknown",
			Hint: "Give the database that the uploads belong to, or another prefix. A database restored from a backup is the same one.",
		}
	}
	if cfg.ReadOnly {
		return nil
	}
	_, err = b.put(ctx, b.key(ownerObject), []byte(cfg.Owner))
	return err
}

// owner is the database that the prefix belongs to, "" for none.
func (b *Bucket) owner(ctx context.Context) (string, error) {
	answer, err := b.get(ctx, b.key(ownerObject), 0, "")
	if isMissing(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	return string(text), err
}

// Ping reports whether the bucket answers. Its error is an *analysis.Fault.
func (b *Bucket) Ping(ctx context.Context) error {
	_, _, err := b.stat(ctx, b.key(ownerObject))
	return b.fault(ctx, "asking whether it answers", err)
}

// refused words the error of a bucket that cannot be used at all.
func (a address) refused(err error) error {
	hint := "Let the server of the bucket be reached from here, or mend the endpoint in --blobs."
	var answer refusal
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		answer = *refused
	}
	switch answer.Code {
	case "NoSuchBucket", "InvalidBucketName":
		hint = "Create the bucket, or mend its name in --blobs."
	case "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "AuthorizationHeaderMalformed":
		hint = "Check the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) and region. They must be allowed to list, read, write and delete objects below the prefix, and to end multipart uploads."
	}
	return &analysis.Fault{Code: Unreachable, What: "the bucket of the uploads cannot be used", Where: a.String(), Why: err.Error(), Hint: hint, Err: err}
}

// fault words the error of a request, and has the log say what visitors need not know.
func (b *Bucket) fault(ctx context.Context, doing string, err error) error {
	var known *analysis.Fault
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	b.log.WarnContext(ctx, "the bucket of the uploads failed", "bucket", b.address.String(), "doing", doing, "error", err)
	return &analysis.Fault{
		Code: Unreachable, What: "uploads can neither be kept nor read at the moment", Why: "the place where they are kept does not answer; the log of the server says more",
		Hint: "Try again in a moment. What was acknowledged is not lost.", Err: err,
	}
}

// key is the name of an object in the bucket.
func (b *Bucket) key(object string) string { return b.address.prefix + object }

// newObject draws the name of an object.
func newObject(suffix string) string {
	var random [16]byte
	rand.Read(random[:])
	name := hex.EncodeToString(random[:])
	return name[:2] + "/" + name + suffix
}

// objectName matches what newObject draws.
var objectName = expression.Lazy(`^[0-9a-f]{2}/[0-9a-f]{32}\.(mz|raw)$`)

// Put implements Store. It holds one part in memory.
func (b *Bucket) Put(ctx context.Context, r io.Reader, limit int64) (Ref, error) {
	c := contentOf(ctx, r, limit)
	w := &objectWriter{ctx: ctx, bucket: b, object: newObject(c.suffix), partSize: max(minPart, limit/mostParts)}
	err := c.writeTo(w)
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		w.abort()
		if c.src.err != nil {
			return Ref{}, c.src.err
		}
		return Ref{}, b.fault(ctx, "storing "+w.object, err)
	}
	b.setVerified(w.object, w.etag)
	return Ref{Name: Name{SHA256: c.sha256(), Object: w.object}, Size: c.src.size, Stored: w.stored}, nil
}

// A part of an object has at least minPart bytes, unless it is the last one, and an object at
// most 10,000 parts.
const (
	minPart   = 5 << 20
	mostParts = 9_000
)

// objectWriter writes an object: in one request what fits into a part, else part by part.
type objectWriter struct {
	ctx      context.Context
	bucket   *Bucket
	object   string
	partSize int64

	// part is what was not sent yet.
	part []byte
	// upload identifies the multipart upload, "" before the first part.
	upload string
	parts  []part
	// begun is true once anything was sent.
	begun bool
	// stored counts the bytes written, etag identifies the finished object.
	stored int64
	etag   string
}

func (w *objectWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if int64(len(w.part)) == w.partSize {
			if err := w.send(); err != nil {
				return n, err
			}
		}
		k := min(len(p), int(w.partSize)-len(w.part))
		w.part = append(w.part, p[:k]...)
		p, n, w.stored = p[k:], n+k, w.stored+int64(k)
	}
	return n, nil
}

// send sends a part.
func (w *objectWriter) send() (err error) {
	b := w.bucket
	w.begun = true
	if w.upload == "" {
		if w.upload, err = b.begin(w.ctx, b.key(w.object)); err != nil {
			return err
		}
	}
	sent, err := b.putPart(w.ctx, b.key(w.object), w.upload, len(w.parts)+1, w.part)
	if err != nil {
		return err
	}
	w.parts, w.part = append(w.parts, sent), w.part[:0]
	return nil
}

// finish makes the object of what was written.
func (w *objectWriter) finish() (err error) {
	b := w.bucket
	w.begun = true
	if w.upload == "" {
		w.etag, err = b.put(w.ctx, b.key(w.object), w.part)
		return err
	}
	if err := w.send(); err != nil {
		return err
	}
	if w.etag, err = b.complete(w.ctx, b.key(w.object), w.upload, w.parts); err == nil {
		return nil
	}
	// The answer may have been lost, and the upload be unknown when it is asked again.
	etag, size, missing := b.stat(w.ctx, b.key(w.object))
	if missing != nil || size != w.stored {
		return err
	}
	w.etag = etag
	return nil
}

// abortTime bounds the removal of an unfinished object, which the caller waits for.
const abortTime = 2 * time.Second

// abort removes what was sent. What it cannot remove is found by Strays.
func (w *objectWriter) abort() {
	if !w.begun {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), abortTime)
	defer cancel()
	b := w.bucket
	if w.upload != "" {
		_ = b.abort(ctx, b.key(w.object), w.upload)
		return
	}
	_ = b.remove(ctx, b.key(w.object))
}

// Delete implements Store. It ignores the hash.
func (b *Bucket) Delete(ctx context.Context, name Name) error {
	b.mu.Lock()
	delete(b.verified, name.Object)
	delete(b.damaged, name.Object)
	b.mu.Unlock()
	err := b.remove(ctx, b.key(name.Object))
	if isMissing(err) {
		return nil
	}
	return b.fault(ctx, "removing "+name.Object, err)
}

// Damaged returns the number of objects that were found damaged and are not deleted since.
func (b *Bucket) Damaged() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.damaged)
}
