package ingest

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/samples/corpus"
)

func TestHandlesWithoutANumberAreFollowedByTheirAddress(t *testing.T) {
	number := regexp.MustCompile(`(?m)^ *"fd": \d+,?\n`)
	var inputs []bundle.Input
	for _, at := range []string{"t0", "t1"} {
		data, err := os.ReadFile(corpus.Path(t, "series", "node-agent-leak", at, "node", "node-report.json"))
		if err != nil {
			t.Fatal(err)
		}
		text := number.ReplaceAll(data, nil)
		if len(text) == len(data) {
			t.Fatal("the report has no numbers")
		}
		inputs = append(inputs, bundle.Input{Name: at + "/node/node-report.json", Size: int64(len(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }})
	}
	result, err := Run(t.Context(), Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, inputs)
	if err != nil || len(result.Snapshots) != 2 {
		t.Fatalf("%d snapshots, %v", len(result.Snapshots), err)
	}
	var seen [2]map[analysis.Identity]bool
	for i := range result.Snapshots {
		seen[i] = map[analysis.Identity]bool{}
		for _, g := range result.Snapshots[i].Groups {
			for id := range g.Members.Identities() {
				seen[i][id] = true
			}
		}
	}
	stayed := 0
	for id := range seen[0] {
		if id.ID != -1 {
			t.Errorf("a handle has the number %d", id.ID)
		}
		if seen[1][id] {
			stayed++
		}
	}
	if len(seen[0]) != 86 || len(seen[1]) != 184 || stayed < 80 {
		t.Errorf("%d handles, then %d, of which %d are the same; want 86, 184 and at least 80", len(seen[0]), len(seen[1]), stayed)
	}
}
