package lsof

import "hash/fnv"

// merger recognises rows that threads repeat (lsof -K and old releases by default
// list every descriptor once per thread).
type merger struct {
	seen  map[uint64]struct{}
	stars map[star]starRun
	full  bool
}

// star is what is left of a descriptor above 9,999: its last three digits, and all
// else that the row tells, hashed.
type star struct {
	pid  int
	hash uint64
}

// starRun counts equal rows of the thread being listed, and the most of any.
type starRun struct{ tid, rows, most int }

func newMerger() merger {
	return merger{seen: map[uint64]struct{}{}, stars: map[star]starRun{}}
}

func (m *merger) reset() {
	if len(m.seen)+len(m.stars) > 0 {
		*m = newMerger()
	}
}

// first reports whether no earlier row of this listing was the same descriptor.
// Equal stars of one thread are different descriptors, never merged; those of
// another thread of the process repeat them one by one. full is true once, when
// more descriptors came than are remembered; all later new ones count as first.
func (m *merger) first(row *Row) (first, full bool) {
	if row.Star {
		return m.firstStar(row)
	}
	key := uint64(row.PID)<<32 | uint64(uint32(row.FD))
	if _, ok := m.seen[key]; ok {
		return false, false
	}
	if !m.room() {
		full, m.full = !m.full, true
		return true, full
	}
	m.seen[key] = struct{}{}
	return true, false
}

func (m *merger) firstStar(row *Row) (first, full bool) {
	h := fnv.New64a()
	for _, cell := range []string{row.FDText, row.Type, row.Device, row.Node, row.NameText} {
		_, _ = h.Write([]byte(cell)) // a hash never fails
		_, _ = h.Write([]byte{0})
	}
	key := star{row.PID, h.Sum64()}
	run, ok := m.stars[key]
	if !ok && !m.room() {
		full, m.full = !m.full, true
		return true, full
	}
	if run.tid != row.TID {
		run.tid, run.rows = row.TID, 0
	}
	run.rows++
	first = run.rows > run.most
	run.most = max(run.most, run.rows)
	m.stars[key] = run
	return first, false
}

func (m *merger) room() bool { return len(m.seen)+len(m.stars) < maxSeen }
