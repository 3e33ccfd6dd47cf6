package store

import (
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"leakdiff/internal/test/gateway"
	"leakdiff/samples/corpus"
	"leakdiff/store/blob"
)

// everyBucketTest is "all" where all tests of this package run over a bucket too.
const everyBucketTest = "LEAKDIFF_BUCKET"

// shortBucketForm are the tests that always run over a bucket: those of what becomes of uploads.
var shortBucketForm = []string{
	"TestABundleComesBackAsAdded", "TestDeletingACaseRemovesEveryTraceOfIt", "TestRemovingABundleRemovesItsSnapshotsJobAndBlobs", "TestRemovingOneOfTwoBundlesKeepsWhatBothHold",
}

// TestTheTestsPassOverABucket runs this program again with a server of buckets, on which each
// test has a bucket of its own.
func TestTheTestsPassOverABucket(t *testing.T) {
	if os.Getenv(gatewayVariable) != "" || os.Getenv(serverVariable) != "" {
		return // it is such a run
	}
	corpus.Heavy(t)
	server := gateway.Start(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	chosen := "^(" + strings.Join(shortBucketForm, "|") + ")$"
	if os.Getenv(everyBucketTest) == "all" {
		chosen = "."
	}
	cmd := exec.Command(program, "-test.run", chosen, "-test.count", "1", "-test.v")
	cmd.Env = append(os.Environ(), gatewayVariable+"="+server.Given())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	passed := len(regexp.MustCompile(`(?m)^--- PASS`).FindAll(out, -1))
	if t.Logf("%d tests passed", passed); passed < len(shortBucketForm) {
		t.Errorf("%d tests passed, %d are chosen", passed, len(shortBucketForm))
	}
}

// openOver opens a store over a bucket of its own.
func openOver(t *testing.T, server *gateway.Server) *fixture {
	t.Helper()
	return openAt(t, "", server.Bucket(t))
}

// objects counts the objects of uploads.
func (f *fixture) objects(server *gateway.Server) int {
	f.t.Helper()
	n := 0
	for name := range server.Files(f.t, f.bucket) {
		if strings.Contains(name, "/") {
			n++
		}
	}
	return n
}

func (f *fixture) wantObjects(server *gateway.Server, want int, when string) {
	f.t.Helper()
	if got := f.objects(server); got != want {
		f.t.Errorf("%s: %d objects, want %d", when, got, want)
	}
}

// content reads an upload.
func (f *fixture) content(file File) string {
	f.t.Helper()
	r, err := f.Blobs().Open(f.ctx, file.SHA256)
	f.ok(err)
	defer r.Close()
	return string(must[[]byte](f.t)(io.ReadAll(r)))
}

func TestUploadsInABucket(t *testing.T) {
	server := gateway.Start(t)
	for name, proof := range map[string]func(*testing.T, *gateway.Server){
		"are moved into it and back":                               uploadsAreMovedIntoABucketAndBack,
		"are there until the last case of theirs is deleted":       bucketKeepsWhatCasesReferTo,
		"are there again after the same upload":                    theSameUploadPutsAnObjectBack,
		"leave nothing of a refused upload":                        aRefusedUploadLeavesNoObject,
		"are removed later if the bucket does not answer":          objectsAreRemovedWhenTheBucketAnswers,
		"are removed a day after nothing is known of them":         straysAreRemovedAfterADay,
		"survive that an older database is put back by mistake":    straysSurviveAnOlderDatabaseForADay,
		"are not recorded once they are to be removed":             whatIsToBeRemovedIsNotRecorded,
		"are checked by their hashes":                              checkReadsObjects,
		"are not in a backup, which says so":                       aBackupLeavesTheBucketOut,
		"are in one place":                                         uploadsAreInOnePlace,
		"are not looked for at another prefix":                     anotherPrefixIsRefused,
		"of another database are not touched":                      anotherDatabaseIsRefused,
		"need the bucket for a start, and a start says what to do": aStartNeedsTheBucket,
	} {
		t.Run(name, func(t *testing.T) { proof(t, server) })
	}
}

func bucketKeepsWhatCasesReferTo(t *testing.T, server *gateway.Server) {
	f := openOver(t, server)
	a, b := f.newCase("a"), f.newCase("b")
	shared, _ := f.upload(a.ID, "of both")
	f.upload(a.ID, "of a alone")
	f.upload(b.ID, "of both")
	f.wantObjects(server, 3, "after three uploads, two of them of the same bytes")
	if got := f.content(shared.Files[0]); got != "of both" {
		t.Errorf("got %q", got)
	}
	f.clock.advance(2 * time.Hour)
	f.ok(f.reapAll(f.ctx))
	f.wantObjects(server, 2, "once nobody reads the replaced one any more")
	f.ok(f.DeleteCase(f.ctx, a.ID, WithdrawPermalinks))
	f.wantObjects(server, 1, "after the first case was deleted")
	if !f.holds(shared.Files[0].SHA256) {
		t.Error("what the other case refers to was removed")
	}
	f.close()
	f.reopen()
	f.ok(f.DeleteCase(f.ctx, b.ID, WithdrawPermalinks))
	f.wantObjects(server, 0, "after the second case was deleted")
	f.wantEmpty("blob", "object_to_forget")
	f.wantSound()
}

func theSameUploadPutsAnObjectBack(t *testing.T, server *gateway.Server) {
	f := openOver(t, server)
	c, d := f.newCase("c"), f.newCase("d")
	b, _ := f.upload(c.ID, "some bytes")
	spoil := func() {
		t.Helper()
		for name, path := range server.Files(t, f.bucket) {
			if strings.Contains(name, "/") {
				f.ok(os.Truncate(path, 3))
			}
		}
		f.close()
		f.reopen()
		wantCode(t, f.Blobs().Verify(f.ctx, b.Files[0].SHA256), blob.Damaged)
		if n := must[int](t)(f.Blobs().Damaged()); n != 1 {
			t.Errorf("%d uploads are damaged", n)
		}
	}
	spoil()
	f.upload(d.ID, "some bytes")
	f.ok(f.Blobs().Verify(f.ctx, b.Files[0].SHA256))
	spoil()
	again := []File{f.file("again", "some bytes")}
	f.ok(f.PutBack(f.ctx, again))
	f.ok(f.Discard(f.ctx, again))
	f.ok(f.Blobs().Verify(f.ctx, b.Files[0].SHA256))
	f.clock.advance(2 * time.Hour)
	f.ok(f.reapAll(f.ctx))
	f.wantObjects(server, 1, "after the damaged ones were removed")
	if n := must[int](t)(f.Blobs().Damaged()); n != 0 {
		t.Errorf("%d uploads are damaged", n)
	}
}

func aRefusedUploadLeavesNoObject(t *testing.T, server *gateway.Server) {
	f := openOver(t, server)
	file := f.file("x", "nobody's")
	_, _, err := f.AddBundle(f.ctx, "c00000000", "x", []File{file})
	wantCode(t, err, "not_found")
	f.wantObjects(server, 1, "before it is discarded")
	f.ok(f.Discard(f.ctx, []File{file}))
	f.wantObjects(server, 0, "afterwards")
	_, _, err = f.AddBundle(f.ctx, f.newCase("c").ID, "x", []File{{Name: "x", SHA256: file.SHA256, Size: file.Size}})
	wantCode(t, err, "missing_blob")
	// One that was recorded is not discarded.
	kept := f.file("y", "somebody's")
	_, _, _, err = f.OpenCase(f.ctx, "d", "", "y", []File{kept})
	f.ok(err)
	f.ok(f.Discard(f.ctx, []File{kept}))
	if !f.holds(kept.SHA256) {
		t.Error("an acknowledged upload was removed")
	}
}

func objectsAreRemovedWhenTheBucketAnswers(t *testing.T, server *gateway.Server) {
	f := openOver(t, server)
	c := f.newCase("c")
	b, _ := f.upload(c.ID, "x")
	server.Refuse()
	defer server.Pass()
	wantCode(t, f.Blobs().Verify(f.ctx, b.Files[0].SHA256), blob.Unreachable)
	if !IsUnreachable(f.Blobs().Look(f.ctx, b.Files[0].SHA256)) {
		t.Error("nobody is told that the bucket cannot be reached")
	}
	f.ok(f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks))
	if n := f.rows("object_to_forget"); n != 1 {
		t.Errorf("%d objects are to be removed", n)
	}
	f.wantObjects(server, 1, "while the bucket does not answer")
	server.Pass()
	f.ok(f.reapAll(f.ctx))
	f.wantObjects(server, 0, "when it answers")
	f.wantEmpty("object_to_forget")
}

