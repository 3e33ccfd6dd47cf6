package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/internal/test/cluster"
	"leakdiff/internal/test/gateway"
)

// objectsIn counts the uploads in a bucket.
func objectsIn(t *testing.T, server *gateway.Server, bucket string) (n int) {
	t.Helper()
	for name := range server.Files(t, bucket) {
		if strings.Contains(name, "/") {
			n++
		}
	}
	return n
}

func TestAServerSaysTheSameOfUploadsInABucket(t *testing.T) {
	buckets := gateway.Start(t)
	sample := sampleArchive(t, "kubelet-probe-leak")
	directory := serve(t, t.TempDir(), "--no-samples")
	want := directory.get(directory.put("sample.tar.gz", bytes.NewReader(sample)).Link + ".json")
	for name, postgres := range map[string]bool{"with a database in a file": false, "with a database of PostgreSQL": true} {
		t.Run(name, func(t *testing.T) {
			dir, bucket := t.TempDir(), buckets.Bucket(t)
			args := []string{"--no-samples", "--blobs", bucket}
			if postgres {
				args = append(args, "--database", cluster.Start(t).Database(t))
			}
			s := serve(t, dir, args...)
			up := s.put("sample.tar.gz", bytes.NewReader(sample))
			if diff := cmp.Diff(want, s.get(up.Link+".json")); diff != "" {
				t.Errorf("the report differs (-directory +bucket)\n%s", diff)
			}
			s.kill()
			s = serve(t, dir, args...)
			file := rawFile(t, s, up)
			if got := s.get(file); got != string(sample) {
				t.Errorf("%d other bytes than the %d uploaded came back", len(got), len(sample))
			}
			if files, _ := filepath.Glob(filepath.Join(dir, "blobs", "??")); len(files) > 0 {
				t.Errorf("the data directory has uploads: %v", files)
			}
			if !postgres { // the engine makes no difference to it
				bucketGoesDownAndUp(t, buckets, s, up, file)
			}
			if n := objectsIn(t, buckets, bucket); n != 1 {
				t.Errorf("%d objects, want 1", n)
			}
			a, err := s.request(http.MethodDelete, "/api/v1/cases/"+up.Case, nil, "Authorization", "Bearer "+up.OwnerKey)
			if err != nil || a.status/100 != 2 {
				t.Fatalf("deleting: %v, %+v", err, a)
			}
			if n := objectsIn(t, buckets, bucket); n != 0 {
				t.Errorf("%d objects after the only case was deleted", n)
			}
			if status := s.stop(); status != exitDone {
				t.Errorf("status %d after SIGTERM: %s", status, s.stderr)
			}
			if said := s.stderr.String(); strings.Contains(said, os.Getenv("AWS_SECRET_ACCESS_KEY")) {
				t.Errorf("the log has\n%s", said)
			}
		})
	}
}

// rawFile is the address of the first file of an upload.
func rawFile(t *testing.T, s *serving, up upload) string {
	t.Helper()
	_, rest, found := strings.Cut(s.get("/bundles/"+up.ID), `href="/bundles/`+up.ID+`/files/`)
	sha, _, closed := strings.Cut(rest, `"`)
	if !found || !closed {
		t.Fatal("the page of the bundle has no file")
	}
	return "/bundles/" + up.ID + "/files/" + sha
}

