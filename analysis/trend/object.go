package trend

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// Object is an address that one frame of some members of a family names, in one
// dump: what the parser keeps of the arguments, which families leave out.
// Arguments with a question mark are not kept: they may be stale.
type Object = analysis.Object

// Hold is evidence O: a lock that members wait for, and who may hold it
// (statistics.md 3).
type Hold struct {
	Snapshot int
	// Lock is the address that all waiters name.
	Lock    uint64
	Waiters int
	// Waiting are the families of the waiters, by fingerprint.
	Waiting []string
	// Types are the receiver types of the frames from which the waiters entered the
	// lock; empty where those are closures or plain functions, and then nobody can
	// be named.
	Types []string
	// Holders are at most five candidates; where there are more, Families names
	// theirs and Holders is empty.
	Holders  []Holder
	Families []string
}

// Holder is a goroutine that may hold a lock: it does not wait for it, is as old
// as the waiters and is inside a method of the object that they entered.
type Holder struct {
	ID          int64
	Fingerprint string
	// At is where it is: its first frame outside sync. Func is the frame that speaks
	// for it, a method of the object.
	At, Func string
	// State and Wait are what it does itself, Wait in minutes, -1 where unknown.
	State string
	Wait  int
	// Children are goroutines that it, or its functions, started, by family.
	Children []Offspring
	// Next is the lock that it waits for itself.
	Next *Hold
}

// Offspring counts the members of one family that a holder may have started.
type Offspring struct {
	Fingerprint string
	Count       int
	// ByID says that the dump names the parent goroutine; otherwise the creator is
	// a function of the holder's stack.
	ByID bool
}

// The fewest waiters of one lock that are told, and the most candidates that are
// named one by one.
const (
	fewestWaiters = 3
	mostHolders   = 5
)

// Holds are the locks for which members of a family wait at snapshot i, most
// waiters first. It is empty where the parser kept no addresses.
func (s *Series) Holds(fingerprint string, i int) []Hold {
	var holds []Hold
	for _, address := range s.locksOf(i, fingerprint) {
		if h := s.hold(i, address, 1); h.Waiters >= fewestWaiters {
			holds = append(holds, h)
		}
	}
	slices.SortStableFunc(holds, func(a, b Hold) int { return cmp.Or(b.Waiters-a.Waiters, cmp.Compare(a.Lock, b.Lock)) })
	return holds
}

func (s *Series) objects(i int, fingerprint string) []Object {
	if i >= len(s.in.Objects) {
		return nil
	}
	return s.in.Objects[i][fingerprint]
}

func (s *Series) locksOf(i int, fingerprint string) []uint64 {
	var locks []uint64
	for _, o := range s.objects(i, fingerprint) {
		if o.Lock && !slices.Contains(locks, o.Address) {
			locks = append(locks, o.Address)
		}
	}
	slices.Sort(locks)
	return locks
}

// queue is everybody who waits for one lock in one dump.
type queue struct {
	lock   uint64
	ids    map[int64]bool
	count  int
	least  int64
	oldest int
	// types and receivers are T and R of statistics.md.
	types     []string
	receivers map[uint64]bool
	waiting   []string
}

// hold finds the candidates for one lock; deeper says how many locks further a
// waiting candidate is followed.
func (s *Series) hold(i int, lock uint64, deeper int) Hold {
	q := s.queueFor(i, lock)
	h := Hold{Snapshot: i, Lock: lock, Waiters: q.count, Waiting: q.waiting, Types: q.types}
	if q.count < fewestWaiters {
		return h
	}
	for g := range s.Snapshots[i].Groups {
		h.Holders = append(h.Holders, s.holdersIn(i, &s.Snapshots[i].Groups[g], &q)...)
	}
	slices.SortFunc(h.Holders, func(a, b Holder) int { return cmp.Compare(a.ID, b.ID) })
	if len(h.Holders) > mostHolders {
		for _, c := range h.Holders {
			if !slices.Contains(h.Families, c.Fingerprint) {
				h.Families = append(h.Families, c.Fingerprint)
			}
		}
		h.Holders = nil
		return h
	}
	for k := range h.Holders {
		c := &h.Holders[k]
		c.Children = s.offspring(i, c)
		if deeper == 0 {
			continue
		}
		if next := s.waitsFor(i, c); next != 0 && next != lock {
			if then := s.hold(i, next, deeper-1); then.Waiters >= 1 {
				c.Next = &then
			}
		}
	}
	return h
}

