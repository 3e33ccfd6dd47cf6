package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// budgets bounds the lines of each part of the tree. Lines by hand are those of *.go without
// *_test.go and *_templ.go.
//
// A budget only falls: a part that falls by more than slack must lower its own. Raising one needs
// a commit that names the capability which the lines are for. After a merge, paste the rows that
// the test prints.
var budgets = []budget{
	{"analysis", 3584}, // with demand and expression
	{"analysis/read", 55808},
	{"analysis/judge", 21729},
	{"analysis/say", 34174},
	{"web", 27684},
	{"server", 16359},
	{"store", 16635},
	{"cmd/leakdiff", 11290},
	{"rest", 352},   // migrations, samples
	{"all", 187613}, // the sum of those above
	{"apart", 13516},
	{"templ", 885},
	{"generated", 4734},
}

type budget struct {
	part  string
	lines int
}

const slack = 100

func TestNoPartHasMoreLinesThanItsBudget(t *testing.T) {
	present, err := countLines("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range budgets {
		switch n := present[b.part]; {
		case n > b.lines:
			t.Errorf("%s has %d lines, %d more than its budget. Make it smaller, or raise the budget in a commit that names the capability:\n\t{%[1]q, %[2]d},", b.part, n, n-b.lines)
		case n < b.lines-slack:
			t.Errorf("%s has %d lines, %d fewer than its budget. Lower the budget:\n\t{%[1]q, %[2]d},", b.part, n, b.lines-n)
		}
		delete(present, b.part)
	}
	for part, n := range present {
		t.Errorf("%s has no budget:\n\t{%[1]q, %d},", part, n)
	}
}

// countLines counts the lines of each part of budgets below root.
func countLines(root string) (map[string]int, error) {
	lines, modules := map[string]int{}, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if hidden := strings.HasPrefix(d.Name(), ".") && name != "."; hidden || d.Name() == "node_modules" {
				return fs.SkipDir
			}
			_, none := os.Stat(filepath.Join(path, "go.mod"))
			modules[name] = none == nil && name != "." || modules[filepath.Dir(name)]
			return nil
		}
		part := partOf(filepath.ToSlash(name), modules[filepath.Dir(name)])
		if part == "" {
			return nil
		}
		content, err := os.ReadFile(path)
		n := bytes.Count(content, []byte("\n"))
		lines[part] += n
		if part != "apart" && part != "templ" && part != "generated" {
			lines["all"] += n
		}
		return err
	})
	return lines, err
}

// partOf is the part that a file belongs to, "" for one that is not counted. Modules of their
// own, the laboratory and test aids below internal count apart.
func partOf(name string, module bool) string {
	switch {
	case strings.HasSuffix(name, ".templ"):
		return "templ"
	case strings.HasSuffix(name, "_templ.go"):
		return "generated"
	case !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"):
		return ""
	case module, strings.HasPrefix(name, "cmd/lab/"), strings.Contains("/"+name, "/internal/test"):
		return "apart"
	}
	for _, part := range []string{"analysis/read", "analysis/judge", "analysis/say", "analysis", "web", "server", "store", "cmd/leakdiff"} {
		if strings.HasPrefix(name, part+"/") {
			return part
		}
	}
	return "rest"
}

func TestFilesBelongToTheirParts(t *testing.T) {
	for _, c := range []struct {
		name   string
		module bool
		want   string
	}{
		{"analysis/error.go", false, "analysis"},
		{"analysis/demand/demand.go", false, "analysis"},
		{"analysis/read/lsof/lsof.go", false, "analysis/read"},
		{"analysis/read/lsof/lsof_test.go", false, ""},
		{"web/page/case.templ", false, "templ"},
		{"web/page/case_templ.go", false, "generated"},
		{"web/style.css", false, ""},
		{"web/browsertest/own.go", true, "apart"},
		{"cmd/lab/simulation/judge.go", false, "apart"},
		{"cmd/leakdiff/internal/testprogram/testprogram.go", false, "apart"},
		{"internal/test/outage/outage.go", false, "apart"},
		{"cmd/leakdiff/main.go", false, "cmd/leakdiff"},
		{"samples/samples.go", false, "rest"},
	} {
		if got := partOf(c.name, c.module); got != c.want {
			t.Errorf("%s belongs to %q, want %q", c.name, got, c.want)
		}
	}
}

// longestFile bounds the lines of a file, tests and generated files apart: longer ones have more
// than one topic.
const longestFile = 600

func TestNoFileHasMoreThanOneTopic(t *testing.T) {
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "node_modules" || strings.HasPrefix(name, ".") && name != ".." && path != "../.." {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_templ.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if n := bytes.Count(text, []byte{'\n'}); n > longestFile {
			t.Errorf("%s has %d lines, at most %d: move a topic to a file of its own", path, n, longestFile)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
