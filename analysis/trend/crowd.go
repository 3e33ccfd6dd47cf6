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
	// identity and first belong to the numbers; first is the snapshot of the first
	// sight, cut dumps included.
	identity []analysis.Identity
	first    []int32
}

func (s *Series) newCrowd(family *analysis.Family, usable []bool) *crowd {
	row := s.groups[family.Fingerprint]
	c := &crowd{members: make([][]int32, len(row)), complete: make([]bool, len(row))}
	book := numbers{crowd: c, plain: make(map[int64]int32)}
	for i, group := range row {
		if i > 0 && s.Epochs[i] != s.Epochs[i-1] {
			clear(book.plain)
			clear(book.full)
		}
		c.complete[i] = usable[i] && (group == nil || everyone(group))
		if group != nil && group.Members.Identified() {
			c.members[i] = book.enter(int32(i), &group.Members)
		}
	}
	c.all = !slices.Contains(c.complete, false)
	return c
}

// numbers gives every identity of an epoch its number.
type numbers struct {
	crowd *crowd
	// plain holds identities that are a number alone, as those of goroutines are;
	// full holds the rest.
	plain map[int64]int32
	full  map[analysis.Identity]int32
	// seen is the last snapshot that listed each number.
	seen []int32
}

// enter numbers the members of snapshot i, each once.
func (n *numbers) enter(i int32, members *analysis.Members) []int32 {
	present := make([]int32, 0, len(members.ID))
	for m, id := range members.ID {
		number, known := int32(0), false
		if len(members.Sub) == 0 && len(members.Hash) == 0 {
			if number, known = n.plain[id]; !known {
				number = n.add(i, analysis.Identity{ID: id})
				n.plain[id] = number
			}
		} else {
			full := members.Identity(m)
			if number, known = n.full[full]; !known {
				if n.full == nil {
					n.full = make(map[analysis.Identity]int32)
				}
				number = n.add(i, full)
				n.full[full] = number
			}
		}
		if n.seen[number] != i {
			n.seen[number] = i
			present = append(present, number)
		}
	}
	return present
}

func (n *numbers) add(i int32, id analysis.Identity) int32 {
	number := int32(len(n.crowd.identity))
	n.crowd.identity = append(n.crowd.identity, id)
	n.crowd.first = append(n.crowd.first, i)
	n.seen = append(n.seen, -1)
	return number
}

// everyone reports whether a group's members are identified and as many as its
// count: a cut dump with a complete twin has the right count and fewer members.
func everyone(group *analysis.Group) bool {
	return group.Count == 0 || group.Members.Identified() && group.Members.Len() >= group.Count
}

// both counts the members of snapshot i that are in snapshot j as well.
func (c *crowd) both(i, j int) int {
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

// Survivors compares the members of a family in snapshots i and j of one epoch,
// i before j, by identity: how many of i are still there, how many are new at j,
// how many are gone. ok is false across epochs, where a kind was not captured or
// where members cannot be followed.
func (s *Series) Survivors(fingerprint string, i, j int) (survived, born, gone int, ok bool) {
	row := s.groups[fingerprint]
	if row == nil || s.Epochs[i] != s.Epochs[j] {
		return 0, 0, 0, false
	}
	kind := s.kindOf(row)
	for _, k := range []int{i, j} {
		if !s.Usable(k, kind) || row[k] != nil && !everyone(row[k]) {
			return 0, 0, 0, false
		}
	}
	before, after := identitiesOf(row[i]), identitiesOf(row[j])
	for id := range after {
		if _, was := before[id]; was {
			survived++
		}
	}
	return survived, len(after) - survived, len(before) - survived, true
}

func identitiesOf(group *analysis.Group) map[analysis.Identity]struct{} {
	set := make(map[analysis.Identity]struct{})
	if group == nil {
		return set
	}
	for m := range group.Members.ID {
		set[group.Members.Identity(m)] = struct{}{}
	}
	return set
}

// Lifeline is one member from its first to its last sight inside one epoch.
type Lifeline struct {
	Identity analysis.Identity
	// First and Last are indexes of Series.Snapshots; Seen is in how many of the
	// snapshots from First to Last the member was listed.
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
	crowd := s.parts[fingerprint].crowd
	lines := make([]Lifeline, len(crowd.identity))
	for number := range lines {
		lines[number] = Lifeline{Identity: crowd.identity[number], First: int(crowd.first[number])}
	}
	for i, present := range crowd.members {
		for _, number := range present {
			lines[number].Last = i
			lines[number].Seen++
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
