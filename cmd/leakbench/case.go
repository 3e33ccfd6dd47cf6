package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// leakCase is a row of cases.tsv: a driver and what is true of it. What is true comes from
// the change that mended the library and from counting in the dumps, never from leakdiff.
type leakCase struct {
	name string
	// kind is goroutine, descriptor, node (descriptors of Node.js) or healthy. A healthy case has one version.
	kind      string
	module    string
	bad, good string
	// entry is the id of the catalogue's entry, empty if the catalogue has none.
	entry string
	// holders are the frames of the code that holds what stays. One that begins with "fd:"
	// is a part of the target of a descriptor.
	holders []string
	// each is how many members stay for each trigger.
	each string
	// fixed is the first good release.
	fixed string
}

// versions returns the versions of a case by the suffix of their captures.
func (c leakCase) versions() []string {
	if c.kind == "healthy" {
		return []string{"healthy"}
	}
	return []string{"bad", "good"}
}

// version returns the release of a suffix.
func (c leakCase) version(suffix string) string {
	if suffix == "good" {
		return c.good
	}
	return c.bad
}

//go:embed cases.tsv
var casesTable string

// readCases returns the rows of cases.tsv whose names are among those of only, all if only
// is empty.
func readCases(only string) ([]leakCase, error) {
	var out []leakCase
	for i, line := range strings.Split(strings.TrimSpace(casesTable), "\n")[1:] {
		f := strings.Split(line, "\t")
		if len(f) != 9 {
			return nil, fmt.Errorf("cases.tsv: row %d has %d columns, not 9", i+2, len(f))
		}
		for j := range f {
			f[j] = strings.TrimPrefix(f[j], "-")
		}
		c := leakCase{name: f[0], kind: f[1], module: f[2], bad: f[3], good: f[4], entry: f[5], each: f[7], fixed: f[8]}
		if f[6] != "" {
			c.holders = strings.Split(f[6], "|")
		}
		if only == "" || slices.Contains(strings.Split(only, ","), c.name) {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("cases.tsv has no case named %s", only)
	}
	return out, nil
}
