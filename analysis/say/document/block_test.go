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
			{Blocks: Blocks{Group{Blocks: Blocks{Text{{Look: Function, Path: "prober.", Text: "run"}}}}}}, {Text: Text{Marked(Verdict, "too_few_points"), Marked(Confidence, "high")}},
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
