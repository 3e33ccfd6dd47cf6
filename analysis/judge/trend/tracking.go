package trend

import (
	"cmp"
	"slices"

	"leakdiff/analysis"
)

// tracking follows the members of one family by identity. A member gets one number per
// epoch, so numbers of different epochs never coincide.
type tracking struct {
	// members are the numbers present in each snapshot.
	members [][]int32
	// complete reports that members has every member of the count.
	complete []bool
	// all reports that every snapshot is complete.
	all bool
	// ids and first are indexed by number. first is the snapshot of the first sighting,
	// including cut dumps. rest is the identity beyond the id, for kinds that need more
	// than an id.
	ids   []int64
	first []int32
	rest  []identityRest
	// last is the snapshot of the last sighting. It is nil if a member was away in
	// between: only without such gaps is everyone present from first to last.
	last []int32
}

// identityRest is an identity without its id.
type identityRest struct {
	sub  int64
	hash uint64
}

// newTracking numbers the members of a family. Of one that respawns no count has all that would have
// to be followed.
func (s *Series) newTracking(family *analysis.Family, usable []bool, respawns bool) *tracking {
	row := s.groups[family.Fingerprint]
	t := &tracking{members: make([][]int32, len(row)), complete: make([]bool, len(row))}
	sightings := 0
	for i, group := range row {
		t.complete[i] = usable[i] && !respawns && (group == nil || allIdentified(group))
		if group != nil && group.Members.Identified() {
			sightings += group.Members.Len()
		}
	}
	t.all = !slices.Contains(t.complete, false)
	numbering := numbering{tracking: t, present: make([]int32, 0, sightings)}
	for i, group := range row {
		if i > 0 && s.Epochs[i] != s.Epochs[i-1] {
			numbering.startEpoch()
		}
		if group != nil && group.Members.Identified() {
			t.members[i] = numbering.number(int32(i), &group.Members)
		}
	}
	t.last = t.lastSightings()
	return t
}

func (t *tracking) lastSightings() []int32 {
	last, sightings := make([]int32, len(t.first)), 0
	for i, present := range t.members {
		sightings += len(present)
		for _, number := range present {
			last[number] = int32(i)
		}
	}
	for number, at := range last {
		sightings -= int(at-t.first[number]) + 1
	}
	if sightings < 0 {
		return nil
	}
	return last
}

// numbering assigns a number to every identity of an epoch.
type numbering struct {
	tracking *tracking
	// present has capacity for the numbers of all snapshots.
	present []int32
	// ids are those of the last snapshot in order, now their numbers. spare is a buffer
	// for the ids of the next one. These identities are a number alone, like those of
	// goroutines.
	ids, spare []int64
	now        []int32
	// before are the members that have left. They stay in left until a member may have
	// come back. Most births have ids above highest, so they need no lookup.
	before  map[int64]int32
	left    []int32
	highest int64
	// whole holds other identities. seen is the last snapshot that listed each number.
	whole map[analysis.Identity]int32
	seen  map[int32]int32
}

// startEpoch forgets the identities of the last epoch.
func (n *numbering) startEpoch() {
	n.ids, n.now, n.left, n.highest = n.ids[:0], nil, n.left[:0], 0
	clear(n.before)
	clear(n.whole)
}

// leave records that a member of the last snapshot is gone.
func (n *numbering) leave(at int) {
	n.left = append(n.left, n.now[at])
	n.highest = max(n.highest, n.ids[at])
}

// known is the number of an id that the last snapshot does not list, -1 for a new id.
func (n *numbering) known(id int64) int32 {
	if id > n.highest {
		return -1
	}
	if n.before == nil {
		n.before = make(map[int64]int32, len(n.left))
	}
	for _, number := range n.left {
		n.before[n.tracking.ids[number]] = number
	}
	n.left = n.left[:0]
	if number, ok := n.before[id]; ok {
		return number
	}
	return -1
}

