package analysis

import "strings"

// endings are the first lines of a signal at which a Go program prints all goroutines and ends, where
// nothing in the program failed (runtime/sigtab_linux_generic.go).
var endings = map[string]bool{"SIGQUIT: quit": true, "SIGABRT: abort": true}

// Signal is the name of a signal: "SIGABRT".
type Signal string

// EndsWith is the signal whose first line ends a Go program, "" for other lines.
//
//	"SIGABRT: abort" -> "SIGABRT"
//	"SIGQUIT: draining connections" -> ""
func EndsWith(line string) Signal {
	if line = strings.TrimRight(line, "\r \t"); !endings[line] {
		return ""
	}
	return Signal(line[:strings.IndexByte(line, ':')])
}

// CompilerError is what the compiler of Go prints between the place in the source and the reason of its
// own failure, with its stack below.
const CompilerError = ": internal compiler error: "

// ShowsGoroutines reports whether a Go program that prints the name of a signal at the
// beginning of a line may print its goroutines after it. On the signals named here it
// exits without goroutines, or goes on (runtime/sigtab_linux_generic.go). Such lines
// are the program's own words.
//
//	"SIGQUIT" -> true
//	"SIGTERM" -> false, as in "SIGTERM: draining connections"
func ShowsGoroutines(signal string) bool {
	switch signal {
	case "SIGHUP", "SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGCHLD", "SIGWINCH":
		return false
	}
	return true
}
