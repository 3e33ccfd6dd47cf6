//go:build linux || darwin || freebsd

package store

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/store/blob"
)

// logged has the fixture write its log where the test reads it.
func (f *fixture) logged() *bytes.Buffer {
	var text bytes.Buffer
	f.log = slog.New(slog.NewTextHandler(&text, nil))
	return &text
}

// databaseFiles are those of the database, of which the last two are there at times.
var databaseFiles = []string{databaseFile, databaseFile + "-wal", databaseFile + "-shm"}

func (f *fixture) has(b Bundle) bool { return f.holds(b.Files[0].SHA256) }

func (f *fixture) removeDatabase() {
	f.t.Helper()
	for _, name := range databaseFiles {
		if err := os.Remove(filepath.Join(f.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.t.Fatal(err)
		}
	}
}

// age makes all uploads look as if they were of last year.
func (f *fixture) age() {
	f.t.Helper()
	old := f.clock.now.Add(-365 * 24 * time.Hour)
	f.ok(filepath.WalkDir(filepath.Join(f.dir, blobDir), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.Chtimes(path, old, old)
		}
		return err
	}))
}

func TestADatabaseIsNotBegunBesideUploadsUnlessThatIsAskedFor(t *testing.T) {
	for name, lose := range map[string]func(f *fixture){
		"it is missing": (*fixture).removeDatabase,
		"it is empty": func(f *fixture) {
			f.removeDatabase()
			f.ok(os.WriteFile(filepath.Join(f.dir, databaseFile), nil, 0o600))
		},
		"nothing of it had reached the disk": func(f *fixture) {
			f.removeDatabase()
			db := must[*sql.DB](f.t)(connect(filepath.Join(f.dir, databaseFile), 1, ofWriter))
			_, err := db.ExecContext(f.ctx, `PRAGMA page_size`)
			f.ok(errors.Join(err, db.Close()))
			if info, err := os.Stat(filepath.Join(f.dir, databaseFile)); err != nil || info.Size() != 4096 {
				f.t.Fatalf("%v, %v", info, err)
			}
		},
		"it is another program's": func(f *fixture) {
			f.removeDatabase()
			db := must[*sql.DB](f.t)(connect(filepath.Join(f.dir, databaseFile), 1, ofWriter))
			_, err := db.ExecContext(f.ctx, `CREATE TABLE other (a)`)
			f.ok(errors.Join(err, db.Close()))
		},
		"all that is left of the upload is damaged": func(f *fixture) {
			f.removeDatabase()
			aside := must[[]string](f.t)(filepath.Glob(filepath.Join(f.dir, blobDir, "??", "*")))
			f.ok(os.Rename(aside[0], filepath.Join(f.dir, blobDir, "damaged", filepath.Base(aside[0]))))
		},
		"its log is left": func(f *fixture) {
			f.removeDatabase()
			f.ok(os.WriteFile(filepath.Join(f.dir, databaseFile+"-wal"), []byte("a log"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := openDirectory(t)
			b := f.filled(f.newCase("a").ID, "the only copy", kubeletResult("2"))
			f.close()
			f.age()
			lose(f)
			before, err := os.Stat(filepath.Join(f.dir, databaseFile))
			hadFile := err == nil && before.Size() > 0
			damaged := strings.HasSuffix(name, "damaged")
			for range 2 {
				_, err := Open(f.ctx, Config{Dir: f.dir, Now: f.clock.Now})
				var fault *analysis.Fault
				if !errors.As(err, &fault) || fault.Code != "no_database" {
					t.Fatalf("got %v", err)
				}
				for _, want := range []string{databaseFile, "files: 1, bytes: ", blobDir, "--new-database"} {
					if !strings.Contains(fault.Error(), want) {
						t.Errorf("%q is missing in: %v", want, fault)
					}
				}
			}
			if info, err := os.Stat(filepath.Join(f.dir, databaseFile)); (err == nil && info.Size() > 0) != hadFile {
				t.Error("the refused start made a database, and the next one would not be refused")
			}

			text := f.logged()
			s, err := Open(f.ctx, Config{Dir: f.dir, Now: f.clock.Now, NewDatabase: true, Log: f.log})
			f.ok(err)
			f.Store = s
			if !f.has(b) && !damaged {
				t.Error("the upload was deleted")
			}
			if files, err := filepath.Glob(filepath.Join(f.dir, databaseFile+".lost-*")); err != nil || (len(files) == 1) != hadFile {
				t.Errorf("files of the lost database that were kept: %v, %v", files, err)
			}
			if want := "files=1 bytes="; !damaged && (!strings.Contains(text.String(), want) || !strings.Contains(text.String(), "where="+filepath.Join(f.dir, blobDir)) || !strings.Contains(text.String(), b.Files[0].SHA256)) {
				t.Errorf("the log does not say what is kept, and where: %s", text)
			}
			f.clock.advance(48 * time.Hour)
			f.ok(f.Sweep(f.ctx))
			if left := must[[]blob.Entry](t)(f.uploads.directory.SetAside()); !f.has(b) && len(left) == 0 {
				t.Error("the upload was deleted later")
			}
			if logs, err := filepath.Glob(filepath.Join(f.dir, databaseFile+"-wal.lost-*")); err != nil || len(logs) != strings.Count(name, "log") {
				t.Errorf("logs of the lost database that were kept: %v, %v", logs, err)
			}
		})
	}
}

func TestANewDatabaseNeedsNoLeaveWhereThereIsNoUpload(t *testing.T) {
	f := openFile(t)
	f.close()
	f.removeDatabase()
	f.reopen()
	f.close()
	text := f.logged()
	s, err := Open(f.ctx, Config{Dir: f.dir, NewDatabase: true, Log: f.log})
	f.ok(err)
	f.Store = s
	if !strings.Contains(text.String(), "a new one was not needed") {
		t.Errorf("who always asks for a new database is not told: %s", text)
	}
}

func TestUploadsThatAnOlderDatabaseDoesNotKnowAreKeptAndReported(t *testing.T) {
	f := openFile(t)
	c := f.newCase("a")
	before := f.filled(c.ID, "before the copy", kubeletResult("2"))
	f.close()
	older, err := os.ReadFile(filepath.Join(f.dir, databaseFile))
	f.ok(err)
	f.reopen()
	after := f.filled(c.ID, "after the copy", kubeletResult("3"))
	gone := f.filled(c.ID, "deleted after the copy", kubeletResult("4"))
	f.close()
	f.removeDatabase()
	f.ok(os.WriteFile(filepath.Join(f.dir, databaseFile), older, 0o600))
	f.ok(os.Remove(filepath.Join(f.dir, blobDir, before.Files[0].SHA256[:2], before.Files[0].SHA256+".mz")))
	f.age()
	text := f.logged()
	f.reopen()
	if !f.has(after) || !f.has(gone) {
		t.Error("an upload was deleted because a row is missing")
	}
	for _, want := range []string{"uploads that no case refers to are kept", "files=2 bytes=", "uploads that cases refer to are missing", "files=1", before.Files[0].SHA256} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in the log: %s", want, text)
		}
	}
	// The same upload gives the bytes a row again, and they go with it.
	again, _ := f.upload(c.ID, "after the copy")
	f.ok(f.RemoveBundle(f.ctx, again.ID))
	if f.has(after) {
		t.Error("what a case referred to and was deleted with it is still there")
	}
}

