package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/cespare/xxhash/v2"
)

// running is the file of the running program on Linux, even if another file has its name
// by now.
const running = "/proc/self/exe"

// program is a hash of the running program, or "" if its file cannot be read. It differs
// between builds.
var program = sync.OnceValue(func() string {
	f, err := os.Open(running)
	if err != nil {
		path, err := os.Executable()
		if err != nil {
			return ""
		}
		if f, err = os.Open(path); err != nil {
			return ""
		}
	}
	defer f.Close()
	sum := xxhash.New()
	n, err := io.Copy(sum, f)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%016x-%x", sum.Sum64(), n)
})
