//go:build !race

package envelope_test

import "testing"

// heavy marks a test that only runs without the race detector.
func heavy(*testing.T) {}
