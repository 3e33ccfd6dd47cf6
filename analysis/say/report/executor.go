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
func executorsOf(g *analysis.Group) int {
	const pool, thread = "pool-", "-thread-"
	if g.Family.Attributes["name"] != "pool-N-thread-N" || g.Members.Len() != g.Count {
		return 0
	}
	pools := map[string]bool{}
	for m := range g.Members.All() {
		number, _, _ := strings.Cut(strings.TrimPrefix(m.Detail, pool), thread)
		pools[number] = true
	}
	return len(pools)
}
