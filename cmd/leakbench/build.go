package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// build makes the program of a version in a directory of its own and returns the command
// line that starts it there, without the port.
func build(c leakCase, suffix, dir string) ([]string, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "drivers", c.name))); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "driver.js")); err == nil {
		return buildNode(c, suffix, dir)
	}
	return buildGo(c, suffix, dir)
}

// buildGo pins the module's version. A file named also lists further modules to pin, as the
// arguments of go get.
func buildGo(c leakCase, suffix, dir string) ([]string, error) {
	common, err := os.ReadFile("testdata/common/main.go")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), common, 0o644); err != nil {
		return nil, err
	}
	mod := fmt.Sprintf("module example.com/%s\n\ngo 1.26\n", c.name)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644); err != nil {
		return nil, err
	}
	steps := [][]string{{"go", "mod", "tidy"}, {"go", "build", "-trimpath", "-p", "2", "-o", "app", "."}}
	if c.module != "" {
		get := []string{"go", "get", c.module + "@" + c.version(suffix)}
		if also, err := os.ReadFile(filepath.Join(dir, "also")); err == nil {
			get = append(get, strings.Fields(string(also))...)
		}
		steps = append([][]string{get}, steps...)
	}
	for _, step := range steps {
		if err := run(dir, step...); err != nil {
			return nil, err
		}
	}
	if c.module != "" {
		// go mod tidy may have chosen a later version for another module's sake.
		used, err := output(dir, "go", "list", "-m", "-f", "{{.Version}}", c.module)
		if err != nil {
			return nil, err
		}
		if used != c.version(suffix) {
			return nil, fmt.Errorf("%s %s: %s was asked for and %s built", c.name, suffix, c.version(suffix), used)
		}
	}
	return []string{"./app"}, nil
}

// buildNode installs the package's version beside the driver.
func buildNode(c leakCase, suffix, dir string) ([]string, error) {
	if c.module != "" {
		err := run(dir, "npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", c.module+"@"+c.version(suffix))
		if err != nil {
			return nil, err
		}
	}
	common, err := os.ReadFile("testdata/common/main.js")
	if err != nil {
		return nil, err
	}
	err = os.WriteFile(filepath.Join(dir, "main.js"), common, 0o644)
	return []string{"node", "--report-on-signal", "--report-directory=" + dir, "main.js"}, err
}

// run starts a command and returns an error with the end of what it printed.
func run(dir string, words ...string) error {
	_, err := output(dir, words...)
	return err
}

func output(dir string, words ...string) (string, error) {
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "CGO_ENABLED=0")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		text := stderr.String()
		return "", fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, text[max(0, len(text)-600):])
	}
	return strings.TrimSpace(stdout.String()), nil
}
