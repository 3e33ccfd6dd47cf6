// Command source holds the signatures of the built-in catalogue against the source of the last
// release before each fix, as the module proxy serves it. It needs the network. It prints a line
// for each entry and ends with 1 if a frame is not declared there. It does not read programs
// that are no Go module.
//
//	go run ./cmd/lab/source [-keep DIR] [ID ...]
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"leakdiff/analysis/judge/knowledge"
)

// programs are the modules of components that the catalogue knows by their programs only. The
// collector has a module for each package; some are found by what requires them.
var programs = map[string][]string{
	"abacus":                  {"github.com/jasonlovesdoggo/abacus"},
	"consul":                  {"github.com/hashicorp/consul"},
	"istio":                   {"istio.io/istio"},
	"minio":                   {"github.com/minio/minio"},
	"moby":                    {"github.com/docker/docker"},
	"opentelemetry-collector": {"go.opentelemetry.io/collector/config/confighttp", "go.opentelemetry.io/collector/processor/memorylimiterprocessor"},
	"prometheus":              {"github.com/prometheus/prometheus"},
	"pyroscope":               {"github.com/grafana/pyroscope"},
}

// elsewhere are projects without Go source.
var elsewhere = regexp.MustCompile(`(?i)jenkins|fabric8|jdk|java|undici|netty`)

// never is a release that no project has.
const never = "999999.0.0"

// outcome is what the check of an entry or of a frame found.
type outcome int

const (
	held outcome = iota
	notHad
	fault
)

// finding is an outcome with its reason.
type finding struct {
	outcome outcome
	why     string
}

func main() {
	keep := flag.String("keep", "", "directory of the modules, kept for the next run (a temporary one)")
	flag.Parse()
	wrong, err := check(*keep, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "source:", err)
		os.Exit(2)
	}
	if wrong {
		os.Exit(1)
	}
}

// check prints the findings of the named entries, of all where none is named.
func check(keep string, ids []string) (wrong bool, err error) {
	var doc knowledge.Document
	text, err := knowledge.Builtin().Export()
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		return false, err
	}
	p, err := newProxy(keep)
	if err != nil {
		return false, err
	}
	defer p.close()
	p.components = doc.Components
	counts := map[outcome]int{}
	for i := range doc.Known {
		if e := &doc.Known[i]; len(ids) == 0 || slices.Contains(ids, e.ID) {
			f := p.entry(e)
			counts[f.outcome]++
			fmt.Printf("%-26s %s\n", e.ID, f.why)
		}
	}
	fmt.Printf("%d held, %d faults, %d not had\n", counts[held], counts[fault], counts[notHad])
	return counts[fault] > 0, nil
}

// entry checks one entry before each of its fixes, the newest first, until one holds it.
func (p *proxy) entry(e *knowledge.Entry) finding {
	s := e.Signature
	switch {
	case elsewhere.MatchString(e.Project):
		return finding{notHad, "not checked: no Go source"}
	case len(s.Frames)+len(s.CreatedBy) == 0:
		return finding{notHad, "not checked: no frames"}
	case !slices.ContainsFunc(slices.Concat(s.Frames, s.CreatedBy), func(text string) bool { return !p.standard[parseFrame(text).path] }):
		return finding{notHad, "not checked: only frames of the standard library"}
	}
	fixes := slices.Clone(e.Versions.Fixed)
	if e.Versions.Component == "prometheus" {
		for i := range fixes {
			fixes[i] = library(fixes[i])
		}
	}
	if len(fixes) == 0 {
		f := p.signature(e, func(versions []string, major int) (string, bool) {
			return lastAffected(versions, major, never, nil), true
		})
		if f.outcome == fault && !s.Unseen {
			return finding{notHad, "not had: no release is known to be the last affected one, the newest is another: " + f.why}
		}
		return worded(f, "in the newest release")
	}
	worst := finding{notHad, ""}
	for _, fix := range slices.Backward(fixes) {
		f := p.before(e, fix, fixes)
		if f.outcome == held {
			return worded(f, "before "+fix)
		}
		if worst.why == "" || f.outcome > worst.outcome {
			worst = worded(f, "before "+fix)
		}
	}
	return worst
}

// worded puts the word of an outcome before its reason.
func worded(f finding, when string) finding {
	word := []string{"held", "not had", "FAULT"}[f.outcome]
	return finding{f.outcome, fmt.Sprintf("%s %s: %s", word, when, f.why)}
}

// library is the version of the module of Prometheus.
//
//	"3.9.0" = "0.309.0"
func library(program string) string {
	r, ok := parseRelease(program, 0)
	if !ok || r[0] < 3 {
		return program
	}
	return fmt.Sprintf("0.%d%02d.%d", r[0], r[1], r[2])
}

