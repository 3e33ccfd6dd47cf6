package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/samples/corpus"
	"leakdiff/store/blob"
)

// backupsOf are the two forms of a backup.
func backupsOf(t *testing.T) []string {
	dir := t.TempDir()
	return []string{filepath.Join(dir, "backup"), filepath.Join(dir, "backup.tar")}
}

func TestABackupIsRestoredToWhatWasThere(t *testing.T) {
	corpus.Heavy(t)
	f, _ := soundStore(t)
	f.ok(os.MkdirAll(filepath.Join(f.dir, knowledgeDir), 0o700))
	f.ok(os.WriteFile(filepath.Join(f.dir, knowledgeDir, "own.json"), []byte("{}"), 0o600))
	f.reopen() // it runs
	f.file("nobody's", "an upload that no case refers to")
	want := map[string][]analysis.Snapshot{}
	cases, _, err := f.Cases(f.ctx, CaseQuery{Limit: 9})
	f.ok(err)
	for _, c := range cases {
		want[c.ID] = must[[]analysis.Snapshot](t)(f.full(c.ID))
	}
	for _, to := range backupsOf(t) {
		t.Run(filepath.Base(to), func(t *testing.T) {
			m := must[*Manifest](t)(Backup(f.ctx, BackupConfig{Dir: f.dir, To: to, Now: f.clock.Now}))
			if m.Uploads != 3 || len(m.Missing) > 0 {
				t.Errorf("%+v", m)
			}
			if _, err := Backup(f.ctx, BackupConfig{Dir: f.dir, To: to}); code(err) != "exists" {
				t.Errorf("over another: %v", err)
			}
			r := &fixture{t: t, ctx: t.Context(), dir: filepath.Join(t.TempDir(), "new", "data"), clock: f.clock}
			restored := must[*Restored](t)(Restore(f.ctx, RestoreConfig{From: to, Dir: r.dir}))
			if restored.Before != "" {
				t.Errorf("something was there: %s", restored.Before)
			}
			if own, err := os.ReadFile(filepath.Join(r.dir, knowledgeDir, "own.json")); err != nil || string(own) != "{}" {
				t.Errorf("%q, %v", own, err)
			}
			if got := r.check(); len(got.Findings) > 0 || got.Uploads != 3 || got.Snapshots != 4 {
				t.Errorf("%+v", got)
			}
			r.reopen()
			defer r.close()
			r.wantCases(want)
			if left, err := filepath.Glob(to + "*"); err != nil || len(left) != 1 {
				t.Errorf("beside it: %v, %v", left, err)
			}
			for path := range everyFile(t, filepath.Dir(to)) {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v", path, info.Mode(), err)
				}
			}
		})
	}
}

// A deletion between the copy of the database and that of the uploads.
func TestABackupDuringADeletionIsThatOfTheTimeAfterIt(t *testing.T) {
	f, b := soundStore(t)
	f.reopen()
	copies := 0
	to := backupsOf(t)[0]
	m := must[*Manifest](t)(Backup(f.ctx, BackupConfig{Dir: f.dir, To: to, copying: func(string) {
		if copies++; copies == 1 {
			f.ok(f.DeleteCase(f.ctx, b.CaseID, WithdrawPermalinks))
		}
	}}))
	// The first try looks for three uploads, the second for the one that is left.
	if copies != 4 || m.Uploads != 1 || len(m.Missing) > 0 || m.Tables["cases"].Rows != 1 {
		t.Errorf("%d uploads copied, %+v", copies, m)
	}
}

