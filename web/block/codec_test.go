package block

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/web/chart"
)

func TestAKeptDocumentReadsAsItWas(t *testing.T) {
	words := document.Text{{Look: document.Function, Text: "a/b", Link: &document.Link{Rel: "next"}}, document.Made(document.Strong, document.Plain("x"))}
	inside := document.Blocks{words, document.Paragraph{Look: "note", Text: words}}
	spark := chart.SparkData{ID: "s", Labels: []string{"t0", "t1"}, Values: analysis.Counts{analysis.Counted(3), {}}, A: -1, B: -1}
	d := document.Document{Blocks: document.Blocks{
		document.Heading{Level: 2, ID: "h", Text: words}, document.List{Ordered: true, Items: []document.Item{{ID: "i", Blocks: inside}}}, document.Terms{Rows: []document.Term{{Name: words, Blocks: inside}}},
		document.Figures{Rows: []document.Figure{{Value: "1", Text: "x"}}}, document.Table{Look: "data", Head: []document.Cell{{Words: "a"}}, Parts: []document.Part{{Rows: []document.Row{{Cells: []document.Cell{{Blocks: inside}}}}}}},
		document.Code{Lines: []string{"a", ""}}, document.Section{ID: "s", End: inside, Blocks: inside}, document.Group{Role: "header", Blocks: inside}, document.Fold{Open: true, Summary: words, Blocks: inside},
		document.Problems{List: []document.Problem{{What: "w", Where: words}}}, document.PageOnly{Blocks: inside}, document.TextOnly{Blocks: document.Blocks{document.Gap{}}},
		document.Drawing{Chart: spark, Main: true}, document.Drawing{Chart: chart.LanesData{ID: "t", Times: []time.Time{time.Unix(1, 0).UTC()}}},
		document.Drawing{}, document.Tabs{List: []document.Tab{{Text: "t", Current: true}}},
	}}
	text, err := Keep(d)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Kept(text)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if !reflect.DeepEqual(got, d) {
		t.Errorf("got  %+v\nwant %+v", got, d)
	}
	if again, _ := Keep(got); string(again) != string(text) {
		t.Errorf("kept again it is another text:\n%s\n%s", again, text)
	}
}

func TestWhatIsNoDocumentIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		`[["Nothing",{}]]`:                         "later version",
		`[["SparkData",{}]]`:                       "later version",
		`[["Drawing",{"Chart":["Paragraph",{}]}]]`: "later version",
		`[{"Level":1}]`:                            "no pair",
		`[["Heading",{"Level":"x"}]]`:              "Level",
		`[["Heading"]]`:                            "",
		`{`:                                        "",
	} {
		if _, err := Kept([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want an error with %q", text, err, want)
		}
	}
}

func TestChartsOfEarlierResultsAreDrawnAsThoseOfNow(t *testing.T) {
	const text = `[["Drawing",{"Chart":["TotalData",{"ID":"total-0","Title":"Goroutines","Labels":["t0","t1"],"Height":72}]}],
		["Drawing",{"Chart":["LivesData",{"ID":"lives","Labels":["t0","t1"],"Runs":[{"First":0,"Last":1,"N":3}],"RecoveredAt":-1}]}]]`
	d, err := Kept([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := document.Blocks{
		document.Drawing{Chart: chart.SmallData{ID: "total-0", Title: "Goroutines", Labels: []string{"t0", "t1"}}},
		document.Drawing{Chart: chart.LanesData{ID: "lives", Labels: []string{"t0", "t1"}, Lanes: []chart.LifeLane{{Runs: []chart.Run{{First: 0, Last: 1, N: 3}}, EndedAt: -1, GoneAt: -1}}}},
	}
	if !reflect.DeepEqual(d.Blocks, want) {
		t.Errorf("%+v, want %+v", d.Blocks, want)
	}
}
