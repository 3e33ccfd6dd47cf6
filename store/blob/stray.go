package blob

import (
	"context"
	"net/url"
	"strings"
	"time"

	"leakdiff/analysis"
)

// Objects lists the objects that were written before a time, in groups of at most 1,000, until
// visit returns an error. It refuses if the prefix belongs to another database than owner,
// and leaves out what no Bucket wrote.
func (b *Bucket) Objects(ctx context.Context, owner string, before time.Time, visit func(objects []string) error) error {
	now, err := b.owner(ctx)
	if err != nil {
		return b.fault(ctx, "asking whose it is", err)
	}
	if now != owner {
		return &analysis.Fault{Code: "foreign_bucket", What: "the bucket belongs to another database now, and nothing is removed from it", Where: b.address.String()}
	}
	for token := ""; ; {
		page, next, err := b.list(ctx, token)
		if err != nil {
			return b.fault(ctx, "listing objects", err)
		}
		var group []string
		for _, o := range page {
			if name := strings.TrimPrefix(o.Key, b.address.prefix); objectName.MatchString(name) && o.LastModified.Before(before) {
				group = append(group, name)
			}
		}
		if len(group) > 0 {
			if err := visit(group); err != nil {
				return err
			}
		}
		if token = next; token == "" {
			return nil
		}
	}
}

// AbortUploads ends the multipart uploads that began before a time and were not finished: a
// server died, or could not reach the bucket. It returns how many there were.
func (b *Bucket) AbortUploads(ctx context.Context, before time.Time) (ended int, err error) {
	for from := (url.Values)(nil); ; {
		page, next, err := b.uploads(ctx, from)
		if err != nil {
			return ended, b.fault(ctx, "listing unfinished uploads", err)
		}
		for _, u := range page {
			if !objectName.MatchString(strings.TrimPrefix(u.Key, b.address.prefix)) || !u.Initiated.Before(before) {
				continue
			}
			if err := b.abort(ctx, u.Key, u.UploadId); err != nil {
				return ended, b.fault(ctx, "ending an unfinished upload", err)
			}
			ended++
		}
		if from = next; from == nil {
			return ended, nil
		}
	}
}
