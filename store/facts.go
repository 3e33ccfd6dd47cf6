package store

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/column"
)

// factColumns are the facts of a snapshot: its groups in their order, without members. They
// are sealed after the names of states. A family that recurs in every snapshot needs a dozen
// bytes in each.
type factColumns struct {
	// Of each group: family.seq, count, members less the count, leaked members, minutes of
	// the oldest wait, and where its waits are: a bucket that has the full count, noWaits or
	// severalWaits.
	family, count, members, leaked, oldest, bucket []int64
	// waits has all buckets of the groups with severalWaits.
	waits []int64
	// states are indexes of names, stacks are stack.seq.
	states, stacks shareColumns
}

const (
	noWaits      = -1
	severalWaits = -2
	// maxGroups bounds the groups of a snapshot.
	maxGroups = 1 << 24
	maxShares = 1 << 28
)

// shareColumns divide the count of each group among states or stacks.
type shareColumns struct {
	// number is how many there are of each group.
	number []int64
	// which and left are of each one: what it is, and how much of the group's count is left
	// after it and those before, which is 0 for the last.
	which, left []int64
}

func (f *factColumns) code(c *column.Codec) {
	for _, values := range []*[]int64{&f.family, &f.count, &f.members, &f.leaked, &f.oldest, &f.bucket, &f.states.number, &f.stacks.number} {
		if column.Numbers(c, maxGroups, values); len(*values) != len(f.family) {
			c.Fail(fmt.Errorf("%d figures of %d groups", len(*values), len(f.family)))
		}
	}
	for _, values := range []*[]int64{&f.waits, &f.states.which, &f.states.left, &f.stacks.which, &f.stacks.left} {
		column.Numbers(c, maxShares, values)
	}
}

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
	var f factColumns
	var names []string
	index := map[string]int64{}
	for i := range groups {
		g := &groups[i]
		f.family, f.count = append(f.family, words[i].family), append(f.count, int64(g.Count))
		f.members, f.leaked = append(f.members, int64(members[i]-g.Count)), append(f.leaked, int64(g.Leaked))
		f.oldest = append(f.oldest, int64(g.OldestWait))
		f.addWaits(g)
		var states []int64
		for _, state := range slices.Sorted(maps.Keys(g.States)) {
			if _, known := index[state]; !known {
				index[state] = int64(len(names))
				names = append(names, state)
			}
			states = append(states, index[state], int64(g.States[state]))
		}
		f.states.add(states, g.Count)
		f.stacks.add(words[i].variants, g.Count)
	}
	c := column.Writer(16 * len(groups))
	c.Texts(maxStates, &names)
	if f.code(c); c.Err() != nil {
		return nil, fmt.Errorf("facts: %w", c.Err())
	}
	return p.seal(c.Data())
}

func (f *factColumns) addWaits(g *analysis.Group) {
	where, buckets := int64(noWaits), 0
	for i, n := range g.Waits {
		if n != 0 {
			where, buckets = int64(i), buckets+1
		}
	}
	if buckets > 1 || buckets == 1 && g.Waits[where] != g.Count {
		where = severalWaits
		for _, n := range g.Waits {
			f.waits = append(f.waits, int64(n))
		}
	}
	f.bucket = append(f.bucket, where)
}

// add adds a list that alternates what and count.
func (s *shareColumns) add(pairs []int64, count int) {
	s.number = append(s.number, int64(len(pairs)/2))
	left := int64(count)
	for i := 0; i < len(pairs); i += 2 {
		left -= pairs[i+1]
		s.which, s.left = append(s.which, pairs[i]), append(s.left, left)
	}
}

// take removes the n-th group and appends its list to pairs.
func (s *shareColumns) take(group int, count int64, pairs []int64) ([]int64, bool) {
	n := s.number[group]
	if n < 0 || n > int64(min(len(s.which), len(s.left))) {
		return nil, false
	}
	for i, which := range s.which[:n] {
		pairs = append(pairs, which, count-s.left[i])
		count = s.left[i]
	}
	s.which, s.left = s.which[n:], s.left[n:]
	return pairs, true
}

// factReader reads the facts of one snapshot after the other into the same memory.
type factReader struct {
	// names are the states that groupFacts.states indexes. Snapshots with the same states
	// share them.
	names []string
	// columns is the memory, unread the part that was not read yet.
	columns, unread factColumns
	group           groupFacts
	err             error
}

// read yields the groups; each is valid until the next. After damage it ends, and done
// returns the error.
func (r *factReader) read(p *packer, blob []byte) iter.Seq[*groupFacts] {
	r.err = r.open(p, blob)
	return func(yield func(*groupFacts) bool) {
		for i := range r.unread.family {
			if r.err != nil || !r.next(i) || !yield(&r.group) {
				return
			}
		}
		if r.err == nil && len(r.unread.waits)+len(r.unread.states.which)+len(r.unread.stacks.which) > 0 {
			r.err = errors.New("more values than the groups have")
		}
	}
}

// groups is the number of groups.
func (r *factReader) groups() int { return len(r.unread.family) }

// done returns the error that ended read.
func (r *factReader) done() error {
	if r.err != nil {
		return fmt.Errorf("facts: %w", r.err)
	}
	return nil
}

func (r *factReader) open(p *packer, blob []byte) error {
	r.unread = factColumns{}
	values, err := p.unsealBriefly(blob)
	if err != nil {
		return err
	}
	c := column.Reader(values)
	var names []string
	if c.Texts(maxStates, &names); !slices.Equal(names, r.names) {
		r.names = names
	}
	if r.columns.code(c); c.End() == nil {
		r.unread = r.columns
	}
	return c.End()
}

// next reads group i.
func (r *factReader) next(i int) bool {
	f, g := &r.unread, &r.group
	g.family, g.count, g.leaked, g.oldest = f.family[i], int(f.count[i]), int(f.leaked[i]), int(f.oldest[i])
	if g.members = int(f.members[i] + f.count[i]); g.members < 0 || g.members > maxMembers {
		r.err = fmt.Errorf("%d members", g.members)
		return false
	}
	g.waits = waits{}
	switch bucket := f.bucket[i]; {
	case bucket >= 0 && bucket < int64(len(g.waits)):
		g.waits[bucket] = g.count
	case bucket == severalWaits && len(f.waits) >= len(g.waits):
		for k := range g.waits {
			g.waits[k] = int(f.waits[k])
		}
		f.waits = f.waits[len(g.waits):]
	case bucket != noWaits:
		r.err = fmt.Errorf("bucket %d of waits", bucket)
		return false
	}
	var states, stacks bool
	g.states, states = f.states.take(i, f.count[i], g.states[:0])
	g.stacks, stacks = f.stacks.take(i, f.count[i], g.stacks[:0])
	if !states || !stacks {
		r.err = errors.New("states or stacks are missing")
		return false
	}
	for k := 0; k < len(g.states); k += 2 {
		if g.states[k] < 0 || g.states[k] >= int64(len(r.names)) {
			r.err = fmt.Errorf("state %d of %d", g.states[k], len(r.names))
			return false
		}
	}
	return true
}
