package trend

import (
	"fmt"
	"math"
	"slices"

	"leakdiff/analysis"
)

// demands are figures of a snapshot that count as a load: demand from outside,
// which a process cannot create by leaking (statistics.md 4, External demand).
// Open connections, watchers, queues or goroutines are results and never stand
// here.
func demands() []string {
	return []string{"prometheus_sd_discovered_targets", "kubelet_running_pods", "kubelet_desired_pods"}
}

// gatherLoad says that a family rises in proportion to a load: through the
// origin, within 15 % in every snapshot.
func gatherLoad(p *part, s *signals, _ *scratch) []analysis.Evidence {
	if s.up < levelSuspicious {
		return nil
	}
	for _, name := range demands() {
		if factor, loads, ok := p.scalesWith(name); ok {
			s.scaling = true
			return []analysis.Evidence{{Rule: ruleLoad, Text: fmt.Sprintf(
				"%s for each unit of %s, which went from %s to %s: within 15 %% of that in every snapshot",
				decimal(factor), name, decimal(loads[0]), decimal(loads[len(loads)-1]))}}
		}
	}
	return nil
}

// scalesWith returns members per unit of load, and the loads at the points of the
// part, when the family follows that load.
func (p *part) scalesWith(name string) (factor float64, loads []float64, ok bool) {
	var ratios, used []float64
	for _, run := range p.runs {
		for _, pt := range run {
			load, known := p.series.Snapshots[pt.index].Figures[name]
			if !known {
				return 0, nil, false
			}
			loads = append(loads, load)
			if load > 0 {
				used = append(used, load)
				ratios = append(ratios, float64(pt.count)/load)
			}
		}
	}
	if len(used) < 2 || slices.Max(used) < 1.2*slices.Min(used) {
		return 0, nil, false
	}
	slices.Sort(ratios)
	factor = ratios[len(ratios)/2]
	if len(ratios)%2 == 0 {
		factor = (ratios[len(ratios)/2-1] + ratios[len(ratios)/2]) / 2
	}
	i := 0
	for _, run := range p.runs {
		for _, pt := range run {
			want := factor * loads[i]
			i++
			if math.Abs(float64(pt.count)-want) > max(2, 0.15*want) {
				return 0, nil, false
			}
		}
	}
	return factor, loads, true
}
