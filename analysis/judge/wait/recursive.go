package wait

import (
	"cmp"
	"slices"

	"leakdiff/analysis"
)

// A goroutine that waits for a lock inside two methods of the object that has it may have
// locked it in the outer one: then it waits for itself, and nobody goes on.
//
//	sync.(*Mutex).Lock(...)
//	app.(*Store).Get(0x0?, …)          waits for the lock
//	app.(*Store).List(0xc00006a040)    holds it, unless it has released it before the call
//
// A dump prints neither what a goroutine holds nor which locks a method takes, so this is
// never proven.

// waiting are the waiters of one lock in one family.
type waiting struct {
	group, count int
	// ids are some of them.
	ids []int64
}

// nested is a waiter that is inside a second method of the same object.
type nested struct {
	id    int64
	group int
	// outer is the method that called the one in which it waits. taken reports that another
	// goroutine waits for the same lock in it.
	outer string
	taken bool
	// once reports that it waits for the sync.Once of which it runs the function outer. untold
	// reports that the dump does not print the object of outer.
	once, untold bool
}

// waitsIn is the function of sync in which the members of a family wait for a lock, or "".
func waitsIn(group *analysis.Group) string {
	if s := stackOf(group, 0); s != nil {
		for i, f := range s.Frames {
			if s.WaitsForLock(i) {
				return f.Func
			}
		}
	}
	return ""
}

// addUnprinted adds the members of a family whose lock is not printed: RWMutex.RLock is
// inlined. Its place is taken by the object whose method they wait in. An object with several
// such locks has one queue for all of them.
func (d *lockSearch) addUnprinted(g int) {
	group := &d.groups[g]
	objects := d.objects[group.Family.Fingerprint]
	if len(objects) == 0 || waitsIn(group) == "" || slices.ContainsFunc(objects, func(o analysis.Object) bool { return o.Lock }) {
		return
	}
	entry := entryOfGroup(group)
	kind := d.kind(entry)
	if kind == "" {
		return
	}
	var locks []analysis.Object
	for _, o := range objects {
		if o.Func != entry {
			continue
		}
		o.Lock = true
		if q := d.onlyQueueOf(o.Address, kind); q != nil {
			o.Address = q.lock
		}
		locks = append(locks, o)
	}
	d.enter(g, slices.Concat(locks, objects))
}

// onlyQueueOf is the queue whose waiters entered an object, nil for none or several.
func (d *lockSearch) onlyQueueOf(receiver uint64, kind string) *queue {
	var found *queue
	for _, q := range d.order {
		if q.receivers[receiver] && slices.Contains(q.types, kind) {
			if found != nil {
				return nil
			}
			found = q
		}
	}
	return found
}

// recursive finds the waiters of a queue that may hold its lock themselves.
func (d *lockSearch) recursive(q *queue) {
	var found []nested
	readers, writer := true, false
	for _, w := range q.waiting {
		group := &d.groups[w.group]
		in := waitsIn(group)
		writer = writer || in == "sync.(*RWMutex).Lock"
		inside := d.nested(q, w)
		if len(inside) == 0 {
			continue
		}
		if w.count > len(w.ids) {
			return // further ones are not named
		}
		if inside[0].once {
			found, readers = inside, false // nobody else can hold it
			break
		}
		readers = readers && (in == "sync.(*RWMutex).RLock" || in == "sync.(*RWMutex).rlockSlow")
		found = append(found, inside...)
		if len(found) > MostHolders {
			return
		}
	}
	// Only readers share a lock.
	if len(found) == 0 || len(found) > 1 && !(readers && writer) {
		return
	}
	slices.SortFunc(found, func(a, b nested) int { return cmp.Compare(a.id, b.id) })
	for _, n := range found {
		h := d.holderOf(n)
		if runs(h.State) {
			continue
		}
		// Another goroutine that waits in the outer method shows that it takes this lock. Else
		// all others must have come later.
		h.Longest = q.oldest > 0 && h.Wait >= q.oldest
		// A reader does not wait for itself without a writer.
		h.Only = len(found) == 1 && q.found == 0 && (!readers || writer) && d.only(q, n.id)
		if h.Untold = n.untold; n.untold {
			if h.Only {
				q.recursives = append(q.recursives, h)
			}
			continue
		}
		if !n.taken && !n.once && (q.oldest > 0 && !h.Longest || q.found > 0 || len(found) > 1) {
			continue
		}
		h.Sole = q.found == 0 || n.once
		// One reader inside twice before a waiting writer is enough if it waits longest. With no
		// minutes printed nobody else of the dump may be inside: readers that come now wait behind
		// that writer.
		h.Reentered = readers && writer && len(found) == 1 && (h.Longest || q.oldest <= 0 && !d.entered(q, n.id))
		q.recursives = append(q.recursives, h)
	}
}

