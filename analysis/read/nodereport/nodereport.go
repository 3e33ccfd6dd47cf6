// Package nodereport reads diagnostic reports of Node.js (process.report, signals,
// fatal errors). It takes a reader and hands every libuv handle that holds a descriptor
// or watches a file to a visitor, the handles of worker threads included. Limits, identity
// and memory are in one Report. It does not know which handles are too many, keeps neither
// the environment nor the network interfaces, and reads no descriptor that libuv does not
// own: files opened through fs are not in a report.
package nodereport

import (
	"path"
	"strings"
	"time"

	"leakdiff/analysis"
)

// Report is a report without its descriptors.
type Report struct {
	// Time is that of dumpEventTimeStamp. dumpEventTime is taken only without it: Node
	// writes local time there and a Z after it (src/node_report.cc).
	Time time.Time
	PID  int
	// Program is the base name of the script, or of the executable if none was
	// named ("node -e ...").
	Host, Program string
	// NodeVersion is as printed, "v22.23.3".
	NodeVersion string
	// CommandLine is bounded in number and length.
	CommandLine []string
	// SoftOpenFiles is the soft limit on open descriptors, Unlimited, or 0 if the
	// report does not state it.
	SoftOpenFiles int64
	// Handles counts the libuv handles of all threads by type, loops left out.
	Handles map[string]int
	// ReferencedTCP and UnreferencedTCP add up to Handles["tcp"]. An unreferenced tcp
	// handle is a pooled connection that no code waits for.
	ReferencedTCP, UnreferencedTCP int
	// Descriptors and Watches are how many of each were visited.
	Descriptors, Watches int
	// HeapUsed, HeapLimit and RSS are in bytes and 0 if unknown; the heap is that of
	// the main thread.
	HeapUsed, HeapLimit, RSS int64
	// External is the memory of buffers outside of the heap that its objects keep, in bytes.
	External int64
	// HeapSpaces are those of the heap, in the order of the report.
	HeapSpaces []HeapSpace
	// Workers is the number of worker threads whose reports lie inside.
	Workers int
	// Secrets is true if the report holds environment variables.
	Secrets bool
	// Truncated is true if the report stops before its end: handles and figures are
	// lower bounds.
	Truncated bool
}

// HeapSpace is a space of V8's heap ("old_space") with the bytes that it uses.
type HeapSpace struct {
	Name string
	Used int64
}

// Unlimited is the value of a limit that is none.
const Unlimited = -1

// Figures are the report's numbers. Those that other evidence has too use its names
// (limit_open_files, process_resident_memory_bytes, resident memory in bytes); the
// names of the others begin with "node_". Unknown numbers are left out, and so are the
// handles of a truncated report.
func (r Report) Figures() map[string]float64 {
	out := map[string]float64{}
	for name, value := range map[string]int64{
		"limit_open_files": r.SoftOpenFiles, "process_resident_memory_bytes": r.RSS,
		"node_heap_used_bytes": r.HeapUsed, "node_heap_limit_bytes": r.HeapLimit, analysis.ExternalBytes: r.External,
	} {
		if value > 0 {
			out[name] = float64(value)
		}
	}
	if r.Truncated || len(r.Handles) == 0 {
		return out
	}
	handles := 0
	for _, n := range r.Handles {
		handles += n
	}
	out["node_handles"] = float64(handles)
	out["node_tcp_handles"] = float64(r.ReferencedTCP + r.UnreferencedTCP)
	out["node_tcp_unreferenced"] = float64(r.UnreferencedTCP)
	out["node_workers"] = float64(r.Workers)
	return out
}

// ProgramOf is the base name of the script that a command line runs, or of its
// executable. Options before the script are Node's own.
//
//	["/opt/bin/node", "--no-warnings", "/srv/watch.mjs", "10"]   "watch.mjs"
//	["node", "-r", "dotenv/config", "server.js"]                 "server.js"
//	["node", "-e", "setInterval(f, 1e9)"]                        "node"
func ProgramOf(words []string) string {
	if len(words) == 0 {
		return ""
	}
	executable := base(words[0])
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-e", word == "--eval", word == "-p", word == "--print", word == "-pe":
			return executable
		case takesValue(word):
			i++
		case word == "--" && i+1 < len(words):
			return base(words[i+1])
		case word != "" && !strings.HasPrefix(word, "-"):
			return base(word)
		}
	}
	return executable
}

// takesValue reports whether an option's value is the next word (node --help).
func takesValue(option string) bool {
	switch option {
	case "-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions",
		"--env-file", "--title", "--icu-data-dir", "--input-type", "--inspect-port", "--report-dir",
		"--report-directory", "--report-filename", "--report-signal", "--diagnostic-dir", "--openssl-config":
		return true
	}
	return false
}

// base is the last element of a path of any system.
//
//	"C:\\app\\server.js"   "server.js"
func base(name string) string {
	return path.Base(strings.ReplaceAll(name, `\`, "/"))
}
