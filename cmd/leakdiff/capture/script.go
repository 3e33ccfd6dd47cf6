package capture

import _ "embed"

//go:embed collect.sh
var script []byte

// Script is collect.sh. It takes files of /proc and goroutine dumps where no program may be copied.
func Script() []byte { return script }
