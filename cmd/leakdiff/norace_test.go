//go:build !race

package main

import "testing"

// heavy marks a test that only runs without the race detector.
func heavy(*testing.T) {}
