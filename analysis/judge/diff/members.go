package diff

import (
	"slices"

	"leakdiff/analysis"
)

// everyone reports whether each counted member of a group has an identity. The twin of
// a cut dump has members without identity.
func everyone(group *analysis.Group) bool {
	if group == nil || group.Count == 0 {
		return true
	}
	return group.Members.Identified() && group.Members.Len() >= group.Count
}

// listed reports whether a family's absence means that it has no members. A total alone
// (31 files in fdinfo, no listing that names them) shows nothing about families. The
// dumping goroutine counts in the total and belongs to no family.
func listed(snap *analysis.Snapshot, kind analysis.Kind) bool {
	total := snap.Totals.Of(kind)
	if total == nil {
		return false
	}
	familyless := 0
	if kind == analysis.KindGoroutine {
		familyless = 1
	}
	return *total <= familyless || slices.ContainsFunc(snap.Groups, func(group analysis.Group) bool {
		return group.Family.Kind == kind
	})
}

// lowerBound reports whether the counts of a kind are those of a cut dump.
func lowerBound(snap *analysis.Snapshot, kind analysis.Kind) bool {
	return snap.Bounded(kind)
}

// follow counts the members of a kind over all families, if all of them can be
// followed.
func (r *Result) follow(kind analysis.Kind, known identities) {
	before, okA := known.all(r.A, kind)
	after, okB := known.all(r.B, kind)
	if !okA || !okB {
		return
	}
	survived := common(before, after)
	r.Survived[kind] = survived
	r.Born[kind] = after.len() - survived
	r.Ended[kind] = before.len() - survived
}

// all returns the identities of a kind. It is false if some of its members have none.
func (known identities) all(snap *analysis.Snapshot, kind analysis.Kind) (identitySet, bool) {
	if !listed(snap, kind) || lowerBound(snap, kind) {
		return identitySet{}, false
	}
	var groups []*analysis.Group
	for i := range snap.Groups {
		group := &snap.Groups[i]
		if group.Family.Kind != kind {
			continue
		}
		if !everyone(group) {
			return identitySet{}, false
		}
		groups = append(groups, group)
	}
	return known.united(groups), true
}