// Copies of uploads that the final rows do not name are secrets of somebody who deleted them.
func TestABackupHasNothingThatWasDeletedMeanwhile(t *testing.T) {
	f := openFile(t)
	kept := f.newCase("kept")
	f.upload(kept.ID, "secret of the other")
	gone := map[string]string{} // the case of each upload that is deleted, by hash
	for _, secret := range []string{"secret of the one", "secret of the third"} {
		c := f.newCase("gone")
		b, _ := f.upload(c.ID, secret)
		gone[b.Files[0].SHA256] = c.ID
	}
	last := slices.Max(slices.Collect(maps.Keys(gone)))
	to := backupsOf(t)[0]
	m := must[*Manifest](t)(Backup(f.ctx, BackupConfig{Dir: f.dir, To: to, copying: func(sha string) {
		if sha != last {
			return
		}
		for sha, id := range gone { // one of them is copied already
			if copied := blob.OpenReadOnly(blob.Config{Dir: filepath.Join(to+partSuffix, blobDir)}).Has(sha); copied == (sha == last) {
				t.Errorf("copied before the deletion: %v", copied)
			}
			f.ok(f.DeleteCase(f.ctx, id, WithdrawPermalinks))
		}
	}}))
	if m.Uploads != 1 || len(m.Missing) > 0 {
		t.Errorf("%+v", m)
	}
	left := ""
	for _, content := range everyFile(t, to) {
		left += content
	}
	if strings.Contains(left, "of the one") || strings.Contains(left, "of the third") || !strings.Contains(left, "of the other") {
		t.Error("a deleted upload is in it, or the other is not")
	}
}

func TestABackupNamesTheUploadsThatWereDamagedBefore(t *testing.T) {
	f, b := soundStore(t)
	f.ok(os.Truncate(f.fileOf(b), 3))
	for _, to := range backupsOf(t) {
		m := must[*Manifest](t)(Backup(f.ctx, BackupConfig{Dir: f.dir, To: to}))
		if len(m.Missing) != 1 || m.Missing[0] != b.Files[0].SHA256 || m.Uploads != 2 {
			t.Errorf("%+v", m)
		}
		must[*Restored](t)(Restore(f.ctx, RestoreConfig{From: to, Dir: filepath.Join(t.TempDir(), "data")}))
	}
	if _, err := os.Stat(f.fileOf(b)); err != nil {
		t.Errorf("the backup set it aside: %v", err)
	}
}

