package analysis

// ShowsGoroutines reports whether a Go program that prints the name of a signal at the
// beginning of a line may show its goroutines behind it. Of those named here it ends
// without, or goes on (runtime/sigtab_linux_generic.go): such lines are its own words.
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
