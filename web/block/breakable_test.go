package block

import (
	"strings"
	"testing"

	"leakdiff/analysis/say/document"
)

func TestAHeadingKeepsANumberWithItsUnit(t *testing.T) {
	text := document.Text{document.Plain("app grew in 6 h, "), {Look: document.Strong, Inside: document.Text{document.Plain("14 s")}}, document.Plain(" and 3 more")}
	var got strings.Builder
	if err := heading(document.Heading{Level: 1, Text: text}).Render(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"in 6\u00a0h, ", "14\u00a0s", " and 3 more"} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("%q lacks %q", got.String(), want)
		}
	}
	if text[0].Text != "app grew in 6 h, " {
		t.Errorf("the text of the document became %q", text[0].Text)
	}
}

func TestNamesBreakBehindSlashesAndBars(t *testing.T) {
	tests := []struct{ name, path, base, want string }{
		{"a mask breaks between its flags", "", "IN_CREATE|IN_DELETE", `<span class="n">IN_CREATE|<wbr>IN_DELETE</span>`},
		{"a path keeps its last element whole", "FIFO /run/", "log", `<span class="p">FIFO /<wbr>run/<wbr></span><span class="n">log</span>`},
		{"a hostile name stays text", "", "<script>a/b</script>", `<span class="p">&lt;script&gt;a/<wbr>b&lt;/<wbr></span><span class="n">script&gt;</span>`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got strings.Builder
			if err := inline(document.Text{{Look: document.Resource, Text: test.path + test.base}}).Render(t.Context(), &got); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.String(), test.want) {
				t.Errorf("got  %s\nwant %s", got.String(), test.want)
			}
		})
	}
}
