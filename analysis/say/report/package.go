package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// Package is a version of a list of packages beside the process. Known are the ids of the known
// leaks that are in it; no capture needs to show them.
type Package struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Path    string   `json:"path"`
	Known   []string `json:"known,omitempty"`
	// FixedIn is the release that has the newest of their fixes.
	FixedIn string `json:"fixed_in,omitempty"`
}

// packages are the versions of all lists, each once.
func (j *JudgedSeries) packages() (out []analysis.Package) {
	for _, s := range j.Snapshots {
		for _, p := range s.Packages {
			if !slices.ContainsFunc(out, func(x analysis.Package) bool { return x.Name == p.Name && x.Version == p.Version }) {
				out = append(out, p)
			}
		}
	}
	return out
}

// versionsListed are the packages with what is known of them, those with most known leaks first.
func (j *JudgedSeries) versionsListed() (out []Package) {
	for _, p := range j.packages() {
		made := Package{Name: p.Name, Version: p.Version, Path: p.Path}
		for _, e := range j.catalogue.Affected(&p) {
			if made.Known = append(made.Known, e.ID); made.FixedIn == "" {
				made.FixedIn = e.Versions.Fixed[len(e.Versions.Fixed)-1] // newest first
			}
		}
		out = append(out, made)
	}
	slices.SortStableFunc(out, func(a, b Package) int { return len(b.Known) - len(a.Known) })
	return out
}

// packageWord is a package as a person names it: "kubernetes plugin 1.26.4", "client-node 1.3.0".
func packageWord(name, version string) string {
	from, name, _ := strings.Cut(name, ":")
	if from == "jenkins" {
		name += " plugin"
	}
	return name[strings.LastIndexByte(name, '/')+1:] + " " + version
}

// listed are the findings on known leaks in the versions of packages.
func (j *JudgedSeries) listed() (out []Finding) {
	for _, p := range j.packages() {
		for _, e := range j.catalogue.Affected(&p) {
			out = append(out, Finding{Kind: FactFinding, Families: []string{}, Title: wording.Capital(packageWord(p.Name, p.Version)) + ": " + e.Title,
				Text: fmt.Sprintf("%s has this known fault: mended in %s. Whether it is met here, captures say.", wording.Capital(packageWord(p.Name, p.Version)), wording.Printable(e.FixedIn)),
				Next: wording.Capital(e.Help()) + "."})
		}
	}
	if text := skew(j.packages()); text != "" {
		out = append(out, Finding{Kind: FactFinding, Families: []string{}, Title: text,
			Text: "Streams of exec and logs may be left behind in a kubelet where the client is further away than one minor version.",
			Next: "Use a kubectl within one minor version of the kubelet and the control plane."})
	}
	return out[:min(len(out), mostFindings)]
}

const kubectl = "kubectl"

// parts are the parts of Kubernetes by their packages.
var parts = map[string]string{
	"program:Client": kubectl, "program:kubectl": kubectl, "deb:kubectl": kubectl, "rpm:kubectl": kubectl,
	"program:Server": "the control plane", "program:kube-apiserver": "the control plane",
	"program:Kubernetes": "kubelet", "program:kubelet": "kubelet", "deb:kubelet": "kubelet", "rpm:kubelet": "kubelet",
}

// mostSkew is how many minor versions kubectl may be apart from the others. A kubelet may be older
// than its control plane by more, which is no finding.
const mostSkew = 1

// skew words kubectl and the part of Kubernetes that is furthest from it, "" within mostSkew.
func skew(all []analysis.Package) string {
	text, most := "", mostSkew
	for i := range all {
		client, known := minor(all[i].Version)
		if parts[all[i].Name] != kubectl || !known {
			continue
		}
		for k := range all {
			part := parts[all[k].Name]
			n, known := minor(all[k].Version)
			if apart := max(client-n, n-client); part != "" && part != kubectl && known && apart > most {
				most = apart
				text = fmt.Sprintf("Kubectl %s and %s %s are %d minor versions apart", all[i].Version, part, all[k].Version, apart)
			}
		}
	}
	return text
}

// minor is the second number of a version of Kubernetes: 27 of "v1.27.9".
func minor(version string) (int, bool) {
	numbers := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(numbers) < 2 || numbers[0] != "1" {
		return 0, false
	}
	n, err := strconv.Atoi(numbers[1])
	return n, err == nil
}

// packagesText tells the versions of lists where nothing else was captured, "" without any:
// "kubernetes plugin 1.26.4 has 3 known faults; none is known of durable-task plugin 1.28".
func (s *Series) packagesText() string {
	var faulty, others []string
	for _, p := range s.Packages {
		word := packageWord(p.Name, p.Version)
		if n := len(p.Known); n > 0 {
			faulty = append(faulty, word+" has "+wording.Plural(n, "known fault", "known faults"))
		} else {
			others = append(others, word)
		}
	}
	text, none := wording.Commas(faulty, mostPackages), wording.Commas(others, mostPackages)
	switch {
	case text == "" && none != "":
		return "no fault is known of " + none
	case none != "":
		text += "; none is known of " + none
	}
	return text
}

// upgrade says which package to upgrade, nil where no known leak is in one.
func (s *Series) upgrade() *Action {
	if len(s.Packages) == 0 || s.Packages[0].FixedIn == "" {
		return nil
	}
	p := &s.Packages[0] // the one with most
	return &Action{Text: fmt.Sprintf("Upgrade %s to %s or later.", packageWord(p.Name, p.Version), p.FixedIn)}
}

// mostPackages is how many versions a sentence tells.
const mostPackages = 4
