package report

import (
	"sort"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/judge/trend"
)

// Group sorts the snapshots of a case into series by host and program, each in time
// order. Snapshots without a time keep the position that their bundle gave them.
func Group(snapshots []analysis.Snapshot) []JudgedSeries {
	byKey := map[string][]*analysis.Snapshot{}
	seen := map[string]bool{}
	series := identity.SeriesKeys(snapshots)
	for i := range snapshots {
		s, key := &snapshots[i], series[i]
		if seen[key+s.ID] {
			continue // the same bytes in two bundles of one case
		}
		seen[key+s.ID] = true
		byKey[key] = append(byKey[key], s)
	}
	keys := make([]string, 0, len(byKey))
	for k := range byKey {
		keys = append(keys, k)
	}
	// Longest series first: the case is about it.
	sort.Slice(keys, func(i, j int) bool {
		a, b := byKey[keys[i]], byKey[keys[j]]
		if len(a) != len(b) {
			return len(a) > len(b)
		}
		if x, y := weight(a), weight(b); x != y {
			return x > y
		}
		return keys[i] < keys[j]
	})
	judged := make([]JudgedSeries, 0, len(keys))
	for _, k := range keys {
		sortByTime(byKey[k])
		tellApart(byKey[k])
		judged = append(judged, JudgedSeries{Key: k, Snapshots: byKey[k]})
	}
	return judged
}

// Select chooses the captures of each group that are judged. Options give the events.
func Select(groups []JudgedSeries, o Options) {
	for i := range groups {
		g := &groups[i]
		chosen := trend.Select(g.Snapshots, o.Events)
		if len(chosen) == len(g.Snapshots) {
			continue
		}
		g.all = g.Snapshots
		g.Snapshots = make([]*analysis.Snapshot, len(chosen))
		for k, at := range chosen {
			g.Snapshots[k] = g.all[at]
		}
	}
}

// Taken are the times of all captures where not all are judged, nil otherwise.
func (j *JudgedSeries) Taken() (times []time.Time) {
	for _, s := range j.all {
		times = append(times, s.CapturedAt)
	}
	return times
}

// Places are those of the judged captures among all, nil where all are judged.
func (s Series) Places() (at []int) {
	for i, id := range s.Captures {
		if len(at) < len(s.Snapshots) && s.Snapshots[len(at)] == id {
			at = append(at, i)
		}
	}
	return at
}

// Captures are those of the series in time order, judged or not.
func (j *JudgedSeries) Captures() []*analysis.Snapshot {
	if j.all == nil {
		return j.Snapshots
	}
	return j.all
}

// tellApart makes the labels of a series unique: "#1" of two bundles become "#1" and
// "#2", "t0" of two directories "t0" and "t0 (2)".
func tellApart(s []*analysis.Snapshot) {
	numbered := true
	for _, x := range s {
		numbered = numbered && strings.HasPrefix(x.Label, "#")
	}
	seen := map[string]int{}
	for i, x := range s {
		if numbered {
			x.Label = "#" + strconv.Itoa(i+1)
			continue
		}
		seen[x.Label]++
		if n := seen[x.Label]; n > 1 {
			x.Label += " (" + strconv.Itoa(n) + ")"
			seen[x.Label]++
		}
	}
}

// weight is how much the snapshots of a process hold. The lsof that wrote a listing stands in it and has
// ended: no case is about it.
func weight(snapshots []*analysis.Snapshot) int {
	n := 0
	for _, s := range snapshots {
		if s.Process.Name.Value == "lsof" {
			continue
		}
		for _, k := range analysis.Kinds() {
			if t := s.Totals.Of(k); t != nil {
				n += *t
			}
		}
	}
	return n
}

// sortByTime orders timed snapshots by time and leaves untimed ones after the one that
// precedes them in their bundle.
func sortByTime(s []*analysis.Snapshot) {
	var timed, untimed []*analysis.Snapshot
	for _, x := range s {
		if x.CapturedAt.IsZero() {
			untimed = append(untimed, x)
		} else {
			timed = append(timed, x)
		}
	}
	sort.SliceStable(timed, func(i, j int) bool {
		a, b := timed[i], timed[j]
		if !a.CapturedAt.Equal(b.CapturedAt) {
			return a.CapturedAt.Before(b.CapturedAt)
		}
		return a.Order < b.Order
	})
	if len(timed) == 0 {
		sort.SliceStable(s, func(i, j int) bool { return s[i].Order < s[j].Order })
		return
	}
	out := timed
	for _, u := range untimed {
		at := len(out)
		for i, x := range out {
			if x.Order > u.Order {
				at = i
				break
			}
		}
		out = append(out, nil)
		copy(out[at+1:], out[at:])
		out[at] = u
	}
	copy(s, out)
}
