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

// arrows lists the imports within the module that each package may have. ARCHITECTURE.md
// draws them. A package not listed here must be added with a decision. Every package may
// import analysis/say/wording, except those of analysis/judge.
var arrows = map[string][]string{
	"analysis":                 {"analysis/column"},
	"analysis/column":          {},
	"analysis/demand":          {},
	"analysis/expression":      {},
	"analysis/say/wording":     {"analysis"},
	"analysis/read/bundle":     {"analysis", "analysis/expression"},
	"analysis/read/detect":     {"analysis", "analysis/expression", "analysis/read/envelope", "analysis/read/gauge", "analysis/read/histogram", "analysis/read/line"},
	"analysis/read/histogram":  {"analysis", "analysis/expression", "analysis/read/line"},
	"analysis/read/gauge":      {"analysis", "analysis/expression", "analysis/read/envelope", "analysis/read/line"},
	"analysis/read/envelope":   {"analysis", "analysis/read/line"},
	"analysis/read/line":       {"analysis", "analysis/expression"},
	"analysis/read/json":       {"analysis", "analysis/expression", "analysis/read/line"},
	"analysis/read/goroutine":  {"analysis"},
	"analysis/read/join":       {"analysis", "analysis/read/goroutine"},
	"analysis/read/thread":     {"analysis", "analysis/expression", "analysis/read/line", "analysis/read/json"},
	"analysis/read/nodereport": {"analysis", "analysis/read/json"},
	"analysis/judge/identity":  {"analysis", "analysis/demand", "analysis/expression", words}, // it words edits that people entered
	"analysis/read/procfs":     {"analysis", "analysis/read/line"},
	"analysis/read/lsof":       {"analysis", "analysis/expression", "analysis/read/line", "analysis/read/json"},
	"analysis/read/tracer":     {"analysis", "analysis/read/line", "analysis/read/json"},
	"analysis/read/metrics":    {"analysis", "analysis/demand", "analysis/read/line", "analysis/read/json"},
	"analysis/read/family":     {"analysis", "analysis/expression"},
	"analysis/judge/diff":      {"analysis"},
	"analysis/say/filter":      {"analysis"},
	"analysis/say/evidence":    {"analysis", "analysis/judge/diff", "analysis/judge/knowledge", "analysis/judge/trend"},
	"analysis/judge/flame":     {"analysis"},
	"analysis/judge/wait":      {"analysis"},
	"analysis/judge/trend":     {"analysis", "analysis/demand", "analysis/judge/wait"},
	"analysis/judge/object":    {"analysis", "analysis/judge/trend"},
	"analysis/judge/edge":      {"analysis", "analysis/column"},
	"analysis/judge/progress":  {"analysis"},
	"cmd/lab":                  {"analysis", "analysis/judge/trend"},
	// It knows the program only by its report.
	"cmd/lab/simulation":       {},
	"cmd/lab/contradiction":    {},
	"cmd/lab/mutation":         {},
	"cmd/lab/source":           {"analysis/judge/knowledge"},
	"analysis/say/profile":     {"analysis"},
	"analysis/judge/knowledge": {"analysis", "analysis/expression", "analysis/read/family", words}, // it words a comparison of versions
	"analysis/say/redact":      {"analysis", "analysis/expression", "analysis/say/wording"},
	"analysis/say/noun":        {},
	"analysis/say/document":    {"analysis/expression"},
	"analysis/say/source":      {"analysis", "analysis/expression", "analysis/read/family"},
	"analysis/say/report":      {"analysis", "analysis/column", "analysis/expression", "analysis/say/document", "analysis/say/evidence", "analysis/say/noun", "analysis/say/source", "analysis/judge/edge", "analysis/judge/wait", "analysis/judge/identity", "analysis/judge/object", "analysis/judge/progress", "analysis/read/family", "analysis/read/join", "analysis/say/filter", "analysis/say/redact", "analysis/judge/diff", "analysis/judge/knowledge", "analysis/judge/trend"},
	"analysis/say/gate":        {"analysis", "analysis/judge/trend", "analysis/read/family", "analysis/say/document", "analysis/say/filter", "analysis/say/report"},
	"analysis/read/ingest":     {"analysis", "analysis/column", "analysis/expression", "analysis/read/bundle", "analysis/read/detect", "analysis/read/envelope", "analysis/read/gauge", "analysis/read/goroutine", "analysis/read/histogram", "analysis/read/thread", "analysis/read/nodereport", "analysis/read/procfs", "analysis/read/line", "analysis/read/lsof", "analysis/read/metrics", "analysis/read/tracer", "analysis/read/family", "analysis/read/join"},
	"samples/corpus":           {},
	"migrations":               {},
	"samples":                  {},
	"store/blob":               {"analysis", "analysis/expression"},
	"store":                    {"analysis", "analysis/column", "analysis/expression", "analysis/judge/identity", "store/blob", "migrations"},
	"web":                      {},
	"web/view":                 {"analysis", "analysis/say/document", "analysis/say/evidence", "analysis/judge/identity", "analysis/judge/diff", "analysis/say/filter", "analysis/read/family", "analysis/judge/flame", "analysis/judge/knowledge", "analysis/say/report", "analysis/say/source", "analysis/judge/trend", "web/chart"},
	"web/chart":                {"analysis", "web"},
	"web/block":                {"analysis/say/document", "analysis/say/wording", "web", "web/chart"},
	"web/page":                 {"analysis/say/document", "web", "web/block", "web/chart", "web/view"},
	"server/memory":            nil,
	"server/response":          {"analysis", "analysis/say/document", "analysis/read/family", "analysis/read/ingest", "analysis/say/profile", "analysis/say/report", "store/blob", "web", "web/page", "web/view"},
	"server/access":            {"analysis", "analysis/expression", "server/response", "store", "web"},
	"server/account":           {"analysis", "server/access", "server/response", "store", "web/page", "web/view"},
	"server/catalogue":         {"analysis", "analysis/judge/knowledge", "analysis/say/report", "server/response", "web/view"},
	"server/loader":            {"analysis", "analysis/judge/diff", "analysis/judge/identity", "analysis/judge/knowledge", "analysis/judge/trend", "analysis/say/report", "server/memory", "server/response", "store"},
	"server/intake":            {"analysis", "analysis/judge/identity", "analysis/read/bundle", "analysis/read/ingest", "analysis/say/report", "server/access", "server/memory", "server/response", "store", "store/blob", "web/page", "web/view"},
	"server/casepage":          {"analysis", "analysis/say/document", "analysis/say/evidence", "analysis/say/source", "analysis/judge/diff", "analysis/judge/flame", "analysis/judge/identity", "analysis/judge/knowledge", "analysis/judge/trend", "analysis/read/family", "analysis/say/filter", "analysis/say/report", "server/access", "server/catalogue", "server/loader", "server/response", "store", "web/page", "web/view"},
	"server/share":             {"analysis", "analysis/say/document", "analysis/read/family", "analysis/read/ingest", "analysis/say/redact", "analysis/say/report", "server/access", "server/casepage", "server/loader", "server/response", "store", "web/page", "web/view"},
	"server/page":              {"analysis", "analysis/say/report", "analysis/judge/knowledge", "analysis/read/bundle", "server/access", "server/casepage", "server/catalogue", "server/response", "store", "web/page", "web/view"},
	"server/alert":             {"analysis", "analysis/say/document", "store"},
	"server/mcp":               {"analysis", "analysis/say/report", "server/api", "server/loader", "server/response", "web/view"},
	"server/api":               {"analysis", "server/page", "server/response", "store"},
	"server":                   {"analysis", "analysis/say/source", "analysis/read/bundle", "analysis/read/ingest", "server/access", "server/account", "server/alert", "server/api", "server/casepage", "server/catalogue", "server/intake", "server/loader", "server/mcp", "server/memory", "server/page", "server/response", "server/share", "store", "web", "web/page", "web/view"},
	// Code that opens a live process stands apart. No reader imports it, and of the
	// readers it imports only that of the kernel's files.
	"cmd/leakdiff/capture": {"analysis", "analysis/expression", "analysis/read/procfs"},
	"cmd/leakdiff/manual":  {},
	"cmd/leakdiff":         {"analysis", "analysis/expression", "analysis/say/source", "analysis/read/bundle", "analysis/read/family", "analysis/say/document", "analysis/say/filter", "analysis/read/ingest", "analysis/judge/diff", "analysis/judge/knowledge", "analysis/say/gate", "analysis/say/redact", "analysis/say/report", "cmd/leakdiff/capture", "cmd/leakdiff/manual", "samples", "server", "server/access", "server/alert", "server/catalogue", "server/mcp", "server/memory", "store", "web", "web/page", "web/view"},
	// For tests alone.
	"internal/test/endless":             {"samples/corpus"},
	"internal/test/hostile":             {},
	"internal/test/outage":              {"store/blob"},
	"internal/test/gateway":             {"samples/corpus"},
	"internal/test/cluster":             {"samples/corpus"},
	"cmd/leakdiff/internal/testprogram": {},
}

const words = "analysis/say/wording"

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
			if own && (inner != words || wordless(name)) && !contains(allowed, inner) {
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

// wordless reports a package that measures and makes no sentences.
func wordless(name string) bool { return strings.HasPrefix(name, "analysis/judge/") }

// standardOnly fails if the domain types import more than the standard library.
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
	allowed := []string{"cmd", "server", "analysis", "store", "web", "internal", "migrations", "samples", "go.mod", "go.sum", "Makefile", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs", "LICENSE"}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !contains(allowed, e.Name()) {
			t.Errorf("%s does not belong to the top level", e.Name())
		}
	}
}
