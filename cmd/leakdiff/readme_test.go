package main

import (
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// codeBlocks are the fenced blocks of the README with their language.
var codeBlocks = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// TestTheCommandsOfTheREADMEWork runs every block of commands in a checkout, in their order,
// and compares what it prints with the block of text that follows it. Only addresses, the
// process id and the length of the capture are those of the test.
func TestTheCommandsOfTheREADMEWork(t *testing.T) {
	needProc(t)
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if words := len(strings.Fields(codeBlocks.ReplaceAllString(string(readme), ""))); words > 900 {
		t.Errorf("it has %d words, at most 900 are allowed", words)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"samples", "README.md", "docs", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", ".github", "cmd"} {
		full, err := filepath.Abs(filepath.Join("../..", name))
		if err == nil {
			err = os.Symlink(full, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".build"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary(t), filepath.Join(dir, ".build", "leakdiff")); err != nil {
		t.Fatal(err)
	}
	observed := httptest.NewServer(http.DefaultServeMux)
	defer observed.Close()
	server := serve(t, t.TempDir())
	replace := strings.NewReplacer("--pid 4711", "--pid "+strconv.Itoa(os.Getpid()), "http://127.0.0.1:6060", observed.URL,
		"--every 30s --count 5", "--every 100ms --count 2", "http://127.0.0.1:8080", server.url)
	ran, printed := 0, ""
	for _, block := range codeBlocks.FindAllStringSubmatch(string(readme), -1) {
		switch block[1] {
		case "sh":
			printed = ""
			for line := range strings.Lines(block[2]) {
				line = strings.TrimSpace(line)
				if target, ok := strings.CutPrefix(line, "make "); ok {
					if !strings.Contains(string(makefile), "\n"+target+":") {
						t.Errorf("the Makefile has no %s", target)
					}
					continue
				}
				if strings.HasSuffix(line, "leakdiff demo") {
					continue // it does not end; demo_test.go runs it
				}
				cmd := exec.Command("sh", "-c", replace.Replace(line))
				cmd.Dir, cmd.Env = dir, environment()
				out, err := cmd.Output()
				if err != nil {
					t.Errorf("%s: %v", line, err)
				}
				ran, printed = ran+1, string(out)
			}
		case "text":
			if block[2] != printed {
				t.Errorf("the README says\n%s\nthe program\n%s", block[2], printed)
			}
		default:
			t.Errorf("a block of %q is neither sh nor text", block[1])
		}
	}
	if ran < 3 {
		t.Errorf("%d commands were run", ran)
	}
	for _, link := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(string(readme), -1) {
		if _, err := os.Stat(filepath.Join(dir, link[1])); err != nil {
			t.Errorf("the link to %s leads nowhere", link[1])
		}
	}
}

// repositoryPath is a file or a directory of the repository that a document names.
var repositoryPath = regexp.MustCompile("`(\\.?[a-z]+/[\\w./-]*)`|\\]\\(([^)#:]+)\\)")

func TestTheThreatModelNamesOnlyFilesThatExist(t *testing.T) {
	text, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	named := repositoryPath.FindAllStringSubmatch(string(text), -1)
	if len(named) < 20 {
		t.Errorf("only %d files are named", len(named))
	}
	for _, path := range named {
		if _, err := os.Stat(filepath.Join("../..", path[1]+path[2])); err != nil {
			t.Errorf("there is no %s", path[1]+path[2])
		}
	}
}