func TestWhatADeletionForgotGoesAtTheNextStartAfterACrash(t *testing.T) {
	f := openDirectory(t)
	a, b := f.newCase("a"), f.newCase("b")
	alone, shared := f.filled(a.ID, "of a alone", kubeletResult("2")), f.filled(a.ID, "of both", kubeletResult("3"))
	f.filled(b.ID, "of both", kubeletResult("3"))
	// The process dies between the transaction and the files.
	f.ok(f.deleteRows(f.ctx, a.ID, WithdrawPermalinks))
	if !f.has(alone) {
		t.Fatal("the file went before its rows were durable")
	}
	f.crash()
	if f.has(alone) || !f.has(shared) {
		t.Errorf("after the start: what only the deleted case had is there: %v, what another has: %v", f.has(alone), f.has(shared))
	}
	f.wantSound()
	if n := f.rows("blob"); n != 1 {
		t.Errorf("%d rows of uploads are left, want the shared one", n)
	}
}

func TestWhatIsReferredToAgainBeforeItWentStays(t *testing.T) {
	f := openDirectory(t)
	a, b := f.newCase("a"), f.newCase("b")
	f.filled(a.ID, "the same", kubeletResult("2"))
	f.ok(f.deleteRows(f.ctx, a.ID, WithdrawPermalinks))
	kept, _ := f.upload(b.ID, "the same")
	f.ok(f.dropBlobs(f.ctx))
	if !f.has(kept) {
		t.Error("the bytes of an acknowledged upload were deleted")
	}
}