// ageObjects has the objects of the bucket be a day old.
func (f *fixture) ageObjects(server *gateway.Server) {
	f.t.Helper()
	before := time.Now().Add(-25 * time.Hour)
	for _, path := range server.Files(f.t, f.bucket) {
		f.ok(os.Chtimes(path, before, before))
	}
}

func straysAreRemovedAfterADay(t *testing.T, server *gateway.Server) {
	f := openOver(t, server)
	f.clock.now = time.Now()
	f.upload(f.newCase("c").ID, "known")
	f.file("x", "the server died before it was recorded")
	sweep := func(want int, when string) {
		t.Helper()
		f.ok(f.Sweep(f.ctx))
		f.wantObjects(server, want, when)
	}
	sweep(2, "at once")
	f.ageObjects(server)
	text := f.logged()
	f.close()
	f.reopen()
	sweep(2, "when it is a day old")
	if !strings.Contains(text.String(), "objects=1") {
		t.Errorf("the log does not count it: %s", text)
	}
	f.clock.advance(23 * time.Hour)
	sweep(2, "within the day after it was seen")
	f.clock.advance(2 * time.Hour)
	sweep(1, "a day after it was seen")
	f.wantEmpty("object_to_forget")
}

func straysSurviveAnOlderDatabaseForADay(t *testing.T, server *gateway.Server) {
	f := openOver(t, server)
	f.clock.now = time.Now()
	c := f.newCase("c")
	f.upload(c.ID, "before the copy")
	f.close()
	copied := must[[]byte](t)(os.ReadFile(f.dir + "/" + databaseFile))
	f.reopen()
	after, _ := f.upload(c.ID, "after the copy")
	f.close()
	newest := must[[]byte](t)(os.ReadFile(f.dir + "/" + databaseFile))
	put := func(database []byte) {
		t.Helper()
		f.removeDatabase()
		f.ok(os.WriteFile(f.dir+"/"+databaseFile, database, 0o600))
		f.reopen()
	}
	put(copied)
	f.ageObjects(server)
	f.ok(f.Sweep(f.ctx))
	f.clock.advance(20 * time.Hour)
	f.ok(f.Sweep(f.ctx))
	f.close()
	put(newest)
	if got := f.content(after.Files[0]); got != "after the copy" {
		t.Errorf("got %q", got)
	}
	f.clock.advance(72 * time.Hour)
	f.ok(f.Sweep(f.ctx))
	f.wantObjects(server, 2, "with the right database")
}

