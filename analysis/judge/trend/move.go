package trend

import (
	"leakdiff/analysis"
)

// listing are the first and the last snapshot of an epoch in which a watch was
// listed, in whatever family: a watch whose mount or cgroup goes away is in another
// family from then on, and neither born nor ended.
type listing struct{ first, last int32 }

// epochIdentity is a member of one epoch.
type epochIdentity struct {
	epoch    int
	identity analysis.Identity
}

// newWatches follows all watches of the series.
func (s *Series) newWatches() map[epochIdentity]listing {
	out := map[epochIdentity]listing{}
	for i, snap := range s.Snapshots {
		for k := range snap.Groups {
			g := &snap.Groups[k]
			if g.Family.Kind != analysis.KindWatch || !g.Members.Identified() {
				continue
			}
			for identity := range g.Members.Identities() {
				key := epochIdentity{s.Epochs[i], identity}
				l, known := out[key]
				if !known {
					l.first = int32(i)
				}
				l.last = int32(i)
				out[key] = l
			}
		}
	}
	return out
}

// listing is where a member of the part was listed in any family of its kind, as far as
// members change families at all; ok is false elsewhere.
func (p *part) listing(number int32, snapshot int) (listing, bool) {
	if p.family == nil || p.family.Kind != analysis.KindWatch || p.tracking == nil {
		return listing{}, false
	}
	l, ok := p.series.watches()[epochIdentity{p.series.Epochs[snapshot], p.tracking.identity(int(number))}]
	return l, ok
}

// movedIn counts the members of a snapshot that came into the family after an earlier
// one, and that were listed there already, in another family.
func (p *part) movedIn(earlier, snapshot int) int {
	n := 0
	for _, number := range p.tracking.members[snapshot] {
		if int(p.tracking.first[number]) <= earlier {
			continue
		}
		if l, ok := p.listing(number, snapshot); ok && int(l.first) <= earlier {
			n++
		}
	}
	return n
}

// stillListed counts the members of a snapshot that a later one still lists, in whatever
// family.
func (p *part) stillListed(snapshot, later int) int {
	n := 0
	for _, number := range p.tracking.members[snapshot] {
		if l, ok := p.listing(number, snapshot); ok && int(l.last) >= later {
			n++
		}
	}
	return n
}
