package report

import (
	"cmp"
	"fmt"
	"slices"

	"leakdiff/analysis"
)

// handleLetters: stacks of goroutines and threads, and resources.
var handleLetters = map[analysis.Kind]string{
	analysis.KindGoroutine: "g", analysis.KindThread: "t", analysis.KindDescriptor: "r", analysis.KindWatch: "w",
}

// handles gives every family a short name. Names are numbered in the order of the first
// sighting, so that another snapshot renames none of a process. A family of two
// processes has one name.
func handles(series []Series) {
	given, count := map[string]string{}, map[string]int{}
	for i := range series {
		order := make([]*Family, len(series[i].Families))
		for k := range order {
			order[k] = &series[i].Families[k]
		}
		slices.SortFunc(order, func(a, b *Family) int {
			return cmp.Or(cmp.Compare(firstSeen(a.Counts), firstSeen(b.Counts)), cmp.Compare(a.Fingerprint, b.Fingerprint))
		})
		for _, f := range order {
			if given[f.Fingerprint] == "" {
				letter := cmp.Or(handleLetters[f.Kind], "x")
				count[letter]++
				given[f.Fingerprint] = fmt.Sprintf("%s-%d", letter, count[letter])
			}
			f.Handle = given[f.Fingerprint]
		}
	}
}

// firstSeen is the first snapshot with members, or the number of snapshots.
func firstSeen(counts analysis.Counts) int {
	if i := counts.FirstWithAny(); i >= 0 {
		return i
	}
	return len(counts)
}
