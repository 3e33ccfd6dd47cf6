package trend

import (
	"cmp"
	"fmt"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/wait"
	"leakdiff/analysis/say/wording"
)

// Object is an address that one frame of some members of a family names in one dump.
// The parser keeps it from the arguments, which fingerprints ignore. Arguments with a
// question mark are not kept, because they may be stale.
type Object = analysis.Object

// Hold is a lock that members wait for at a snapshot, with its possible holders.
type Hold struct {
	Snapshot int
	wait.Lock
}

// Holds returns the locks that members of a family wait for at snapshot i, most waiters
// first. It is empty if the parser kept no addresses. The result is shared and must not
// be changed.
func (s *Series) Holds(fingerprint string, i int) []Hold {
	var holds []Hold
	for _, address := range s.locksOf(i, fingerprint) {
		if l := s.held[i]()[address]; l != nil && l.Waiters >= wait.FewestWaiters {
			holds = append(holds, Hold{i, *l})
		}
	}
	slices.SortStableFunc(holds, func(a, b Hold) int { return cmp.Or(b.Waiters-a.Waiters, cmp.Compare(a.Address, b.Address)) })
	return holds
}

func (s *Series) objects(i int, fingerprint string) []Object { return s.objectsAt(i)[fingerprint] }

func (s *Series) objectsAt(i int) map[string][]Object {
	if i >= len(s.in.Objects) {
		return nil
	}
	return s.in.Objects[i]
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

// objectEvidence words the held lock of the last snapshot of the part that has it.
func objectEvidence(p *part, _ *signals) []analysis.Evidence {
	fingerprint := p.family.Fingerprint
	for i := p.end(); i >= 0; i-- {
		group, objects := p.series.groups[fingerprint][i], p.series.objects(i, fingerprint)
		if group == nil || len(objects) == 0 {
			continue
		}
		if locks := p.series.locksOf(i, fingerprint); len(locks) >= wait.FewestWaiters && len(locks) == group.Count {
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
	text := fmt.Sprintf("at %s %d goroutines wait for one lock", s.label(h.Snapshot), h.Waiters)
	switch {
	case len(h.Types) == 0:
		return text + "; they entered it in functions without a receiver, so nobody can be named as its holder"
	case len(h.Families) > 0:
		return text + fmt.Sprintf("; more than %d goroutines of %s may hold it", wait.MostHolders, wording.Plural(len(h.Families), "group", "groups"))
	case len(h.Holders) == 0:
		return text + "; which goroutine holds it is not known from this dump"
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
		if c.WaitsFor != 0 {
			text += ", which waits for another lock in turn"
		}
	}
	return text
}

func (s *Series) childrenOf(c wait.Holder) int {
	n := 0
	for _, o := range c.Children {
		n += o.Count
	}
	return n
}
