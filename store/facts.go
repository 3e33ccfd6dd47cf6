package store

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"leakdiff/analysis"
)

// The facts of a snapshot are its groups in their order, without members, sealed:
//
//	length   number of states; of each its text
//	length   number of groups; of each
//	  byte     which values follow (the constants below)
//	  varint   family.seq less that of the group before
//	  varint   count
//	  varint   number of members, unless it is the count
//	  varint   number of leaked members, unless 0
//	  varint   minutes of the oldest wait, unless -1
//	  waits    nothing if the full count is in the bucket of the oldest wait; a byte with
//	           the bucket if it is in another one; else a varint with the set of buckets
//	           and a varint for each
//	  states   the index of the state with the full count; else the number of states, then
//	           index and count of each
//	  stacks   stack.seq of the only variant; else the number of variants, then stack.seq
//	           and count of each; stack.seq is the difference from the previous variant,
//	           of any group
//
// A family that recurs in every snapshot needs a dozen bytes in each.
const (
	factMembers  = 1 << iota // differs from the count
	factLeaked               // not 0
	factOldest               // known
	factOneState             // has the full count
	factOneStack             // has the full count
	// Two bits select the encoding of the waits.
	factWaitsShift = iota

	waitsNone   = 0
	waitsOldest = 1 // all in the bucket of the oldest wait
	waitsBucket = 2 // all in one bucket
	waitsSet    = 3
)

// groupFacts are the facts of one group.
type groupFacts struct {
	family                         int64
	count, members, leaked, oldest int
	waits                          waits
	// states alternates index of the state and count, stacks alternates stack.seq and count.
	states, stacks []int64
}

// waits is the wait histogram of a group.
type waits = [len(analysis.WaitBuckets)]int

// packFacts seals the groups of a snapshot. words are the rows of their families and stacks,
// members their numbers of members.
func packFacts(p *packer, groups []analysis.Group, words []groupWords, members []int) ([]byte, error) {
	w := &factWriter{index: map[string]int64{}}
	for i := range groups {
		w.group(&groups[i], &words[i], members[i])
	}
	head := &compactWriter{make([]byte, 0, 64+len(w.b))}
	writeList(head, w.states, func(state *string) { head.text(*state) })
	head.length(len(groups))
	return p.seal(append(head.b, w.b...))
}

type factWriter struct {
	compactWriter
	states        []string
	index         map[string]int64
	family, stack int64
	// stateCounts is a reused buffer for one group.
	stateCounts []int64
}

func (w *factWriter) group(g *analysis.Group, words *groupWords, members int) {
	w.stateCounts = w.stateCounts[:0]
	for _, state := range slices.Sorted(maps.Keys(g.States)) {
		w.stateCounts = append(w.stateCounts, w.state(state), int64(g.States[state]))
	}
	all := func(list []int64) bool { return len(list) == 2 && list[1] == int64(g.Count) }
	form := waitsFormOf(g)
	w.b = append(w.b, formOf(members != g.Count, factMembers)|formOf(g.Leaked != 0, factLeaked)|formOf(g.OldestWait != -1, factOldest)|
		formOf(all(w.stateCounts), factOneState)|formOf(all(words.variants), factOneStack)|byte(form<<factWaitsShift))
	w.varint(words.family - w.family)
	w.family = words.family
	w.number(g.Count)
	if members != g.Count {
		w.number(members)
	}
	if g.Leaked != 0 {
		w.number(g.Leaked)
	}
	if g.OldestWait != -1 {
		w.number(g.OldestWait)
	}
	w.waits(form, &g.Waits)
	w.pairs(w.stateCounts, all(w.stateCounts), nil)
	w.pairs(words.variants, all(words.variants), &w.stack)
}

func formOf(set bool, bit byte) byte {
	if set {
		return bit
	}
	return 0
}

func (w *factWriter) state(name string) int64 {
	i, known := w.index[name]
	if !known {
		i = int64(len(w.states))
		w.index[name] = i
		w.states = append(w.states, name)
	}
	return i
}

// pairs writes indexes or rows with counts. A single element with the full count needs no
// count. Rows are written as the difference from the last one.
func (w *factWriter) pairs(list []int64, one bool, last *int64) {
	if !one {
		w.length(len(list) / 2)
	}
	for i := 0; i < len(list); i += 2 {
		if last == nil {
			w.uvarint(uint64(list[i]))
		} else {
			w.varint(list[i] - *last)
			*last = list[i]
		}
		if !one {
			w.varint(list[i+1])
		}
	}
}

// bucketOf returns the bucket of a wait in minutes.
func bucketOf(minutes int) int {
	for i := len(analysis.WaitBuckets) - 1; i > 0; i-- {
		if minutes >= analysis.WaitBuckets[i] {
			return i
		}
	}
	return 0
}

