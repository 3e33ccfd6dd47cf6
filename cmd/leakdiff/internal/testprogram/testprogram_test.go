package testprogram

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// TestAProgramStartsWhileOthersAreForked writes and starts programs in several goroutines. With
// os.WriteFile in place of Write, 20 of 20 runs met "text file busy".
func TestAProgramStartsWhileOthersAreForked(t *testing.T) {
	dir := t.TempDir()
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 50 {
				path := filepath.Join(dir, fmt.Sprintf("program-%d-%d", w, i))
				if err := Write(path, []byte("#!/bin/sh\nexit 7\n")); err != nil {
					t.Error(err)
					return
				}
				var ended *exec.ExitError
				if err := exec.Command(path).Run(); !errors.As(err, &ended) || ended.ExitCode() != 7 {
					t.Errorf("%s: %v, want exit status 7", path, err)
					return
				}
			}
		})
	}
	writers.Wait()
}
