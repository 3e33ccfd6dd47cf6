package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"leakdiff/cmd/leakdiff/internal/testprogram"
)

// fakeKubectl runs here what kubectl would run there, and has an API server at
// $KUBE_API. What it is asked for goes to $KUBE_LOG.
const fakeKubectl = `#!/bin/sh
printf '%s\n' "$*" >> "$KUBE_LOG"
case $1 in
exec)
	[ -z "$NO_SHELL" ] || { echo 'exec: "sh": executable file not found in $PATH' >&2; exit 1; }
	while [ "$1" != -- ]; do shift; done
	shift; exec "$@" ;;
debug)
	while [ "$1" != -- ]; do shift; done
	shift
	[ "$1" != chroot ] || shift 2
	exec "$@" ;;
get) exec curl -fsS "$KUBE_API$3" ;;
esac
exit 1
`

// plugin runs kubectl-leakdiff in a directory of its own, as kubectl does.
func plugin(t *testing.T, api string, env []string, args ...string) (ended, string, string) {
	t.Helper()
	need(t, "curl")
	dir, bin := t.TempDir(), t.TempDir()
	script, err := filepath.Abs("../../docs/deploy/kubernetes/kubectl-leakdiff")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary(t), filepath.Join(bin, "leakdiff")); err != nil {
		t.Fatal(err)
	}
	if err := testprogram.Write(filepath.Join(bin, "kubectl"), []byte(fakeKubectl)); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(bin, "log")
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, script, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = environment(append(env, "PATH="+bin+":"+os.Getenv("PATH"), "KUBE_API="+api, "KUBE_LOG="+log)...)
	if err := cmd.Run(); cmd.ProcessState == nil || ctx.Err() != nil {
		t.Fatal(err, ctx.Err())
	}
	asked, _ := os.ReadFile(log)
	return ended{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}, string(asked), dir
}

// observed shows the goroutines of this process, as a kubelet behind its API server does.
func observed(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	const proxy = "/api/v1/nodes/worker-1/proxy"
	mux.HandleFunc(proxy+"/debug/pprof/goroutine", pprof.Handler("goroutine").ServeHTTP)
	mux.HandleFunc("/debug/pprof/goroutine", pprof.Handler("goroutine").ServeHTTP)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func TestThePluginOfKubectlCapturesAndReports(t *testing.T) {
	needProc(t)
	url := observed(t)
	pid := []string{"--pid", strconv.Itoa(os.Getpid()), "--pprof", url, "--every", "2s", "--count", "2"}
	for _, c := range []struct {
		name   string
		env    []string
		args   []string
		asked  string
		absent string
	}{
		{"a pod", nil, append([]string{"pod", "shop/cart-7d9f"}, pid...), "exec -i -n shop cart-7d9f -- sh -s -- --pid ", "debug"},
		{"a container without a shell", []string{"NO_SHELL=1"}, append([]string{"pod", "shop/cart-7d9f/cart"}, pid...), "\ndebug -i --quiet --profile=sysadmin -n shop cart-7d9f --target=cart ", "chroot"},
		{"a node", nil, append([]string{"node", "worker-1"}, pid...), "debug node/worker-1 --quiet -i ", "exec"},
		{"a kubelet", nil, []string{"kubelet", "worker-1", "--every", "2s", "--count", "2"}, "get --raw /api/v1/nodes/worker-1/proxy/debug/pprof/goroutine?debug=2\n", "exec"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, asked, dir := plugin(t, url, c.env, c.args...)
			if r.status != exitDone || !strings.Contains(r.stdout, "2 dumps in ") {
				t.Errorf("status %d: %s\n%s", r.status, r.stdout, r.stderr)
			}
			if !strings.Contains(asked, c.asked) || strings.Contains(asked, c.absent) {
				t.Errorf("kubectl was asked for\n%s", asked)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 || !strings.HasSuffix(left[0], ".tar.gz") {
				t.Errorf("it left %v: %v", left, err)
			}
		})
	}
}

func TestThePluginOfKubectlSaysWhatItLacks(t *testing.T) {
	for _, c := range []struct {
		name, want string
		env, args  []string
	}{
		{"nothing", "usage: kubectl leakdiff pod ", nil, nil},
		{"another word", "usage: kubectl leakdiff pod ", nil, []string{"job", "x/y"}},
		{"no number", "usage: kubectl leakdiff pod ", nil, []string{"kubelet", "worker-1", "--count", "many"}},
		{"a count of nothing", "--count 0 takes nothing", nil, []string{"kubelet", "worker-1", "--count", "0"}},
		{"a flag without its value", "usage: kubectl leakdiff pod ", nil, []string{"kubelet", "worker-1", "--count"}},
		{"no pod", `"cart" is no pod`, nil, []string{"pod", "cart"}},
		{"no shell", "nothing was captured by these lines", []string{"NO_SHELL=1"}, []string{"pod", "shop/cart"}},
		{"another node", "enableDebuggingHandlers", nil, []string{"kubelet", "worker-2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _, dir := plugin(t, observed(t), c.env, c.args...)
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("it left %v: %v", left, err)
			}
			if r.status != exitError || !strings.Contains(r.stderr, c.want) || r.stdout != "" {
				t.Errorf("status %d, %q: %s", r.status, r.stdout, r.stderr)
			}
		})
	}
}

