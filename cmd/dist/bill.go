package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/CycloneDX/cyclonedx-gomod/pkg/generate/bin"
	"github.com/rs/zerolog"
)

// bill is the bill of materials of a program in CycloneDX: the modules that are linked, with
// their hashes, and Go's own library.
func (r Release) bill(program string) ([]byte, error) {
	generator, err := bin.NewGenerator(program, bin.WithIncludeStdlib(true), bin.WithVersionOverride("v"+r.version), bin.WithLogger(zerolog.Nop()))
	if err != nil {
		return nil, err
	}
	bom, err := generator.Generate()
	if err != nil {
		return nil, err
	}
	bom.Metadata.Timestamp = r.time.Format(time.RFC3339)
	var out bytes.Buffer
	err = cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
	return out.Bytes(), err
}

// notices are the licences and notices of all that is linked, which ask to be passed on.
func (r Release) notices(target string) ([]byte, error) {
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", "./cmd/leakdiff")
	list.Dir, list.Env = r.Root, targetEnv(target)
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	goroot, err := output("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	// The directories of each module: those of its packages, and all above them within it.
	dirs := map[string][]string{"Go": {strings.TrimSpace(string(goroot))}}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 3 {
			continue
		}
		for dir := f[2]; len(dir) > len(f[1]); dir = filepath.Dir(dir) {
			dirs[f[0]] = append(dirs[f[0]], dir)
		}
		dirs[f[0]] = append(dirs[f[0]], f[1])
	}
	modules := make([]string, 0, len(dirs))
	for module := range dirs {
		modules = append(modules, module)
	}
	slices.Sort(modules)
	var out bytes.Buffer
	out.WriteString("leakdiff is under the Apache License 2.0, see LICENSE. It holds code of these modules.\n")
	for _, module := range modules {
		slices.Sort(dirs[module])
		for _, dir := range slices.Compact(dirs[module]) {
			files, err := os.ReadDir(dir)
			if err != nil {
				return nil, err
			}
			for _, file := range files {
				if !isNotice(file.Name()) || file.IsDir() {
					continue
				}
				content, err := os.ReadFile(filepath.Join(dir, file.Name()))
				if err != nil {
					return nil, err
				}
				fmt.Fprintf(&out, "\n==== %s: %s\n\n%s\n", module, file.Name(), bytes.TrimSpace(content))
			}
		}
	}
	return out.Bytes(), nil
}

func isNotice(file string) bool {
	name := strings.ToUpper(file)
	return !strings.HasSuffix(name, ".GO") && slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"}, func(begin string) bool { return strings.HasPrefix(name, begin) })
}
