// Package corpus is for tests alone: it finds real captures with known truth, and leaves what is
// heavy to the pass of make test that runs without the race detector.
//
// Captures of our own programs are in corpus.tar.zst. Where the larger collection is here, which
// also has files of other people and is not part of the checkout, tests read that instead.
package corpus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// variable names the folder of the collection where it is not beside the checkout; none stands
// for no captures at all.
const (
	variable = "LEAKDIFF_CORPUS"
	none     = "none"
)

// collection is the folder of the larger collection, and whether it is here.
func collection() (dir string, here bool) {
	dir = os.Getenv(variable)
	if dir == "" {
		dir = filepath.Join(checkout(), "..", "shared", "corpus")
	}
	_, err := os.Stat(filepath.Join(dir, "EXPECTED.tsv"))
	return dir, err == nil
}

// Root is the folder of the captures, that of the collection or else of those of the checkout,
// and whether there is one.
func Root(t testing.TB) (dir string, here bool) {
	t.Helper()
	if dir, here = collection(); here || os.Getenv(variable) == none {
		return dir, here
	}
	dir, err := unpacked()
	if err != nil {
		t.Fatal(err)
	}
	return dir, true
}

// Has reports whether a file, or a pattern of such, must be here: with the collection always,
// else if the checkout has it.
func Has(t testing.TB, elements ...string) bool {
	t.Helper()
	root, here := Root(t)
	found, _ := filepath.Glob(filepath.Join(append([]string{root}, elements...)...))
	_, whole := collection()
	return here && (whole || len(found) > 0)
}

// Path is that of a file or directory of the captures, or a pattern of such, by its elements;
// none give the folder itself. Without the collection, a test is skipped that asks for what the
// checkout does not have: nothing can install it. What the collection lacks is a failure.
func Path(t testing.TB, elements ...string) string {
	t.Helper()
	root, here := Root(t)
	if !here {
		LeaveOut(t, "%s=%s: no captures", variable, none)
	}
	if !Has(t, elements...) {
		LeaveOut(t, "the checkout has no captures of other people; the collection is not here (%s names its folder), no package has it", variable)
	}
	path := filepath.Join(append([]string{root}, elements...)...)
	if found, err := filepath.Glob(path); len(found) == 0 {
		t.Fatalf("the collection is here and has no %s: %v", path, err)
	}
	return path
}

// leftOut names the file in which make test collects what was left out, to end with one line
// about it.
const leftOut = "LEAKDIFF_LEFT_OUT"

// LeaveOut skips a test that cannot run here, and says why.
func LeaveOut(t testing.TB, format string, args ...any) {
	t.Helper()
	why := fmt.Sprintf(format, args...)
	if file := os.Getenv(leftOut); file != "" {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintf(f, "%s\t%s\n", t.Name(), why)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Errorf("noting what is left out: %v", err)
		}
	}
	t.Skip(why)
}

// Heavy leaves a test that reads hundreds of megabytes or drives processes to the pass
// of make test that runs without the race detector; make quick does without it.
func Heavy(t testing.TB) {
	t.Helper()
	if Race || testing.Short() {
		LeaveOut(t, "heavy: make test runs it in its pass without the race detector")
	}
}

// checkout is the folder that holds go.mod; go test runs each test in that of its
// package.
func checkout() string {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, none := os.Stat(filepath.Join(dir, "go.mod")); none == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return "."
}
