package main

import (
	"archive/tar"
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
)

// times are the capture times of a report's snapshots.
func times(r report.Report) []string {
	var out []string
	for _, s := range r.Snapshots {
		at := "unknown"
		if s.CapturedAt != nil {
			at = s.CapturedAt.Format(time.RFC3339Nano)
		}
		out = append(out, at)
	}
	return out
}

func TestReportTakesTheTimesOfNamedFilesAsPushDoes(t *testing.T) {
	s := serve(t, filepath.Join(t.TempDir(), "data"), "--no-samples")
	from := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name string
		gap  time.Duration
		want []string
	}{
		{"twenty seconds apart", 20 * time.Second, []string{"2026-11-21T03:00:00Z", "2026-11-21T03:00:20Z"}},
		{"of one checkout", 0, []string{"unknown", "unknown"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := dumpsDir(t)
			var paths []string
			for i, name := range []string{"a.txt", "b.txt"} {
				to := filepath.Join(dir, name)
				if err := os.Rename(filepath.Join(dir, "t"+string(rune('0'+i)), "goroutines.txt"), to); err != nil {
					t.Fatal(err)
				}
				at := from.Add(time.Duration(i) * tc.gap)
				if err := os.Chtimes(to, at, at); err != nil {
					t.Fatal(err)
				}
				paths = append(paths, to)
			}
			reported := execute(t, nil, append([]string{"report", "--format", "json"}, paths...)...)
			if got := times(decode[report.Report](t, reported.stdout)); !slices.Equal(got, tc.want) {
				t.Errorf("report says %v, want %v", got, tc.want)
			}
			pushed := execute(t, nil, append([]string{"push", "--server", s.url}, paths...)...)
			page, err := s.request(http.MethodGet, strings.TrimSpace(strings.TrimPrefix(pushed.stdout, s.url))+".json", nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := times(decode[report.Report](t, page.body)); !slices.Equal(got, tc.want) {
				t.Errorf("push says %v, want %v", got, tc.want)
			}
		})
	}
}

// TestAFileThatKeptAnOlderTimeChangesNoVerdict packs a series of leaking sockets with the
// times of its captures. One file of the last capture has a time before all others.
func TestAFileThatKeptAnOlderTimeChangesNoVerdict(t *testing.T) {
	dir := corpus.Path(t, "series", "socket-leak")
	seconds := map[string]int{"t0": 0, "t1": 20, "t2": 40, "t3": 60}
	packed := func(older string) string {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		eachFile(t, dir, func(name string, content []byte, _ time.Time) error {
			if strings.Contains(name, "captured_at") || strings.Contains(name, "expected") {
				return nil
			}
			parts := strings.Split(name, "/")
			at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC).Add(time.Duration(seconds[parts[1]]) * time.Second)
			if strings.HasSuffix(name, older) {
				at = at.Add(-time.Hour)
			}
			if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: at}); err != nil {
				return err
			}
			_, err := w.Write(content)
			return err
		})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "socket-leak.tar")
		if err := os.WriteFile(name, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	read := func(older string) report.Report {
		return decode[report.Report](t, execute(t, nil, "report", "--format", "json", packed(older)).stdout)
	}
	want := read("no such file")
	leaking := 0
	for _, f := range want.Series[0].Families {
		if f.Verdict == analysis.Leaking {
			leaking++
		}
	}
	if leaking == 0 {
		t.Fatal("the series does not leak as it is")
	}
	for _, older := range []string{"t3/sock/fd.txt", "t3/sock/lsof.txt", "t0/sock/lsof.txt", "sock/fd.txt"} {
		if diff := cmp.Diff(want, read(older), cmpopts.IgnoreUnexported(report.Finding{}, report.StackFrame{})); diff != "" {
			t.Errorf("with an older %s:\n%s", older, diff)
		}
	}
}
