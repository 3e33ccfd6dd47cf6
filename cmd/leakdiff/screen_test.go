package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/samples/corpus"
)

// TestTheScreenOfRealLeaks holds what report prints of captures that are not in the checkout;
// the scripts hold it of the samples.
func TestTheScreenOfRealLeaks(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
	}{
		{"okhttp-leak", []string{corpus.Path(t, "series", "okhttp-leak")}},
		{"node-agent-leak", []string{corpus.Path(t, "series", "node-agent-leak")}},
		{"node-agent-leak-verbose", []string{"--verbose", corpus.Path(t, "series", "node-agent-leak")}},
		{"one-dump", []string{corpus.Path(t, "series", "kubelet-probe-leak", "t7", "containerd")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := execute(t, nil, append([]string{"report"}, tt.args...)...)
			if got.status != exitDone || got.stderr != "" {
				t.Fatalf("status %d, %q", got.status, got.stderr)
			}
			golden := filepath.Join("testdata", "screen", tt.name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got.stdout), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got.stdout); d != "" {
				t.Errorf("-want +got; -update writes it:\n%s", d)
			}
		})
	}
}
