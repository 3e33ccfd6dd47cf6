package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"leakdiff/internal/test/cluster"
	"leakdiff/internal/test/gateway"
	"leakdiff/store"
)

func TestRetentionShowsFirstAndDropsWhenAsked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	old := time.Now().AddDate(0, 0, -10)
	st, err := store.Open(t.Context(), store.Config{Dir: dir, Now: func() time.Time { return old }})
	if err != nil {
		t.Fatal(err)
	}
	p, err := st.Blobs().Put(t.Context(), strings.NewReader("a dump"), 100)
	if err != nil {
		t.Fatal(err)
	}
	c, b, _, err := st.OpenCase(t.Context(), "a \x1b[31mcase", "", "dump.txt", []store.File{{Name: "dump.txt", SHA256: p.SHA256, Size: p.Size}})
	if err != nil {
		t.Fatal(err)
	}
	job, _, err := st.ClaimJob(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := st.FinishJob(t.Context(), job, store.Result{}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	run := func(want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		m := &Main{Stdout: &out, Stderr: &out}
		if status := m.Run(t.Context(), append([]string{"retention", "--data", dir}, args...)); status != want {
			t.Errorf("%q ends with %d: %s", args, status, out.String())
		}
		return out.String()
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "drop nothing now"},
		{[]string{"--keep-uploads", "11"}, "drop nothing now"},
		{[]string{"--keep-uploads", "9"}, "1 upload (6 bytes). Nothing is changed without --apply."},
		{[]string{"--keep-uploads", "9", "--format", "json"}, `"case":"` + c.ID + `"`},
		{[]string{"--keep-uploads", "9", "--apply"}, "Dropped: 1 upload (6 bytes)."},
		{[]string{"--keep-uploads", "9", "--apply"}, "drop nothing now"},
	} {
		if said := run(exitDone, tc.args...); !strings.Contains(said, tc.want) || strings.Contains(said, "\x1b") {
			t.Errorf("%q says %q, want %q", tc.args, said, tc.want)
		}
	}
	for _, days := range []string{"--keep-members=-1", "--keep-members=36501", "--keep-uploads=160000000"} {
		if said := run(exitError, days, "--apply"); !strings.Contains(said, "they are numbers from 0 to 36500") {
			t.Errorf("%s says %q", days, said)
		}
	}
	if st, err = store.Open(t.Context(), store.Config{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if b, err = st.Bundle(t.Context(), b.ID); err != nil || b.Dropped.IsZero() {
		t.Errorf("the upload is there: %+v, %v", b, err)
	}
}

func TestServeDoesNotStartWithDaysBeyondAllTime(t *testing.T) {
	var out bytes.Buffer
	m := &Main{Stdout: &out, Stderr: &out, Ready: func(string) { t.Error("it started") }}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	status := m.Run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--no-samples", "--data", t.TempDir(), "--keep-members", "99999999999"})
	if status != exitError || !strings.Contains(out.String(), "the days were not understood") {
		t.Errorf("it ends with %d: %s", status, out.String())
	}
}

func TestRetentionFindsUploadsInABucketAndMakesNoDataDirectory(t *testing.T) {
	bucket, dir, empty := gateway.Start(t).Bucket(t), t.TempDir(), t.TempDir()
	serve(t, dir, "--blobs", bucket).stop() // with the samples
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--data", dir}, exitError, "nothing was looked at"},
		{[]string{"--data", dir, "--blobs", bucket}, exitDone, "The policies drop nothing now."},
		{[]string{"--data", empty}, exitError, "this is no data directory"},
	} {
		got := execute(t, nil, append([]string{"retention"}, c.args...)...)
		if said := got.stdout + got.stderr; got.status != c.status || !strings.Contains(said, c.want) || strings.Contains(said, "server") {
			t.Errorf("%q: %+v, want %q", c.args, got, c.want)
		}
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("it made %v, %v", left, err)
	}
}

func TestRetentionSaysThatAnotherServerDrops(t *testing.T) {
	address, bucket := cluster.Start(t).Database(t), gateway.Start(t).Bucket(t)
	server, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Database: address, Blobs: bucket})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	run := func(status int, want string, args ...string) {
		t.Helper()
		got := execute(t, nil, append([]string{"retention", "--data", t.TempDir(), "--database", address, "--blobs", bucket, "--keep-uploads", "9"}, args...)...)
		if said := got.stdout + got.stderr; got.status != status || !strings.Contains(said, want) || strings.Contains(said, "Dropped") {
			t.Errorf("%q: %+v, want %q", args, got, want)
		}
	}
	run(exitDone, "The policies drop nothing now.", "--apply")
	if mine, err := server.TakeDuty(t.Context(), "retention"); err != nil || !mine {
		t.Fatal(mine, err)
	}
	run(exitError, "another server with this database drops", "--apply")
	run(exitError, "Repeat this in a minute", "--apply", "--format", "json")
	run(exitDone, "The policies drop nothing now.")
}
