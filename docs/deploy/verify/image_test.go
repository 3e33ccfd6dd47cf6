package verify

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// buildah runs it over a store of its own, without namespaces of the kernel.
func buildah(t *testing.T, store string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("buildah", append([]string{"--storage-driver", "vfs", "--root", filepath.Join(store, "root"), "--runroot", filepath.Join(store, "run")}, args...)...)
	cmd.Env = append(os.Environ(), "BUILDAH_ISOLATION=chroot", "BUILDAH_FORMAT=docker")
	return cmd
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := err.(*exec.ExitError); ok {
			out = exit.Stderr
		}
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestTheImageServesAndPassesItsHealthCheck builds the image as make image does, and starts
// server and health check in it, as its user.
func TestTheImageServesAndPassesItsHealthCheck(t *testing.T) {
	if _, err := exec.LookPath("buildah"); err != nil || os.Getuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("buildah is not installed, or this is not root, and CI=true: make long installs it")
		}
		t.Skip("buildah is not installed (Debian: buildah), or this is not root")
	}
	dir, store := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -buildid=", "-o", filepath.Join(dir, "leakdiff"), "./cmd/leakdiff")
	build.Dir, build.Env = "../../..", append(os.Environ(), "CGO_ENABLED=0")
	output(t, build)
	output(t, buildah(t, store, "build", "-q", "-f", "../Containerfile", "-t", "leakdiff", dir))
	// Two runs that begin at once in one container disturb each other.
	container, asking := output(t, buildah(t, store, "from", "leakdiff")), output(t, buildah(t, store, "from", "leakdiff"))

	const format = "{{.Docker.Config.User}} {{.Docker.Config.Entrypoint}} {{.Docker.Config.Cmd}} {{.Docker.Config.Healthcheck.Test}}"
	if got, want := output(t, buildah(t, store, "inspect", "--type", "image", "--format", format, "leakdiff")), "65532:65532 [/leakdiff] [serve] [CMD /leakdiff ready --server http://127.0.0.1:8080]"; got != want {
		t.Errorf("the image is %s, want %s", got, want)
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	var said strings.Builder
	server := buildah(t, store, "run", container, "--", "/leakdiff", "serve", "--listen", address)
	server.Stdout, server.Stderr, server.SysProcAttr = &said, &said, &syscall.SysProcAttr{Setpgid: true}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	defer func() {
		syscall.Kill(-server.Process.Pid, syscall.SIGKILL)
		<-ended
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		out, err := buildah(t, store, "run", asking, "--", "/leakdiff", "ready", "--server", "http://"+address).CombinedOutput()
		if err == nil {
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the server ended: %v: %s", err, said.String())
		case <-ctx.Done():
			t.Fatalf("the image does not become ready: %s", out)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
