package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"leakdiff/samples/corpus"
)

// soundStore is a closed store with cases, a report, a judgement and a permalink.
func soundStore(t *testing.T) (f *fixture, b Bundle) {
	f = openFile(t)
	c := f.newCase("kubelets")
	b = f.filled(c.ID, "one", kubeletResult("2", "3"))
	f.filled(c.ID, "two", kubeletResult("4"))
	f.filled(f.newCase("other").ID, "three", kubeletResult("5"))
	now := must[Case](t)(f.Case(f.ctx, c.ID))
	f.ok(f.KeepCaseReport(f.ctx, c.ID, now.Revision, "test", []byte(strings.Repeat("a report ", 99)), StoredJudgements{All: []string{"k"}, New: map[string][]byte{"k": []byte("a judgement")}}))
	_, _, err := f.CreatePermalink(f.ctx, Permalink{CaseID: c.ID, Record: []byte(`{"a":1}`), Raw: []byte(`["b"]`)})
	f.ok(err)
	f.close()
	f.ok(os.Remove(filepath.Join(f.dir, reserveFile)))
	return f, b
}

func (f *fixture) check() *Checked {
	f.t.Helper()
	return must[*Checked](f.t)(Check(f.ctx, f.dir, f.bucket))
}

// exec changes the closed database behind the back of the program.
func (f *fixture) exec(query string, args ...any) {
	f.t.Helper()
	var db *sql.DB
	if f.database != "" {
		db = f.writer
	} else {
		var err error
		db, err = connect(filepath.Join(f.dir, databaseFile), 1, ofWriter)
		f.ok(err)
		defer db.Close()
		_, err = db.ExecContext(f.ctx, `PRAGMA foreign_keys = OFF`)
		f.ok(err)
	}
	if n, err := rowsOf(db.ExecContext(f.ctx, query, args...)); err != nil || n == 0 {
		f.t.Fatalf("%d rows, %v", n, err)
	}
}

