package identity

import (
	"slices"

	"leakdiff/analysis"
)

// SeriesKeys returns the series key of each snapshot: host and program. It adds the pid
// if processes of one name run at the same time, such as the shells in a listing of all
// processes. Those are no restarts of one another. Without pids it adds the version that
// names state, if versions take turns.
func SeriesKeys(snapshots []analysis.Snapshot) []string {
	keys := make([]string, len(snapshots))
	named := map[string][]int{}
	for i := range snapshots {
		keys[i] = snapshots[i].Process.Key()
		named[keys[i]] = append(named[keys[i]], i)
	}
	for _, list := range named {
		switch {
		case simultaneous(snapshots, list):
			for _, i := range list {
				keys[i] += "\x00" + snapshots[i].Process.PID.Value
			}
		case takeTurns(snapshots, list):
			for _, i := range list {
				keys[i] += "\x00" + snapshots[i].Process.Release()
			}
		}
	}
	return keys
}

// simultaneous reports whether one file or one instant shows two pids, or whether a pid
// comes back after another. A restarted process does neither.
func simultaneous(snapshots []analysis.Snapshot, list []int) bool {
	seen := map[string]string{}
	for _, i := range list {
		s := &snapshots[i]
		pid := s.Process.PID.Value
		if pid == "" {
			continue
		}
		var marks []string
		for _, a := range s.Artifacts {
			if a.SHA256 != "" && a.Members+a.Rows > 0 {
				marks = append(marks, a.SHA256+s.Label)
			}
		}
		if !s.CapturedAt.IsZero() {
			marks = append(marks, s.CapturedAt.String())
		}
		for _, m := range marks {
			if other, ok := seen[m]; ok && other != pid {
				return true
			}
			seen[m] = pid
		}
	}
	return returns(snapshots, list)
}

func returns(snapshots []analysis.Snapshot, list []int) bool {
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b int) int { return snapshots[a].CapturedAt.Compare(snapshots[b].CapturedAt) })
	gone, now := map[string]bool{}, ""
	for _, i := range order {
		pid := snapshots[i].Process.PID.Value
		if pid == "" || pid == now || snapshots[i].CapturedAt.IsZero() {
			continue
		}
		if gone[pid] {
			return true
		}
		gone[now], now = true, pid
	}
	return false
}

// takeTurns reports whether a version that names state comes back after another: captures
// of two versions that ran side by side, or bundles without times.
func takeTurns(snapshots []analysis.Snapshot, list []int) bool {
	named := false
	for _, i := range list {
		v := snapshots[i].Process.Version
		if !v.Known() {
			return false
		}
		named = named || v.Confidence == analysis.Low
	}
	if !named {
		return false
	}
	gone, now := map[string]bool{}, ""
	for _, i := range inOrder(snapshots, list) {
		release := snapshots[i].Process.Release()
		if release == now {
			continue
		}
		if gone[release] {
			return true
		}
		gone[now], now = true, release
	}
	return false
}
