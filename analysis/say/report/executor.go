package report

import (
	"strings"

	"leakdiff/analysis"
)

// fewestExecutors is from how many pools of one thread each on this is said of the threads: a program
// may have some on purpose.
const fewestExecutors = 10

// executorsOf counts the pools of a family of threads that have the names of
// Executors.defaultThreadFactory, 0 for other families.
//
//	pool-7-thread-1, pool-8-thread-1, pool-8-thread-2 = 2
func executorsOf(g *analysis.Group) int { return len(poolsOf(g)) }

// poolsOf counts the threads of each such pool by its number.
func poolsOf(g *analysis.Group) map[string]int {
	const pool, thread = "pool-", "-thread-"
	if g == nil || g.Family.Attributes["name"] != "pool-N-thread-N" || g.Members.Len() != g.Count {
		return nil
	}
	pools := map[string]int{}
	for m := range g.Members.All() {
		number, _, _ := strings.Cut(strings.TrimPrefix(m.Detail, pool), thread)
		pools[number]++
	}
	return pools
}

// oneExecutor reports a family whose threads rose in one pool alone, which is the only one or had some
// from the first snapshot on: none was made per call. groups are those of the snapshots.
func oneExecutor(groups []*analysis.Group) bool {
	if len(groups) < 2 {
		return false
	}
	most := groups[0]
	for _, g := range groups[1:] {
		if g != nil && (most == nil || g.Count >= most.Count) {
			most = g
		}
	}
	before, after := poolsOf(groups[0]), poolsOf(most)
	if groups[0] != nil && before == nil {
		return false // not all are named
	}
	pools := map[string]bool{}
	for _, g := range groups {
		for number := range poolsOf(g) {
			pools[number] = true
		}
	}
	rose, had := 0, true
	for number, n := range after {
		if n > before[number] {
			rose, had = rose+1, before[number] > 0
		}
	}
	return rose == 1 && (had || len(pools) == 1)
}

// boundExecutor is what to do about an executor that starts many threads.
const boundExecutor = "All are of one executor, so none is made per call: see whether it ends them when they are idle (a cached pool does after a minute), and bound its size. Name its threads."