func TestARowKeepsWhatAFileRefersTo(t *testing.T) {
	f := openDirectory(t)
	b, _ := f.upload(f.newCase("a").ID, "x")
	_, err := f.writer.ExecContext(f.ctx, `UPDATE blob SET forgotten = 1`)
	f.ok(err)
	if err := f.dropBlobs(f.ctx); err == nil || !strings.Contains(strings.ToUpper(err.Error()), "FOREIGN KEY") {
		t.Errorf("got %v", err)
	}
	if !f.has(b) {
		t.Error("bytes that a file refers to were deleted")
	}
}

func blobNames(f *fixture) (out []string, err error) {
	list, err := f.uploads.directory.List()
	for _, e := range list {
		out = append(out, e.SHA256)
	}
	return out, err
}

func TestARefusedUploadLeavesNothingAndTakesNothingAway(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(f *fixture, caseID string)
		want   bool
	}{
		"of bytes that are nowhere else": {func(*fixture, string) {}, false},
		"of bytes that a case has":       {func(f *fixture, caseID string) { f.upload(caseID, "x") }, true},
		"of bytes that nobody refers to": {func(f *fixture, _ string) { f.file("", "x"); f.crash() }, true},
		"of bytes that a case had lost": {func(f *fixture, caseID string) {
			b, _ := f.upload(caseID, "x")
			f.ok(os.Remove(filepath.Join(f.dir, blobDir, b.Files[0].SHA256[:2], b.Files[0].SHA256+".mz")))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := openDirectory(t)
			tc.before(f, f.newCase("a").ID)
			up := f.file("x", "x")
			f.ok(f.Discard(f.ctx, []File{up}))
			if got := f.holds(up.SHA256); got != tc.want {
				t.Errorf("they are kept: %v, want %v", got, tc.want)
			}
		})
	}
}

// wantPrivate fails for whatever others may touch below a directory.
func wantPrivate(t *testing.T, dir string) (seen int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		seen++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestNobodyElseMayReadTheDataWhateverTheUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	f := openFile(t)
	f.upload(f.newCase("a").ID, "x")
	if seen := wantPrivate(t, f.dir); seen < 9 {
		t.Errorf("%d files were looked at", seen)
	}
	for _, name := range append(databaseFiles, lockFile, reserveFile) {
		if _, err := os.Stat(filepath.Join(f.dir, name)); err != nil {
			t.Errorf("%v: nothing was proved about it", err)
		}
	}
	// As a copy left it.
	f.release()
	f.Store = nil
	f.ok(os.MkdirAll(filepath.Join(f.dir, "knowledge"), 0o755))
	f.ok(os.WriteFile(filepath.Join(f.dir, "knowledge", "own.json"), nil, 0o644))
	f.ok(filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = os.Chmod(path, 0o755)
		}
		return err
	}))
	f.reopen()
	wantPrivate(t, f.dir)
}

