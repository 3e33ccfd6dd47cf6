package trend

import (
	"cmp"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/wait"
)

// Role is the role of a family in a growth. It is never a verdict.
type Role string

// The roles.
const (
	Victim          Role = "victim"
	PossibleCulprit Role = "possible_culprit"
	ObserverEffect  Role = "observer_effect"
)

// Suspect is a family that may hold what a growing one waits for.
type Suspect struct {
	Fingerprint string
	// Members are the ids that may hold the lock, at most five.
	Members []int64
	// Why are the reasons, the strongest first.
	Why []analysis.Evidence
	// weight orders suspects: an object outweighs a function, a function outweighs an
	// age.
	weight int
}

// RuleSuspect is the rule of the reasons for a suspect.
const RuleSuspect = "suspect"

// mostTypes is how many shared types a reason names.
const mostTypes = 2

// byAddress is the weight from which a suspect is named by an object's address.
// mostSuspects is how many are returned.
const (
	byAddress    = 20
	mostSuspects = 4
)

// Suspects returns the possible culprits for a growing family whose members wait, the
// likeliest first, at most four. They are the possible holders of a lock, and families
// that do not grow, were not in the first snapshot, and share a lock's type, a function
// of the program or the creator with the waiting one. They are never more than
// possible. The result is empty for families that do not grow or do not wait.
func (s *Series) Suspects(fingerprint string) []Suspect {
	j := s.judgements().byFingerprint[fingerprint]
	if j == nil || !j.verdict().Grows() {
		return nil
	}
	p, _ := j.judgedPart()
	at := p.end()
	for at >= 0 && s.groups[fingerprint][at] == nil {
		at--
	}
	if at < 0 {
		return nil
	}
	group := s.groups[fingerprint][at]
	if !waits(group) {
		return nil
	}
	found := make(map[string]*Suspect)
	s.byObject(found, fingerprint, at)
	s.byStack(found, group, at)
	out := make([]Suspect, 0, len(found))
	for _, f := range found {
		out = append(out, *f)
	}
	slices.SortFunc(out, func(a, b Suspect) int {
		return cmp.Or(b.weight-a.weight, strings.Compare(a.Fingerprint, b.Fingerprint))
	})
	if len(out) > 0 && out[0].weight >= byAddress {
		// An address names the suspects. Families that only share a type would dilute
		// them.
		out = slices.DeleteFunc(out, func(f Suspect) bool { return f.weight < byAddress })
	}
	return out[:min(len(out), mostSuspects)]
}

// waits reports a family whose members mostly wait for others: a lock, a condition, a
// wait group or a channel.
func waits(group *analysis.Group) bool {
	n := 0
	for state, count := range group.States {
		switch {
		case strings.HasPrefix(state, "semacquire"), strings.HasPrefix(state, "sync."), strings.HasPrefix(state, "chan "), state == "BLOCKED":
			n += count
		}
	}
	return 2*n > group.Count
}

// byObject adds the possible holders of a lock.
func (s *Series) byObject(found map[string]*Suspect, fingerprint string, at int) {
	for _, h := range s.Holds(fingerprint, at) {
		for _, c := range h.Holders {
			f := suspect(found, c.Fingerprint)
			f.weight += 100
			f.Members = append(f.Members, c.ID)
			holder := analysis.LockHolder{Goroutine: c.ID, In: c.At, Of: c.Func, Children: s.childrenOf(c)}
			f.Why = append(f.Why, analysis.Evidence{Rule: RuleSuspect, Form: "in_object", N: h.Waiters, Holders: []analysis.LockHolder{holder}})
			for _, o := range c.Children {
				child := suspect(found, o.Fingerprint)
				child.weight += 50
				child.Why = append(child.Why, analysis.Evidence{Rule: RuleSuspect, Form: "child", N: o.Count, Holders: []analysis.LockHolder{holder}})
			}
		}
		for _, family := range h.Families {
			f := suspect(found, family)
			f.weight += 20
			f.Why = append(f.Why, analysis.Evidence{Rule: RuleSuspect, Form: "several_in_object", N: h.Waiters})
		}
	}
}