func (s *Series) queueFor(i int, lock uint64) queue {
	q := queue{lock: lock, ids: make(map[int64]bool), receivers: make(map[uint64]bool)}
	for g := range s.Snapshots[i].Groups {
		group := &s.Snapshots[i].Groups[g]
		fingerprint := group.Family.Fingerprint
		for _, o := range s.objects(i, fingerprint) {
			if !o.Lock || o.Address != lock {
				continue
			}
			q.count += o.Count
			q.waiting = append(q.waiting, fingerprint)
			for _, id := range o.Members {
				q.ids[id] = true
				if q.least == 0 || id < q.least {
					q.least = id
				}
			}
			q.enter(s, i, group)
		}
	}
	return q
}

// enter learns how the waiters of one family came into the lock, and for how long
// they have waited.
func (q *queue) enter(s *Series, i int, group *analysis.Group) {
	for _, v := range group.Variants {
		entry := entryOf(v.Stack)
		if kind := receiverType(entry); kind != "" && !slices.Contains(q.types, kind) {
			q.types = append(q.types, kind)
		}
		for _, o := range s.objects(i, group.Family.Fingerprint) {
			if o.Func == entry && !o.Lock && o.Address <= q.lock && q.lock-o.Address <= 4096 {
				q.receivers[o.Address] = true
			}
		}
	}
	if !group.Members.Identified() {
		return
	}
	for m := range group.Members.All() {
		if q.ids[m.Identity.ID] {
			q.oldest = max(q.oldest, m.Wait)
		}
	}
}

// entryOf is the first frame outside sync.
func entryOf(stack *analysis.Stack) string {
	for _, frame := range stack.Frames {
		name := frame.Func
		if !strings.HasPrefix(name, "sync.") && !strings.HasPrefix(name, "internal/sync.") && !strings.HasPrefix(name, "runtime.") {
			return name
		}
	}
	return ""
}

// holdersIn are the candidates of one family.
func (s *Series) holdersIn(i int, group *analysis.Group, q *queue) []Holder {
	if group.Family.Kind != analysis.KindGoroutine || !group.Members.Identified() {
		return nil
	}
	var out []Holder
	for member := range group.Members.All() {
		id := member.Identity.ID
		if q.ids[id] || id >= q.least && member.Wait < max(1, q.oldest) {
			continue
		}
		if at, name := s.inside(i, group, member, q); name != "" {
			out = append(out, Holder{ID: id, Fingerprint: group.Family.Fingerprint, At: at, Func: name, State: member.State, Wait: member.Wait})
		}
	}
	return out
}

// inside is where a member is and which of its frames is a method of the waiters'
// object, "" where none is. A printed receiver must be that object; one that is not
// printed for certain proves nothing either way.
func (s *Series) inside(i int, group *analysis.Group, member analysis.Member, q *queue) (at, function string) {
	for v, variant := range group.Variants {
		if member.Variant >= 0 && member.Variant != v {
			continue
		}
		for _, frame := range variant.Stack.Frames {
			if !slices.Contains(q.types, receiverType(frame.Func)) {
				continue
			}
			receiver, printed := s.firstArgument(i, group.Family.Fingerprint, frame.Func, member.Identity.ID)
			if !printed || len(q.receivers) == 0 || q.receivers[receiver] {
				return entryOf(variant.Stack), frame.Func
			}
		}
	}
	return "", ""
}

func (s *Series) firstArgument(i int, fingerprint, function string, id int64) (uint64, bool) {
	for _, o := range s.objects(i, fingerprint) {
		if o.Func == function && slices.Contains(o.Members, id) {
			return o.Address, true
		}
	}
	return 0, false
}

func (s *Series) waitsFor(i int, c *Holder) uint64 {
	for _, o := range s.objects(i, c.Fingerprint) {
		if o.Lock && slices.Contains(o.Members, c.ID) {
			return o.Address
		}
	}
	return 0
}

