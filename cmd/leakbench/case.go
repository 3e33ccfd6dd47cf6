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
	// kind is goroutine, descriptor, node or jvm (descriptors of Node.js or of a JVM), healthy, or
	// second: the bad versions of several cases in one program, whose names stand, with + between
	// them, as its module. Healthy and second cases have one version.
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
	// parts are the cases that a second case consists of.
	parts []leakCase
}

// versions returns the versions of a case by the suffix of their captures.
func (c leakCase) versions() []string {
	switch c.kind {
	case "healthy":
		return []string{"healthy"}
	case "second":
		return []string{"bad"}
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
	byName := map[string]leakCase{}
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
		if c.kind == "second" {
			for name := range strings.SplitSeq(c.module, "+") {
				if byName[name].name == "" {
					return nil, fmt.Errorf("cases.tsv: row %d: no row above is named %s", i+2, name)
				}
				c.parts = append(c.parts, byName[name])
				c.holders = append(c.holders, byName[name].holders...)
			}
		}
		byName[c.name] = c
		if only == "" || slices.Contains(strings.Split(only, ","), c.name) {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("cases.tsv has no case named %s", only)
	}
	return out, nil
}
