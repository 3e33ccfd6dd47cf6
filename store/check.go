package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
	"leakdiff/migrations"
	"leakdiff/store/blob"
)

// Subject is what a finding of Check is about.
type Subject string

const (
	OfDatabase  Subject = "database"
	OfReference Subject = "reference"
	OfUpload    Subject = "upload"
	OfResult    Subject = "result"
	OfJob       Subject = "job"
	OfReport    Subject = "report"
	OfPermalink Subject = "permalink"
	OfCount     Subject = "count"
	OfFile      Subject = "file"
)

// Finding is one thing that Check found.
type Finding struct {
	Subject Subject `json:"subject"`
	// Note is true for what is worth knowing and no damage.
	Note  bool   `json:"note"`
	What  string `json:"what"`
	Where string `json:"where"`
	Why   string `json:"why"`
	// Mend is what a repair does about it, "" if nothing can.
	Mend   string `json:"mend"`
	Mended bool   `json:"mended"`
	// Hint is what a person can do.
	Hint string `json:"hint"`

	// What a repair needs.
	sha, bundle string
	table       string
	days        []seriesDay
}

// Checked is the outcome of Check.
type Checked struct {
	// InUse is true if another process had the directory open.
	InUse bool `json:"in_use"`
	// Database is its version.
	Database int `json:"database"`
	Cases    int `json:"cases"`
	Bundles  int `json:"bundles"`
	// Uploads were read to their ends, UploadBytes as they were uploaded.
	Uploads     int       `json:"uploads"`
	UploadBytes int64     `json:"upload_bytes"`
	Snapshots   int       `json:"snapshots"`
	Reports     int       `json:"reports"`
	Permalinks  int       `json:"permalinks"`
	Findings    []Finding `json:"findings"`
}

// Sound reports whether nothing is damaged.
func (c *Checked) Sound() bool {
	return !slices.ContainsFunc(c.Findings, func(f Finding) bool { return !f.Note })
}

// Check verifies a data directory and changes nothing in it: the database by itself, its
// references, every upload by its hash, every result, report and permalink by unpacking it,
// and counts against what they count. It works beside a running server. blobs is the address of
// the bucket of the uploads, empty for the directory.
func Check(ctx context.Context, dir, blobs string) (*Checked, error) {
	if err := errors.Join(isDataDir(dir), refuseOlder(dir)); err != nil {
		return nil, err
	}
	held, err := lock(filepath.Join(dir, lockFile))
	var known *analysis.Fault
	switch {
	case err == nil:
		defer held.Close()
	case errors.As(err, &known) && known.Code == "locked":
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		// Nobody can write there, so no server runs.
	default:
		return nil, err
	}
	return check(ctx, checkConfig{dir: dir, blobs: blobs, inUse: held == nil})
}

// isDataDir refuses a directory without a database, because opening one would create it.
func isDataDir(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, databaseFile)); err != nil {
		return &analysis.Fault{Code: "not_found", What: "this is no data directory", Where: dir, Why: "it has no " + databaseFile, Hint: "Give the directory of serve with --data.", Err: err}
	}
	return nil
}

type checkConfig struct {
	dir   string
	blobs string
	inUse bool
	// leaveBucket leaves the uploads that are in a bucket out.
	leaveBucket bool
}

// check is Check for a caller that has the lock, or knows that another process has it.
func check(ctx context.Context, cfg checkConfig) (*Checked, error) {
	dir, inUse := cfg.dir, cfg.inUse
	c := &checker{
		Checked: &Checked{InUse: inUse, Findings: []Finding{}}, dir: dir,
		blobs: blob.OpenReadOnly(blob.Config{Dir: filepath.Join(dir, blobDir), Log: slog.New(slog.DiscardHandler)}),
	}
	db, version, err := openReadOnly(ctx, dir, inUse)
	if codeOf(err) == "damaged" {
		c.unreadableDatabase(err)
		return c.Checked, nil
	}
	if err != nil {
		return nil, err
	}
	defer db.Close()
	c.db = db
	if !cfg.leaveBucket {
		if err := c.openBucket(ctx, cfg.blobs); err != nil {
			return nil, err
		}
	}
	if c.bucket != nil {
		defer c.bucket.Close()
	}
	c.Database = version
	for _, step := range []func(context.Context) error{c.database, c.moved, c.references, c.uploads, c.files, c.results, c.jobs, c.reports, c.permalinks, c.sums} {
		err := step(ctx)
		if err == nil {
			continue
		}
		if ctx.Err() != nil || codeOf(err) != "damaged" && !c.damagedDatabase() {
			return nil, err
		}
		c.unreadableDatabase(err)
	}
	return c.Checked, nil
}

