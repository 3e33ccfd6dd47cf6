package family

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// nameCases has a name for each step, and names of real dumps.
var nameCases = []struct {
	what, printed, exact, loose string
}{
	{"a method of a generic type keeps its receiver", "main.(*Stack[...]).Spawn.func1({0x1?, 0x2?})", "main.(*Stack[...]).Spawn.func1", "main.(*Stack).Spawn"},
	{"the wrapper of a go statement folds into its function", "main.leak.gowrap2()", "main.leak.gowrap2", "main.leak"},
	{"an inlined closure folds into the outermost function", "main.hold.gowrap13.Gen[...].1(...)", "main.hold.gowrap13.Gen[...].1", "main.hold"},
	{"a chain of range-over-func bodies folds into the outermost function", "main.extra.func1.extra.func1.seq.1.extra.func1-range1.seq.2(...)", "main.extra.func1.extra.func1.seq.1.extra.func1-range1.seq.2", "main.extra"},
	{"a package-level closure up to Go 1.21 is init", "main.glob..func1.1()", "main.glob..func1.1", "main.init"},
	{"a package-level closure since Go 1.23 is init", "main.init.func1.1()", "main.init.func1.1", "main.init"},
	{"escaped dots of the last path element come back", "example.com/Lab/gdump.io/yaml%2ev2.(*Decoder).Parse(0x1)", "example.com/Lab/gdump.io/yaml.v2.(*Decoder).Parse", "example.com/Lab/gdump.io/yaml.v2.(*Decoder).Parse"},
	{"a method value is its method", "main.(*Impl).Ptr-fm(...)", "main.(*Impl).Ptr-fm", "main.(*Impl).Ptr"},
	{"a closure in a closure is cut at the first", "iter.Pull[...].func1.1()", "iter.Pull[...].func1.1", "iter.Pull"},
	{"a vendored package is the package", "github.com/containerd/containerd/vendor/k8s.io/apimachinery/pkg/util/wait.Until(..)", "k8s.io/apimachinery/pkg/util/wait.Until", "k8s.io/apimachinery/pkg/util/wait.Until"},
	{"a wrapper of a standard library method folds too", "net/http.(*Transport).dialConn.gowrap3()", "net/http.(*Transport).dialConn.gowrap3", "net/http.(*Transport).dialConn"},
	{"Go 1.4 closures lose their number", "kubelet.func·018(0x1)", "kubelet.func·018", "kubelet.func"},

	{"the standard library's own vendor directory is cut", "vendor/golang.org/x/net/http2.(*Framer).ReadFrame(0x1)", "golang.org/x/net/http2.(*Framer).ReadFrame", "golang.org/x/net/http2.(*Framer).ReadFrame"},
	{"a Godeps workspace is cut", "k8s.io/kubernetes/Godeps/_workspace/src/github.com/golang/glog.Info(0x1)", "github.com/golang/glog.Info", "github.com/golang/glog.Info"},
	{"shape names of profiles equal the dots of dumps", "main.(*Stack[go.shape.int]).Block", "main.(*Stack[go.shape.int]).Block", "main.(*Stack).Block"},
	{"nested and several type arguments go", "main.Map[go.shape.[]string,main.Pair[int,string]].Do[...].func2", "main.Map[go.shape.[]string,main.Pair[int,string]].Do[...].func2", "main.Map.Do"},
	{"the creator's number goes", "main.(*pool).start in goroutine 4711", "main.(*pool).start", "main.(*pool).start"},
	{"the offset of a profile goes", "main.hold.func7+0x4b", "main.hold.func7", "main.hold"},
	{"structured arguments go as one", "main.f(0x1, {0x2, {...}}, _, ...)", "main.f", "main.f"},
	{"a function whose name begins like a closure stays", "main.function1()", "main.function1", "main.function1"},
	{"a method named like a closure with letters stays", "main.(*T).func1x()", "main.(*T).func1x", "main.(*T).func1x"},
	{"a numbered init function is init", "os/signal.init.0()", "os/signal.init.0", "os/signal.init"},
	{"a closure named for an inlined function folds", "main.hold.Gen[...].1(...)", "main.hold.Gen[...].1", "main.hold"},
	{"a closure named for an inlined method folds", "k8s.io/client-go/tools/cache.(*controller).RunWithContext.(*Group).StartWithContext.func3()", "k8s.io/client-go/tools/cache.(*controller).RunWithContext.(*Group).StartWithContext.func3", "k8s.io/client-go/tools/cache.(*controller).RunWithContext"},
	{"a package path may end with a version", "gopkg.in/yaml%2ev2.(*Decoder).Parse.func1(0x1)", "gopkg.in/yaml.v2.(*Decoder).Parse.func1", "gopkg.in/yaml.v2.(*Decoder).Parse"},
	{"a package path may end with go", "github.com/nats-io/nats%2ego.(*Conn).readLoop(0x1)", "github.com/nats-io/nats.go.(*Conn).readLoop", "github.com/nats-io/nats.go.(*Conn).readLoop"},
	{"a deferred wrapper folds", "main.run.deferwrap1()", "main.run.deferwrap1", "main.run"},
	{"a package path may look like a closure", "example.com/a.func1/b.Do(...)", "example.com/a.func1/b.Do", "example.com/a.func1/b.Do"},
	{"a moved module is followed", "k8s.io/kubernetes/vendor/github.com/docker/spdystream.(*Connection).Serve.func1(0x1)", "github.com/docker/spdystream.(*Connection).Serve.func1", "github.com/moby/spdystream.(*Connection).Serve"},
	{"a sub-package of a moved module is followed", "github.com/docker/spdystream/spdy.(*Framer).ReadFrame(0x1)", "github.com/docker/spdystream/spdy.(*Framer).ReadFrame", "github.com/moby/spdystream/spdy.(*Framer).ReadFrame"},
	{"a module that only begins alike is another one", "github.com/docker/spdystreams.Serve()", "github.com/docker/spdystreams.Serve", "github.com/docker/spdystreams.Serve"},
	{"a renamed function is followed", "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).managePodLoop(0x1)", "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).managePodLoop", "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).podWorkerLoop"},
	{"a panic of a profile equals that of a dump", "runtime.gopanic", "runtime.gopanic", "panic"},
	{"a name without a package stays", "non-Go function", "non-Go function", "non-Go function"},
	{"a C function stays", "main._Cfunc_csleep(0xe10)", "main._Cfunc_csleep", "main._Cfunc_csleep"},
	{"an empty name stays empty", "", "", ""},
}

