package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// released is made of the last commit of a repository, in a checkout of its own.
func released(t *testing.T, of string, targets ...string) (root, out string) {
	t.Helper()
	root, out = filepath.Join(t.TempDir(), "leakdiff"), filepath.Join(t.TempDir(), "dist")
	run(t, "git", "clone", "-q", of, root)
	if _, err := (Release{Root: root, Out: out, Targets: targets}).Make(); err != nil {
		t.Fatal(err)
	}
	return root, out
}

func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// need skips a test where a program is not installed.
func need(t *testing.T, program, debian string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed and CI=true (Debian: %s)", program, debian)
	}
	t.Skipf("%s is not installed (Debian: %s)", program, debian)
}

// TestTheFilesOfARelease makes one of the last commit in two checkouts: what is in it, that
// it runs, and that both have the same bytes.
func TestTheFilesOfARelease(t *testing.T) {
	targets := []string{"linux/amd64", "windows/amd64"}
	if own := runtime.GOOS + "/" + runtime.GOARCH; own == "linux/arm64" {
		targets[0] = own
	}
	root, dist := released(t, "../..", targets...)
	processor := strings.TrimPrefix(targets[0], "linux/")
	name := func(pattern string) string {
		found, err := filepath.Glob(filepath.Join(dist, pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("%v are %s (%v)", found, pattern, err)
		}
		return found[0]
	}

	t.Run("another checkout gives the same bytes", func(t *testing.T) {
		_, second := released(t, root, targets...)
		files, err := os.ReadDir(dist)
		if err != nil || len(files) != 7 {
			t.Fatalf("%d files were made: %v", len(files), err)
		}
		for _, file := range files {
			a, err := os.ReadFile(filepath.Join(dist, file.Name()))
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(filepath.Join(second, file.Name()))
			if err != nil || !bytes.Equal(a, b) {
				t.Errorf("%s differs: %v", file.Name(), err)
			}
		}
	})

	t.Run("the hashes are those of the files", func(t *testing.T) {
		sum := exec.Command("sha256sum", "-c", "--strict", "SHA256SUMS")
		sum.Dir = dist
		if out, err := sum.CombinedOutput(); err != nil || strings.Count(string(out), ": OK\n") != 6 {
			t.Errorf("%v: %s", err, out)
		}
	})

	within := []string{"leakdiff", "LICENSES.txt", "CHANGELOG.md", "LICENSE", "README.md", "completions/_leakdiff", "completions/leakdiff.bash", "completions/leakdiff.fish", "kubectl-leakdiff", "leakdiff.1"}

	t.Run("the archive for Linux belongs to root and its program runs", func(t *testing.T) {
		content, err := os.ReadFile(name("leakdiff_*_linux_*.tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		packed, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		archive, found, program := tar.NewReader(packed), []string{}, filepath.Join(t.TempDir(), "leakdiff")
		for {
			header, err := archive.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if header.Uid != 0 || header.Gid != 0 || header.Uname != "root" {
				t.Errorf("%s belongs to %d:%d, %s", header.Name, header.Uid, header.Gid, header.Uname)
			}
			_, inner, _ := strings.Cut(header.Name, "/")
			found = append(found, inner)
			if inner == "leakdiff" {
				content, err := io.ReadAll(archive)
				if err == nil {
					err = os.WriteFile(program, content, header.FileInfo().Mode())
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if !slices.Equal(found, within) {
			t.Errorf("it holds %q, want %q", found, within)
		}
		version := run(t, program, "version")
		commit := strings.TrimSpace(run(t, "git", "-C", root, "rev-parse", "--short=12", "HEAD"))
		if !strings.HasPrefix(version, "leakdiff ") || !strings.Contains(version, "(commit "+commit+")") {
			t.Errorf("the program is %q, not of the commit %s", version, commit)
		}
	})

	t.Run("the archive for Windows is a zip", func(t *testing.T) {
		archive, err := zip.OpenReader(name("leakdiff_*_windows_amd64.zip"))
		if err != nil {
			t.Fatal(err)
		}
		defer archive.Close()
		var found []string
		for _, file := range archive.File {
			_, inner, _ := strings.Cut(file.Name, "/")
			found = append(found, strings.TrimSuffix(inner, ".exe"))
		}
		if !slices.Equal(found, within) {
			t.Errorf("it holds %q, want %q", found, within)
		}
	})

	t.Run("the bill of materials names what is linked", func(t *testing.T) {
		content, err := os.ReadFile(name("leakdiff_*_linux_*.cdx.json"))
		if err != nil {
			t.Fatal(err)
		}
		var bom cyclonedx.BOM
		if err := cyclonedx.NewBOMDecoder(bytes.NewReader(content), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
			t.Fatal(err)
		}
		named := map[string]bool{}
		for _, component := range *bom.Components {
			named[component.Name] = component.Version != ""
		}
		table, err := os.ReadFile("../../docs/licences.md")
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for line := range strings.Lines(string(table)) {
			f := strings.Split(line, "|")
			if len(f) == 5 && strings.Contains(f[1], ".") {
				if rows++; !named[strings.TrimSpace(f[1])] {
					t.Errorf("%s of docs/licences.md is not in it", strings.TrimSpace(f[1]))
				}
			}
		}
		if rows < 20 || !named["std"] || bom.Metadata.Component.Name != "leakdiff" {
			t.Errorf("%d modules, std: %t, of %s", rows, named["std"], bom.Metadata.Component.Name)
		}
	})

	t.Run("the package for Debian installs and runs", func(t *testing.T) {
		need(t, "dpkg", "dpkg")
		root := os.Getuid() == 0
		system := t.TempDir()
		for _, dir := range []string{"info", "updates"} {
			if err := os.MkdirAll(filepath.Join(system, "var/lib/dpkg", dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(system, "var/lib/dpkg/status"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if file := name("leakdiff_*_" + processor + ".deb"); root {
			run(t, "dpkg", "--root="+system, "--force-script-chrootless", "--force-architecture", "-i", file)
		} else {
			run(t, "dpkg-deb", "-x", file, system) // dpkg installs as root alone
		}
		installed := filepath.Join(system, "usr/bin/leakdiff")
		if out := run(t, installed, "report", "../../samples/inotify-leak/inotify-leak.tar.gz"); !strings.Contains(out, "LEAKING") {
			t.Errorf("the installed program says %s", out)
		}
		for _, path := range []string{"usr/bin/kubectl-leakdiff", "usr/share/man/man1/leakdiff.1.gz", "usr/share/bash-completion/completions/leakdiff", "usr/share/zsh/vendor-completions/_leakdiff",
			"usr/share/fish/vendor_completions.d/leakdiff.fish", "usr/lib/systemd/system/leakdiff.service", "usr/lib/systemd/system/leakdiff-collect@.timer", "usr/lib/systemd/system/leakdiff-watch.service", "etc/leakdiff"} {
			if _, err := os.Stat(filepath.Join(system, path)); err != nil {
				t.Error(err)
			}
		}
		if !root {
			return
		}
		run(t, "dpkg", "--root="+system, "--force-script-chrootless", "--purge", "leakdiff")
		if _, err := os.Stat(installed); !os.IsNotExist(err) {
			t.Errorf("after its removal the program is there: %v", err)
		}
	})

	t.Run("the package for Red Hat is sound", func(t *testing.T) {
		need(t, "rpm", "rpm")
		file := name("leakdiff-*.rpm")
		run(t, "rpm", "-K", "--nosignature", file)
		if out := run(t, "rpm", "-qp", "--qf", "%{NAME} %{VERSION} %{LICENSE} %{BUILDHOST}", file); !strings.HasPrefix(out, "leakdiff ") || !strings.HasSuffix(out, " Apache-2.0 leakdiff") {
			t.Errorf("it is %s", out)
		}
		list := run(t, "rpm", "-qlp", file)
		for _, path := range []string{"/usr/bin/leakdiff\n", "/usr/share/zsh/site-functions/_leakdiff\n", "/usr/lib/systemd/system/leakdiff.service\n"} {
			if !strings.Contains(list, path) {
				t.Errorf("it has no %s", path)
			}
		}
	})
}

func TestASystemIsGOOSAndGOARCH(t *testing.T) {
	if _, err := (Release{Root: "../..", work: t.TempDir()}).build("linux"); err == nil || !strings.Contains(err.Error(), "GOOS/GOARCH") {
		t.Errorf("linux alone is taken: %v", err)
	}
}
