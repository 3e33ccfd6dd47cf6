package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// all has every block, and what only pages show.
func all() Document {
	var d Document
	d.Title("kubelet grew")
	d.Mind("one dump is cut")
	section := NewSection("h", "Families", "2 of 3.", Paragraph{Text: Text{Marked(Strong, "First check"), Plain(" the "), LinkTo("/x", "link")}})
	section.Add(
		List{Items: []Item{{Blocks: Blocks{Words("one"), Paragraph{Text: Words("and why")}}}}},
		Terms{Rows: []Term{{Name: Words("Where"), Blocks: Blocks{Words("t0")}}}},
		Figures{Rows: []Figure{{Value: "12", Text: "goroutines"}}},
		Problems{List: []Problem{{What: "cut", Where: []Span{Plain("a"), LinkTo("/raw", "b")}, Why: "64 MiB"}}},
		Fold{Summary: Words("more"), Blocks: Blocks{Group{Blocks: Blocks{Code{Lines: []string{"main.main"}}}}}},
		Drawing{Chart: drawn{}}, Drawing{Chart: drawn{}, Text: "12 to 40"},
		TextOnly{Blocks{Words("for tickets")}}, PageOnly{Blocks{Words("never here")}},
		Form{Blocks: Blocks{Words("never here"), Field{Name: "q"}}}, Tabs{List: []Tab{{Text: "never here"}}},
		Table{Numeric: 1, Head: []Cell{{Text: Words("Family")}, {Text: Words("Count")}}, Parts: []Part{{Rows: []Row{{Cells: []Cell{
			{Blocks: Blocks{Group{Blocks: Blocks{Text{{Look: Function, Text: "prober.run"}}}}}}, {Text: Text{Marked(Verdict, "too_few_points"), Marked(Confidence, "high")}},
		}}}}}})
	d.Add(section)
	return d
}

func TestATextHasEveryBlockButWhatOnlyAPageCanShow(t *testing.T) {
	want := `# kubelet grew

Mind: one dump is cut

## Families

2 of 3.

First check the link

- one and why

- Where: t0

- goroutines: 12

- cut: a; b; 64 MiB

more

` + "```\nmain.main\n```" + `

12 to 40

for tickets

| Family | Count |
| --- | ---: |
| prober.run | too few points |
`
	if d := cmp.Diff(want, all().Markdown()); d != "" {
		t.Error(d)
	}
	for _, text := range []string{all().Jira(), all().Text()} {
		if strings.Contains(text, "never here") || !strings.Contains(text, "for tickets") || !strings.Contains(text, "prober.run") {
			t.Errorf("a text says\n%s", text)
		}
	}
}

