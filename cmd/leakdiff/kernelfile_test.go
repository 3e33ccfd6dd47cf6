package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"leakdiff/samples/corpus"
)

func TestFilesOfTheKernelAreReadOnlyWhereACaptureReadsThem(t *testing.T) {
	if runtime.GOOS != "linux" {
		corpus.LeaveOut(t, "only Linux has procfs")
	}
	pid := strconv.Itoa(os.Getpid())
	own := "/proc/" + pid
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	collect := "leakdiff collect --pid " + pid
	for path, hint := range map[string]string{
		"/proc": "leakdiff collect --pid PID", "/proc/kmsg": "leakdiff collect --pid PID", "/sys/kernel": "leakdiff collect --pid PID",
		own: collect, link: collect, own + "/task": collect, own + "/mem": collect, own + "/pagemap": collect, own + "/net": collect,
	} {
		if got := execute(t, nil, "report", path); got.status != exitError || !strings.Contains(got.stderr, path+": cannot be read (the kernel makes it") || !strings.Contains(got.stderr, hint+",") {
			t.Errorf("%s: status %d: %s%s", path, got.status, got.stdout, got.stderr)
		}
	}
	for _, path := range []string{own + "/fdinfo", own + "/fd", own + "/fdinfo/0"} {
		if got := execute(t, nil, "report", path); got.status != exitDone || !strings.Contains(got.stdout, "descriptor") {
			t.Errorf("%s: status %d: %s%s", path, got.status, got.stdout, got.stderr)
		}
	}
	for _, name := range []string{"limits", "net/tcp"} {
		if got := execute(t, nil, "report", own+"/"+name); strings.Contains(got.stderr, "the kernel makes it") {
			t.Errorf("%s is refused: %s", name, got.stderr)
		}
	}
}
