package report

import (
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
)

// OverBudget is the rule of an item that a budget does not allow.
const OverBudget = "over_budget"

// Gate is what of a report counts in a pipeline, and what does not and why: see package gate.
type Gate struct {
	// Baseline and Budget report that something was held against one.
	Baseline bool `json:"baseline,omitempty"`
	Budget   bool `json:"budget,omitempty"`
	// Lines are those of the budget.
	Lines    []GateLine `json:"lines,omitempty"`
	Items    []GateItem `json:"items"`
	SetAside []GateItem `json:"set_aside"`
	// Unchecked are what the baseline has and nothing captured now, and what of the budget could
	// not be checked: growth may hide there.
	Unchecked []GateUnchecked `json:"unchecked,omitempty"`
	// Notes say what the baseline does not have, and which lines of the budget mean nothing.
	Notes []string `json:"notes,omitempty"`
}

// GateLine is a line of a budget.
type GateLine struct {
	// Number is that in its file, from 1.
	Number int    `json:"number"`
	Text   string `json:"text"`
}

// GateUnchecked is something that could not be compared or checked.
type GateUnchecked struct {
	Process string  `json:"process"`
	Host    *string `json:"host,omitempty"`
	// Line is the number of a line of the budget; it is 0 for the baseline.
	Line int `json:"line,omitempty"`
	// Text says what, why, and what to do.
	Text string `json:"text"`
}

// GateItem is one growth, or one line of a budget that is exceeded, of one process.
type GateItem struct {
	Process string  `json:"process"`
	Host    *string `json:"host,omitempty"`
	// Rule is a verdict of the report, or OverBudget.
	Rule  string `json:"rule"`
	Title string `json:"title"`
	Text  string `json:"text"`
	// Finding reports a finding of the report, which its title tells.
	Finding bool `json:"finding,omitempty"`
	// Families are fingerprints, the one to examine first in front.
	Families []string `json:"families"`
	// Sentence says what counts, in lower case and without a full stop.
	Sentence string `json:"sentence,omitempty"`
	// Before is the highest count of the baseline, nil without one and where several families
	// are meant. Now is the count that was compared.
	Before *int `json:"before,omitempty"`
	Now    *int `json:"now,omitempty"`
	// Line is the number of a line of the budget that is exceeded, Allowed what it allows.
	Line    int      `json:"line,omitempty"`
	Allowed *float64 `json:"allowed,omitempty"`
	// Stack is that of one member, leaf first, where the report has it.
	Stack []StackFrame `json:"stack,omitempty"`
	// Why says why an item is set aside.
	Why string `json:"why,omitempty"`
}

// Accuses reports an item that is at least as bad as the words of --fail-on: it exceeds a
// budget, or its verdict is one of these.
func (i *GateItem) Accuses(verdicts []analysis.Verdict) bool {
	return i.Rule == OverBudget || slices.Contains(verdicts, analysis.Verdict(i.Rule))
}

// word is how a family of a process counts: by the rule of its item, "set aside", or "".
func (r *Gate) word(s *Series, fingerprint string) string {
	has := func(i GateItem) bool {
		return i.Process == s.Process && slices.Contains(i.Families, fingerprint) && (i.Host == nil || s.Host == nil || *i.Host == *s.Host)
	}
	if at := slices.IndexFunc(r.Items, has); at >= 0 {
		return strings.ReplaceAll(r.Items[at].Rule, "_", " ")
	}
	if slices.ContainsFunc(r.SetAside, has) {
		return "set aside"
	}
	return ""
}

// Reached reports whether an item accuses.
func (r *Gate) Reached(verdicts []analysis.Verdict) bool {
	return slices.ContainsFunc(r.Items, func(i GateItem) bool { return i.Accuses(verdicts) })
}

// Open returns what could not be checked, if that decides: nothing accuses by the verdicts. What
// of the baseline was not compared does not decide where no verdict accuses.
func (r *Gate) Open(verdicts []analysis.Verdict) (open []GateUnchecked) {
	if r.Reached(verdicts) {
		return nil
	}
	for _, u := range r.Unchecked {
		if u.Line > 0 || len(verdicts) > 0 {
			open = append(open, u)
		}
	}
	return open
}

// Failed is the first item that accuses by the verdicts, nil without one.
func (r *Gate) Failed(verdicts []analysis.Verdict) *GateItem {
	if i := slices.IndexFunc(r.Items, func(i GateItem) bool { return i.Accuses(verdicts) }); i >= 0 {
		return &r.Items[i]
	}
	return nil
}

// Hold adds what counts to the report.
func (c *Case) Hold(g *Gate) {
	for _, r := range []*Report{&c.Report, &c.listed} {
		r.Gate = g
		r.held(g)
	}
}