func suspect(found map[string]*Suspect, fingerprint string) *Suspect {
	if found[fingerprint] == nil {
		found[fingerprint] = &Suspect{Fingerprint: fingerprint}
	}
	return found[fingerprint]
}

// byStack adds level families that appeared before or with the growth, were not in the
// first snapshot, and share a receiver type or a creator with the waiting one.
func (s *Series) byStack(found map[string]*Suspect, waiting *analysis.Group, at int) {
	others := s.recentFamilies[at]()
	if len(others) == 0 {
		return
	}
	types, creators := kindsOf(waiting)
	first := s.parts[waiting.Family.Fingerprint].bornAt()
	for k := range others {
		other := &others[k]
		if other.family.Fingerprint == waiting.Family.Fingerprint || other.family.Kind != waiting.Family.Kind || first >= 0 && other.born > first {
			continue
		}
		var why []analysis.Evidence
		weight := 0
		if shared := inBoth(types, other.types); len(shared) > 0 {
			weight += 10
			why = append(why, analysis.Evidence{Rule: RuleSuspect, Form: "same_type", N: len(shared), Names: shared[:min(len(shared), mostTypes)]})
		}
		if shared := inBoth(creators, other.creators); len(shared) > 0 {
			weight += 3
			why = append(why, analysis.Evidence{Rule: RuleSuspect, Form: "same_creator", N: len(shared), Names: shared[:1]})
		}
		if weight == 0 {
			continue
		}
		why = append(why, analysis.Evidence{Rule: RuleSuspect, Form: "came_before", At: new(other.born)})
		f := suspect(found, other.family.Fingerprint)
		f.weight += weight
		f.Why = append(f.Why, why...)
	}
}

// recentFamily is a family that does not grow and was not in the first snapshot. A
// family of the first snapshot is a standing part of the program unless an object
// accuses it.
type recentFamily struct {
	family          *analysis.Family
	born            int
	types, creators []string
}

// findRecentFamilies returns the recent families of snapshot at.
func (s *Series) findRecentFamilies(at int) []recentFamily {
	var out []recentFamily
	for _, j := range s.judgements().all {
		family := j.part.family
		group, p := s.groups[family.Fingerprint][at], s.parts[family.Fingerprint]
		if group == nil || j.verdict().Grows() || !p.absentAtFirst() {
			continue
		}
		if born := p.bornAt(); born >= 0 {
			types, creators := kindsOf(group)
			out = append(out, recentFamily{family, born, types, creators})
		}
	}
	return out
}

// kindsOf returns the receiver types in a family's stacks, without those of the
// standard library, and its creators.
func kindsOf(group *analysis.Group) (types, creators []string) {
	for _, v := range group.Variants {
		if v.Stack == nil {
			continue
		}
		for _, frame := range v.Stack.Frames {
			kind := wait.ReceiverType(frame.Func)
			if kind != "" && !standard(kind) && !slices.Contains(types, kind) {
				types = append(types, kind)
			}
		}
		if c := v.Stack.CreatedBy.Func; c != "" && !standard(c) && !slices.Contains(creators, c) {
			creators = append(creators, c)
		}
	}
	return types, creators
}

// standard reports a name of Go's standard library: the first element of its path has
// no dot and is not main.
func standard(name string) bool {
	first, _, path := strings.Cut(name, "/")
	if !path {
		first, _, _ = strings.Cut(name, ".")
		return first != "main"
	}
	return !strings.Contains(first, ".")
}

func inBoth(a, b []string) []string {
	var both []string
	for _, x := range a {
		if slices.Contains(b, x) {
			both = append(both, x)
		}
	}
	return both
}

// bornAt is the first snapshot of the last epoch with members, or -1.
func (p *part) bornAt() int {
	for _, pt := range p.lastRun() {
		if pt.count > 0 {
			return pt.index
		}
	}
	return -1
}

func (p *part) absentAtFirst() bool {
	run := p.lastRun()
	return len(run) > 0 && run[0].count == 0
}
