package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		{[]string{"--keep-uploads", "9", "--apply"}, "Dropped: the members of 0 captures (0 bytes packed) and 1 upload (6 bytes)."},
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