func waitsFormOf(g *analysis.Group) int {
	if g.Waits == (waits{}) {
		return waitsNone
	}
	var alone waits
	if alone[bucketOf(g.OldestWait)] = g.Count; g.Waits == alone {
		return waitsOldest
	}
	for i := range g.Waits {
		if g.Waits[i] != 0 {
			alone = waits{}
			alone[i] = g.Count
			break
		}
	}
	if g.Waits == alone {
		return waitsBucket
	}
	return waitsSet
}

func (w *factWriter) waits(form int, of *waits) {
	var set uint64
	for i, n := range of {
		if n != 0 {
			set |= 1 << i
		}
	}
	switch form {
	case waitsBucket:
		w.b = append(w.b, byte(slices.IndexFunc(of[:], func(n int) bool { return n != 0 })))
	case waitsSet:
		w.uvarint(set)
		for _, n := range of {
			if n != 0 {
				w.number(n)
			}
		}
	}
}

// factReader reads the groups of a snapshot one by one.
type factReader struct {
	compactReader
	// states are the names that groupFacts.states indexes, rawStates their encoding.
	states    []string
	rawStates []byte
	// left is the number of unread groups.
	left          int
	family, stack int64
}

// leastFacts is the minimum number of bytes of a group.
const leastFacts = 5

// openFacts starts to read facts. It may decompress them into room.
func openFacts(p *packer, texts *textTable, blob, room []byte) (*factReader, []byte, error) {
	values, err := p.unseal(blob, room)
	if err != nil {
		return nil, nil, fmt.Errorf("facts: %w", err)
	}
	r := &factReader{compactReader: compactReader{b: values, texts: texts}}
	r.states = readList(&r.compactReader, func(state *string) { *state = r.text() })
	r.rawStates = values[:len(values)-len(r.b)]
	r.left = r.length(leastFacts)
	if r.err != nil {
		return nil, nil, fmt.Errorf("facts: %w", r.err)
	}
	return r, values, nil
}

// next reads a group into g and reuses its slices. It returns false after the last group or
// for damaged facts; done returns the error.
func (r *factReader) next(g *groupFacts) bool {
	if r.left == 0 || r.err != nil {
		return false
	}
	r.left--
	first := r.bytes(1)
	if first == nil {
		return false
	}
	form := first[0]
	if form>>(factWaitsShift+2) != 0 {
		r.fail(fmt.Errorf("unknown values %#x", form))
	}
	r.family += r.varint()
	g.family, g.count = r.family, r.number()
	g.members, g.leaked, g.oldest = g.count, 0, -1
	if form&factMembers != 0 {
		g.members = r.number()
	}
	if form&factLeaked != 0 {
		g.leaked = r.number()
	}
	if form&factOldest != 0 {
		g.oldest = r.number()
	}
	r.waits(int(form>>factWaitsShift), g)
	g.states = r.pairs(g.states[:0], form&factOneState != 0, nil, g.count)
	g.stacks = r.pairs(g.stacks[:0], form&factOneStack != 0, &r.stack, g.count)
	for i := 0; i < len(g.states); i += 2 {
		if g.states[i] < 0 || g.states[i] >= int64(len(r.states)) {
			r.fail(fmt.Errorf("state %d of %d", g.states[i], len(r.states)))
		}
	}
	if g.members < 0 || g.members > maxMembers {
		r.fail(fmt.Errorf("%d members", g.members))
	}
	return r.err == nil
}

// done returns the error that ended next, nil after the last group.
func (r *factReader) done() error {
	if err := r.end(); err != nil {
		return fmt.Errorf("facts: %w", err)
	}
	if r.left > 0 {
		return errors.New("facts: groups are missing")
	}
	return nil
}

func (r *factReader) waits(form int, g *groupFacts) {
	g.waits = waits{}
	switch form {
	case waitsOldest:
		g.waits[bucketOf(g.oldest)] = g.count
	case waitsBucket:
		if b := r.bytes(1); b != nil && int(b[0]) < len(g.waits) {
			g.waits[b[0]] = g.count
		} else {
			r.fail(errors.New("no such bucket of waits"))
		}
	case waitsSet:
		set := r.uvarint()
		if set >= 1<<len(g.waits) {
			r.fail(fmt.Errorf("buckets of waits %#x", set))
		}
		for i := range g.waits {
			if set&(1<<i) != 0 {
				g.waits[i] = r.number()
			}
		}
	}
}

func (r *factReader) pairs(list []int64, one bool, last *int64, count int) []int64 {
	n := 1
	if !one {
		n = r.length(2)
	}
	for range n {
		var index int64
		if last == nil {
			index = int64(r.uvarint())
		} else {
			*last += r.varint()
			index = *last
		}
		if !one {
			count = r.number()
		}
		list = append(list, index, int64(count))
	}
	return list
}
