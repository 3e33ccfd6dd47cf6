//go:build !race

package nodereport_test

// pieces is how many pieces of 500 bytes a hostile stream has.
const pieces = 40_000
