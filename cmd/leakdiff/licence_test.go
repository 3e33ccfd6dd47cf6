package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// permissive are the licences that a linked module may have.
var permissive = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "public domain"}

// reciprocal are modules with another licence, which asks that changes to their own files be
// published. They are linked as they are.
var reciprocal = map[string]string{"github.com/hashicorp/go-version": "MPL-2.0"}

// unlinked are files about what the program does not hold: a picture, and all that the tests
// of a module use. What of the latter is linked has a file of its own.
var unlinked = map[string]string{"modernc.org/memory": "LICENSE-LOGO", "modernc.org/sqlite": "LICENSE-3RD-PARTY.MD"}

// licenceSentences recognise a licence in lower case, with single spaces.
var licenceSentences = map[string]*regexp.Regexp{
	"0BSD":          regexp.MustCompile(`permission to use, copy, modify, and(/or)? distribute this software for any purpose with or without fee is hereby granted\.`),
	"ISC":           regexp.MustCompile(`permission to use, copy, modify, and(/or)? distribute this software for any purpose with or without fee is hereby granted, provided`),
	"MIT":           regexp.MustCompile(`permission is hereby granted, free of charge, to any person obtaining a copy`),
	"Apache-2.0":    regexp.MustCompile(`apache license,? version 2\.0`),
	"MPL-2.0":       regexp.MustCompile(`mozilla public license,? version 2\.0`),
	"BSD-4-Clause":  regexp.MustCompile(`all advertising materials mentioning features`),
	"GPL":           regexp.MustCompile(`gnu (affero |lesser |library )?general public license version \d(\.\d)?,`),
	"public domain": regexp.MustCompile(`has been dedicated to the public domain`),
}

// Every BSD licence has this grant, and those of three clauses the second sentence as well.
var (
	bsdGrant       = regexp.MustCompile(`redistribution and use in source and binary forms, with or without modification, are permitted`)
	bsdEndorsement = regexp.MustCompile(`endorse or promote products`)
)

// licencesIn returns the licences in a text by their names in SPDX, sorted, nil for none.
func licencesIn(text string) (found []string) {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	for name, sentence := range licenceSentences {
		if sentence.MatchString(text) {
			found = append(found, name)
		}
	}
	grants, endorsements := len(bsdGrant.FindAllString(text, -1)), len(bsdEndorsement.FindAllString(text, -1))
	if grants > endorsements {
		found = append(found, "BSD-2-Clause")
	}
	if grants > 0 && endorsements > 0 {
		found = append(found, "BSD-3-Clause")
	}
	slices.Sort(found)
	return found
}

// linkedModule is a module of which the program has packages. The directories are those of
// the packages, and all above them within the module.
type linkedModule struct {
	path, version string
	dirs          []string
}

func linkedModules(t *testing.T) (all []*linkedModule) {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", ".")
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	byPath := map[string]*linkedModule{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 4 {
			continue
		}
		m := byPath[f[0]]
		if m == nil {
			m = &linkedModule{path: f[0], version: f[1], dirs: []string{f[2]}}
			byPath[f[0]] = m
			all = append(all, m)
		}
		for dir := f[3]; len(dir) > len(f[2]); dir = filepath.Dir(dir) {
			m.dirs = append(m.dirs, dir)
		}
	}
	slices.SortFunc(all, func(a, b *linkedModule) int { return cmp.Compare(a.path, b.path) })
	return all
}

// licences returns those of all licence files beside and above the linked packages.
func (m *linkedModule) licences(t *testing.T) (found []string) {
	t.Helper()
	slices.Sort(m.dirs)
	for _, dir := range slices.Compact(m.dirs) {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if isLicence(f.Name()) && strings.ToUpper(f.Name()) != unlinked[m.path] {
				found = append(found, m.licencesOf(t, filepath.Join(dir, f.Name()))...)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func isLicence(file string) bool {
	name := strings.ToUpper(file)
	return !strings.HasSuffix(name, ".GO") && (strings.HasPrefix(name, "LICENSE") || strings.HasPrefix(name, "LICENCE") || strings.HasPrefix(name, "COPYING"))
}

func (m *linkedModule) licencesOf(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := licencesIn(string(text))
	if len(found) == 0 {
		t.Errorf("%s: %s is no known licence", m.path, filepath.Base(file))
	}
	return found
}

func TestEveryLinkedModuleHasAPermissiveLicenceAndARowInTheTable(t *testing.T) {
	modules := linkedModules(t)
	if len(modules) < 20 {
		t.Fatalf("only %d modules are linked", len(modules))
	}
	table := "| module | version | licence |\n|---|---|---|\n"
	for _, m := range modules {
		found := m.licences(t)
		if len(found) == 0 {
			t.Errorf("%s has no licence", m.path)
		}
		for _, name := range found {
			if !slices.Contains(permissive, name) && reciprocal[m.path] != name {
				t.Errorf("%s has the licence %s, which is not permissive", m.path, name)
			}
		}
		table += fmt.Sprintf("| %s | %s | %s |\n", m.path, m.version, strings.Join(found, ", "))
	}
	const path = "../../docs/licences.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, old, found := strings.Cut(string(text), "| module ")
	if old = "| module " + old; !found || old == table {
		if !found {
			t.Errorf("%s has no table", path)
		}
		return
	}
	if !*update {
		t.Errorf("%s is stale: go test ./cmd/leakdiff -run Licence -update writes it anew", path)
		return
	}
	if err := os.WriteFile(path, []byte(before+table), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestALicenceIsRecognisedByItsSentences(t *testing.T) {
	const bsd = "Redistribution and use in source and binary forms, with or\nwithout modification, are permitted provided that … "
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "All rights reserved.", ""},
		{"MIT", "Permission is hereby granted, free of charge, to any\n  person obtaining a copy of this software", "MIT"},
		{"BSD with two clauses", bsd, "BSD-2-Clause"},
		{"BSD with three clauses", bsd + "nor may names be used to endorse or promote products", "BSD-3-Clause"},
		{"both", bsd + "endorse or promote products" + bsd, "BSD-2-Clause BSD-3-Clause"},
		{"BSD with a clause about advertising", bsd + "All advertising materials mentioning features or use", "BSD-2-Clause BSD-4-Clause"},
		{"ISC", "Permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted, provided that", "ISC"},
		{"ISC without a condition", "Permission to use, copy, modify, and/or distribute this software for any\npurpose with or without fee is hereby granted.", "0BSD"},
		{"Apache", "Apache License\n                           Version 2.0, January 2004", "Apache-2.0"},
		{"MPL, which names the GPL", `Mozilla Public License, version 2.0 … "Secondary License" means either the GNU General Public License, Version 2.0, the GNU Lesser`, "MPL-2.0"},
		{"GPL", "GNU GENERAL PUBLIC LICENSE\n   Version 3, 29 June 2007", "GPL"},
		{"LGPL", "GNU LESSER GENERAL PUBLIC LICENSE\n   Version 2.1, February 1999", "GPL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(licencesIn(c.text), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
