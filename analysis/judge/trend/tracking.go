package trend

import (
	"cmp"
	"slices"

	"leakdiff/analysis"
)

// crowd follows the members of one family by identity. A member gets one number
// per epoch, so that numbers of different epochs never meet.
type crowd struct {
	// members holds the numbers present in each snapshot.
	members [][]int32
	// complete says that members is everyone: no member of the count is unknown.
	complete []bool
	// all says that every snapshot is complete.
	all bool
	// ids and first belong to the numbers; first is the snapshot of the first sight, cut
	// dumps included. whole is what identities have beside the id, of kinds that are
	// followed by more; the rest has none.
	ids   []int64
	first []int32
	whole []beside
	// last is the snapshot of the last sight, nil where a member was away in between:
	// else everyone is there from first to last.
	last []int32
}

// beside is an identity without its id.
type beside struct {
	sub  int64
	hash uint64
}

func (s *Series) newCrowd(family *analysis.Family, usable []bool) *crowd {
	row := s.groups[family.Fingerprint]
	c := &crowd{members: make([][]int32, len(row)), complete: make([]bool, len(row))}
	sights := 0
	for i, group := range row {
		c.complete[i] = usable[i] && (group == nil || everyone(group))
		if group != nil && group.Members.Identified() {
			sights += group.Members.Len()
		}
	}
	c.all = !slices.Contains(c.complete, false)
	book := numbers{crowd: c, present: make([]int32, 0, sights)}
	for i, group := range row {
		if i > 0 && s.Epochs[i] != s.Epochs[i-1] {
			book.begin()
		}
		if group != nil && group.Members.Identified() {
			c.members[i] = book.enter(int32(i), &group.Members)
		}
	}
	c.last = c.lastSights()
	return c
}

func (c *crowd) lastSights() []int32 {
	last, sights := make([]int32, len(c.first)), 0
	for i, present := range c.members {
		sights += len(present)
		for _, number := range present {
			last[number] = int32(i)
		}
	}
	for number, at := range last {
		sights -= int(at-c.first[number]) + 1
	}
	if sights < 0 {
		return nil
	}
	return last
}

// numbers gives every identity of an epoch its number.
type numbers struct {
	crowd *crowd
	// present has room for the numbers of all snapshots.
	present []int32
	// ids are those of the last snapshot in order, now their numbers; spare is room for
	// those of the next. Identities here are a number alone, as those of goroutines are.
	ids, spare []int64
	now        []int32
	// before are those that have left; they wait in left until somebody may have come
	// back. Most births are above the highest id of these, and so need not be looked up.
	before  map[int64]int32
	left    []int32
	highest int64
	// whole holds the rest, seen the last snapshot that listed each number.
	whole map[analysis.Identity]int32
	seen  map[int32]int32
}

// begin forgets those of another epoch.
func (n *numbers) begin() {
	n.ids, n.now, n.left, n.highest = n.ids[:0], nil, n.left[:0], 0
	clear(n.before)
	clear(n.whole)
}

// leave says that a member of the last snapshot is gone.
func (n *numbers) leave(at int) {
	n.left = append(n.left, n.now[at])
	n.highest = max(n.highest, n.ids[at])
}

// known is the number of an id that the last snapshot does not list, -1 for a new
// one.
func (n *numbers) known(id int64) int32 {
	if id > n.highest {
		return -1
	}
	if n.before == nil {
		n.before = make(map[int64]int32, len(n.left))
	}
	for _, number := range n.left {
		n.before[n.crowd.ids[number]] = number
	}
	n.left = n.left[:0]
	if number, ok := n.before[id]; ok {
		return number
	}
	return -1
}

// enter numbers the members of snapshot i, each once.
func (n *numbers) enter(i int32, members *analysis.Members) []int32 {
	if !members.Numbered() {
		return n.enterWhole(i, members)
	}
	ids := members.AppendIDs(n.spare[:0])
	slices.Sort(ids)
	ids = slices.Compact(ids)
	from, at := len(n.present), 0
	for _, id := range ids {
		for ; at < len(n.ids) && n.ids[at] < id; at++ {
			n.leave(at)
		}
		number := int32(-1)
		if at < len(n.ids) && n.ids[at] == id {
			number = n.now[at]
			at++
		} else if number = n.known(id); number < 0 {
			number = n.add(i, id)
		}
		n.present = append(n.present, number)
	}
	for ; at < len(n.ids); at++ {
		n.leave(at)
	}
	n.ids, n.spare, n.now = ids, n.ids, n.present[from:len(n.present):len(n.present)]
	return n.now
}

