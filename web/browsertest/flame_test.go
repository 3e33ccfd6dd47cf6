package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestAFlameGraphIsWalkedWithoutScripts(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	address := uploadSample(t, tb.base).address()
	tb.do(t, withoutScripts)
	tb.open(t, address)
	step(t, "the comparison leads to its flame graph", func(t *testing.T) {
		tb.do(t, openPart("Dumps"))
		tb.follow(t, chromedp.Click(chromedp.CSS("form .btn.primary")))
		tb.follow(t, chromedp.Click(chromedp.CSS(`.crumb a[href*="/flame?"]`)))
		if got := run(t, tb, chromedp.Text(chromedp.CSS("main h1"))); !strings.Contains(got, "goroutines, by what they call") {
			t.Fatalf("the headline is %q", got)
		}
	})
	step(t, "a box opens the graph of what is below it", func(t *testing.T) {
		before := ask[int](t, tb, shown(".fb rect"))
		tb.follow(t, chromedp.Click(chromedp.CSS(".wide-only a.fb:nth-of-type(2)")))
		if after := ask[int](t, tb, shown(".fb rect")); after >= before {
			t.Errorf("%d boxes below a box of a graph of %d", after, before)
		}
		if got := ask[string](t, tb, `document.querySelector('.wide-only .fb title').textContent`); !strings.HasPrefix(got, "created by ") {
			t.Errorf("the widest box is %q, want a creator", got)
		}
	})
	step(t, "the path leads back to the whole", func(t *testing.T) {
		tb.follow(t, chromedp.Click(chromedp.CSS(".fpath a")))
		if n := ask[int](t, tb, shown(".fpath")); n != 0 {
			t.Error("the whole graph has a path above it")
		}
	})
	step(t, "a box is reached and opened by keys, and its focus is seen", func(t *testing.T) {
		ask[chromedp.Void](t, tb, `document.querySelector('.skip.inplace').focus()`)
		tb.do(t, chromedp.KeyEvent("\t"), chromedp.KeyEvent("\t"))
		if got := ask[string](t, tb, `document.activeElement.classList.contains('fb') ? getComputedStyle(document.activeElement.querySelector('rect')).strokeWidth : document.activeElement.outerHTML`); got != "3px" {
			t.Errorf("the edge of the focused box is %q, want 3px", got)
		}
		tb.follow(t, chromedp.KeyEvent("\r"))
		if n := ask[int](t, tb, shown(".fpath")); n != 1 {
			t.Error("Enter did not open the box")
		}
	})
	step(t, "its function is shown with its callers over all stacks, and another one is chosen from the list", func(t *testing.T) {
		tb.follow(t, chromedp.Click(chromedp.CSS(`section a[href*="function="]`)))
		if n := ask[int](t, tb, `document.querySelectorAll('.wide-only .fb.found').length`); n != 1 {
			t.Errorf("%d boxes are that of the function", n)
		}
		ask[chromedp.Void](t, tb, `document.querySelector('#h-functions').closest('section').querySelector('.ends a').focus()`)
		want := ask[string](t, tb, `document.activeElement.textContent.replace(/\u200b/g, '')`)
		tb.follow(t, chromedp.KeyEvent("\r"))
		if got := ask[string](t, tb, `document.querySelector('.wide-only .fb.found title').textContent`); !strings.HasPrefix(got, want+": ") {
			t.Errorf("the box of the function is %q, want %q", got, want)
		}
		if n := ask[int](t, tb, `[...document.querySelectorAll('.wide-only .fb')].filter(e => e.getBoundingClientRect().bottom <= document.querySelector('.wide-only .fb.found').getBoundingClientRect().top + 1).length`); n == 0 {
			t.Error("no caller stands above it")
		}
	})
	step(t, "on a phone the graph is drawn for its width", func(t *testing.T) {
		tb.do(t, chromedp.EmulateViewport(narrow, 900))
		if n := ask[int](t, tb, `[...document.querySelectorAll('.fb')].filter(e => e.getClientRects().length && e.getBoundingClientRect().right > innerWidth).length`); n != 0 {
			t.Errorf("%d boxes reach over the edge", n)
		}
		if n := ask[int](t, tb, shown(".narrow-only .fb rect")); n < 2 {
			t.Errorf("%d boxes are shown", n)
		}
	})
}