// held takes back that nothing grew, where something did since the baseline or is over the
// budget.
func (r *Report) held(g *Gate) {
	if len(g.Items) == 0 || r.Diagnosis.State != string(NoLeakSeen) {
		return
	}
	said := false
	for i := range r.Series {
		s := &r.Series[i]
		at := slices.IndexFunc(g.Items, func(x GateItem) bool {
			return x.Process == s.Process && (x.Host == s.Host || x.Host != nil && s.Host != nil && *x.Host == *s.Host)
		})
		if at < 0 {
			continue
		}
		s.Quiet = ""
		if said {
			continue
		}
		said = true
		d, item := r.diagnosing(nil), &g.Items[at]
		tail := "more than in the baseline"
		if item.Rule == OverBudget {
			tail = "over the budget"
		} else {
			r.Diagnosis.Verdict = analysis.Verdict(item.Rule)
		}
		r.Diagnosis.State = strings.ReplaceAll(item.Rule, "_", " ")
		if kind, totals := d.leading(s); kind != "" {
			tail = d.course(s, kind, totals, "") + "; " + tail
		}
		r.Diagnosis.Sentence = shortened(s.before(tail), longest-1) + "."
	}
}

// LastWhole is the last snapshot of a series that is not cut, or the last one if all are. It is
// nil in a case that is a report alone.
func (c *Case) LastWhole(series int) *analysis.Snapshot {
	if len(c.Series) == 0 {
		return nil
	}
	all := c.Series[series].Snapshots
	for _, s := range slices.Backward(all) {
		if !s.LowerBound {
			return s
		}
	}
	return all[len(all)-1]
}

// Ends are the snapshots of a series by which later ones are compared with it: the last whole
// one, and before it the others where there is a load that growth may follow.
func (c *Case) Ends(series int) (out []analysis.Snapshot) {
	last := c.LastWhole(series)
	if len(c.Series[series].Trend.Loads()) > 0 {
		for _, s := range c.Series[series].Snapshots {
			if s != last {
				out = append(out, *s)
			}
		}
	}
	return append(out, *last)
}

// Since is a series judged together with an earlier one of the same start of the program.
type Since struct {
	// Pair are the last whole snapshots of both as two dumps, and Said what is said of them.
	Pair *JudgedSeries
	Said *Series
	// Scaling are the families that follow a load over all snapshots of both.
	Scaling map[string]bool
}

// Since judges a series together with the Ends of an earlier one. It is nil where they are not
// of one start of the process: nothing but their counts can be compared then.
func (c *Case) Since(series int, earlier []analysis.Snapshot) *Since {
	last := c.LastWhole(series)
	if last == nil {
		return nil
	}
	before, now := earlier[len(earlier)-1], *last
	dated := before.CapturedAt.Before(now.CapturedAt)
	if !dated { // who gives a baseline knows that it is the earlier one
		before.CapturedAt, now.CapturedAt = time.Time{}, time.Time{}
	}
	before.Order, now.Order = 0, 1
	// A baseline is mostly of another run, which numbers its first goroutines alike: those tell what stays.
	before.Listener, now.Listener = analysis.Listener{}, analysis.Listener{}
	pair := c.joined(series, before, now)
	if len(pair.Series) != 1 || len(pair.Series[0].Snapshots) != 2 || pair.Series[0].Trend.Epochs[1] > 0 {
		return nil
	}
	out := &Since{Pair: &pair.Series[0], Said: &pair.Report.Series[0], Scaling: map[string]bool{}}
	if dated && len(c.Series[series].Trend.Loads()) > 0 {
		all := slices.Clone(earlier)
		for _, s := range c.Series[series].Snapshots {
			all = append(all, *s)
		}
		for _, s := range c.joined(series, all...).Report.Series {
			for i := range s.Families {
				if f := &s.Families[i]; f.Verdict == analysis.Scaling {
					out.Scaling[f.Fingerprint] = true
				}
			}
		}
	}
	return out
}

// joined judges snapshots as those of the process of a series, which may have had another name
// or run on another host.
func (c *Case) joined(series int, all ...analysis.Snapshot) Case {
	process := &c.Series[series].Snapshots[0].Process
	for i := range all {
		all[i].Process.Name, all[i].Process.Host = process.Name, process.Host
	}
	return Build(all, nil, Options{Knowledge: c.Series[series].catalogue})
}

// StackOf is the stack of one member of the first of these families that has one, leaf first,
// nil in a case that is a report alone.
func (c *Case) StackOf(series int, families []string) []StackFrame {
	if len(c.Series) == 0 {
		return nil
	}
	f := Finding{Families: families}
	c.Series[series].locate(&f)
	return f.Stack
}

// ObjectCount is how many objects of a type the last capture with objects shows.
type ObjectCount struct {
	// Name is the type without its import path, Type with it.
	Name, Type string
	N          int
	// Families are the fingerprints of its goroutines.
	Families []string
}

// ObjectCounts are those of all types of a series, also of those that a report does not list.
func (c *Case) ObjectCounts(series int) (out []ObjectCount) {
	for i := range c.Series[series].kinds {
		k := &c.Series[series].kinds[i]
		out = append(out, ObjectCount{k.Name, k.Type, k.Counts.Last(), k.Families})
	}
	return out
}
