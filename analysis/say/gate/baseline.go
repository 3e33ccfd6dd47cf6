package gate

import (
	"slices"
	"strconv"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// thenCount is a family of the baseline.
type thenCount struct {
	// highest is its largest count in any series of the process.
	highest int
	// benign reports that it was set aside there.
	benign bool
}

// thenProcess is a process of the baseline.
type thenProcess struct {
	families map[string]thenCount
	series   []*report.Series
	// exact has the kinds of which a snapshot counts any: whether the counts of one are exact.
	exact map[analysis.Kind]bool
	// creators reports that it names who created goroutines.
	creators bool
	// kinds are those of which the baseline has evidence.
	kinds map[analysis.Kind]bool
}

// captured is a series of a report: of whom it is, and of which kinds it has evidence.
type captured struct {
	number             int // of the series in its report
	process, host, pid string
	kinds              map[analysis.Kind]bool
}

// capturedIn are the series of a report.
func capturedIn(r *report.Report) []*captured {
	snapshots := map[string]*report.Snapshot{}
	for i := range r.Snapshots {
		snapshots[r.Snapshots[i].ID] = &r.Snapshots[i]
	}
	out := make([]*captured, len(r.Series))
	for i := range r.Series {
		s := &r.Series[i]
		c := &captured{number: i, process: s.Process, kinds: map[analysis.Kind]bool{}}
		if s.Host != nil {
			c.host = *s.Host
		}
		for k := range s.Families {
			c.kinds[s.Families[k].Kind] = true
		}
		for _, id := range s.Snapshots {
			x := snapshots[id]
			if x == nil {
				continue
			}
			if x.PID != nil {
				c.pid = strconv.Itoa(*x.PID)
			}
			// A kind may have evidence and no family: no descriptor was open.
			for _, kind := range analysis.Kinds() {
				if x.Totals.Of(kind) != nil {
					c.kinds[kind] = true
				}
			}
		}
		out[i] = c
	}
	return out
}

// baseline has the processes of a baseline by name.
type baseline struct {
	processes map[string]*thenProcess
	// alone is set where both have one program: its name may have changed.
	alone     bool
	then, now []*captured
	// partner is the series now of each series of the baseline, nil where it has none.
	partner map[*captured]*captured
}

func newBaseline(then, now *report.Report) *baseline {
	b := &baseline{processes: map[string]*thenProcess{}, partner: map[*captured]*captured{}}
	if then == nil {
		return b
	}
	b.then, b.now = capturedIn(then), capturedIn(now)
	for i := range then.Series {
		s := &then.Series[i]
		p := b.processes[s.Process]
		if p == nil {
			p = &thenProcess{families: map[string]thenCount{}, kinds: map[analysis.Kind]bool{}, exact: map[analysis.Kind]bool{}}
			b.processes[s.Process] = p
		}
		p.series = append(p.series, s)
		for k := range s.Families {
			f := &s.Families[k]
			p.creators = p.creators || f.CreatedBy != ""
			have := p.families[f.Fingerprint]
			p.families[f.Fingerprint] = thenCount{max(have.highest, f.Counts.Highest()), have.benign || f.Benign() || f.SetAside != nil}
		}
		for kind := range b.then[i].kinds {
			p.kinds[kind] = true
		}
	}
	for i := range then.Snapshots {
		x := &then.Snapshots[i]
		p := b.processes[x.Process]
		if p == nil {
			continue
		}
		for _, kind := range analysis.Kinds() {
			if x.Totals.Of(kind) != nil {
				p.exact[kind] = p.exact[kind] || !x.Bounded(kind)
			}
		}
	}
	names := map[string]bool{}
	for i := range now.Series {
		names[now.Series[i].Process] = true
	}
	b.alone = len(names) == 1 && len(b.processes) == 1
	b.match()
	return b
}

// of returns a process, nil where the baseline has none of that name.
func (b *baseline) of(process string) *thenProcess {
	if p, ok := b.processes[process]; ok || !b.alone {
		return p
	}
	for _, p := range b.processes {
		return p
	}
	return nil
}

// match finds for each series of the baseline one of the same program now: the same process
// before another one of the host, and that before one of another host.
func (b *baseline) match() {
	taken := map[*captured]bool{}
	for _, same := range []func(then, now *captured) bool{
		func(then, now *captured) bool { return then.host == now.host && then.pid == now.pid },
		func(then, now *captured) bool { return then.host == now.host },
		func(then, now *captured) bool { return true },
	} {
		for _, then := range b.then {
			for _, now := range b.now {
				if b.partner[then] == nil && !taken[now] && (b.alone || then.process == now.process) && same(then, now) {
					b.partner[then], taken[now] = now, true
				}
			}
		}
	}
}

// bounded reports a kind of which the baseline has no exact counts: what is not in them may
// have been there.
func (p *thenProcess) bounded(kind analysis.Kind) bool {
	exact, counted := p.exact[kind]
	return counted && !exact
}

// partnerOf is the series of the baseline whose partner a series now is, nil if it is of none.
func (b *baseline) partnerOf(now int) *captured {
	for _, then := range b.then {
		if p := b.partner[then]; p != nil && p.number == now {
			return then
		}
	}
	return nil
}

// notNow are what the baseline has and nothing captured now: a process, or kinds of one.
func (b *baseline) notNow() (out []report.GateUnchecked) {
	for _, then := range b.then {
		missing := report.GateUnchecked{Process: then.process}
		if then.host != "" {
			missing.Host = &then.host
		}
		pid := ""
		if slices.ContainsFunc(b.then, func(other *captured) bool {
			return other != then && other.process == then.process && other.host == then.host
		}) {
			pid = then.pid
		}
		who := wording.ProcessOn(then.process, then.host, pid)
		now := b.partner[then]
		if now == nil {
			missing.Text = wording.ProcessNotCaptured(who)
			out = append(out, missing)
			continue
		}
		var kinds []string
		for _, kind := range analysis.Kinds() {
			if then.kinds[kind] && !now.kinds[kind] {
				kinds = append(kinds, wording.Kinds(kind))
			}
		}
		if len(kinds) > 0 {
			missing.Text = wording.KindsNotCaptured(who, kinds)
			out = append(out, missing)
		}
	}
	return out
}
