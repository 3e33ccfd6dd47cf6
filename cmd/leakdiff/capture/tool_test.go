package capture_test

import (
	"os"
	"os/exec"
	"testing"

	"leakdiff/samples/corpus"
)

// tool is the path of a program that a test cannot do without.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, here := have(t, name)
	if !here {
		corpus.LeaveOut(t, "%s is not installed: make tools installs it where apt-get is allowed", name)
	}
	return path
}

// have is the path of a program, and whether it is here. Where CI=true it must be:
// make tools has installed it.
func have(t *testing.T, name string) (path string, here bool) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing and CI=true: make tools must install it", name)
	}
	return path, err == nil
}
