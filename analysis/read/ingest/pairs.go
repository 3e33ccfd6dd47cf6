package ingest

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/read/procfs"
	"leakdiff/analysis/say/wording"
)

func readPairs(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	pairs, problems, err := procfs.ParsePairs(body, p.path)
	r.problem(problems...)
	p.pairs = pairs
	a.Rows = len(pairs)
	a.Outcome = wording.Plural(len(pairs), "goroutine with its descriptor", "goroutines with their descriptors")
	return err
}

// pairedGroup is the one of a directory whose dump the pairs are of: the only one with
// goroutines and the same numbers in its name. It is nil if there are several or none.
func pairedGroup(groups []*group, pairs *part) *group {
	var found *group
	for _, g := range groups {
		if !slices.ContainsFunc(g.parts, func(p *part) bool { return p.text != nil }) {
			continue
		}
		if t := pairs.token(); t != "" && t != g.token() {
			continue
		}
		if found != nil {
			return nil
		}
		found = g
	}
	return found
}

// pairs keeps the pairs whose goroutine is in the dump and whose descriptor is in the
// listing, by goroutine.
func (b *builder) pairs() {
	for _, p := range b.g.context {
		if len(p.pairs) == 0 || b.s.Pairs != nil {
			continue
		}
		goroutines, descriptors := map[int64]bool{}, map[int]bool{}
		for _, x := range p.pairs {
			goroutines[x.Goroutine], descriptors[x.FD] = false, false
		}
		b.mark(goroutines, descriptors)
		kept := slices.DeleteFunc(slices.Clone(p.pairs), func(x analysis.Pair) bool { return !goroutines[x.Goroutine] || !descriptors[x.FD] })
		slices.SortFunc(kept, func(x, y analysis.Pair) int { return cmp.Compare(x.Goroutine, y.Goroutine) })
		if len(kept) > 0 {
			b.s.Pairs = kept
		}
		if lost := len(p.pairs) - len(kept); lost > 0 {
			b.r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Note,
				What: fmt.Sprintf("%d of %s left out", lost, wording.Plural(len(p.pairs), "pair of goroutine and descriptor was", "pairs of goroutine and descriptor were")),
				Why:  "the goroutine is not in the dump, or the descriptor is not in the listing, of the same capture",
				Hint: "nothing: the others count; upload the archive as leakdiff collect wrote it if many are left out"})
		}
	}
}

// mark sets those goroutines and descriptors to true that the snapshot has.
func (b *builder) mark(goroutines map[int64]bool, descriptors map[int]bool) {
	for _, g := range b.byPrint {
		switch g.Family.Kind {
		case analysis.KindGoroutine:
			for id := range g.Members.IDs() {
				if _, asked := goroutines[id]; asked {
					goroutines[id] = true
				}
			}
		case analysis.KindDescriptor:
			for id := range g.Members.IDs() {
				if _, asked := descriptors[int(id)]; asked {
					descriptors[int(id)] = true
				}
			}
		}
	}
}
