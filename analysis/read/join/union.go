package join

// union joins numbers into sets; a set is known by one of them, whose own number holds
// the size of the set below zero. Others hold the number of another of their set.
type union []int32

func newUnion(n int) union {
	u := make(union, n)
	for i := range u {
		u[i] = -1
	}
	return u
}

func (u union) find(g uint32) uint32 {
	for u[g] >= 0 {
		if up := u[u[g]]; up >= 0 {
			u[g] = up
		}
		g = uint32(u[g])
	}
	return g
}

// size is that of the set that is known by g.
func (u union) size(g uint32) int { return int(-u[g]) }

func (u union) join(a, b uint32) {
	a, b = u.find(a), u.find(b)
	if a == b {
		return
	}
	if u[a] > u[b] {
		a, b = b, a
	}
	u[a] += u[b]
	u[b] = int32(a)
}
