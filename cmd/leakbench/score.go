package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// rule is one of the simple rules that leakdiff is held against. It returns whether it
// accuses over the first n rounds, and the frames or words of what it accuses first.
type rule struct {
	name, words string
	accuses     func(members []member, n int) (bool, []string)
}

var rules = []rule{
	{"pprof -diff_base", "accuses the stack whose goroutines grew most from the first capture to the last, if it grew at all", diffBase},
	{"goleak", "accuses goroutines of the last capture that were in the capture before it and not in the first, by id (of two captures: that were not in the first); the most frequent stack heads the list", goleak},
	{"last − first", "accuses if the last capture has more goroutines or more descriptors than the first; it names nothing", lastFirst},
}

// diffBase is what a person reads at the top of pprof -diff_base -traces.
func diffBase(members []member, n int) (bool, []string) {
	growth := map[string]int{}
	for _, g := range dumpOf(members, n-1) {
		growth[strings.Join(g.frames, "\n")]++
	}
	for _, g := range dumpOf(members, 0) {
		growth[strings.Join(g.frames, "\n")]--
	}
	stack, by := most(growth)
	return by > 0, strings.Split(stack, "\n")
}

// goleak is the rule of go.uber.org/goleak with IgnoreCurrent at the first capture: what is
// there at the end, was there at its retry, and is not what was there at the start.
func goleak(members []member, n int) (bool, []string) {
	start, before := ids(members, 0), ids(members, n-2)
	stacks := map[string]int{}
	for _, g := range dumpOf(members, n-1) {
		if !start[g.id] && (before[g.id] || n == 2) {
			stacks[strings.Join(g.frames, "\n")]++
		}
	}
	stack, by := most(stacks)
	return by > 0, strings.Split(stack, "\n")
}

func lastFirst(members []member, n int) (bool, []string) {
	return len(dumpOf(members, n-1)) > len(dumpOf(members, 0)) || len(descriptors(members, n-1)) > len(descriptors(members, 0)), nil
}

// dumpOf returns the goroutines of a round without the one that answers the request for the
// dump, and the server's own goroutines of that connection.
func dumpOf(members []member, round int) []standing {
	return slices.DeleteFunc(goroutines(file(members, round, "goroutine.debug2.txt")), func(g standing) bool {
		return contains(strings.Join(g.frames, "\n"), []string{"runtime/pprof.writeGoroutineStacks", "net/http.(*connReader).backgroundRead"})
	})
}

func ids(members []member, round int) map[string]bool {
	out := map[string]bool{}
	for _, g := range dumpOf(members, round) {
		out[g.id] = true
	}
	return out
}

// most returns the key of the highest count, the first by name of several.
func most(counts map[string]int) (string, int) {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	if len(keys) == 0 {
		return "", 0
	}
	return keys[0], counts[keys[0]]
}
