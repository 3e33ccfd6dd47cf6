package analysis

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// CountState says whether a snapshot shows a number of members, and why not.
type CountState uint8

const (
	// NotCaptured is the state of a count that nobody took.
	NotCaptured CountState = iota
	// NotShown is the state of a count that the encoding of the snapshot cannot show.
	NotShown
	// Known is the state of a count that was taken. It may be 0.
	Known
)

// Count is a number of members in one snapshot. In JSON it is null unless it is known.
type Count struct {
	// N is 0 unless the count is known.
	N     int
	State CountState
}

// Counted is the known count n.
func Counted(n int) Count { return Count{n, Known} }

// CountOf is the count at n, not captured if n is nil.
func CountOf(n *int) Count {
	if n == nil {
		return Count{}
	}
	return Counted(*n)
}

// Known reports that the count was taken.
func (c Count) Known() bool { return c.State == Known }

// Any reports a known count above 0.
func (c Count) Any() bool { return c.N > 0 }

// MarshalJSON writes a number, or null where none is known.
func (c Count) MarshalJSON() ([]byte, error) {
	if !c.Known() {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(c.N), 10), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. A null becomes a count that was not captured.
func (c *Count) UnmarshalJSON(text []byte) error {
	*c = Count{}
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	c.State = Known
	return json.Unmarshal(text, &c.N)
}

// Counts are the counts of one thing over the snapshots of a series.
type Counts []Count

// CountsOf are known counts. A negative number stands for one that was not captured.
func CountsOf(numbers ...int) Counts {
	out := make(Counts, len(numbers))
	for i, n := range numbers {
		if n >= 0 {
			out[i] = Counted(n)
		}
	}
	return out
}

// FirstAt is the index of the first known count, -1 without any.
func (c Counts) FirstAt() int { return slices.IndexFunc(c, Count.Known) }

// LastAt is the index of the last known count, -1 without any.
func (c Counts) LastAt() int {
	for i, n := range slices.Backward(c) {
		if n.Known() {
			return i
		}
	}
	return -1
}

// HighestAt is the index of the highest count, the first of several, -1 without any.
func (c Counts) HighestAt() int {
	top := -1
	for i, n := range c {
		if n.Known() && (top < 0 || n.N > c[top].N) {
			top = i
		}
	}
	return top
}

// FirstWithAny is the index of the first count above 0, -1 without any.
func (c Counts) FirstWithAny() int { return slices.IndexFunc(c, Count.Any) }

// First is the first known number, 0 without any.
func (c Counts) First() int { return c.at(c.FirstAt()) }

// Last is the last known number, 0 without any.
func (c Counts) Last() int { return c.at(c.LastAt()) }

// Highest is the highest number, 0 without any.
func (c Counts) Highest() int { return c.at(c.HighestAt()) }

func (c Counts) at(i int) int {
	if i < 0 {
		return 0
	}
	return c[i].N
}

// Rise is the highest number minus the first.
func (c Counts) Rise() int { return c.Highest() - c.First() }

// Known are the known numbers in order.
func (c Counts) Known() []int {
	var out []int
	for _, n := range c {
		if n.Known() {
			out = append(out, n.N)
		}
	}
	return out
}

// Sum adds up the known numbers. It reports whether any is known.
func (c Counts) Sum() (n int, known bool) {
	for _, x := range c {
		n, known = n+x.N, known || x.Known()
	}
	return n, known
}

// Hidden reports a snapshot after i that could not show the thing.
func (c Counts) Hidden(i int) bool { return slices.Contains(c[i+1:], Count{State: NotShown}) }

// ClimbsAfter reports more after snapshot i than there, where both are known.
func (c Counts) ClimbsAfter(i int) bool {
	return i >= 0 && c[i].Known() && slices.ContainsFunc(c[i+1:], func(n Count) bool { return n.Known() && n.N > c[i].N })
}

// Add adds n to a count, which is known from then on.
func (c Counts) Add(i, n int) { c[i] = Counted(c[i].N + n) }

// Only are the counts of the snapshots that keep accepts. The others are not captured.
func (c Counts) Only(keep func(i int) bool) Counts {
	out := slices.Clone(c)
	for i := range out {
		if !keep(i) {
			out[i] = Count{}
		}
	}
	return out
}
