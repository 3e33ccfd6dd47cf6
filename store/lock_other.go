//go:build !(linux || darwin || freebsd)

package store

import (
	"os"
	"runtime"

	"leakdiff/analysis"
)

// lock fails: without flock(2) two servers could write the same directory.
func lock(string) (*os.File, error) {
	return nil, &analysis.Fault{
		Code: "unsupported",
		What: "the data directory cannot be locked",
		Why:  "leakdiff has no way to do that on " + runtime.GOOS,
		Hint: "Run the server on Linux, macOS or FreeBSD; report and push work here.",
	}
}
