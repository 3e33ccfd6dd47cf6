package source

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
)

// The paths are those of real dumps.
func TestLink(t *testing.T) {
	const known = "v1.34.4, go1.26.8"
	for _, c := range []struct {
		name, function, file, version, want string
	}{
		{"a module of a build with -trimpath", "github.com/spf13/cobra.(*Command).execute", "github.com/spf13/cobra@v1.9.1/command.go", "",
			"https://github.com/spf13/cobra/blob/v1.9.1/command.go#L12"},
		{"a module in a cache", "github.com/thejerf/suture.(*Supervisor).Serve", "/Users/jb/go/pkg/mod/github.com/thejerf/suture@v3.0.2+incompatible/supervisor.go", "",
			"https://github.com/thejerf/suture/blob/v3.0.2/supervisor.go#L12"},
		{"upper case as a module cache writes it", "github.com/VictoriaMetrics/metrics.x", "/go/pkg/mod/github.com/!victoria!metrics/metrics@v1.23.1/push.go", "",
			"https://github.com/VictoriaMetrics/metrics/blob/v1.23.1/push.go#L12"},
		{"upper case as -trimpath prints it", "github.com/VictoriaMetrics/metrics.x", "github.com/VictoriaMetrics/metrics@v1.23.1/push.go", "",
			"https://github.com/VictoriaMetrics/metrics/blob/v1.23.1/push.go#L12"},
		{"a cache on Windows", "github.com/spf13/cobra.x", `C:\Users\me\go\pkg\mod\github.com\spf13\cobra@v1.9.1\command.go`, "",
			"https://github.com/spf13/cobra/blob/v1.9.1/command.go#L12"},
		{"the commit of a pseudo-version", "github.com/syndtr/goleveldb/leveldb.(*DB).x", "/Users/jb/go/pkg/mod/github.com/syndtr/goleveldb@v0.0.0-20171214120811-34011bf325bc/leveldb/db.go", "",
			"https://github.com/syndtr/goleveldb/blob/34011bf325bc/leveldb/db.go#L12"},
		{"the commit of a pseudo-version after a tag", "github.com/anacrolix/torrent.x", "github.com/anacrolix/torrent@v1.52.6-0.20231201115409-7ea994b6bbd8/client.go", "",
			"https://github.com/anacrolix/torrent/blob/7ea994b6bbd8/client.go#L12"},
		{"a later major version", "github.com/emicklei/go-restful/v3.(*Container).dispatch", "github.com/emicklei/go-restful/v3@v3.12.2/container.go", "",
			"https://github.com/emicklei/go-restful/blob/v3.12.2/container.go#L12"},
		{"a module in a directory", "github.com/aws/aws-sdk-go-v2/service/s3.x", "github.com/aws/aws-sdk-go-v2/service/s3@v1.2.3/api.go", "",
			"https://github.com/aws/aws-sdk-go-v2/blob/service/s3/v1.2.3/service/s3/api.go#L12"},
		{"a later major version in a directory", "go.etcd.io/etcd/client/v3.x", "go.etcd.io/etcd/client/v3@v3.6.4/watch.go", "",
			"https://github.com/etcd-io/etcd/blob/client/v3.6.4/client/watch.go#L12"},
		{"a moved module", "k8s.io/client-go/tools/cache.(*Reflector).Run", "k8s.io/client-go@v0.34.4/tools/cache/reflector.go", "",
			"https://github.com/kubernetes/client-go/blob/v0.34.4/tools/cache/reflector.go#L12"},
		{"a moved module with a pseudo-version", "k8s.io/utils/x.y", "k8s.io/utils@v0.0.0-20250604170112-4c0f3b243397/x/y.go", "",
			"https://github.com/kubernetes/utils/blob/4c0f3b243397/x/y.go#L12"},
		{"gRPC", "google.golang.org/grpc.(*Server).serveStreams", "google.golang.org/grpc@v1.72.1/server.go", "",
			"https://github.com/grpc/grpc-go/blob/v1.72.1/server.go#L12"},
		{"a module whose directory holds another path", "go.opentelemetry.io/contrib/x", "go.opentelemetry.io/contrib/instrumentation/github.com/emicklei/go-restful/otelrestful@v0.44.0/restful.go", "",
			"https://github.com/open-telemetry/opentelemetry-go-contrib/blob/instrumentation/github.com/emicklei/go-restful/otelrestful/v0.44.0/instrumentation/github.com/emicklei/go-restful/otelrestful/restful.go#L12"},
		{"gopkg.in with an owner", "gopkg.in/natefinch/lumberjack%2ev2.x", "gopkg.in/natefinch/lumberjack.v2@v2.2.1/lumberjack.go", "",
			"https://github.com/natefinch/lumberjack/blob/v2.2.1/lumberjack.go#L12"},
		{"gopkg.in without an owner", "gopkg.in/yaml.v3.x", "gopkg.in/yaml.v3@v3.0.1/decode.go", "",
			"https://github.com/go-yaml/yaml/blob/v3.0.1/decode.go#L12"},
		{"golang.org/x by tag", "golang.org/x/net/http2.(*Framer).ReadFrame", "golang.org/x/net@v0.38.0/http2/frame.go", "",
			"https://go.googlesource.com/net/+/refs/tags/v0.38.0/http2/frame.go#12"},
		{"golang.org/x by commit", "golang.org/x/net/ipv6.x", "/Users/jb/go/pkg/mod/golang.org/x/net@v0.0.0-20181201002055-351d144fa1fc/ipv6/payload_cmsg_go1_9.go", "",
			"https://go.googlesource.com/net/+/351d144fa1fc/ipv6/payload_cmsg_go1_9.go#12"},
		{"gitlab.com", "gitlab.com/owner/repo.x", "gitlab.com/owner/repo/v2@v2.0.1/x.go", "",
			"https://gitlab.com/owner/repo/-/blob/v2.0.1/x.go#L12"},
		{"a group of groups at gitlab.com, whose repository is not certain", "gitlab.com/a/b/c.x", "gitlab.com/a/b/c@v1.0.0/x.go", "", ""},
		{"the standard library of a known release", "net/http.(*conn).serve", "/usr/local/go/src/net/http/server.go", known,
			"https://go.googlesource.com/go/+/refs/tags/go1.26.8/src/net/http/server.go#12"},
		{"the standard library with -trimpath", "sync.(*Mutex).lockSlow", "sync/mutex.go", known,
			"https://go.googlesource.com/go/+/refs/tags/go1.26.8/src/sync/mutex.go#12"},
		{"the standard library of a downloaded release", "net/http.(*Server).Serve", "/root/go/pkg/mod/golang.org/toolchain@v0.0.1-go1.25.5.linux-amd64/src/net/http/server.go", "",
			"https://go.googlesource.com/go/+/refs/tags/go1.25.5/src/net/http/server.go#12"},
		{"the standard library in a directory of its release", "net/http.x", "/usr/local/Cellar/go/1.15.6/libexec/src/net/http/transport.go", "",
			"https://go.googlesource.com/go/+/refs/tags/go1.15.6/src/net/http/transport.go#12"},
		{"assembly", "runtime.goexit", "/usr/local/go/src/runtime/asm_amd64.s", known,
			"https://go.googlesource.com/go/+/refs/tags/go1.26.8/src/runtime/asm_amd64.s#12"},
		{"the standard library of an unknown release", "sync.(*Mutex).Lock", "/usr/local/go/src/sync/mutex.go", "v1.34.4", ""},
		{"a release with a note", "sync.(*Mutex).Lock", "/usr/local/go/src/sync/mutex.go", "devel go1.27-abcdef", ""},
		{"no version in the path", "github.com/containerd/ttrpc.(*Client).Call", "github.com/containerd/ttrpc/client.go", known, ""},
		{"a vendor directory", "github.com/x/y.z", "/src/app/vendor/github.com/x/y/z.go", known, ""},
		{"a checkout", "main.main", "/srv/leak-lab/goroutine/gen/survprog/main.go", known, ""},
		{"a module that was replaced by a directory", "k8s.io/cri-client.x", "k8s.io/cri-client@v0.0.0/remote.go", "", ""},
		{"a host that is not known", "corp.example/team/mod.x", "corp.example/team/mod@v1.2.3/x.go", "", ""},
		{"no file of source", "_cgoexp", "_cgo_gotypes.go", "", ""},
		{"a file that is made", "x", "<autogenerated>", known, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Link(analysis.Frame{Func: c.function, File: c.file, Line: 12}, c.version)
			if got != c.want {
				t.Errorf("Link(%s) = %s, want %s", c.file, got, c.want)
			}
		})
	}
}