func TestADirectoryThatIsNotLeakdiffsAloneKeepsItsRights(t *testing.T) {
	for name, make := range map[string]func(f *fixture){
		"with other directories in it": func(f *fixture) { f.ok(os.Mkdir(filepath.Join(f.dir, "home"), 0o755)) },
		"with a sticky bit":            func(f *fixture) { f.ok(os.Chmod(f.dir, 0o777|os.ModeSticky)) },
	} {
		t.Run(name, func(t *testing.T) {
			f := openFile(t)
			f.close()
			f.ok(os.Chmod(f.dir, 0o755))
			f.ok(os.WriteFile(filepath.Join(f.dir, "other.txt"), nil, 0o644))
			make(f)
			before, err := os.Stat(f.dir)
			f.ok(err)
			text := f.logged()
			f.reopen()
			after, err := os.Stat(f.dir)
			f.ok(err)
			if after.Mode() != before.Mode() || !strings.Contains(text.String(), "keeps its rights") {
				t.Errorf("%v became %v, said: %s", before.Mode(), after.Mode(), text)
			}
			for _, name := range databaseFiles[:1] {
				wantPrivate(t, filepath.Join(f.dir, name))
			}
			if info, err := os.Stat(filepath.Join(f.dir, "other.txt")); err != nil || info.Mode().Perm() != 0o644 {
				t.Errorf("a file that is not ours has %v, %v", info.Mode(), err)
			}
		})
	}
}

func TestADamagedUploadIsNamedInTheLogAndSurvivesTheStart(t *testing.T) {
	f := openDirectory(t)
	text := f.logged()
	f.close()
	f.reopen()
	c := f.newCase("a")
	b := f.filled(c.ID, strings.Repeat("x", 5000), kubeletResult("2"))
	f.ok(os.Truncate(filepath.Join(f.dir, blobDir, b.Files[0].SHA256[:2], b.Files[0].SHA256+".mz"), 7))
	wantCode(t, f.Blobs().Verify(f.ctx, b.Files[0].SHA256), "damaged_bytes")
	if !strings.Contains(text.String(), "damaged") || !strings.Contains(text.String(), b.Files[0].SHA256) {
		t.Errorf("the log does not name it: %s", text)
	}
	f.crash()
	wantCode(t, f.Blobs().Verify(f.ctx, b.Files[0].SHA256), "damaged_bytes")
	f.file("x", strings.Repeat("x", 5000))
	f.ok(f.Blobs().Verify(f.ctx, b.Files[0].SHA256))
	f.ok(f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks))
	if left, err := filepath.Glob(filepath.Join(f.dir, blobDir, "*", b.Files[0].SHA256+"*")); err != nil || len(left) != 0 {
		t.Errorf("after deleting the case: %v, %v", left, err)
	}
}

func TestDamagedUploadsGoWithTheirCaseWhateverTheDirectoryIsCalled(t *testing.T) {
	for _, name := range []string{"data [old]", "data*", "[z-a]", `data\`} {
		t.Run(name, func(t *testing.T) {
			f := &fixture{t: t, ctx: t.Context(), dir: filepath.Join(t.TempDir(), name), clock: &clock{time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}}
			f.reopen()
			defer f.close()
			c := f.newCase("a")
			b := f.filled(c.ID, strings.Repeat("x", 5000), kubeletResult("2"))
			f.ok(os.Truncate(filepath.Join(f.dir, blobDir, b.Files[0].SHA256[:2], b.Files[0].SHA256+".mz"), 7))
			wantCode(t, f.Blobs().Verify(f.ctx, b.Files[0].SHA256), "damaged_bytes")
			wantCode(t, f.Blobs().Look(f.ctx, b.Files[0].SHA256), "damaged_bytes")
			f.ok(f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks))
			if left := must[[]blob.Entry](t)(f.uploads.directory.SetAside()); len(left) != 0 {
				t.Errorf("after deleting the case: %v", left)
			}
		})
	}
}

// BenchmarkOpenBesideManyUploads is what a start costs that compares ten thousand uploads
// with their rows.
func BenchmarkOpenBesideManyUploads(b *testing.B) {
	f := open(b)
	c := f.newCase("a")
	var files []File
	for i := range 10_000 {
		sha := fmt.Sprintf("%064x", i*7919)
		dir := filepath.Join(f.dir, blobDir, sha[:2])
		f.ok(os.MkdirAll(dir, 0o700))
		f.ok(os.WriteFile(filepath.Join(dir, sha+".raw"), nil, 0o600))
		files = append(files, File{Name: fmt.Sprint(i), SHA256: sha})
	}
	_, _, err := f.AddBundle(f.ctx, c.ID, "many", files)
	f.ok(err)
	for b.Loop() {
		f.close()
		f.reopen()
	}
}
