package join

import (
	"math"
	"slices"
)

// findAnchors finds for each goroutine the receiver nearest to its entry that is its own
// and whose type has another instance: no other goroutine shows it, or the others visit it
// or hang on it. It then drops the tokens of addresses that one goroutine shows alone.
func (j *joiner) findAnchors() {
	j.anchors = make([]uint32, len(j.of))
	var types []int32
	for i := range j.tokens {
		kept := j.tokens[i][:0]
		runsOf(j.tokens[i], func(run []token) {
			types = j.typesOf(run, types[:0])
			if !j.addressed(&j.scratch, run, types) || len(j.scratch.sharers) == 0 {
				return
			}
			if g := j.owner(&j.scratch); g >= 0 {
				j.anchor(run, uint32(g))
			}
			if len(j.scratch.sharers) > 1 {
				kept = append(kept, run...) // overwrites the run
			}
		})
		j.tokens[i] = slices.Clone(kept)
	}
}

// owner is the only goroutine of an address that neither visits it nor hangs on it, none
// without.
func (j *joiner) owner(in *instance) int {
	if len(in.sharers) == 1 {
		return int(in.sharers[0])
	}
	j.tally(in)
	most := j.nextGroup(in, math.MaxInt32)
	owner := none
	for _, g := range in.sharers {
		if n := j.instancesWith(in, j.roleOf(g)); n == 0 || !together(n, most) {
			continue
		}
		if owner >= 0 {
			return none
		}
		owner = int(g)
	}
	return owner
}

// anchor takes an address for the anchor of a goroutine if it is nearer to the entry than
// others.
func (j *joiner) anchor(run []token, g uint32) {
	typ := j.scratch.typ
	if typ < 0 || j.instances[typ] < 2 || j.stray[typ] {
		return
	}
	for _, k := range run {
		if j.places[k.place].typ != typ || k.goroutine != g {
			continue
		}
		if known := j.anchors[g]; known == 0 || j.places[k.place].frame > j.places[known-1].frame {
			j.anchors[g] = k.place + 1
		}
	}
}
