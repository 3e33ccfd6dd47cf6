package report_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"leakdiff/analysis/read/bundle"
)

// TestNestedLocksInOneOrderAreNoDeadlock reads dumps of programs that take locks within locks. In the
// chains somebody at the end sleeps and goes on. In the others each waits for the next one.
func TestNestedLocksInOneOrderAreNoDeadlock(t *testing.T) {
	for _, c := range []struct {
		name   string
		cycles int
		want   string
	}{
		{"chain-of-one-type", 0, ""}, {"chain-held-elsewhere", 0, ""}, {"chain-of-two-types", 0, ""}, {"chain-of-three-types", 0, ""},
		{"crossed", 1, "Possible deadlock in bank: goroutines 25 and 26 wait for each other."},
		{"ring-of-three", 1, "Possible deadlock in bank: goroutines 9, 10 and 11 wait for each other."},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join("testdata", "nested", c.name+".txt")
			r := built(t, []bundle.Input{{Name: "bank/goroutines.txt", Size: -1, Open: func() (io.ReadCloser, error) { return os.Open(path) }}}).Report
			cycles := 0
			if l := r.Series[0].Locks; l != nil {
				cycles = len(l.Cycles)
			}
			if cycles != c.cycles || c.want != "" && r.Diagnosis.Sentence != c.want {
				t.Errorf("%d cycles, %q", cycles, r.Diagnosis.Sentence)
			}
		})
	}
}
