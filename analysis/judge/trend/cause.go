package trend

import (
	"slices"

	"leakdiff/analysis"
)

// splitByCause divides a unit whose goroutines were started in different places: two leaks of
// one rhythm are two causes. A cause shows in two families or more that one function started,
// or of which one started the other. What belongs to none of them stays with the first.
// Ratios remain those of the undivided unit.
func (u *unit) splitByCause() []*unit {
	of := causes(u.families)
	sizes := map[int]int{}
	for _, cause := range of {
		sizes[cause]++
	}
	var parts []*unit
	at := map[int]*unit{}
	for _, cause := range of {
		if cause >= 0 && sizes[cause] > 1 && at[cause] == nil {
			at[cause] = &unit{}
			parts = append(parts, at[cause])
		}
	}
	if len(parts) == 0 {
		return []*unit{u}
	}
	for k, r := range u.families {
		part := at[of[k]]
		if part == nil {
			part = parts[0]
		}
		part.families = append(part.families, r)
	}
	return parts
}

// causes numbers the causes of rising families, -1 for what no code of the program started.
func causes(families []*risingFamily) []int {
	of := make([]int, len(families))
	for k := range of {
		if of[k] = k; startedBy(families[k]) == "" {
			of[k] = -1
		}
	}
	for k, a := range families {
		for m, b := range families {
			if of[k] >= 0 && of[m] >= 0 && of[k] != of[m] && startedAlike(a, b) {
				from, to := of[m], of[k]
				for n := range of {
					if of[n] == from {
						of[n] = to
					}
				}
			}
		}
	}
	return of
}

// startedAlike reports that one function started both, or that a started b.
func startedAlike(a, b *risingFamily) bool {
	creator := startedBy(b)
	return creator == startedBy(a) || slices.Contains(a.judgement.part.family.Loose, creator)
}

// startedBy is the function of the program that started the goroutines of a family, "" for
// other kinds and for functions of the standard library.
func startedBy(r *risingFamily) string {
	f := r.judgement.part.family
	if f.Kind != analysis.KindGoroutine || packageOutside(f.LooseCreator) == "" {
		return ""
	}
	return f.LooseCreator
}
