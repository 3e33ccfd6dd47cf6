package block

import (
	"strings"
	"testing"

	"leakdiff/analysis/say/document"
)

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