// nested are the waiters of one family that are inside a second method of the object.
func (d *lockSearch) nested(q *queue, w waiting) (found []nested) {
	stack := stackOf(&d.groups[w.group], 0)
	if stack == nil {
		return nil
	}
	if n := d.once(w, stack); n != nil {
		return []nested{*n}
	}
	entry := EntryOf(stack)
	kind := d.kind(entry)
	if kind == "" {
		return nil
	}
	at := slices.IndexFunc(stack.Frames, func(f analysis.Frame) bool { return f.Func == entry })
	var outers []string
	for _, f := range stack.Frames[at+1:] {
		if f.Func != entry && d.kind(f.Func) == kind && !slices.Contains(outers, f.Func) {
			outers = append(outers, f.Func)
		}
	}
	// One that is known to take the lock comes first, then the nearest.
	slices.SortStableFunc(outers, func(a, b string) int { return d.waitersIn(q, b) - d.waitersIn(q, a) })
	for _, id := range w.ids {
		for _, outer := range outers {
			same, told := d.sameObject(q, w.group, id, entry, outer)
			if same || !told {
				found = append(found, nested{id: id, group: w.group, outer: outer, taken: d.waitersIn(q, outer) > 0, untold: !told})
				break
			}
		}
	}
	return found
}

// waitersIn is 1 if somebody waits for the lock in a function, else 0.
func (d *lockSearch) waitersIn(q *queue, function string) int {
	if slices.ContainsFunc(q.entries, func(e Entry) bool { return e.Func == function }) {
		return 1
	}
	return 0
}

// sameObject reports whether a goroutine is in two methods of the object that has the lock, and
// whether the dump tells. The receiver of the outer one must be printed, once. That of the inner one
// often is stale.
func (d *lockSearch) sameObject(q *queue, g int, id int64, entry, outer string) (same, told bool) {
	var inner, outside []uint64
	for _, o := range d.objects[d.groups[g].Family.Fingerprint] {
		if o.Lock || !slices.Contains(o.Members, id) {
			continue
		}
		switch o.Func {
		case entry:
			inner = append(inner, o.Address)
		case outer:
			outside = append(outside, o.Address)
		}
	}
	if len(outside) == 0 {
		return false, false
	}
	if len(outside) != 1 || len(inner) > 1 || len(inner) == 1 && inner[0] != outside[0] {
		return false, true
	}
	switch {
	case len(q.receivers) > 0:
		return q.receivers[outside[0]], true
	case len(q.insiders) > 0 && outside[0] != q.object:
		return false, true
	}
	return len(inner) == 1 || near(outside[0], q.lock), true
}

// near reports whether a lock may be a field of the object at an address.
func near(object, lock uint64) bool { return object <= lock && lock-object <= 4096 }

func (d *lockSearch) holderOf(n nested) Holder {
	group := &d.groups[n.group]
	h := Holder{ID: n.id, Fingerprint: group.Family.Fingerprint, At: entryOfGroup(group), Func: n.outer, Wait: -1, For: ForLock, Recursive: true, Taken: n.taken, Once: n.once}
	h.State, h.Wait = stateOf(group, n.id)
	return h
}
