//go:build race

package lab

import "testing"

// heavy leaves a test that builds and drives programs, or simulates thousands of
// series, to the pass of make test that runs without the race detector.
func heavy(t *testing.T) {
	t.Helper()
	t.Skip("heavy: make test runs it without the race detector")
}