// offspring counts who the candidate may have started, largest family first.
func (s *Series) offspring(i int, c *Holder) []Offspring {
	functions := make(map[string]bool)
	if group := s.groups[c.Fingerprint][i]; group != nil {
		for _, v := range group.Variants {
			for _, frame := range v.Stack.Frames {
				functions[frame.Func] = true
			}
		}
	}
	var out []Offspring
	for g := range s.Snapshots[i].Groups {
		group := &s.Snapshots[i].Groups[g]
		o := Offspring{Fingerprint: group.Family.Fingerprint}
		for parent := range group.Members.Parents() {
			o.ByID = o.ByID || parent > 0
			if parent == c.ID {
				o.Count++
			}
		}
		if !o.ByID {
			o.Count = 0
			for _, v := range group.Variants {
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

// receiverType is the import path and type of a method, "" for functions and
// closures.
//
//	github.com/docker/go-metrics.(*Namespace).Collect   github.com/docker/go-metrics.Namespace
//	k8s.io/x/vendor/net/http.Header.Get                 net/http.Header
//	main.(*T).run.func1                                 (none)
func receiverType(function string) string {
	if k := strings.LastIndex(function, "/vendor/"); k >= 0 {
		function = function[k+len("/vendor/"):]
	}
	if k := strings.IndexByte(function, '['); k >= 0 {
		// Generic arguments hold dots and slashes of their own.
		if end := strings.LastIndexByte(function, ']'); end > k {
			function = function[:k] + function[end+1:]
		}
	}
	slash := strings.LastIndexByte(function, '/') + 1
	parts := strings.Split(function[slash:], ".")
	if len(parts) != 3 {
		return ""
	}
	kind := strings.TrimSuffix(strings.TrimPrefix(parts[1], "(*"), ")")
	if kind == "" || strings.HasPrefix(parts[2], "func") && strings.Trim(parts[2][4:], "0123456789") == "" {
		return ""
	}
	return function[:slash] + parts[0] + "." + kind
}

// tellObjects puts evidence O into words, for the last snapshot of the part that
// has it.
func tellObjects(p *part, _ *signals) []analysis.Evidence {
	fingerprint := p.family.Fingerprint
	for i := p.end(); i >= 0; i-- {
		group, objects := p.series.groups[fingerprint][i], p.series.objects(i, fingerprint)
		if group == nil || len(objects) == 0 {
			continue
		}
		if locks := p.series.locksOf(i, fingerprint); len(locks) >= fewestWaiters && len(locks) == group.Count {
			return one(ruleObjects, "at %s the %d members wait for %d different locks, one each: as many objects, no queue", p.series.label(i), group.Count, len(locks))
		}
		var evidence []analysis.Evidence
		for _, h := range p.series.Holds(fingerprint, i) {
			evidence = append(evidence, analysis.Evidence{Rule: ruleObjects, Text: p.series.holdText(h)})
			if len(evidence) == 3 {
				break
			}
		}
		return evidence
	}
	return nil
}

func (s *Series) holdText(h Hold) string {
	text := fmt.Sprintf("at %s %d goroutines wait for one lock, 0x%x", s.label(h.Snapshot), h.Waiters, h.Lock)
	switch {
	case len(h.Types) == 0:
		return text + "; they entered it in functions without a receiver, so nobody can be named as its holder"
	case len(h.Families) > 0:
		return text + fmt.Sprintf("; more than %d goroutines of %s may hold it", mostHolders, plural2(len(h.Families), "family", "families"))
	case len(h.Holders) == 0:
		return text + "; no goroutine of this dump is seen inside the object that it guards"
	}
	for _, c := range h.Holders {
		text += fmt.Sprintf("; possible holder: goroutine %d in %s", c.ID, c.At)
		if c.At != c.Func {
			text += ", called by " + c.Func
		}
		if c.State != "" {
			text += ", itself in " + c.State
		}
		if n := s.childrenOf(c); n > 0 {
			text += fmt.Sprintf(", with %s", plural2(n, "child", "children"))
		}
		if c.Next != nil {
			text += fmt.Sprintf(", which waits for the lock 0x%x in turn", c.Next.Lock)
		}
	}
	return text
}

func (s *Series) childrenOf(c Holder) int {
	n := 0
	for _, o := range c.Children {
		n += o.Count
	}
	return n
}