func (c *checker) unreadableDatabase(err error) {
	c.add(Finding{Subject: OfDatabase, What: "the database cannot be read to its end", Where: databaseFile, Why: err.Error(), Hint: restoreHint})
}

// damagedDatabase reports whether the database itself is damaged: then nothing may be
// written to it, and any query may fail.
func (c *Checked) damagedDatabase() bool {
	return slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Subject == OfDatabase && !f.Note })
}

const restoreHint = "Restore the data directory from a backup (leakdiff restore)."

// codeOf is the Code of a fault, "" for other errors.
func codeOf(err error) string {
	var f *analysis.Fault
	if errors.As(fault("", err), &f) {
		return f.Code
	}
	return ""
}

// openReadOnly opens the database of a data directory to read, and returns its version. A
// server may run on it if inUse.
func openReadOnly(ctx context.Context, dir string, inUse bool) (*sql.DB, int, error) {
	file, err := filepath.Abs(filepath.Join(dir, databaseFile))
	if err != nil {
		return nil, 0, err
	}
	settings := ofReader + "&mode=ro"
	if wal, err := os.Stat(file + "-wal"); !inUse && (err != nil || wal.Size() == 0) {
		// Without a log nothing can change, and SQLite makes no files beside the database.
		settings += "&immutable=1"
	}
	db, err := connect(file, 1, settings)
	if err != nil {
		return nil, 0, err
	}
	var version int
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return nil, 0, errors.Join(fault("opening the database", err), db.Close())
	}
	all, err := migrations.All()
	if err == nil {
		err = knownVersion(version, all)
	}
	if err == nil && version == 0 {
		err = &analysis.Fault{Code: "damaged", What: "the database is empty", Where: databaseFile, Hint: restoreHint}
	}
	if err != nil {
		return nil, 0, errors.Join(err, db.Close())
	}
	return db, version, nil
}

// checker collects findings. Each of its steps looks at one kind of thing.
type checker struct {
	*Checked
	db    *sql.DB
	dir   string
	blobs *blob.Directory
	// bucket has the uploads whose rows name an object, nil to leave them out.
	bucket *blob.Bucket
}

