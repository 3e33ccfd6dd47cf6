package trend

import "leakdiff/analysis"

// windowEvidence are the exact starts and ends that the last trace of the last epoch saw. They
// decide nothing: a pool that fills and sessions that are long have births and no deaths in a
// window of seconds, as a leak has.
func windowEvidence(p *part, _ *signals) []analysis.Evidence {
	run := p.lastRun()
	if p.family == nil || len(run) == 0 {
		return nil
	}
	end := run[len(run)-1].index
	for i := end; i >= p.series.EpochStart(end); i-- {
		b, known := p.series.Snapshots[i].Births[p.family.Fingerprint]
		if !known {
			continue
		}
		e := analysis.Evidence{Rule: ruleWindow, At: new(i), N: b.Started, Figures: map[analysis.Figure]float64{
			"ended": float64(b.Ended), "hours": b.Window.Hours(),
		}}
		if b.Untold > 0 {
			e.Figures["untold"] = float64(b.Untold)
		}
		return one(e)
	}
	return nil
}
