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
	"maps"
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
		cases: map[int64]checkedCase{}, bundles: map[int64]*checkedBundle{}, unread: map[int64]checkedSnapshot{}, used: map[string]*usedBlob{}, objects: map[string]string{}, tallies: map[string]tally{},
	}
	defer c.packer.close()
	db, version, err := openReadOnly(ctx, cfg.dir, cfg.inUse)
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
}

// checkedCase is a row of cases.
type checkedCase struct {
	id       string
	deleting bool
}

// checkedSnapshot is a row of snapshot.
type checkedSnapshot struct {
	id     string
	bundle *checkedBundle
}

// checkedBundle is a row of bundle with what other rows say of it.
type checkedBundle struct {
	id                        string
	generation                int64
	deleting, dropped         bool
	size, sizes               int64
	snapshots, snapshotsFound int64
	problems, problemsFound   int64
	// waits is true for a bundle that is to be read, queued if a job reads it.
	waits, queued bool
	// again is true after a finding that has it read again.
	again bool
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

// pages runs SQLite's own check of pages, indexes and constraints.
func (c *checker) pages(ctx context.Context) error {
	said, err := collect(ctx, c.tx, scanOne[string], `PRAGMA integrity_check(50)`)
	for _, text := range said {
		if text != "ok" {
			c.add(Finding{Subject: OfDatabase, What: "the database is damaged", Where: databaseFile, Why: text, Hint: restoreHint})
		}
	}
	return err
}

// references looks for rows that refer to rows that are gone.
func (c *checker) references(ctx context.Context) error {
	_, err := collect(ctx, c.tx, func(rows *sql.Rows) (none struct{}, err error) {
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
}

// table reads the rows of a table, and passes them to the backup.
func (c *checker) table(ctx context.Context, t table) error {
	var sum tally
	err := t.export(ctx, c.tx, nil, func(b *batch) error {
		for _, row := range b.rows {
			if err := c.row(ctx, record{b, row}); err != nil {
				return err
			}
		}
		if t.name == "snapshot_members" {
			var seqs []int64
			for _, row := range b.rows {
				seqs = append(seqs, record{b, row}.int("snapshot_seq"))
			}
			c.unpack(ctx, seqs)
		}
		if c.to != nil {
			if err := c.to.rows(ctx, b); err != nil {
				return err
			}
		}
		return sum.add(b)
	})
	if sum.Rows > 0 {
		c.tallies[t.name] = sum
	}
	return err
}

func (c *checker) row(ctx context.Context, r record) error {
	switch r.table {
	case "setting":
		if r.text("name") == moveSetting {
			f := unfinishedMove()
			c.add(Finding{Subject: OfDatabase, What: f.What, Where: databaseFile, Why: f.Why, Hint: f.Hint})
		}
	case "cases":
		c.Cases++
		c.cases[r.int("seq")] = checkedCase{r.text("id"), r.text("deleting") != ""}
	case "blob":
		if !r.null("object") {
			c.objects[r.text("sha256")] = r.text("object")
		}
	case "bundle":
		c.Bundles++
		c.bundle(r)
	case "job":
		if b := c.bundles[r.int("bundle_seq")]; b != nil && pending(r.text("status")) {
			b.queued = true
		}
	case "bundle_file":
		if b := c.bundles[r.int("bundle_seq")]; b != nil {
			b.sizes += r.int("size")
			c.use(b, r)
		}
	case "dropped_file":
		if b := c.bundles[r.int("bundle_seq")]; b != nil {
			b.sizes += r.int("size")
		}
	}
	if c.to != nil {
		return nil
	}
	switch r.table {
	case "snapshot":
		c.snapshot(r)
	case "series":
		return c.sums(ctx, r.int("seq"))
	case "case_report":
		c.report(r, "a stored report", "report")
	case "series_judgement":
		c.report(r, "a stored judgement", "judgement")
	case "permalink":
		c.permalink(r)
	}
	return nil
}

// pending reports whether a bundle or a job of this status is to be read.
func pending(status string) bool { return status == "queued" || status == "running" }

// bundle unpacks the inventory of a bundle.
func (c *checker) bundle(r record) {
	b := &checkedBundle{
		id: r.text("id"), generation: r.int("generation"), deleting: c.cases[r.int("case_seq")].deleting, dropped: !r.null("dropped_at"),
		size: r.int("size"), snapshots: r.int("snapshot_count"), problems: r.int("problem_count"), waits: pending(r.text("status")),
	}
	c.bundles[r.int("seq")] = b
	if c.to != nil || b.deleting {
		return
	}
	_, err := openInventory[analysis.Artifact](&c.packer, r.bytes("artifacts"))
	list, other := openInventory[analysis.Problem](&c.packer, r.bytes("problems"))
	if err = errors.Join(err, other); err != nil {
		c.unreadable(b, "an inventory cannot be unpacked", "bundle "+b.id, err)
	}
	b.problemsFound = int64(len(list))
}

// unreadable adds a finding about a result, one for each bundle.
func (c *checker) unreadable(b *checkedBundle, what, where string, why error) {
	if b.again {
		return
	}
	b.again = true
	f := Finding{Subject: OfResult, What: what, Where: where, Why: why.Error(), bundle: b.id,
		Mend: "have its upload read again", Hint: "Its case shows an error until it is read again, with “Read again” on the page of the bundle or with --repair."}
	if b.dropped {
		f.Mend, f.Hint = "", "Its upload was dropped by the policy of retention and cannot be read again. "+restoreHint
	}
	c.add(f)
}

// snapshot notes a visible snapshot, which unpack reads.
func (c *checker) snapshot(r record) {
	b := c.bundles[r.int("bundle_seq")]
	if b == nil || b.deleting || b.generation != r.int("generation") {
		return
	}
	c.Snapshots++
	b.snapshotsFound++
	c.unread[r.int("seq")] = checkedSnapshot{r.text("id"), b}
}

// unpack reads snapshots with their families, stacks, members and objects: all at once, and one
// by one to find those that are damaged.
func (c *checker) unpack(ctx context.Context, seqs []int64) {
	var rows []*snapshotRow
	for _, seq := range seqs {
		if s, ok := c.unread[seq]; ok {
			rows = append(rows, &snapshotRow{seq: seq, id: s.id})
		}
	}
	if len(rows) == 0 {
		return
	}
	l := newLoader(c.tx)
	defer l.p.close()
	err := l.heads(ctx, rows)
	if err == nil {
		err = l.fill(ctx, rows, true)
	}
	if err != nil && len(rows) > 1 && ctx.Err() == nil {
		for _, r := range rows {
			c.unpack(ctx, []int64{r.seq})
		}
		return
	}
	if err != nil && ctx.Err() == nil {
		b := c.unread[rows[0].seq].bundle
		c.unreadable(b, "a snapshot cannot be unpacked", "snapshot "+rows[0].id+" of bundle "+b.id, err)
	}
	for _, r := range rows {
		delete(c.unread, r.seq)
	}
}

// results unpacks the snapshots without members, compares the counts of bundles, and looks for
// those that nobody reads.
func (c *checker) results(ctx context.Context) error {
	if c.to != nil {
		return nil
	}
	for seqs := range slices.Chunk(slices.Sorted(maps.Keys(c.unread)), rowsOfBatch) {
		c.unpack(ctx, seqs)
	}
	for _, seq := range slices.Sorted(maps.Keys(c.bundles)) {
		b := c.bundles[seq]
		if b.deleting {
			continue
		}
		if b.snapshots != b.snapshotsFound || b.problems != b.problemsFound {
			c.unreadable(b, "a result is not complete", "bundle "+b.id,
				fmt.Errorf("snapshots: %d of %d, problems: %d of %d", b.snapshotsFound, b.snapshots, b.problemsFound, b.problems))
		}
		if b.size != b.sizes {
			c.add(Finding{Subject: OfCount, What: "a bundle has another size than its files", Where: "bundle " + b.id, Why: fmt.Sprintf("%d bytes, its files have %d", b.size, b.sizes), Hint: restoreHint})
		}
		if b.waits && !b.queued {
			c.add(Finding{Subject: OfJob, What: "an upload waits to be read, and no job reads it", Where: "bundle " + b.id, bundle: b.id,
				Mend: "queue it again", Hint: "“Read again” on the page of the bundle does the same."})
		}
	}
	return nil
}

// report unpacks a stored report or judgement. Both are made again from the results where they
// are missing.
func (c *checker) report(r record, what, column string) {
	c.Reports++
	if _, err := c.packer.unsealBriefly(r.bytes(column)); err != nil {
		id := c.cases[r.int("case_seq")].id
		c.add(Finding{Subject: OfReport, What: what + " cannot be unpacked", Where: "case " + id, Why: err.Error(), table: r.table, bundle: id,
			Mend: "drop it: it is made again from the results"})
	}
}

// permalink unpacks a frozen record.
func (c *checker) permalink(r record) {
	c.Permalinks++
	expired := !r.null("expires_at") && r.int("expires_at") <= time.Now().UnixMicro()
	why := ""
	if r.null("record") && r.null("withdrawn_at") && !expired {
		why = "its record is missing"
	}
	for _, column := range []string{"record", "raw"} {
		if why == "" && !r.null(column) {
			why = jsonDamage(&c.packer, r.bytes(column))
		}
	}
	if why != "" {
		id := r.text("id")
		c.add(Finding{Subject: OfPermalink, What: "a frozen result cannot be unpacked", Where: "permalink " + id[:min(len(id), 8)] + "…", Why: why,
			Hint: "Restore it from a backup, or share the result again: a frozen result is not made anew."})
	}
}

func jsonDamage(p *packer, packed []byte) string {
	text, err := p.unsealBriefly(packed)
	switch {
	case err != nil:
		return err.Error()
	case !json.Valid(text):
		return "it is no JSON"
	}
	return ""
}

// A usedBlob is an upload that a file of a case refers to.
type usedBlob struct {
	blob.Name
	size         int64
	file, bundle string
}

// use notes the upload of a file.
func (c *checker) use(b *checkedBundle, r record) {
	sha := r.text("sha256")
	u := c.used[sha]
	if u == nil {
		u = &usedBlob{Name: blob.Name{SHA256: sha, Object: c.objects[sha]}, file: r.text("name"), bundle: b.id}
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
		if c.used[e.SHA256] == nil {
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
