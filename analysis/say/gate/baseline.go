package gate

import (
	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
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
	// kinds are those of which the baseline has evidence.
	kinds map[analysis.Kind]bool
}

// baseline has the processes of a baseline by name.
type baseline struct {
	processes map[string]*thenProcess
	// alone is set where both have one program: its name may have changed.
	alone bool
}

func newBaseline(then, now *report.Report) *baseline {
	b := &baseline{processes: map[string]*thenProcess{}}
	if then == nil {
		return b
	}
	for i := range then.Series {
		s := &then.Series[i]
		p := b.processes[s.Process]
		if p == nil {
			p = &thenProcess{map[string]thenCount{}, map[analysis.Kind]bool{}}
			b.processes[s.Process] = p
		}
		for k := range s.Families {
			f := &s.Families[k]
			have := p.families[f.Fingerprint]
			p.families[f.Fingerprint] = thenCount{max(have.highest, highest(f.Counts)), have.benign || f.Benign() || f.SetAside != nil}
			p.kinds[f.Kind] = true
		}
	}
	// A kind may have evidence and no family: no descriptor was open.
	for i := range then.Snapshots {
		x := &then.Snapshots[i]
		p := b.processes[x.Process]
		if p == nil {
			continue
		}
		for _, kind := range analysis.Kinds() {
			if x.Totals.Of(kind) != nil {
				p.kinds[kind] = true
			}
		}
	}
	names := map[string]bool{}
	for i := range now.Series {
		names[now.Series[i].Process] = true
	}
	b.alone = len(names) == 1 && len(b.processes) == 1
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
