//go:build linux

package capture_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/cmd/leakdiff/capture"
)

// clientProgram opens 11 connections to itself, keeps both ends, and then says where.
const clientProgram = `
const net = require('net');
const kept = [];
const count = () => { if (kept.length == 22) console.log(server.address().port); };
const server = net.createServer((s) => { kept.push(s); count(); }).listen(0, '127.0.0.1', () => {
  for (let i = 0; i < 11; i++) {
    const c = net.connect(server.address().port, '127.0.0.1', () => { kept.push(c); count(); });
  }
});
setInterval(() => {}, 1000);
`

func TestNodeReportsItsHandles(t *testing.T) {
	t.Parallel()
	node := tool(t, "node")
	for _, by := range collectOnly() {
		t.Run(by.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.Command(node, "--report-on-signal", "--report-directory="+dir, "-e", clientProgram)
			cmd.Stderr = io.Discard // it tells that it writes a report
			p := start(t, cmd)
			port := p.line()
			r := read(t, by.take(t, capture.Config{Targets: []capture.Target{{PID: p.pid()}}}))
			if lost := problems(r); len(lost) > 0 {
				t.Fatalf("problems: %q", lost)
			}
			s := &r.Snapshots[0]
			if got := counted(s, analysis.KindDescriptor, "127.0.0.1:"+port); got != 23 { // both ends of 11, and the listener
				t.Errorf("%d sockets at port %s, want 23", got, port)
			}
			if got, want := *s.Totals.Descriptors, p.descriptors(); got != want {
				t.Errorf("%d descriptors, want %d", got, want)
			}
			if !hasKind(s, "node-report") {
				t.Error("the report of Node is missing")
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("the capture left %s behind", left[0].Name())
			}
		})
	}
	for _, by := range collectOnly() {
		t.Run(by.name+", over an older report of the same name", func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			old := filepath.Join(dir, "the.json")
			if err := os.WriteFile(old, []byte("{\n}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(node, "--report-on-signal", "--report-directory="+dir, "--report-filename=the.json", "-e", clientProgram)
			cmd.Stderr = io.Discard
			p := start(t, cmd)
			p.line()
			r := read(t, by.take(t, capture.Config{Targets: []capture.Target{{PID: p.pid()}}}))
			if !hasKind(&r.Snapshots[0], "node-report") {
				t.Errorf("the report is missing: %q", problems(r))
			}
		})
	}
	t.Run("and is left alone where the signal would end it", func(t *testing.T) {
		t.Parallel()
		p := start(t, exec.Command(node, "-e", clientProgram))
		p.line()
		cfg := capture.Config{Targets: []capture.Target{{PID: p.pid()}}, NodeReport: true}
		r := read(t, runCollect(t, cfg))
		if !said(r, "does not catch signal 12") {
			t.Errorf("problems %+v", r.Problems)
		}
		if err := p.cmd.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("the process is gone: %v", err)
		}
	})
}

func hasKind(s *analysis.Snapshot, kind string) bool {
	for _, a := range s.Artifacts {
		if a.Kind == kind {
			return true
		}
	}
	return false
}

// threadsProgram keeps 13 threads of one pool waiting, then says so.
const threadsProgram = `
public class Leak {
  public static void main(String[] a) throws Exception {
    var begun = new java.util.concurrent.CountDownLatch(13);
    var never = new java.util.concurrent.CountDownLatch(1);
    for (int i = 0; i < 13; i++) {
      var t = new Thread(() -> { begun.countDown(); try { never.await(); } catch (InterruptedException e) {} }, "leaked-pool-" + i);
      t.setDaemon(true);
      t.start();
    }
    begun.await();
    System.out.println("ready");
    System.in.read();
  }
}
`