// openBucket opens the bucket of the uploads. It refuses if they are there and nobody said
// where that is.
func (c *checker) openBucket(ctx context.Context, address string) error {
	var owner string
	var inBucket bool
	err := c.read(ctx, "looking where uploads are", func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, settingSQL, ownerSetting).Scan(&owner); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM blob WHERE object IS NOT NULL)`).Scan(&inBucket)
	})
	switch {
	case codeOf(err) == "damaged": // a step says so
		return nil
	case err != nil || !inBucket:
		return err
	case address == "":
		return bucketNeeded("nothing was checked")
	}
	c.bucket, err = blob.OpenBucket(ctx, blob.BucketConfig{Address: address, Log: slog.New(slog.DiscardHandler), Owner: owner, ReadOnly: true, Used: true})
	return err
}

// mostAlike bounds the findings of one kind, after which the rest is counted.
const mostAlike = 200

func (c *checker) add(f Finding) {
	alike := 0
	for _, other := range c.Findings {
		if other.Subject == f.Subject && other.What == f.What {
			alike++
		}
	}
	if alike < mostAlike || f.Mend != "" {
		c.Findings = append(c.Findings, f)
	}
}

func (c *checker) read(ctx context.Context, what string, f func(*sql.Tx) error) error {
	tx, err := c.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fault(what, err)
	}
	defer tx.Rollback()
	return fault(what, f(tx))
}

// database runs SQLite's own check of pages, indexes and constraints.
func (c *checker) database(ctx context.Context) error {
	return c.read(ctx, "checking the database", func(tx *sql.Tx) error {
		said, err := collect(ctx, tx, scanOne[string], `PRAGMA integrity_check(50)`)
		for _, text := range said {
			if text != "ok" {
				c.add(Finding{Subject: OfDatabase, What: "the database is damaged", Where: databaseFile, Why: text, Hint: restoreHint})
			}
		}
		return err
	})
}

// moved finds a database that a move has not completed.
func (c *checker) moved(ctx context.Context) error {
	var refused *analysis.Fault
	if err := wholeDatabase(ctx, c.db); !errors.As(err, &refused) || refused.Code != "unfinished_move" {
		return err
	}
	c.add(Finding{Subject: OfDatabase, What: refused.What, Where: databaseFile, Why: refused.Why, Hint: refused.Hint})
	return nil
}

// references looks for rows that refer to rows that are gone.
func (c *checker) references(ctx context.Context) error {
	return c.read(ctx, "checking references", func(tx *sql.Tx) error {
		_, err := collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
			var table, parent string
			var row sql.NullInt64
			var key int
			if err := rows.Scan(&table, &row, &parent, &key); err != nil {
				return none, err
			}
			c.add(Finding{Subject: OfReference, What: "a row refers to one that is gone", Where: fmt.Sprintf("%s, row %d", table, row.Int64),
				Why: "there is no such row in " + parent, Hint: restoreHint})
			return none, nil
		}, `PRAGMA foreign_key_check`)
		return err
	})
}

// A usedBlob is an upload that a file of a case refers to.
type usedBlob struct {
	blob.Name
	size         int64
	file, bundle string
}

const usedBlobsSQL = `
SELECT f.sha256, max(f.size), min(f.name), min(b.id), max(coalesce(o.object, ''))
FROM bundle_file f
JOIN bundle b ON b.seq = f.bundle_seq
LEFT JOIN blob o ON o.sha256 = f.sha256
GROUP BY f.sha256
ORDER BY f.sha256`

func usedBlobs(ctx context.Context, tx *sql.Tx) ([]usedBlob, error) {
	return collect(ctx, tx, func(rows *sql.Rows) (u usedBlob, err error) {
		return u, rows.Scan(&u.SHA256, &u.size, &u.file, &u.bundle, &u.Object)
	}, usedBlobsSQL)
}

// uploads reads every upload that a case refers to, and hashes it.
func (c *checker) uploads(ctx context.Context) error {
	var used []usedBlob
	err := c.read(ctx, "listing uploads", func(tx *sql.Tx) (err error) {
		if err := tx.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM cases), (SELECT count(*) FROM bundle)`).Scan(&c.Cases, &c.Bundles); err != nil {
			return err
		}
		used, err = usedBlobs(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	for _, u := range used {
		if u.Object != "" && c.bucket == nil {
			continue
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
		case u.Object != "":
			c.add(u.damagedObject(err))
		default:
			_, gone := c.blobs.Path(u.SHA256)
			c.add(u.damaged(err, gone != nil))
		}
	}
	return c.unknown(used)
}

func (u *usedBlob) where() string {
	return fmt.Sprintf("%s of bundle %s, sha256 %.12s", wording.Printable(u.file), u.bundle, u.SHA256)
}

// damaged is the finding about an upload that cannot be read, or has no file.
func (u *usedBlob) damaged(err error, gone bool) Finding {
	f := Finding{Subject: OfUpload, What: "an upload is missing", Where: u.where(), Why: err.Error(), sha: u.SHA256, bundle: u.bundle,
		Hint: "Upload the same file again, which puts it back for every case, or restore it from a backup. Results that were read before stay."}
	var known *analysis.Fault
	if errors.As(err, &known) {
		f.Why = known.Why
		if known.Code == blob.Damaged && !gone {
			f.What, f.Mend = "an upload is damaged", "set it aside, so that nothing reads it and the same upload puts it back"
		}
	}
	return f
}