// bucketGoesDownAndUp has the bucket refuse while people upload, download and read again.
func bucketGoesDownAndUp(t *testing.T, buckets *gateway.Server, s *serving, up upload, file string) {
	t.Helper()
	ask := func(method, path, body string) answered {
		t.Helper()
		a, err := s.request(method, path, strings.NewReader(body), "Content-Type", "application/x-www-form-urlencoded", "Origin", s.url)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	buckets.Refuse()
	defer buckets.Pass()
	for what, a := range map[string]answered{
		"an upload":  ask(http.MethodPut, "/api/v1/bundles/dump.txt", "goroutine 1 [running]:\nmain.main()\n"),
		"a download": ask(http.MethodGet, file, ""),
	} {
		if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "Try again in a moment") || strings.Contains(a.body, buckets.Address()) {
			t.Errorf("%s while the bucket is down: %d, %s", what, a.status, a.body)
		}
	}
	if a := ask(http.MethodGet, "/readyz", ""); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "the bucket of the uploads does not answer") {
		t.Errorf("readiness: %d, %s", a.status, a.body)
	}
	state := func() (status, text string) {
		t.Helper()
		var of struct{ Status, Text string }
		if err := json.Unmarshal([]byte(s.get("/bundles/"+up.ID+".json")), &of); err != nil {
			t.Fatal(err)
		}
		return of.Status, of.Text
	}
	ask(http.MethodPost, "/bundles/"+up.ID+"/read", "key="+up.OwnerKey)
	for {
		status, text := state()
		if strings.Contains(text, "waits until the place of the uploads answers") {
			break
		}
		if status != "queued" && status != "running" {
			t.Fatalf("a reading without its bytes is %s: %s", status, text)
		}
		time.Sleep(10 * time.Millisecond)
	}
	buckets.Pass()
	for {
		status, text := state()
		if status == "done" {
			break
		}
		if status != "queued" && status != "running" {
			t.Fatalf("the reading is %s: %s", status, text)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if a := ask(http.MethodGet, "/readyz", ""); a.status != http.StatusOK || !strings.Contains(a.body, `"bucket"`) {
		t.Errorf("readiness: %d, %s", a.status, a.body)
	}
}

// TestUploadsOverABadNetworkAreReadOnceOrRefused sends uploads again until they are
// acknowledged, while connections to the bucket end anywhere.
func TestUploadsOverABadNetworkAreReadOnceOrRefused(t *testing.T) {
	buckets := gateway.Start(t)
	bucket := buckets.Bucket(t)
	s := serve(t, t.TempDir(), "--no-samples", "--blobs", bucket)
	const uploads = 6
	acknowledged := map[string]bool{}
	refused := 0
	for n := range uploads {
		dump := strings.Repeat(fmt.Sprintf("goroutine %d [running]:\nmain.main()\n\t/src/main.go:10 +0x1d\n\n", n+1), 3000<<(n%2*3))
		for {
			buckets.Cut(rand.Int64N(1500))
			a, err := s.request(http.MethodPut, fmt.Sprintf("/api/v1/bundles/dump%d.txt", n), strings.NewReader(dump), "Idempotency-Key", fmt.Sprint("upload ", n))
			buckets.Pass()
			if err != nil {
				t.Fatal(err)
			}
			if a.status == http.StatusCreated {
				acknowledged[decode[upload](t, a.body).ID] = true
				break
			}
			if refused++; a.status != http.StatusServiceUnavailable {
				t.Fatalf("an upload was answered with %d: %s", a.status, a.body)
			}
		}
	}
	if len(acknowledged) != uploads {
		t.Errorf("%d uploads of %d are acknowledged", len(acknowledged), uploads)
	}
	for id := range acknowledged {
		for status := ""; status != "done"; {
			a, err := s.request(http.MethodGet, "/api/v1/bundles/"+id, nil)
			if err != nil || a.status != http.StatusOK {
				t.Fatalf("%v, %+v", err, a)
			}
			if status = decode[upload](t, a.body).Status; status == "failed" {
				t.Fatalf("an acknowledged upload failed: %s", a.body)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	t.Logf("%d uploads were refused before %d were acknowledged", refused, uploads)
	if _, total, _ := strings.Cut(s.get("/api/v1/cases"), `"total":`); !strings.HasPrefix(strings.TrimSpace(total), fmt.Sprint(uploads)) {
		t.Errorf("the server has other cases than %d: %.40q", uploads, total)
	}
}