func TestAHostilePathLeadsNowhere(t *testing.T) {
	for _, file := range []string{
		"github.com/x/y@v1.2.3/../../../evil/z.go", "github.com/../x@v1.2.3/z.go", "github.com/x/..@v1.2.3/z.go", "github.com/x@v1.2.3/z.go",
		"github.com/x/y@v1.2.3?a=b/z.go", "github.com/x/y@v1.2.3#a/z.go", "github.com/x/y@v1.2.3/z?q=.go", "github.com/x/y@v1.2.3/z#a.go",
		"github.com:80/x/y@v1.2.3/z.go", "user@github.com/x/y@v1.2.3/z.go", "github.com@evil.example/x/y@v1.2.3/z.go", "//evil.example/x@v1.2.3/z.go",
		"https://evil.example/pkg/mod/x/y@v1.2.3/z.go", "javascript:alert(1)//@v1.2.3/z.go", "github.com/x/y@v1.2.3/\"onclick=.go", "github.com/x/y@v1.2.3/z\n.go",
		"github.com/x/y@v1.2.3/\u202ez.go", "/pkg/mod/github.com/X/y@v1.2.3/z.go", "/pkg/mod/github.com/!!x/y@v1.2.3/z.go", "github.com/x/y@latest/z.go",
		"github.com/x/y@v1.2.3/%2e%2e/z.go", "github.com/x/y@v1.2.3//z.go", "github.com/x/y@v1.2.3/z.html", "golang.org/x/..%2fy@v1.2.3/z.go",
		"golang.org/toolchain@v0.0.1-go1.25.5.linux-amd64/src/../../z.go", strings.Repeat("a/", 200) + "x@v1.2.3/z.go",
	} {
		for _, function := range []string{"github.com/x/y.z", "net/http.z", "main.main"} {
			if got := Link(analysis.Frame{Func: function, File: file, Line: 3}, "go1.26.8"); got != "" {
				t.Errorf("Link(%q) = %s, want none", file, got)
			}
		}
	}
}

