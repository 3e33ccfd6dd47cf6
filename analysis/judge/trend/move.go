package trend

import (
	"leakdiff/analysis"
)

// listing is the first and the last snapshot of an epoch in which a member was listed, in any
// family. A goroutine that goes on in another stack, a thread that is renamed, a watch whose mount
// goes away, a connection that the peer closes, and a file that is deleted while it is open, is
// listed in another family from then on. It was neither born nor has it ended.
type listing struct{ first, last int32 }

// changesFamily reports a family whose members may be listed in another one later: goroutines and
// threads, whose stack is part of the family, watches, sockets, whose state is, and files, whose
// name is: that of a file that is deleted changes.
func changesFamily(f *analysis.Family) bool {
	return f.Kind != analysis.KindDescriptor || f.Attributes["protocol"] != "" || f.Attributes["type"] == "file"
}

// epochIdentity is a member of one epoch.
type epochIdentity struct {
	epoch    int
	kind     analysis.Kind
	identity analysis.Identity
}

// newListings follows the members of all families that share theirs. Goroutines and threads keep
// who created them and their pool: one that shares these with no other family shares no members.
func (s *Series) newListings() map[epochIdentity]listing {
	sharing := map[[2]string]int{}
	for _, p := range s.ordered {
		sharing[[2]string{string(p.family.Kind), populationOf(p.family)}]++
	}
	out := map[epochIdentity]listing{}
	for _, p := range s.ordered {
		kind := p.family.Kind
		if p.tracking == nil || !changesFamily(p.family) || hasStack(kind) && sharing[[2]string{string(kind), populationOf(p.family)}] < 2 {
			continue
		}
		last := make([]int32, len(p.tracking.first))
		for i, present := range p.tracking.members {
			for _, number := range present {
				last[number] = int32(i)
			}
		}
		for number, first := range p.tracking.first {
			identity := p.tracking.identity(number)
			if kind == analysis.KindDescriptor && identity.Sub == 0 && identity.Hash == 0 {
				continue // a number alone, which another socket may have next
			}
			key := epochIdentity{s.Epochs[first], kind, identity}
			l, known := out[key]
			if !known {
				l = listing{first, last[number]}
			}
			out[key] = listing{min(l.first, first), max(l.last, last[number])}
		}
	}
	return out
}

func hasStack(k analysis.Kind) bool { return k == analysis.KindGoroutine || k == analysis.KindThread }

// listing returns where a member of the part was listed in any family of its kind. ok
// is false for kinds whose members never change family.
func (p *part) listing(number int32, snapshot int) (listing, bool) {
	if p.family == nil || !changesFamily(p.family) || p.tracking == nil {
		return listing{}, false
	}
	l, ok := p.series.listings()[epochIdentity{p.series.Epochs[snapshot], p.family.Kind, p.tracking.identity(int(number))}]
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

// wereElsewhere counts the members that came into the family after a snapshot of their epoch which
// already lists them, in another family: they came here, and did not start.
func (p *part) wereElsewhere(snapshot int) int {
	n := 0
	for number, first := range p.tracking.first {
		if int(first) <= snapshot || p.series.Epochs[first] != p.series.Epochs[snapshot] {
			continue
		}
		if l, ok := p.listing(int32(number), int(first)); ok && int(l.first) <= snapshot {
			n++
		}
	}
	return n
}

// ended counts the members that a run shows and that its last snapshot does not have: those that have
// ended, and those that it lists in another family.
func (p *part) ended(run []point) (gone, away int) {
	last, seen := run[len(run)-1].index, make([]bool, len(p.tracking.first))
	for _, number := range p.tracking.members[last] {
		seen[number] = true
	}
	for _, pt := range run {
		for _, number := range p.tracking.members[pt.index] {
			if seen[number] {
				continue
			}
			seen[number] = true
			if l, ok := p.listing(number, pt.index); ok && int(l.last) >= last {
				away++
			} else {
				gone++
			}
		}
	}
	return gone, away
}

// cameMoving counts the members of a snapshot that were listed in another family before they came
// into this one.
func (p *part) cameMoving(snapshot int) int {
	n := 0
	for _, number := range p.tracking.members[snapshot] {
		if l, ok := p.listing(number, snapshot); ok && l.first < p.tracking.first[number] {
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
