package analysis_test

import (
	"encoding/json"
	"slices"
	"testing"

	"leakdiff/analysis"
)

func TestWhatCountsSayOfASeries(t *testing.T) {
	notShown := analysis.Count{State: analysis.NotShown}
	gaps := analysis.CountsOf(-1, 3, -1, 8, 8, 5)
	gaps[2] = notShown
	for _, tt := range []struct {
		name                                   string
		counts                                 analysis.Counts
		firstAt, lastAt, highestAt, withAnyAt  int
		first, last, highest, rise, sum, known int
	}{
		{"none", nil, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0},
		{"not captured and not shown", analysis.Counts{{}, notShown}, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0},
		{"zero is known", analysis.CountsOf(-1, 0), 1, 1, 1, -1, 0, 0, 0, 0, 0, 1},
		{"the first of two peaks, between gaps", gaps, 1, 5, 3, 1, 3, 5, 8, 5, 24, 4},
		{"from none", analysis.CountsOf(0, 0, 7), 0, 2, 2, 2, 0, 7, 7, 7, 7, 3},
		{"a fall is no rise", analysis.CountsOf(9, 4), 0, 1, 0, 0, 9, 4, 9, 0, 13, 2},
	} {
		c := tt.counts
		sum, known := c.Sum()
		got := []int{c.FirstAt(), c.LastAt(), c.HighestAt(), c.FirstWithAny(), c.First(), c.Last(), c.Highest(), c.Rise(), sum, len(c.Known())}
		want := []int{tt.firstAt, tt.lastAt, tt.highestAt, tt.withAnyAt, tt.first, tt.last, tt.highest, tt.rise, tt.sum, tt.known}
		if !slices.Equal(got, want) || known != (tt.known > 0) {
			t.Errorf("%s: %v, known %t, want %v", tt.name, got, known, want)
		}
	}
}

func TestACountThatIsAddedToIsKnown(t *testing.T) {
	c := analysis.Counts{{}, analysis.Counted(2)}
	c.Add(0, 0)
	c.Add(1, 3)
	if want := analysis.CountsOf(0, 5); !slices.Equal(c, want) {
		t.Errorf("%v, want %v", c, want)
	}
	some := c.Only(func(i int) bool { return i == 1 })
	if want := analysis.CountsOf(-1, 5); !slices.Equal(some, want) || !c[0].Known() {
		t.Errorf("%v of %v, want %v", some, c, want)
	}
}

func TestCountsInJSONAreNumbersOrNull(t *testing.T) {
	c := analysis.Counts{analysis.Counted(0), {}, {State: analysis.NotShown}, analysis.Counted(12)}
	text, err := json.Marshal(c)
	if err != nil || string(text) != "[0,null,null,12]" {
		t.Fatalf("%s, %v", text, err)
	}
	var again analysis.Counts
	if err := json.Unmarshal(text, &again); err != nil || !slices.Equal(again, analysis.CountsOf(0, -1, -1, 12)) {
		t.Errorf("%v, %v", again, err)
	}
	if err := json.Unmarshal([]byte(`["7"]`), &again); err == nil {
		t.Error("a text is read as a count")
	}
}
