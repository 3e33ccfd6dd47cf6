package join

import "slices"

const (
	// firstPrune is the number of tokens, 4 MiB, at which a dump is large.
	firstPrune = 1 << 18
	// sampleTokens is about how many of them are looked at.
	sampleTokens = 1 << 16
	// aloneWords is how many words of a place must be shown by one goroutine alone for all
	// to be taken for such; of more words, one in aloneShare may be shared.
	aloneWords, aloneShare = 64, 1000
)

// prune drops the tokens of a large dump that join nothing: those at places where no
// other goroutine shows what one shows. Most addresses of a server are such: the request,
// its context, its buffers. Plain words that are no receivers are dropped as well. Of the receivers that only one goroutine shows, those nearest
// to the entry stay, since they name it. Some of the addresses so far, with all tokens
// they have, stand for all others.
func (t *Tokens) prune() {
	var chosen []token
	for _, slab := range t.slabs {
		for _, k := range slab {
			if mix(k.address)%uint64(t.n/sampleTokens+1) == 0 {
				chosen = append(chosen, k)
			}
		}
	}
	slices.SortFunc(chosen, compareTokens)
	samples := make([]sample, len(t.places))
	runsOf(chosen, func(run []token) {
		shared := false
		for i := 1; i < len(run) && !shared; i++ {
			a, b := run[i-1], run[i]
			shared = a.goroutine != b.goroutine || t.places[a.place].shape != t.places[b.place].shape
		}
		received := slices.ContainsFunc(run, func(k token) bool { return t.places[k.place].typ >= 0 })
		for _, k := range run {
			s := &samples[k.place]
			s.words++
			if shared {
				s.shared++
			}
			if received {
				s.received++
			}
		}
	})
	t.bury(samples)
	t.keepIf(func(k token) bool { return !t.places[k.place].dead })
	t.pruneAt = max(firstPrune, 2*t.n)
}

// mix spreads addresses, which are multiples of the sizes of objects.
func mix(address uint64) uint64 {
	address = (address ^ address>>32) * 0x9e3779b97f4a7c15
	return address ^ address>>29
}

// sample counts words of a place, those that two goroutines show, and those that are
// receivers.
type sample struct{ words, shared, received int }

func (s sample) alone() bool { return s.words >= aloneWords && s.shared*aloneShare < s.words }

// foreign reports whether plain words are far from being receivers, without which they
// join nothing.
func (s sample) foreign() bool { return s.words >= aloneWords && 5*s.received < s.words }

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
		if samples[i].alone() && (p.typ < 0 || p.frame != names[p.shape]) || p.typ < 0 && !p.pair && samples[i].foreign() {
			p.dead = true
		}
	}
}

// keepIf drops the other tokens, and the slabs that are then free.
func (t *Tokens) keepIf(keep func(token) bool) {
	to, n := 0, 0
	for i, slab := range t.slabs {
		t.slabs[i] = slab[:0]
		for _, k := range slab {
			if !keep(k) {
				continue
			}
			if len(t.slabs[to]) == cap(t.slabs[to]) {
				to++
			}
			t.slabs[to] = append(t.slabs[to], k)
			n++
		}
	}
	t.n = n
	if to < len(t.slabs) {
		clear(t.slabs[to+1:])
		t.slabs = t.slabs[:to+1]
	}
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