// damagedObject is damaged for an upload in a bucket, where nothing is set aside.
func (u *usedBlob) damagedObject(err error) Finding {
	f := u.damaged(err, true)
	f.Where += ", object " + u.Object
	if codeOf(err) == blob.Damaged {
		f.What = "an upload is damaged"
	}
	return f
}

// sizeOf reads an upload to its end; the reader compares its hash.
func (c *checker) sizeOf(ctx context.Context, name blob.Name) (int64, error) {
	var place blob.Store = c.blobs
	if name.Object != "" {
		place = c.bucket
	}
	r, err := place.Open(ctx, name)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return io.Copy(io.Discard, &untilDone{ctx, r})
}

// untilDone ends a long copy with its context.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u *untilDone) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.Read(p)
}

// stillUsed reports whether a file refers to an upload now: a server that runs may have
// deleted the case meanwhile.
func (c *checker) stillUsed(ctx context.Context, sha string) (used bool) {
	err := c.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM bundle_file WHERE sha256 = ?)`, sha).Scan(&used)
	return used || err != nil
}

// unknown notes uploads that no case refers to. They may belong to a newer database, and
// nothing here deletes them.
func (c *checker) unknown(used []usedBlob) error {
	stored, err := c.blobs.List()
	if err != nil || c.InUse {
		return err
	}
	n, bytes := 0, int64(0)
	for _, e := range stored {
		_, known := slices.BinarySearchFunc(used, e.SHA256, func(u usedBlob, sha string) int {
			switch {
			case u.SHA256 < sha:
				return -1
			case u.SHA256 > sha:
				return 1
			}
			return 0
		})
		if !known {
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

// A checkedSnapshot is a visible snapshot.
type checkedSnapshot struct {
	seq, bundleSeq int64
	id, bundle     string
	// dropped is true if the bytes of the bundle were dropped.
	dropped bool
}

const checkedSnapshotsSQL = `
SELECT v.seq, v.bundle_seq, v.id, v.bundle_id, b.dropped_at IS NOT NULL
FROM visible_snapshot v
JOIN bundle b ON b.seq = v.bundle_seq
JOIN cases c ON c.seq = v.case_seq
WHERE c.deleting = '' AND v.seq > ?
ORDER BY v.seq
LIMIT 500`

// results unpacks every visible snapshot with its families, stacks, members and objects, and
// the inventory of every bundle.
func (c *checker) results(ctx context.Context) error {
	again := map[string]bool{}
	for last := int64(0); ; {
		var batch []checkedSnapshot
		err := c.read(ctx, "checking results", func(tx *sql.Tx) (err error) {
			batch, err = collect(ctx, tx, func(rows *sql.Rows) (s checkedSnapshot, err error) {
				return s, rows.Scan(&s.seq, &s.bundleSeq, &s.id, &s.bundle, &s.dropped)
			}, checkedSnapshotsSQL, last)
			for _, s := range batch {
				last = s.seq
				c.Snapshots++
				if damage := readSnapshot(ctx, tx, s); damage != nil && ctx.Err() == nil && !again[s.bundle] {
					again[s.bundle] = true
					c.add(unreadable("a snapshot", "snapshot "+s.id+" of bundle "+s.bundle, s.bundle, s.dropped, damage))
				}
			}
			return err
		})
		if err != nil || len(batch) == 0 {
			return errors.Join(err, c.inventories(ctx, again))
		}
	}
}

func unreadable(what, where, bundle string, dropped bool, err error) Finding {
	if dropped {
		return Finding{Subject: OfResult, What: what + " cannot be unpacked", Where: where, Why: err.Error(),
			Hint: "Its upload was dropped by the policy of retention and cannot be read again. " + restoreHint}
	}
	return Finding{Subject: OfResult, What: what + " cannot be unpacked", Where: where, Why: err.Error(), bundle: bundle,
		Mend: "have its upload read again", Hint: "Its case shows an error until it is read again, with “Read again” on the page of the bundle or with --repair."}
}

func readSnapshot(ctx context.Context, tx *sql.Tx, s checkedSnapshot) error {
	l := newLoader(tx)
	defer l.p.close()
	rows := []*snapshotRow{{seq: s.seq, id: s.id}}
	if err := l.readFacts(ctx, rows, withPacked); err != nil {
		return err
	}
	if err := l.members(ctx, rows); err != nil {
		return err
	}
	if err := l.objects(ctx, rows); err != nil {
		return err
	}
	_, err := l.assemble(ctx, rows)
	return err
}

const inventoriesSQL = `
SELECT b.id, b.artifacts, b.problems, b.snapshot_count, b.problem_count, b.size,
       (SELECT count(*) FROM snapshot s WHERE s.bundle_seq = b.seq AND s.generation = b.generation),
       (SELECT coalesce(sum(f.size), 0) FROM bundle_file f WHERE f.bundle_seq = b.seq) +
       (SELECT coalesce(sum(f.size), 0) FROM dropped_file f WHERE f.bundle_seq = b.seq), b.dropped_at IS NOT NULL
