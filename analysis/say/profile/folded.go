package profile

import (
	"bufio"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"leakdiff/analysis"
)

// Folded writes one line for each stack of a kind, in the format of Brendan Gregg's
// flame graph scripts: frames from root to leaf, separated by semicolons, a space and
// the number of members. Lines are sorted.
//
//	main.main;http.(*Server).Serve;net.(*conn).Read 412
func Folded(w io.Writer, s *analysis.Snapshot, kind analysis.Kind) error {
	counts := folded(s, kind)
	return lines(w, slices.Sorted(maps.Keys(counts)), func(stack string) []int { return []int{counts[stack]} })
}

// FoldedPair writes the stacks of A and B with two counts each, as difffolded.pl does
// and as flamegraph.pl expects for a differential graph.
//
//	main.main;net.(*conn).Read 88 500
func FoldedPair(w io.Writer, a, b *analysis.Snapshot, kind analysis.Kind) error {
	inA, inB := folded(a, kind), folded(b, kind)
	all := maps.Clone(inA)
	maps.Copy(all, inB)
	return lines(w, slices.Sorted(maps.Keys(all)), func(stack string) []int { return []int{inA[stack], inB[stack]} })
}

func lines(w io.Writer, stacks []string, counts func(string) []int) error {
	out := bufio.NewWriter(w)
	for _, stack := range stacks {
		out.WriteString(stack)
		for _, n := range counts(stack) {
			out.WriteString(" " + strconv.Itoa(n))
		}
		out.WriteString("\n")
	}
	return out.Flush()
}

// folded sums the members by folded stack.
func folded(s *analysis.Snapshot, kind analysis.Kind) map[string]int {
	out := map[string]int{}
	for _, x := range membersOf(s, kind) {
		out[fold(x.frames)] += x.count
	}
	return out
}

func fold(frames []frame) string {
	names := make([]string, len(frames))
	for i, f := range frames {
		names[len(frames)-1-i] = plain(f.name)
	}
	return strings.Join(names, ";")
}

// plain keeps a name one frame of one line: a semicolon becomes a colon, an invisible
// character a space.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ':'
		case !unicode.IsPrint(r):
			return ' '
		}
		return r
	}, name)
}