// number assigns numbers to the members of snapshot i, each once.
func (n *numbering) number(i int32, members *analysis.Members) []int32 {
	if !members.Numbered() {
		return n.numberWhole(i, members)
	}
	ids := members.AppendIDs(n.spare[:0])
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(n.ids) == 0 { // all are new
		n.tracking.ids, n.tracking.first = slices.Grow(n.tracking.ids, len(ids)), slices.Grow(n.tracking.first, len(ids))
	}
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

func (n *numbering) numberWhole(i int32, members *analysis.Members) []int32 {
	if n.whole == nil {
		n.whole, n.seen = make(map[analysis.Identity]int32), make(map[int32]int32)
	}
	from := len(n.present)
	if t := n.tracking; len(t.ids) == 0 { // most members that will ever exist
		t.ids, t.first = make([]int64, 0, members.Len()), make([]int32, 0, members.Len())
		t.rest = make([]identityRest, 0, members.Len())
	}
	for identity := range members.Identities() {
		number, known := n.whole[identity]
		if !known {
			number = n.add(i, identity.ID)
			n.tracking.keepRest(identity)
			n.whole[identity] = number
		}
		if last, listed := n.seen[number]; !listed || last != i {
			n.seen[number] = i
			n.present = append(n.present, number)
		}
	}
	return n.present[from:len(n.present):len(n.present)]
}

func (n *numbering) add(i int32, id int64) int32 {
	n.tracking.ids = append(n.tracking.ids, id)
	n.tracking.first = append(n.tracking.first, i)
	return int32(len(n.tracking.ids) - 1)
}

// keepRest stores the identity of the last number.
func (t *tracking) keepRest(identity analysis.Identity) {
	for len(t.rest) < len(t.ids)-1 {
		t.rest = append(t.rest, identityRest{})
	}
	t.rest = append(t.rest, identityRest{identity.Sub, identity.Hash})
}

func (t *tracking) identity(number int) analysis.Identity {
	identity := analysis.Identity{ID: t.ids[number]}
	if number < len(t.rest) {
		identity.Sub, identity.Hash = t.rest[number].sub, t.rest[number].hash
	}
	return identity
}

// allIdentified reports whether a group's members are identified and as many as its
// count. A cut dump with a complete twin has the right count and fewer members.
func allIdentified(group *analysis.Group) bool {
	return group.Count == 0 || group.Members.Identified() && group.Members.Len() >= group.Count
}

// common counts the members that snapshots i and j share.
func (t *tracking) common(i, j int) int {
	if t.last != nil && i <= j { // nobody was away in between
		n := 0
		for _, number := range t.members[i] {
			if int(t.last[number]) >= j {
				n++
			}
		}
		return n
	}
	present := make([]bool, len(t.first))
	for _, number := range t.members[i] {
		present[number] = true
	}
	n := 0
	for _, number := range t.members[j] {
		if present[number] {
			n++
		}
	}
	return n
}

// followed returns the points of a run whose members are all identified.
func (t *tracking) followed(run []point) []point {
	if t.all {
		return run
	}
	var out []point
	for _, pt := range run {
		if t.complete[pt.index] {
			out = append(out, pt)
		}
	}
	return out
}

// Lifeline is one member from its first to its last sighting in one epoch.
type Lifeline struct {
	Identity analysis.Identity
	// First and Last are indexes of Series.Snapshots. Seen is the number of snapshots
	// from First to Last that list the member. A watch keeps the start that it had in
	// another family.
	First, Last, Seen int
}

// Lifelines returns one lifeline per member of a family, in order of the first sighting
// and then of identity. It returns at most limit of them, all with limit < 0. A member
// whose identity appears in two epochs is two members.
func (s *Series) Lifelines(fingerprint string, limit int) []Lifeline {
	row := s.groups[fingerprint]
	if row == nil {
		return nil
	}
	p := s.parts[fingerprint]
	tracking := p.tracking
	lifelines := make([]Lifeline, len(tracking.ids))
	for number := range lifelines {
		lifelines[number] = Lifeline{Identity: tracking.identity(number), First: int(tracking.first[number])}
	}
	for i, present := range tracking.members {
		for _, number := range present {
			lifelines[number].Last = i
			lifelines[number].Seen++
		}
	}
	for number := range lifelines {
		// A watch that was in another family before keeps that age.
		lifeline := &lifelines[number]
		if l, ok := p.listing(int32(number), lifeline.First); ok && int(l.first) < lifeline.First {
			lifeline.Seen += lifeline.First - int(l.first)
			lifeline.First = int(l.first)
		}
	}
	slices.SortFunc(lifelines, func(a, b Lifeline) int {
		return cmp.Or(cmp.Compare(a.First, b.First), a.Identity.Compare(b.Identity))
	})
	if limit >= 0 && len(lifelines) > limit {
		lifelines = lifelines[:limit:limit]
	}
	return lifelines
}
