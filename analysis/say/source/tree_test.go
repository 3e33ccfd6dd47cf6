package source

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leakdiff/analysis"
)

// code is a file with a go statement in line 8.
const code = "package x\n\nimport \"net\"\n\n// Run serves.\nfunc Run(l net.Listener) {\n\tfor {\n\t\tgo serve(l)\n\t}\n}\n\nfunc serve(l net.Listener) {}\n"

func open(t *testing.T, dir string) fs.FS {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root.FS()
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStart(t *testing.T) {
	cache, checkout, other, outside := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	write(t, cache, map[string]string{"github.com/!x/y@v1.2.3/run/x.go": code, "golang.org/toolchain@v0.0.1-go1.25.5.linux-amd64/src/net/http/server.go": code})
	write(t, checkout, map[string]string{
		"cmd/app/main.go": code, "main.go": strings.ReplaceAll(code, "serve(l)", "root(l)"), "vendor/github.com/v/w/z.go": code, "pool/pool.go": "package pool\n", "pool/worker.go": code, "pool/two.go": strings.ReplaceAll(code, "Run(", "Walk("),
		"notes.txt": code, "big.go": code + strings.Repeat("// long\n", 600_000), "wide.go": strings.ReplaceAll(code, "go serve(l)", "go serve(l) // "+strings.Repeat("ä", 1000)),
		"two.go": code, "deep/two.go": "package deep\n", ".git/hook.go": code, ".env.go": code,
	})
	write(t, other, map[string]string{"two.go": code, "only/two.go": code})
	write(t, outside, map[string]string{"secret.go": code})
	for link, to := range map[string]string{"out.go": filepath.Join(outside, "secret.go"), "up.go": "../" + filepath.Base(outside) + "/secret.go", "same.go": "main.go", "text.go": "/etc/passwd"} {
		if err := os.Symlink(to, filepath.Join(checkout, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(checkout, "dir.go"), 0o700); err != nil {
		t.Fatal(err)
	}
	tree := NewTree(open(t, cache), open(t, checkout), open(t, other))
	const absent = "The source directories have no "
	for _, c := range []struct {
		name, file    string
		line          int
		path, missing string
	}{
		{"a module cache by what follows pkg/mod", "/root/go/pkg/mod/github.com/!x/y@v1.2.3/run/x.go", 8, "github.com/!x/y@v1.2.3/run/x.go", ""},
		{"a module cache by the path of a build with -trimpath", "github.com/X/y@v1.2.3/run/x.go", 8, "github.com/!x/y@v1.2.3/run/x.go", ""},
		{"a module cache in another version", "github.com/X/y@v1.2.4/run/x.go", 8, "", absent + "x.go."},
		{"a downloaded release of Go", "/root/go/pkg/mod/golang.org/toolchain@v0.0.1-go1.25.5.linux-amd64/src/net/http/server.go", 8, "golang.org/toolchain@v0.0.1-go1.25.5.linux-amd64/src/net/http/server.go", ""},
		{"a checkout by the longest end of the path", "/srv/build/app/cmd/app/main.go", 8, "cmd/app/main.go", ""},
		{"a checkout on Windows", `D:\build\app\cmd\app\main.go`, 8, "cmd/app/main.go", ""},
		{"a file in the root of the checkout", "/srv/build/app/main.go", 8, "main.go", ""},
		{"a file in a hidden directory", "/srv/app/.git/hook.go", 8, "", absent + "hook.go."},
		{"a hidden file", "/srv/app/.env.go", 8, "", absent + ".env.go."},
		{"a vendored package of a build with -trimpath", "github.com/v/w/z.go", 8, "vendor/github.com/v/w/z.go", ""},
		{"a vendored package of a module with a version", "github.com/v/w@v1.0.0/z.go", 8, "vendor/github.com/v/w/z.go", ""},
		{"the checkout of a module with a version", "example.com/app@v1.0.0/pool/worker.go", 8, "pool/worker.go", ""},
		{"a file of the checkout of another module", "example.com/other@v1.0.0/pool/two.go", 8, "", "Line 8 of two.go starts no goroutine in the source directories: that is another version."},
		{"the longest end that one directory alone has", "/srv/app/only/two.go", 8, "only/two.go", ""},
		{"an end that two directories have", "/srv/app/two.go", 8, "", absent + "two.go."},
		{"a link inside the directory", "/srv/app/same.go", 8, "same.go", ""},
		{"a link out of the directory", "/srv/app/out.go", 8, "", absent + "out.go."},
		{"a link up and out of the directory", "/srv/app/up.go", 8, "", absent + "up.go."},
		{"a link to a file that is no source", "/srv/app/text.go", 1, "", absent + "text.go."},
		{"a directory", "/srv/app/dir.go", 1, "", absent + "dir.go."},
		{"a file that is not there", "/srv/app/none.go", 1, "", absent + "none.go."},
		{"a file that is too large", "/srv/app/big.go", 8, "", "big.go could not be read in the source directories."},
		{"a line behind the end", "/srv/app/pool/worker.go", 400, "", "worker.go ends before line 400 in the source directories."},
		{"a line of another version", "/srv/app/pool/worker.go", 2, "", "Line 2 of worker.go starts no goroutine in the source directories: that is another version."},
		{"a file of another kind", "/srv/app/notes.txt", 8, "", ""},
		{"a path that climbs", "/srv/app/../../main.go", 8, "", ""},
		{"a file without line", "/srv/app/main.go", 0, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, missing := tree.Start(analysis.Frame{Func: "x.Run", File: c.file, Line: c.line})
			got := ""
			if e != nil {
				got = e.Path
			}
			if got != c.path || missing != c.missing {
				t.Fatalf("got %q, %q, want %q, %q", got, missing, c.path, c.missing)
			}
			if e != nil && (e.First != 3 || e.Line != 8 || len(e.Lines) != 10 && len(e.Lines) != 2*Around || !strings.Contains(e.Lines[e.Line-e.First], "go ")) {
				t.Errorf("%+v does not show the statement", e)
			}
		})
	}
	t.Run("a long line is cut", func(t *testing.T) {
		e, _ := tree.Start(analysis.Frame{File: "/srv/app/wide.go", Line: 8})
		if e == nil || len([]rune(e.Lines[5])) != mostWidth {
			t.Errorf("%+v", e)
		}
	})
	t.Run("no directory says nothing", func(t *testing.T) {
		var none *Tree
		for _, tree := range []*Tree{none, NewTree()} {
			if e, missing := tree.Start(analysis.Frame{File: "/srv/app/main.go", Line: 8}); e != nil || missing != "" {
				t.Errorf("%v %q", e, missing)
			}
		}
	})
}

func TestDeclares(t *testing.T) {
	const text = "package p\n\nfunc Run(n int) {}\n\nfunc (p *Pool[T]) Start() {}\n\nfunc (v Value) Do() {}\n\nfunc Map[K any](k K) {}\n"
	for function, want := range map[string]bool{
		"example.com/p.Run": true, "example.com/p.Run.func1": true, "p.Run": true, "example.com/p.(*Pool[...]).Start.func2.1": true, "example.com/p.Value.Do": true,
		"example.com/p.Map[...].func1": true, "gopkg.in/p.v2.Run": true, "example.com/p.Ru": false, "example.com/p.Stop": false, "example.com/p.(*Pool).Run2": false, "panic": false, "": false,
	} {
		if got := declares(text, function); got != want {
			t.Errorf("declares(%q) = %t, want %t", function, got, want)
		}
	}
}

// recording records what is asked of a file system.
type recording struct {
	fs.FS
	names *[]string
}

func (r recording) Open(name string) (fs.File, error) {
	*r.names = append(*r.names, name)
	return nil, fs.ErrNotExist
}

func FuzzStart(f *testing.F) {
	for _, file := range []string{"/srv/app/cmd/main.go", "/go/pkg/mod/github.com/!x/y@v1.2.3/../z.go", `..\..\x.go`, "a/./b.go", "vendor/../../etc/passwd.go"} {
		f.Add(file, 8)
	}
	f.Fuzz(func(t *testing.T, file string, line int) {
		var names []string
		NewTree(recording{names: &names}).Start(analysis.Frame{File: file, Line: line})
		for _, name := range names {
			if !fs.ValidPath(name) || !strings.HasSuffix(name, ".go") || strings.Contains(name, `\`) {
				t.Fatalf("%q asks for %q", file, name)
			}
		}
		if len(names) > mostElements+1 {
			t.Fatalf("%q asks for %d files", file, len(names))
		}
	})
}
