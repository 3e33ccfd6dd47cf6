package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"leakdiff/samples/corpus"
)

// TestAStandbyOfLitestreamIsSound runs the real program beside a server, kills the server,
// and checks what the standby has. Building Litestream takes minutes, so that it is given by
// LEAKDIFF_LITESTREAM.
func TestAStandbyOfLitestreamIsSound(t *testing.T) {
	litestream := os.Getenv("LEAKDIFF_LITESTREAM")
	if litestream == "" {
		corpus.LeaveOut(t, "LEAKDIFF_LITESTREAM names no program of Litestream; make long builds one")
	}
	dir := t.TempDir()
	data, replica := filepath.Join(dir, "data"), filepath.Join(dir, "replica")
	s := serve(t, data, "--no-samples")
	config := filepath.Join(dir, "litestream.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "dbs:\n  - path: %s/leakdiff.db\n    replica:\n      type: file\n      path: %s\n", data, replica), 0o600); err != nil {
		t.Fatal(err)
	}
	follow := exec.Command(litestream, "replicate", "-config", config)
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		follow.Process.Kill()
		follow.Wait()
	}()
	for i := range 5 {
		s.put(fmt.Sprint(i, ".txt"), strings.NewReader(fmt.Sprintf("goroutine 1 [running]:\nmain.f%d()\n\t/src/m.go:1 +0x1\n", i)))
	}
	s.kill()
	tries := 0
	waitFor(t, "the standby to have every upload", func() bool {
		tries++
		standby := filepath.Join(dir, fmt.Sprint("standby-", tries))
		if err := os.CopyFS(filepath.Join(standby, "blobs"), os.DirFS(filepath.Join(data, "blobs"))); err != nil {
			t.Fatal(err)
		}
		if exec.Command(litestream, "restore", "-config", config, "-o", filepath.Join(standby, "leakdiff.db"), filepath.Join(data, "leakdiff.db")).Run() != nil {
			return false
		}
		r := execute(t, nil, "check", "--data", standby)
		return r.status == exitDone && strings.Contains(r.stdout, "sound: 5 cases, 5 bundles, 5 uploads")
	})
}
