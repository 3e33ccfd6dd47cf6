package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

func TestFramesAreReadAsDumpsPrintThem(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       frame
	}{
		{"a method has its receiver", "k8s.io/client-go/rest.(*Request).Do", frame{"k8s.io/client-go/rest", "(*Request).Do", false}},
		{"a closure is its parent", "example.org/a.run.func1.2", frame{"example.org/a", "run", false}},
		{"a closure of a deferred call is its parent", "example.org/a.T.run.deferwrap1", frame{"example.org/a", "T.run", false}},
		{"any closure is its parent", "example.org/a.run.func", frame{"example.org/a", "run", false}},
		{"type arguments are cut", "example.org/a.(*T[...]).run", frame{"example.org/a", "(*T).run", false}},
		{"a vendor directory is cut", "k8s.io/kubernetes/vendor/example.org/a.run", frame{"example.org/a", "run", false}},
		{"an escaped dot is a dot", "github.com/nats-io/nats%2ego.Connect", frame{"github.com/nats-io/nats.go", "Connect", false}},
		{"a receiver alone is a beginning", "example.org/a.(*T).", frame{"example.org/a", "(*T).", true}},
		{"a method without a package is of any", "(*ExecIO).Attach", frame{"", "(*ExecIO).Attach", false}},
		{"a package alone has no function", "example.org/a/b", frame{"example.org/a/b", "", false}},
		{"a short path stays short", "router/container.notifyClosed", frame{"router/container", "notifyClosed", false}},
	} {
		if got := parseFrame(tt.text); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestPackagesAreComparedWithoutInternalAndVersions(t *testing.T) {
	for _, tt := range []struct {
		name, frame, path string
		want              bool
	}{
		{"the same package", "example.org/a/b.f", "example.org/a/b", true},
		{"a major version and internal", "github.com/jackc/pgx/pgconn/ctxwatch.f", "github.com/jackc/pgx/v5/pgconn/internal/ctxwatch", true},
		{"the end of a path", "ctxwatch.f", "github.com/jackc/pgx/v5/pgconn/internal/ctxwatch", true},
		{"half an element is no end of a path", "watch.f", "github.com/jackc/pgx/v5/pgconn/internal/ctxwatch", false},
		{"another package of the module", "example.org/a/b.f", "example.org/a/c", false},
		{"every package without a path", "(*T).f", "example.org/a", true},
	} {
		if got := parseFrame(tt.frame).in(tt.path); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestDeclarationsAreNamedAsStacksNameThem(t *testing.T) {
	for source, want := range map[string]string{
		"func run() {}":                 "run",
		"func (t *T) run() {}":          "(*T).run",
		"func (T) Run() {}":             "T.Run",
		"func (t *T[K]) run() {}":       "(*T).run",
		"func (t *T[K, V]) run() {}":    "(*T).run",
		"func run[K any](k K) (v K) {}": "run",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package a\n"+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := declared(file.Decls[0].(*ast.FuncDecl)); got != want {
			t.Errorf("%s is %s, want %s", source, got, want)
		}
	}
}

func TestTheLastAffectedReleaseHasNoFix(t *testing.T) {
	containerd := []string{"v1.6.0", "v1.6.35", "v1.6.36", "v1.7.0-rc.1", "v1.7.0", "v1.7.20", "v1.7.21"}
	for _, tt := range []struct {
		name     string
		versions []string
		major    int
		fix      string
		fixes    []string
		want     string
	}{
		{"the release below", containerd, 0, "1.6.36", []string{"1.6.36", "1.7.21"}, "v1.6.35"},
		{"the release below in the newest line", containerd, 0, "1.7.21", []string{"1.6.36", "1.7.21"}, "v1.7.20"},
		{"releases with a backport are passed over", containerd, 0, "1.7.0", []string{"1.6.36", "1.7.0"}, "v1.6.35"},
		{"the module of a component may be of another major version", []string{"v0.34.4", "v0.35.1", "v12.0.0+incompatible"}, 1, "1.35.0", []string{"1.35.0"}, "v0.34.4"},
		{"a major version without a path of its own", []string{"v26.1.4+incompatible", "v27.0.1+incompatible"}, 0, "27.0.1", []string{"27.0.1"}, "v26.1.4+incompatible"},
		{"none is listed", []string{"v1.7.0"}, 0, "1.6.36", []string{"1.6.36"}, ""},
	} {
		if got := lastAffected(tt.versions, tt.major, tt.fix, tt.fixes); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := firstFrom(containerd, 0, "1.7.1"); got != "v1.7.20" {
		t.Errorf("the first release from 1.7.1 on is %s", got)
	}
	if got := library("3.9.0"); got != "0.309.0" {
		t.Errorf("the library of Prometheus 3.9.0 is %s", got)
	}
}

func TestTheModuleIsThatOfTheRepository(t *testing.T) {
	for path, want := range map[string]string{
		"github.com/jackc/pgx/v5/pgconn": "github.com/jackc/pgx/v5",
		"golang.org/x/net/http2":         "golang.org/x/net",
		"k8s.io/client-go/rest":          "k8s.io/client-go",
		"example.org":                    "example.org",
	} {
		if got := repository(path); got != want {
			t.Errorf("%s is of %s, want %s", path, got, want)
		}
	}
}
