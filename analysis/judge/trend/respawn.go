package trend

import (
	"slices"

	"leakdiff/analysis"
)

// respawns reports goroutines that start their own successors: a function that ends with a go
// statement of itself. Each is young, none stays, and nobody of the first may ever be given up: what
// would have to be followed is the chain, which has no id. Its members tell nothing; its counts do.
// Where those that started them are there too, a function divides its work.
func (s *Series) respawns(family *analysis.Family) bool {
	entry := len(family.Loose) - 1
	if family.Kind != analysis.KindGoroutine || entry < 0 || family.LooseCreator != family.Loose[entry] {
		return false
	}
	there, gone := 0, 0
	for _, group := range s.groups[family.Fingerprint] {
		if group == nil {
			continue
		}
		if slices.ContainsFunc(group.Variants, startsPart) {
			return false
		}
		present := map[int64]bool{}
		for id := range group.Members.IDs() {
			present[id] = true
		}
		for parent := range group.Members.Parents() {
			switch {
			case present[parent]:
				there++
			case parent > 0:
				gone++
			}
		}
	}
	return gone > there
}

// fell reports a count below the one before it, in one epoch.
func (p *part) fell() bool {
	for _, run := range p.runs {
		for k := 1; k < len(run); k++ {
			if run[k].count < run[k-1].count {
				return true
			}
		}
	}
	return false
}

// startsPart reports a stack that another function began than the one that started it: a part of
// that, a closure, which the loose names do not tell from it.
func startsPart(v analysis.Variant) bool {
	if v.Stack == nil || len(v.Stack.Frames) == 0 {
		return true
	}
	return v.Stack.Frames[len(v.Stack.Frames)-1].Func != v.Stack.CreatedBy.Func
}
