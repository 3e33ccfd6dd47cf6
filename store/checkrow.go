package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"leakdiff/analysis"
)

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
		c.forgotten[r.text("sha256")] = r.int("forgotten") != 0
		if !r.null("object") {
			c.objects[r.text("sha256")] = r.text("object")
		}
	case "bundle":
		c.Bundles++
		c.bundle(r)
	case "job":
		b := c.bundleOf(r)
		b.queued = b.queued || pending(r.text("status"))
	case "bundle_file":
		c.bundleOf(r).sizes += r.int("size")
		c.use(r)
	case "dropped_file":
		c.bundleOf(r).sizes += r.int("size")
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

// bundleOf is the bundle of a row. Nothing is said of one that is gone: see references.
func (c *checker) bundleOf(r record) *checkedBundle {
	if b := c.bundles[r.int("bundle_seq")]; b != nil {
		return b
	}
	return &checkedBundle{deleting: true}
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
	b := c.bundleOf(r)
	if b.deleting || b.generation != r.int("generation") {
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