func TestAJVMTellsItsThreads(t *testing.T) {
	t.Parallel()
	java := tool(t, "java")
	tool(t, "jcmd")
	file := filepath.Join(t.TempDir(), "Leak.java")
	if err := os.WriteFile(file, []byte(threadsProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, exec.Command(java, file))
	if got := p.line(); got != "ready" {
		t.Fatalf("java does not run a source file: %s", got)
	}
	for _, by := range collectOnly() {
		t.Run(by.name, func(t *testing.T) {
			t.Parallel()
			r := read(t, by.take(t, capture.Config{Targets: []capture.Target{{PID: p.pid()}}}))
			if lost := problems(r); len(lost) > 0 {
				t.Fatalf("problems: %q", lost)
			}
			s := &r.Snapshots[0]
			if got := counted(s, analysis.KindThread, "leaked-pool"); got != 13 {
				t.Errorf("%d threads, want 13", got)
			}
			if s.Process.Name.Value != "java" || s.Process.PID.Value != strconv.Itoa(p.pid()) {
				t.Errorf("process %+v", s.Process)
			}
		})
	}
}

// A JVM opens a socket when it is asked for its threads for the first time.
func TestTheSocketThatACaptureHasAJVMOpenIsInEveryRound(t *testing.T) {
	t.Parallel()
	java := tool(t, "java")
	tool(t, "jcmd")
	file := filepath.Join(t.TempDir(), "Leak.java")
	if err := os.WriteFile(file, []byte(threadsProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, by := range collectOnly() {
		t.Run(by.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, exec.Command(java, file))
			p.line()
			r := read(t, by.take(t, capture.Config{Targets: []capture.Target{{PID: p.pid()}}, Count: 2, Every: time.Second}))
			if lost := problems(r); len(lost) > 0 || len(r.Snapshots) != 2 {
				t.Fatalf("%d snapshots, problems: %q", len(r.Snapshots), lost)
			}
			for i := range r.Snapshots {
				s := &r.Snapshots[i]
				if got := counted(s, analysis.KindDescriptor, "/.java_pid"); got != 1 || counted(s, analysis.KindThread, "leaked-pool") != 13 {
					t.Errorf("snapshot %d: %d descriptors of the socket, want 1", i, got)
				}
			}
		})
	}
}

func TestLsofTellsTheSameDescriptors(t *testing.T) {
	tool(t, "lsof")
	p, about := server(t)
	p.ask("open 9", &about)
	file := filepath.Join(t.TempDir(), "capture.tar.gz")
	a, err := capture.NewArchive(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := capture.Run(t.Context(), capture.Config{Targets: []capture.Target{{PID: p.pid()}}}, a); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	s := &read(t, file).Snapshots[0]
	for _, artifact := range s.Artifacts {
		switch artifact.Kind {
		case "lsof", "fdinfo", "fd-link":
			if artifact.Members != p.descriptors() {
				t.Errorf("%s has %d descriptors, want %d", artifact.Path, artifact.Members, p.descriptors())
			}
		}
	}
	if !hasKind(s, "lsof") {
		t.Error("lsof was not run")
	}
	if got := counted(s, analysis.KindDescriptor, "/dev/zero"); got != 9 {
		t.Errorf("%d descriptors of /dev/zero, want 9", got)
	}
}

func TestSeveralProcessesAreCapturedAtOnce(t *testing.T) {
	first, about := server(t)
	first.ask("leak 3", &about)
	second, other := server(t)
	second.ask("leak 4", &other)
	r := read(t, runCollect(t, capture.Config{Targets: []capture.Target{{PID: first.pid(), Pprof: about.Address}, {PID: second.pid(), Pprof: "unix:" + other.Socket}}}))
	got := map[string]int{}
	for i := range r.Snapshots {
		s := &r.Snapshots[i]
		got[s.Process.PID.Value] = counted(s, analysis.KindGoroutine, "(*profileServer).leak")
	}
	if len(got) != 2 || got[strconv.Itoa(first.pid())] != 3 || got[strconv.Itoa(second.pid())] != 4 {
		t.Errorf("leaked goroutines by pid: %v", got)
	}
}

func TestALineForKubectlIsOneThatAShellUnderstands(t *testing.T) {
	for _, c := range []struct {
		name string
		k    capture.Kubectl
		want []string
	}{
		{"a pod", capture.Kubectl{Pod: "shop/cart/app", Arguments: []string{"--name", "it's me"}, Output: "a b.tar.gz"},
			[]string{"kubectl exec -i -n shop cart -c app -- sh -s -- --name 'it'\\''s me' -o - > 'a b.tar.gz'", "kubectl debug -i --quiet --profile=sysadmin -n shop cart --target=app"}},
		{"a node", capture.Kubectl{Node: "worker-1", Arguments: []string{"--name", "kubelet"}, Output: "x.tar.gz"},
			[]string{"kubectl debug node/worker-1 --quiet -i --profile=sysadmin", "chroot /host sh -s -- --name kubelet -o - > x.tar.gz"}},
		{"a file that the script needs on a node", capture.Kubectl{Node: "worker-1", Arguments: []string{"--header-file", "/etc/tok"}, Files: []string{"/etc/tok"}, Output: "x.tar.gz"},
			[]string{"# /etc/tok is read on the node: it must be there, which a debugging pod sees as /host/etc/tok\n"}},
		{"a file that the script needs in a pod", capture.Kubectl{Pod: "shop/cart", Arguments: []string{"--header-file", "tok"}, Files: []string{"tok"}, Output: "x.tar.gz"},
			[]string{"# tok is read in the container: it must be there\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.k.Lines()
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in:\n%s", want, got)
				}
			}
			check := exec.Command("sh", "-n")
			check.Stdin = strings.NewReader(got)
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	if _, err := (capture.Kubectl{Pod: "cart"}).Lines(); err == nil {
		t.Error("a pod without its namespace was taken")
	}
}

func TestBesideAKubeletThePodsOfItsNodeAreListed(t *testing.T) {
	const table = "NAMESPACE   NAME    READY   STATUS    RESTARTS   AGE   IP         NODE    NOMINATED NODE   READINESS GATES\nshop        web-0   1/1     Running   3          1h    10.1.0.1   node1   <none>           <none>\n"
	for name, c := range map[string]struct {
		program, script string
		figure          string
		want            float64
	}{
		"crictl":             {"crictl", "#!/bin/sh\ntest $1 = pods && printf 'POD ID   CREATED   STATE   NAME   NAMESPACE   ATTEMPT   RUNTIME\\n0a   1 hour ago   Ready   web   shop   0   (default)\\n' || printf 'CONTAINER   IMAGE   CREATED   STATE   NAME   ATTEMPT   POD ID   POD\\n0a   sha256:1   1 minute ago   Running   web   0   1   web\\n'\n", "containers_running", 1},
		"kubectl":            {"kubectl", "#!/bin/sh\nprintf '" + strings.ReplaceAll(table, "\n", "\\n") + "'\n", "pod_restarts", 3},
		"one that is denied": {"kubectl", "#!/bin/sh\necho forbidden >&2; exit 1\n", "pod_restarts", 0},
	} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			if err := os.WriteFile(filepath.Join(bin, c.program), []byte(c.script), 0o755); err != nil {
				t.Fatal(err)
			}
			sleep, err := exec.LookPath("sleep")
			if err != nil {
				t.Fatal(err)
			}
			kubelet := filepath.Join(bin, "kubelet") // the kernel names a program after the link
			if err := os.Symlink(sleep, kubelet); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin+":/bin:/usr/bin")
			command := exec.Command(kubelet, "600")
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { command.Process.Kill(); command.Wait() })
			file := filepath.Join(t.TempDir(), "capture.tar.gz")
			a, err := capture.NewArchive(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := capture.Run(t.Context(), capture.Config{Targets: []capture.Target{{PID: command.Process.Pid}}, NoLsof: true}, a); err != nil {
				t.Fatal(err)
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			if got := read(t, file).Snapshots; len(got) != 1 || got[0].Figures[c.figure] != c.want {
				t.Errorf("%d snapshots, %s is %v, want one and %v", len(got), c.figure, got[0].Figures[c.figure], c.want)
			}
		})
	}
}
