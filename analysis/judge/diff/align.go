package diff

import (
	"path"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// Pair is one row of two aligned stacks.
type Pair struct {
	// A and B are nil if only the other stack has the frame.
	A, B *analysis.Frame
	// Mark is "=" for the same line, "~" for the same function at another line,
	// "-" for a frame of A alone and "+" for one of B alone.
	Mark string
}

// The marks of a Pair.
const (
	Same      = "="
	OtherLine = "~"
	OnlyA     = "-"
	OnlyB     = "+"
)

// mostCells bounds the table of two stacks. Deeper stacks are aligned by their
// outermost and innermost frames alone. Go prints 100 frames, a JVM 1024.
const mostCells = 4 << 20

// Align aligns two stacks, leaf first as in dumps. It uses a longest common subsequence
// of function names, anchored at the outermost frame, because stacks of one creator
// diverge inwards. The creator is the last pair if it was printed. A nil stack has no
// frames. Align(b, a) is Align(a, b) with the sides exchanged; between two common
// frames those of A come first.
func Align(a, b *analysis.Stack) []Pair {
	if a == nil {
		a = &analysis.Stack{}
	}
	if b == nil {
		b = &analysis.Stack{}
	}
	var out []Pair // outermost first, reversed at the end
	out = append(out, creators(a, b)...)
	x, y := outermostFirst(a.Frames), outermostFirst(b.Frames)

	outer := commonPrefix(x, y)
	for i := range outer {
		out = append(out, paired(x[i], y[i]))
	}
	x, y = x[outer:], y[outer:]
	inner := commonSuffix(x, y)
	out = append(out, between(x[:len(x)-inner], y[:len(y)-inner])...)
	for i := inner; i > 0; i-- {
		out = append(out, paired(x[len(x)-i], y[len(y)-i]))
	}
	slices.Reverse(out)
	return out
}

// creators compares the creators, outermost first. If they differ, B's row ends up
// below A's.
func creators(a, b *analysis.Stack) []Pair {
	x, y := creator(a), creator(b)
	switch {
	case x == nil && y == nil:
		return nil
	case x != nil && y != nil && x.Func == y.Func:
		return []Pair{paired(x, y)}
	}
	return gap(one(x), one(y))
}

func creator(s *analysis.Stack) *analysis.Frame {
	if s.CreatedBy.Func == "" {
		return nil
	}
	return &s.CreatedBy
}

func one(frame *analysis.Frame) []*analysis.Frame {
	if frame == nil {
		return nil
	}
	return []*analysis.Frame{frame}
}

func outermostFirst(frames []analysis.Frame) []*analysis.Frame {
	out := make([]*analysis.Frame, len(frames))
	for i := range frames {
		out[len(frames)-1-i] = &frames[i]
	}
	return out
}

func commonPrefix(x, y []*analysis.Frame) int {
	n := 0
	for n < len(x) && n < len(y) && x[n].Func == y[n].Func {
		n++
	}
	return n
}

func commonSuffix(x, y []*analysis.Frame) int {
	n := 0
	for n < len(x) && n < len(y) && x[len(x)-1-n].Func == y[len(y)-1-n].Func {
		n++
	}
	return n
}

// between aligns the frames between the common ends, outermost first.
func between(x, y []*analysis.Frame) []Pair {
	if len(x) == 0 || len(y) == 0 || len(x)*len(y) > mostCells {
		return gap(x, y)
	}
	table := lengths(x, y)
	var out []Pair
	var onlyX, onlyY []*analysis.Frame
	i, j := 0, 0
	for i < len(x) && j < len(y) {
		switch {
		case x[i].Func == y[j].Func:
			out = append(out, gap(onlyX, onlyY)...)
			onlyX, onlyY = nil, nil
			out = append(out, paired(x[i], y[j]))
			i, j = i+1, j+1
		case skipFirst(table, x, y, i, j):
			onlyX = append(onlyX, x[i])
			i++
		default:
			onlyY = append(onlyY, y[j])
			j++
		}
	}
	return append(out, gap(append(onlyX, x[i:]...), append(onlyY, y[j:]...))...)
}

// skipFirst chooses the side to advance. If both choices keep equally many frames,
// names decide and not sides, so that the result is symmetric.
func skipFirst(table [][]int32, x, y []*analysis.Frame, i, j int) bool {
	if table[i+1][j] != table[i][j+1] {
		return table[i+1][j] > table[i][j+1]
	}
	return x[i].Func < y[j].Func
}

// lengths[i][j] is the length of the longest common subsequence of x[i:] and
// y[j:].
func lengths(x, y []*analysis.Frame) [][]int32 {
	cells := make([]int32, (len(x)+1)*(len(y)+1))
	table := make([][]int32, len(x)+1)
	for i := range table {
		table[i] = cells[i*(len(y)+1) : (i+1)*(len(y)+1)]
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i].Func == y[j].Func {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}

// gap lists frames of one side each, outermost first. Those of B precede those of A, so
// that A's come first after the reversal.
func gap(x, y []*analysis.Frame) []Pair {
	var out []Pair
	for _, frame := range y {
		out = append(out, Pair{B: frame, Mark: OnlyB})
	}
	for _, frame := range x {
		out = append(out, Pair{A: frame, Mark: OnlyA})
	}
	return out
}

func paired(a, b *analysis.Frame) Pair {
	if sameLine(a, b) {
		return Pair{A: a, B: b, Mark: Same}
	}
	return Pair{A: a, B: b, Mark: OtherLine}
}

// sameLine compares file names without their directories, which depend on the build
// machine. An unknown line equals every line.
func sameLine(a, b *analysis.Frame) bool {
	if a.Line != 0 && b.Line != 0 && a.Line != b.Line {
		return false
	}
	return a.File == "" || b.File == "" || base(a.File) == base(b.File)
}

// base is the file's own name: "C:\go\src\x.go" and "/go/src/x.go" are "x.go".
func base(file string) string { return path.Base(strings.ReplaceAll(file, `\`, "/")) }
