package block

import (
	"regexp"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/web/chart"
)

const hostile = "<script>alert(1)</script>\" onclick=\"x"

func html(t *testing.T, b ...document.Block) string {
	t.Helper()
	var out strings.Builder
	if err := Blocks(b).Render(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestEveryBlockIsPrintedAndHostileTextStaysText(t *testing.T) {
	words := document.Words(hostile)
	in := document.Blocks{words}
	for name, b := range map[string]document.Block{
		"text": words, "heading": document.Heading{Level: 2, ID: hostile, Text: words}, "paragraph": document.Paragraph{Look: hostile, Text: words},
		"notice": document.Notice{Word: "Mind", Text: words}, "list": document.List{Label: hostile, Items: []document.Item{{ID: hostile, Blocks: in}}},
		"terms": document.Terms{Rows: []document.Term{{ID: hostile, Name: words, Blocks: in}}}, "figures": document.Figures{Rows: []document.Figure{{Value: hostile, Text: hostile}}},
		"table": document.Table{Label: hostile, Caption: hostile, Head: []document.Cell{{Title: hostile, Text: words}}, Parts: []document.Part{{Rows: []document.Row{{ID: hostile, Cells: []document.Cell{{Name: hostile, Text: words}, {Blocks: in}}}}}}},
		"code":  document.Code{Label: hostile, Lines: []string{hostile}}, "section": document.Section{ID: hostile, Title: words, Note: words, Blocks: in},
		"group": document.Group{Label: hostile, Blocks: in}, "line": document.Line{Blocks: in}, "fold": document.Fold{ID: hostile, Title: hostile, Summary: words, Blocks: in},
		"problems": document.Problems{List: []document.Problem{{Severity: "note", What: hostile, Where: []document.Span{document.LinkTo("/raw", hostile)}, Why: hostile, Hint: hostile, More: hostile}}},
		"tabs":     document.Tabs{Label: hostile, List: []document.Tab{{Text: hostile, URL: "/" + hostile}}}, "page only": document.PageOnly{Blocks: in},
		"form": document.Form{Label: hostile, Action: "/" + hostile, Blocks: in}, "field": document.Field{Name: hostile, Value: hostile, Placeholder: hostile, List: "l", Suggestions: []string{hostile}},
		"select": document.Select{Name: hostile, Groups: []document.Choices{{Name: hostile, List: []document.Choice{{Value: hostile, Text: hostile}}}}},
		"label":  document.Label{For: hostile, Blocks: in}, "press": document.Press{Name: hostile, Value: hostile, Text: hostile}, "fieldset": document.Fieldset{Legend: words, Blocks: in},
	} {
		got := html(t, b)
		if !strings.Contains(got, "alert(1)") {
			t.Errorf("%s is not printed: %q", name, got)
		}
		if strings.Contains(got, "<script") || strings.Contains(got, `" onclick="`) {
			t.Errorf("%s lets markup through: %s", name, got)
		}
	}
	if got := html(t, document.TextOnly{Blocks: in}); got != "" {
		t.Errorf("a page prints what is for texts: %s", got)
	}
	if got := html(t, document.Drawing{Chart: chart.SparkData{ID: "s", Labels: []string{"t0", "t1"}, Values: analysis.Counts{analysis.Counted(0), analysis.Counted(0)}}}); !strings.Contains(got, "<svg") {
		t.Errorf("a chart is not drawn: %s", got)
	}
}

func TestEveryLookOfASpanIsText(t *testing.T) {
	for _, look := range []document.Look{
		"", document.Strong, document.Muted, document.Figured, document.Literal, document.Keyed, document.Struck, document.Wrong, document.Hidden, document.Alert, document.Chip,
		document.Verdict, document.Function, document.Resource, document.Mono, document.Breakable, document.Change, document.Glyph, document.Ellipsis, document.Here,
		document.Outcome, document.Unit, document.Icon, document.Number, document.OnlyA,
	} {
		got := html(t, document.Text{{Look: look, Text: hostile, Title: hostile, URL: "/x", Link: &document.Link{Label: hostile, ID: hostile}}})
		if !strings.Contains(got, "alert(1)") || strings.Contains(got, "<script") || strings.Contains(got, `" onclick="`) {
			t.Errorf("%q gives %s", look, got)
		}
	}
}

func TestALinkLeadsNowhereElse(t *testing.T) {
	if got := html(t, document.Text{document.LinkTo("javascript:alert(1)", "x")}); strings.Contains(got, "javascript:") {
		t.Errorf("an address is run: %s", got)
	}
	foreign := document.Text{{Text: "https://a.example/b", URL: "https://a.example/b", Link: &document.Link{Rel: "noreferrer"}}}
	var alone strings.Builder
	if err := Blocks(document.Blocks{foreign}).Render(Alone(t.Context()), &alone); err != nil || strings.Contains(alone.String(), "<a") {
		t.Errorf("a page in one file links: %s, %v", alone.String(), err)
	}
}

// tags are the elements of a page with the names of their attributes.
var tags = regexp.MustCompile(`<[^>]*>`)

// values are those of attributes.
var values = regexp.MustCompile(`="[^"]*"`)

// shape is a page without its texts and the places where they may break.
func shape(page string) string {
	return values.ReplaceAllString(strings.Join(tags.FindAllString(strings.ReplaceAll(page, "<wbr>", ""), -1), ""), "=")
}

func FuzzBlocks(f *testing.F) {
	for _, seed := range []string{hostile, "a/b|c", "&lt;&#0;", "\x00\xff\u2028<", "'--><svg/onload=x>", "]]>", "`${x}`"} {
		f.Add(seed)
	}
	page := func(t *testing.T, s string) string {
		words := document.Words(s)
		return html(t, words, document.Heading{Level: 2, ID: document.ID(s), Text: words}, document.Code{Label: s, Lines: []string{s}}, document.Fold{ID: document.ID(s), Title: s, Summary: words, Blocks: document.Blocks{words}},
			document.Table{Label: s, Caption: s, Head: []document.Cell{{Title: s, Text: words}}, Parts: []document.Part{{Rows: []document.Row{{ID: document.ID(s), Cells: []document.Cell{{Name: s, Text: words}}}}}}},
			document.Text{{Look: document.Function, Text: s, Title: s}, {Look: document.Resource, Text: s}, {Look: document.Literal, Text: s, URL: "/x", Link: &document.Link{Label: s, ID: document.ID(s)}}},
			document.Field{Name: s, Value: s, Placeholder: s, List: "l", Suggestions: []string{s}})
	}
	f.Fuzz(func(t *testing.T, s string) {
		if s == "" {
			return // an attribute without a value is left out
		}
		got := page(t, s)
		if want := shape(page(t, "x")); shape(got) != want {
			t.Errorf("%q changes the elements of the page:\n%s\nwant\n%s", s, shape(got), want)
		}
	})
}
