package lsof

import "hash/fnv"

// merger recognises rows that threads repeat (lsof -K and old releases by default
// list every descriptor once per thread).
type merger struct {
	// seen has a bit for each descriptor, 64 of a process in a word: listings go
	// through them in order.
	seen map[group]uint64
	// last is the group of the row above and bits its word, which is written to seen
	// when another group comes.
	last  group
	bits  uint64
	stars map[star]starRun
	full  bool
}

// group are the descriptors number*64 to number*64+63 of a process.
type group struct{ pid, number int32 }

// star is what is left of a descriptor above 9,999: its last three digits, and a hash
// of all other cells of the row.
type star struct {
	pid  int
	hash uint64
}

// starRun counts equal rows of the thread being listed, and the most of any.
type starRun struct{ tid, rows, most int }

func newMerger() merger {
	return merger{seen: map[group]uint64{}, stars: map[star]starRun{}}
}

func (m *merger) reset() {
	if m.bits != 0 || len(m.seen)+len(m.stars) > 0 {
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
	if of := (group{int32(row.PID), int32(row.FD / 64)}); of != m.last {
		bits, known := m.seen[of]
		if !known && !m.mayGrow() {
			full, m.full = !m.full, true
			return true, full
		}
		if m.bits != 0 {
			m.seen[m.last] = m.bits
		}
		m.last, m.bits = of, bits
	}
	bit := uint64(1) << (row.FD % 64)
	first = m.bits&bit == 0
	m.bits |= bit
	return first, false
}

func (m *merger) firstStar(row *Row) (first, full bool) {
	h := fnv.New64a()
	for _, cell := range []string{row.FDText, row.Type, row.Device, row.Node, row.NameText} {
		_, _ = h.Write([]byte(cell)) // a hash never fails
		_, _ = h.Write([]byte{0})
	}
	key := star{row.PID, h.Sum64()}
	run, ok := m.stars[key]
	if !ok && !m.mayGrow() {
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

func (m *merger) mayGrow() bool { return len(m.seen)+len(m.stars) < maxSeen }
