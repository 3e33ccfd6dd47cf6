package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// catalogueFile is leakdiff's catalogue, beside this module.
const catalogueFile = "../../analysis/judge/knowledge/data/known.json"

// catalogue is the part of the catalogue that is read: its entries of leaks of libraries whose
// first good release is known.
type catalogue struct {
	Components []struct {
		Name     string            `json:"name"`
		Programs []string          `json:"programs"`
		Modules  []json.RawMessage `json:"modules"`
		Packages []string          `json:"packages"`
	} `json:"components"`
	Known []struct {
		ID       string `json:"id"`
		Status   string `json:"status"`
		Versions struct {
			Component string   `json:"component"`
			Fixed     []string `json:"fixed"`
		} `json:"versions"`
	} `json:"known"`
}

// notBenched lists the entries of leaks of libraries that no pair is of, as "id (component
// first good releases)". A component that names a program is no library.
func notBenched(cases []leakCase) ([]string, error) {
	text, err := os.ReadFile(catalogueFile)
	if err != nil {
		return nil, err
	}
	var all catalogue
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", catalogueFile, err)
	}
	library := map[string]bool{}
	for _, c := range all.Components {
		library[c.Name] = c.Programs == nil && (c.Modules != nil || slices.ContainsFunc(c.Packages, func(p string) bool { return strings.HasPrefix(p, "npm:") }))
	}
	var out []string
	for _, k := range all.Known {
		benched := slices.ContainsFunc(cases, func(c leakCase) bool { return c.entry == k.ID })
		if k.Status == "leak" && library[k.Versions.Component] && k.Versions.Fixed != nil && !benched {
			out = append(out, fmt.Sprintf("%s (%s %s)", k.ID, k.Versions.Component, strings.Join(k.Versions.Fixed, ", ")))
		}
	}
	return out, nil
}
