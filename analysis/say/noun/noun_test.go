package noun

import (
	"strings"
	"testing"
)

func TestNounsOf(t *testing.T) {
	for _, c := range []struct{ name, what, want string }{
		{"a type", "k8s.io/client-go/informers.(*sharedInformerFactory)", "informer factory"},
		{"its method", "k8s.io/client-go/informers.(*sharedInformerFactory).Start", "informer factory"},
		{"the same, vendored", "example.org/app/vendor/k8s.io/client-go/informers.(*sharedInformerFactory).Start", "informer factory"},
		{"another type whose name begins alike", "k8s.io/client-go/informers.(*sharedInformerFactoryOptions)", ""},
		{"a pool of threads", "OkHttp ConnectionPool", "OkHttp client"},
		{"a pool whose name begins alike", "OkHttpish", ""},
		{"another major version", "github.com/redis/go-redis/v9/internal/pool.(*ConnPool).reaper", "Redis connection pool"},
		{"a function of a type with a noun of its own", "github.com/redis/go-redis/v9/internal/pool.(*ConnPool).queuedNewConn.func1", "Redis dial"},
		{"a closure of a function", "github.com/containerd/fifo.openFifo.func2", "container FIFO"},
		{"a started command", "os/exec.(*Cmd).watchCtx.func1", "command"},
		{"what copies the output of one", "os/exec.(*Cmd).writerDescriptor.func1", ""},
		{"a numbered thread", "http-nio-N-exec-N · TaskQueue.take", "Tomcat request thread"},
		{"a helper", "golang.org/x/sync/errgroup.(*Group).Go.func1", ""},
		{"another helper", "k8s.io/apimachinery/pkg/util/wait.JitterUntil", ""},
		{"nothing", "", ""},
	} {
		got := ""
		if n := Builtin().Of(c.what); n != nil {
			got = n.One
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if n := Builtin().Of("main.run", "net/http.(*persistConn)"); n == nil || n.Words(2) != "2 HTTP connections" || n.Words(1) != "1 HTTP connection" {
		t.Errorf("the second of two names: %+v", n)
	}
}

func TestTheListIsComplete(t *testing.T) {
	list, err := read(builtin)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, n := range list {
		if !strings.HasPrefix(n.Source, "https://") {
			t.Errorf("%s has no public source: %q", n.One, n.Source)
		}
		if n.Remedy != "" && (!strings.HasSuffix(n.Remedy, ".") || n.Remedy[0] < 'A' || n.Remedy[0] > 'Z') {
			t.Errorf("the remedy of %s is no sentence: %q", n.One, n.Remedy)
		}
		for _, m := range n.Match {
			if seen[m] {
				t.Errorf("%s stands twice", m)
			}
			seen[m] = true
			if plain(m) != m {
				t.Errorf("%s can match nothing: names are %s", m, plain(m))
			}
		}
	}
	for name, text := range map[string]string{
		"an unknown member":    `[{"match": ["x"], "one": "x", "many": "xs", "began": "a", "ended": "b", "source": "c", "more": 1}]`,
		"an entry without one": `[{"match": ["x"], "many": "xs", "began": "a", "ended": "b", "source": "c"}]`,
	} {
		if _, err := read([]byte(text)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestWhatServesAnythingIsTheLastAnswer(t *testing.T) {
	list := Builtin()
	if n := list.Of("net/http.(*Server).Serve", "github.com/hashicorp/nomad/nomad/stream.(*Subscription)"); n == nil || n.One != "event subscription" {
		t.Errorf("beside the server: %+v", n)
	}
	if n := list.Of("net/http.(*Server).Serve", "net/http.(*conn).serve"); n == nil || n.One != "HTTP server connection" || !n.Within {
		t.Errorf("the server alone: %+v", n)
	}
}

func TestACallIsFoundInAnyFrame(t *testing.T) {
	list := Builtin()
	frames := []string{"sync.(*Mutex).Lock", "github.com/containerd/ttrpc.(*Client).dispatch", "github.com/containerd/containerd/pkg/cri/server.(*criService).RunPodSandbox", "google.golang.org/grpc.(*Server).serveStreams.func1.2"}
	if n := list.Call(frames); n == nil || n.One != "pod start" {
		t.Errorf("%+v", n)
	}
	if n := list.Call([]string{"net/http.(*persistConn).roundTrip", "main.main"}); n != nil {
		t.Errorf("what waits for a connection is called %q", n.One)
	}
}

func TestOwnNounsWin(t *testing.T) {
	own, err := With([]byte(`[{"match": ["main.(*worker)"], "one": "import job", "many": "import jobs", "began": "started", "ended": "finished", "source": "docs/jobs.md"},
		{"match": ["net/http.(*persistConn)"], "one": "upstream", "many": "upstreams", "began": "opened", "ended": "closed", "source": "docs/jobs.md"}]`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"main.(*worker).wait": "import job", "net/http.(*persistConn).readLoop": "upstream", "net/http.(*conn).serve": "HTTP server connection"} {
		if n := own.Of(name); n == nil || n.One != want {
			t.Errorf("%s: %+v, want %s", name, n, want)
		}
	}
	broken, err := With([]byte(`[{"match": ["x"]}]`))
	if err == nil || len(broken) != len(Builtin()) {
		t.Errorf("a broken file: %d nouns, error %v", len(broken), err)
	}
}

// What clients open is no deed of the program that serves it.
func TestWhatClientsOpenIsAccepted(t *testing.T) {
	for name, want := range map[string]string{
		"net/http.(*Server).Serve":                                                  "accepted",
		"golang.org/x/net/http2.(*serverConn).serve":                                "accepted",
		"google.golang.org/grpc/internal/transport.(*http2Server).keepalive":        "accepted",
		"github.com/containerd/ttrpc.(*serverConn).run":                             "accepted",
		"github.com/hashicorp/nomad/nomad/stream.(*Subscription)":                   "accepted",
		"go.etcd.io/etcd/server/etcdserver/api/v3rpc.(*serverWatchStream).sendLoop": "accepted",
		"go.etcd.io/etcd/client/v3.(*watchGrpcStream).run":                          "opened",
		"net/http.(*Transport).dialConn":                                            "opened",
		"google.golang.org/grpc/internal/transport.NewHTTP2Client":                  "opened",
		"github.com/containerd/ttrpc.NewClient":                                     "opened",
	} {
		if n := Builtin().Of(name); n == nil || n.Began != want {
			t.Errorf("%s: %+v, want %s", name, n, want)
		}
	}
}
