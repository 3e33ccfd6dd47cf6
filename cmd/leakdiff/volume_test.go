//go:build linux

package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"leakdiff/samples/corpus"
)

func TestServeRefusesToBeginADatabaseBesideUploadsUntilThatIsAskedFor(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, "--no-samples")
	up := s.put("dump.txt", strings.NewReader(smallDump))
	s.kill()
	old := time.Now().Add(-48 * time.Hour)
	uploads, err := filepath.Glob(filepath.Join(dir, "blobs", "??", "*"))
	if err != nil || len(uploads) != 1 {
		t.Fatalf("%v, %v", uploads, err)
	}
	if err := os.Chtimes(uploads[0], old, old); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"leakdiff.db", "leakdiff.db-wal", "leakdiff.db-shm"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	refused := execute(t, nil, "serve", "--listen", "127.0.0.1:0", "--data", dir)
	if refused.status != exitError || !strings.Contains(refused.stderr, "--new-database") || !strings.Contains(refused.stderr, filepath.Join(dir, "leakdiff.db")) {
		t.Errorf("status %d: %s", refused.status, refused.stderr)
	}
	s = serve(t, dir, "--no-samples", "--new-database")
	if a, err := s.request(http.MethodGet, "/api/v1/cases/"+up.Case, nil); err != nil || a.status != http.StatusNotFound {
		t.Errorf("the lost case gives %d, %v", a.status, err)
	}
	if _, err := os.Stat(uploads[0]); err != nil {
		t.Errorf("its upload was deleted: %v", err)
	}
	if log := s.stderr.String(); !strings.Contains(log, "files=1") || !strings.Contains(log, "are kept") {
		t.Errorf("the log does not report it: %s", log)
	}
}

const smallDump = "goroutine 1 [running]:\nmain.main()\n\t/src/main.go:10 +0x1d\n"

// fillUp takes all free bytes of the volume of a directory.
func fillUp(t *testing.T, dir string) {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(dir, "filler"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	// At once: what is read meanwhile must not be saved before the volume is full.
	var volume syscall.Statfs_t
	at, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		err = syscall.Statfs(dir, &volume)
	}
	if err == nil && volume.Bavail > 0 {
		err = syscall.Fallocate(int(file.Fd()), 0, at, int64(volume.Bavail)*volume.Bsize)
	}
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	for chunk := make([]byte, 1<<20); len(chunk) > 0; {
		if _, err := file.Write(chunk); errors.Is(err, syscall.ENOSPC) {
			chunk = chunk[:len(chunk)/2]
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFullVolumeLosesNoResultAndLeavesNothingRunning(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=120m"); err != nil {
		corpus.LeaveOut(t, "no small volume can be mounted here, so that none can be filled: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	data := filepath.Join(dir, "data")
	s := serve(t, data, "--no-samples")
	var dump bytes.Buffer
	if err := generatedDump(&dump, 7, 60_000, 6); err != nil {
		t.Fatal(err)
	}
	up, gone := s.put("large.txt", &dump), s.put("small.txt", strings.NewReader(smallDump))
	want := s.get(up.Link + ".json")
	type state struct{ Status, Text, Error string }
	ask := func() state { return decode[state](t, s.get("/bundles/"+up.ID+".json")) }
	waitFor(t, "a result that waits for room", func() bool {
		b := ask()
		if b.Status == "done" { // nothing was begun yet, or it was saved before the volume was full
			os.Remove(filepath.Join(dir, "filler"))
			if a, err := s.request(http.MethodPost, "/bundles/"+up.ID+"/read", nil); err != nil || a.status != http.StatusOK {
				t.Fatalf("reading again gives %d, %v: %s", a.status, err, a.body)
			}
		}
		fillUp(t, dir)
		return b.Status == "queued" && strings.Contains(b.Text, "waits for room") && b.Error != ""
	})
	if got := s.get(up.Link + ".json"); got != want {
		t.Error("the older result is no longer shown")
	}
	if a, err := s.request(http.MethodPut, "/api/v1/bundles/x.txt", strings.NewReader(smallDump)); err != nil || a.status != http.StatusInsufficientStorage {
		t.Errorf("an upload gives %d, %v: %s", a.status, err, a.body)
	}
	fillUp(t, dir)
	if a, err := s.request(http.MethodDelete, "/api/v1/cases/"+gone.Case, nil); err != nil || a.status != http.StatusNoContent {
		t.Errorf("deleting a case gives %d, %v: %s", a.status, err, a.body)
	}
	fillUp(t, dir)
	s.kill()
	s = serve(t, data, "--no-samples") // it starts on the full volume, too
	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the result to be saved", func() bool { b := ask(); return b.Status == "done" && b.Error == "" })
	if got := s.get(up.Link + ".json"); got != want {
		t.Error("the result differs from that before")
	}
	if status := s.stop(); status != exitDone {
		t.Errorf("status %d: %s", status, s.stderr)
	}
	intact(t, data)
}
