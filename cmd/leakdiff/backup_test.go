package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/samples/corpus"
)

// checked demands that a data directory or a restored one is sound.
func checked(t *testing.T, dir string) {
	t.Helper()
	if r := execute(t, nil, "check", "--data", dir); r.status != exitDone || !strings.Contains(r.stdout, "sound: ") || strings.Contains(r.stdout, "damage: ") {
		t.Errorf("check says %d: %s%s", r.status, r.stdout, r.stderr)
	}
}

func TestCheckSaysWhatItFoundByItsStatus(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if r := execute(t, nil, "check", "--data", dir); r.status != exitError || !strings.Contains(r.stderr, "no data directory") {
		t.Errorf("%d: %s", r.status, r.stderr)
	}
	s := serve(t, dir, "--no-samples")
	s.put("first.txt", strings.NewReader(smallDump))
	if r := execute(t, nil, "check", "--data", dir); r.status != exitDone || !strings.Contains(r.stdout, "1 upload verified") || !strings.Contains(r.stdout, "A server runs") {
		t.Errorf("%d: %s%s", r.status, r.stdout, r.stderr)
	}
	if r := execute(t, nil, "check", "--repair", "--data", dir); r.status != exitError || !strings.Contains(r.stderr, "in use") {
		t.Errorf("%d: %s", r.status, r.stderr)
	}
	s.kill()
	checked(t, dir)
	uploads, err := filepath.Glob(filepath.Join(dir, "blobs", "??", "*"))
	if err != nil || len(uploads) != 1 {
		t.Fatal(uploads, err)
	}
	if err := os.Truncate(uploads[0], 5); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ flag, says string }{
		{"--repair=false", "--repair would set it aside"}, {"--format=json", `"what": "an upload is damaged"`},
		{"--repair", "mended: set it aside"}, {"--repair=false", "an upload is missing: first.txt"},
	} {
		if r := execute(t, nil, "check", "--data", dir, tc.flag); r.status != exitVerdict || !strings.Contains(r.stdout, tc.says) {
			t.Errorf("%s: %d: %s%s", tc.flag, r.status, r.stdout, r.stderr)
		}
	}
	s = serve(t, dir, "--no-samples")
	s.put("again.txt", strings.NewReader(smallDump))
	s.stop()
	checked(t, dir)
}

func TestADirectoryFromBeforeTheFirstReleaseIsRefusedByEveryCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := serve(t, dir, "--no-samples")
	s.put("first.txt", strings.NewReader(smallDump))
	s.stop()
	database, err := os.ReadFile(filepath.Join(dir, "leakdiff.db"))
	if err != nil {
		t.Fatal(err)
	}
	// The version of the schema is in the header, https://sqlite.org/fileformat2.html.
	copy(database[60:64], []byte{0, 0, 0, 30})
	if err := os.WriteFile(filepath.Join(dir, "leakdiff.db"), database, 0o600); err != nil {
		t.Fatal(err)
	}
	before := filesIn(t, dir)
	beside := t.TempDir()
	for _, args := range [][]string{
		{"serve", "--listen", "127.0.0.1:0", "--data", dir},
		{"serve", "--listen", "127.0.0.1:0", "--data", dir, "--new-database"},
		{"check", "--data", dir},
		{"check", "--repair", "--data", dir},
		{"backup", "--data", dir, "--to", filepath.Join(beside, "backup")},
		{"restore", "--from", dir, "--data", filepath.Join(beside, "restored")},
		{"migrate", "--from", dir, "--to", filepath.Join(beside, "moved")},
		{"token", "list", "--data", dir},
		{"token", "create", "--name", "ci", "--role", "read", "--data", dir},
		{"retention", "--data", dir},
	} {
		r := execute(t, nil, args...)
		if r.status != exitError || !strings.Contains(r.stderr, "the data is of a leakdiff from before the first release, which this one does not read (its database has version 30") {
			t.Errorf("%s: %d: %s%s", args, r.status, r.stdout, r.stderr)
		}
		if diff := cmp.Diff(before, filesIn(t, dir)); diff != "" {
			t.Errorf("%s changed the directory (-before +after)\n%.2000s", args, diff)
		}
	}
	if left := filesIn(t, beside); len(left) > 0 {
		t.Errorf("the commands left %d files", len(left))
	}
}

// filesIn are all files below a directory with what they hold.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
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

