package shop

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime/pprof"
	"testing"
	"time"
)

// TestMain dumps the goroutines that are left after all tests, and fails if there are more
// than leakdiff.budget allows.
func TestMain(m *testing.M) {
	status := m.Run()
	if status == 0 {
		if err := gate(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	os.Exit(status)
}

// gate asks again for a while: goroutines that were told to end need a moment.
func gate() error {
	var text []byte
	for range 20 {
		dump := &bytes.Buffer{}
		if err := pprof.Lookup("goroutine").WriteTo(dump, 2); err != nil {
			return err
		}
		cmd := exec.Command("leakdiff", "report", "--budget", "leakdiff.budget", "-")
		cmd.Stdin = dump
		var err error
		if text, err = cmd.CombinedOutput(); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%s", text)
}

func TestCarts(t *testing.T) {
	for range 5 {
		c := Open()
		if os.Getenv("FORGET") == "" {
			defer c.Close()
		}
	}
}
