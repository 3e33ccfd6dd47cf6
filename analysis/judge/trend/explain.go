package trend

import (
	"cmp"
	"slices"

	"leakdiff/analysis"
)

// Point is one entry of the explanation of a series: a unit, or a family that rises
// alone, with its possible holders. Points are ordered so that a cause precedes its
// effects.
type Point struct {
	Section Section
	// Unit is the id of a unit, empty for a single family.
	Unit string
	// Families are the fingerprints, largest rise first.
	Families []string
	Verdict  analysis.Verdict
	// RecoveredAt is -1 if the cause is still present.
	RecoveredAt int
	// Rise is in members, over all its families.
	Rise int
	// Of is the fingerprint that a culprit may hold or an effect follows from. It is
	// empty in other sections.
	Of string
	// Why are the reasons that it may hold another.
	Why []analysis.Evidence
}

// Section is the place of a point in the explanation.
type Section string

// The sections in order.
const (
	WhatGrows   Section = "grows"
	MayHold     Section = "may_hold"
	Follows     Section = "follows"
	Observed    Section = "observer_effect"
	LoadFollows Section = "scaling"
	// Neutral is growth that accuses nobody: stopped, grew, new.
	Neutral Section = "neutral"
)

// Explain orders the families and units of a series so that causes precede effects:
// each growing unit or family, its possible culprits right after it, later growth in
// families that wait for the same lock, the effects of the capture itself, growth that
// follows its load, and growth that accuses nobody. Within a section the stronger
// verdict comes first, then the larger rise.
func (s *Series) Explain() []Point {
	var grown, observed, scaled, neutral []Point
	done := make(map[string]bool)
	for _, u := range s.Units() {
		p := Point{Section: WhatGrows, Unit: u.ID, Verdict: u.Verdict, RecoveredAt: u.RecoveredAt}
		for _, f := range u.Families {
			p.Families = append(p.Families, f.Fingerprint)
			p.Rise += f.Rise
		}
		if !u.Verdict.Rose() && !slices.ContainsFunc(p.Families, func(f string) bool { return s.judgements().byFingerprint[f].verdict().Rose() }) {
			continue
		}
		for _, f := range p.Families {
			done[f] = true
			if v := s.judgements().byFingerprint[f].verdict(); v.Rank() < p.Verdict.Rank() {
				p.Verdict = v
			}
		}
		grown = append(grown, p)
	}
	for _, j := range s.judgements().all {
		f := j.part.family.Fingerprint
		if done[f] || !j.verdict().Rose() {
			continue
		}
		p := Point{Section: WhatGrows, Families: []string{f}, Verdict: j.verdict(), RecoveredAt: -1, Rise: j.signals.fit.rise}
		if r := j.recovery(); r != nil {
			p.RecoveredAt = r.at.index
		}
		grown = append(grown, p)
	}
	slices.SortStableFunc(grown, func(a, b Point) int {
		return cmp.Or(a.Verdict.Rank()-b.Verdict.Rank(), b.Rise-a.Rise, cmp.Compare(a.Families[0], b.Families[0]))
	})
	var own []Point
	for _, p := range grown {
		switch {
		case p.Verdict == analysis.Scaling:
			p.Section = LoadFollows
			scaled = append(scaled, p)
		case s.observes(p):
			p.Section = Observed
			observed = append(observed, p)
		case !p.Verdict.Grows():
			p.Section = Neutral
			neutral = append(neutral, p)
		default:
			own = append(own, p)
			if share, ok := s.observedShare(p); ok {
				observed = append(observed, share)
			}
		}
	}
	// Several views of one thing grow alike. The one with a stack is the most
	// informative.
	slices.SortStableFunc(neutral, func(a, b Point) int {
		return cmp.Or(a.Verdict.Rank()-b.Verdict.Rank(), s.kindRank(a)-s.kindRank(b))
	})
	return slices.Concat(s.withCulprits(own), observed, scaled, neutral)
}

// kindRank is the rank of the first kind among a point's families.
func (s *Series) kindRank(p Point) int {
	rank := len(analysis.Kinds())
	for _, f := range p.Families {
		rank = min(rank, slices.Index(analysis.Kinds(), s.parts[f].family.Kind))
	}
	return rank
}

// observes reports a point whose families all exist because of an observer.
func (s *Series) observes(p Point) bool {
	for _, f := range p.Families {
		if !s.in.Observer[f] {
			return false
		}
	}
	return true
}

// observedShare is the part of a unit that exists because of an observer. Its requests
// rise with the cause that they wait for.
func (s *Series) observedShare(p Point) (Point, bool) {
	share := Point{Section: Observed, Verdict: p.Verdict, RecoveredAt: p.RecoveredAt}
	for _, f := range p.Families {
		if s.in.Observer[f] {
			share.Families = append(share.Families, f)
			share.Rise += s.judgements().byFingerprint[f].part.gain()
		} else if share.Of == "" {
			share.Of = f
		}
	}
	return share, len(share.Families) > 0
}

// withCulprits inserts the possible culprits after the first point that waits for them.
// It moves points that wait for the same lock as an earlier point after that point.
func (s *Series) withCulprits(points []Point) []Point {
	var out []Point
	told := make(map[string]bool)
	locks := make(map[uint64]string)
	for _, p := range points {
		for _, f := range p.Families {
			for _, lock := range s.lastLocks(f) {
				if first, seen := locks[lock]; seen && p.Section == WhatGrows && first != p.Families[0] {
					p.Section, p.Of = Follows, first
				} else if !seen {
					locks[lock] = p.Families[0]
				}
			}
		}
		out = append(out, p)
		for _, f := range p.Families {
			for _, c := range s.Suspects(f) {
				if told[c.Fingerprint] {
					continue
				}
				told[c.Fingerprint] = true
				out = append(out, Point{
					Section: MayHold, Families: []string{c.Fingerprint}, Verdict: s.judgements().byFingerprint[c.Fingerprint].verdict(),
					RecoveredAt: -1, Of: f, Why: c.Why,
				})
			}
		}
	}
	return out
}

func (s *Series) lastLocks(fingerprint string) []uint64 {
	for i := min(len(s.in.Objects), len(s.Snapshots)) - 1; i >= 0; i-- {
		if locks := s.locksOf(i, fingerprint); len(locks) > 0 {
			return locks
		}
	}
	return nil
}

// Roles returns the role of families by fingerprint: victim, possible culprit or effect
// of an observer.
func (s *Series) Roles() map[string]Role {
	roles := make(map[string]Role)
	for f, observes := range s.in.Observer {
		if observes && s.parts[f] != nil {
			roles[f] = ObserverEffect
		}
	}
	for _, j := range s.judgements().all {
		f := j.part.family.Fingerprint
		for _, c := range s.Suspects(f) {
			if !s.judgements().byFingerprint[c.Fingerprint].verdict().Grows() {
				roles[c.Fingerprint] = PossibleCulprit
			}
			if _, has := roles[f]; !has {
				roles[f] = Victim
			}
		}
	}
	return roles
}
