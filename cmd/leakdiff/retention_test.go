package main

import (
	"bytes"
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
	if said := run(exitError, "--keep-members=-1"); !strings.Contains(said, "a number of days is not negative") {
		t.Errorf("it says %q", said)
	}
	if st, err = store.Open(t.Context(), store.Config{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if b, err = st.Bundle(t.Context(), b.ID); err != nil || b.Dropped.IsZero() {
		t.Errorf("the upload is there: %+v, %v", b, err)
	}
}
