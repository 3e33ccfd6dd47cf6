package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Everything are the systems for which leakdiff is released, as GOOS/GOARCH.
var Everything = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// Release is what is made of a checkout.
type Release struct {
	// Root is the checkout, Out the directory for what is made. Out is emptied before.
	Root, Out string
	// Targets are systems as GOOS/GOARCH.
	Targets []string

	// version and time are those of the program and of the commit.
	version string
	time    time.Time
	// work has the programs and what is packed with them.
	work string
}

// item is a file of an archive or of a package.
type item struct {
	// name is slash-separated within the archive.
	name    string
	content []byte
	mode    os.FileMode
}

// Make writes all files and returns their paths, SHA256SUMS last.
func (r Release) Make() ([]string, error) {
	var err error
	if r.Root, err = filepath.Abs(r.Root); err != nil {
		return nil, err
	}
	if r.time, err = r.commitTime(); err != nil {
		return nil, err
	}
	if r.work, err = os.MkdirTemp("", "leakdiff-dist-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(r.work)
	if err := os.RemoveAll(r.Out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return nil, err
	}
	// The program of this machine says its version and its completions.
	own, err := r.build(runtime.GOOS + "/" + runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	text, err := output(own, "version")
	if err != nil {
		return nil, err
	}
	if f := strings.Fields(string(text)); len(f) >= 2 {
		r.version = f[1]
	}
	beside, err := r.beside(own)
	if err != nil {
		return nil, err
	}
	var made []string
	for _, target := range r.Targets {
		files, err := r.target(target, beside)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", target, err)
		}
		made = append(made, files...)
	}
	sums, err := r.sums(made)
	return append(made, sums), err
}

// commitTime is when the commit was made. All files carry it.
func (r Release) commitTime() (time.Time, error) {
	text, err := output("git", "-C", r.Root, "log", "-1", "--format=%ct")
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// build links the program for a system and returns its path.
func (r Release) build(target string) (string, error) {
	system, processor, ok := strings.Cut(target, "/")
	if !ok {
		return "", fmt.Errorf("%q is not GOOS/GOARCH, as linux/amd64", target)
	}
	program := filepath.Join(r.work, system+"-"+processor, "leakdiff")
	if system == "windows" {
		program += ".exe"
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -buildid=", "-o", program, "./cmd/leakdiff")
	build.Dir, build.Env = r.Root, targetEnv(target)
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, text)
	}
	return program, nil
}

// targetEnv is the environment of the go command for a system, without settings of this
// machine that would change what is built.
func targetEnv(target string) []string {
	system, processor, _ := strings.Cut(target, "/")
	return append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-buildvcs=true", "GOEXPERIMENT=", "GOWORK=off")
}

// beside are the files that every archive holds beside the program.
func (r Release) beside(own string) ([]item, error) {
	var out []item
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "docs/leakdiff.1"} {
		content, err := os.ReadFile(filepath.Join(r.Root, name))
		if err != nil {
			return nil, err
		}
		out = append(out, item{filepath.Base(name), content, 0o644})
	}
	plugin, err := os.ReadFile(filepath.Join(r.Root, "docs/deploy/kubernetes/kubectl-leakdiff"))
	if err != nil {
		return nil, err
	}
	out = append(out, item{"kubectl-leakdiff", plugin, 0o755})
	for shell, name := range map[string]string{"bash": "leakdiff.bash", "zsh": "_leakdiff", "fish": "leakdiff.fish"} {
		content, err := output(own, "completion", shell)
		if err != nil {
			return nil, err
		}
		out = append(out, item{"completions/" + name, content, 0o644})
	}
	slices.SortFunc(out, func(a, b item) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// target makes the files for one system.
func (r Release) target(target string, beside []item) (made []string, err error) {
	program, err := r.build(target)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	notices, err := r.notices(target)
	if err != nil {
		return nil, err
	}
	name := "leakdiff_" + r.version + "_" + strings.ReplaceAll(target, "/", "_")
	items := append([]item{{filepath.Base(program), content, 0o755}, {"LICENSES.txt", notices, 0o644}}, beside...)
	write, extension := tarball, ".tar.gz"
	if strings.HasPrefix(target, "windows/") {
		write, extension = zipped, ".zip"
	}
	archive, err := write(name, items, r.time)
	if err != nil {
		return nil, err
	}
	bill, err := r.bill(program)
	if err != nil {
		return nil, err
	}
	for extension, content := range map[string][]byte{extension: archive, ".cdx.json": bill} {
		path := filepath.Join(r.Out, name+extension)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return nil, err
		}
		made = append(made, path)
	}
	if processor, linux := strings.CutPrefix(target, "linux/"); linux {
		packages, err := r.packages(processor, items)
		if err != nil {
			return nil, err
		}
		made = append(made, packages...)
	}
	slices.Sort(made)
	return made, nil
}

// sums writes SHA256SUMS, which sha256sum -c reads.
func (r Release) sums(made []string) (string, error) {
	var text strings.Builder
	for _, path := range made {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), filepath.Base(path))
	}
	path := filepath.Join(r.Out, "SHA256SUMS")
	return path, os.WriteFile(path, []byte(text.String()), 0o644)
}

// output runs a program and returns what it prints.
func output(program string, args ...string) ([]byte, error) {
	var said bytes.Buffer
	command := exec.Command(program, args...)
	command.Stderr = &said
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, said.Bytes())
	}
	return text, nil
}
