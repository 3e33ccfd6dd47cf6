package trend

import (
	"cmp"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/wait"
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

// objectEvidence is the held lock of the last snapshot of the part that has it.
func objectEvidence(p *part, _ *signals) []analysis.Evidence {
	fingerprint := p.family.Fingerprint
	for i := p.end(); i >= 0; i-- {
		group, objects := p.series.groups[fingerprint][i], p.series.objects(i, fingerprint)
		if group == nil || len(objects) == 0 {
			continue
		}
		if locks := p.series.locksOf(i, fingerprint); len(locks) >= wait.FewestWaiters && len(locks) == group.Count {
			return one(analysis.Evidence{Rule: ruleObjects, Form: "one_each", At: new(i), N: group.Count, Of: len(locks)})
		}
		var evidence []analysis.Evidence
		for _, h := range p.series.Holds(fingerprint, i) {
			evidence = append(evidence, p.series.lockEvidence(h))
			if len(evidence) == 3 {
				break
			}
		}
		return evidence
	}
	return nil
}

func (s *Series) lockEvidence(h Hold) analysis.Evidence {
	e := analysis.Evidence{Rule: ruleObjects, At: new(h.Snapshot), N: h.Waiters}
	switch {
	case len(h.Types) == 0:
		e.Form = "no_receiver"
	case len(h.Families) > 0:
		e.Form, e.Figures = "many_holders", map[analysis.Figure]float64{"most": wait.MostHolders, "groups": float64(len(h.Families))}
	case len(h.Holders) == 0:
		e.Form = "no_holder"
	default:
		e.Form = "holders"
	}
	if e.Form == "holders" {
		for _, c := range h.Holders {
			e.Holders = append(e.Holders, analysis.LockHolder{Goroutine: c.ID, In: c.At, Of: c.Func, State: c.State, Children: s.childrenOf(c), Waits: c.WaitsFor != 0})
		}
	}
	return e
}

func (s *Series) childrenOf(c wait.Holder) int {
	n := 0
	for _, o := range c.Children {
		n += o.Count
	}
	return n
}