func (n *numbers) enterWhole(i int32, members *analysis.Members) []int32 {
	if n.whole == nil {
		n.whole, n.seen = make(map[analysis.Identity]int32), make(map[int32]int32)
	}
	from := len(n.present)
	if c := n.crowd; len(c.ids) == 0 { // most of those that will ever be there
		c.ids, c.first = make([]int64, 0, members.Len()), make([]int32, 0, members.Len())
		c.whole = make([]beside, 0, members.Len())
	}
	for identity := range members.Identities() {
		number, known := n.whole[identity]
		if !known {
			number = n.add(i, identity.ID)
			n.crowd.keepWhole(identity)
			n.whole[identity] = number
		}
		if last, listed := n.seen[number]; !listed || last != i {
			n.seen[number] = i
			n.present = append(n.present, number)
		}
	}
	return n.present[from:len(n.present):len(n.present)]
}

func (n *numbers) add(i int32, id int64) int32 {
	n.crowd.ids = append(n.crowd.ids, id)
	n.crowd.first = append(n.crowd.first, i)
	return int32(len(n.crowd.ids) - 1)
}

// keepWhole keeps the identity of the last number.
func (c *crowd) keepWhole(identity analysis.Identity) {
	for len(c.whole) < len(c.ids)-1 {
		c.whole = append(c.whole, beside{})
	}
	c.whole = append(c.whole, beside{identity.Sub, identity.Hash})
}

func (c *crowd) identity(number int) analysis.Identity {
	identity := analysis.Identity{ID: c.ids[number]}
	if number < len(c.whole) {
		identity.Sub, identity.Hash = c.whole[number].sub, c.whole[number].hash
	}
	return identity
}

// everyone reports whether a group's members are identified and as many as its
// count: a cut dump with a complete twin has the right count and fewer members.
func everyone(group *analysis.Group) bool {
	return group.Count == 0 || group.Members.Identified() && group.Members.Len() >= group.Count
}

// both counts the members of snapshot i that are in snapshot j as well.
func (c *crowd) both(i, j int) int {
	if c.last != nil && i <= j { // nobody was away in between
		n := 0
		for _, number := range c.members[i] {
			if int(c.last[number]) >= j {
				n++
			}
		}
		return n
	}
	present := make([]bool, len(c.first))
	for _, number := range c.members[i] {
		present[number] = true
	}
	n := 0
	for _, number := range c.members[j] {
		if present[number] {
			n++
		}
	}
	return n
}

// followed are the points of a run whose members are all identified.
func (c *crowd) followed(run []point) []point {
	if c.all {
		return run
	}
	var out []point
	for _, pt := range run {
		if c.complete[pt.index] {
			out = append(out, pt)
		}
	}
	return out
}

// Lifeline is one member from its first to its last sight inside one epoch.
type Lifeline struct {
	Identity analysis.Identity
	// First and Last are indexes of Series.Snapshots; Seen is in how many of the
	// snapshots from First to Last the member was listed. A watch begins where it did,
	// also in another family.
	First, Last, Seen int
}

// Lifelines returns one line per member of a family, in order of first sight and
// then of identity, at most limit of them (all with limit < 0). A member whose
// identity appears in two epochs is two members.
func (s *Series) Lifelines(fingerprint string, limit int) []Lifeline {
	row := s.groups[fingerprint]
	if row == nil {
		return nil
	}
	p := s.parts[fingerprint]
	crowd := p.crowd
	lines := make([]Lifeline, len(crowd.ids))
	for number := range lines {
		lines[number] = Lifeline{Identity: crowd.identity(number), First: int(crowd.first[number])}
	}
	for i, present := range crowd.members {
		for _, number := range present {
			lines[number].Last = i
			lines[number].Seen++
		}
	}
	for number := range lines {
		// A watch that was in another family before is as old as it was there.
		line := &lines[number]
		if w, ok := p.whereabouts(int32(number), line.First); ok && int(w.first) < line.First {
			line.Seen += line.First - int(w.first)
			line.First = int(w.first)
		}
	}
	slices.SortFunc(lines, func(a, b Lifeline) int {
		return cmp.Or(cmp.Compare(a.First, b.First), compareIdentities(a.Identity, b.Identity))
	})
	if limit >= 0 && len(lines) > limit {
		lines = lines[:limit:limit]
	}
	return lines
}

func compareIdentities(a, b analysis.Identity) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Sub, b.Sub), cmp.Compare(a.Hash, b.Hash))
}
