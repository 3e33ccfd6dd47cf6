package report

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/wording"
)

// observing are functions that run because a process is asked about itself. A goroutine
// inside one, or started by one, answers a request for metrics, a profile or a dump. A
// name that ends in a dot is a whole package or class.
var observing = []string{
	"expvar.",
	"github.com/docker/go-metrics.(*Namespace).Collect",
	"github.com/prometheus/client_golang/prometheus.(*Registry).Gather",
	"github.com/prometheus/client_golang/prometheus/promhttp.",
	"go.opentelemetry.io/otel/exporters/prometheus.(*collector).Collect",
	"k8s.io/component-base/metrics.(*BaseStableCollector).Collect",
	"net/http/pprof.",
	"runtime/pprof.writeGoroutine",
	// Java classes.
	"com.cloudbees.jenkins.support.",
	"io.prometheus.client.",
	"io.prometheus.jmx.",
	"org.springframework.boot.actuate.",
}

// observers returns the families of a series that an observer adds, by fingerprint.
func observers(snapshots []*analysis.Snapshot) map[string]bool {
	out := map[string]bool{}
	seen := map[*analysis.Family]bool{}
	for _, s := range snapshots {
		for i := range s.Groups {
			g := &s.Groups[i]
			if seen[g.Family] {
				continue
			}
			seen[g.Family] = true
			if _, known := out[g.Family.Fingerprint]; known || g.Family.Kind != analysis.KindGoroutine && g.Family.Kind != analysis.KindThread {
				continue
			}
			out[g.Family.Fingerprint] = observed(g)
		}
	}
	return out
}

// observed reports a group whose stacks all run for an observer.
func observed(g *analysis.Group) bool {
	for _, v := range g.Variants {
		if v.Stack == nil {
			return false
		}
		if !observes(v.Stack.CreatedBy.Func) && !slices.ContainsFunc(v.Stack.Frames, func(f analysis.Frame) bool { return observes(f.Func) }) {
			return false
		}
	}
	return len(g.Variants) > 0
}

func observes(function string) bool {
	if _, vendored, ok := strings.Cut(function, "/vendor/"); ok {
		function = vendored
	}
	return slices.ContainsFunc(observing, func(name string) bool { return strings.HasPrefix(function, name) })
}

// observer makes the finding of what the capture itself may have added.
func (j *JudgedSeries) observer(p trend.Point, byPrint map[string]*Family) Finding {
	prints := lead(p.Families, byPrint)
	first := byPrint[prints[0]]
	counts := slices.Clone(first.Counts)
	for i := range counts {
		for _, print := range prints[1:] {
			n := byPrint[print].Counts[i]
			if !counts[i].Known() || !n.Known() {
				counts[i] = analysis.Count{}
				break
			}
			sum := counts[i].N + n.N
			counts[i] = analysis.Counted(sum)
		}
	}
	f := Finding{Kind: ObserverFinding, Verdict: p.Verdict, Families: prints, Counts: counts}
	f.Title = fmt.Sprintf("Requests for metrics or profiles hang: %s %s", j.rises(counts, first.Kind), wording.Kinds(first.Kind))
	f.Text = fmt.Sprintf("%s, %s: %s in %s that answer requests for metrics or profiles, the first %s.", plainProcess(j), j.labels(), j.inWords(counts, first.Kind),
		wording.Plural(len(prints), "group", "groups"), first.Title)
	if p.Of != "" {
		f.Text += " They grow with " + byPrint[p.Of].Title + "."
	}
	f.Text += " Each scrape or capture that hangs adds some: scrape less while what they wait for does not answer."
	f.Next = "Count the scrapes between two snapshots, and capture with fewer: these families then rise by less and the cause does not."
	return f
}
