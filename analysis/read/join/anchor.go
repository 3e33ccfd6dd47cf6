package join

import "slices"

// findAnchors finds for each goroutine the receiver nearest to its entry that no other
// goroutine shows and whose type has another instance. It then drops the tokens of
// addresses that one goroutine shows alone.
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
			if len(j.scratch.sharers) > 1 {
				kept = append(kept, run...)
				return
			}
			j.anchor(run)
		})
		j.tokens[i] = slices.Clone(kept)
	}
}

// anchor takes an address that one goroutine shows for its anchor if it is nearer to the
// entry than others.
func (j *joiner) anchor(run []token) {
	g, typ := j.scratch.sharers[0], j.scratch.typ
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
