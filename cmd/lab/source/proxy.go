package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"leakdiff/analysis/judge/knowledge"
)

// proxy reads modules through the go command, each list and each release once.
type proxy struct {
	// dir has the modules. It is removed at the end unless it is kept.
	dir  string
	keep bool
	// standard are the packages of the standard library.
	standard   map[string]bool
	lists      map[string][]string
	functions  map[string][]string
	components []knowledge.Component
}

func newProxy(keep string) (*proxy, error) {
	p := &proxy{dir: keep, keep: keep != "", standard: map[string]bool{}, lists: map[string][]string{}, functions: map[string][]string{}}
	var err error
	if !p.keep {
		if p.dir, err = os.MkdirTemp("", "leakdiff-source-"); err != nil {
			return nil, err
		}
	}
	if p.dir, err = filepath.Abs(p.dir); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(p.dir, "go.mod"), []byte("module source\n"), 0o600); err != nil {
		return nil, err
	}
	text, err := p.run("list", "std")
	for _, name := range strings.Fields(string(text)) {
		p.standard[name] = true
	}
	return p, err
}

func (p *proxy) close() {
	if !p.keep {
		os.RemoveAll(p.dir)
	}
}

func (p *proxy) run(args ...string) ([]byte, error) {
	c := exec.Command("go", args...)
	c.Dir = p.dir
	c.Env = append(os.Environ(), "GOMODCACHE="+filepath.Join(p.dir, "modules"), "GOFLAGS=-modcacherw -mod=mod", "GOWORK=off")
	return c.Output()
}

// versions are the releases of a module, nil for one that is not served.
func (p *proxy) versions(module string) []string {
	if list, ok := p.lists[module]; ok {
		return list
	}
	text, _ := p.run("list", "-m", "-versions", module)
	list := strings.Fields(string(text))
	p.lists[module] = slices.Delete(list, 0, min(1, len(list)))
	return p.lists[module]
}

// required is the module of a frame, in the version that another module requires.
func (p *proxy) required(from string, f frame) (own []string) {
	var module struct{ GoMod string }
	var file struct {
		Require []struct{ Path, Version string }
	}
	if text, err := p.run("list", "-m", "-json", from); err != nil || json.Unmarshal(text, &module) != nil || module.GoMod == "" {
		return nil
	}
	if text, err := p.run("mod", "edit", "-json", module.GoMod); err != nil || json.Unmarshal(text, &file) != nil {
		return nil
	}
	longest := 0
	for _, r := range file.Require {
		if !f.short() && f.under(r.Path) && len(r.Path) > longest {
			longest, own = len(r.Path), []string{r.Path + "@" + r.Version}
		}
	}
	return own
}

// declares looks for a function in modules with their versions.
func (p *proxy) declares(modules []string, f frame) finding {
	name := strings.Trim(f.path+"."+f.function, ".")
	if len(modules) == 0 {
		return finding{notHad, "no module of " + name + " is served"}
	}
	var read []string
	for _, module := range modules {
		functions := p.declarations(module, f)
		if functions == nil {
			continue
		}
		if slices.ContainsFunc(functions, f.is) {
			return finding{held, module}
		}
		read = append(read, module)
	}
	if len(read) == 0 {
		return finding{notHad, "no source of " + strings.Join(modules, ", ") + " is served"}
	}
	return finding{fault, name + " is not declared in " + strings.Join(read, ", ")}
}

// declarations are the functions of a module in the packages of a frame, nil if the module
// cannot be had.
func (p *proxy) declarations(module string, f frame) []string {
	key := module + " " + f.path
	if known, ok := p.functions[key]; ok {
		return known
	}
	var download struct{ Path, Dir string }
	text, err := p.run("mod", "download", "-json", module)
	if err != nil || json.Unmarshal(text, &download) != nil || download.Dir == "" {
		p.functions[key] = nil
		return nil
	}
	found := []string{}
	filepath.WalkDir(download.Dir, func(name string, d fs.DirEntry, err error) error {
		below, _ := filepath.Rel(download.Dir, filepath.Dir(name))
		if err == nil && !d.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && f.in(path.Join(download.Path, filepath.ToSlash(below))) {
			found = append(found, functionsIn(name)...)
		}
		return nil
	})
	p.functions[key] = found
	return found
}

// functionsIn are the functions that a file declares, as far as it can be parsed.
func functionsIn(name string) (out []string) {
	file, _ := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if file == nil {
		return nil
	}
	for _, d := range file.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			out = append(out, declared(d))
		}
	}
	return out
}
