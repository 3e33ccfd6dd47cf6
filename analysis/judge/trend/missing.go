package trend

import (
	"math"
	"time"

	"leakdiff/analysis"
)

// shortSeries is the length below which a backlog cannot be distinguished from a leak.
const shortSeries = 10 * time.Minute

func (p *part) recoveryEvidence(r recovery) analysis.Evidence {
	e := analysis.Evidence{Rule: ruleRecovery, Form: "counts", Points: []analysis.Point{{At: r.peak.index, N: r.peak.count}, {At: r.at.index, N: r.at.count}},
		Figures: map[analysis.Figure]float64{"above_start": float64(r.at.count - r.base)}}
	if r.gone >= 0 {
		e.Form, e.N, e.Of, e.Identity = "followed", r.gone, len(p.tracking.members[r.peak.index]), p.identity()
	}
	return e
}

// mostNamed is how many snapshots evidence names.
const mostNamed = 5

// lacking is that evidence is missing at snapshots.
func lacking(form analysis.Form, at []int) analysis.Evidence {
	e := analysis.Evidence{Rule: ruleMissing, Form: form, N: len(at)}
	for _, i := range at[:min(len(at), mostNamed)] {
		e.Points = append(e.Points, analysis.Point{At: i})
	}
	return e
}

// missing names the evidence that could not be examined.
func (p *part) missing(s *signals) []analysis.Evidence {
	var evidence []analysis.Evidence
	add := func(e analysis.Evidence) {
		e.Rule = ruleMissing
		evidence = append(evidence, e)
	}
	var cut, none, hidden []int
	for i := range p.series.Snapshots[:p.end()+1] {
		switch {
		case p.series.in.notShown(p.family.Fingerprint, i):
			hidden = append(hidden, i)
		case p.series.usable(i, p.family.Kind):
		case p.series.captured(i, p.family.Kind):
			cut = append(cut, i)
		default:
			none = append(none, i)
		}
	}
	if len(none) > 0 {
		e := lacking("not_captured", none)
		e.Kind = p.family.Kind
		add(e)
	}
	if len(hidden) > 0 {
		add(lacking("not_shown", hidden))
	}
	if len(cut) > 0 {
		add(lacking("cut", cut))
	}
	if s.fit.n == 0 {
		switch {
		case s.usable == 0:
			add(analysis.Evidence{Form: "no_count"})
		case s.usable == 1:
			add(analysis.Evidence{Form: "one_count"})
		default:
			add(analysis.Evidence{Form: "only_restarts", N: s.usable})
		}
		return evidence
	}
	if s.fit.n < 4 {
		add(analysis.Evidence{Form: "few_counts", N: s.fit.n, Figures: map[analysis.Figure]float64{"p": allPairsRise(s.fit.n)}})
	}
	grows := s.up > levelNone || s.cohorts
	switch {
	case p.respawns:
		add(analysis.Evidence{Form: "respawns"})
	case !s.identified && p.unfollowed():
		add(analysis.Evidence{Form: "no_identities"})
	case s.fit.n >= 4 && s.identified && !s.cohortsSeen:
		add(analysis.Evidence{Form: "no_cohorts"})
	}
	if !p.dated {
		add(analysis.Evidence{Form: "no_times"})
	} else if undated := p.undated(); len(undated) > 0 {
		add(lacking("undated", undated))
	}
	if grows && s.loadFit.load == nil {
		if name, at := p.partialLoad(); name != "" {
			e := lacking("load_at", at)
			e.Names = []string{name}
			add(e)
		} else {
			add(analysis.Evidence{Form: "no_load"})
		}
	}
	return evidence
}

// partialLoad is the first load that only some of the points have, and the points
// without it.
func (p *part) partialLoad() (name string, unknown []int) {
	for _, l := range p.series.loads {
		known := 0
		unknown = unknown[:0]
		for _, pt := range flatten(p.runs) {
			if math.IsNaN(l.values[pt.index]) {
				unknown = append(unknown, pt.index)
			} else {
				known++
			}
		}
		if known > 0 && len(unknown) > 0 {
			return l.name, unknown
		}
	}
	return "", nil
}

// unfollowed reports whether some count has members that cannot be followed.
func (p *part) unfollowed() bool {
	for _, pt := range flatten(p.runs) {
		if !p.tracking.complete[pt.index] {
			return true
		}
	}
	return false
}

func (p *part) undated() []int {
	var at []int
	for _, pt := range flatten(p.runs) {
		if !pt.timed {
			at = append(at, pt.index)
		}
	}
	return at
}

// shortSpan is what a short series cannot exclude.
func (p *part) shortSpan(s *signals, verdict analysis.Verdict, recovered bool) []analysis.Evidence {
	runs := p.comparable()
	if !p.dated || s.fit.n == 0 || longestSpan(runs) >= shortSeries.Hours() {
		return nil
	}
	e := analysis.Evidence{Rule: ruleSpan, Form: "slow_growth", Unit: p.unit(), Figures: map[analysis.Figure]float64{"span": p.length(runs)}}
	switch verdict {
	case analysis.Leaking, analysis.Suspicious, analysis.Grew, analysis.New:
		e.Form = "leak_or_queue"
	case analysis.Stopped, analysis.Shrinking, analysis.Gone:
		e.Form = "end_or_pause"
	}
	if recovered {
		e.Form = "worked_off"
	}
	return one(e)
}
