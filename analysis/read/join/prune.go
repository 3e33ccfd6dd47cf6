package join

import "slices"

const (
	// firstPrune is the number of tokens, 4 MiB, at which a dump is large.
	firstPrune = 1 << 18
	// sampledWords is how many words of a place show what the others are.
	sampledWords = 1000
	// sharedWords is how many of them another goroutine must show: one in as many.
	sharedWords = 1000
)

// prune drops the tokens of a large dump that join nothing: those at places where no
// other goroutine shows what one shows. Most addresses of a server are such: the request,
// its context, its buffers. Of the receivers that only one goroutine shows, those nearest
// to the entry stay, since they name it. The tokens so far stand for all others.
func (t *Tokens) prune() {
	samples := make([]sample, len(t.places))
	flat := t.flatten()
	slices.SortFunc(flat, compareTokens)
	runsOf(flat, func(run []token) {
		shared := false
		for i := 1; i < len(run) && !shared; i++ {
			a, b := run[i-1], run[i]
			shared = a.goroutine != b.goroutine || t.places[a.place].shape != t.places[b.place].shape
		}
		for _, k := range run {
			samples[k.place].words++
			if shared {
				samples[k.place].shared++
			}
		}
	})
	t.bury(samples)
	kept := flat[:0]
	for _, k := range flat {
		if !t.places[k.place].dead {
			kept = append(kept, k)
		}
	}
	t.slabs, t.n = nil, 0
	t.pruneAt = max(firstPrune, 2*len(kept))
	for _, k := range kept {
		t.put(k)
	}
}

// sample counts words of a place, and those that two goroutines show.
type sample struct{ words, shared int }

func (s sample) alone() bool { return s.words >= sampledWords && s.shared*sharedWords < s.words }

// bury marks the places that join nothing as dead.
func (t *Tokens) bury(samples []sample) {
	names := map[int32]uint16{} // of shapes: the frame of the receiver that names them
	for i := range t.places {
		p := &t.places[i]
		if p.typ >= 0 && samples[i].alone() && !incidental(t.types.all[p.typ]) {
			names[p.shape] = max(names[p.shape], p.frame)
		}
	}
	for i := range t.places {
		p := &t.places[i]
		if !samples[i].alone() || p.typ >= 0 && p.frame == names[p.shape] {
			continue
		}
		p.dead = true
	}
}

// flatten returns all tokens in one slice.
func (t *Tokens) flatten() []token {
	flat := make([]token, 0, t.n)
	for i, slab := range t.slabs {
		flat = append(flat, slab...)
		t.slabs[i] = nil
	}
	t.slabs = nil
	return flat
}

// runsOf calls visit with the tokens of each address.
func runsOf(sorted []token, visit func([]token)) {
	for begin := 0; begin < len(sorted); {
		end := begin + 1
		for end < len(sorted) && sorted[end].address == sorted[begin].address {
			end++
		}
		visit(sorted[begin:end])
		begin = end
	}
}

// compareTokens orders tokens by address and goroutine.
func compareTokens(a, b token) int {
	switch {
	case a.address < b.address:
		return -1
	case a.address > b.address:
		return 1
	case a.goroutine < b.goroutine:
		return -1
	case a.goroutine > b.goroutine:
		return 1
	}
	return 0
}
