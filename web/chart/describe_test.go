package chart

import (
	"strings"
	"testing"
)

func TestEveryChartDescribesItselfInWords(t *testing.T) {
	labels := []string{"t0", "t1", "t2"}
	for name, tc := range map[string]struct {
		chart Chart
		want  string
	}{
		"a small line":   {SparkData{ID: "x", Labels: labels, Values: values(1, 5, 2), A: -1, B: -1}, "Rises from 1 at t0 to 2 at t2, highest 5 at t1."},
		"a line cut":     {SparkData{ID: "x", Labels: labels, Values: values(4, 5, 2), Lower: []bool{false, false, true}}, "Runs from 4 at t0 to at least 2 at t2, highest 5 at t1."},
		"nothing":        {SparkData{ID: "x"}, "Nothing was captured."},
		"a small chart":  {SmallData{ID: "x", Labels: labels, Values: values(9, 3, 7), RecoveredAt: -1}, "Falls from 9 at t0 to 7 at t2, lowest 3 at t1."},
		"members":        {MembersData{ID: "x", Labels: labels, Values: values(3, 3, 3), RecoveredAt: -1}, "Stays level from 3 at t0 to 3 at t2."},
		"one snapshot":   {MembersData{ID: "x", Labels: labels[:1], Values: values(3), RecoveredAt: -1}, "One value, 3 at t0."},
		"states":         {StatesData{ID: "x", Parts: []Bar{{"select", 3}, {"IO wait", 1}}, Width: 160}, "Shares of 4: select 75\u00a0%, IO wait 25\u00a0%"},
		"what became":    {SummaryData{ID: "x", Ended: 1, Survived: 3, Born: 3}, "Of 4 at first 25\u00a0% ended; of 6 at last 50\u00a0% were born since."},
		"lifelines":      {LifelinesData{ID: "x", Labels: labels, Lives: []Life{{"1", 0, 2}}, RecoveredAt: -1}, "1 members, 1 first seen at t0."},
		"a histogram":    {BarsData{ID: "x", Bars: []Bar{{"<1", 2}, {"1–2", 4}}}, "<1: 2, 1–2: 4"},
		"lanes":          {TimelineData{ID: "x", Labels: labels, Lanes: []Lane{{Name: "app", Unit: "goroutines", Values: values(1, 2, 3), RecoveredAt: -1}}, A: -1, B: -1}, "app, goroutines: t0 1, t1 2, t2 3."},
		"no member left": {SummaryData{ID: "x"}, "Of 0 at first none ended; of 0 at last none were born since."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.chart.alone().desc; got != tc.want {
				t.Errorf("it is described as %q, want %q", got, tc.want)
			}
			if file := string(File(tc.chart, "")); !strings.Contains(file, "</desc>") {
				t.Error("the file has no description")
			}
		})
	}
}

func TestBandsAreHatchedAsWellAsColoured(t *testing.T) {
	labels, counts := []string{"t0", "t1", "t2", "t3"}, values(1, 2, 9, 1)
	span := &Span{0, 1}
	for name, c := range map[string]Chart{
		"a timeline":    TimelineData{ID: "x", Labels: labels, Lanes: []Lane{{Values: counts, RecoveredAt: 3, Onset: span}}, A: -1, B: -1},
		"a small chart": SmallData{ID: "x", Labels: labels, Values: counts, RecoveredAt: 3, Onset: span},
		"members":       MembersData{ID: "x", Labels: labels, Values: counts, RecoveredAt: 3, Onset: span},
		"lifelines":     LifelinesData{ID: "x", Labels: labels, Values: counts, Lives: []Life{{"1", 0, 2}}, RecoveredAt: 3},
	} {
		t.Run(name, func(t *testing.T) {
			d := c.alone()
			for band, fill := range map[string]pattern{"c-onset": grown, "c-rec": better} {
				plain, hatched := lines(d, band), 0
				for _, m := range d.marks {
					if m.fill == fill {
						hatched++
					}
				}
				if len(plain) != hatched || band == "c-rec" && hatched == 0 {
					t.Errorf("%s: %d bands, %d hatches", band, len(plain), hatched)
				}
			}
			if file := string(File(c, ".c-better{}")); !strings.Contains(file, `class="c-better"`) || !strings.Contains(file, "<style>.c-better{}</style>") {
				t.Error("the hatch of the file has no style")
			}
		})
	}
}
