package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/say/gate"
	"leakdiff/analysis/say/report"
)

// goal is what collect and watch wait for: a verdict, as --fail-on of report, or a quantity of a
// process above a number.
type goal struct {
	verdict  string
	quantity string
	above    float64
}

// quantities are the kinds that a goal may count, by its words. "rss" is the resident memory.
var quantities = map[string]analysis.Kind{
	"goroutines": analysis.KindGoroutine, "threads": analysis.KindThread, "descriptors": analysis.KindDescriptor, "fds": analysis.KindDescriptor, "watches": analysis.KindWatch,
}

var quantityText = expression.Lazy(`^(\w+) ?> ?(\d+(?:\.\d+)?) ?(KiB|MiB|GiB)?$`)

// goalExample says what --until takes.
var goalExample = "name a verdict, one of " + strings.Join(slices.Sorted(maps.Keys(failsOn)), ", ") + ", or a quantity: 'rss>2GiB', 'goroutines>5000' (also threads, descriptors, watches)"

// goalOf reads the value of --until.
//
//	"leaking" = the verdict; "rss>2GiB" = rss above 2048 MiB; "goroutines>5000"
func goalOf(text string) (g goal, ok bool) {
	if failsOn[text] != nil {
		return goal{verdict: text}, true
	}
	m := quantityText.FindStringSubmatch(text)
	if m == nil {
		return g, false
	}
	g.quantity = m[1]
	g.above, _ = strconv.ParseFloat(m[2], 64)
	units := map[string]float64{"KiB": 1.0 / 1024, "MiB": 1, "GiB": 1024}
	if g.quantity == "rss" {
		g.above *= units[m[3]]
		return g, m[3] != ""
	}
	return g, quantities[g.quantity] != "" && m[3] == ""
}

// reached reports whether a report has the verdict, or the last capture of a process the quantity.
func (g goal) reached(r *report.Report) bool {
	if g.verdict != "" {
		result := gate.Check(&report.Case{Report: *r}, gate.Options{})
		return result.Reached(failsOn[g.verdict])
	}
	totals := map[string]*analysis.Totals{}
	for i := range r.Snapshots {
		totals[r.Snapshots[i].ID] = &r.Snapshots[i].Totals
	}
	for i := range r.Series {
		s := &r.Series[i]
		if g.quantity == "rss" {
			at := slices.IndexFunc(s.Gauges, func(x report.Gauge) bool { return x.Unit == "MiB" })
			if at >= 0 && len(s.Gauges[at].Values) > 0 {
				if v := s.Gauges[at].Values[len(s.Gauges[at].Values)-1]; v != nil && *v > g.above {
					return true
				}
			}
			continue
		}
		if t := totals[s.Snapshots[len(s.Snapshots)-1]]; t != nil {
			if n := t.Of(quantities[g.quantity]); n != nil && float64(*n) > g.above {
				return true
			}
		}
	}
	return false
}

// reaches reports whether a report has what --until waits for.
func reaches(until string, all report.Report) bool {
	g, ok := goalOf(until)
	return ok && g.reached(&all)
}
