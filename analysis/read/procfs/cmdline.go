package procfs

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// maxCmdline bounds the kept part of a command line; the kernel allows megabytes.
const maxCmdline = 256 << 10

// ParseCmdline reads /proc/PID/cmdline: arguments that end with NUL, or a copy whose
// NULs became blanks. In such a copy arguments with blanks cannot be separated. A
// kernel thread has no arguments. The error is that of r only.
func ParseCmdline(r io.Reader, path string) ([]string, []analysis.Problem, error) {
	probs := &line.Problems{Path: path}
	raw, err := io.ReadAll(io.LimitReader(r, maxCmdline+1))
	if err != nil {
		err = fmt.Errorf("reading %s: %w", path, err)
	}
	if len(raw) > maxCmdline {
		raw = raw[:maxCmdline]
		probs.Add(analysis.Note, line.Line{}, "the command line is longer than what is kept",
			fmt.Sprintf("only its first %d bytes were read", maxCmdline), "nothing: the program's name is there")
	}
	return arguments(raw), probs.All(), err
}

// arguments splits a command line.
//
//	"kubelet\x00--v=2\x00"   ["kubelet" "--v=2"]
//	"./leaker /a /b "        ["./leaker" "/a" "/b"]
func arguments(raw []byte) []string {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	if bytes.IndexByte(raw, 0) < 0 {
		return strings.Fields(string(raw))
	}
	text := strings.TrimRight(string(raw), "\x00\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}
