package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestAComparisonIsReadWithKeysAndBoxes(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	var diff string
	for _, s := range everyPage(t, tb.base) {
		if s.name == "diff-open" {
			diff = s.path
		}
	}
	t.Run("u unifies the stacks and splits them again", func(t *testing.T) {
		tb.open(t, diff)
		for _, want := range []string{"stacks=unified", "stacks=split"} {
			tb.follow(t, stroke("u"))
			if got := tb.path(t); !strings.Contains(got, want) {
				t.Fatalf("u leads to %s, want %s", got, want)
			}
		}
	})
	t.Run("s swaps A and B", func(t *testing.T) {
		tb.open(t, diff)
		before := ask[string](t, tb, `document.querySelector('.abcell b').textContent.trim()`)
		tb.follow(t, stroke("s"))
		if after := ask[string](t, tb, `document.querySelectorAll('.abcell b')[1].textContent.trim()`); after != before {
			t.Errorf("B is %s after swapping, want %s", after, before)
		}
	})
	t.Run("a slash goes to the filter, which keeps what else the address says", func(t *testing.T) {
		tb.open(t, diff+"&show=base")
		tb.do(t, stroke("/"))
		if got := ask[string](t, tb, focused); !strings.HasPrefix(got, "input#f") {
			t.Fatalf("after / the focus is on %s, want the filter", got)
		}
		tb.do(t, chromedp.KeyEvent("delta>0"))
		tb.follow(t, chromedp.KeyEvent("\r"))
		if got := tb.path(t); !strings.Contains(got, "q=delta%3E0") || !strings.Contains(got, "show=base") {
			t.Errorf("the filter leads to %s", got)
		}
	})
	t.Run("the box of a unit folds its families", func(t *testing.T) {
		tb.open(t, diff)
		shown := `[...document.querySelectorAll('tbody.unit tr:not(.u)')].filter(e => e.getClientRects().length).length`
		if n := ask[int](t, tb, shown); n == 0 {
			t.Fatal("no family of a unit is shown at first")
		}
		for range ask[int](t, tb, `document.querySelectorAll('tbody.unit input').length`) {
			tb.do(t, chromedp.Click(chromedp.CSS("tbody.unit input:checked")))
		}
		if n := ask[int](t, tb, shown); n != 0 {
			t.Errorf("%d families of units are shown after folding all", n)
		}
	})
}
