package trend

import (
	"cmp"
	"slices"

	"leakdiff/analysis"
)

// A label explains a growth if at least 90 % of those that came have it, and less than 60 % of
// those that were there before.
const (
	fewestBorn    = 8
	leastOfBorn   = 0.9
	mostOfEarlier = 0.6
)

// mostLabelEvidence is how many labels are listed of a family that none of them splits.
const mostLabelEvidence = 3

// labelCount is on how many members one label is.
type labelCount struct {
	label         analysis.Label
	born, earlier int
}

// labelEvidence compares the pprof labels of the members that came with those of the members
// that were there before. Without a label that splits them it lists the most frequent ones.
func labelEvidence(p *part, _ *signals) []analysis.Evidence {
	run, last, first := p.labelled()
	if last == nil {
		return nil
	}
	earlier := make(map[int64]bool)
	if first != nil {
		for id := range first.Members.IDs() {
			earlier[id] = true
		}
	}
	counts := map[analysis.Label]*labelCount{}
	bornAll, earlierAll := 0, 0
	sets := map[analysis.Labels][2]int{}
	for m := range last.Members.All() {
		set := sets[m.Labels]
		if earlier[m.Identity.ID] {
			earlierAll++
			set[1]++
		} else {
			bornAll++
			set[0]++
		}
		sets[m.Labels] = set
	}
	for set, n := range sets {
		for _, label := range set.List() {
			c := counts[label]
			if c == nil {
				c = &labelCount{label: label}
				counts[label] = c
			}
			c.born, c.earlier = c.born+n[0], c.earlier+n[1]
		}
	}
	var all []labelCount
	for _, c := range counts {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b labelCount) int {
		return cmp.Or(cmp.Compare(b.born+b.earlier, a.born+a.earlier), cmp.Compare(a.label.Key, b.label.Key), cmp.Compare(a.label.Value, b.label.Value))
	})
	from, to := run[0].index, run[len(run)-1].index
	var out []analysis.Evidence
	for _, c := range all {
		if earlierAll > 0 && bornAll >= fewestBorn && float64(c.born) >= leastOfBorn*float64(bornAll) && float64(c.earlier) < mostOfEarlier*float64(earlierAll) {
			out = append(out, analysis.Evidence{Rule: ruleLabels, Form: "split", N: c.born, Of: bornAll, From: new(from), To: new(to), Names: []string{c.label.Key, c.label.Value},
				Figures: map[analysis.Figure]float64{"earlier": float64(c.earlier), "earlier_of": float64(earlierAll)}})
		}
	}
	if len(out) > 0 {
		return out[:min(len(out), mostLabelEvidence)]
	}
	for _, c := range all[:min(len(all), mostLabelEvidence)] {
		out = append(out, analysis.Evidence{Rule: ruleLabels, N: c.born + c.earlier, Of: bornAll + earlierAll, To: new(to), Names: []string{c.label.Key, c.label.Value}})
	}
	return out
}

// labelled returns the last run of snapshots whose members are followed, and the family in its
// last and its first one. last is nil if no member has a label, first if none was there.
func (p *part) labelled() (run []point, last, first *analysis.Group) {
	groups := p.series.groups[p.family.Fingerprint]
	if len(p.runs) == 0 || p.family.Kind != analysis.KindGoroutine {
		return nil, nil, nil
	}
	run = p.tracking.followed(p.runs[len(p.runs)-1])
	if len(run) == 0 {
		return nil, nil, nil
	}
	last = groups[run[len(run)-1].index]
	if last == nil || !last.Members.Labelled() {
		return nil, nil, nil
	}
	return run, last, groups[run[0].index]
}
