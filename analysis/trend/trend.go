// Package trend says which families of a series grow and why one should believe
// it. It takes the snapshots of one program on one host in time order and gives
// epochs, counts, survivors, lifelines and a judgement on every family, each with
// its evidence in words and figures. The rules are those of statistics.md: what
// is compared is compared inside one epoch, and identities beat counts. It is
// pure: it knows no file, clock, store or chance, and it refuses to know what a
// family is called or what it is normal for one to do.
package trend

import (
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
)

// Series is one program on one host over time. It does not change after
// NewSeries and may be read from several goroutines.
type Series struct {
	// Snapshots are in time order.
	Snapshots []*analysis.Snapshot
	// Epochs holds the epoch of each snapshot, see the function Epochs.
	Epochs []int
	// Families is the union over all snapshots, ordered by fingerprint.
	Families []*analysis.Family

	// groups holds one entry per snapshot, nil where the family is absent.
	groups map[string][]*analysis.Group
	// listed says which kinds have families in a snapshot, by index.
	listed []map[analysis.Kind]bool
}

// NewSeries makes a series of snapshots that are already in time order.
func NewSeries(snaps []*analysis.Snapshot) *Series {
	s := &Series{
		Snapshots: snaps,
		Epochs:    Epochs(snaps),
		groups:    make(map[string][]*analysis.Group),
		listed:    make([]map[analysis.Kind]bool, len(snaps)),
	}
	for i, snap := range snaps {
		s.listed[i] = make(map[analysis.Kind]bool)
		for j := range snap.Groups {
			group := &snap.Groups[j]
			s.listed[i][group.Family.Kind] = true
			s.add(i, group)
		}
	}
	slices.SortFunc(s.Families, func(a, b *analysis.Family) int {
		return strings.Compare(a.Fingerprint, b.Fingerprint)
	})
	return s
}

func (s *Series) add(i int, group *analysis.Group) {
	row := s.groups[group.Family.Fingerprint]
	if row == nil {
		row = make([]*analysis.Group, len(s.Snapshots))
		s.groups[group.Family.Fingerprint] = row
		s.Families = append(s.Families, group.Family)
	}
	row[i] = group
}

// Counts returns the members of a family in every snapshot: nil where its kind
// was not captured, 0 where it was and the family is absent. It returns nil for
// a family that the series does not have.
func (s *Series) Counts(fingerprint string) []*int {
	row := s.groups[fingerprint]
	if row == nil {
		return nil
	}
	kind := s.kindOf(row)
	counts := make([]*int, len(row))
	for i, group := range row {
		if group == nil && !s.captured(i, kind) {
			continue
		}
		count := 0
		if group != nil {
			count = group.Count
		}
		counts[i] = &count
	}
	return counts
}

// Usable reports whether the counts of a kind in snapshot i may enter a test:
// that kind was captured, and the figures are not the lower bound that a cut
// dump without a complete twin gives (statistics.md 1.3).
func (s *Series) Usable(i int, kind analysis.Kind) bool {
	if !s.captured(i, kind) {
		return false
	}
	return !s.Snapshots[i].Bounded(kind)
}

// captured reports whether a family's absence in snapshot i means 0. A total
// without any family (31 files in fdinfo, but no listing that names them) counts
// the kind and says nothing about its families. The dumping goroutine counts in
// the total and belongs to no family.
func (s *Series) captured(i int, kind analysis.Kind) bool {
	total := s.Snapshots[i].Totals.Of(kind)
	if total == nil || slices.Contains(s.Snapshots[i].Incomplete, kind) {
		return false
	}
	familyless := 0
	if kind == analysis.KindGoroutine {
		familyless = 1
	}
	return *total <= familyless || s.listed[i][kind]
}

func (s *Series) kindOf(row []*analysis.Group) analysis.Kind {
	for _, group := range row {
		if group != nil {
			return group.Family.Kind
		}
	}
	return ""
}

// takenAt is when the evidence of a kind was taken, zero where only an order is
// known.
func (s *Series) takenAt(i int, kind analysis.Kind) time.Time {
	if at, ok := s.Snapshots[i].Times[kind]; ok && !at.IsZero() {
		return at
	}
	return s.Snapshots[i].CapturedAt
}

// label names a snapshot in texts: its own label, else "#3" for the third.
func (s *Series) label(i int) string {
	if label := s.Snapshots[i].Label; label != "" {
		return label
	}
	return "#" + itoa(i+1)
}
