package line

import (
	"slices"
	"testing"
)

func TestAPointInTimeBeginsWhereItsFirstMembersComeAgain(t *testing.T) {
	const date, text, begin = -1, -2, -3
	for _, tc := range []struct {
		name   string
		events []int64
		want   []int // indexes of events with which a point begins
	}{
		{"one point", []int64{3, 4, 5, 6}, nil},
		{"the first member again", []int64{3, 4, 5, 3, 4, 5}, []int{3}},
		{"the second member again, where the first is gone", []int64{3, 4, 5, 4, 5, 6}, []int{3}},
		{"three points", []int64{3, 4, 3, 4, 3, 4}, []int{2, 4}},
		{"numbers that share a bit", []int64{3, 67, 131}, nil},
		{"a date between members that do not come again", []int64{3, 4, date, 5, 6}, []int{3}},
		{"a date above the first member", []int64{date, 3, 4}, nil},
		{"two dates in a row", []int64{3, date, date, 4}, []int{3}},
		{"another line between members", []int64{3, text, 4}, nil},
		{"a date, then the first line of the format", []int64{3, date, begin, 3, 4}, nil},
	} {
		var b Border
		var got []int
		for i, e := range tc.events {
			switch e {
			case date:
				b.Pass("Sat Nov 21 03:00:00 UTC 2026")
			case text:
				b.Pass("took 03:00:00 of time")
			case begin:
				b.Begin()
			default:
				if b.Begins(e) {
					b.Begin()
					got = append(got, i)
				}
				b.Add(e)
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: points begin at %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestMembersBehindTheFirstSixteenBeginNothing(t *testing.T) {
	var b Border
	for i := range int64(40) {
		if b.Begins(i) {
			t.Fatalf("a point begins at %d", i)
		}
		b.Add(i)
	}
	b.Add(-1)
	if b.Begins(20) || b.Begins(-1) || !b.Begins(15) {
		t.Error("want 15 alone to begin a point")
	}
}