// choice picks a release of a module and reports whether it is close to the fix, "" for none.
type choice func(versions []string, major int) (version string, near bool)

// before checks an entry in the last releases below a fix. A frame that only the fix has is
// of the fix.
func (p *proxy) before(e *knowledge.Entry, fix string, fixes []string) finding {
	limit, _ := parseRelease(fix, 0)
	f := p.signature(e, func(versions []string, major int) (string, bool) {
		last := lastAffected(versions, major, fix, fixes)
		r, _ := parseRelease(last, major)
		return last, r.near(limit)
	})
	if f.outcome == fault {
		after := p.signature(e, func(versions []string, major int) (string, bool) { return firstFrom(versions, major, fix), true })
		f.why += map[bool]string{true: "; the fix introduced it", false: "; after the fix: " + after.why}[after.outcome == held]
	}
	return f
}

// signature checks every frame in the releases that pick chooses. Of the creators, which are
// beginnings of names, one suffices.
func (p *proxy) signature(e *knowledge.Entry, pick choice) finding {
	roots := p.roots(e)
	var all, creators []finding
	for _, text := range e.Signature.Frames {
		all = append(all, p.frame(parseFrame(text), roots, pick))
	}
	for _, text := range e.Signature.CreatedBy {
		f := parseFrame(text)
		f.open = true
		creators = append(creators, p.frame(f, roots, pick))
	}
	if len(creators) > 0 {
		all = append(all, slices.MinFunc(creators, func(a, b finding) int { return cmp.Compare(a.outcome, b.outcome) }))
	}
	worst := slices.MaxFunc(all, func(a, b finding) int { return cmp.Compare(a.outcome, b.outcome) }).outcome
	var why []string
	for _, f := range all {
		if f.outcome == worst && f.why != "" && !slices.Contains(why, f.why) {
			why = append(why, f.why)
		}
	}
	return finding{worst, strings.Join(why, ", ")}
}

// frame looks for a function in the modules of the component that may hold it, or in those that
// they require.
func (p *proxy) frame(f frame, roots []knowledge.Module, pick choice) finding {
	if p.standard[f.path] {
		return finding{held, ""}
	}
	var have, own []string
	close := true
	for _, m := range roots {
		version, near := pick(p.versions(m.Path), m.Major)
		if version == "" {
			continue
		}
		have = append(have, m.Path+"@"+version)
		if f.under(m.Path) {
			own, close = append(own, m.Path+"@"+version), close && near
		}
	}
	for _, from := range have {
		if len(own) == 0 {
			own = p.required(from, f)
		}
	}
	out := p.declares(own, f)
	if out.outcome == fault && !close {
		return finding{notHad, out.why + ", and none closer to the fix is served"}
	}
	return out
}

// roots are the modules of the entry's component, or those that its frames name.
func (p *proxy) roots(e *knowledge.Entry) (out []knowledge.Module) {
	project, _, _ := strings.Cut(e.Project, "/")
	for _, path := range programs[cmp.Or(e.Versions.Component, project)] {
		out = append(out, knowledge.Module{Path: path})
	}
	at := slices.IndexFunc(p.components, func(x knowledge.Component) bool { return x.Name == e.Versions.Component })
	if at >= 0 {
		out = append(out, p.components[at].Modules...)
	}
	for _, text := range slices.Concat(e.Signature.Frames, e.Signature.CreatedBy) {
		if f := parseFrame(text); len(out) == 0 && !f.short() {
			out = append(out, p.moduleOf(f))
		}
	}
	return out
}

// moduleOf is the module of a frame: the longest of the catalogue, or the one that hosts name.
func (p *proxy) moduleOf(f frame) knowledge.Module {
	best := knowledge.Module{Path: repository(f.path)}
	for _, x := range p.components {
		for _, m := range x.Modules {
			if strings.HasPrefix(f.path+"/", m.Path+"/") && len(m.Path) > len(best.Path) {
				best = m
			}
		}
	}
	return knowledge.Module{Path: best.Path}
}

// repository guesses the module of a package by how hosts name repositories.
//
//	"github.com/jackc/pgx/v5/pgconn" = "github.com/jackc/pgx/v5", "k8s.io/client-go/rest" = "k8s.io/client-go"
func repository(path string) string {
	elements := strings.Split(path, "/")
	n := 2
	if elements[0] == "github.com" || strings.HasPrefix(path, "golang.org/x/") {
		n = 3
	}
	n = min(n, len(elements))
	if len(elements) > n && elements[n] != "internal" && hidden.MatchString(elements[n]) {
		n++
	}
	return strings.Join(elements[:n], "/")
}
