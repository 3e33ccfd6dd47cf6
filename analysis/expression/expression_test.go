package expression_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"leakdiff/analysis/expression"
)

func TestAnExpressionMatchesAsPackageRegexpDoes(t *testing.T) {
	e := expression.Lazy(`(\d+)-(\w+)`)
	if got := e.FindStringSubmatch("web 17-a"); len(got) != 3 || got[1] != "17" || got[2] != "a" {
		t.Errorf("got %q", got)
	}
	if e.MatchString("web") || !e.Match([]byte("1-b")) || e.String() != `(\d+)-(\w+)` {
		t.Error("the expression does not match what it says")
	}
}

func TestEveryExpressionOfTheProgramCompiles(t *testing.T) {
	compiled := 0
	for dir, files := range sources(t, "..") {
		for _, text := range lazyTexts(t, dir, files) {
			compiled++
			if _, err := regexp.Compile(text); err != nil {
				t.Errorf("%s: %v", dir, err)
			}
		}
	}
	if compiled < 250 {
		t.Errorf("only %d expressions were found, of more than 250", compiled)
	}
}

func TestNoExpressionIsCompiledAtStart(t *testing.T) {
	for dir, files := range sources(t, "..") {
		for _, f := range files {
			for _, d := range f.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
					ast.Inspect(g, func(n ast.Node) bool {
						if called(n, "regexp", "MustCompile") != nil {
							t.Errorf("%s compiles %s at start; use expression.Lazy", dir, g.Specs[0].(*ast.ValueSpec).Names[0])
						}
						return true
					})
				}
			}
		}
	}
}

// sources are the parsed files of each directory below root, without tests.
func sources(t *testing.T, root string) map[string][]*ast.File {
	t.Helper()
	out := map[string][]*ast.File{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		out[filepath.Dir(path)] = append(out[filepath.Dir(path)], f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// makers are functions that pass their parameter to Lazy, by the directory and the name.
var makers = map[string]string{"../read/ingest": "pattern"}

// lazyTexts are the texts of a package's expressions.
func lazyTexts(t *testing.T, dir string, files []*ast.File) (texts []string) {
	t.Helper()
	values := map[string]ast.Expr{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == len(v.Values) {
				for i, name := range v.Names {
					values[name.Name] = v.Values[i]
				}
			}
			return true
		})
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if d, ok := n.(*ast.FuncDecl); ok && (makers[dir] == d.Name.Name || d.Name.Name == "Lazy") {
				return false
			}
			arg := called(n, "expression", "Lazy")
			if arg == nil && makers[dir] != "" {
				arg = called(n, "", makers[dir])
			}
			if arg == nil {
				return true
			}
			text, ok := folded(arg, values)
			if !ok {
				t.Errorf("%s: the text of an expression is no constant", dir)
			}
			texts = append(texts, text)
			return true
		})
	}
	return texts
}

// called returns the argument if n calls a function of a package with one, or one of its
// own where the package is "".
func called(n ast.Node, pkg, name string) ast.Expr {
	c, ok := n.(*ast.CallExpr)
	if !ok || len(c.Args) != 1 {
		return nil
	}
	switch f := c.Fun.(type) {
	case *ast.Ident:
		if pkg == "" && f.Name == name {
			return c.Args[0]
		}
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok && x.Name == pkg && f.Sel.Name == name {
			return c.Args[0]
		}
	}
	return nil
}

// folded is the text of a constant: literals, their sums, names of them, and the text of
// another expression.
func folded(e ast.Expr, values map[string]ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		x, ok := folded(e.X, values)
		y, also := folded(e.Y, values)
		return x + y, ok && also
	case *ast.Ident:
		if value, ok := values[e.Name]; ok {
			return folded(value, values)
		}
	case *ast.CallExpr:
		if arg := called(e, "expression", "Lazy"); arg != nil {
			return folded(arg, values)
		}
		if s, ok := e.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "String" {
			return folded(s.X, values)
		}
	}
	return "", false
}
