package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"go.yaml.in/yaml/v3"
)

// matching are the files of a pattern below the checkout, at least one.
func matching(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("../..", pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("no file is %s: %v", pattern, err)
	}
	return found
}

func TestWorkflowsAreWhatGitHubKnows(t *testing.T) {
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := linter.LintFiles(matching(t, ".github/workflows/*.yml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range found {
		t.Error(fault)
	}
}

// TestWorkflowsPinTheirActions: a tag may be moved to other code.
func TestWorkflowsPinTheirActions(t *testing.T) {
	pinned := regexp.MustCompile(`uses: [\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+\n`)
	for _, path := range matching(t, ".github/workflows/*.yml") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		uses := 0
		for line := range strings.Lines(string(text)) {
			if !strings.Contains(line, "uses:") {
				continue
			}
			if uses++; !pinned.MatchString(line) && !strings.Contains(line, "uses: ./") {
				t.Errorf("%s: not pinned to a commit: %s", path, line)
			}
		}
		if uses == 0 {
			t.Errorf("%s uses no action", path)
		}
	}
}

func TestWorkflowsCallTargetsThatThereAre(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	calls, seen := regexp.MustCompile(`(?m)\bmake((?: [a-z-]+)+)`), 0
	for _, path := range append(matching(t, ".github/workflows/*.yml"), matching(t, ".ci/run")...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(strings.TrimSpace(line), "#") || strings.Contains(line, "name:") {
				continue
			}
			for _, call := range calls.FindAllStringSubmatch(line, -1) {
				for target := range strings.FieldsSeq(call[1]) {
					if seen++; !bytes.Contains(makefile, []byte("\n"+target+":")) {
						t.Errorf("%s: the Makefile has no %s", path, target)
					}
				}
			}
		}
	}
	if seen < 5 {
		t.Errorf("%d calls of make were found", seen)
	}
}

// form is a template of an issue, with every field that GitHub knows of those used here.
type form struct {
	Name, Description string
	Labels            []string
	Body              []struct {
		Type       string
		ID         string
		Attributes struct{ Label, Description, Value, Render string }
		// Validations are only for fields that people fill.
		Validations *struct{ Required bool }
	}
}

func TestTemplatesOfIssuesAreForms(t *testing.T) {
	for _, path := range matching(t, ".github/ISSUE_TEMPLATE/*.yml") {
		if filepath.Base(path) == "config.yml" {
			continue
		}
		var f form
		strictly(t, path, &f)
		if f.Name == "" || f.Description == "" || len(f.Body) == 0 {
			t.Errorf("%s has no name, description or body", path)
		}
		ids := map[string]bool{}
		for _, field := range f.Body {
			switch {
			case field.Type == "markdown":
				if field.Attributes.Value == "" || field.ID != "" {
					t.Errorf("%s: a text without value, or with an id", path)
				}
			case !slices.Contains([]string{"input", "textarea"}, field.Type):
				t.Errorf("%s: no field is %q", path, field.Type)
			case field.ID == "" || ids[field.ID] || field.Attributes.Label == "":
				t.Errorf("%s: the id %q is empty or there twice, or has no label", path, field.ID)
			}
			ids[field.ID] = true
		}
	}
}

// TestDependabotKnowsEveryModule compares its directories with the go.mod files.
func TestDependabotKnowsEveryModule(t *testing.T) {
	var config struct {
		Version int
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"`
			Directory   string
			Directories []string
			Schedule    struct{ Interval string }
			Groups      map[string]struct{ Patterns []string }
		}
	}
	strictly(t, "../../.github/dependabot.yml", &config)
	var modules []string
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".." || entry.Name() == "node_modules" || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if err == nil && entry.Name() == "go.mod" {
			modules = append(modules, "/"+strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../.."))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, module := range modules {
		modules[i] = "/" + strings.TrimLeft(module, "/")
	}
	slices.Sort(modules)
	if len(config.Updates) == 0 || !slices.Equal(config.Updates[0].Directories, modules) {
		t.Errorf("dependabot watches %+v, the modules are %q", config.Updates, modules)
	}
}

// strictly decodes a file whose fields are all known.
func strictly(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		t.Errorf("%s: %v", path, err)
	}
}
