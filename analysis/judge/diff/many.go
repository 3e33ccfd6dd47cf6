package diff

import (
	"cmp"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// Between is the section of families that changed and came back: the first and the last
// of several snapshots have equal counts.
const Between Section = "between"

// Course is one family over several snapshots.
type Course struct {
	Family *analysis.Family
	// Counts has an entry for each snapshot, nil if it captured nothing of the kind or
	// did not list it.
	Counts analysis.Counts
	// Delta is the last complete count minus the first. Compared is false if there are
	// no two complete counts. Section is then empty.
	Delta    int
	Compared bool
	Section  Section
	// OldestWait is in minutes in the last snapshot with members, -1 if unknown.
	OldestWait int
	// States and Members are those of the same snapshot.
	States  map[string]int
	Members *analysis.Members
}

// Many is the comparison of any number of snapshots.
type Many struct {
	Snapshots []*analysis.Snapshot
	// Rows are ordered by section, then by the size of the change, then of the family,
	// then by fingerprint.
	Rows []Course
}

// ManySections lists the sections of several snapshots in the order of the page.
func ManySections() []Section {
	return []Section{Growing, New, Between, Unchanged, Shrunk, Gone}
}

// CompareMany compares snapshots in the order given. The counts of a cut dump are shown
// and never compared. Judgements are as in Options.
func CompareMany(snapshots []*analysis.Snapshot, judgements map[string]analysis.Judgement) Many {
	result := Many{Snapshots: snapshots}
	rows := map[string]*Course{}
	var order []*Course
	for i, snap := range snapshots {
		for k := range snap.Groups {
			group := &snap.Groups[k]
			row := rows[group.Family.Fingerprint]
			if row == nil {
				row = &Course{Family: group.Family, Counts: make(analysis.Counts, len(snapshots)), OldestWait: -1}
				rows[group.Family.Fingerprint] = row
				order = append(order, row)
			}
			row.Counts[i] = analysis.Counted(group.Count)
			if group.Count > 0 {
				row.OldestWait, row.States, row.Members = group.OldestWait, group.States, &group.Members
			}
		}
	}
	present := listings(snapshots)
	for _, row := range order {
		if row.fill(present[row.Family.Kind], snapshots) {
			row.compare(snapshots, judgements[row.Family.Fingerprint])
			result.Rows = append(result.Rows, *row)
		}
	}
	slices.SortFunc(result.Rows, inManyOrder)
	return result
}

// listings returns for each kind which snapshots list its families.
func listings(snapshots []*analysis.Snapshot) map[analysis.Kind][]bool {
	out := map[analysis.Kind][]bool{}
	for _, kind := range analysis.Kinds() {
		present := make([]bool, len(snapshots))
		for i, snap := range snapshots {
			present[i] = listed(snap, kind)
		}
		out[kind] = present
	}
	return out
}

// fill writes 0 for known absence of the family, and reports whether it has members in
// any snapshot.
func (c *Course) fill(present []bool, snapshots []*analysis.Snapshot) bool {
	found := false
	for i := range snapshots {
		switch {
		case !c.Counts[i].Known() && present[i]:
			c.Counts[i] = analysis.Counted(0)
		case c.Counts[i].Known() && c.Counts[i].N > 0:
			found = true
		}
	}
	return found
}

func (c *Course) compare(snapshots []*analysis.Snapshot, judged analysis.Judgement) {
	var complete []int
	for i, n := range c.Counts {
		if n.Known() && !lowerBound(snapshots[i], c.Family.Kind) {
			complete = append(complete, n.N)
		}
	}
	if len(complete) < 2 {
		return
	}
	first, last := complete[0], complete[len(complete)-1]
	c.Compared, c.Delta = true, last-first
	c.Section = sectionOf(Row{A: first, B: last, Delta: c.Delta}, judged)
	if c.Section == Unchanged && slices.Max(complete) != slices.Min(complete) {
		c.Section = Between
	}
}

func inManyOrder(a, b Course) int {
	return cmp.Or(
		cmp.Compare(a.Section.rank(), b.Section.rank()),
		cmp.Compare(abs(b.Delta), abs(a.Delta)),
		cmp.Compare(b.Counts.Highest(), a.Counts.Highest()),
		strings.Compare(a.Family.Fingerprint, b.Family.Fingerprint),
	)
}
