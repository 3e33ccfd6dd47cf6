package knowledge

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
)

// packages are the import paths that the excerpts shorten, by their short form. A
// receiver without a package has that of the frame before it.
var packages = map[string]string{
	"cadvisor/manager": "github.com/google/cadvisor/manager", "cadvisor/container/docker": "github.com/google/cadvisor/container/docker",
	"http": "net/http", "transport": "google.golang.org/grpc/transport", "grpc": "google.golang.org/grpc", "grpc/transport": "google.golang.org/grpc/transport",
	"wait": "k8s.io/apimachinery/pkg/util/wait", "kubelet/volumemanager": "k8s.io/kubernetes/pkg/kubelet/volumemanager", "pkg/util/mount": "k8s.io/kubernetes/pkg/util/mount",
	"pkg/util/exec": "k8s.io/kubernetes/pkg/util/exec", "client-go/tools/cache": "k8s.io/client-go/tools/cache", "rate": "golang.org/x/time/rate",
	"flowcontrol": "k8s.io/client-go/util/flowcontrol", "rest": "k8s.io/client-go/rest", "spdystream": "github.com/docker/spdystream", "ttrpc": "github.com/containerd/ttrpc",
	"api/runtime/task/v2": "github.com/containerd/containerd/api/runtime/task/v2", "cilium/pkg/trigger": "github.com/cilium/cilium/pkg/trigger", "trigger": "github.com/cilium/cilium/pkg/trigger",
	"go-memdb": "github.com/hashicorp/go-memdb", "consul/agent/consul": "github.com/hashicorp/consul/agent/consul", "go-sql-driver/mysql": "github.com/go-sql-driver/mysql",
	"mysql": "github.com/go-sql-driver/mysql", "fsnotify": "github.com/fsnotify/fsnotify", "pilot/pkg/xds": "istio.io/istio/pilot/pkg/xds",
	"apiserver/pkg/storage/etcd": "k8s.io/apiserver/pkg/storage/etcd", "endpoints/handlers": "k8s.io/apiserver/pkg/endpoints/handlers", "handlers": "k8s.io/apiserver/pkg/endpoints/handlers",
	"portforward": "k8s.io/kubernetes/pkg/kubelet/server/portforward", "nomad/drivers/docker": "github.com/hashicorp/nomad/drivers/docker", "http2": "golang.org/x/net/http2",
	"docker/api/server/router/container": "github.com/docker/docker/api/server/router/container", "daemon": "github.com/docker/docker/daemon",
	"containerRouter": "github.com/docker/docker/api/server/router/container.(*containerRouter)", "pgx/v5/pgconn/internal/ctxwatch": "github.com/jackc/pgx/v5/pgconn/internal/ctxwatch",
	"go-dockerclient": "github.com/fsouza/go-dockerclient", "watch": "k8s.io/apimachinery/pkg/watch", "WatchSet": "github.com/hashicorp/go-memdb.WatchSet",
	"bufio": "bufio", "io": "io", "sync": "sync", "os": "os", "os/exec": "os/exec", "net": "net", "syscall": "syscall", "context": "context", "crypto/tls": "crypto/tls", "net/http": "net/http",
	"database/sql": "database/sql", "runtime": "runtime", "cmux": "github.com/soheilhy/cmux", "server": "k8s.io/kubernetes/pkg/kubelet/server", "internal/poll": "internal/poll",
}

// function is a name as an excerpt writes it: an import path that may be shortened,
// an optional receiver, the method.
var (
	function = regexp.MustCompile(`(?:[\w.\-/~]*[\w/]\.)?(?:\(\*?\w+\)\.)[\w.]+|[\w.\-/~]+\.[A-Za-z_]\w*(?:\.\w+)*`)
	stated   = regexp.MustCompile(`\[([a-zA-Z][\w .]*?)(?:, (\d+) minutes|\s[\d~]+ minutes)?\]`)
	sources  = regexp.MustCompile(`\(?[\w\-]+\.go:\d+[^)\s]*(?:, :\d+)?\)?|[\w\-]+\.go\b[:\d]*|\(\d+\)|\(line[^)]*\)`)
)

// excerpt is one stack of an excerpt.
type excerpt struct {
	stack *analysis.Stack
	state string
}

