package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

func TestFramesAreReadAsSignaturesNameThem(t *testing.T) {
	for _, test := range []struct{ name, text, path, function string }{
		{"a method", "example.org/a.(*T).run", "example.org/a", "(*T).run"},
		{"a closure stands for the function around it", "example.org/a.(*T).run.func1.2", "example.org/a", "(*T).run"},
		{"type arguments are left out", "example.org/a.(*T[...]).run", "example.org/a", "(*T).run"},
		{"what is vendored is of its own module", "k8s.io/x/vendor/example.org/a/v2.run", "example.org/a/v2", "run"},
		{"a dot in the last element is escaped", "gopkg.in/yaml%2ev3.parse", "gopkg.in/yaml.v3", "parse"},
		{"a package without a function", "example.org/a/", "example.org/a/", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if f := parseFrame(test.text); f.path != test.path || f.function != test.function {
				t.Errorf("%s = %+v", test.text, f)
			}
		})
	}
}

func TestPackagesAreComparedWithoutInternalAndMajorVersion(t *testing.T) {
	for _, test := range []struct {
		name, frame, path string
		want              bool
	}{
		{"the same", "example.org/a/b.run", "example.org/a/b", true},
		{"moved to internal", "example.org/a/b.run", "example.org/a/internal/b", true},
		{"of a major version", "example.org/a/b.run", "example.org/a/v5/b", true},
		{"another package", "example.org/a/b.run", "example.org/a/c", false},
		{"a path without its host", "b.(*T).run", "example.org/a/b", true},
		{"a path of which this is a part of a word", "b.(*T).run", "example.org/a/bb", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := parseFrame(test.frame).in(test.path); got != test.want {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestDeclaredFunctionsAreCalledAsInAStack(t *testing.T) {
	for source, want := range map[string]string{
		"func run()":                 "run",
		"func (t *T) run()":          "(*T).run",
		"func (t T) Run()":           "T.Run",
		"func (t *T[K]) run()":       "(*T).run",
		"func (t T[K, V]) Get()":     "T.Get",
		"func run[T any](x T) error": "run",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+source+" { panic(0) }\n", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := declared(file.Decls[0].(*ast.FuncDecl)); got != want {
			t.Errorf("%s = %s, want %s", source, got, want)
		}
	}
}

func TestTheLastAffectedReleaseHasNoneOfTheFixes(t *testing.T) {
	versions := []string{"v1.5.9", "v1.6.0", "v1.6.35", "v1.6.36", "v1.7.0-rc.1", "v1.7.0", "v1.7.20", "v1.7.21", "v2.0.0"}
	fixes := []string{"1.6.36", "1.7.21"}
	for _, test := range []struct {
		name, fix     string
		major         int
		versions      []string
		before, after string
	}{
		{"of the older line", "1.6.36", 0, versions, "v1.6.35", "v1.6.36"},
		{"of the newer line", "1.7.21", 0, versions, "v1.7.20", "v1.7.21"},
		{"a module whose major version is another", "1.36.0", 1, []string{"v0.34.4", "v0.35.9", "v0.36.0"}, "v0.35.9", "v0.36.0"},
		{"none below the fix", "1.5.0", 0, versions, "", "v1.5.9"},
		{"none from the fix on", "3.0.0", 0, versions, "v2.0.0", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := lastAffected(test.versions, test.major, test.fix, fixes); got != test.before {
				t.Errorf("before: %q", got)
			}
			if got := firstFrom(test.versions, test.major, test.fix); got != test.after {
				t.Errorf("after: %q", got)
			}
		})
	}
}
