package trend

import (
	"cmp"
	"slices"

	"leakdiff/analysis"
)

// Total is the number of all members of one kind in a process. A rise of it forbids the
// sentence that nothing grows, although no family grows by itself.
type Total struct {
	Kind analysis.Kind
	// From and To are the totals at the ends of the epoch with the largest rise.
	From, To int
	// Born and Gone count the members of the process by identity over all epochs. They
	// are -1 if members cannot be followed.
	Born, Gone int
	// Risen reports that the rise is more than noise.
	Risen bool
	// Families are at most five families with the largest rises. Creators are at most
	// three functions that started most of the new goroutines.
	Families, Creators []Share
}

// totalKinds are the kinds whose totals are judged. Watches belong to descriptors.
var totalKinds = []analysis.Kind{analysis.KindGoroutine, analysis.KindThread, analysis.KindDescriptor}

// Totals returns the kinds whose totals are higher at the end of an epoch than at its
// start.
func (s *Series) Totals() []Total {
	var out []Total
	for _, kind := range totalKinds {
		if t, ok := s.total(kind); ok {
			out = append(out, t)
		}
	}
	return out
}

// total judges the total of a kind. Families whose members are all replaced make a total higher
// and do not grow: its rise counts if it is more than noise without them too.
func (s *Series) total(kind analysis.Kind) (Total, bool) {
	out, ok := s.totalWithout(kind, nil)
	if renewed := s.renewed(kind); out.Risen && len(renewed) > 0 {
		rest, _ := s.totalWithout(kind, renewed)
		out.Risen, out.Families, out.Creators = rest.Risen, rest.Families, rest.Creators
	}
	return out, ok
}

// renewed are the families of a kind whose members are all replaced at a level.
func (s *Series) renewed(kind analysis.Kind) map[string]bool {
	out := map[string]bool{}
	for _, j := range s.judgements().all {
		if j.signals.renewed && j.part.family.Kind == kind {
			out[j.part.family.Fingerprint] = true
		}
	}
	return out
}

func (s *Series) totalWithout(kind analysis.Kind, without map[string]bool) (Total, bool) {
	g := s.newTotalGrid(kind, without)
	p := &part{series: s, runs: g.runs, dated: g.dated, first: g.first}
	runs := p.comparable()
	if len(runs) == 0 {
		return Total{}, false
	}
	out := Total{Kind: kind, Born: -1, Gone: -1}
	for _, run := range runs {
		if first, last := run[0].count, run[len(run)-1].count; last-first > out.To-out.From {
			out.From, out.To = first, last
		}
	}
	if out.To <= out.From {
		return Total{}, false
	}
	signals := &signals{fit: fitCounts(runs, new(buffers))}
	signals.up = signals.fit.rising()
	p.measureOnce(signals)
	out.Risen = signals.up >= levelSuspicious
	born, gone, known := s.totalBalance(kind, runs, without)
	if known {
		out.Born, out.Gone = born, gone
		out.Risen = out.Risen || outweighs(born, gone, 0) && outweighs(born, gone, s.totalPassed(kind, runs, without))
	} else if signals.fit.few() {
		// Two or three counts alone can neither prove nor deny a growth.
		out.Risen = out.Risen || float64(signals.fit.rise) >= signals.fit.gate
	}
	if out.Risen {
		out.Families, out.Creators = s.risenMost(kind, without)
	}
	return out, true
}

// newTotalGrid is a grid whose counts are the totals of a kind without some families.
func (s *Series) newTotalGrid(kind analysis.Kind, without map[string]bool) *grid {
	g := s.newGrid(kind)
	parts := func(i int) bool { return s.Snapshots[i].Totals.Counted(kind) != kind } // sockets alone
	whole := slices.ContainsFunc(s.Snapshots, func(x *analysis.Snapshot) bool { return x.Totals.Of(kind) != nil && x.Totals.Counted(kind) == kind })
	for r, run := range g.runs {
		run = slices.DeleteFunc(run, func(pt point) bool { return whole && parts(pt.index) })
		g.runs[r] = run
		for k := range run {
			run[k].count = *s.Snapshots[run[k].index].Totals.Of(kind)
			for print := range without {
				if group := s.groups[print][run[k].index]; group != nil {
					run[k].count -= group.Count
				}
			}
		}
	}
	return g
}