func TestNames(t *testing.T) {
	for _, c := range nameCases {
		t.Run(c.what, func(t *testing.T) {
			if diff := cmp.Diff(c.exact, ExactName(c.printed)); diff != "" {
				t.Errorf("exact name of %q (-want +got):\n%s", c.printed, diff)
			}
			if diff := cmp.Diff(c.loose, LooseName(c.printed)); diff != "" {
				t.Errorf("loose name of %q (-want +got):\n%s", c.printed, diff)
			}
		})
	}
}

// printedName draws names that look like those of dumps, and worse.
func printedName() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"main", ".", "..", "/", "k8s.io/klog", "vendor/", "/vendor/", "Godeps/_workspace/src/", "(*T)", "[...]", "[go.shape.int]", "[", "]",
		"func1", "func", "gowrap2", "deferwrap3", "-range1", "-fm", "·", "func·01", "glob.", "init", "0", "12", "%2e", "+0x1f", "(0x1, {0x2})", "()", "(", ")",
		" in goroutine 7", "seq", "github.com/docker/spdystream", "runtime.gopanic", "runtime/internal/syscall", "·dwrap·1", "é",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
	})
}

func TestNamesAreTheirOwnNormalForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkNormal(t, printedName().Draw(t, "name")) })
}

type failer interface {
	Fatalf(format string, args ...any)
}

func checkNormal(t failer, printed string) {
	exact := ExactName(printed)
	if again := ExactName(exact); again != exact {
		t.Fatalf("exact name of %q is %q, whose exact name is %q", printed, exact, again)
	}
	loose := LooseName(printed)
	if again := LooseName(loose); again != loose {
		t.Fatalf("loose name of %q is %q, whose loose name is %q", printed, loose, again)
	}
	if through := LooseName(exact); through != loose {
		t.Fatalf("loose name of %q is %q, by way of the exact name %q it is %q", printed, loose, exact, through)
	}
	if printed != "" && loose == "" {
		t.Fatalf("nothing is left of %q", printed)
	}
}

func FuzzLooseName(f *testing.F) {
	for _, c := range nameCases {
		f.Add(c.printed)
	}
	f.Fuzz(func(t *testing.T, printed string) {
		checkNormal(t, printed)
		checkPatterns(t, printed)
	})
}