func whatIsToBeRemovedIsNotRecorded(t *testing.T, server *gateway.Server) {
	f := openOver(t, server)
	f.clock.now = time.Now()
	late := f.file("late", "an upload of days")
	f.ageObjects(server)
	f.ok(f.Sweep(f.ctx))
	_, _, err := f.AddBundle(f.ctx, f.newCase("c").ID, "late", []File{late})
	wantCode(t, err, "missing_blob")
}

func uploadsAreInOnePlace(t *testing.T, server *gateway.Server) {
	f := openOver(t, server)
	f.upload(f.newCase("c").ID, "x")
	f.close()
	_, err := Open(f.ctx, Config{Dir: f.dir})
	wantCode(t, err, "other_place")
	f.reopen()

	g := openFile(t)
	g.upload(g.newCase("c").ID, "x")
	g.close()
	_, err = Open(g.ctx, Config{Dir: g.dir, Blobs: server.Bucket(t)})
	wantCode(t, err, "other_place")
	g.reopen()
}

func anotherDatabaseIsRefused(t *testing.T, server *gateway.Server) {
	f := openOver(t, server)
	f.upload(f.newCase("c").ID, "x")
	_, err := Open(f.ctx, Config{Dir: t.TempDir(), Blobs: f.bucket, NewDatabase: true})
	wantCode(t, err, "foreign_bucket")
	f.wantObjects(server, 1, "afterwards")
}

func aStartNeedsTheBucket(t *testing.T, server *gateway.Server) {
	f := openOver(t, server)
	f.upload(f.newCase("c").ID, "x")
	f.close()
	server.Refuse()
	_, err := Open(f.ctx, Config{Dir: f.dir, Blobs: f.bucket})
	server.Pass()
	wantCode(t, err, blob.Unreachable)
	f.reopen()
}

