package analysis

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