// everyFile is each file of a directory with its content.
func everyFile(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == lockFile || d.Name() == reserveFile || strings.HasSuffix(path, "-shm") {
			return err
		}
		content, err := os.ReadFile(path)
		out[path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestASoundDirectoryIsSoundAndStaysAsItIs(t *testing.T) {
	f, _ := soundStore(t)
	before := everyFile(t, f.dir)
	got := f.check()
	if len(got.Findings) > 0 || got.InUse {
		t.Errorf("%+v", got)
	}
	if got.Cases != 2 || got.Bundles != 3 || got.Uploads != 3 || got.UploadBytes != 3+3+5 || got.Snapshots != 4 || got.Reports != 2 || got.Permalinks != 1 {
		t.Errorf("counted %+v", got)
	}
	wantEqual(t, before, everyFile(t, f.dir))
	if got := must[*Checked](t)(Repair(f.ctx, f.dir, f.bucket, f.log)); len(got.Findings) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestCheckWorksBesideAServerAndRepairRefusesTo(t *testing.T) {
	f, _ := soundStore(t)
	f.reopen()
	if got := f.check(); !got.InUse || len(got.Findings) > 0 || got.Snapshots != 4 {
		t.Errorf("%+v", got)
	}
	_, err := Repair(f.ctx, f.dir, f.bucket, f.log)
	wantCode(t, err, "locked")
}

func TestCheckRefusesWhatIsNoDataDirectory(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		_, err := Check(t.Context(), path, "")
		wantCode(t, err, "not_found")
		_, err = Repair(t.Context(), path, "", nil)
		wantCode(t, err, "not_found")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it made %v, %v", left, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f, _ := soundStore(t)
	if _, err := Check(ctx, f.dir, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled check gave %v", err)
	}
}

// fileOf is the stored file of an upload.
func (f *fixture) fileOf(b Bundle) string {
	f.t.Helper()
	found, err := filepath.Glob(filepath.Join(f.dir, blobDir, "??", b.Files[0].SHA256+".*"))
	if err != nil || len(found) != 1 {
		f.t.Fatalf("%v, %v", found, err)
	}
	return found[0]
}

// copied is a fixture over a copy of a closed one.
func (f *fixture) copied(t *testing.T) *fixture {
	c := &fixture{t: t, ctx: t.Context(), dir: t.TempDir(), clock: f.clock}
	c.ok(os.CopyFS(c.dir, os.DirFS(f.dir)))
	t.Cleanup(func() {
		if c.Store != nil {
			c.close()
		}
	})
	return c
}

func TestEveryDamageIsFoundAndWhatCanBeMendedIs(t *testing.T) {
	corpus.Heavy(t)
	whole, b := soundStore(t)
	sql := func(query string, args ...any) func(*fixture, Bundle) {
		return func(f *fixture, _ Bundle) { f.exec(query, args...) }
	}
	for name, tc := range map[string]struct {
		damage  func(*fixture, Bundle)
		subject Subject
		says    string
		// left is how many damages and notes remain after a repair.
		left int
		note bool
		// queued is how many bundles the repair queues.
		queued int
	}{
		"an upload with a flipped bit": {func(f *fixture, b Bundle) {
			content := must[[]byte](f.t)(os.ReadFile(f.fileOf(b)))
			content[len(content)-1] ^= 1
			f.ok(os.WriteFile(f.fileOf(b), content, 0o600))
		}, OfUpload, "bundle.tar.gz", 2, false, 0}, // missing, and a note of what was set aside
		"an upload that is gone":     {func(f *fixture, b Bundle) { f.ok(os.Remove(f.fileOf(b))) }, OfUpload, "bundle.tar.gz", 1, false, 0},
		"another size":               {sql(`UPDATE bundle_file SET size = 9 WHERE bundle_seq = 1`), OfUpload, "the row says 9", 2, false, 0}, // and that of the bundle
		"a row that refers nowhere":  {sql(`UPDATE snapshot SET bundle_seq = 99 WHERE seq = 1`), OfReference, "snapshot", 1, false, 1},       // its bundle lacks a snapshot
		"a head":                     {sql(`UPDATE snapshot SET head = x'02ffffffff00' WHERE seq = 1`), OfResult, "bundle b", 0, false, 1},
		"facts":                      {sql(`UPDATE snapshot SET facts = x'02ffffffff00' WHERE seq = 1`), OfResult, "bundle b", 0, false, 1},
		"members":                    {sql(`UPDATE snapshot_members SET members = x'0711' WHERE snapshot_seq = 1`), OfResult, "bundle b", 0, false, 1},
		"members that are gone":      {sql(`DELETE FROM snapshot_members WHERE snapshot_seq = 1`), OfResult, "bundle b", 0, false, 1},
		"a stack that is gone":       {sql(`DELETE FROM stack WHERE seq = 1`), OfResult, "stack row", 0, false, 3},
		"a snapshot that is gone":    {sql(`DELETE FROM snapshot_members WHERE snapshot_seq = 1; DELETE FROM snapshot WHERE seq = 1`), OfResult, "snapshots: 1 of 2", 0, false, 1},
		"an inventory":               {sql(`UPDATE bundle SET artifacts = x'02ffffffff00' WHERE seq = 1`), OfResult, "bundle b", 0, false, 1},
		"a count of problems":        {sql(`UPDATE bundle SET problem_count = 7 WHERE seq = 1`), OfResult, "of 7", 0, false, 1},
		"a bundle that nobody reads": {sql(`UPDATE bundle SET status = 'queued' WHERE seq = 1`), OfJob, "bundle b", 0, false, 1},
		"a report":                   {sql(`UPDATE case_report SET report = x'09'`), OfReport, "case c", 0, false, 0},
		"a judgement":                {sql(`UPDATE series_judgement SET judgement = x'01ff'`), OfReport, "case c", 0, false, 0},
		"a permalink":                {sql(`UPDATE permalink SET record = x'01ff'`), OfPermalink, "permalink ", 1, false, 0},
		"a permalink without record": {sql(`UPDATE permalink SET record = NULL`), OfPermalink, "missing", 1, false, 0},
		"sums":                       {sql(`UPDATE family_seen SET high = high + 1 WHERE series_seq = 1`), OfCount, "series 1", 0, false, 0},
		"sums that are gone":         {sql(`DELETE FROM family_seen WHERE series_seq = 1`), OfCount, "series 1", 0, false, 0},
		"a last sight":               {sql(`UPDATE family_span SET last_count = last_count + 1 WHERE series_seq = 1`), OfCount, "series 1", 0, false, 0},
		"a sight on another host":    {sql(`UPDATE family_span SET host = 'elsewhere' WHERE series_seq = 1`), OfCount, "series 1", 0, false, 0},
		"sights that are gone":       {sql(`DELETE FROM family_span WHERE series_seq = 1`), OfCount, "series 1", 0, false, 0},
		"temporary files of a crash": {func(f *fixture, _ Bundle) {
			f.ok(os.WriteFile(filepath.Join(f.dir, blobDir, "tmp", "put-1"), nil, 0o600))
		}, OfFile, "1 file", 0, true, 0},
		"uploads that nobody refers to": {func(f *fixture, _ Bundle) {
			f.reopen()
			f.file("x", "nobody's")
			f.close()
		}, OfUpload, "1 file", 1, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := whole.copied(t)
			tc.damage(f, b)
			before := everyFile(t, f.dir)
			got := f.check()
			named := slices.ContainsFunc(got.Findings, func(x Finding) bool {
				return x.Subject == tc.subject && strings.Contains(x.Where+x.Why, tc.says) && !x.Mended
			})
			if !named || got.Sound() != tc.note {
				t.Fatalf("found %+v", got.Findings)
			}
			wantEqual(t, before, everyFile(t, f.dir))

			mended := must[*Checked](t)(Repair(f.ctx, f.dir, f.bucket, f.log))
			for _, x := range mended.Findings {
				if x.Mended != (x.Mend != "") {
					t.Errorf("not mended: %+v", x)
				}
			}
			f.reopen()
			var queued int
			f.ok(f.reader.QueryRowContext(f.ctx, `SELECT count(*) FROM job WHERE status = 'queued'`).Scan(&queued))
			if queued != tc.queued {
				t.Errorf("%d readings are queued, want %d", queued, tc.queued)
			}
			results := map[string]Result{"one": kubeletResult("2", "3"), "two": kubeletResult("4"), "three": kubeletResult("5")}
			for range queued {
				job, _, err := f.ClaimJob(f.ctx)
				f.ok(err)
				again := must[Bundle](t)(f.Bundle(f.ctx, job.BundleID))
				r, err := f.Blobs().Open(f.ctx, again.Files[0].SHA256)
				f.ok(err)
				content := make([]byte, 5)
				n, _ := r.Read(content)
				r.Close()
				f.ok(f.FinishJob(f.ctx, job.ID, results[string(content[:n])]))
			}
			f.ok(f.reapAll(f.ctx))
			f.close()
			if after := f.check(); len(after.Findings) != tc.left || after.Uploads < 2 {
				t.Errorf("after the repair: %+v", after.Findings)
			}
		})
	}
}

func TestADamagedDatabaseIsNamedAndNotWrittenTo(t *testing.T) {
	f, _ := soundStore(t)
	path := filepath.Join(f.dir, databaseFile)
	content := must[[]byte](t)(os.ReadFile(path))
	for at := 8 * 4096; at+64 < len(content); at += 4096 {
		copy(content[at:], strings.Repeat("damage ", 9))
	}
	f.ok(os.WriteFile(path, content, 0o600))
	got := f.check()
	if got.Sound() || !slices.ContainsFunc(got.Findings, func(x Finding) bool { return x.Subject == OfDatabase && strings.Contains(x.Hint, "backup") }) {
		t.Errorf("%+v", got)
	}
	before := everyFile(t, f.dir)
	if _, err := Repair(f.ctx, f.dir, f.bucket, f.log); err != nil {
		t.Error(err)
	}
	wantEqual(t, before, everyFile(t, f.dir))
}

func TestThePagesOfADeletedCaseAreNoDamage(t *testing.T) {
	f, b := soundStore(t)
	f.reopen()
	f.ok(f.DeleteCase(f.ctx, b.CaseID, WithdrawPermalinks))
	f.close()
	if got := f.check(); len(got.Findings) > 0 || got.Cases != 1 || got.Permalinks != 1 {
		t.Errorf("%+v", got)
	}
}
