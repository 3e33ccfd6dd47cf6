package trend

import (
	"cmp"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// The thresholds of a population (statistics.md R14): between its families at least leastMoved
// members move. Creators with more than mostFollowed members are left alone.
const (
	leastMoved   = 2
	mostFollowed = 1 << 20
)

// findPopulations finds the families of one creator between which members move: a goroutine that
// is found in a select, in a sleep and in a send is one thing, and its families are its states.
func (s *Series) findPopulations() (out []sharing) {
	for _, m := range s.sharing(ByCreator, nil) {
		if len(m.parts) < 2 {
			continue
		}
		group := make([]int, len(m.parts)) // of each family: the first of those that it shares members with
		for k := range group {
			group[k] = k
		}
		for pair, moved := range s.moved(m.parts) {
			if a, b := group[pair[0]], group[pair[1]]; moved >= leastMoved {
				for k := range group {
					if group[k] == max(a, b) {
						group[k] = min(a, b)
					}
				}
			}
		}
		for k := range group {
			one := sharing{name: m.name}
			for n, p := range m.parts {
				if group[n] == k {
					one.parts = append(one.parts, p)
				}
			}
			if len(one.parts) > 1 {
				out = append(out, one)
			}
		}
	}
	return out
}

// moved counts the members that two families have in different snapshots of one epoch, by the
// indexes of the families.
func (s *Series) moved(parts []*part) map[[2]int]int {
	all := 0
	for _, p := range parts {
		all += len(p.tracking.ids)
	}
	out := map[[2]int]int{}
	if all > mostFollowed {
		return out
	}
	in := make(map[[2]int64][]int, all)
	for k, p := range parts {
		for number, id := range p.tracking.ids {
			member := [2]int64{int64(s.Epochs[p.tracking.first[number]]), id}
			for _, other := range in[member] {
				out[[2]int{other, k}]++
			}
			in[member] = append(in[member], k)
		}
	}
	return out
}

// findMoving are the families of populations.
func (s *Series) findMoving() map[string]bool {
	out := map[string]bool{}
	for _, m := range s.populations() {
		for _, p := range m.parts {
			out[p.family.Fingerprint] = true
		}
	}
	return out
}

// judgePopulations judges the families of each population as one. Those are left out of which a
// family says as much by itself.
func (s *Series) judgePopulations() []Key {
	var found []Key
	var united []sharing
	for k, m := range s.populations() {
		key := Key{By: ByCreator, Kind: analysis.KindGoroutine, Name: m.name, Of: len(m.parts), Moving: true}
		slices.SortStableFunc(m.parts, func(a, b *part) int { return cmp.Compare(b.gain(), a.gain()) })
		for _, p := range m.parts {
			key.Families = append(key.Families, p.family.Fingerprint)
		}
		found = append(found, key)
		united = append(united, sharing{name: m.name + strings.Repeat(" ", k), parts: m.parts})
	}
	return slices.DeleteFunc(s.judgeUnited(analysis.KindGoroutine, found, united), func(k Key) bool {
		return slices.ContainsFunc(k.Families, func(print string) bool {
			return s.judgements().byFingerprint[print].verdict().Rank() <= k.Judgement.Verdict.Rank()
		})
	})
}