FROM bundle b
JOIN cases c ON c.seq = b.case_seq
WHERE c.deleting = ''
ORDER BY b.seq`

// inventories unpacks the inventory of every bundle, and compares its counts.
func (c *checker) inventories(ctx context.Context, again map[string]bool) error {
	return c.read(ctx, "checking inventories", func(tx *sql.Tx) error {
		var p packer
		defer p.close()
		_, err := collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
			var id string
			var artifacts, problems []byte
			var snapshots, problemCount, foundSnapshots int
			var size, sizes int64
			var dropped bool
			if err := rows.Scan(&id, &artifacts, &problems, &snapshots, &problemCount, &size, &foundSnapshots, &sizes, &dropped); err != nil {
				return none, err
			}
			_, err = openInventory[analysis.Artifact](&p, artifacts)
			list, other := openInventory[analysis.Problem](&p, problems)
			if err = errors.Join(err, other); err != nil && !again[id] {
				again[id] = true
				c.add(unreadable("an inventory", "bundle "+id, id, dropped, err))
			}
			if err == nil && (len(list) != problemCount || snapshots != foundSnapshots) && !again[id] {
				again[id] = true
				f := unreadable("", "bundle "+id, id, dropped, fmt.Errorf("snapshots: %d of %d, problems: %d of %d", foundSnapshots, snapshots, len(list), problemCount))
				f.What = "a result is not complete"
				c.add(f)
			}
			if size != sizes {
				c.add(Finding{Subject: OfCount, What: "a bundle has another size than its files", Where: "bundle " + id, Why: fmt.Sprintf("%d bytes, its files have %d", size, sizes), Hint: restoreHint})
			}
			return none, nil
		}, inventoriesSQL)
		return err
	})
}

const stuckSQL = `
SELECT b.id
FROM bundle b
JOIN cases c ON c.seq = b.case_seq
WHERE b.status IN ('queued', 'running') AND c.deleting = ''
  AND NOT EXISTS (SELECT 1 FROM job j WHERE j.bundle_seq = b.seq AND j.status IN ('queued', 'running'))
