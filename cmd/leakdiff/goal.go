package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

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
			at := slices.IndexFunc(s.Gauges, func(x report.Gauge) bool { return strings.HasSuffix(x.Name, "resident_memory_bytes") })
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

// atOnce reports that what was reached needs no second look: a quantity, a limit that is full, and
// what the runtime itself calls leaked.
func (g goal) atOnce(r *report.Report) bool {
	return g.verdict == "" || slices.ContainsFunc(r.Series, func(s report.Series) bool {
		return slices.ContainsFunc(s.Findings, func(f report.Finding) bool { return f.Verdict == analysis.Saturated || f.Marked() })
	})
}

// standing is a verdict that was reached and not yet told. Whoever looks after each capture looks
// often, and growth that ends by itself is called a leak at one of the looks: it is told when it
// still stands a quarter of the time later that the captures spanned (statistics.md, R16).
type standing struct {
	// Due is the time of the first capture with which it is told, zero where nothing is reached.
	Due time.Time `json:"due,omitzero"`
}

// look takes the report over captures from first to last, and reports whether the goal is to be told.
func (s *standing) look(g goal, r *report.Report, first, last time.Time) bool {
	switch {
	case !g.reached(r):
		*s = standing{}
		return false
	case g.atOnce(r):
		return true
	case s.Due.IsZero():
		s.Due = last.Add(last.Sub(first) / 4)
		return false
	}
	return !last.Before(s.Due)
}
