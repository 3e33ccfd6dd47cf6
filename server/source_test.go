package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leakdiff/analysis/say/source"
	"leakdiff/server/intake"
	"leakdiff/server/share"
)

// startedCode is the file that starts the connections of sourcesDump, in line 5.
const startedCode = "package main\n\nfunc dial(c *lib.Conn) {\n\t// only-in-source <b>\n\tgo c.Read()\n}\n"

// sourcesDump prints connections of a module, which the program's main.go starts.
func sourcesDump(n int, main string) string {
	var b strings.Builder
	b.WriteString("goroutine 1 [chan receive]:\nmain.main()\n\t" + main + ":30 +0x1d\n\n")
	for i := range n {
		fmt.Fprintf(&b, "goroutine %d [select]:\nsync.(*Cond).Wait(0xc000)\n\t/usr/local/go/src/sync/cond.go:71 +0x1d\n"+
			"github.com/public/wire.(*Conn).Read(0xc0000%d)\n\t/root/go/pkg/mod/github.com/public/wire@v1.2.3/conn.go:41 +0x1d\n"+
			"github.com/public/inner/10.20.30.40.Loop()\n\t/root/go/pkg/mod/github.com/public/inner@v0.9.0/10.20.30.40/loop.go:7 +0x1d\ncreated by main.dial in goroutine 1\n\t%s:5 +0x1d\n\n", 100+i, 10000+32*i, main)
	}
	return b.String()
}

// sourcesSite is a server with a source directory, and a case of two dumps of a program with
// its main package in the file.
func sourcesSite(t *testing.T, main, directory string) (*site, intake.Uploaded) {
	t.Helper()
	dir, outside := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(dir, "main.go"): startedCode, filepath.Join(dir, "secret.txt"): startedCode, filepath.Join(outside, "escape.go"): startedCode,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "escape.go"), filepath.Join(dir, "escape.go")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	s := startSite(t, openStore(t), Config{Source: source.NewTree(root.FS())})
	return s, s.put("dumps.tgz", tgz(t, map[string]string{
		directory + "t0/goroutine-debug2.txt": sourcesDump(10, main), directory + "t1/goroutine-debug2.txt": sourcesDump(40, main),
	}))
}

// familyWith is the address of the first family of a case.
func (s *site) familyWith(up intake.Uploaded) string {
	s.t.Helper()
	page := s.get(up.Link).body
	at := strings.Index(page, "/families/g1:")
	end := strings.IndexByte(page[at:], '"')
	return strings.ReplaceAll(page[at:at+end], "&amp;", "&")
}

const (
	onlyInSource = "only-in-source"
	wireLink     = `href="https://github.com/public/wire/blob/v1.2.3/conn.go#L41" rel="noreferrer noopener"`
	innerLink    = "https://github.com/public/inner/blob/v0.9.0/10.20.30.40/loop.go#L7"
)

func TestAPageShowsTheSourceOfWhatStartedItsMembers(t *testing.T) {
	s, up := sourcesSite(t, "/srv/build/main.go", "")
	family := s.familyWith(up)
	object := "/objects/o1?case=" + up.Case
	twin := func(address, suffix string) string { return strings.Replace(address, "?", suffix+"?", 1) }
	s.run(t, []scenario{
		{name: "the family", path: family, status: 200, want: []string{"Started here", "main.go:5", onlyInSource + " &lt;b&gt;", wireLink, innerLink, "own code"}, never: []string{"<b>\n", "secret.txt"}},
		{name: "the kind of objects", path: object, status: 200, want: []string{"Started here", "main.go:5", onlyInSource, wireLink}},
		{name: "the case", path: up.Link, status: 200, never: []string{onlyInSource}},
		{name: "the family as one file, which leads nowhere", path: twin(family, ".html"), status: 200, want: []string{"Started here"}, never: []string{onlyInSource, "https://github.com"}},
		{name: "the family as Markdown", path: twin(family, ".md"), status: 200, never: []string{onlyInSource}},
		{name: "the family as JSON", path: twin(family, ".json"), status: 200, never: []string{onlyInSource, "https://github.com"}},
		{name: "the kind of objects as JSON", path: twin(object, ".json"), status: 200, never: []string{onlyInSource, "https://github.com"}},
	})
	for _, address := range []string{family, object} {
		for _, redact := range []bool{true, false} {
			r := s.do("POST", "/api/v1/permalinks", strings.NewReader(fmt.Sprintf(`{"case":%q,"view":%q,"redact":%t}`, up.Case, address, redact)))
			if r.status != 201 {
				t.Fatalf("freezing gave %d: %s", r.status, r.body)
			}
			link := decode[share.Result](t, r.body).Link
			s.run(t, []scenario{
				{name: fmt.Sprintf("frozen, redacted %t", redact), path: link, status: 200, want: []string{"Started here", "main.go:5", wireLink}, never: []string{onlyInSource}},
				{name: "its JSON", path: link + ".json", status: 200, never: []string{onlyInSource}},
				{name: "its file", path: link + ".html", status: 200, never: []string{onlyInSource, "https://github.com"}},
			})
		}
	}
}

func TestNoSourceOutsideTheDirectoryIsShown(t *testing.T) {
	for name, c := range map[string]struct{ main, want string }{
		"a link out of it":         {"/srv/build/escape.go", "The source directories have no escape.go."},
		"a path that climbs":       {"/srv/build/../../main.go", ""},
		"a file of another kind":   {"/srv/build/secret.txt", ""},
		"a file that is not in it": {"/srv/build/other.go", "The source directories have no other.go."},
	} {
		t.Run(name, func(t *testing.T) {
			s, up := sourcesSite(t, c.main, "")
			s.run(t, []scenario{{name: "the family", path: s.familyWith(up), status: 200, want: []string{"Started here", c.want}, never: []string{onlyInSource}}})
		})
	}
}

func TestARedactedPathHasNoLink(t *testing.T) {
	s, up := sourcesSite(t, "/srv/build/main.go", "")
	view := s.familyWith(up)
	r := s.do("POST", "/api/v1/permalinks", strings.NewReader(fmt.Sprintf(`{"case":%q,"view":%q}`, up.Case, view)))
	if r.status != 201 {
		t.Fatalf("freezing gave %d: %s", r.status, r.body)
	}
	s.run(t, []scenario{{name: "frozen", path: decode[share.Result](t, r.body).Link, status: 200, want: []string{wireLink, "loop.go:7"}, never: []string{"10.20.30.40", "https://github.com/public/inner"}}})
}
