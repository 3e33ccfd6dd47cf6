package diff

import (
	"slices"

	"leakdiff/analysis"
)

// Nearest finds, for a family without members in snapshot a, the most similar group of
// a, and the reason. Families with stacks must have the same creator, or no
// creator and common outer frames. The longest common path wins. Families without
// stacks must share at least half of the attributes. If nothing is similar it returns
// nil and what it looked for.
func Nearest(a *analysis.Snapshot, f *analysis.Family) (*analysis.Group, Likeness) {
	var best candidate
	for i := range a.Groups {
		group := &a.Groups[i]
		if group.Family.Kind != f.Kind || group.Count == 0 {
			continue
		}
		if group.Family.Fingerprint == f.Fingerprint {
			return group, Likeness{Form: "same_family"}
		}
		if c := likeness(group, f); c.better(best) {
			best = c
		}
	}
	if best.group != nil {
		return best.group, best.likeness
	}
	none := Likeness{Form: "no_attributes", Kind: f.Kind, At: label(a, "A")}
	if f.Loose != nil {
		none.Form = "no_frames"
	}
	return nil, none
}

// Likeness is what two families have in common.
type Likeness struct {
	// Form is same_family, creator, no_creator or attributes, and no_frames or no_attributes
	// for none of the Kind in the snapshot At.
	Form analysis.Form
	Kind analysis.Kind
	At   string
	// Outer is the number of equal frames from the outermost inwards.
	Outer int
	// Equal and Other are the names of attributes.
	Equal, Other []string
}

type candidate struct {
	group    *analysis.Group
	score    int
	likeness Likeness
}

func (c candidate) better(than candidate) bool {
	switch {
	case c.group == nil || than.group == nil:
		return c.group != nil
	case c.score != than.score:
		return c.score > than.score
	case c.group.Count != than.group.Count:
		return c.group.Count > than.group.Count
	}
	return c.group.Family.Fingerprint < than.group.Family.Fingerprint
}

func likeness(group *analysis.Group, f *analysis.Family) candidate {
	if f.Loose != nil {
		return alike(group, f)
	}
	return alikeInAttributes(group, f)
}

func alike(group *analysis.Group, f *analysis.Family) candidate {
	if group.Family.LooseCreator != f.LooseCreator {
		return candidate{}
	}
	outer := commonOuter(group.Family.Loose, f.Loose)
	switch {
	case f.LooseCreator == "" && outer == 0:
		return candidate{}
	case f.LooseCreator == "":
		return candidate{group, outer, Likeness{Form: "no_creator", Outer: outer}}
	}
	return candidate{group, outer, Likeness{Form: "creator", Outer: outer}}
}

// commonOuter counts equal names from the outermost frame inwards.
func commonOuter(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

func alikeInAttributes(group *analysis.Group, f *analysis.Family) candidate {
	var equal, other []string
	for name, value := range f.Attributes {
		if group.Family.Attributes[name] == value {
			equal = append(equal, name)
		} else {
			other = append(other, name)
		}
	}
	if len(equal) == 0 || len(equal) < len(other) {
		return candidate{}
	}
	slices.Sort(equal)
	slices.Sort(other)
	return candidate{group, len(equal), Likeness{Form: "attributes", Equal: equal, Other: other}}
}
