package wait

import (
	"cmp"
	"slices"

	"leakdiff/analysis"
)

// lockSearch finds all locks of one dump and their possible holders. It makes one pass
// over the members of each family, because every family may have a lock and a dump may
// have a million members.
type lockSearch struct {
	groups  []analysis.Group
	objects map[string][]analysis.Object
	// queues are by lock. order has them in the order of their first waiter.
	queues map[uint64]*queue
	order  []*queue
	// waiters are the queues that contain an id, by id and family.
	waiters map[int64][]waiter
	// unnamed are the families that have waiters whose ids or locks are not known. unknown
	// counts those whose lock is not known.
	unnamed map[int]bool
	unknown int
	// kinds are the receiver types of functions.
	kinds map[string]string
	// children counts the goroutines that an id started, by family.
	children map[int64]map[int]int
	// addresses are the goroutines that were given each address.
	addresses map[uint64][]given
	// runningOnce is the result of running, -1 before.
	runningOnce int
	// byID reports which families name the creators of their members.
	byID []bool
}

// place is where goroutines wait for a lock. The line is 0 where the dump prints none.
type place struct {
	function string
	line     int
}

func placeOf(stack *analysis.Stack) place {
	f := entryFrame(stack)
	return place{f.Func, f.Line}
}

// waiter is one entry of an id in a queue.
type waiter struct {
	group int
	queue *queue
}

// queue is all goroutines that wait for one lock in one dump.
type queue struct {
	lock uint64
	ids  []int64 // sorted once all are known
	// entries count the waiters by the function in which they wait. places are the lines.
	entries []Entry
	places  map[place]bool
	count   int
	least   int64
	oldest  int
	// types are the receiver types of the methods in which the waiters entered the
	// lock. receivers are the addresses of these objects.
	types     []string
	receivers map[uint64]bool
	// object is the result of objectOf, and insiders are those who were given it.
	object   uint64
	insiders map[int64]bool
	// waiting are the waiters by family. recursives are those that may hold the lock.
	waiting    []waiting
	recursives []Holder
	// holders are all candidates if they are few enough to be named. families are the
	// families of the candidates, each with its smallest id.
	found    int
	holders  []Holder
	families []holders
}

// idBlocks is how far above the least waiter the id of a holder may be: the runtime gives ids
// to each processor in blocks of 16, so a later goroutine may have a smaller id.
const idBlocks = 128

// latest is the largest id of a goroutine that may be older than a waiter. Printed minutes tell
// ages better than ids.
func (q *queue) latest() int64 {
	if q.oldest > 0 {
		return q.least - 1
	}
	return q.least + idBlocks
}

// holders are the candidates of one family.
type holders struct {
	fingerprint string
	least       int64
}

// candidate is a member that may hold a lock.
type candidate struct {
	id      int64
	wait    int
	variant int
	state   string
}

// Search returns the locks of one dump that have at least one waiter, by their addresses.
// Objects are by family.
func Search(groups []analysis.Group, objects map[string][]analysis.Object) map[uint64]*Lock {
	found, _ := search(groups, objects, nil)
	return found
}

// search also counts the waiters of the same families whose locks the reader did not keep.
func search(groups []analysis.Group, objects, passed map[string][]analysis.Object) (found map[uint64]*Lock, unknown int) {
	d := &lockSearch{
		groups: groups, objects: objects, queues: make(map[uint64]*queue),
		waiters: make(map[int64][]waiter), unnamed: make(map[int]bool), kinds: make(map[string]string),
		runningOnce: -1,
	}
	for g := range d.groups {
		d.addWaiters(g)
	}
	for g := range d.groups {
		d.addUnprinted(g)
	}
	if len(d.order) == 0 {
		return nil, 0
	}
	byType := make(map[string][]*queue)
	queues := d.byWaiters()
	for i, q := range queues {
		slices.Sort(q.ids)
		if q.count < FewestWaiters && i >= MostLocks {
			continue
		}
		for _, kind := range q.types {
			byType[kind] = append(byType[kind], q)
		}
	}
	if d.addresses = d.given(passed); len(d.addresses) > 0 {
		for _, q := range queues[:min(len(queues), MostLocks)] {
			q.object, q.insiders = d.objectOf(q), map[int64]bool{}
			for _, g := range d.addresses[q.object] {
				q.insiders[g.id] = true
			}
		}
	}
	for g := range d.groups {
		d.search(g, byType)
	}
	queues = queues[:min(len(queues), MostLocks)]
	for _, q := range queues {
		d.recursive(q)
	}
	d.rings(queues)
	d.onces()
	for _, q := range queues {
		d.runners(q)
		for k := range q.holders {
			h := &q.holders[k]
			h.Same = h.Same || q.insiders[h.ID]
		}
	}
	d.countChildren()
	found = make(map[uint64]*Lock, len(d.order))
	for _, q := range d.order {
		found[q.lock] = d.lock(q)
	}
	return found, d.unknown
}

