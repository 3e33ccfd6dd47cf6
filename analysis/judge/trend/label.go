package trend

import (
	"cmp"
	"maps"
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

// mostLabelEvidence is how many labels are named that explain one growth.
const mostLabelEvidence = 3

// labelCount is on how many members one label is.
type labelCount struct {
	label         analysis.Label
	born, earlier int
}

// labelEvidence compares the pprof labels of the members that came with those of the members
// that were there before.
func labelEvidence(p *part, _ *signals) []analysis.Evidence {
	if p.family.Kind != analysis.KindGoroutine || len(p.runs) == 0 {
		return nil
	}
	run := p.runs[len(p.runs)-1]
	at := run[len(run)-1].index
	if len(p.series.Snapshots[at].Labels[p.family.Fingerprint]) == 0 {
		return nil
	}
	var counts []labelCount
	var born, earlier int
	var followed []point
	if p.tracking != nil {
		followed = p.tracking.followed(run)
	}
	if len(followed) > 0 {
		run, at = followed, followed[len(followed)-1].index
		counts, born, earlier = p.labelsByIdentity(run[0].index, at)
		if len(counts) == 0 { // a profile beside the dump has the labels, and no identities
			last := run[len(run)-1]
			if last.count-run[0].count != born || run[0].count != earlier {
				return nil // some ended
			}
			counts, born, earlier = p.labelsByCount(run[0], last)
		}
	} else {
		counts, born, earlier = p.labelsByCount(run[0], run[len(run)-1])
	}
	if born < fewestBorn || earlier == 0 {
		return nil
	}
	counts = slices.DeleteFunc(counts, func(c labelCount) bool {
		return float64(c.born) < leastOfBorn*float64(born) || float64(c.earlier) >= mostOfEarlier*float64(earlier)
	})
	slices.SortFunc(counts, func(a, b labelCount) int {
		return cmp.Or(cmp.Compare(b.born, a.born), cmp.Compare(a.earlier, b.earlier), cmp.Compare(a.label.Key, b.label.Key), cmp.Compare(a.label.Value, b.label.Value))
	})
	from := run[0].index
	var out []analysis.Evidence
	for _, c := range counts[:min(len(counts), mostLabelEvidence)] {
		out = append(out, analysis.Evidence{Rule: ruleLabels, N: c.born, Of: born, From: new(from), To: new(at), Names: []string{c.label.Key, c.label.Value},
			Figures: map[analysis.Figure]float64{"earlier": float64(c.earlier), "earlier_of": float64(earlier)}})
	}
	return out
}

// labelsByIdentity counts the labels of those who are there at a snapshot: of those born since
// another one, and of the others.
func (p *part) labelsByIdentity(from, to int) (counts []labelCount, born, earlier int) {
	groups := p.series.groups[p.family.Fingerprint]
	there := map[int64]bool{}
	if groups[from] != nil {
		for id := range groups[from].Members.IDs() {
			there[id] = true
		}
	}
	sets := map[analysis.Labels]labelCount{}
	if groups[to] == nil { // nobody was there when identities were seen last
		return nil, 0, 0
	}
	for m := range groups[to].Members.All() {
		set := sets[m.Labels]
		if there[m.Identity.ID] {
			set.earlier++
			earlier++
		} else {
			set.born++
			born++
		}
		sets[m.Labels] = set
	}
	all := map[analysis.Label]labelCount{}
	for set, n := range sets {
		for _, label := range set.List() {
			c := all[label]
			all[label] = labelCount{label, c.born + n.born, c.earlier + n.earlier}
		}
	}
	return slices.Collect(maps.Values(all)), born, earlier
}

// labelsByCount compares the counts of labels in two snapshots whose members have no identities. It
// counts nothing where a label fell: then some ended, and more came than the counts show.
func (p *part) labelsByCount(from, to point) (counts []labelCount, born, earlier int) {
	before := map[analysis.Label]int{}
	for _, l := range p.series.Snapshots[from.index].Labels[p.family.Fingerprint] {
		before[l.Label] = l.Count
	}
	for _, l := range p.series.Snapshots[to.index].Labels[p.family.Fingerprint] {
		counts = append(counts, labelCount{l.Label, l.Count - before[l.Label], before[l.Label]})
	}
	for _, c := range counts {
		if before[c.label] -= c.earlier; c.born < 0 {
			return nil, 0, 0
		}
	}
	for _, gone := range before {
		if gone > 0 {
			return nil, 0, 0
		}
	}
	return counts, to.count - from.count, from.count
}