// totalBalance counts who came and who left between the ends of the runs, in any
// family: a goroutine that moves to another stack is the same one.
func (s *Series) totalBalance(kind analysis.Kind, runs [][]point, without map[string]bool) (born, gone int, known bool) {
	for _, run := range runs {
		before, ok := s.identities(kind, run[0], without)
		after, same := s.identities(kind, run[len(run)-1], without)
		if !ok || !same {
			return 0, 0, false
		}
		stayed := shared(before, after)
		born, gone = born+len(after)-stayed, gone+len(before)-stayed
	}
	return born, gone, true
}

// totalPassed counts who came after the first snapshot of a run and ended before its last one, in any
// family.
func (s *Series) totalPassed(kind analysis.Kind, runs [][]point, without map[string]bool) int {
	passed := 0
	for _, run := range runs {
		before, _ := s.identities(kind, run[0], without)
		after, _ := s.identities(kind, run[len(run)-1], without)
		var between []analysis.Identity
		for _, pt := range run[1 : len(run)-1] {
			present, _ := s.identities(kind, pt, without)
			between = append(between, present...)
		}
		slices.SortFunc(between, analysis.Identity.Compare)
		between = slices.Compact(between)
		ends := slices.Concat(before, after)
		slices.SortFunc(ends, analysis.Identity.Compare)
		passed += len(between) - shared(between, slices.Compact(ends))
	}
	return passed
}

// identities returns the members of a kind in one snapshot, each once and in order, without
// those of some families. ok
// is false if some have no identity or if the families do not add up to the total.
func (s *Series) identities(kind analysis.Kind, at point, without map[string]bool) (all []analysis.Identity, ok bool) {
	snap := s.Snapshots[at.index]
	for k := range snap.Groups {
		group := &snap.Groups[k]
		if group.Family.Kind != kind || without[group.Family.Fingerprint] {
			continue
		}
		if !allIdentified(group) {
			return nil, false
		}
		all = slices.AppendSeq(slices.Grow(all, group.Members.Len()), group.Members.Identities())
	}
	slices.SortFunc(all, analysis.Identity.Compare)
	all = slices.Compact(all)
	// The dumping goroutine belongs to no family.
	return all, len(all) >= at.count-1
}

// shared counts the common entries of two ordered lists.
func shared(a, b []analysis.Identity) int {
	n := 0
	for len(a) > 0 && len(b) > 0 {
		switch c := a[0].Compare(b[0]); {
		case c < 0:
			a = a[1:]
		case c > 0:
			b = b[1:]
		default:
			n, a, b = n+1, a[1:], b[1:]
		}
	}
	return n
}

// risenMost returns the families of a kind, and the creators of goroutines, with the
// largest rises.
func (s *Series) risenMost(kind analysis.Kind, without map[string]bool) (families, creators []Share) {
	const mostFamilies, mostCreators = 5, 3
	rises := map[string]int{}
	for _, p := range s.ordered {
		if p.family.Kind != kind || without[p.family.Fingerprint] {
			continue
		}
		gain := 0
		for _, run := range p.comparable() {
			gain += run[len(run)-1].count - run[0].count
		}
		if gain > 0 {
			families = append(families, Share{Fingerprint: p.family.Fingerprint, Kind: kind, Rise: gain})
		}
		if p.family.LooseCreator != "" {
			rises[p.family.LooseCreator] += gain
		}
	}
	for creator, gain := range rises {
		if gain > 0 {
			creators = append(creators, Share{Fingerprint: creator, Kind: kind, Rise: gain})
		}
	}
	byRise := func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.Rise, a.Rise), cmp.Compare(a.Fingerprint, b.Fingerprint))
	}
	slices.SortFunc(families, byRise)
	slices.SortFunc(creators, byRise)
	return families[:min(len(families), mostFamilies)], creators[:min(len(creators), mostCreators)]
}