func TestItemsOfOneListStandTogether(t *testing.T) {
	var d Document
	d.Item("one")
	d.Item("two")
	d.Gap()
	d.Paragraph("end")
	if got, want := d.Markdown(), "- one\n- two\n\nend\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

type drawn struct{}

func (drawn) Drawn() {}

func TestAWalkMeetsWhatIsInsideOfEveryBlock(t *testing.T) {
	in := Blocks{Drawing{Chart: drawn{}}}
	all := Blocks{
		List{Items: []Item{{Blocks: in}}}, Terms{Rows: []Term{{Blocks: in}}}, Table{Parts: []Part{{Rows: []Row{{Cells: []Cell{{Blocks: in}}}}}}}, Section{Blocks: in, End: in},
		Group{Blocks: in}, Line{Blocks: in}, Fold{Blocks: in}, Form{Blocks: in}, Label{Blocks: in}, Fieldset{Blocks: in}, PageOnly{in}, TextOnly{in},
	}
	met := 0
	all.Walk(func(b Block) {
		if _, ok := b.(Drawing); ok {
			met++
		}
	})
	if met != len(all)+1 {
		t.Errorf("%d drawings met, want %d", met, len(all)+1)
	}
}

func TestATextLeavesOutControlsAndEmptyHeadings(t *testing.T) {
	button, opener := LinkButton("btn quiet", "/x", "never here"), Span{Text: "never here", URL: "/x", Link: &Link{Expanded: "false"}}
	var d Document
	d.Title("kubelet grew")
	d.Add(
		Heading{Level: 2, Text: Words("never here")}, Group{Role: "navigation", Blocks: Blocks{Words("never here")}}, Group{Role: "figure", Blocks: Blocks{Words("never here")}},
		Heading{Level: 2, Text: Words("Families")}, Paragraph{Look: "note noprint", Text: Words("never here")}, Paragraph{Text: Text{button, opener, Plain(" two  families ")}},
		Section{Title: Words("never here"), Note: Words("never here"), Blocks: Blocks{Drawing{Chart: drawn{}}}}, Fold{Summary: Words("never here"), Blocks: Blocks{Form{Blocks: Blocks{Field{Name: "q"}}}}},
		Group{Role: "header", Blocks: Blocks{Words("over it"), Heading{Level: 2, Text: Words("Answer")}}},
		Group{LabelledBy: "h", Blocks: Blocks{Heading{Level: 2, ID: "h", Text: Words("Do this")}, Paragraph{Text: Words("Restart it.")}}},
	)
	if got, want := d.Markdown(), "# kubelet grew\n\n## Families\n\ntwo families\n\n## Answer\n\nover it\n\nDo this: Restart it.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestATextHasTheWordsOfASpanThatStandsApart(t *testing.T) {
	for want, text := range map[string]Text{
		"leaking, kubelet, unit u1":  {Marked(Judged, "leaking"), Plain(" "), Marked(Chip, "kubelet"), Marked(Chip, "unit u1")},
		"How sure: 60 of 60":         {Marked(Named, "How sure"), Plain(" 60 of 60")},
		"t0; 87 goroutines":          {Marked(Strong, "t0"), {Look: NewLine}, Plain("87 goroutines")},
		"select 80, IO wait 7 in t0": {Made(State, Marked(Swatch, "1"), Plain("select "), Marked(Figured, "80")), Plain(" "), Made(State, Plain("IO wait 7")), Plain("in t0")},
	} {
		if got := tidy(text.String()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestFoldsAndListsOfAText(t *testing.T) {
	sentences := Blocks{Paragraph{Text: Words("Same stack.")}, Terms{Rows: []Term{{Name: Words("Trigger"), Blocks: Blocks{Words("a crash loop")}}}}}
	d := Document{Blocks{
		Fold{Summary: Words("k8s-1"), Blocks: sentences}, Fold{Summary: Words("never here"), Rest: true, Blocks: Blocks{Words("the rest")}},
		List{Ordered: true, Items: []Item{
			{Blocks: Blocks{Text{Marked(Number, "1.2")}, Heading{Level: 3, Text: Words("leak")}, Words("proof")}},
			{Blocks: Blocks{Group{Blocks: Blocks{Words("prober.run")}}, Words("0 to 40")}},
		}},
	}}
	if got, want := d.Markdown(), "- k8s-1: Same stack. Trigger: a crash loop\n\nthe rest\n\n### 1.2. leak\n\nproof\n\n- prober.run: 0 to 40\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTablesOfAText(t *testing.T) {
	cells := func(words ...string) []Cell { return cells(words) }
	big := Table{Numeric: 1, Head: cells("Family", "Count"), Parts: []Part{{}}}
	for i := range mostRows + 2 {
		big.Parts[0].Rows = append(big.Parts[0].Rows, Row{Cells: cells("f", strings.Repeat("1", i%3+1))})
	}
	if got := (Document{Blocks{big}}).Markdown(); strings.Count(got, "| f |") != mostRows || !strings.HasSuffix(got, "\n2\u00a0more rows are left out here.\n") {
		t.Errorf("the large table is\n%s", got)
	}
	for want, table := range map[string]Table{
		// Without the column of drawings; the word of two columns stands above the words.
		"| Objects | Count |\n| --- | ---: |\n| conn | 2 to 60 |\n": {Head: []Cell{{Words: "Objects"}, {Words: "Count", Look: Figured, Span: 2}}, Parts: []Part{{Rows: []Row{
			{Cells: []Cell{{Words: "conn"}, {Blocks: Blocks{Drawing{Chart: drawn{}}}}, {Words: "2 to 60"}}}, {Look: "pickrow noprint", Cells: cells("never here", "", "")}}}}},
		"| Family | A |\n| --- | ---: |\n| run | 40 |\n| grew |  |\n\n### run\n\n```\nmain.main\n```\n": {Head: []Cell{{Words: "Family"}, {Words: "A", Look: Figured}}, Parts: []Part{{Rows: []Row{
			{Cells: cells("run", "40")}, {Cells: []Cell{{Span: 2, Blocks: Blocks{Code{Lines: []string{"main.main"}}}}}}, {Cells: []Cell{{Group: true, Span: 2, Words: "grew"}}}}}}},
		"```\ngoroutine 1 [select]:\n```\n": {Parts: []Part{{Rows: []Row{{Cells: []Cell{{Words: "17"}, {Text: Text{Marked(Literal, "goroutine 1 [select]:")}}}}}}}},
		"- A: running 3\n":                  {Parts: []Part{{Rows: []Row{{Cells: []Cell{{Words: "A"}, {}, {Words: "running 3"}}}}}}},
	} {
		if d := cmp.Diff(want, Document{Blocks{table}}.Markdown()); d != "" {
			t.Error(d)
		}
	}
}

func TestAStackOfAText(t *testing.T) {
	s := Stack{Caption: "Stack of 2 goroutines", Note: "cut", Frames: []Frame{
		{Function: "sync.Wait", Place: "cond.go:7"}, {Fold: "… 2 more frames", Folded: []Frame{{Function: "main.a"}, {Function: "main.b"}}}, {Function: "main.f", Place: "main.go:3", Own: true, Creator: true},
	}}
	want := "Stack of 2 goroutines (&gt; own code):\n\n```\n  sync.Wait          cond.go:7\n  … 2 more frames\n> created by main.f  main.go:3\n```\n\ncut\n"
	if d := cmp.Diff(want, Document{Blocks{s}}.Markdown()); d != "" {
		t.Error(d)
	}
	s.Whole = true
	if got := (Document{Blocks{s}}).Text(); !strings.Contains(got, "main.a\n") || strings.Contains(got, "more frames") {
		t.Error(got)
	}
}

type counted struct{}

func (counted) Drawn() {}

func (counted) Cells() (head []string, rows [][]string) {
	return []string{"Snapshot", "t0"}, [][]string{{"Members", "40"}}
}

func TestATextHasTheFiguresOfTheMainDrawing(t *testing.T) {
	d := Document{Blocks{Drawing{Chart: counted{}}, Drawing{Chart: counted{}, Main: true}}}
	if got, want := d.Markdown(), "| Snapshot | t0 |\n| --- | ---: |\n| Members | 40 |\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
