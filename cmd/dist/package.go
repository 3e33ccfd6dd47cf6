package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// Packages start nothing: which users may reach the server is decided before. The user of
// leakdiff.service is made by systemd (DynamicUser).
const (
	afterInstall = `#!/bin/sh
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart leakdiff.service
fi
exit 0
`
	// Debian says "remove", Red Hat how many versions stay.
	beforeRemove = `#!/bin/sh
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ] && { [ "$1" = remove ] || [ "$1" = 0 ]; }; then
	systemctl disable --now leakdiff.service
fi
exit 0
`
	afterRemove = `#!/bin/sh
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
exit 0
`
)

// packages writes a .deb and an .rpm with the items of an archive.
func (r Release) packages(processor string, items []item) (made []string, err error) {
	stage := filepath.Join(r.work, "package-"+processor)
	if err := os.MkdirAll(stage, 0o755); err != nil {
		return nil, err
	}
	put := func(name string, content []byte) string {
		path := filepath.Join(stage, name)
		if err == nil {
			err = os.WriteFile(path, content, 0o644)
		}
		return path
	}
	scripts := nfpm.Scripts{
		PostInstall: put("after-install", []byte(afterInstall)),
		PreRemove:   put("before-remove", []byte(beforeRemove)),
		PostRemove:  put("after-remove", []byte(afterRemove)),
	}
	content := func(name string) []byte {
		i := slices.IndexFunc(items, func(it item) bool { return it.name == name })
		return items[i].content
	}
	manual, failed := gzipped(content("leakdiff.1"))
	if failed != nil {
		return nil, failed
	}
	var contents files.Contents
	add := func(to string, mode os.FileMode, text []byte, only string) {
		from := put(strings.ReplaceAll(to, "/", "_"), text)
		contents = append(contents, &files.Content{Source: from, Destination: to, Packager: only, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.time}})
	}
	add("/usr/bin/leakdiff", 0o755, content("leakdiff"), "")
	add("/usr/bin/kubectl-leakdiff", 0o755, content("kubectl-leakdiff"), "")
	add("/usr/share/man/man1/leakdiff.1.gz", 0o644, manual, "")
	add("/usr/share/bash-completion/completions/leakdiff", 0o644, content("completions/leakdiff.bash"), "")
	add("/usr/share/zsh/vendor-completions/_leakdiff", 0o644, content("completions/_leakdiff"), "deb")
	add("/usr/share/zsh/site-functions/_leakdiff", 0o644, content("completions/_leakdiff"), "rpm")
	add("/usr/share/fish/vendor_completions.d/leakdiff.fish", 0o644, content("completions/leakdiff.fish"), "")
	add("/usr/share/doc/leakdiff/copyright", 0o644, slices.Concat(content("LICENSE"), []byte("\n"), content("LICENSES.txt")), "")
	add("/usr/share/doc/leakdiff/README.md", 0o644, content("README.md"), "")
	add("/usr/share/doc/leakdiff/CHANGELOG.md", 0o644, content("CHANGELOG.md"), "")
	units, failed := filepath.Glob(filepath.Join(r.Root, "docs/deploy/systemd/*"))
	if failed != nil {
		return nil, failed
	}
	for _, unit := range units {
		text, failed := os.ReadFile(unit)
		if failed != nil {
			return nil, failed
		}
		add("/usr/lib/systemd/system/"+filepath.Base(unit), 0o644, text, "")
	}
	// Settings of the units are files here, which people write.
	contents = append(contents, &files.Content{Destination: "/etc/leakdiff", Type: files.TypeDir, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o755, MTime: r.time}})
	if err != nil {
		return nil, err
	}
	for _, format := range []string{"deb", "rpm"} {
		packager, err := nfpm.Get(format)
		if err != nil {
			return nil, err
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: "leakdiff", Arch: processor, Platform: "linux", Version: r.version, VersionSchema: "none", Section: "utils", Priority: "optional",
			Maintainer: "leakdiff", Vendor: "leakdiff", License: "Apache-2.0", MTime: r.time, DisableGlobbing: true,
			Description: "Says what leaks in goroutine dumps, thread dumps and support bundles\nReads dumps and bundles offline, in the browser or the terminal, and names what\ngrows, where in the code, since when, how fast, and how sure that is.",
			Overridables: nfpm.Overridables{
				Scripts: scripts,
				Contents: slices.DeleteFunc(slices.Clone(contents), func(c *files.Content) bool {
					return c.Packager != "" && c.Packager != format
				}),
				RPM: nfpm.RPM{BuildHost: "leakdiff", Summary: "Says what leaks in goroutine dumps, thread dumps and support bundles"},
			},
		})
		if format == "rpm" {
			info.Release = "1"
		}
		path := filepath.Join(r.Out, packager.ConventionalFileName(info))
		var out bytes.Buffer
		if err := packager.Package(info, &out); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			return nil, err
		}
		made = append(made, path)
	}
	return made, nil
}
