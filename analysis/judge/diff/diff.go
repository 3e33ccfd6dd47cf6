// Package diff compares two snapshots of one program: which families rose, came,
// stayed, fell and went, which of their members were born, survived or ended, and how
// two stacks differ frame by frame. It takes snapshots that are grouped into families
// and returns rows in the order of the page. Warnings name what makes the two
// hard to compare. The package is pure. It does not judge: a verdict comes from trend
// and only decides the section of a family that had no members before.
package diff

import (
	"cmp"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// Section is a group of rows on the page.
type Section string

// The sections, in the order of the page.
const (
	Growing   Section = "growing"
	New       Section = "new"
	Unchanged Section = "unchanged"
	Shrunk    Section = "shrunk"
	Gone      Section = "gone"
)

// Sections lists every section in the order in which pages show them.
func Sections() []Section { return []Section{Growing, New, Unchanged, Shrunk, Gone} }

// rank is the position of a section on the page.
func (s Section) rank() int {
	switch s {
	case Growing:
		return 0
	case New:
		return 1
	case Between:
		return 2
	case Unchanged:
		return 3
	case Shrunk:
		return 4
	case Gone:
		return 5
	}
	return 6
}

// Row is one family in both snapshots.
type Row struct {
	Family *analysis.Family
	// A and B count the members; Delta is B - A.
	A, B, Delta int
	// New, Gone and Survived count members by identity. All are 0 unless Identified
	// reports that the members of both snapshots could be followed.
	New, Gone, Survived int
	Identified          bool
	// OldestWait is in minutes at B, -1 if unknown.
	OldestWait int
	Section    Section
	// VariantA and VariantB are the most frequent exact stacks, or nil.
	VariantA, VariantB *analysis.Stack
	// StatesA and StatesB count members by state, or are nil.
	StatesA, StatesB map[string]int
}

// Result is the comparison of two snapshots.
type Result struct {
	A, B *analysis.Snapshot
	// Rows are ordered by section, then by the size of the change, then of the family,
	// then by fingerprint. Families of a kind that only one snapshot captured have no
	// row.
	Rows []Row
	// TotalA and TotalB are the totals of the snapshots.
	TotalA, TotalB analysis.Totals
	// Born, Ended and Survived count members over all families of a kind. A member that
	// moved to another family survived. A kind whose members cannot be followed is
	// absent.
	Born, Ended, Survived map[analysis.Kind]int
	// Followed reports that both snapshots are of one process start, so that members
	// can be followed. Counts of two starts do not grow or shrink.
	Followed bool
	// Warnings are what makes the two hard to compare.
	Warnings []Warning
}

// Relation is whether two snapshots are of one process start.
type Relation string

// Unstated leaves the decision to pid and start time, as far as they are known. A
// caller with the series passes what its epochs show.
const (
	Unstated   Relation = ""
	SameEpoch  Relation = "same epoch"
	OtherEpoch Relation = "other epoch"
	// Unproven is for snapshots that nobody filed under one process. They are related
	// only if pid and start time are known and equal.
	Unproven Relation = "unproven"
)

// Options are what a caller knows beyond the two snapshots.
type Options struct {
	Relation Relation
	// Judgements are by fingerprint and may be nil. A family that had no members at A
	// grows, instead of being new, if its judgement accuses it.
	Judgements map[string]analysis.Judgement
}

// Compare compares snapshot b with snapshot a.
func Compare(a, b *analysis.Snapshot, options Options) Result {
	same := related(a, b, options.Relation)
	result := Result{
		A: a, B: b, TotalA: a.Totals, TotalB: b.Totals, Followed: same,
		Born: map[analysis.Kind]int{}, Ended: map[analysis.Kind]int{}, Survived: map[analysis.Kind]int{},
		Warnings: warnings(a, b, same, options.Relation),
	}
	before, after := groupsOf(a), groupsOf(b)
	known := make(identities, len(before)+len(after))
	both := make(map[analysis.Kind]bool)
	for _, kind := range analysis.Kinds() {
		both[kind] = listed(a, kind) && listed(b, kind)
	}
	for _, fingerprint := range union(before, after) {
		was, is := before[fingerprint], after[fingerprint]
		family := familyOf(was, is)
		if !both[family.Kind] {
			continue
		}
		row := compare(family, was, is, same, known)
		if row.A == 0 && row.B == 0 {
			continue
		}
		row.Section = sectionOf(row, options.Judgements[fingerprint])
		result.Rows = append(result.Rows, row)
	}
	slices.SortFunc(result.Rows, inPageOrder)
	if same {
		for _, kind := range analysis.Kinds() {
			result.follow(kind, known)
		}
	}
	return result
}

func groupsOf(snap *analysis.Snapshot) map[string]*analysis.Group {
	groups := make(map[string]*analysis.Group, len(snap.Groups))
	for i := range snap.Groups {
		groups[snap.Groups[i].Family.Fingerprint] = &snap.Groups[i]
	}
	return groups
}

// union is the sorted set of fingerprints.
func union(a, b map[string]*analysis.Group) []string {
	keys := make([]string, 0, len(a)+len(b))
	for key := range a {
		keys = append(keys, key)
	}
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func familyOf(a, b *analysis.Group) *analysis.Family {
	if b != nil {
		return b.Family
	}
	return a.Family
}

func compare(family *analysis.Family, a, b *analysis.Group, same bool, known identities) Row {
	row := Row{Family: family, OldestWait: -1}
	if a != nil {
		row.A, row.StatesA, row.VariantA = a.Count, a.States, frequent(a.Variants)
	}
	if b != nil {
		row.B, row.StatesB, row.VariantB = b.Count, b.States, frequent(b.Variants)
		row.OldestWait = b.OldestWait
	}
	row.Delta = row.B - row.A
	if same && everyone(a) && everyone(b) {
		row.Identified = true
		before, after := known.of(a), known.of(b)
		row.Survived = common(before, after)
		row.New, row.Gone = after.len()-row.Survived, before.len()-row.Survived
	}
	return row
}

// frequent is the stack with most members. Among equals it is the one with the smallest
// fingerprint.
func frequent(variants []analysis.Variant) *analysis.Stack {
	if len(variants) == 0 {
		return nil
	}
	return slices.MinFunc(variants, func(a, b analysis.Variant) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Fingerprint, b.Fingerprint))
	}).Stack
}

// sectionOf returns the section of a row. A family without members at A is new, unless
// its series shows a growth.
func sectionOf(row Row, judged analysis.Judgement) Section {
	switch {
	case row.Delta > 0 && row.A == 0 && !judged.Verdict.Grows():
		return New
	case row.Delta > 0:
		return Growing
	case row.Delta == 0:
		return Unchanged
	case row.B == 0:
		return Gone
	default:
		return Shrunk
	}
}

func inPageOrder(a, b Row) int {
	return cmp.Or(
		cmp.Compare(a.Section.rank(), b.Section.rank()),
		cmp.Compare(abs(b.Delta), abs(a.Delta)),
		cmp.Compare(b.B, a.B),
		strings.Compare(a.Family.Fingerprint, b.Family.Fingerprint),
	)
}

func abs(n int) int { return max(n, -n) }
