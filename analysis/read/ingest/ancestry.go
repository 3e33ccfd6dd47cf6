package ingest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
)

// A descent is what goroutines of one stack have in common that were started alike: stack is
// an index of textDump.order, ancestors are for goroutine.ParseAncestors.
type descent struct {
	stack     int32
	ancestors string
}

// mostDescents bounds the descents of one dump, of which a program has about as many as it has
// stacks.
const mostDescents = 2000

// descend counts a goroutine with ancestors.
func (t *textDump) descend(c *goroutines, ancestors []byte) {
	if n, known := t.descents[descent{c.index, string(ancestors)}]; known {
		t.descents[descent{c.index, string(ancestors)}] = n + 1
		return
	}
	if len(t.descents) >= mostDescents {
		return
	}
	if t.descents == nil {
		t.descents = map[descent]int{}
	}
	t.descents[descent{c.index, string(ancestors)}] = 1
}

// countAncestries adds up the ancestors of the goroutines of each family of a dump that was read.
func (t *textDump) countAncestries() {
	if len(t.descents) == 0 {
		return
	}
	counts := map[string]map[string]int{}
	for d, n := range t.descents {
		print := t.stacks[t.order[d.stack]].family.Fingerprint
		if counts[print] == nil {
			counts[print] = map[string]int{}
		}
		counts[print][d.ancestors] += n
	}
	t.ancestries = ancestries(counts)
}

// ancestries are those of each family, by fingerprint and text, the most frequent first.
func ancestries(counts map[string]map[string]int) map[string][]analysis.Ancestry {
	out := make(map[string][]analysis.Ancestry, len(counts))
	for print, of := range counts {
		all := 0
		for _, n := range of {
			all += n
		}
		texts := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(cmp.Compare(of[b], of[a]), strings.Compare(a, b)) })
		for _, text := range texts[:min(len(texts), analysis.MostAncestries)] {
			out[print] = append(out[print], analysis.Ancestry{Stacks: goroutine.ParseAncestors([]byte(text)), Count: of[text], Of: all})
		}
	}
	return out
}
