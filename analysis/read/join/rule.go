package join

// The numbers of the rules.
const (
	// leastInstances must show a role before it joins; of untyped words more.
	leastInstances, leastUntyped = 2, 3
	// leastMultiple is how many instances must show a role more than once, mostMultiple
	// how often each may.
	leastMultiple, mostMultiple = 5, 16
	// mostSharers may join by one address.
	mostSharers = 64
	// mostParts may be in one object.
	mostParts = 256
	// smallShift is that of the blocks of a heap with 32 bits, largeShift that of others.
	smallShift, largeShift = 22, 26
)

// common reports whether part is at least 80 % of whole.
func common(part, whole int) bool { return 5*part >= 4*whole }

// rule counts the instances of a class that show a role, by how many goroutines do.
type rule struct {
	instances int
	times     [mostMultiple + 1]uint32
	// joins is how many goroutines of the role may join by an instance, 0 for a holder.
	joins int
}

// recentRule remembers where the rule of a link is.
type recentRule struct {
	link
	rule *rule
}

// rule is that of a class and a role, nil if no instance was seen.
func (j *joiner) rule(l link) *rule {
	r := &j.recent[uint32(l.class*31+l.role)%uint32(len(j.recent))]
	if r.rule == nil || r.link != l {
		*r = recentRule{l, j.rules[l]}
	}
	return r.rule
}

// tally counts the roles of an instance's sharers: counts has the numbers of the roles in
// touched.
func (j *joiner) tally(in *instance) {
	for _, role := range j.touched {
		j.counts[role] = 0
	}
	j.touched = j.touched[:0]
	for _, g := range in.sharers {
		role := j.roleOf(g)
		if j.counts[role] == 0 {
			j.touched = append(j.touched, role)
		}
		j.counts[role]++
	}
}

// measure decides for each class and role whether the role joins.
func (j *joiner) measure() {
	j.each(func(in *instance) {
		j.tally(in)
		for _, role := range j.touched {
			r := j.rule(link{in.class, role})
			if r == nil {
				r = &rule{}
				j.rules[link{in.class, role}] = r
			}
			r.instances++
			if n := j.counts[role]; n <= mostMultiple {
				r.times[n]++
			}
		}
	})
	for l, r := range j.rules {
		r.decide(l.class >= untypedClass && l.class < creatorClass)
	}
	j.edges.each(func(creator, parent int32, children []uint32) {
		if parent < 0 {
			return
		}
		for _, g := range children {
			if j.rule(link{creatorClass + creator, j.roleOf(g)}).joins > 0 {
				j.parents[link{creatorClass + creator, j.roleOf(uint32(parent))}]++
				return
			}
		}
	})
}

func (r *rule) decide(untyped bool) {
	least := leastInstances
	if untyped {
		least = leastUntyped
	}
	if r.instances < least {
		return
	}
	if common(int(r.times[1]), r.instances) {
		r.joins = 1
		return
	}
	for m := 2; m <= mostMultiple && r.instances >= leastMultiple; m++ {
		if common(int(r.times[m]), r.instances) {
			r.joins = m
		}
	}
}

// joined appends those of an instance that it joins to one object, none or at least two.
func (j *joiner) joined(in *instance, to []uint32) []uint32 {
	j.tally(in)
	for _, g := range in.sharers {
		role := j.roleOf(g)
		if j.counts[role] <= j.rule(link{in.class, role}).joins && j.may(in.class, g) {
			to = append(to, g)
		}
	}
	if in.class < creatorClass && len(to) > mostSharers {
		return to[:0]
	}
	if in.parent >= 0 && len(to) > 0 && j.parentJoins(in) {
		to = append(to, uint32(in.parent))
	}
	if len(to) < 2 {
		return to[:0]
	}
	return to
}

// parentJoins reports whether the creator is a part: most of its role create such a
// goroutine. A worker of a pool that started one task is none.
func (j *joiner) parentJoins(in *instance) bool {
	role := j.roleOf(uint32(in.parent))
	n := j.parents[link{in.class, role}]
	return n >= leastInstances && 2*n >= j.roleTotal[role] && j.may(in.class, uint32(in.parent))
}

// may reports whether a class was not dropped for the goroutine's object.
func (j *joiner) may(class int32, g uint32) bool {
	if j.formerly == nil {
		return true
	}
	dropped, is := j.dropped[j.formerly[g]]
	return !is || dropped != class
}

// joinAll makes the objects. One with too many parts is made again without the class that
// joins most of them.
func (j *joiner) joinAll() {
	j.joinOnce()
	large := map[uint32]map[int32]int{}
	for g := range j.of {
		if first := j.union.find(uint32(g)); j.union.size(first) > mostParts && large[first] == nil {
			large[first] = map[int32]int{}
		}
	}
	if len(large) == 0 {
		return
	}
	var joined []uint32
	j.each(func(in *instance) {
		joined = j.joined(in, joined[:0])
		if len(joined) > 0 {
			if classes := large[j.union.find(joined[0])]; classes != nil {
				classes[in.class] += len(joined)
			}
		}
	})
	j.dropped = map[uint32]int32{}
	for first, classes := range large {
		best := int32(none)
		for class, n := range classes {
			if best < 0 || n > classes[best] || n == classes[best] && j.className(class) < j.className(best) {
				best = class
			}
		}
		j.dropped[first] = best
	}
	j.formerly = make([]uint32, len(j.of))
	for g := range j.formerly {
		j.formerly[g] = j.union.find(uint32(g))
	}
	j.joinOnce()
}

func (j *joiner) joinOnce() {
	j.union = newUnion(len(j.of))
	var joined []uint32
	j.each(func(in *instance) {
		joined = j.joined(in, joined[:0])
		for i := 1; i < len(joined); i++ {
			j.union.join(joined[0], joined[i])
		}
	})
}
