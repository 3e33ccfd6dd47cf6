package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// change is one way to change the program: a number made larger or smaller, or a condition
// switched off.
type change struct {
	id   int
	what string
	how  string
	at   token.Position
	// name says which change it is, wherever its line stands: the file, the function, the
	// number and the expression around it.
	name string
}

func (c change) String() string {
	return fmt.Sprintf("%s:%d: %s %s", filepath.Base(c.at.Filename), c.at.Line, c.what, c.how)
}

// setting is the value of MUTANT for it.
func (c change) setting() string { return fmt.Sprintf("%d %s", c.id, c.how) }

// source is a package whose numbers and conditions ask MUTANT for their value.
type source struct {
	files   map[string]string
	changes []change

	fset    *token.FileSet
	info    *types.Info
	checked *types.Package
	named   map[types.Object]int
	last    int
	edits   map[string][]edit
}

// edit inserts text at an offset. Of edits at one offset, those that close come before those
// that open; the wider opens first and closes last.
type edit struct {
	offset, width int
	text          string
	closes        bool
}

// instrument reads the package of a directory without its tests.
func instrument(dir string, conditions []string) (*source, error) {
	s := &source{files: map[string]string{}, fset: token.NewFileSet(), named: map[types.Object]int{}, edits: map[string][]edit{},
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}}
	list, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, base := range list.GoFiles {
		f, err := parser.ParseFile(s.fset, filepath.Join(dir, base), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if err := os.Chdir(dir); err != nil { // imports are looked up from the package
		return nil, err
	}
	config := types.Config{Importer: importer.ForCompiler(s.fset, "source", nil)}
	s.checked, err = config.Check(list.Name, s.fset, files, s.info)
	if back := os.Chdir(here); err == nil {
		err = back
	}
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		s.visit(f, conditions)
	}
	for _, f := range files {
		path := s.fset.Position(f.Pos()).Filename
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s.files[filepath.Base(path)] = apply(string(text), s.edits[path])
	}
	s.distinguish()
	s.files["mutant_asked.go"] = strings.Replace(asked, "package asked", "package "+list.Name, 1)
	return s, nil
}

// visit changes the numbers of a file, and the conditions of the named functions.
func (s *source) visit(f *ast.File, conditions []string) {
	var parents []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			parents = parents[:len(parents)-1]
			return true
		}
		switch n := n.(type) {
		case *ast.BasicLit:
			s.literal(n, parents)
		case *ast.Ident:
			s.constant(n, parents)
		case *ast.FuncDecl:
			if slices.Contains(conditions, n.Name.Name) {
				s.conditions(n)
			}
		}
		parents = append(parents, n)
		return true
	})
}

// fixed reports a place that must be a constant, or where a number is no threshold: the
// declaration of a constant, the length of an array, a shift, a label of a switch, an argument
// of strconv.
func (s *source) fixed(parents []ast.Node) bool {
	for k, p := range parents {
		switch p := p.(type) {
		case *ast.GenDecl:
			if p.Tok == token.CONST {
				return true
			}
		case *ast.ArrayType:
			return true
		case *ast.BinaryExpr:
			if p.Op == token.SHL || p.Op == token.SHR {
				return true
			}
		case *ast.CallExpr:
			if called, ok := p.Fun.(*ast.SelectorExpr); ok {
				if of, ok := called.X.(*ast.Ident); ok && of.Name == "strconv" {
					return true
				}
			}
		case *ast.CaseClause:
			if k > 1 {
				if tagged, ok := parents[k-2].(*ast.SwitchStmt); ok && tagged.Tag != nil && k == len(parents)-1 {
					return true
				}
			}
		case *ast.KeyValueExpr:
			if _, literal := p.Key.(*ast.BasicLit); literal {
				return true
			}
		}
	}
	return false
}

// literal changes a number other than 0 and 1, which are structure.
func (s *source) literal(n *ast.BasicLit, parents []ast.Node) {
	if n.Kind != token.INT && n.Kind != token.FLOAT || s.fixed(parents) {
		return
	}
	of := s.info.Types[n]
	if value, exact := constant.Float64Val(constant.ToFloat(of.Value)); exact && (value == 0 || value == 1) {
		return
	}
	if kind := numeric(of.Type); kind != "" {
		s.number(n, s.add(n, "the number "+n.Value, "up", "down"), kind)
		s.rename(2, function(parents)+": "+n.Value+" in "+s.around(parents))
	}
}

// rename names the changes added last.
func (s *source) rename(last int, name string) {
	for k := len(s.changes) - last; k < len(s.changes); k++ {
		c := &s.changes[k]
		c.name = filepath.Base(c.at.Filename) + " " + name + " " + c.how
	}
}

// function is the name of the function around a place.
func function(parents []ast.Node) string {
	for _, p := range parents {
		if f, ok := p.(*ast.FuncDecl); ok {
			return f.Name.Name
		}
	}
	return ""
}

// around is the smallest expression or statement around a place.
func (s *source) around(parents []ast.Node) string {
	for k := len(parents) - 1; k >= 0; k-- {
		if _, ok := parents[k].(*ast.ParenExpr); ok {
			continue
		}
		var b strings.Builder
		if err := printer.Fprint(&b, s.fset, parents[k]); err != nil {
			return ""
		}
		first, _, _ := strings.Cut(b.String(), "\n")
		return first
	}
	return ""
}

