package join

import (
	"math"
	"slices"
)

// The numbers of the rules.
const (
	// leastInstances must show a role before it joins; of untyped words more.
	leastInstances, leastUntyped = 2, 3
	// leastMultiple is the number of instances that must show a role more than once, mostMultiple
	// how often each may.
	leastMultiple, mostMultiple = 5, 16
	// mostSharers may join by one address.
	mostSharers = 64
	// mostParts may be in one object.
	mostParts = 256
	// smallShift is that of the blocks of a heap with 32 bits, largeShift that of others.
	smallShift, largeShift = 22, 26
	// areaShift is that of the areas in which a heap with 64 bits grows: 64 GiB. Programs,
	// libraries and foreign memory lie in others.
	areaShift = 36
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
	var in instance
	j.edges.each(func(creator, parent int32, children []uint32) {
		if parent < 0 {
			return
		}
		in.sharers = children
		j.tally(&in)
		for _, role := range j.touched {
			l := link{creatorClass + creator, role}
			if j.rule(l).joins > 0 {
				j.parents[parentage{l, j.roleOf(uint32(parent))}]++
			}
		}
	})
	j.settled = map[link]int{}
	for p, n := range j.parents {
		if n >= leastInstances && common(n, j.roleTotal[p.parent]) {
			j.settled[p.child] += n
		}
	}
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

// joined calls visit with those of an instance that it joins to one object, at least two.
// An address joins at most one object, a creator each set of children that come together.
func (j *joiner) joined(in *instance, visit func([]uint32)) {
	j.tally(in)
	if in.class >= creatorClass {
		for group := j.nextGroup(in, math.MaxInt32); group > 0; group = j.nextGroup(in, group) {
			to := j.grouped(in, group)
			if len(to) > 0 && in.parent >= 0 && j.parentJoins(in, group) {
				to = append(to, uint32(in.parent))
				j.group = to
			}
			if len(to) > 1 {
				visit(to)
			}
		}
		return
	}
	most := j.nextGroup(in, math.MaxInt32)
	to := j.grouped(in, most)
	if len(to) == 0 || len(to) > mostSharers || j.visitTogether(to) {
		return
	}
	to = j.addRelatives(in, most, to)
	if len(to) > 1 && len(to) <= mostSharers {
		visit(to)
	}
}

// instancesWith is how many instances of the class show a role that joins in this one, 0
// if the role does not join here.
func (j *joiner) instancesWith(in *instance, role int32) int {
	r := j.rule(link{in.class, role})
	if j.counts[role] > r.joins {
		return 0
	}
	return r.instances
}

// nextGroup is how many instances show the most frequent of the roles that are too rare for
// the group before, 0 if there is none.
func (j *joiner) nextGroup(in *instance, before int) (most int) {
	for _, role := range j.touched {
		if n := j.instancesWith(in, role); !together(n, before) {
			most = max(most, n)
		}
	}
	return most
}

// together reports whether a role that n instances show comes with one that most show.
// What the others do without is no part of one: it visits it.
func together(n, most int) bool { return common(n, most) }

// grouped are the goroutines whose roles are in a group.
func (j *joiner) grouped(in *instance, group int) []uint32 {
	to := j.group[:0]
	for _, g := range in.sharers {
		if n := j.instancesWith(in, j.roleOf(g)); n > 0 && n <= group && together(n, group) && j.may(in.class, g) {
			to = append(to, g)
		}
	}
	j.group = to
	return to
}

// findVisits notes which goroutines visit which address.
func (j *joiner) findVisits() {
	j.visits = map[uint32][]uint64{}
	j.eachAddress(func(in *instance) {
		j.tally(in)
		most := j.nextGroup(in, math.MaxInt32)
		for _, g := range in.sharers {
			if n := j.instancesWith(in, j.roleOf(g)); n > 0 && !together(n, most) {
				j.visits[g] = append(j.visits[g], in.address)
			}
		}
	})
}

// visitTogether reports whether all of some goroutines visit one address. What else they
// share then stands in front of it: three calls of one client are no object, although they
// were made through one stub.
func (j *joiner) visitTogether(to []uint32) bool {
	if len(to) < 2 {
		return false
	}
	return slices.ContainsFunc(j.visits[to[0]], func(address uint64) bool {
		return !slices.ContainsFunc(to[1:], func(g uint32) bool { return !slices.Contains(j.visits[g], address) })
	})
}

// addRelatives adds goroutines of rarer roles that created one in to, or that one created:
// address and creator prove together what neither does alone.
func (j *joiner) addRelatives(in *instance, most int, to []uint32) []uint32 {
	if j.parentOf == nil {
		return to
	}
	core := to
	for _, g := range in.sharers {
		if n := j.instancesWith(in, j.roleOf(g)); n == 0 || together(n, most) || !j.may(in.class, g) {
			continue
		}
		created := slices.ContainsFunc(core, func(c uint32) bool { return j.parentOf[c] == g+1 || j.parentOf[g] == c+1 })
		if created {
			to = append(to, g)
		}
	}
	j.group = to
	return to
}

// parentJoins reports whether the creator is a part: most of its role create a child of the
// group, and nearly all of such children come from its role, or from roles that nearly
// always have one. A worker of a pool that started one task is none.
func (j *joiner) parentJoins(in *instance, group int) bool {
	role := j.roleOf(uint32(in.parent))
	all := j.roleTotal[role]
	for _, child := range j.touched {
		children := j.instancesWith(in, child)
		if children == 0 || children > group || !together(children, group) {
			continue
		}
		l := link{in.class, child}
		n := j.parents[parentage{l, role}]
		if n < leastInstances || 2*n < all {
			continue
		}
		if together(n, children) || common(n, all) && together(j.settled[l], children) {
			return j.may(in.class, uint32(in.parent))
		}
	}
	return false
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
	j.each(func(in *instance) {
		j.joined(in, func(joined []uint32) {
			if classes := large[j.union.find(joined[0])]; classes != nil {
				classes[in.class] += len(joined)
			}
		})
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
	union := func(joined []uint32) {
		for _, g := range joined[1:] {
			j.union.join(joined[0], g)
		}
	}
	j.each(func(in *instance) { j.joined(in, union) })
}
