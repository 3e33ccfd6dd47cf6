package view

import (
	"net/url"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/web/chart"
)

func TestARangeOfTheTimeHasItsFiguresStatesAndStack(t *testing.T) {
	for _, test := range []struct {
		name, query  string
		frozen       bool
		want, absent []string
	}{
		{"without a range the states are those of the last dump", "", false, []string{"24 blocked in select, none runnable", "Flame of t0 to t2"}, []string{"t0 to t1:"}},
		{"a range counts what came in it and shows the states at its end", "from=t0&to=t1", false, []string{"t0 to t1: +12 sessions, 0 ended; app, goroutines +12", "12 blocked in select, none runnable", "Compare", "Flame of t0 to t1"}, nil},
		{"the order of its ends does not matter", "from=t2&to=t1", false, []string{"t1 to t2: +12 sessions, 0 ended; app, goroutines +12"}, nil},
		{"a label that is not on the axis is no range", "from=t0&to=t9", false, []string{"24 blocked in select"}, []string{"t0 to t9"}},
		{"one instant is no range", "from=t1&to=t1", false, []string{"24 blocked in select"}, []string{"t1 to t1"}},
		{"what is kept leads nowhere and has no range", "from=t0&to=t1", true, []string{"24 blocked in select"}, []string{"Compare", "Flame of", "t0 to t1:"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := answeredCase()
			in.Frozen = test.frozen
			in.Query, _ = url.ParseQuery(test.query)
			in.More[0].States = map[string][]map[string]int{"g1:0": {nil, {"select": 12}, {"select": 24}}}
			in.Report.Series[0].Families[0].Frames = []string{"main.wait"}
			text := pageWords(NewCase(in).Answer.stackBlocks())
			for _, words := range test.want {
				if !strings.Contains(text, words) {
					t.Errorf("%q is missing: %s", words, text)
				}
			}
			for _, words := range test.absent {
				if strings.Contains(text, words) {
					t.Errorf("%q is there: %s", words, text)
				}
			}
		})
	}
}

// pageWords are the words of blocks of a page, also of those that texts leave out.
func pageWords(blocks document.Blocks) string {
	var d document.Document
	for _, b := range blocks {
		switch b := b.(type) {
		case document.Group:
			d.Say("", pageWords(b.Blocks))
		case document.PageOnly:
			d.Say("", pageWords(b.Blocks))
		case document.Fold:
			d.Say("", pageWords(b.Blocks))
		case document.Paragraph:
			b.Look = "" // texts leave out what is not printed
			d.Add(b)
		default:
			d.Add(b)
		}
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(d.Text(), hardSpace, " ")), " ")
}

func TestWhatRoseInARangeHasItsUnit(t *testing.T) {
	a := &Answer{Lanes: &chart.LanesData{Totals: []chart.LaneTotal{
		{Name: "Goroutines", Values: analysis.CountsOf(225, 324)}, {Name: "Memory, MiB", Values: analysis.CountsOf(62, 67)}, {Name: "Descriptors", Values: analysis.CountsOf(-1, 5)},
	}}}
	if got, want := new(caseMaker).risen(a, 0, 1), "goroutines +99, memory +5 MiB"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