// addWaiters adds the members of a family to the queues of the locks that they wait
// for.
func (d *lockSearch) addWaiters(g int) {
	d.enter(g, d.objects[d.groups[g].Family.Fingerprint])
}

// enter adds the members of a family that name a lock among objects.
func (d *lockSearch) enter(g int, objects []analysis.Object) {
	group := &d.groups[g]
	var entered []*queue
	known, cut := 0, false // not all waiters of a lock are named
	for _, o := range objects {
		if !o.Lock {
			continue
		}
		q := d.queues[o.Address]
		if q == nil {
			q = &queue{lock: o.Address, places: make(map[place]bool)}
			d.queues[o.Address], d.order = q, append(d.order, q)
		}
		q.count += o.Count
		q.enter(entryOfGroup(group), o.Count)
		known += o.Count
		q.waiting = append(q.waiting, waiting{g, o.Count, o.Members})
		cut = cut || o.Count > len(o.Members)
		for _, id := range o.Members {
			q.ids = append(q.ids, id)
			d.waiters[id] = append(d.waiters[id], waiter{g, q})
			if q.least == 0 || id < q.least {
				q.least = id
			}
		}
		if !slices.Contains(entered, q) {
			entered = append(entered, q)
		}
	}
	if len(entered) == 0 {
		return
	}
	d.addReceivers(group, objects, entered)
	if !group.Members.Identified() {
		return
	}
	whole := known >= group.Count
	if !whole {
		d.unknown += group.Count - known
	}
	if cut || !whole {
		d.unnamed[g] = true
	}
	places := make([]place, len(group.Variants))
	for v := range group.Variants {
		places[v] = placeOf(group.Variants[v].Stack)
	}
	add := func(q *queue, m *analysis.Member) {
		q.oldest = max(q.oldest, m.Wait)
		if len(places) > 0 {
			q.places[places[max(0, min(m.Variant, len(places)-1))]] = true
		}
	}
	for m := range group.Members.All() {
		if cut && whole && len(entered) == 1 {
			add(entered[0], &m)
			continue
		}
		for _, w := range d.waiters[m.Identity.ID] {
			if slices.Contains(entered, w.queue) {
				add(w.queue, &m)
			}
		}
	}
}

// byWaiters orders the queues: most waiters first, then the longest wait.
func (d *lockSearch) byWaiters() []*queue {
	all := slices.Clone(d.order)
	slices.SortStableFunc(all, func(a, b *queue) int {
		return cmp.Or(b.count-a.count, b.oldest-a.oldest, cmp.Compare(a.least, b.least))
	})
	return all
}

// enter counts waiters of one family.
func (q *queue) enter(function string, count int) {
	at := slices.IndexFunc(q.entries, func(e Entry) bool { return e.Func == function })
	if at < 0 {
		at, q.entries = len(q.entries), append(q.entries, Entry{Func: function})
	}
	q.entries[at].Count += count
}

// addReceivers collects the receiver types through which the waiters of one family
// entered their locks.
func (d *lockSearch) addReceivers(group *analysis.Group, objects []analysis.Object, queues []*queue) {
	var types []string
	entries := make(map[string]bool)
	for _, v := range group.Variants {
		entry := EntryOf(v.Stack)
		entries[entry] = true
		if kind := d.kind(entry); kind != "" && !slices.Contains(types, kind) {
			types = append(types, kind)
		}
	}
	for _, q := range queues {
		for _, kind := range types {
			if !slices.Contains(q.types, kind) {
				q.types = append(q.types, kind)
			}
		}
	}
	for _, o := range objects {
		if o.Lock || !entries[o.Func] {
			continue
		}
		for _, id := range o.Members {
			for _, w := range d.waiters[id] {
				if q := w.queue; near(o.Address, q.lock) {
					if q.receivers == nil {
						q.receivers = make(map[uint64]bool)
					}
					q.receivers[o.Address] = true
				}
			}
		}
	}
}

// kind caches ReceiverType.
func (d *lockSearch) kind(function string) string {
	kind, known := d.kinds[function]
	if !known {
		kind = ReceiverType(function)
		d.kinds[function] = kind
	}
	return kind
}

