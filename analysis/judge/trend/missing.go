package trend

import (
	"fmt"
	"math"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// shortSeries is the length below which a backlog cannot be distinguished from a leak.
const shortSeries = 10 * time.Minute

func (p *part) recoveryText(r recovery) analysis.Evidence {
	text := fmt.Sprintf("fell from %d (%s) to %d at %s", r.peak.count, p.label(r.peak), r.at.count, p.series.label(r.at.index))
	switch stays := r.at.count - r.base; {
	case stays > 0:
		text += fmt.Sprintf(", %d more than at the start", stays)
	case stays == 0:
		text += ", as many as at the start"
	}
	if r.gone >= 0 {
		text += fmt.Sprintf("; %d of the %d members of %s had ended", r.gone, len(p.tracking.members[r.peak.index]), p.label(r.peak))
	}
	return analysis.Evidence{Rule: ruleRecovery, Text: text}
}

// missing names the evidence that could not be examined.
func (p *part) missing(s *signals) []analysis.Evidence {
	var evidence []analysis.Evidence
	say := func(format string, args ...any) {
		evidence = append(evidence, one(ruleMissing, format, args...)...)
	}
	var cut, none []string
	for i := range p.series.Snapshots[:p.end()+1] {
		switch {
		case p.series.usable(i, p.family.Kind):
		case p.series.captured(i, p.family.Kind):
			cut = append(cut, p.series.label(i))
		default:
			none = append(none, p.series.label(i))
		}
	}
	if len(none) > 0 {
		say("no %s were captured at %s", wording.Kinds(p.family.Kind), wording.Commas(none, 5))
	}
	if len(cut) > 0 {
		say("left out, because the dump is cut and its counts are lower bounds: %s", wording.Commas(cut, 5))
	}
	if s.fit.n == 0 {
		switch {
		case s.usable == 0:
			say("no snapshot gives a usable count")
		case s.usable == 1:
			say("one usable snapshot: growth needs two")
		default:
			say("%s, each of another process start: nothing can be compared", wording.Plural(s.usable, "snapshot", "snapshots"))
		}
		return evidence
	}
	if s.fit.n < 4 {
		say("%s: too few for a trend or for cohorts (all pairs of %d rise by chance with %s)",
			wording.Plural(s.fit.n, "snapshot", "snapshots"), s.fit.n, chance(allPairsRise(s.fit.n)))
	}
	grows := s.up > levelNone || s.cohorts
	switch {
	case !s.identified && p.unfollowed():
		say("no identities: whether the members stayed cannot be said")
	case s.fit.n >= 4 && s.identified && !s.cohortsSeen:
		say("no epoch has four snapshots with identities: no cohorts")
	}
	if !p.dated {
		say("no capture times: rates are per snapshot")
	} else if undated := p.undated(); len(undated) > 0 {
		say("without a time, left out of the slope: %s", wording.Commas(undated, 5))
	}
	if grows && s.loadFit.load == nil {
		if name, at := p.partialLoad(); name != "" {
			say("%s is not known at %s: enter it on the identity page to compare", name, wording.Commas(at, 5))
		} else {
			say("the load is not known: enter sessions or targets on the identity page to compare")
		}
	}
	return evidence
}

// partialLoad is the first load that only some of the points have, and the points
// without it.
func (p *part) partialLoad() (name string, unknown []string) {
	for _, l := range p.series.loads {
		known := 0
		unknown = unknown[:0]
		for _, pt := range flatten(p.runs) {
			if math.IsNaN(l.values[pt.index]) {
				unknown = append(unknown, p.label(pt))
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

func (p *part) undated() []string {
	var labels []string
	for _, pt := range flatten(p.runs) {
		if !pt.timed {
			labels = append(labels, p.label(pt))
		}
	}
	return labels
}

// spanText words what a short series cannot exclude.
func (p *part) spanText(s *signals, verdict analysis.Verdict, recovered bool) []analysis.Evidence {
	span := longestSpan(p.comparable())
	if !p.dated || s.fit.n == 0 || span >= shortSeries.Hours() {
		return nil
	}
	if recovered {
		return one(ruleSpan, "it grew for %s and went away, as a queue does that was worked off", p.over(p.comparable()))
	}
	tells := "shows slower growth"
	switch verdict {
	case analysis.Leaking, analysis.Suspicious, analysis.Grew, analysis.New:
		tells = "tells a leak from a queue"
	case analysis.Stopped, analysis.Shrinking, analysis.Gone:
		tells = "tells an end from a pause"
	}
	return one(ruleSpan, "%s is short: one more capture in 30 minutes %s", p.over(p.comparable()), tells)
}
