package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
	"leakdiff/store/blob"
)

// A usedBlob is an upload that a file of a case refers to.
type usedBlob struct {
	blob.Name
	size         int64
	file, bundle string
}

// use notes the upload of a file.
func (c *checker) use(r record) {
	sha := r.text("sha256")
	u := c.used[sha]
	if u == nil {
		u = &usedBlob{Name: blob.Name{SHA256: sha, Object: c.objects[sha]}, file: r.text("name"), bundle: c.bundleOf(r).id}
		c.used[sha] = u
	}
	u.size = max(u.size, r.int("size"))
}

// uploads reads every upload that a case refers to, and hashes it.
func (c *checker) uploads(ctx context.Context) error {
	for _, sha := range slices.Sorted(maps.Keys(c.used)) {
		u := c.used[sha]
		if u.Object != "" && c.bucket == nil {
			continue
		}
		if c.to != nil {
			if err := c.to.upload(ctx, c.blobs, sha); err != nil {
				return err
			}
		}
		size, err := c.sizeOf(ctx, u.Name)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case IsUnreachable(err):
			return err
		case err == nil && size == u.size:
			c.Uploads++
			c.UploadBytes += size
		case err == nil:
			c.add(Finding{Subject: OfUpload, What: "an upload has another size than its row says", Where: u.where(), Why: fmt.Sprintf("it has %d bytes, the row says %d", size, u.size), Hint: restoreHint})
		case !c.stillUsed(ctx, u.SHA256):
			c.deleted = true
		default:
			_, gone := c.blobs.Path(sha)
			c.lost = append(c.lost, sha)
			c.add(u.damaged(err, gone != nil))
		}
	}
	return c.unknown()
}

func (u *usedBlob) where() string {
	where := fmt.Sprintf("%s of bundle %s, sha256 %.12s", wording.Printable(u.file), u.bundle, u.SHA256)
	if u.Object != "" {
		where += ", object " + u.Object
	}
	return where
}

// damaged is the finding about an upload that cannot be read. One that has a file in the data
// directory can be set aside.
func (u *usedBlob) damaged(err error, gone bool) Finding {
	f := Finding{Subject: OfUpload, What: "an upload is missing", Where: u.where(), Why: err.Error(), sha: u.SHA256, bundle: u.bundle,
		Hint: "Upload the same file again, which puts it back for every case, or restore it from a backup. Results that were read before stay."}
	var known *analysis.Fault
	if !errors.As(err, &known) {
		return f
	}
	f.Why = known.Why
	if known.Code == blob.Damaged && (u.Object != "" || !gone) {
		f.What = "an upload is damaged"
		if u.Object == "" {
			f.Mend = "set it aside, so that nothing reads it and the same upload puts it back"
		}
	}
	return f
}

// sizeOf reads an upload to its end; the reader compares its hash. What a backup copies is read
// there.
func (c *checker) sizeOf(ctx context.Context, name blob.Name) (int64, error) {
	var place blob.Store = c.blobs
	switch {
	case c.to != nil:
		place = c.to.blobs
	case name.Object != "":
		place = c.bucket
	}
	r, err := place.Open(ctx, name)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return io.Copy(io.Discard, &untilDone{ctx, r})
}

// stillUsed reports whether a file refers to an upload now: a server that runs may have
// deleted the case meanwhile.
func (c *checker) stillUsed(ctx context.Context, sha string) (used bool) {
	err := c.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM bundle_file WHERE sha256 = ?)`, sha).Scan(&used)
	return used || err != nil
}

// unknown notes uploads that no case refers to. They may belong to a newer database, and
// nothing here deletes them.
func (c *checker) unknown() error {
	stored, err := c.blobs.List()
	if err != nil || c.InUse {
		return err
	}
	n, bytes := 0, int64(0)
	for _, e := range stored {
		switch {
		case c.used[e.SHA256] != nil:
		case c.cut != nil && !c.forgotten[e.SHA256]:
			c.add(withoutCase(e))
		default:
			n, bytes = n+1, bytes+e.Stored
		}
	}
	if n > 0 {
		c.add(Finding{Subject: OfUpload, Note: true, What: "uploads that no case refers to are kept", Where: blobDir,
			Why:  wording.Plural(n, "file", "files") + ", " + wording.Bytes(bytes) + ": the database is older than they are, or a crash came before they were acknowledged",
			Hint: "They are never deleted because the database does not know them. Delete them yourself if you know that they are of no use."})
	}
	return nil
}

// files notes what a crash left, and what was set aside.
func (c *checker) files(context.Context) error {
	aside, err := c.blobs.SetAside()
	if err != nil {
		return err
	}
	if len(aside) > 0 {
		c.add(Finding{Subject: OfFile, Note: true, What: "damaged uploads were set aside", Where: blobDir + "/damaged", Why: wording.Plural(len(aside), "file", "files"),
			Hint: "They go with the last case that refers to the upload."})
	}
	if c.InUse {
		return nil
	}
	left, err := c.blobs.Unfinished()
	if err != nil {
		return err
	}
	spooled, err := os.ReadDir(filepath.Join(c.dir, spoolDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if n := len(left) + len(spooled); n > 0 {
		c.add(Finding{Subject: OfFile, Note: true, What: "a crash left temporary files", Where: blobDir + "/tmp, " + spoolDir, Why: wording.Plural(n, "file", "files"),
			Mend: "remove them, as the next start of serve does", table: spoolDir})
	}
	return nil
}

// spoolDir has archives while they are read.
const spoolDir = "spool"
