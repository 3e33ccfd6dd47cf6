package report

import (
	"maps"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/edge"
)

// waitedConnections has the connections of each snapshot that a goroutine waits for, by
// goroutine: indexes of rows of edge.Follow.
type waitedConnections []map[int64]int

// waitedConnections is nil where no capture has pairs of goroutines and descriptors.
func (j *JudgedSeries) waitedConnections() waitedConnections {
	if !slices.ContainsFunc(j.Snapshots, func(s *analysis.Snapshot) bool { return len(s.Pairs) > 0 }) {
		return nil
	}
	course := edge.Follow(j.Snapshots)
	if course == nil {
		return nil
	}
	out := make(waitedConnections, len(j.Snapshots))
	byInode := make([]map[uint64]int, len(j.Snapshots))
	for k := range course.Rows {
		r := &course.Rows[k]
		if r.Inode == 0 || r.Foreign {
			continue
		}
		for _, span := range r.Spans {
			for i := span.First; i <= span.Last; i++ {
				if byInode[i] == nil {
					byInode[i] = map[uint64]int{}
				}
				byInode[i][r.Inode] = k
			}
		}
	}
	for i, s := range j.Snapshots {
		inodes := inodesOf(s)
		out[i] = map[int64]int{}
		for _, p := range s.Pairs {
			if k, ok := byInode[i][inodes[int64(p.FD)]]; ok {
				out[i][p.Goroutine] = k
			}
		}
	}
	return out
}

// inodesOf has the inode of each descriptor of a snapshot, as far as it is known.
func inodesOf(s *analysis.Snapshot) map[int64]uint64 {
	out := map[int64]uint64{}
	if len(s.Pairs) == 0 {
		return out
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Family.Kind != analysis.KindDescriptor || !g.Members.Identified() {
			continue
		}
		for id := range g.Members.Identities() {
			if id.Sub != 0 {
				out[id.ID] = uint64(id.Sub)
			}
		}
	}
	return out
}

// of are the connections that goroutines of a finding wait for, those of its objects
// included.
func (w waitedConnections) of(j *JudgedSeries, f *Finding, o *Object) []int {
	if w == nil {
		return nil
	}
	families := slices.Clone(f.Families)
	if o != nil {
		families = append(families, o.Families...)
	}
	found := map[int]bool{}
	for _, print := range families {
		for i, g := range j.Trend.Groups(print) {
			if g == nil || g.Family.Kind != analysis.KindGoroutine || len(w[i]) == 0 || !g.Members.Numbered() {
				continue
			}
			for id := range g.Members.IDs() {
				if k, ok := w[i][id]; ok {
					found[k] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
