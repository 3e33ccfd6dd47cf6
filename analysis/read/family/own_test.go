package family_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/samples/corpus"
)

// TestOwnCodeOfRealPrograms says, for real dumps, by their import paths which code is that
// of the program; the rule itself goes by files.
func TestOwnCodeOfRealPrograms(t *testing.T) {
	for _, tt := range []struct {
		program string
		dumps   string
		// own are the packages of the main module, not what of them is no own code after
		// all, shown are functions that a dump holds and that are own.
		own, not, shown []string
	}{
		{
			program: "a kubelet that a main of four lines starts: the module of the kubelet, of which k8s.io/client-go and the others are none",
			dumps:   "series/kubelet-probe-leak/t*/kubelet/goroutine-debug2.txt",
			own:     []string{"main", "k8s.io/kubernetes"},
			// Closures of k8s.io/apiserver and go-restful, inlined into functions of the kubelet.
			not:   []string{"k8s.io/kubernetes/pkg/kubelet/server.(*Server).ServeHTTP.WithLogging.", "k8s.io/kubernetes/pkg/kubelet/server.(*Server).InstallTracingFilter."},
			shown: []string{"main.main", "k8s.io/kubernetes/cmd/kubelet/app.Run", "k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run", "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod.func1"},
		},
		{
			program: "its crash dump", dumps: "goroutine/signals/kubelet-SIGQUIT-from-log.txt",
			own: []string{"main", "k8s.io/kubernetes"}, shown: []string{"main.main", "k8s.io/kubernetes/pkg/kubelet/pleg.(*GenericPLEG).Start.gowrap2"},
		},
		{
			program: "containerd in a GOPATH, with all it needs beside it and vendored below it",
			dumps:   "series/kubelet-probe-leak/t*/containerd/goroutine-debug2.txt",
			own:     []string{"main", "github.com/containerd/containerd"},
			not:     []string{"github.com/containerd/containerd/vendor/"},
			shown:   []string{"main.main", "github.com/containerd/containerd/metrics/cgroups/v1.(*Collector).Add", "github.com/containerd/containerd.(*container).NewTask", "github.com/containerd/containerd/pkg/cri/server.(*criService).RunPodSandbox"},
		},
		{
			program: "a program of one file that uses client-go", dumps: "series/clientgo-informer-recreate/t*/informer/goroutine-debug2.txt",
			own: []string{"main"}, shown: []string{"main.main"},
		},
		{
			program: "prometheus, not its libraries prometheus/common and prometheus/client_golang", dumps: "series/prometheus-hanging-targets/t*/prometheus/goroutine-debug2.txt",
			own: []string{"main", "github.com/prometheus/prometheus"}, shown: []string{"main.main", "github.com/prometheus/prometheus/scrape.(*scrapeLoop).run"},
		},
		{
			program: "a test program that restarts", dumps: "series/restart/t*/prober/p?-t?.txt",
			own: []string{"main"}, shown: []string{"main.main", "main.prober", "main.steady"},
		},
		{
			program: "a module whose path shares nothing with its directory", dumps: "goroutine/gen/debug2-go1.2?.*.txt",
			own: []string{"main", "example.com/Lab/gdump.io"}, shown: []string{"main.main", "main.deep"},
			// Inlined from the standard library.
			not: []string{"main.hold.Seq"},
		},
		{program: "gccgo", dumps: "goroutine/gen/gccgo12-debug2.txt", own: []string{"main"}, shown: []string{"main.main", "main.recv"}},
		{program: "states of goroutines", dumps: "goroutine/states/labels?-debug2.txt", own: []string{"main"}, shown: []string{"main.main", "main.deep"}},
		{program: "an example in a directory of its own", dumps: "goroutine/public/goroscope-sample.txt", own: []string{"main"}, shown: []string{"main.main", "main.leak"}},
		{
			program: "a checkout whose directory is called after its last element", dumps: "goroutine/public/mpobrien-sample.txt",
			own: []string{"main", "github.com/ufo-nz/pxrbng"}, shown: []string{"main.main", "github.com/ufo-nz/pxrbng/queue/consumer.(*Consumer).handleWorker"},
		},
		{
			program: "erigon, not erigon-lib", dumps: "goroutine/public/transferfile-goroutines.txt",
			own: []string{"main", "github.com/ledgerwatch/erigon"}, shown: []string{"main.main", "github.com/ledgerwatch/erigon/p2p/sentry.(*GrpcServer).Messages"},
		},
		{
			program: "a panic of syncthing, which shows no main.main", dumps: "goroutine/public/syncthing-panic.log",
			own: []string{"main", "github.com/syncthing/syncthing"}, shown: []string{"github.com/syncthing/syncthing/lib/tlsutil.(*UnionedConnection).Read"},
		},
	} {
		t.Run(tt.program, func(t *testing.T) {
			var stacks []*analysis.Stack
			for _, name := range dumps(t, tt.dumps) {
				for _, s := range readText(t, open(t, name)) {
					stacks = append(stacks, s.stack)
				}
			}
			own := family.OwnOf(slices.Values(stacks))
			want := func(function string) bool {
				if slices.ContainsFunc(tt.not, func(prefix string) bool { return strings.HasPrefix(function, prefix) }) {
					return false
				}
				return slices.ContainsFunc(tt.own, func(pkg string) bool {
					return strings.HasPrefix(function, pkg+".") || strings.HasPrefix(function, pkg+"/")
				})
			}
			shown, wrong := map[string]bool{}, map[string]bool{}
			for _, s := range stacks {
				m := own.Mark(s)
				if !m.Known {
					t.Fatalf("own code is not known of %+v", s.Frames)
				}
				for i, f := range s.Frames {
					shown[f.Func] = shown[f.Func] || m.Frames[i]
					if m.Frames[i] != want(f.Func) && !wrong[f.Func] {
						wrong[f.Func] = true
						t.Errorf("%s in %s is own code: %t", f.Func, f.File, m.Frames[i])
					}
				}
				if c := s.CreatedBy; c.Func != "" && m.Creator != want(c.Func) && !wrong[c.Func] {
					wrong[c.Func] = true
					t.Errorf("the creator %s in %s is own code: %t", c.Func, c.File, m.Creator)
				}
			}
			for _, function := range tt.shown {
				if !shown[function] {
					t.Errorf("%s is in no dump, or no own code", function)
				}
			}
		})
	}
}