func TestARestoreKeepsWhatWasThereAndRefusesADirectoryInUse(t *testing.T) {
	f, b := soundStore(t)
	to := backupsOf(t)[1]
	must[*Manifest](t)(Backup(f.ctx, BackupConfig{Dir: f.dir, To: to}))
	f.reopen()
	f.ok(f.DeleteCase(f.ctx, b.CaseID, WithdrawPermalinks))
	_, err := Restore(f.ctx, RestoreConfig{From: to, Dir: f.dir})
	wantCode(t, err, "locked")
	f.close()
	f.ok(os.MkdirAll(filepath.Join(f.dir+restoringSuffix, "left"), 0o700)) // by a restore that was killed
	before := everyFile(t, f.dir)
	restored := must[*Restored](t)(Restore(f.ctx, RestoreConfig{From: to, Dir: f.dir, Now: f.clock.Now}))
	if got := f.check(); !got.Sound() || got.Cases != 2 {
		t.Errorf("%+v", got)
	}
	after := map[string]string{}
	for path, content := range everyFile(t, restored.Before) {
		after[strings.Replace(path, restored.Before, f.dir, 1)] = content
	}
	wantEqual(t, before, after)
	if left, err := filepath.Glob(f.dir + "*"); err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestADamagedBackupChangesNothing(t *testing.T) {
	corpus.Heavy(t)
	f, _ := soundStore(t)
	forms := backupsOf(t)
	for _, to := range forms {
		must[*Manifest](t)(Backup(f.ctx, BackupConfig{Dir: f.dir, To: to}))
	}
	before := everyFile(t, f.dir)
	refuses := func(name, from string) {
		t.Run(name, func(t *testing.T) {
			_, err := Restore(f.ctx, RestoreConfig{From: from, Dir: f.dir})
			wantCode(t, err, "damaged")
			wantEqual(t, before, everyFile(t, f.dir))
			if left, err := filepath.Glob(f.dir + "?*"); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
	refuses("a backup that is not there", forms[0]+"-none")
	refuses("a directory that is none", t.TempDir())
	whole := must[[]byte](t)(os.ReadFile(forms[1]))
	// Rows are compressed, so no text of them surely stands in the archive.
	changedRow := bytes.Clone(whole)
	changedRow[headerOf(t, whole, rowsFile(1))+tarBlock+20] ^= 1
	for name, content := range map[string][]byte{
		"an archive cut in half":         whole[:len(whole)/2],
		"an archive cut at a file":       whole[:1024],
		"an archive with a changed row":  changedRow,
		"an archive with a changed file": bytes.Replace(whole, []byte("three"), []byte("tree3"), 1),
		"an archive with another name":   bytes.Replace(whole, []byte("blobs/"), []byte("../abc"), 1),
		"no archive":                     []byte("no archive"),
	} {
		path := filepath.Join(t.TempDir(), "x.tar")
		f.ok(os.WriteFile(path, content, 0o600))
		if bytes.Equal(content, whole) {
			t.Fatal("nothing was changed for: " + name)
		}
		refuses(name, path)
	}
	for path, content := range everyFile(t, forms[0]) {
		f.ok(os.Truncate(path, int64(len(content)-2)))
		refuses("a cut "+filepath.Base(path), forms[0])
		f.ok(os.Remove(path))
		refuses("a removed "+filepath.Base(path), forms[0])
		f.ok(os.WriteFile(path, []byte(content), 0o600))
	}
	must[*Restored](t)(Restore(f.ctx, RestoreConfig{From: forms[0], Dir: f.dir}))
}

// tarBlock is the size of a header of the tar format.
const tarBlock = 512

// headerOf is the place of the header of a file in an archive of the tar format.
func headerOf(t *testing.T, archive []byte, name string) int {
	t.Helper()
	for i := 0; i < len(archive); i += tarBlock {
		if bytes.HasPrefix(archive[i:], []byte(name+"\x00")) {
			return i
		}
	}
	t.Fatal("no file in the archive: " + name)
	return 0
}

func TestRowsThatDoNotFitAreNotRestored(t *testing.T) {
	f, _ := soundStore(t)
	to := backupsOf(t)[0]
	m := must[*Manifest](t)(Backup(f.ctx, BackupConfig{Dir: f.dir, To: to}))
	files := must[[]os.DirEntry](t)(os.ReadDir(filepath.Join(to, rowsDir)))
	s := &staging{dir: to, files: len(files)}
	twice := &batch{table: "setting", columns: []string{"name", "value"}, rows: [][]any{{"a", "1"}, {"a", "2"}}}
	f.ok(s.rows(f.ctx, twice))
	sum := m.Tables["setting"]
	f.ok(sum.add(twice))
	m.Tables["setting"] = sum
	f.ok(os.WriteFile(filepath.Join(to, manifestFile), must[[]byte](t)(json.Marshal(m)), 0o600))
	dir := filepath.Join(t.TempDir(), "data")
	_, err := Restore(f.ctx, RestoreConfig{From: to, Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "restoring rows failed") {
		t.Errorf("two rows with one key: %v", err)
	}
	if left, err := filepath.Glob(dir + "*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestABackupThatEndsEarlyLeavesNothing(t *testing.T) {
	f, _ := soundStore(t)
	for _, to := range backupsOf(t) {
		ctx, cancel := context.WithCancel(f.ctx)
		_, err := Backup(ctx, BackupConfig{Dir: f.dir, To: to, copying: func(string) { cancel() }})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if left, err := filepath.Glob(to + "*"); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

func TestOnlyNamesOfABackupAreUnpacked(t *testing.T) {
	sha := strings.Repeat("ab", 32)
	for name, want := range map[string]bool{
		"rows/00000001": true, "blobs/ab/" + sha + ".mz": true, "blobs/ab/" + sha + ".raw": true,
		"blobs/ac/" + sha + ".mz": false, "blobs/ab/x.mz": false, "blobs/tmp/put-1": false, "blobs/" + sha + ".mz": false, "blobs/damaged/" + sha + ".mz": false,
		"../leakdiff.db": false, "/rows/00000001": false, "rows/../00000001": false, "rows/a/00000001": false, "rows/": false, "": false, "rows/0000001x": false,
		"leakdiff.db": false, "leakdiff.backup.json": false, "knowledge/a.json": false, "./rows/00000001": false, "blobs/ab/../ab/" + sha + ".mz": false,
	} {
		if got := backupName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
