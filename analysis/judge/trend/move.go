package trend

import (
	"leakdiff/analysis"
)

// listing is the first and the last snapshot of an epoch in which a watch, socket or file was
// listed, in any family. A watch whose mount or cgroup goes away, a connection that the peer
// closes, and a file that is deleted while it is open, is listed in another family from then on. It was neither born nor has it ended.
type listing struct{ first, last int32 }

// changesFamily reports a family whose members may be listed in another one later: watches,
// sockets, whose state is part of the family, and files, whose name is: that of a file that is
// deleted changes.
func changesFamily(f *analysis.Family) bool {
	return f.Kind == analysis.KindWatch || f.Kind == analysis.KindDescriptor && (f.Attributes["protocol"] != "" || f.Attributes["type"] == "file")
}

// epochIdentity is a member of one epoch.
type epochIdentity struct {
	epoch    int
	identity analysis.Identity
}

// newListings follows all watches, sockets and files of the series.
func (s *Series) newListings() map[epochIdentity]listing {
	out := map[epochIdentity]listing{}
	for i, snap := range s.Snapshots {
		for k := range snap.Groups {
			g := &snap.Groups[k]
			if !changesFamily(g.Family) || !g.Members.Identified() {
				continue
			}
			for identity := range g.Members.Identities() {
				if g.Family.Kind == analysis.KindDescriptor && identity.Sub == 0 && identity.Hash == 0 {
					continue // a number alone, which another socket may have next
				}
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

// listing returns where a member of the part was listed in any family of its kind. ok
// is false for kinds whose members never change family.
func (p *part) listing(number int32, snapshot int) (listing, bool) {
	if p.family == nil || !changesFamily(p.family) || p.tracking == nil {
		return listing{}, false
	}
	l, ok := p.series.listings()[epochIdentity{p.series.Epochs[snapshot], p.tracking.identity(int(number))}]
	return l, ok
}

// movedIn counts the members of a snapshot that came into the family after an earlier
// snapshot and were already listed in that one, in another family.
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

// stillListed counts the members of a snapshot that a later one still lists, in any
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