// stacksOf reads the stacks of an excerpt: "f <- g <- h, created by c" with the state
// in front, or one function per line.
func stacksOf(text string) []excerpt {
	var out []excerpt
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "(") {
			continue
		}
		// "1010 x a ; 305 x b" and "96 @ a; 96 @ b" are several stacks.
		lines = append(lines, strings.Split(line, ";")...)
	}
	pending := &excerpt{stack: &analysis.Stack{}}
	flush := func() {
		if len(pending.stack.Frames) > 0 || pending.stack.CreatedBy.Func != "" {
			out = append(out, *pending)
		}
		pending = &excerpt{stack: &analysis.Stack{}}
	}
	for _, line := range lines {
		begins := strings.Contains(line, "goroutine") || strings.Contains(line, " @ ") || strings.Contains(line, " x ") || stated.MatchString(line)
		if begins {
			flush()
		}
		if found := stated.FindStringSubmatch(line); found != nil {
			pending.state = found[1]
		} else if at := strings.Index(line, "select"); at >= 0 && strings.Contains(line, "goroutines: select") {
			pending.state = "select"
		}
		body, creator, _ := strings.Cut(line, "created by ")
		pending.stack.Frames = append(pending.stack.Frames, framesOf(body, "")...)
		before := ""
		if n := len(pending.stack.Frames); n > 0 {
			before = pending.stack.Frames[n-1].Func
		}
		if by := framesOf(creator, before); len(by) > 0 {
			pending.stack.CreatedBy = by[0]
		}
	}
	flush()
	return out
}

// framesOf reads consecutive functions. before is the one in front of them.
func framesOf(text, before string) []analysis.Frame {
	text = stated.ReplaceAllString(sources.ReplaceAllString(text, " "), " ")
	text = spaced.ReplaceAllString(text, "$1.(*")
	var out []analysis.Frame
	for i, part := range strings.Split(text, "<-") {
		names := function.FindAllString(part, -1)
		if word := strings.TrimSpace(part); i > 0 && bare.MatchString(word) {
			names = []string{word}
		}
		for _, name := range names {
			if full := expand(strings.Trim(name, "."), before); full != "" {
				before = full
				out = append(out, analysis.Frame{Func: full, File: "x.go", Line: len(out) + 1})
			}
		}
	}
	return out
}

// spaced is a package separated from its receiver, bare a name without both.
var (
	spaced = regexp.MustCompile(`(\w+) \(\*`)
	bare   = regexp.MustCompile(`^[A-Za-z]\w*(?:\.func\d+)?$`)
	// unbound are bare names that are no methods.
	unbound = []string{"http2ConfigureServer", "NewTrigger"}
)

// expand writes out a shortened name. It is "" for words that are no function.
func expand(name, before string) string {
	if strings.HasPrefix(name, "(") {
		return strings.TrimSuffix(packageOf(before), ".") + "." + name
	}
	if first, _, _ := strings.Cut(name, "."); bare.MatchString(name) && packages[first] == "" {
		at := strings.LastIndexByte(before, ')') + 1
		if slices.Contains(unbound, first) || at == 0 {
			at = len(packageOf(before))
		}
		return before[:at] + "." + name
	}
	pkg := packageOf(name)
	rest := strings.TrimPrefix(name, pkg)
	if full := packages[pkg]; full != "" {
		return full + rest
	}
	if strings.Contains(pkg, "/") && strings.Contains(strings.SplitN(pkg, "/", 2)[0], ".") {
		return name
	}
	return ""
}

// resourcesOf are the excerpts about descriptors and threads instead of goroutines, as
// the families of their captures.
func resourcesOf(id string) (Seen, bool) {
	descriptor := func(program string, count int, attributes map[string]string) Seen {
		return Seen{Family: &analysis.Family{Fingerprint: "d1:" + id, Kind: analysis.KindDescriptor, Attributes: attributes}, Program: program, Count: count, OldestWait: -1}
	}
	switch id {
	case "containerd-3481": // 14,16,17,18 -> /run/containerd/fifo/840409537/<id>-stdout
		return descriptor("containerd-shim", 4, map[string]string{"type": "fifo", "path": family.PathPattern("/run/containerd/fifo/840409537/") + "<id>-stdout"}), true
	case "containerd-5670": // 46 x anon_inode:inotify in containerd-shim
		return descriptor("containerd-shim-runc-v2", 46, map[string]string{"type": "anon_inode", "name": "inotify"}), true
	case "k8sjs-494": // ESTABLISHED connections to kubernetes.default:443
		return descriptor("node", 10, map[string]string{"type": "tcp", "role": "client", "remote": "10.96.0.1:443", "state": "ESTABLISHED"}), true
	case "fabric8-2403": // "OkHttp ConnectionPool" TIMED_WAITING
		t := &analysis.Thread{Name: "OkHttp ConnectionPool", Sort: analysis.JavaThread, ID: 7, State: "TIMED_WAITING", Carrying: -1, Elapsed: -1, CPU: -1,
			Stack: stackOf("", "java.lang.Object.wait", "okhttp3.ConnectionPool$1.run", "java.util.concurrent.ThreadPoolExecutor.runWorker", "java.lang.Thread.run")}
		return Seen{Family: new(family.Threads).OfThread(t), Program: "java", States: map[string]int{"TIMED_WAITING": 40}, Count: 40, OldestWait: -1}, true
	}
	return Seen{}, false
}

