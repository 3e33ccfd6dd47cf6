package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// arrows are the imports within the module that each package may have
// (ARCHITECTURE.md draws them); a package not listed here must be added with a
// decision.
var arrows = map[string][]string{
	"analysis":            {},
	"analysis/bundle":     {"analysis"},
	"analysis/detect":     {"analysis", "analysis/envelope"},
	"analysis/envelope":   {"analysis"},
	"analysis/line":       {"analysis"},
	"analysis/goroutine":  {"analysis"},
	"analysis/thread":     {"analysis", "analysis/line"},
	"analysis/nodereport": {"analysis"},
	"analysis/identity":   {"analysis"},
	"analysis/procfs":     {"analysis", "analysis/line"},
	"analysis/lsof":       {"analysis", "analysis/line"},
	"analysis/metrics":    {"analysis"},
	"analysis/family":     {"analysis"},
	"analysis/diff":       {"analysis"},
	"analysis/filter":     {"analysis"},
	"analysis/flame":      {"analysis"},
	"analysis/trend":      {"analysis"},
	"analysis/lab":        {"analysis", "analysis/trend"},
	"analysis/profile":    {"analysis"},
	"analysis/knowledge":  {"analysis", "analysis/family"},
	"analysis/redact":     {"analysis"},
	"analysis/report":     {"analysis", "analysis/identity", "analysis/family", "analysis/filter", "analysis/diff", "analysis/knowledge", "analysis/trend"},
	"analysis/ingest":     {"analysis", "analysis/bundle", "analysis/detect", "analysis/envelope", "analysis/goroutine", "analysis/thread", "analysis/nodereport", "analysis/procfs", "analysis/lsof", "analysis/metrics", "analysis/family"},
	"samples/corpus":      {},
	"migrations":          {},
	"samples":             {},
	"store/blob":          {"analysis"},
	"store":               {"analysis", "analysis/identity", "store/blob", "migrations"},
	"web":                 {},
	"web/view":            {"analysis", "analysis/identity", "analysis/diff", "analysis/filter", "analysis/family", "analysis/flame", "analysis/knowledge", "analysis/report", "analysis/trend", "web/chart"},
	"web/chart":           {},
	"web/page":            {"web", "web/chart", "web/view"},
	"server":              {"analysis", "analysis/identity", "analysis/bundle", "analysis/diff", "analysis/family", "analysis/filter", "analysis/flame", "analysis/ingest", "analysis/knowledge", "analysis/profile", "analysis/redact", "analysis/report", "analysis/trend", "store", "store/blob", "web", "web/page", "web/view"},
	// What opens a live process stands apart: nothing that reads evidence knows it, and
	// it knows the format of the kernel's files alone.
	"cmd/leakdiff/capture": {"analysis/procfs"},
	"cmd/leakdiff":         {"analysis", "analysis/bundle", "analysis/family", "analysis/filter", "analysis/ingest", "analysis/knowledge", "analysis/report", "cmd/leakdiff/capture", "samples", "server", "store", "web/page", "web/view"},
}

func TestImportsPointDownOnly(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "leakdiff/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath    string
			Imports, Deps []string
		}
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, "leakdiff/")
		allowed, known := arrows[name]
		if !known {
			t.Errorf("package %s is not in the list of arrows", name)
			continue
		}
		seen[name] = true
		for _, imported := range p.Imports {
			inner, own := strings.CutPrefix(imported, "leakdiff/")
			if own && !contains(allowed, inner) {
				t.Errorf("%s imports %s, which the architecture forbids", name, inner)
			}
		}
		if name == "analysis" {
			standardOnly(t, p.Deps)
		}
	}
	for name := range arrows {
		if !seen[name] {
			t.Errorf("the list of arrows names %s, which does not exist", name)
		}
	}
}

// standardOnly holds the domain types to the standard library.
func standardOnly(t *testing.T, deps []string) {
	t.Helper()
	for _, d := range deps {
		if first, _, _ := strings.Cut(d, "/"); strings.Contains(first, ".") && first != "vendor" {
			t.Errorf("analysis depends on %s; domain types use the standard library only", d)
		}
	}
}

func contains(list []string, want string) bool {
	for _, s := range list {
		if s == want {
			return true
		}
	}
	return false
}

func TestTopLevelHoldsNothingElse(t *testing.T) {
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{"cmd", "server", "analysis", "store", "web", "migrations", "samples", "go.mod", "go.sum", "Makefile", "README.md", "ARCHITECTURE.md", "LICENSE"}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !contains(allowed, e.Name()) {
			t.Errorf("%s does not belong to the top level", e.Name())
		}
	}
}
