package report_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leakdiff/analysis/read/bundle"
)

// The dumps are of real programs (go1.26.8), optimised and not. Truth is in their sources: abba
// locks Account then Ledger and the other way, abbaone two Accounts in both orders, rwreentry
// reads twice around a writer, oncerec enters its Once in the function of the Once. hcontend and
// hrw are under contention and go on.
func TestOneDumpNamesTheDeadlocksOfRealProgramsAndNoContention(t *testing.T) {
	for name, want := range map[string]string{
		"abba":      "Possible deadlock in",
		"abbaone":   "Possible deadlock in",
		"rwreentry": "wait for one lock in main.(*Catalog)",
		"oncerec":   "wait for one lock in main.(*Config)",
		"hcontend":  "",
		"hrw":       "",
	} {
		for _, compiled := range []string{"opt", "noopt"} {
			path := filepath.Join("testdata", "deadlock", name+"-"+compiled+".txt")
			d := built(t, []bundle.Input{{Name: name + ".txt", Size: -1, Open: func() (io.ReadCloser, error) { return os.Open(path) }}}).Report.Diagnosis
			if (d.State == "deadlock") != (want != "") || !strings.Contains(d.Sentence, want) {
				t.Errorf("%s, %s: %s, %q; want %q", name, compiled, d.State, d.Sentence, want)
			}
		}
	}
}
