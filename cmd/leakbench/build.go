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
	if c.kind == "second" {
		if err := joinDrivers(c, dir); err != nil {
			return nil, err
		}
		return buildGo(c, suffix, dir)
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "drivers", c.name))); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "driver.js")); err == nil {
		return buildNode(c, suffix, dir)
	}
	if _, err := os.Stat(filepath.Join(dir, "Driver.java")); err == nil {
		return buildJava(c, suffix, dir)
	}
	return buildGo(c, suffix, dir)
}

// buildGo pins the module's version. Files named also, also-bad and also-good list further
// modules to pin, as the arguments of go get.
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
	// With -mod=mod the build adds what the driver imports, and no module that only tests need.
	steps := [][]string{{"go", "build", "-trimpath", "-p", "2", "-o", "app", "."}}
	pinned := c.parts
	if c.kind != "healthy" && c.kind != "second" {
		pinned = []leakCase{c}
	}
	get := []string{"go", "get"}
	for _, p := range pinned {
		get = append(get, p.module+"@"+p.version(suffix))
	}
	for _, name := range []string{"also", "also-" + suffix} {
		if also, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			get = append(get, strings.Fields(string(also))...)
		}
	}
	if pinned != nil {
		steps = append([][]string{get}, steps...)
	}
	for _, step := range steps {
		if err := run(dir, step...); err != nil {
			return nil, err
		}
	}
	for _, p := range pinned {
		// The build may have chosen a later version for another module's sake.
		used, err := output(dir, "go", "list", "-m", "-f", "{{.Version}}", p.module)
		if err != nil {
			return nil, err
		}
		if used != p.version(suffix) {
			return nil, fmt.Errorf("%s %s: %s was asked for and %s built", c.name, suffix, p.version(suffix), used)
		}
	}
	return []string{"./app"}, nil
}

// joinDrivers makes a package of each part's driver, and a driver that calls them all, so that
// they leak at one pace.
func joinDrivers(c leakCase, dir string) error {
	var imports, setups, triggers string
	for _, p := range c.parts {
		text, err := os.ReadFile(filepath.Join("testdata", "drivers", p.name, "driver.go"))
		if err != nil {
			return err
		}
		text = bytes.Replace(text, []byte("package main\n"), []byte("package "+p.name+"\n"), 1)
		text = append(text, "\nfunc Setup()   { setup() }\nfunc Trigger() { trigger() }\n"...)
		if err := os.MkdirAll(filepath.Join(dir, p.name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, p.name, "driver.go"), text, 0o644); err != nil {
			return err
		}
		imports += fmt.Sprintf("\t%q\n", "example.com/"+c.name+"/"+p.name)
		setups += "\t" + p.name + ".Setup()\n"
		triggers += "\t" + p.name + ".Trigger()\n"
	}
	driver := "package main\n\nimport (\n" + imports + ")\n\nfunc setup() {\n" + setups + "}\n\nfunc trigger() {\n" + triggers + "}\n"
	return os.WriteFile(filepath.Join(dir, "driver.go"), []byte(driver), 0o644)
}

// buildNode installs the package's version beside the driver.
func buildNode(c leakCase, suffix, dir string) ([]string, error) {
	if err := installNode(c, suffix, dir); err != nil {
		return nil, err
	}
	common, err := os.ReadFile("testdata/common/main.js")
	if err != nil {
		return nil, err
	}
	err = os.WriteFile(filepath.Join(dir, "main.js"), common, 0o644)
	return []string{"node", "--report-on-signal", "--report-directory=" + dir, "main.js"}, err
}

func installNode(c leakCase, suffix, dir string) error {
	return run(dir, "npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", c.module+"@"+c.version(suffix))
}

// buildJava compiles the driver with the jars that the file named also lists, patterns of
// paths inside the package of Node.js that ships them.
func buildJava(c leakCase, suffix, dir string) ([]string, error) {
	common, err := os.ReadFile("testdata/common/Main.java")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "Main.java"), common, 0o644)
	}
	if err == nil {
		err = installNode(c, suffix, dir)
	}
	if err != nil {
		return nil, err
	}
	patterns, err := os.ReadFile(filepath.Join(dir, "also"))
	if err != nil {
		return nil, err
	}
	classes := []string{"."}
	for _, pattern := range strings.Fields(string(patterns)) {
		jars, err := filepath.Glob(filepath.Join(dir, "node_modules", c.module, pattern))
		if err != nil || jars == nil {
			return nil, fmt.Errorf("%s %s: no %s in the package: %w", c.name, suffix, pattern, err)
		}
		classes = append(classes, jars...)
	}
	path := strings.Join(classes, ":")
	// The young generation is large, so that no garbage is collected: finalizers close sockets.
	return []string{"java", "-Xms256m", "-Xmx256m", "-Xmn200m", "-cp", path, "Main"}, run(dir, "javac", "-cp", path, "Main.java", "Driver.java")
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
