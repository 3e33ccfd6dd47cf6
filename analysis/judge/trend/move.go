package trend

import (
	"leakdiff/analysis"
)

// whereabouts are the first and the last snapshot of an epoch in which a watch was
// listed, in whatever family: a watch whose mount or cgroup goes away is in another
// family from then on, and neither born nor ended.
type whereabouts struct{ first, last int32 }

// epochIdentity is a member of one epoch.
type epochIdentity struct {
	epoch    int
	identity analysis.Identity
}

// newWatches follows all watches of the series.
func (s *Series) newWatches() map[epochIdentity]whereabouts {
	out := map[epochIdentity]whereabouts{}
	for i, snap := range s.Snapshots {
		for k := range snap.Groups {
			g := &snap.Groups[k]
			if g.Family.Kind != analysis.KindWatch || !g.Members.Identified() {
				continue
			}
			for identity := range g.Members.Identities() {
				key := epochIdentity{s.Epochs[i], identity}
				w, known := out[key]
				if !known {
					w.first = int32(i)
				}
				w.last = int32(i)
				out[key] = w
			}
		}
	}
	return out
}

// whereabouts is where a member of the part was listed in any family of its kind, as far as
// members change families at all; ok is false elsewhere.
func (p *part) whereabouts(number int32, snapshot int) (whereabouts, bool) {
	if p.family == nil || p.family.Kind != analysis.KindWatch || p.crowd == nil {
		return whereabouts{}, false
	}
	w, ok := p.series.watches()[epochIdentity{p.series.Epochs[snapshot], p.crowd.identity(int(number))}]
	return w, ok
}

// cameFrom counts the members of a snapshot that came into the family after an earlier
// one, and that were listed there already, in another family.
func (p *part) cameFrom(earlier, snapshot int) int {
	n := 0
	for _, number := range p.crowd.members[snapshot] {
		if int(p.crowd.first[number]) <= earlier {
			continue
		}
		if w, ok := p.whereabouts(number, snapshot); ok && int(w.first) <= earlier {
			n++
		}
	}
	return n
}

// wentOn counts the members of a snapshot that a later one still lists, in whatever
// family.
func (p *part) wentOn(snapshot, later int) int {
	n := 0
	for _, number := range p.crowd.members[snapshot] {
		if w, ok := p.whereabouts(number, snapshot); ok && int(w.last) >= later {
			n++
		}
	}
	return n
}
