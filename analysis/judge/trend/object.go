package trend

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// Object is an address that one frame of some members of a family names in one dump.
// The parser keeps it from the arguments, which fingerprints ignore. Arguments with a
// question mark are not kept, because they may be stale.
type Object = analysis.Object

// Hold is a lock that members wait for, with its possible holders.
type Hold struct {
	Snapshot int
	// Lock is the address that all waiters name.
	Lock    uint64
	Waiters int
	// Types are the receiver types of the frames from which the waiters entered the
	// lock. They are empty for closures and plain functions. Then no holder can be
	// named.
	Types []string
	// Holders are at most five candidates. If there are more, Holders is empty and
	// Families names their families.
	Holders  []Holder
	Families []string
}

// Holder is a goroutine that may hold a lock. It does not wait for the lock, is as old
// as the waiters and is inside a method of the object that they entered.
type Holder struct {
	ID          int64
	Fingerprint string
	// At is its first frame outside sync. Func is the method of the object in its
	// stack.
	At, Func string
	// State is its own state. Wait is in minutes, -1 if unknown.
	State string
	Wait  int
	// Children are the goroutines that it or its functions started, by family.
	Children []Offspring
	// Next is the lock that the holder itself waits for.
	Next *Hold
}

// Offspring counts the members of one family that a holder may have started.
type Offspring struct {
	Fingerprint string
	Count       int
	// ByID reports that the dump names the parent goroutine. Otherwise the creator is a
	// function of the holder's stack.
	ByID bool
}

// The fewest waiters of one lock that are reported, and the most candidates that are
// named one by one.
const (
	fewestWaiters = 3
	mostHolders   = 5
)

// Holds returns the locks that members of a family wait for at snapshot i, most waiters
// first. It is empty if the parser kept no addresses. The result is shared and must not
// be changed.
func (s *Series) Holds(fingerprint string, i int) []Hold {
	var holds []Hold
	for _, address := range s.locksOf(i, fingerprint) {
		if h := s.held[i]()[address]; h != nil && h.Waiters >= fewestWaiters {
			holds = append(holds, *h)
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
		// Generic arguments contain dots and slashes of their own.
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

// objectEvidence words the held lock of the last snapshot of the part that has it.
func objectEvidence(p *part, _ *signals) []analysis.Evidence {
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
		return text + fmt.Sprintf("; more than %d goroutines of %s may hold it", mostHolders, wording.Plural(len(h.Families), "family", "families"))
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
			text += fmt.Sprintf(", with %s", wording.Plural(n, "child", "children"))
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
