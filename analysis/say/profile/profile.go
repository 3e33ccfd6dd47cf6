// Package profile writes the stacks of snapshots in the formats of other tools: folded
// stacks for flame graph scripts, and the profile proto of pprof. It takes one snapshot
// or a pair, with families and members. It does not know pages, files or what grows.
package profile

import (
	"fmt"
	"slices"

	"leakdiff/analysis"
)

// Kinds returns the kinds with stacks in a snapshot, in the order of pages.
func Kinds(s *analysis.Snapshot) []analysis.Kind {
	var out []analysis.Kind
	for _, k := range []analysis.Kind{analysis.KindGoroutine, analysis.KindThread} {
		if s.Totals.Of(k) != nil {
			out = append(out, k)
		}
	}
	return out
}

// frame is one call. File and line are empty if unknown.
type frame struct {
	name, file string
	line       int
}

// sample is members with one stack, state and wait. Frames are leaf first.
type sample struct {
	frames []frame
	count  int
	// state is "" and wait -1 if unknown.
	state string
	wait  int
}

// The names of members without a stack.
const (
	// nowhere stands for members in the total but in no family: the goroutine that
	// wrote the dump.
	nowhere = "[in no family]"
	unknown = "[no stack]"
)

// membersOf returns the members of a kind. Together they are as many as the snapshot's
// total.
func membersOf(s *analysis.Snapshot, kind analysis.Kind) []sample {
	var out []sample
	rest := 0
	if total := s.Totals.Of(kind); total != nil {
		rest = *total
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Family == nil || g.Family.Kind != kind {
			continue
		}
		out = append(out, ofGroup(g)...)
		rest -= g.Count
	}
	if rest > 0 {
		out = append(out, sample{frames: []frame{{name: nowhere}}, count: rest, wait: -1})
	}
	return out
}

// class is what distinguishes samples of one stack.
type class struct {
	variant, wait int
	state         string
}

// ofGroup returns the members of a family. Members that only the complete twin of a cut
// dump counts have neither state nor wait. If even their stack is unknown, they get the
// most frequent one.
func ofGroup(g *analysis.Group) []sample {
	counts := map[class]int{}
	left := make([]int, len(g.Variants))
	most, spare := 0, g.Count
	for i, v := range g.Variants {
		left[i] = v.Count
		spare -= v.Count
		if v.Count > g.Variants[most].Count {
			most = i
		}
	}
	for m := range g.Members.All() {
		if m.Variant < 0 || m.Variant >= len(left) || left[m.Variant] == 0 {
			continue
		}
		left[m.Variant]--
		counts[class{m.Variant, m.Wait, m.State}]++
	}
	for i, n := range left {
		counts[class{i, -1, ""}] += n
	}
	if spare > 0 {
		counts[class{most, -1, ""}] += spare
	}
	var out []sample
	for c, n := range counts {
		if n > 0 {
			out = append(out, sample{frames: framesOf(g, c.variant), count: n, state: c.state, wait: c.wait})
		}
	}
	return out
}

// framesOf is the stack of a variant, leaf first. Frames that the runtime left out are
// one entry at their position: Go prints the 50 innermost and the 50 outermost frames.
func framesOf(g *analysis.Group, variant int) []frame {
	if variant >= len(g.Variants) || g.Variants[variant].Stack == nil {
		return []frame{{name: unknown}, {name: g.Family.Title}}
	}
	stack := g.Variants[variant].Stack
	out := make([]frame, 0, len(stack.Frames)+1)
	for _, f := range stack.Frames {
		out = append(out, frame{f.Func, f.File, f.Line})
	}
	switch {
	case stack.Unavailable != "":
		out = append(out, frame{name: "[" + stack.Unavailable + "]"})
	case stack.Elided != 0:
		text := "[more frames elided]"
		if stack.Elided > 0 {
			text = fmt.Sprintf("[%d frames elided]", stack.Elided)
		}
		at := len(out)
		if at >= 100 {
			at = 50
		}
		out = slices.Insert(out, at, frame{name: text})
	case len(out) == 0:
		out = append(out, frame{name: unknown})
	}
	if stack.Unavailable != "" && stack.CreatedBy.Func != "" {
		out = append(out, frame{stack.CreatedBy.Func, stack.CreatedBy.File, stack.CreatedBy.Line})
	}
	return out
}
