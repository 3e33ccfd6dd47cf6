package envelope_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis/bundle"
	"leakdiff/analysis/ingest"
)

// ingested is what the analysis of one file that stands alone gives: what it is taken
// for, the goroutines of its one snapshot, and when that was taken.
func ingested(t *testing.T, text string) (kind string, goroutines int, at time.Time) {
	t.Helper()
	in := bundle.Input{Name: "x", Size: int64(len(text)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
	cfg := ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}, Now: func() time.Time { return begin.Add(48 * time.Hour) }}
	r, err := ingest.Run(t.Context(), cfg, []bundle.Input{in})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Snapshots) != 1 || len(r.Artifacts) != 1 || r.Snapshots[0].Totals.Goroutines == nil {
		t.Fatalf("got %d snapshots of %+v", len(r.Snapshots), r.Artifacts)
	}
	return r.Artifacts[0].Kind, *r.Snapshots[0].Totals.Goroutines, r.Snapshots[0].CapturedAt
}

// TestEveryFormIsToldFromAPlainDump is TestEveryFormGivesThePlainDumpBack for a file of
// which nobody says that it has to be unwrapped: one that is taken for a plain dump
// loses each goroutine whose header stands behind a prefix.
func TestEveryFormIsToldFromAPlainDump(t *testing.T) {
	for dump, plain := range plains(t) {
		_, want, _ := ingested(t, plain)
		for _, w := range wrappers {
			if w.logged && !strings.HasPrefix(plain, "goroutine ") {
				continue
			}
			t.Run(dump+"/"+w.name, func(t *testing.T) {
				kind, got, at := ingested(t, w.wrap(plain))
				if got != want {
					t.Errorf("it is a %s of %d goroutines, want %d", kind, got, want)
				}
				if off := begin.Sub(at); w.timed && (off < 0 || off > time.Second) {
					t.Errorf("it is a %s of %v, want the time of its first line", kind, at)
				}
			})
		}
	}
}