// distinguish numbers the changes that would have one name.
func (s *source) distinguish() {
	seen := map[string]int{}
	for k := range s.changes {
		c := &s.changes[k]
		if seen[c.name]++; seen[c.name] > 1 {
			c.name += fmt.Sprintf(" (%d)", seen[c.name])
		}
	}
}

// constant changes a named number of the package wherever it is used.
func (s *source) constant(n *ast.Ident, parents []ast.Node) {
	object, ok := s.info.Uses[n].(*types.Const)
	if !ok || object.Pkg() != s.checked || s.fixed(parents) {
		return
	}
	if _, enumerated := object.Type().(*types.Named); enumerated && object.Type().String() != "time.Duration" {
		return
	}
	kind := numeric(s.info.Types[n].Type)
	if kind == "" {
		return
	}
	id, known := s.named[object]
	if !known {
		id = s.add(n, "the constant "+n.Name, "up", "down")
		s.changes[len(s.changes)-1].at = s.fset.Position(object.Pos())
		s.changes[len(s.changes)-2].at = s.fset.Position(object.Pos())
		s.rename(2, "constant "+n.Name)
		s.named[object] = id
	}
	s.number(n, id, kind)
}

// numeric is the name of a type of numbers as the package writes it, or "".
func numeric(t types.Type) string {
	basic, ok := t.Underlying().(*types.Basic)
	if !ok || basic.Info()&types.IsNumeric == 0 || basic.Info()&(types.IsUntyped|types.IsComplex) != 0 {
		return ""
	}
	switch name := types.TypeString(t, func(p *types.Package) string { return p.Name() }); {
	case name == "time.Duration", !strings.Contains(name, "."):
		return name
	}
	return ""
}

func (s *source) add(n ast.Node, what string, hows ...string) int {
	s.last++
	for _, how := range hows {
		at := s.fset.Position(n.Pos())
		s.changes = append(s.changes, change{id: s.last, what: what, how: how, at: at, name: filepath.Base(at.Filename) + " " + what + " " + how})
	}
	return s.last
}

func (s *source) number(n ast.Node, id int, kind string) {
	s.wrap(n, fmt.Sprintf("mutantNumber(%d, %s(", id, kind), "))")
}

func (s *source) wrap(n ast.Node, open, closing string) {
	from, to := s.fset.Position(n.Pos()), s.fset.Position(n.End())
	width := to.Offset - from.Offset
	s.edits[from.Filename] = append(s.edits[from.Filename], edit{from.Offset, width, open, false}, edit{to.Offset, width, closing, true})
}

// conditions switches off every row, case and operand of a function: what is returned last
// by a function that is a row, the condition of a case, one side of && or ||.
func (s *source) conditions(f *ast.FuncDecl) {
	off := func(n ast.Expr, what string) {
		s.wrap(n, "((", fmt.Sprintf(") && !mutantOff(%d))", s.add(n, what, "off")))
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			for _, statement := range n.Body.List {
				if r, ok := statement.(*ast.ReturnStmt); ok && len(r.Results) == 2 {
					off(r.Results[1], "row "+types.ExprString(r.Results[0])+", "+types.ExprString(r.Results[1]))
				}
			}
		case *ast.SwitchStmt:
			for _, clause := range n.Body.List {
				if c := clause.(*ast.CaseClause); n.Tag == nil && len(c.List) == 1 {
					off(c.List[0], "case "+types.ExprString(c.List[0]))
				}
			}
		case *ast.BinaryExpr:
			for _, side := range []ast.Expr{n.X, n.Y} {
				switch n.Op {
				case token.LAND:
					s.wrap(side, "((", fmt.Sprintf(") || mutantOff(%d))", s.add(side, "in "+f.Name.Name+", operand "+types.ExprString(side)+" of &&", "off")))
				case token.LOR:
					off(side, "in "+f.Name.Name+", operand "+types.ExprString(side)+" of ||")
				}
			}
		}
		return true
	})
}

// apply inserts the edits.
func apply(text string, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int {
		if c := cmp.Compare(a.offset, b.offset); c != 0 {
			return c
		}
		switch {
		case a.closes && !b.closes:
			return -1
		case b.closes && !a.closes:
			return 1
		case a.closes:
			return cmp.Compare(a.width, b.width)
		}
		return cmp.Compare(b.width, a.width)
	})
	var b strings.Builder
	at := 0
	for k := 0; k < len(edits); k++ {
		b.WriteString(text[at:edits[k].offset])
		at = edits[k].offset
		b.WriteString(edits[k].text)
	}
	b.WriteString(text[at:])
	return b.String()
}

// asked is added to the package: it reads which change is asked for.
const asked = `package asked

import (
	"os"
	"strconv"
	"strings"
)

var mutantID, mutantHow = func() (int, string) {
	id, how, _ := strings.Cut(os.Getenv("MUTANT"), " ")
	n, _ := strconv.Atoi(id)
	return n, how
}()

func mutantOff(id int) bool { return id == mutantID }

// mutantNumber changes a number by a quarter, a whole one by 1 at least.
func mutantNumber[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64](id int, v T) T {
	if id != mutantID {
		return v
	}
	step := v / 4
	if half := T(1) / 2; half == 0 && step == 0 {
		step = 1
	}
	if mutantHow == "up" {
		return v + step
	}
	return v - step
}
`
