//go:build !race

package lab

import "testing"

// heavy marks a test that only runs without the race detector.
func heavy(*testing.T) {}