func TestThePluginOfKubectlKeepsTheRoundsBeforeOneThatFails(t *testing.T) {
	var asked atomic.Int32
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/goroutine") {
			http.NotFound(w, r)
			return
		}
		if asked.Add(1) > 2 {
			http.Error(w, "gone", http.StatusBadGateway)
			return
		}
		pprof.Handler("goroutine").ServeHTTP(w, r)
	}))
	defer api.Close()
	r, _, dir := plugin(t, api.URL, nil, "kubelet", "worker-1", "--every", "1", "--count", "5")
	if r.status != exitDone || !strings.Contains(r.stdout, "2 dumps in ") || !strings.Contains(r.stderr, "t2 of worker-1 failed; what was taken before is kept") {
		t.Errorf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 || !strings.HasSuffix(left[0], ".tar.gz") {
		t.Errorf("it left %v: %v", left, err)
	}
}

// TestTheCollectorOfKubernetesAddsToOneCase runs the script of the manifest against a server.
func TestTheCollectorOfKubernetesAddsToOneCase(t *testing.T) {
	needProc(t)
	need(t, "curl")
	manifest, err := os.ReadFile("../../docs/deploy/kubernetes/collector.yaml")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?s)\n            - \|\n(.*?)\n          \S`).FindSubmatch(manifest)
	if block == nil {
		t.Fatal("the manifest has no script")
	}
	captures := t.TempDir()
	script := strings.ReplaceAll(string(block[1]), "cd /captures", "cd "+captures)
	// Adding to a case then needs its key, for the collector too.
	server := serve(t, t.TempDir(), "--no-samples", "--access", "open")
	cmd := exec.Command("sh", "-c", script)
	name := filepath.Base(os.Args[0]) // of this process
	comm, err := os.ReadFile("/proc/self/comm")
	if err == nil {
		name = strings.TrimSpace(string(comm))
	}
	said := newOutput()
	cmd.Env = environment("SERVER="+server.url, "NODE=worker-1", "NAMES="+name, "ROUNDS=2", "EVERY=1s", "PAUSE=1")
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	var list struct {
		Cases []struct {
			Bundles   int
			Snapshots int
		}
	}
	for end := time.Now().Add(startLimit); ; time.Sleep(50 * time.Millisecond) {
		if err := json.Unmarshal([]byte(server.get("/api/v1/cases")), &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Cases) > 0 && list.Cases[0].Bundles >= 2 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("no second upload came: %+v, %s", list, said)
		}
	}
	if len(list.Cases) != 1 || list.Cases[0].Snapshots < 2 {
		t.Errorf("the cases are %+v", list.Cases)
	}
}
