package join

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// hash is a salted hash of an address: 24 bits, of which 0 is none.
type hash [3]byte

func (h hash) number() uint32 { return uint32(h[0]) | uint32(h[1])<<8 | uint32(h[2])<<16 }

// pseudonym is all that leaves this package of an address.
func (j *joiner) pseudonym(address uint64) hash {
	var text [16 + 8]byte
	copy(text[:], j.salt[:])
	binary.LittleEndian.PutUint64(text[16:], address)
	sum := sha256.Sum256(text[:])
	h := hash(sum[:3])
	if h == (hash{}) {
		h[0] = 1
	}
	return h
}

// findAnchors finds for each goroutine the receiver nearest to its entry that no other
// goroutine shows and whose type has another instance. It then drops the tokens of
// addresses that one goroutine shows alone.
func (j *joiner) findAnchors() {
	j.anchors, j.hashes = make([]uint32, len(j.of)), make([]hash, len(j.of))
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
			j.anchors[g], j.hashes[g] = k.place+1, j.pseudonym(k.address)
		}
	}
}