// The rules as patterns, which say what the scanners in name.go and plumbing.go do.
var (
	offsetPattern  = regexp.MustCompile(`\+0x[0-9a-f]{1,16}$`)
	literalPattern = regexp.MustCompile(`(?:\.(?:func|gowrap|deferwrap)[0-9]+|-range[0-9]+|-fm|·dwrap·[0-9]+)(?:[.\-]|$)`)
	dottedPattern  = regexp.MustCompile(`^(v[0-9]+|go)\.`)
	numberPattern  = regexp.MustCompile(`\.[0-9]+(?:\.|$)`)
)

func TestScannersAgreeWithTheirPatterns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkPatterns(t, printedName().Draw(t, "name")) })
}

// packageOf is the head of splitPackage.
func packageOf(name string) string {
	path := name
	if at := strings.IndexAny(path, "[("); at >= 0 {
		path = path[:at]
	}
	slash := strings.LastIndexByte(path, '/') + 1
	dot := strings.IndexByte(path[slash:], '.')
	if dot < 0 {
		return path[:slash]
	}
	end := slash + dot + 1
	if slash > 0 {
		end += len(dottedPattern.FindString(path[end:]))
	}
	return path[:end]
}

func checkPatterns(t failer, name string) {
	first := func(pattern *regexp.Regexp, missing int) int {
		if at := pattern.FindStringIndex(name); at != nil {
			return at[0]
		}
		return missing
	}
	if got, want := offset(name), first(offsetPattern, len(name)); got != want {
		t.Fatalf("offset of %q at %d, want %d", name, got, want)
	}
	if got, want := literal(name), first(literalPattern, -1); got != want {
		t.Fatalf("mark of a literal in %q at %d, want %d", name, got, want)
	}
	if head, rest := splitPackage(name); head != packageOf(name) || head+rest != name {
		t.Fatalf("%q is split into %q and %q, want the head %q", name, head, rest, packageOf(name))
	}
	if got := cutNumbered(name); got != name && !numberPattern.MatchString(name) {
		t.Fatalf("%q is cut to %q, but has no number behind a dot", name, got)
	}
	for _, pattern := range []string{"*.pb.go", "zz_generated*", "*_Handler"} {
		want, err := path.Match(pattern, name)
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		if got := globOf(pattern).matches(name); got != want {
			t.Fatalf("%s matches %q: got %v, want %v", pattern, name, got, want)
		}
	}
}

func TestEmbeddedLists(t *testing.T) {
	for old, to := range shippedRenames() {
		if LooseName(to) != to {
			t.Errorf("the rename of %q leads to %q, which is no loose name", old, to)
		}
	}
	for _, c := range []struct {
		function string
		carries  bool
	}{
		{"google.golang.org/grpc.(*Server).serveStreams", true},
		{"google.golang.org/grpc/internal/transport.(*ClientStream).waitOnHeader", true},
		{"google.golang.org/grpc/balancer/roundrobin.New", true},
		{"google.golang.org/grpc/health.(*Server).Watch", false},
		{"google.golang.org/grpc/reflection.Register", false},
		{"github.com/containerd/ttrpc.(*Client).run", true},
		{"github.com/containerd/fifo.(*fifo).Read", true},
		{"github.com/containerd/containerd.(*task).Wait", false},
		{"golang.org/x/net/http2.readFrameHeader", true},
		{"k8s.io/apimachinery/pkg/util/wait.(*Group).Start", true},
		{"k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive", false},
		{"k8s.io/klog/v2.(*flushDaemon).run", true},
		{"k8s.io/klogs.Run", false},
		{"example.com/fork/client_golang/prometheus/promhttp.HandlerFor", true},
		{"github.com/prometheus/client_golang/prometheus.(*Registry).Gather", false},
		{"k8s.io/cri-api/pkg/apis/runtime/v1._RuntimeService_Version_Handler", true},
		{"github.com/go-chi/chi/v5.(*Mux).ServeHTTP", true},
	} {
		if got := shippedPlumbing().carries(c.function); got != c.carries {
			t.Errorf("plumbing %s: got %v, want %v", c.function, got, c.carries)
		}
	}
	for _, file := range []string{"/src/api/task.pb.go", "/src/zz_generated.deepcopy.go"} {
		if !shippedPlumbing().generated(file) {
			t.Errorf("functions of %s are generated and name nothing", file)
		}
	}
}
