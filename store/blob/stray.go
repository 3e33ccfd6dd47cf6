package blob

import (
	"context"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"leakdiff/analysis"
)

// listed is how many names one request lists.
const listed = 1000

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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group []string
	for info := range b.core.ListObjectsIter(ctx, b.address.bucket, minio.ListObjectsOptions{Prefix: b.address.prefix, Recursive: true, MaxKeys: listed}) {
		if info.Err != nil {
			return b.fault(ctx, "listing objects", info.Err)
		}
		object := strings.TrimPrefix(info.Key, b.address.prefix)
		if !objectName.MatchString(object) || !info.LastModified.Before(before) {
			continue
		}
		if group = append(group, object); len(group) == listed {
			if err := visit(group); err != nil {
				return err
			}
			group = group[:0]
		}
	}
	if len(group) == 0 {
		return nil
	}
	return visit(group)
}

// AbortUploads ends the multipart uploads that began before a time and were not finished: a
// server died, or could not reach the bucket. It returns how many there were.
func (b *Bucket) AbortUploads(ctx context.Context, before time.Time) (ended int, err error) {
	key, upload := "", ""
	for {
		page, err := b.core.ListMultipartUploads(ctx, b.address.bucket, b.address.prefix, key, upload, "", listed)
		if err != nil {
			return ended, b.fault(ctx, "listing unfinished uploads", err)
		}
		for _, u := range page.Uploads {
			if !objectName.MatchString(strings.TrimPrefix(u.Key, b.address.prefix)) || !u.Initiated.Before(before) {
				continue
			}
			if err := b.core.AbortMultipartUpload(ctx, b.address.bucket, u.Key, u.UploadID); err != nil {
				return ended, b.fault(ctx, "ending an unfinished upload", err)
			}
			ended++
		}
		if !page.IsTruncated {
			return ended, nil
		}
		key, upload = page.NextKeyMarker, page.NextUploadIDMarker
	}
}
