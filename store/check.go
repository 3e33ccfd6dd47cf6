package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"leakdiff/analysis"
	"leakdiff/migrations"
	"leakdiff/store/blob"
)

// Subject is what a finding of Check is about.
type Subject string

const (
	OfDatabase  Subject = "database"
	OfLog       Subject = "log"
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
	found, err := check(ctx, checkConfig{dir: dir, blobs: blobs, inUse: held == nil})
	if err != nil {
		return nil, err
	}
	return found.Checked, nil
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
	// to gets what is read, if it is a backup. Then results are not unpacked.
	to *staging
}

// check is Check for a caller that has the lock, or knows that another process has it.
func check(ctx context.Context, cfg checkConfig) (*checker, error) {
	c := &checker{
		Checked: &Checked{InUse: cfg.inUse, Findings: []Finding{}}, dir: cfg.dir, to: cfg.to,
		blobs: blob.OpenReadOnly(blob.Config{Dir: filepath.Join(cfg.dir, blobDir), Log: slog.New(slog.DiscardHandler)}),
		cases: map[int64]checkedCase{}, bundles: map[int64]*checkedBundle{}, unread: map[int64]checkedSnapshot{}, used: map[string]*usedBlob{}, objects: map[string]string{}, tallies: map[string]tally{}, forgotten: map[string]bool{},
	}
	defer c.packer.close()
	if !cfg.inUse {
		if err := c.log(); err != nil {
			return nil, err
		}
	}
	db, version, err := openReadOnly(ctx, cfg.dir, cfg.inUse, c.withoutLog)
	if codeOf(err) == "damaged" {
		c.unreadableDatabase(err)
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	defer db.Close()
	c.db, c.Database = db, version
	if !cfg.leaveBucket {
		if err := c.openBucket(ctx, cfg.blobs); err != nil {
			return nil, err
		}
	}
	if c.bucket != nil {
		defer c.bucket.Close()
	}
	steps := []func(context.Context) error{c.inOneTransaction, c.uploads, c.files}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// inOneTransaction checks the database in one state, which a server does not change meanwhile.
func (c *checker) inOneTransaction(ctx context.Context) error {
	tx, err := c.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fault("checking the database", err)
	}
	defer tx.Rollback()
	c.tx = tx
	steps := []func(context.Context) error{c.pages, c.references}
	for _, t := range tables {
		steps = append(steps, func(ctx context.Context) error { return c.table(ctx, t) })
	}
	for _, step := range append(steps, c.results) {
		err := fault("checking the database", step(ctx))
		if err == nil {
			continue
		}
		if ctx.Err() != nil || codeOf(err) != "damaged" && !c.damagedDatabase() {
			return err
		}
		c.unreadableDatabase(err)
	}
	return nil
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
// server may run on it if inUse. withoutLog reads what the file alone has.
func openReadOnly(ctx context.Context, dir string, inUse, withoutLog bool) (*sql.DB, int, error) {
	file, err := filepath.Abs(filepath.Join(dir, databaseFile))
	if err != nil {
		return nil, 0, err
	}
	settings := ofReader + "&mode=ro"
	if wal, err := os.Stat(file + "-wal"); !inUse && (withoutLog || err != nil || wal.Size() == 0) {
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

// checker collects findings while rows and uploads are read, each once.
type checker struct {
	*Checked
	db    *sql.DB
	tx    *sql.Tx
	dir   string
	blobs *blob.Directory
	// bucket has the uploads whose rows name an object, nil to leave them out.
	bucket *blob.Bucket
	to     *staging
	packer packer

	cases   map[int64]checkedCase
	bundles map[int64]*checkedBundle
	// unread are the visible snapshots that were not unpacked yet.
	unread map[int64]checkedSnapshot
	// used are the uploads that a file of a case refers to, objects those in a bucket, by hash.
	used    map[string]*usedBlob
	objects map[string]string
	tallies map[string]tally
	// lost are the uploads that are missing or damaged. deleted is true if others were deleted
	// after their rows were read.
	lost    []string
	deleted bool
	// cut is a damage of the log that lost transactions, forgotten the uploads that are deleted.
	cut       *logDamage
	forgotten map[string]bool
	// withoutLog leaves out a damaged log of which the database has everything.
	withoutLog bool
}

// openBucket opens the bucket of the uploads. It refuses if they are there and nobody said
// where that is.
func (c *checker) openBucket(ctx context.Context, address string) error {
	var owner string
	var inBucket bool
	err := c.db.QueryRowContext(ctx, settingSQL, ownerSetting).Scan(&owner)
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		err = c.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM blob WHERE object IS NOT NULL)`).Scan(&inBucket)
	}
	err = fault("looking where uploads are", err)
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
