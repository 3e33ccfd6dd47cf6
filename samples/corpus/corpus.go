// Package corpus is for tests alone: it finds the collection of real captures with known
// truth, which is not part of the checkout, and leaves what is heavy to the pass of make
// test that runs without the race detector.
package corpus

import (
	"os"
	"path/filepath"
	"testing"
)

// variable names the folder of the collection where it is not beside the checkout.
const variable = "LEAKDIFF_CORPUS"

// Root is the folder of the collection, and whether it is here.
func Root() (dir string, here bool) {
	dir = os.Getenv(variable)
	if dir == "" {
		dir = filepath.Join(checkout(), "..", "shared", "corpus")
	}
	_, err := os.Stat(filepath.Join(dir, "EXPECTED.tsv"))
	return dir, err == nil
}

// Path is that of a file or directory of the collection, or a pattern of such, by its
// elements; none give the folder itself. Without the collection the test is skipped: nothing can install it, and
// the samples of the checkout stand for it. What the collection lacks is a failure.
func Path(t testing.TB, elements ...string) string {
	t.Helper()
	root, here := Root()
	if !here {
		t.Skipf("the collection of real captures is not at %s (%s names another folder); no package has it", root, variable)
	}
	path := filepath.Join(append([]string{root}, elements...)...)
	if found, err := filepath.Glob(path); len(found) == 0 {
		t.Fatalf("the collection is here and has no %s: %v", path, err)
	}
	return path
}

// Heavy leaves a test that reads hundreds of megabytes or drives processes to the pass
// of make test that runs without the race detector.
func Heavy(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("heavy: make test runs it in its pass without the race detector")
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