ORDER BY b.seq`

// jobs looks for bundles that wait for a reading that nobody does.
func (c *checker) jobs(ctx context.Context) error {
	return c.read(ctx, "checking jobs", func(tx *sql.Tx) error {
		stuck, err := collect(ctx, tx, scanOne[string], stuckSQL)
		for _, id := range stuck {
			c.add(Finding{Subject: OfJob, What: "an upload waits to be read, and no job reads it", Where: "bundle " + id, bundle: id,
				Mend: "queue it again", Hint: "“Read again” on the page of the bundle does the same."})
		}
		return err
	})
}

// reports unpacks what is stored of reports and judgements. Both are made again from the
// results where they are missing.
func (c *checker) reports(ctx context.Context) error {
	return c.read(ctx, "checking reports", func(tx *sql.Tx) error {
		var p packer
		defer p.close()
		for _, of := range []struct{ what, table, query string }{
			{"a stored report", "case_report", `SELECT c.id, r.report FROM case_report r JOIN cases c ON c.seq = r.case_seq ORDER BY r.case_seq`},
			{"a stored judgement", "series_judgement", `SELECT c.id, r.judgement FROM series_judgement r JOIN cases c ON c.seq = r.case_seq ORDER BY r.case_seq`},
		} {
			_, err := collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
				var id string
				var packed sql.RawBytes
				if err := rows.Scan(&id, &packed); err != nil {
					return none, err
				}
				c.Reports++
				if _, err := p.unseal(packed, nil); err != nil {
					c.add(Finding{Subject: OfReport, What: of.what + " cannot be unpacked", Where: "case " + id, Why: err.Error(), table: of.table, bundle: id,
						Mend: "drop it: it is made again from the results"})
				}
				return none, nil
			}, of.query)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// permalinks unpacks every frozen record.
func (c *checker) permalinks(ctx context.Context) error {
	return c.read(ctx, "checking permalinks", func(tx *sql.Tx) error {
		var p packer
		defer p.close()
		_, err := collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
			var id string
			var withdrawn sql.NullInt64
			var record, raw []byte
			var expired bool
			if err := rows.Scan(&id, &withdrawn, &record, &raw, &expired); err != nil {
				return none, err
			}
			c.Permalinks++
			why := ""
			switch {
			case record == nil && !withdrawn.Valid && !expired:
				why = "its record is missing"
			case record != nil:
				why = jsonDamage(&p, record)
			}
			if raw != nil && why == "" {
				why = jsonDamage(&p, raw)
			}
			if why != "" {
				c.add(Finding{Subject: OfPermalink, What: "a frozen result cannot be unpacked", Where: "permalink " + id[:min(len(id), 8)] + "…", Why: why,
					Hint: "Restore it from a backup, or share the result again: a frozen result is not made anew."})
			}
			return none, nil
		}, `SELECT id, withdrawn_at, record, raw, expires_at IS NOT NULL AND expires_at <= ? FROM permalink ORDER BY created_at, id`, time.Now().UnixMicro())
		return err
	})
}

func jsonDamage(p *packer, packed []byte) string {
	text, err := p.unseal(packed, nil)
	switch {
	case err != nil:
		return err.Error()
	case !json.Valid(text):
		return "it is no JSON"
	}
	return ""
}

const seriesFactsSQL = `
SELECT s.captured_at, s.facts
FROM snapshot s
JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation
WHERE s.series_seq = ?`

const seriesSeenSQL = `
SELECT family_seq, day, snapshots, coalesce(first, 0), coalesce(last, 0), low, high
FROM family_seen
WHERE series_seq = ?`

// sums compares what search says of families with the snapshots that it sums up.
func (c *checker) sums(ctx context.Context) error {
	return c.read(ctx, "checking sums", func(tx *sql.Tx) error {
		all, err := collect(ctx, tx, scanOne[int64], `SELECT seq FROM series ORDER BY seq`)
		if err != nil {
			return err
		}
		for _, series := range all {
			if err := c.sumsOf(ctx, tx, series); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *checker) sumsOf(ctx context.Context, tx *sql.Tx, series int64) error {
	var p packer
	defer p.close()
	want := seenSums{}
	_, err := collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
		var captured sql.NullInt64
		var facts sql.RawBytes
		if err := rows.Scan(&captured, &facts); err != nil {
			return none, err
		}
		// Damaged facts are a finding of results.
		_ = want.addFacts(&p, series, captured, facts)
		return none, nil
	}, seriesFactsSQL, series)
	if err != nil {
		return err
	}
	wrong := map[seriesDay]bool{}
	_, err = collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
		key, sum := seenKey{series: series}, seenSum{}
		if err := rows.Scan(&key.family, &key.day, &sum.snapshots, &sum.first, &sum.last, &sum.low, &sum.high); err != nil {
			return none, err
		}
		if want[key] != sum {
			wrong[seriesDay{series, key.day}] = true
		}
		delete(want, key)
		return none, nil
	}, seriesSeenSQL, series)
	for key := range want {
		wrong[seriesDay{series, key.day}] = true
	}
	if err == nil && len(wrong) > 0 {
		f := Finding{Subject: OfCount, What: "what search knows of a process differs from its snapshots", Where: fmt.Sprintf("series %d", series), Mend: "sum it up again"}
		for day := range wrong {
			f.days = append(f.days, day)
		}
		f.Why = wording.Plural(len(wrong), "day", "days")
		c.add(f)
	}
	if err != nil || len(wrong) > 0 {
		return err // a repair of the sums makes the spans again
	}
	return c.spansOf(ctx, tx, &p, series)
}

// seriesSpan is a row of family_span.
type seriesSpan struct {
	first, last           int64
	firstCount, lastCount int64
	// displaced is true if the row is of another host or case than its series.
	displaced bool
}

const seriesSpansSQL = `
SELECT p.fingerprint, p.first, p.last, p.first_count, p.last_count, p.host <> r.host OR p.case_seq <> r.case_seq
FROM family_span p
JOIN series r ON r.seq = p.series_seq
WHERE p.series_seq = ? AND (p.fingerprint < 'o' OR p.fingerprint >= 'p')`

// spansOf compares what the fleet says of the families of a series with its snapshots. What
// it says of objects is of the case's report.
func (c *checker) spansOf(ctx context.Context, tx *sql.Tx, p *packer, series int64) error {
	spans, err := spansOf(ctx, tx, p, series)
	if err != nil {
		return err
	}
	want, err := spans.byFingerprint(ctx, tx, series)
	if err != nil {
		return err
	}
	wrong := 0
	_, err = collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
		var fingerprint string
		var got seriesSpan
		if err := rows.Scan(&fingerprint, &got.first, &got.last, &got.firstCount, &got.lastCount, &got.displaced); err != nil {
			return none, err
		}
		if x, known := want[fingerprint]; !known || !got.agrees(x) {
			wrong++
		}
		delete(want, fingerprint)
		return none, nil
	}, seriesSpansSQL, series)
	if wrong += len(want); err == nil && wrong > 0 {
		c.add(Finding{Subject: OfCount, What: "what the fleet knows of a process differs from its snapshots", Where: fmt.Sprintf("series %d", series),
			Why: wording.Plural(wrong, "family", "families"), Mend: "sum it up again", days: []seriesDay{{series: series}}})
	}
	return err
}

func (s seriesSpan) agrees(want familySpan) bool {
	return !s.displaced && s.first == want.first && s.last == want.last && s.firstCount == want.firstCount && s.lastCount == want.lastCount
}

// byFingerprint merges the spans of the families of a series that have one fingerprint, as
// addSpanSQL does.
func (s familySpans) byFingerprint(ctx context.Context, tx *sql.Tx, series int64) (map[string]familySpan, error) {
	out := map[string]familySpan{}
	_, err := collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
		var family int64
		var fingerprint string
		if err := rows.Scan(&family, &fingerprint); err != nil {
			return none, err
		}
		x, seen := s[spanKey{family, series}]
		if !seen {
			return none, nil // no capture with a time shows it
		}
		if other, known := out[fingerprint]; known {
			x = x.joined(other)
		}
		out[fingerprint] = x
		return none, nil
	}, familiesOfSeriesSQL, series)
	return out, err
}

const familiesOfSeriesSQL = `
SELECT DISTINCT f.seq, f.fingerprint
FROM family_seen s
JOIN family f ON f.seq = s.family_seq
WHERE s.series_seq = ?`

// joined is the span of both. Of two sights at the same time the larger count holds.
func (s familySpan) joined(other familySpan) familySpan {
	if other.first < s.first || other.first == s.first && other.firstCount > s.firstCount {
		s.first, s.firstCount = other.first, other.firstCount
	}
	if other.last > s.last || other.last == s.last && other.lastCount > s.lastCount {
		s.last, s.lastCount = other.last, other.lastCount
	}
	return s
}
