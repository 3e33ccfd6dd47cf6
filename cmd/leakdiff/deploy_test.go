package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestDeploymentsUseSettingsThatThereAre reads every flag, command and variable of ours out of
// the files of docs/deploy.
func TestDeploymentsUseSettingsThatThereAre(t *testing.T) {
	var c commands
	parser, err := kong.New(&c, kong.DefaultEnvars("LEAKDIFF"), kong.Vars{"version": version})
	if err != nil {
		t.Fatal(err)
	}
	variables, flags := map[string]bool{}, map[string]map[string]bool{}
	for _, command := range parser.Model.Leaves(false) {
		name := strings.Fields(command.Path())[0]
		if flags[name] == nil {
			flags[name] = map[string]bool{}
		}
		for _, flag := range command.Flags {
			flags[name]["--"+flag.Name] = true
			for _, variable := range flag.Envs {
				variables[variable] = true
			}
		}
	}
	variable := regexp.MustCompile(`LEAKDIFF_[A-Z_]+`)
	line := regexp.MustCompile(`(?:/usr/bin/|/)leakdiff(?:", "| )([a-z]+)(?:", "| )([^\n]*)`)
	flag := regexp.MustCompile(`--[a-z-]+`)
	var seen, lines int
	err = filepath.WalkDir("../../docs/deploy", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".go") || strings.HasPrefix(entry.Name(), "go.") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range variable.FindAllString(string(content), -1) {
			if seen++; !variables[name] {
				t.Errorf("%s: %s is no setting", path, name)
			}
		}
		for _, m := range line.FindAllStringSubmatch(string(content), -1) {
			lines++
			if flags[m[1]] == nil {
				t.Errorf("%s: leakdiff %s is no command", path, m[1])
			}
			for _, name := range flag.FindAllString(m[2], -1) {
				if !flags[m[1]][name] {
					t.Errorf("%s: leakdiff %s has no flag %s", path, m[1], name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 10 || lines < 3 {
		t.Errorf("%d variables and %d command lines were found", seen, lines)
	}
}