// search finds the candidates of one family for all locks that it may hold.
func (d *lockSearch) search(g int, byType map[string][]*queue) {
	group := &d.groups[g]
	if group.Family.Kind != analysis.KindGoroutine || !group.Members.Identified() {
		return
	}
	var queues []*queue
	asked := make(map[*queue]bool)
	methods := make([]bool, len(group.Variants))
	for v, variant := range group.Variants {
		for _, frame := range variant.Stack.Frames {
			for _, q := range byType[d.kind(frame.Func)] {
				methods[v] = true
				if !asked[q] {
					asked[q] = true
					queues = append(queues, q)
				}
			}
		}
	}
	if len(queues) == 0 {
		return
	}
	members, longest := d.membersInside(g, methods)
	if len(members) == 0 {
		return
	}
	printed := d.firstArguments(group.Family.Fingerprint)
	for _, q := range queues {
		if members[0].id <= q.latest() || longest >= max(1, q.oldest) || q.oldest <= 0 {
			d.searchFor(q, g, members, printed)
		}
	}
}

// membersInside returns the members of a family that are in methods, in the order of
// their ids, and the longest wait among them. Those that may wait for any lock are left out.
func (d *lockSearch) membersInside(g int, methods []bool) (members []candidate, longest int) {
	group := &d.groups[g]
	inside := func(variant int) bool {
		return variant < 0 || variant < len(methods) && methods[variant]
	}
	for m := range group.Members.InVariants(inside) {
		if d.unnamed[g] && len(d.waiters[m.Identity.ID]) == 0 {
			continue
		}
		members = append(members, candidate{m.Identity.ID, m.Wait, m.Variant, m.State})
		longest = max(longest, m.Wait)
	}
	slices.SortStableFunc(members, func(a, b candidate) int { return cmp.Compare(a.id, b.id) })
	return members, longest
}

// printedIn is a goroutine in a function.
type printedIn struct {
	function string
	id       int64
}

// firstArguments are the first arguments that the dump prints of a family's frames.
func (d *lockSearch) firstArguments(fingerprint string) map[printedIn]uint64 {
	all := make(map[printedIn]uint64)
	for _, o := range d.objects[fingerprint] {
		for _, id := range o.Members {
			if _, first := all[printedIn{o.Func, id}]; !first {
				all[printedIn{o.Func, id}] = o.Address
			}
		}
	}
	return all
}

// searchFor adds the candidates of one family for one lock. If there are too many to be
// named, only the smallest id is needed.
func (d *lockSearch) searchFor(q *queue, g int, members []candidate, printed map[printedIn]uint64) {
	group, first := &d.groups[g], true
	for k := range members {
		m := &members[k]
		waits := len(d.waiters[m.id]) > 0
		// Minutes are printed from the first on. Without any, a younger goroutine may hold
		// the lock if it is stuck at another one.
		old := m.id <= q.latest() || m.wait >= max(1, q.oldest)
		if !old && (!waits || q.oldest > 0) {
			continue
		}
		if _, waits := slices.BinarySearch(q.ids, m.id); waits {
			continue
		}
		at, function, same := d.inside(q, group, m, printed)
		if function == "" || !old && !same {
			continue
		}
		if first {
			q.families = append(q.families, holders{group.Family.Fingerprint, m.id})
			first = false
		}
		if q.found++; q.found > MostHolders {
			q.holders = nil
			return
		}
		q.holders = append(q.holders, Holder{ID: m.id, Fingerprint: group.Family.Fingerprint, At: at, Func: function, State: m.state, Wait: m.wait, For: reason(m.state, stackOf(group, m.variant)), Same: same, Beyond: q.beyond(stackOf(group, m.variant))})
	}
}

// inside returns where a member is and which of its frames is a method of the waiters'
// object, or "". A printed receiver must be that object: same reports that it is. A receiver
// that is not printed with certainty proves nothing.
func (d *lockSearch) inside(q *queue, group *analysis.Group, m *candidate, printed map[printedIn]uint64) (at, function string, same bool) {
	for v, variant := range group.Variants {
		if m.variant >= 0 && m.variant != v {
			continue
		}
		own := len(d.waiters[m.id]) > 0 && q.places[placeOf(variant.Stack)]
		for _, frame := range variant.Stack.Frames {
			if !slices.Contains(q.types, d.kind(frame.Func)) {
				continue
			}
			receiver, known := printed[printedIn{frame.Func, m.id}]
			if !known && own {
				own = false
				continue
			}
			if !known || q.receivers[receiver] || len(q.receivers) == 0 && near(receiver, q.lock) && !q.elsewhere(receiver, m.id) {
				return EntryOf(variant.Stack), frame.Func, known && q.receivers[receiver]
			}
		}
	}
	return "", "", false
}