func TestEveryKnownLeakWithEvidenceFiresOnIt(t *testing.T) {
	m := Builtin().NewMatcher()
	fired, all := 0, 0
	// how counts the strongest way in which each one is named.
	how := map[string]int{}
	for _, e := range Builtin().Known() {
		if e.Evidence == "" {
			continue
		}
		all++
		var tried []string
		found := false
		way := ""
		for _, seen := range evidenceOf(e) {
			tried = append(tried, strconv.Quote(strings.Join(seen.Family.Loose, " < "))+" in "+firstState(seen.States)+" by "+seen.Family.LooseCreator)
			r := m.Match(seen)
			if slices.Contains(speaking(r), e.ID) && e.Generic() {
				t.Errorf("%s accuses by %s", e.ID, tried[len(tried)-1])
			}
			switch {
			case slices.Contains(speaking(r), e.ID):
				way = "known"
			case slices.Contains(looking(r), e.ID):
				way = cmp.Or(way, "possible")
			case slices.Contains(similar(r), e.ID):
				way = cmp.Or(way, "similar")
			}
			found = found || slices.Contains(speaking(r), e.ID) || slices.Contains(looking(r), e.ID) || slices.Contains(similar(r), e.ID)
		}
		if !found {
			t.Errorf("%s does not fire on its excerpt; tried:\n%s", e.ID, strings.Join(tried, "\n"))
			continue
		}
		fired++
		how[way]++
	}
	t.Logf("%d of %d known leaks with evidence fire on it", fired, all)
	if want := (map[string]int{"known": 28, "possible": 5, "similar": 18}); !maps.Equal(how, want) {
		t.Errorf("named as %v, want %v", how, want)
	}
	if all != 51 {
		t.Errorf("%d entries have evidence, 51 are known", all)
	}
}

// evidenceOf returns the families in the excerpt of an entry, growing.
func evidenceOf(e Entry) []Seen {
	if seen, ok := resourcesOf(e.ID); ok {
		seen.Verdict = analysis.Leaking
		return []Seen{seen}
	}
	var out []Seen
	for _, x := range stacksOf(e.Facts()) {
		states := map[string]int{}
		if x.state != "" {
			states[x.state] = 40
		}
		out = append(out, Seen{Family: new(family.Stacks).OfStack(x.stack), Program: programOf(e), States: states, Count: 40, OldestWait: 30, Timed: len(states) > 0, Verdict: analysis.Leaking, Proven: true})
	}
	return out
}

// programOf is the program of an entry.
func programOf(e Entry) string {
	if len(e.Signature.Programs) == 0 {
		return ""
	}
	return strings.ReplaceAll(e.Signature.Programs[0], "*", "-runc-v2")
}

func firstState(states map[string]int) string {
	for s := range states {
		return s
	}
	return "no state"
}

func TestNoEvidenceIsAccusedWithoutGrowth(t *testing.T) {
	m := Builtin().NewMatcher()
	for _, e := range Builtin().Known() {
		if e.Evidence == "" || e.Status == StuckNotLeak {
			continue
		}
		for _, seen := range evidenceOf(e) {
			seen.Verdict, seen.Proven = analysis.TooFewPoints, false
			if got := speaking(m.Match(seen)); len(got) > 0 {
				t.Errorf("%s: %v speak of a stack that does not grow", e.ID, got)
			}
		}
	}
}

func TestEveryClassOfGoroutinesFiresOnPublishedEvidence(t *testing.T) {
	m := Builtin().NewMatcher()
	fired := map[string]string{}
	for _, e := range Builtin().Known() {
		if e.Evidence == "" {
			continue
		}
		for _, seen := range evidenceOf(e) {
			for _, hit := range m.Match(seen).Classes {
				if fired[hit.Class.Key] == "" {
					fired[hit.Class.Key] = e.ID
				}
			}
		}
	}
	// The prober and the full queue have no published excerpt. The corpus shows them
	// (cmd/leakdiff).
	for _, key := range []string{"pod_worker", "watch-informer", "housekeeping", "spdystream-wsstream", "inotify", "node-agent", "okhttp", "client-throttling"} {
		if fired[key] == "" {
			t.Errorf("%s fires on no excerpt", key)
		}
	}
	t.Log(fired)
}