func checkReadsObjects(t *testing.T, server *gateway.Server) {
	f := openOver(t, server)
	c := f.newCase("c")
	bundles := map[string]Bundle{}
	for _, content := range []string{"sound", "damaged", "missing"} {
		bundles[content], _ = f.upload(c.ID, content)
	}
	check := func(findings int) *Checked {
		t.Helper()
		found := must[*Checked](t)(Check(f.ctx, f.dir, f.bucket))
		if len(found.Findings) != findings {
			t.Errorf("%d findings, want %d: %+v", len(found.Findings), findings, found.Findings)
		}
		return found
	}
	if found := check(0); found.Uploads != 3 || found.UploadBytes != int64(len("sounddamagedmissing")) {
		t.Errorf("checked are %d uploads of %d bytes", found.Uploads, found.UploadBytes)
	}
	_, err := Check(f.ctx, f.dir, "")
	wantCode(t, err, "other_place")
	objectOf := func(content string) string {
		t.Helper()
		name, err := f.Blobs().name(f.ctx, bundles[content].Files[0].SHA256)
		f.ok(err)
		return name.Object
	}
	files := server.Files(t, f.bucket)
	f.ok(os.Truncate(files[objectOf("damaged")], 4))
	f.ok(os.Remove(files[objectOf("missing")]))
	for _, x := range check(2).Findings {
		if x.Mend != "" || x.Note || x.Subject != OfUpload || !strings.Contains(x.Where, objectOf(strings.TrimPrefix(x.What, "an upload is "))) {
			t.Errorf("got %+v", x)
		}
	}
	server.Refuse()
	_, err = Check(f.ctx, f.dir, f.bucket)
	server.Pass()
	wantCode(t, err, blob.Unreachable)
}

func aBackupLeavesTheBucketOut(t *testing.T, server *gateway.Server) {
	f := openOver(t, server)
	b := f.filled(f.newCase("c").ID, "x", kubeletResult("2"))
	to := t.TempDir() + "/backup.tar"
	made := must[*Manifest](t)(Backup(f.ctx, BackupConfig{Dir: f.dir, To: to}))
	if made.InBucket != 1 || made.Uploads != 0 || len(made.Missing) != 0 {
		t.Errorf("got %+v", made)
	}
	f.close()
	restored := must[*Restored](t)(Restore(f.ctx, RestoreConfig{From: to, Dir: f.dir}))
	if restored.InBucket != 1 {
		t.Errorf("got %+v", restored.Manifest)
	}
	f.reopen()
	if got := f.content(b.Files[0]); got != "x" {
		t.Errorf("got %q", got)
	}
}

func uploadsAreMovedIntoABucketAndBack(t *testing.T, server *gateway.Server) {
	f := moving(t)
	want, uploads := f.everything(), f.uploadsOf()
	lost := slices.Sorted(maps.Keys(uploads))[0]
	f.ok(f.uploads.directory.Delete(f.ctx, blob.Name{SHA256: lost}))
	f.close()
	there := Config{Dir: t.TempDir(), Now: f.clock.Now, Blobs: server.Bucket(t)}
	moved, err := Move(t.Context(), MoveConfig{From: f.config(), To: there})
	f.ok(err)
	wantEqual(t, []string{lost}, moved.Missing)
	other := &fixture{t: t, ctx: t.Context(), dir: there.Dir, bucket: there.Blobs, clock: f.clock}
	other.reopen()
	other.wantObjects(server, 1, "after the move")
	// The same upload puts back what was lost.
	other.ok(other.PutBack(other.ctx, []File{other.file("again", uploads[lost])}))
	wantEqual(t, uploads, other.uploadsOf())
	other.close()

	back := Config{Dir: t.TempDir(), Now: f.clock.Now}
	_, err = Move(t.Context(), MoveConfig{From: there, To: back})
	f.ok(err)
	last := &fixture{t: t, ctx: t.Context(), dir: back.Dir, clock: f.clock}
	last.reopen()
	defer last.close()
	got := last.everything()
	delete(want, "setting")
	delete(got, "setting")
	wantEqual(t, want, got)
	wantEqual(t, uploads, last.uploadsOf())
	f.reopen()
}

func anotherPrefixIsRefused(t *testing.T, server *gateway.Server) {
	f := openOver(t, server)
	f.upload(f.newCase("a").ID, "content")
	f.close()
	bucket, rest, _ := strings.Cut(f.bucket, "?")
	for _, cfg := range []Config{{Dir: f.dir, Blobs: bucket + "/elsewhere?" + rest}, {Dir: f.dir, Blobs: server.Bucket(t)}} {
		_, err := Open(t.Context(), cfg)
		wantCode(t, err, "other_place")
	}
	f.reopen()
}
