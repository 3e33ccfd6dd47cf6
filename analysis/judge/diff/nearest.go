package diff

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// Nearest finds, for a family without members in snapshot a, the most similar group of
// a, and words the reason. Families with stacks must have the same creator, or no
// creator and common outer frames. The longest common path wins. Families without
// stacks must share at least half of the attributes. If nothing is similar it returns
// nil and a reason.
func Nearest(a *analysis.Snapshot, f *analysis.Family) (*analysis.Group, string) {
	var best candidate
	for i := range a.Groups {
		group := &a.Groups[i]
		if group.Family.Kind != f.Kind || group.Count == 0 {
			continue
		}
		if group.Family.Fingerprint == f.Fingerprint {
			return group, "the same family"
		}
		if c := likeness(group, f); c.better(best) {
			best = c
		}
	}
	if best.group != nil {
		return best.group, best.reason
	}
	if f.Loose != nil {
		return nil, fmt.Sprintf("no %s of %s has its creator or its outer frames", f.Kind, label(a, "A"))
	}
	return nil, fmt.Sprintf("no %s of %s shares half of its attributes", f.Kind, label(a, "A"))
}

type candidate struct {
	group  *analysis.Group
	score  int
	reason string
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
		return candidate{group, outer, "also without a creator, " + inCommon(outer)}
	case outer == 0:
		return candidate{group, 0, "the same creator, no frame in common"}
	}
	return candidate{group, outer, "the same creator, " + inCommon(outer)}
}

func inCommon(outer int) string {
	return wording.Plural(outer, "outer frame", "outer frames") + " in common, then another way"
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
	reason := "same " + strings.Join(equal, ", ")
	if len(other) > 0 {
		reason += "; other " + strings.Join(other, ", ")
	}
	return candidate{group, len(equal), reason}
}
