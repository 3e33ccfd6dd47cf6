//go:build race

package corpus

// Race says that the race detector is in this binary.
const Race = true
