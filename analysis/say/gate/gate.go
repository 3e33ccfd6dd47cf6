// Package gate decides what of a report counts in a pipeline: what is new or grew since a
// baseline, and what is over a budget. It judges nothing anew: verdicts are those of the
// report, captures are compared as two dumps are, and counts by the rule for two dumps.
package gate

import (
	"cmp"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// Options are what a report is held against, beside its own verdicts.
type Options struct {
	// Baseline is an earlier report of the same programs, or nil. Captures are the Ends of
	// its series, by their number, where it is of captures.
	Baseline *report.Report
	Captures map[int][]analysis.Snapshot
	// Budget is nil without one. Loads are values for its lines, by name; others are those
	// of the captures.
	Budget *Budget
	Loads  map[string]float64
	// IgnoreRecovered sets growth aside whose cause went away.
	IgnoreRecovered bool
}

// counted are the verdicts that an item can have.
var counted = []analysis.Verdict{analysis.Leaking, analysis.Saturated, analysis.Suspicious, analysis.Stopped, analysis.Grew, analysis.New}

// Check holds a case against a baseline and a budget.
func Check(c *report.Case, o Options) report.Gate {
	r := report.Gate{Baseline: o.Baseline != nil, Budget: o.Budget != nil, Items: []report.GateItem{}, SetAside: []report.GateItem{}}
	if len(c.Report.Series) == 0 { // of which the report itself speaks
		r.Baseline, r.Budget = false, false
		r.Unchecked = []report.GateUnchecked{{Text: wording.NothingHeld}}
		return r
	}
	then := newBaseline(o.Baseline, &c.Report)
	spent := &spending{of: c, budget: o.Budget, seen: map[int]bool{}, open: map[int]bool{}}
	for i := range c.Report.Series {
		s := &c.Report.Series[i]
		g := &gated{Series: s, of: c, number: i, options: o, result: &r}
		if o.Baseline != nil {
			g.partner = then.partnerOf(i)
			if g.then = then.of(s.Process); g.then == nil {
				r.Notes = append(r.Notes, wording.NotInBaseline(s.Process))
			} else if missing := g.notThen(); len(missing) > 0 {
				r.Notes = append(r.Notes, wording.NotComparedKinds(s.Process, missing))
			}
		}
		g.growths()
		if o.Budget != nil {
			g.spend(spent)
		}
	}
	r.Unchecked = append(then.notNow(), r.Unchecked...)
	if o.Budget != nil {
		spent.end(&r)
	}
	return r
}

// gated is a series on its way into a result.
type gated struct {
	*report.Series
	// It is the series of that number of the case.
	of      *report.Case
	number  int
	options Options
	// then are the families of the baseline, nil where it has not this process.
	then *thenProcess
	// partner is the series of the baseline that is of this process, nil without one.
	partner *captured
	result  *report.Gate
}

// notThen are the kinds of families of which the baseline has no evidence.
func (g *gated) notThen() (kinds []string) {
	for i := range g.Families {
		if kind := g.Families[i].Kind; !g.then.kinds[kind] && !slices.Contains(kinds, wording.Kinds(kind)) {
			kinds = append(kinds, wording.Kinds(kind))
		}
	}
	return kinds
}

// growths adds what the report accuses, then what is more than in the baseline although the
// report by itself accuses it of nothing.
func (g *gated) growths() {
	told, totals := map[string]bool{}, map[analysis.Kind]bool{}
	families := map[string]*report.Family{}
	for i := range g.Families {
		families[g.Families[i].Fingerprint] = &g.Families[i]
	}
	add := func(f *report.Finding, why string) {
		item := g.item(string(f.Verdict), f.Title, f.Text, f.Families)
		item.Stack, item.Finding = f.Stack, true
		var of []*report.Family
		for _, print := range f.Families {
			told[print] = true
			if family := families[print]; family != nil {
				of = append(of, family)
			}
		}
		if len(f.Families) == 1 && len(of) == 1 {
			g.compare(&item, of[0])
		}
		if why == "" && f.Key == nil { // what grows by a key is in other families each time
			why = g.aside(of)
		}
		g.put(item, why)
	}
	for i := range g.Findings {
		if f := &g.Findings[i]; (f.Kind == "" || f.Kind == report.SaturatedFinding) && slices.Contains(counted, f.Verdict) {
			add(f, "")
		}
	}
	for i := range g.SetAside {
		if f := &g.SetAside[i]; slices.Contains(counted, f.Verdict) {
			add(f, wording.MarkedBenign)
		}
	}
	for i := range g.Families {
		f := &g.Families[i]
		if !told[f.Fingerprint] && slices.Contains(counted, f.Verdict) {
			item := g.item(string(f.Verdict), f.Title, wording.Capital(report.Rises(f.Counts, nil)+" "+wording.Kinds(f.Kind)+"."), []string{f.Fingerprint})
			g.compare(&item, f)
			g.put(item, g.aside([]*report.Family{f}))
			told[f.Fingerprint] = true
		}
	}
	for _, t := range g.TotalsRisen {
		before, now := t.From, t.To
		item := g.item(string(analysis.Grew), "All "+wording.Kinds(t.Kind), wording.TotalRose(wording.Kinds(t.Kind), t.From, t.To), []string{})
		item.Before, item.Now = &before, &now
		g.put(item, "")
		totals[t.Kind] = true
	}
	if g.then != nil {
		(&since{gated: g, told: told, totals: totals, families: families}).growths()
	}
}

func (g *gated) item(rule, title, text string, families []string) report.GateItem {
	return report.GateItem{Process: g.Process, Host: g.Host, Rule: rule, Title: title, Text: text, Families: families}
}

// compare adds the counts of a family to its item, where the baseline is of its process.
func (g *gated) compare(item *report.GateItem, f *report.Family) {
	if g.then != nil && g.then.kinds[f.Kind] && !g.then.bounded(f.Kind) {
		before, now := g.then.families[f.Fingerprint].highest, f.Counts.Highest()
		item.Before, item.Now = &before, &now
	}
}

func (g *gated) put(item report.GateItem, why string) {
	if len(item.Stack) == 0 && len(item.Families) > 0 {
		item.Stack = g.of.StackOf(g.number, item.Families)
	}
	if item.Sentence == "" {
		item.Sentence = line(&report.Gate{Items: []report.GateItem{item}}, &item)
		if g.Process != "" && (g.Host != nil || !strings.Contains(item.Sentence, g.Process)) {
			item.Sentence = name(g.Process, g.Host) + ": " + item.Sentence
		}
	}
	if item.Why = why; why != "" {
		g.result.SetAside = append(g.result.SetAside, item)
		return
	}
	g.result.Items = append(g.result.Items, item)
}

// aside says why growth of these families does not count, and is empty if it does: each of
// them was set aside in the baseline, is there no more often than in it, or recovered.
func (g *gated) aside(families []*report.Family) string {
	why := ""
	for _, f := range families {
		var then thenCount
		known := false
		if g.then != nil {
			then, known = g.then.families[f.Fingerprint]
		}
		switch {
		case f.Benign() || then.benign:
			why = cmp.Or(why, wording.MarkedBenign)
		case known && then.highest > 0 && trend.NoMore(then.highest, f.Counts.Highest()):
			why = cmp.Or(why, wording.NoMoreThanInBaseline(then.highest, f.Counts.Highest()))
		case g.options.IgnoreRecovered && f.RecoveredAt != nil:
			why = cmp.Or(why, wording.Recovered)
		case slices.Contains(counted, f.Verdict) || len(families) == 1:
			return ""
		}
	}
	return why
}
