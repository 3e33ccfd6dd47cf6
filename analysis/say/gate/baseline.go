package gate

import "leakdiff/analysis/say/report"

// thenCount is a family of the baseline.
type thenCount struct {
	// highest is its largest count in any series of the process.
	highest int
	// benign reports that it was set aside there.
	benign bool
}

// baseline are the families of a baseline by process and fingerprint.
type baseline struct {
	processes map[string]map[string]thenCount
	// alone is set where both have one program: its name may have changed.
	alone bool
}

func newBaseline(then, now *report.Report) *baseline {
	b := &baseline{processes: map[string]map[string]thenCount{}}
	if then == nil {
		return b
	}
	for i := range then.Series {
		s := &then.Series[i]
		families := b.processes[s.Process]
		if families == nil {
			families = map[string]thenCount{}
			b.processes[s.Process] = families
		}
		for k := range s.Families {
			f := &s.Families[k]
			have := families[f.Fingerprint]
			families[f.Fingerprint] = thenCount{max(have.highest, highest(f.Counts)), have.benign || f.Benign() || f.SetAside != nil}
		}
	}
	names := map[string]bool{}
	for i := range now.Series {
		names[now.Series[i].Process] = true
	}
	b.alone = len(names) == 1 && len(b.processes) == 1
	return b
}

// of returns the families of a process, nil where the baseline has not that process.
func (b *baseline) of(process string) map[string]thenCount {
	if families, ok := b.processes[process]; ok || !b.alone {
		return families
	}
	for _, families := range b.processes {
		return families
	}
	return nil
}