// TestBackupsOfABusyServerAreRestored takes backups while clients upload and delete, kills
// the server, and restores each backup in its place.
func TestBackupsOfABusyServerAreRestored(t *testing.T) {
	corpus.Heavy(t)
	dir := filepath.Join(t.TempDir(), "data")
	s := serve(t, dir, "--no-samples")
	first := s.put("first.txt", strings.NewReader(smallDump))
	page := s.get(first.Link + ".json")
	stop := make(chan struct{})
	var clients sync.WaitGroup
	var deleted, uploaded int
	clients.Go(func() {
		for ; ; uploaded++ {
			select {
			case <-stop:
				return
			default:
			}
			a, err := s.request(http.MethodPut, fmt.Sprintf("/api/v1/bundles/%d.txt", uploaded), strings.NewReader(fmt.Sprintf("goroutine 1 [running]:\nmain.f%d()\n\t/src/main.go:1 +0x1\n", uploaded)))
			if err != nil || a.status != http.StatusCreated {
				t.Errorf("uploading gave %d, %v", a.status, err)
				return
			}
			if uploaded%3 > 0 {
				if a, err := s.request(http.MethodDelete, "/api/v1/cases/"+decode[upload](t, a.body).Case, nil); err != nil || a.status != http.StatusNoContent {
					t.Errorf("deleting gave %d, %v", a.status, err)
				}
				deleted++
			}
		}
	})
	var backups []string
	for i := range 6 {
		to := filepath.Join(filepath.Dir(dir), fmt.Sprintf("backup-%d", i)+[]string{"", ".tar"}[i%2])
		if r := execute(t, nil, "backup", "--data", dir, "--to", to); r.status != exitDone {
			t.Errorf("%d: %s%s", r.status, r.stdout, r.stderr)
		}
		backups = append(backups, to)
	}
	close(stop)
	clients.Wait()
	if r := execute(t, nil, "restore", "--from", backups[0], "--data", dir); r.status != exitError || !strings.Contains(r.stderr, "in use") {
		t.Errorf("over a running server: %d: %s", r.status, r.stderr)
	}
	s.kill()
	t.Logf("%d uploads, %d deletions, %d backups", uploaded, deleted, len(backups))
	if uploaded < 3 || deleted == 0 {
		t.Error("nothing happened during the backups")
	}
	for _, from := range backups {
		if r := execute(t, nil, "restore", "--from", from, "--data", dir); r.status != exitDone {
			t.Fatalf("%d: %s%s", r.status, r.stdout, r.stderr)
		}
		checked(t, dir)
	}
	s = serve(t, dir, "--no-samples")
	if got := s.get(first.Link + ".json"); got != page {
		t.Error("the restored case says something else")
	}
}

// TestAKilledRestoreLeavesTheOldDirectoryOrTheNewOne kills it at many moments.
func TestAKilledRestoreLeavesTheOldDirectoryOrTheNewOne(t *testing.T) {
	corpus.Heavy(t)
	dir := filepath.Join(t.TempDir(), "data")
	s := serve(t, dir, "--no-samples")
	old := s.put("old.txt", strings.NewReader(smallDump))
	to := filepath.Join(filepath.Dir(dir), "backup")
	if r := execute(t, nil, "backup", "--data", dir, "--to", to); r.status != exitDone {
		t.Fatal(r.stderr)
	}
	later := s.put("later.txt", strings.NewReader(strings.Replace(smallDump, "main.main", "main.later", 1)))
	s.stop()
	begun := time.Now()
	if r := execute(t, nil, "restore", "--from", to, "--data", dir+"-other"); r.status != exitDone {
		t.Fatal(r.stderr)
	}
	whole := time.Since(begun)
	killed, replaced := 0, 0
	for round := range 12 {
		cmd := exec.Command(binary(t), "restore", "--from", to, "--data", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(whole*time.Duration(round+1)/10, func() { cmd.Process.Kill() })
		if cmd.Wait() != nil {
			killed++
		}
		timer.Stop()
		checked(t, dir)
		s := serve(t, dir, "--no-samples")
		s.get(old.Link)
		a, err := s.request(http.MethodGet, later.Link, nil)
		if err != nil || a.status != http.StatusOK && a.status != http.StatusNotFound {
			t.Errorf("%d, %v", a.status, err)
		}
		if a.status == http.StatusNotFound {
			replaced++
		}
		s.stop()
	}
	t.Logf("%d restores, %d killed, the directory was the new one after %d", 12, killed, replaced)
	if killed == 0 {
		t.Error("no kill came in time: the test proves nothing")
	}
}