// beyond reports whether a stack is in a function in which waiters of a queue wait, on a later line.
func (q *queue) beyond(stack *analysis.Stack) bool {
	return stack != nil && slices.ContainsFunc(stack.Frames, func(f analysis.Frame) bool {
		for at := range q.places {
			if at.function == f.Func && at.line > 0 && f.Line > at.line {
				return true
			}
		}
		return false
	})
}

// elsewhere reports that the object of a queue is known, that a receiver is another one, and that the
// goroutine was not given the object either. Small objects lie close to each other.
func (q *queue) elsewhere(receiver uint64, id int64) bool {
	return len(q.insiders) > 0 && receiver != q.object && !q.insiders[id]
}

// entered reports whether anybody but one goroutine and the waiters, however young, may be inside
// the object of a queue: also one of whom the dump has no stack.
func (d *lockSearch) entered(q *queue, except int64) bool {
	for g := range d.groups {
		group := &d.groups[g]
		if group.Family.Kind != analysis.KindGoroutine {
			continue
		}
		methods, any := make([]bool, len(group.Variants)), false
		for v, variant := range group.Variants {
			if variant.Stack.Unavailable != "" {
				return true
			}
			methods[v] = slices.ContainsFunc(variant.Stack.Frames, func(f analysis.Frame) bool { return slices.Contains(q.types, d.kind(f.Func)) })
			any = any || methods[v]
		}
		if !any {
			continue
		}
		members, _ := d.membersInside(g, methods)
		printed := d.firstArguments(group.Family.Fingerprint)
		for k := range members {
			m := &members[k]
			if _, waits := slices.BinarySearch(q.ids, m.id); waits || m.id == except {
				continue
			}
			if _, function, _ := d.inside(q, group, m, printed); function != "" {
				return true
			}
		}
	}
	return false
}

// countChildren counts the goroutines that the candidates started.
func (d *lockSearch) countChildren() {
	d.children = make(map[int64]map[int]int)
	for _, q := range d.order {
		for _, h := range q.holders {
			d.children[h.ID] = nil
		}
	}
	if len(d.children) == 0 {
		return
	}
	d.byID = make([]bool, len(d.groups))
	for g := range d.groups {
		for parent := range d.groups[g].Members.Parents() {
			d.byID[g] = d.byID[g] || parent > 0
			counts, asked := d.children[parent]
			if !asked {
				continue
			}
			if counts == nil {
				counts = make(map[int]int)
				d.children[parent] = counts
			}
			counts[g]++
		}
	}
}

// lock is the result for a queue.
func (d *lockSearch) lock(q *queue) *Lock {
	l := &Lock{Address: q.lock, Waiters: q.count, Oldest: max(0, q.oldest), First: q.least, Entries: q.entries, Types: q.types, Recursive: q.recursives, Holders: q.holders}
	if q.found > MostHolders {
		slices.SortStableFunc(q.families, func(a, b holders) int { return cmp.Compare(a.least, b.least) })
		for _, f := range q.families {
			l.Families = append(l.Families, f.fingerprint)
		}
		return l
	}
	slices.SortStableFunc(l.Holders, func(a, b Holder) int { return cmp.Compare(a.ID, b.ID) })
	for k := range l.Holders {
		h := &l.Holders[k]
		h.Children = d.offspring(h)
		h.Behind = h.For == ForWaitGroup && d.startedOnlyWaiters(q, h.ID) && d.only(q, h.ID)
		if next := d.waitsFor(h); next != nil && next != q {
			h.WaitsFor = next.lock
		}
	}
	return l
}

// waitsFor is the queue in which a candidate itself waits, or nil.
func (d *lockSearch) waitsFor(c *Holder) *queue {
	for _, w := range d.waiters[c.ID] {
		if d.groups[w.group].Family.Fingerprint == c.Fingerprint {
			return w.queue
		}
	}
	return nil
}

// offspring counts the goroutines that a candidate may have started, largest family
// first.
func (d *lockSearch) offspring(c *Holder) []Offspring {
	functions := make(map[string]bool)
	for g := range d.groups {
		if d.groups[g].Family.Fingerprint != c.Fingerprint {
			continue
		}
		for _, v := range d.groups[g].Variants {
			for _, frame := range v.Stack.Frames {
				functions[frame.Func] = true
			}
		}
	}
	var out []Offspring
	for g := range d.groups {
		o := Offspring{Fingerprint: d.groups[g].Family.Fingerprint, ByID: d.byID[g]}
		if o.ByID {
			o.Count = d.children[c.ID][g]
		} else {
			for _, v := range d.groups[g].Variants {
				if v.Stack.CreatedBy.Func != "" && functions[v.Stack.CreatedBy.Func] {
					o.Count += v.Count
				}
			}
		}
		if o.Count > 0 {
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, func(a, b Offspring) int { return b.Count - a.Count })
	return out
}
