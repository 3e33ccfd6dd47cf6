//go:build race

package metrics

// pieces is how many pieces of 500 bytes a hostile stream has; the race detector
// makes them ten times slower.
const pieces = 4_000