func TestOwnCodeIsThatOfTheMainModule(t *testing.T) {
	for _, tt := range []struct {
		name string
		// stacks are "function file" lines, leaf first, a creator after "by"; "--" ends
		// one. The last is asked about.
		stacks string
		want   string
	}{
		{"with module mode, dependencies are of versions", `main.main /src/app/cmd/x/main.go
			--
			sync.(*Mutex).Lock /usr/local/go/src/sync/mutex.go
			github.com/a/b.Do /go/pkg/mod/github.com/a/b@v1.2.3/do.go
			example.com/app/db.(*Pool).Get /src/app/db/pool.go
			main.serve /src/app/cmd/x/serve.go
			by example.com/app/db.Open /src/app/db/open.go`, "--oo+"},
		{"vendored code is never own", `main.main /src/app/main.go
			--
			example.com/app/vendor/github.com/a/b.Do /src/app/vendor/github.com/a/b/do.go
			github.com/c/d.Do /src/app/vendor/github.com/c/d/do.go
			example.com/app/db.Get /src/app/db/get.go`, "--o"},
		{"with -trimpath files begin with the path of the module", `main.main example.com/app/cmd/x/main.go
			--
			example.com/lib.Do example.com/lib@v0.1.0/do.go
			example.com/app/db.Get example.com/app/db/get.go
			net/http.Serve net/http/server.go`, "-o-"},
		{"a program that was installed by its version", `main.main /go/pkg/mod/github.com/a/b@v1.2.3/cmd/b/main.go
			--
			github.com/a/b/db.Get /go/pkg/mod/github.com/a/b@v1.2.3/db/get.go
			github.com/a/c.Do /go/pkg/mod/github.com/a/c@v1.0.0/do.go`, "o-"},
		{"main beside its packages, in no directory cmd", `main.main /srv/app/server/main.go
			--
			example.com/shop/db.Get /srv/app/db/get.go
			example.com/lib.Do /srv/lib/do.go`, "o-"},
		{"a GOPATH holds the code of others beside and below", `main.main /root/main.go
			--
			main.wait /root/wait.go
			example.com/lib.Do /root/go/src/example.com/lib/do.go
			example.com/mod.Do /root/go/pkg/mod/example.com/mod@v1.0.0/do.go`, "o--"},
		{"a module without a dot in its path", `main.main shop/cmd/x/main.go
			--
			shop/db.Get shop/db/get.go
			os.(*File).Read os/file.go`, "o-"},
		{"Bazel prints paths from the root of its workspace", `main.main pkg/cmd/x/main.go
			--
			google.golang.org/grpc.recv external/org_golang_google_grpc/rpc_util.go
			example.com/app/pkg/db.Get pkg/db/get.go
			sync.(*Cond).Wait GOROOT/src/sync/cond.go`, "-o-"},
		{"on Windows", `main.main C:/Users/x/app/main.go
			--
			example.com/app/db.Get C:/Users/x/app/db/get.go
			github.com/a/b.Do C:/Users/x/go/pkg/mod/github.com/a/b@v1.2.3/do.go`, "o-"},
		{"what was inlined from the standard library is none, whatever it is called", `main.main /src/app/main.go
			--
			main.main.OnceFunc.func1 /usr/local/go/src/sync/oncefunc.go
			main.start /src/app/main.go`, "-o"},
		{"functions that the compiler made have no file", `main.main /src/app/main.go
			--
			main.(*T).Lock <autogenerated>
			main._Cfunc_wait _cgo_gotypes.go
			sync.(*T).Lock <autogenerated>
			example.com/app/db.(*Pool).Get-fm <autogenerated>
			example.com/app/db.(*Pool).Get /src/app/db/pool.go`, "oo-oo"},
		{"another function of package main tells as much as main.main", `main.(*worker).run /src/app/cmd/x/worker.go
			example.com/app/db.Get /src/app/db/get.go
			main.init.OnceFunc.func1 /usr/local/go/src/sync/oncefunc.go`, "oo-"},
		{"a creator in package main as well", `example.com/app/db.Get /src/app/db/get.go
			by main.main /src/app/main.go`, "o+"},
		{"a main that only starts the command of another module", `example.com/big/cmd/serve.Run example.com/big@v1.2.3/cmd/serve/run.go
			github.com/spf13/cobra.(*Command).Execute github.com/spf13/cobra@v1.9.1/command.go
			main.main wrapper/main.go
			--
			example.com/big/db.Get example.com/big@v1.2.3/db/get.go
			github.com/a/b.Do github.com/a/b@v1.0.0/do.go`, "o-"},
		{"a main with packages of its own is no such wrapper", `example.com/big/cmd/serve.Run example.com/big@v1.2.3/cmd/serve/run.go
			main.main app.example/x/main.go
			--
			example.com/big/db.Get example.com/big@v1.2.3/db/get.go
			app.example/x/db.Get app.example/x/db/get.go`, "-o"},
		{"without package main the module of the creator", `sync.(*Mutex).Lock sync/mutex.go
			github.com/a/b/db.Get github.com/a/b/db/get.go
			github.com/a/bc.Get github.com/a/bc/get.go
			github.com/a/b/vendor/c.Do github.com/a/b/vendor/c/do.go
			by github.com/a/b/db.Open github.com/a/b/db/open.go`, "-o--+"},
		{"a GOPATH alone holds the module of the creator", `github.com/a/b/db.Get /go/src/github.com/a/b/db/get.go
			github.com/c/d.Do /go/src/github.com/c/d/do.go
			github.com/c/d.Do /go/src/github.com/a/b/vendor/github.com/c/d/do.go
			by github.com/a/b/db.Open /go/src/github.com/a/b/db/open.go`, "o--+"},
		{"names without files show what is vendored below a command or a client", `github.com/a/b/cmd/vendor/github.com/c/d.Do
			github.com/a/b/client/vendor/github.com/c/e.Do
			github.com/a/b/client.Get
			by github.com/a/b/db.Open`, "--o+"},
		{"of a creator of the standard library nothing is known", `example.com/app/db.Get example.com/app/db/get.go
			by net/http.(*Server).Serve net/http/server.go`, "?"},
		{"of a creator that carries the work of others nothing is known", `google.golang.org/grpc.(*Server).handleStream google.golang.org/grpc/server.go
			by google.golang.org/grpc.(*Server).serveStreams google.golang.org/grpc/server.go`, "?"},
		{"of a creator of a version nothing is known", `k8s.io/client-go/tools/cache.(*Reflector).Run k8s.io/client-go@v0.34.4/tools/cache/reflector.go
			by k8s.io/client-go/informers.Start k8s.io/client-go@v0.34.4/informers/factory.go`, "?"},
		{"without package main and without a creator nothing is known", `example.com/app/db.Get /src/app/db/get.go`, "?"},
		{"a test is started by a file that stands nowhere", `main.main /tmp/go-build1/_testmain.go
			--
			main.work
			example.com/app/db.Get /src/app/db/get.go`, "o-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stacks []*analysis.Stack
			for _, text := range strings.Split(tt.stacks, "--") {
				s := &analysis.Stack{}
				for line := range strings.Lines(text) {
					creator, isCreator := strings.CutPrefix(strings.TrimSpace(line), "by ")
					function, file, _ := strings.Cut(creator, " ")
					switch f := (analysis.Frame{Func: function, File: file, Line: 1}); {
					case function == "":
					case isCreator:
						s.CreatedBy = f
					default:
						s.Frames = append(s.Frames, f)
					}
				}
				stacks = append(stacks, s)
			}
			m := family.OwnOf(slices.Values(stacks)).Mark(stacks[len(stacks)-1])
			got := ""
			for _, own := range m.Frames {
				got += map[bool]string{true: "o", false: "-"}[own]
			}
			if m.Creator {
				got += "+"
			}
			if !m.Known {
				if strings.Contains(got, "o") || m.Creator {
					t.Errorf("nothing is known, and yet %s", got)
				}
				got = "?"
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAFileOfPackageMainIsNamedFromTheRootOfItsModule(t *testing.T) {
	stack := &analysis.Stack{Frames: []analysis.Frame{
		{Func: "sync.(*Mutex).Lock", File: "/usr/local/go/src/sync/mutex.go"}, {Func: "example.com/app/db.Get", File: "/home/u/app/db/get.go"},
		{Func: "main.main.OnceFunc.func1", File: "/usr/local/go/src/sync/oncefunc.go"}, {Func: "main.main", File: "/home/u/app/cmd/x/main.go"}, {Func: "main._Cfunc_f", File: "_cgo_gotypes.go"},
	}}
	own := family.OwnOf(slices.Values([]*analysis.Stack{stack}))
	var got []string
	for _, f := range stack.Frames {
		got = append(got, own.Within(f))
	}
	if d := cmp.Diff([]string{"mutex.go", "get.go", "oncefunc.go", "cmd/x/main.go", "_cgo_gotypes.go"}, got); d != "" {
		t.Error(d)
	}
}

// dumps are the files of a pattern in the corpus.
func dumps(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(corpus.Path(t, pattern))
	if err != nil || len(names) == 0 {
		t.Fatal(pattern, err)
	}
	return names
}
