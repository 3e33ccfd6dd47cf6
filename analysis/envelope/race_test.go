//go:build race

package envelope_test

import "testing"

// heavy leaves a test that reads hundreds of megabytes or drives processes to
// the pass of make test that runs without the race detector.
func heavy(t *testing.T) {
	t.Helper()
	t.Skip("heavy: make test runs it without the race detector")
}
