package wait

import (
	"slices"

	"leakdiff/analysis"
)

// A ring by arguments: each of some goroutines waits for a lock and was given the object with
// the lock that the next one waits for.
//
//	sync.(*Mutex).lockSlow(0xc0000140c0)             sync.(*Mutex).lockSlow(0xc0000140b0)
//	bank.move(0xc0000140b0, 0xc0000140c0, 0x1)       bank.move(0xc0000140c0, 0xc0000140b0, 0x1)
//
// An argument does not show that its lock is held. So nobody else of the dump that may have got
// as far may have been given it, nobody may run in the function that was given it, and the ring
// must close: then it is possible.

// given is a goroutine with an object among its arguments.
type given struct {
	id             int64
	group, variant int
	function       string
}

// rings adds the holders of locks that no method shows.
func (d *lockSearch) rings(queues []*queue) {
	if len(d.addresses) == 0 {
		return
	}
	sole := map[*queue]given{}
	for _, q := range queues {
		if q.found > 0 || len(q.recursives) > 0 {
			continue
		}
		if g, one := d.soleGiven(q, d.addresses[q.object]); one {
			sole[q] = g
		}
	}
	for _, q := range queues {
		if g, ok := sole[q]; ok && (!d.closes(q, sole) || d.goesOn(&g) || d.entered(q, g.id)) {
			delete(sole, q)
		}
	}
	for _, q := range queues {
		if g, ok := sole[q]; ok && d.closes(q, sole) {
			q.found, q.holders = 1, []Holder{d.passedHolder(g)}
		}
	}
}

// runners adds goroutines that run and were given the object of a lock, where nobody else is seen to hold
// it: a function that takes the object may have locked it as a method does. Their ids may be a little
// larger than those of the waiters, as blocks of ids explain.
//
//	sync.(*Mutex).lockSlow(0xc000438340)     devicestate.findModel(0xc000438340)
//	state.(*State).Lock(0x5870e1c21352?)     snapstate.(*autoRefresh).Ensure(0xc0001564b0)
func (d *lockSearch) runners(q *queue) {
	if q.found > 0 || len(q.recursives) > 0 {
		return
	}
	var found []Holder
	for _, g := range d.addresses[q.object] {
		state, _ := stateOf(&d.groups[g.group], g.id)
		if !runs(state) || g.id > q.least+idBlocks || slices.ContainsFunc(found, func(h Holder) bool { return h.ID == g.id }) {
			continue
		}
		h := d.passedHolder(g)
		h.For = Running
		found = append(found, h)
	}
	if len(found) <= MostHolders {
		q.found, q.holders = len(found), found
	}
}

// given are the goroutines that were given each address.
func (d *lockSearch) given(passed map[string][]analysis.Object) map[uint64][]given {
	out := map[uint64][]given{}
	for g := range d.groups {
		objects := passed[d.groups[g].Family.Fingerprint]
		if len(objects) == 0 {
			continue
		}
		variants := make(map[int64]int)
		for m := range d.groups[g].Members.All() {
			variants[m.Identity.ID] = m.Variant
		}
		for _, o := range objects {
			for _, id := range o.Members {
				out[o.Address] = append(out[o.Address], given{id, g, variants[id], o.Func})
			}
		}
	}
	return out
}

// goesOn reports whether a goroutine does not wait any more, or another one that waits for no
// lock is in the same function and may hold what it waits for.
func (d *lockSearch) goesOn(g *given) bool {
	if state, _ := stateOf(&d.groups[g.group], g.id); runs(state) {
		return true
	}
	in := func(f analysis.Frame) bool { return f.Func == g.function }
	return slices.ContainsFunc(d.groups, func(group analysis.Group) bool {
		return waitsIn(&group) == "" && slices.ContainsFunc(group.Variants, func(v analysis.Variant) bool { return slices.ContainsFunc(v.Stack.Frames, in) })
	})
}

// objectOf is the object with a lock: the lock itself, the first field, if anybody was given that,
// or the nearest address below it that one of its waiters was given. Without any it is the lock.
func (d *lockSearch) objectOf(q *queue) (object uint64) {
	if len(d.addresses[q.lock]) > 0 {
		return q.lock
	}
	for address, all := range d.addresses {
		if address > object && near(address, q.lock) && slices.ContainsFunc(all, func(g given) bool { return d.queueOf(g) == q }) {
			object = address
		}
	}
	if object == 0 {
		return q.lock
	}
	return object
}

// soleGiven is the only goroutine outside a queue that was given its object, if it waits for
// another lock. Of several in one function it is the one that waits on a later line than all others:
// who waits for the first lock of a function holds none of it yet.
func (d *lockSearch) soleGiven(q *queue, all []given) (found given, one bool) {
	at := place{line: -1}
	for _, g := range all {
		next := d.queueOf(g)
		if next == q || found.id == g.id {
			continue
		}
		if next == nil {
			return given{}, false
		}
		here := placeOf(stackOf(&d.groups[g.group], g.variant))
		switch {
		case found.id != 0 && here.function != at.function:
			return given{}, false
		case here.line > at.line:
			found, at, one = g, here, true
		case here.line == at.line:
			one = false
		}
	}
	return found, one
}

func (d *lockSearch) queueOf(g given) *queue {
	return d.waitsFor(&Holder{ID: g.id, Fingerprint: d.groups[g.group].Family.Fingerprint})
}

// closes reports whether the chain of holders behind a lock leads back to it.
func (d *lockSearch) closes(start *queue, sole map[*queue]given) bool {
	for q, steps := start, 0; steps < len(sole); steps++ {
		g, ok := sole[q]
		if !ok {
			return false
		}
		if q = d.queueOf(g); q == start {
			return true
		}
	}
	return false
}

func (d *lockSearch) passedHolder(g given) Holder {
	group := &d.groups[g.group]
	h := Holder{ID: g.id, Fingerprint: group.Family.Fingerprint, At: entryOfGroup(group), Func: g.function, Wait: -1, For: ForLock, Passed: true}
	h.State, h.Wait = stateOf(group, g.id)
	return h
}

// runs reports the state of a goroutine that was just woken, or spins before it waits.
func runs(state string) bool { return state == "runnable" || state == "running" }

// stateOf is the state of a member and its wait in minutes, -1 if unknown.
func stateOf(group *analysis.Group, id int64) (state string, wait int) {
	for m := range group.Members.All() {
		if m.Identity.ID == id {
			return m.State, m.Wait
		}
	}
	return "", -1
}
