package diff

import (
	"cmp"
	"slices"

	"leakdiff/analysis"
)

// identitySet is a sorted set of identities. Nearly all identities are a number alone,
// like those of goroutines. A set with others holds all of them in full. Comparing two
// sorted columns is several times as fast as filling two maps.
type identitySet struct {
	ids  []int64
	full []analysis.Identity
}

// identities caches the identities of groups. Packed columns must be read from their
// beginning, and both a family's and its kind's members are needed.
type identities map[*analysis.Group]identitySet

// of returns the identities of one group. nil means an absent family.
func (all identities) of(group *analysis.Group) identitySet {
	if group == nil || !group.Members.Identified() {
		return identitySet{}
	}
	set, known := all[group]
	if !known {
		set = identitiesOf(&group.Members)
		all[group] = set
	}
	return set
}

// united returns the identities of several groups.
func (all identities) united(groups []*analysis.Group) identitySet {
	n, plain := 0, true
	for _, group := range groups {
		set := all.of(group)
		n, plain = n+set.len(), plain && set.full == nil
	}
	if plain {
		ids := make([]int64, 0, n)
		for _, group := range groups {
			ids = append(ids, all.of(group).ids...)
		}
		slices.Sort(ids)
		return identitySet{ids: slices.Compact(ids)}
	}
	full := make([]analysis.Identity, 0, n)
	for _, group := range groups {
		full = append(full, all.of(group).whole()...)
	}
	slices.SortFunc(full, analysis.Identity.Compare)
	return identitySet{full: slices.Compact(full)}
}

func identitiesOf(m *analysis.Members) identitySet {
	if m.Numbered() {
		ids := m.AppendIDs(make([]int64, 0, m.Len()))
		slices.Sort(ids)
		return identitySet{ids: slices.Compact(ids)}
	}
	full := slices.AppendSeq(make([]analysis.Identity, 0, m.Len()), m.Identities())
	slices.SortFunc(full, analysis.Identity.Compare)
	return identitySet{full: slices.Compact(full)}
}

func (s identitySet) len() int { return len(s.ids) + len(s.full) }

// whole is the set with every identity in full.
func (s identitySet) whole() []analysis.Identity {
	if s.full != nil || len(s.ids) == 0 {
		return s.full
	}
	full := make([]analysis.Identity, len(s.ids))
	for i, id := range s.ids {
		full[i] = analysis.Identity{ID: id}
	}
	return full
}

// common is the number of identities in both sets.
func common(a, b identitySet) int {
	if a.full == nil && b.full == nil {
		return inBoth(a.ids, b.ids, cmp.Compare[int64])
	}
	return inBoth(a.whole(), b.whole(), analysis.Identity.Compare)
}

// inBoth counts the common entries of two sorted lists without duplicates.
func inBoth[T any](a, b []T, compare func(x, y T) int) int {
	n := 0
	for len(a) > 0 && len(b) > 0 {
		switch order := compare(a[0], b[0]); {
		case order < 0:
			a = a[1:]
		case order > 0:
			b = b[1:]
		default:
			n, a, b = n+1, a[1:], b[1:]
		}
	}
	return n
}
