//go:build !race

package metrics

// pieces is how many pieces of 500 bytes a hostile stream has.
const pieces = 40_000
