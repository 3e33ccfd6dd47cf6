package store

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// logged are the data directory that a killed server leaves, with all uploads in the log, and
// the length of the log before each upload and at its end.
type logged struct {
	*fixture
	shas []string
	ends []int64
}

func (l *logged) log() string { return filepath.Join(l.dir, databaseFile+logSuffix) }

// walFrame is that of a frame with a page of 4,096 bytes.
const walFrame = 24 + 4096

func fiveUploadsInTheLog(t *testing.T) *logged {
	t.Helper()
	return fiveUploads(t, `SELECT 1`)
}

// fiveUploads runs a statement after the last one.
func fiveUploads(t *testing.T, last string) *logged {
	t.Helper()
	f := openFile(t)
	c := f.newCase("kubelets")
	_, err := f.writer.ExecContext(f.ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	f.ok(err)
	l := &logged{fixture: &fixture{t: t, ctx: t.Context(), dir: t.TempDir(), clock: f.clock}, ends: []int64{32}}
	for i := range 5 {
		b, _ := f.upload(c.ID, fmt.Sprintf("content %d", i+1))
		l.shas = append(l.shas, b.Files[0].SHA256)
		info, err := os.Stat(filepath.Join(f.dir, databaseFile+logSuffix))
		f.ok(err)
		l.ends = append(l.ends, info.Size())
	}
	_, err = f.writer.ExecContext(f.ctx, last)
	f.ok(err)
	l.ok(os.CopyFS(l.dir, os.DirFS(f.dir)))
	return l
}

// damage changes one byte of the log.
func (l *logged) damage(at int64) {
	l.t.Helper()
	text := must[[]byte](l.t)(os.ReadFile(l.log()))
	text[at] ^= 1
	l.ok(os.WriteFile(l.log(), text, 0o600))
}

// found are the findings about the log: the first, and the hashes of uploads without a case.
func (l *logged) found(c *Checked) (first Finding, shas []string) {
	l.t.Helper()
	for _, f := range c.Findings {
		switch {
		case f.Subject == OfLog && f.sha == "" && first.What == "":
			first = f
		case f.Subject == OfLog && f.sha != "":
			shas = append(shas, f.sha)
		default:
			l.t.Errorf("unexpected: %+v", f)
		}
	}
	return first, shas
}

// wantAdopted wants two uploads in their case and three in that of a repair, to be read.
func (l *logged) wantAdopted() {
	l.t.Helper()
	l.reopen()
	defer l.close()
	wantEqual(l.t, []string{"kubelets 2", "recovered uploads 3"}, l.texts(l.reader, `SELECT c.title || ' ' || count(*) FROM cases c JOIN bundle b ON b.case_seq = c.seq GROUP BY c.seq ORDER BY c.seq`))
	for i, sha := range l.shas {
		r, err := l.Blobs().Open(l.ctx, sha)
		l.ok(err)
		text := must[[]byte](l.t)(io.ReadAll(r))
		l.ok(r.Close())
		wantEqual(l.t, fmt.Sprintf("content %d", i+1), string(text))
	}
	read := map[string]bool{}
	for range l.shas {
		job, claimed, err := l.ClaimJob(l.ctx)
		if l.ok(err); !claimed {
			l.t.Fatal("an upload is not queued")
		}
		read[must[Bundle](l.t)(l.Bundle(l.ctx, job.BundleID)).Files[0].SHA256] = true
		l.ok(l.FinishJob(l.ctx, job.ID, kubeletResult(fmt.Sprint(len(read)))))
	}
	if len(read) != len(l.shas) {
		l.t.Errorf("%d of %d uploads are read", len(read), len(l.shas))
	}
}

func TestADamagedLogIsNamedAndTheUploadsThatItLostAreAdopted(t *testing.T) {
	l := fiveUploadsInTheLog(t)
	l.damage(l.ends[2] + 24 + 10) // in the page of the first frame of the third upload
	before := everyFile(t, l.dir)
	c := l.check()
	damage, shas := l.found(c)
	frame := (l.ends[2]-32)/walFrame + 1
	if want := fmt.Sprintf("leakdiff.db-wal, frame %d, byte %d", frame, l.ends[2]); damage.Where != want || damage.Note || c.Sound() {
		t.Errorf("%+v, want %s", damage, want)
	}
	lost := slices.Sorted(slices.Values(l.shas[2:]))
	wantEqual(t, lost, shas)
	_, err := Open(t.Context(), l.config())
	wantCode(t, err, "damaged_log")
	if !strings.Contains(fmt.Sprint(err), fmt.Sprint("frame ", frame)) {
		t.Error(err)
	}
	_, err = OpenAccounts(t.Context(), l.dir)
	wantCode(t, err, "damaged_log")
	_, err = Backup(t.Context(), BackupConfig{Dir: l.dir, To: filepath.Join(t.TempDir(), "copy")})
	wantCode(t, err, "damaged_log")
	wantEqual(t, before, everyFile(t, l.dir))

	repaired := must[*Checked](t)(Repair(l.ctx, l.dir, "", nil))
	for _, f := range repaired.Findings {
		if !f.Mended {
			t.Errorf("not mended: %+v", f)
		}
	}
	kept := must[[]string](t)(filepath.Glob(l.log() + ".damaged.lost-*"))
	if len(kept) != 1 || string(must[[]byte](t)(os.ReadFile(kept[0]))) != before[l.log()] {
		t.Errorf("the log is not kept: %v", kept)
	}
	l.wantAdopted()
	if c := l.check(); !c.Sound() || c.Cases != 2 || c.Uploads != 5 {
		t.Errorf("%+v", c)
	}
}

// Kills come after the copy of the log, and after the database was opened.
func TestARepairOfALogThatWasInterruptedIsRepeated(t *testing.T) {
	for _, opening := range []bool{false, true} {
		l := fiveUploadsInTheLog(t)
		l.damage(l.ends[2] + 24 + 10)
		l.ok(keepLog(l.ctx, must[*logDamage](t)(damagedLog(filepath.Join(l.dir, databaseFile)))))
		if opening {
			cfg := l.config()
			cfg.pastDamage = true
			l.ok(must[*Store](t)(Open(l.ctx, cfg)).Close())
			if d, err := scanLog(l.log(), logPages{}); d != nil || err != nil {
				t.Errorf("opening left %+v, %v: the test proves nothing", d, err)
			}
		}
		_, err := Open(t.Context(), l.config())
		wantCode(t, err, "damaged_log")
		if _, shas := l.found(l.check()); len(shas) != 3 {
			t.Errorf("%d uploads have no case, want 3", len(shas))
		}
		_, err = Repair(l.ctx, l.dir, "", nil)
		l.ok(err)
		l.wantAdopted()
	}
}

// SQLite would put older pages of the log before the damage in the place of newer ones.
func TestADamagedLogThatTheDatabaseHasLosesNothing(t *testing.T) {
	for name, begin := range map[string]func(l *logged){
		"serve":  func(l *logged) { l.reopen(); l.close() },
		"repair": func(l *logged) { must[*Checked](t)(Repair(l.ctx, l.dir, "", nil)) },
	} {
		l := fiveUploads(t, `PRAGMA wal_checkpoint(PASSIVE)`)
		l.damage(l.ends[2] + 24 + 10)
		damaged := string(must[[]byte](t)(os.ReadFile(l.log())))
		c := l.check()
		damage, shas := l.found(c)
		if !damage.Note || damage.Mend == "" || len(shas) > 0 || c.Bundles != 5 || c.Uploads != 5 {
			t.Errorf("%s: %+v, %v, %+v", name, damage, shas, c)
		}
		_, err := OpenAccounts(t.Context(), l.dir)
		wantCode(t, err, "damaged_log")
		begin(l)
		if c := l.check(); len(c.Findings) > 0 || c.Bundles != 5 || c.Uploads != 5 {
			t.Errorf("after %s: %+v", name, c)
		}
		kept := must[[]string](t)(filepath.Glob(l.log() + ".lost-*"))
		if len(kept) != 1 || string(must[[]byte](t)(os.ReadFile(kept[0]))) != damaged {
			t.Errorf("%s: the log is not kept: %v", name, kept)
		}
	}
}

// The page of the last frame is not that of the file, as before its checkpoint.
func TestADamagedLogThatTheDatabaseHasInPartIsRefused(t *testing.T) {
	l := fiveUploads(t, `PRAGMA wal_checkpoint(PASSIVE)`)
	database := filepath.Join(l.dir, databaseFile)
	for _, bit := range []int64{0, 3} { // a page number that is too large, and one of another page
		l.damage(l.ends[2] + bit)
		if d := must[*logDamage](t)(damagedLog(database)); d.copied || !d.lost() {
			t.Errorf("byte %d of a page number: %+v", bit, d)
		}
		l.damage(l.ends[2] + bit)
	}
	l.damage(l.ends[2] + 24 + 10)
	last := must[[]byte](t)(os.ReadFile(l.log()))[l.ends[5]-walFrame:]
	text := must[[]byte](t)(os.ReadFile(database))
	text[int64(binary.BigEndian.Uint32(last))*4096-1] ^= 1
	l.ok(os.WriteFile(database, text, 0o600))
	if d := must[*logDamage](t)(damagedLog(database)); d.copied || !d.lost() {
		t.Errorf("%+v", d)
	}
}

// A write that a crash cut may have its last frame on the disk and not all others.
func TestAWriteThatACrashCutIsNoDamageOfTheLog(t *testing.T) {
	l := fiveUploadsInTheLog(t)
	l.damage(l.ends[4] + 24 + 10)
	damage, shas := l.found(&Checked{Findings: slices.DeleteFunc(l.check().Findings, func(f Finding) bool { return f.Subject == OfUpload && f.Note })})
	if !damage.Note || len(shas) > 0 {
		t.Errorf("%+v, %v", damage, shas)
	}
	l.reopen()
	l.close()
	if c := l.check(); !c.Sound() || c.Bundles != 4 {
		t.Errorf("%+v", c)
	}
}

func TestAnyByteOfALogBelongsToItsFrame(t *testing.T) {
	l := fiveUploadsInTheLog(t)
	whole := must[[]byte](t)(os.ReadFile(l.log()))
	third := (l.ends[2]-32)/walFrame + 1
	for name, c := range map[string]struct{ at, frame int64 }{
		"a sequence number in the header": {12, 0},
		"a page number":                   {l.ends[2], third},
		"a salt":                          {l.ends[2] + 8, third},
		"a checksum":                      {l.ends[2] + 16, third},
		"the last byte of a page":         {l.ends[2] + walFrame - 1, third},
		"the frame before":                {l.ends[2] - 1, third - 1},
	} {
		l.ok(os.WriteFile(l.log(), whole, 0o600))
		l.damage(c.at)
		if d := must[*logDamage](t)(scanLog(l.log(), logPages{})); !d.lost() || d.frame != c.frame {
			t.Errorf("%s: %+v, want frame %d", name, d, c.frame)
		}
	}
	for name, text := range map[string][]byte{
		"a sound log": whole, "a log that ends within a frame": whole[:len(whole)-100], "an empty log": nil, "no log": []byte(strings.Repeat("x", 9000)),
	} {
		l.ok(os.WriteFile(l.log(), text, 0o600))
		if d := must[*logDamage](t)(scanLog(l.log(), logPages{})); d != nil {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// A log that begins again has frames of the one before it behind its end.
func TestFramesOfAnOlderLogAreNoDamage(t *testing.T) {
	f := openFile(t)
	c := f.newCase("kubelets")
	for i := range 5 {
		f.upload(c.ID, fmt.Sprint("content ", i))
	}
	_, err := f.writer.ExecContext(f.ctx, `PRAGMA wal_checkpoint(RESTART)`)
	f.ok(err)
	log := filepath.Join(f.dir, databaseFile+logSuffix)
	before := must[os.FileInfo](t)(os.Stat(log)).Size()
	f.upload(c.ID, "one more")
	if after := must[os.FileInfo](t)(os.Stat(log)).Size(); after != before {
		t.Fatalf("the log went from %d to %d bytes: the test proves nothing", before, after)
	}
	if d := must[*logDamage](t)(scanLog(log, logPages{})); d != nil {
		t.Errorf("%+v", d)
	}
}
