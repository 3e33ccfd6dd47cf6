package report

import (
	"slices"
	"time"

	"leakdiff/analysis"
)

// SnapshotFamily is a family in one snapshot.
type SnapshotFamily struct {
	Fingerprint string         `json:"fingerprint"`
	Kind        analysis.Kind  `json:"kind"`
	Title       string         `json:"title"`
	Members     int            `json:"members"`
	States      map[string]int `json:"states"`
	OldestWait  *int           `json:"oldest_wait_minutes"`
	// Labels are the pprof labels of its goroutines, the most frequent first.
	Labels []analysis.LabelCount `json:"labels,omitempty"`
	// Triage is a person's decision about the family, or nil.
	Triage *analysis.Triage `json:"triage,omitempty"`
}

// SnapshotFamilies returns the families of one snapshot of the series, the largest
// first.
func (j *JudgedSeries) SnapshotFamilies(s *analysis.Snapshot) []SnapshotFamily {
	out := []SnapshotFamily{}
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Family == nil {
			continue
		}
		f := SnapshotFamily{Fingerprint: g.Family.Fingerprint, Kind: g.Family.Kind, Title: j.Titles[g.Family.Fingerprint], Members: g.Count, States: g.States, Triage: j.said(g.Family.Fingerprint), Labels: s.Labels[g.Family.Fingerprint]}
		if f.Title == "" {
			f.Title = g.Family.Title
		}
		if f.States == nil {
			f.States = map[string]int{}
		}
		if g.OldestWait >= 0 {
			oldest := g.OldestWait
			f.OldestWait = &oldest
		}
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b SnapshotFamily) int { return b.Members - a.Members })
	return out
}

// Membership is a family with its members in one snapshot.
type Membership struct {
	Family
	// At is the label of the snapshot. MembersTotal is the number of its members.
	// Members may be fewer, the smallest ids first.
	At           string   `json:"at"`
	MembersTotal int      `json:"members_total"`
	Members      []Member `json:"members"`
	// Stack is the most frequent exact stack there, leaf first, and StackOf what it is of.
	// Families of resources have none.
	Stack   []StackFrame `json:"stack,omitempty"`
	StackOf *StackOf     `json:"stack_of,omitempty"`
	// Dropped is when a policy of retention dropped the members, nil if none did.
	Dropped *time.Time `json:"members_dropped_at,omitempty"`
}

// Member is one member of a family in one snapshot.
type Member struct {
	// ID is the goroutine id, the thread's number or the descriptor. It is null if a
	// dump prints none. Sub is the inode or the watch descriptor.
	ID     *int64 `json:"id"`
	Sub    int64  `json:"sub,omitempty"`
	Parent int64  `json:"created_by_id,omitempty"`
	State  string `json:"state,omitempty"`
	Wait   *int   `json:"wait_minutes"`
	// FirstSeen is the label of the first snapshot of the same process start that shows
	// it in this family.
	FirstSeen string `json:"first_seen,omitempty"`
	// Labels are the pprof labels of a goroutine.
	Labels []analysis.Label `json:"labels,omitempty"`
	Path   string           `json:"path"`
	Line   int64            `json:"line,omitempty"`
	Offset int64            `json:"offset"`
	Detail string           `json:"detail,omitempty"`
}

// FamilySnapshot is the index of the snapshot in which readers want to see a family: the last
// one with it, or the one before its cause went away. It is -1 if no snapshot has it.
func (j *JudgedSeries) FamilySnapshot(fingerprint string) int {
	if before := j.Judged[fingerprint].RecoveredAt - 1; before >= 0 && GroupOf(j.Snapshots[before], fingerprint) != nil {
		return before
	}
	for i := len(j.Snapshots) - 1; i >= 0; i-- {
		if GroupOf(j.Snapshots[i], fingerprint) != nil {
			return i
		}
	}
	return -1
}

// Membership lists at most limit members of a family in snapshot at of the series.
// Limit 0 is no limit.
func (j *JudgedSeries) Membership(family Family, at, limit int) Membership {
	snap := j.Snapshots[at]
	out := Membership{Family: family, At: snap.Label, Members: []Member{}}
	g := GroupOf(snap, family.Fingerprint)
	if g == nil {
		return out
	}
	out.MembersTotal = g.Count
	if l := j.LocatedStack(family.Fingerprint, at); l != nil {
		out.Stack, out.StackOf = l.Stack, &l.Of
	}
	if !snap.Thinned.IsZero() {
		out.Dropped = &snap.Thinned
	}
	identified := g.Members.Identified()
	all := g.Members.First(limit)
	first := map[analysis.Identity]string{}
	if identified {
		first = j.firstSeen(family.Fingerprint, at, all)
	}
	for _, m := range all {
		x := Member{Parent: m.Parent, State: m.State, Line: m.Place.Line, Offset: m.Place.Offset, Detail: m.Detail, Labels: m.Labels.List(), Sub: m.Identity.Sub}
		if identified {
			id := m.Identity.ID
			x.ID, x.FirstSeen = &id, first[m.Identity]
		}
		if m.Wait >= 0 {
			wait := m.Wait
			x.Wait = &wait
		}
		if m.Place.Artifact >= 0 && m.Place.Artifact < len(snap.Artifacts) {
			x.Path = snap.Artifacts[m.Place.Artifact].Path
		}
		out.Members = append(out.Members, x)
	}
	return out
}

// firstSeen returns the label of the first snapshot of each of these members, within
// the process start of snapshot at.
func (j *JudgedSeries) firstSeen(fingerprint string, at int, members []analysis.Member) map[analysis.Identity]string {
	wanted := make(map[analysis.Identity]bool, len(members))
	for i := range members {
		wanted[members[i].Identity] = true
	}
	out := make(map[analysis.Identity]string, len(wanted))
	for i := 0; i <= at && len(wanted) > 0; i++ {
		if j.Trend.Epochs[i] != j.Trend.Epochs[at] {
			continue
		}
		g := GroupOf(j.Snapshots[i], fingerprint)
		if g == nil || !g.Members.Identified() {
			continue
		}
		for id := range g.Members.Identities() {
			if wanted[id] {
				delete(wanted, id)
				out[id] = j.Snapshots[i].Label
			}
		}
	}
	return out
}