// hosts are all that an address may begin with.
var hosts = []string{"github.com", "gitlab.com", "go.googlesource.com"}

var wholeAddress = regexp.MustCompile(`^https://[a-z.]+/[A-Za-z0-9._~+@=%/-]+#L?[0-9]+$`)

func FuzzLink(f *testing.F) {
	for _, file := range []string{
		"github.com/x/y@v1.2.3/z.go", "/go/pkg/mod/github.com/!x/y/v2@v2.0.0-20171214120811-34011bf325bc/a b/z.go", "golang.org/x/net@v0.38.0/http2/frame.go",
		"/usr/local/go/src/net/http/server.go", "gopkg.in/a/b.v2@v2.0.0/c.go", `C:\go\pkg\mod\gitlab.com\x\y@v1.0.0\z.go`, "golang.org/toolchain@v0.0.1-go1.25.5.linux-amd64/src/net/http/x.go",
	} {
		f.Add("net/http.(*Server).Serve", file, 12, "go1.26.8")
		f.Add("github.com/x/y.(*T).m", file, 0, "v1, go1.2")
	}
	f.Fuzz(func(t *testing.T, function, file string, line int, version string) {
		got := Link(analysis.Frame{Func: function, File: file, Line: line}, version)
		if got == "" {
			return
		}
		u, err := url.Parse(got)
		switch {
		case err != nil || !wholeAddress.MatchString(got):
			t.Fatalf("%q is no plain address: %v", got, err)
		case u.Scheme != "https" || !slices.Contains(hosts, u.Host) || u.User != nil || u.RawQuery != "" || u.ForceQuery:
			t.Fatalf("%q leaves its host", got)
		}
		for e := range strings.SplitSeq(u.Path, "/") {
			if e == ".." || e == "." {
				t.Fatalf("%q climbs", got)
			}
		}
	})
}
