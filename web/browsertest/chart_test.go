package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// onChart is an expression that sends a pointer event to a snapshot in a chart of the page.
func onChart(event, chart, label string, shift bool) string {
	return fmt.Sprintf(`(() => {
		const svg = document.querySelectorAll('#totals svg[data-x]')[%s], box = svg.getBoundingClientRect();
		const x = +svg.dataset.x.split(' ')[svg.dataset.l.split('\n').indexOf(%q)];
		svg.dispatchEvent(new MouseEvent(%q, {bubbles: true, cancelable: true, shiftKey: %v, clientX: box.left + x / svg.viewBox.baseVal.width * box.width + 2, clientY: box.top + 5}));
		return true;
	})()`, chart, label, event, shift)
}

const (
	crossed = `[...document.querySelectorAll('.c-cross')].filter(e => e.checkVisibility()).length`
	tipSays = `(e => e.hidden ? '' : [...e.children].map(c => c.textContent).join('; '))(document.querySelector('.tip'))`
	heard   = `document.querySelector('body > [aria-live]').textContent`
	chosen  = `['a', 'b'].map(n => document.querySelector('.pickrow [name=' + n + ']:checked')?.closest('label').textContent.trim()).join('; ')`
)

func TestChartsShowOneInstantEverywhere(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	tb.do(t, chromedp.EmulateViewport(wide, 900))
	address := uploadSample(t, tb.base).address()
	tb.open(t, address)
	step(t, "a pointer in one chart shows its snapshot in all, with the figures of both processes", func(t *testing.T) {
		ask[bool](t, tb, onChart("pointermove", "0", "t6", false))
		// The answer has one drawing, and the timeline is folded.
		if n := ask[int](t, tb, crossed); n != 1 {
			t.Errorf("%d charts show it, want 1", n)
		}
		const want = "t6  03:05:56; kubelet, goroutines 243 (+24 since t5); containerd, goroutines 324 (+33 since t5)"
		if got := ask[string](t, tb, tipSays); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		ask[bool](t, tb, `document.querySelector('h1').dispatchEvent(new MouseEvent('pointermove', {bubbles: true}))`)
		if got := ask[string](t, tb, tipSays); got != "" {
			t.Errorf("it stays: %q", got)
		}
	})
	step(t, "the first click chooses A, the second B, and shift always B", func(t *testing.T) {
		ask[bool](t, tb, onChart("click", "0", "t2", false))
		ask[bool](t, tb, onChart("click", "0", "t5", false))
		if got := ask[string](t, tb, chosen); got != "A = kubelet t2; B = kubelet t5" {
			t.Errorf("chosen: %s", got)
		}
		ask[bool](t, tb, onChart("click", "0", "t7", true))
		waitFor(t, tb, `(document.querySelector('.ranged b') || {textContent: ''}).textContent.startsWith('t2 to t7: +20 pod starts, 0 ended')`)
	})
	step(t, "the keyboard does the same", func(t *testing.T) {
		tb.do(t, chromedp.Focus("#totals"), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
		if got := ask[string](t, tb, heard); !strings.HasPrefix(got, "t2, 03:03:26, ") || !strings.Contains(got, "kubelet, goroutines 140 (+25 since t1)") {
			t.Errorf("it says %q", got)
		}
		tb.do(t, chromedp.KeyEvent("a"), chromedp.KeyEvent(kb.End), chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent("b"))
		waitFor(t, tb, `(document.querySelector('.ranged b') || {textContent: ''}).textContent.startsWith('t2 to t7: +20 pod starts, 0 ended')`)
		tb.do(t, chromedp.KeyEvent(kb.Escape))
		if n := ask[int](t, tb, crossed); n != 0 {
			t.Errorf("%d charts still show it", n)
		}
	})
	step(t, "a drag chooses both ends and says what lies between", func(t *testing.T) {
		ask[bool](t, tb, onChart("pointerdown", "0", "t6", false))
		ask[bool](t, tb, onChart("pointerup", "0", "t3", false))
		if got := ask[string](t, tb, chosen); got != "A = kubelet t3; B = kubelet t6" {
			t.Errorf("chosen: %s", got)
		}
		// 166 and 243 goroutines of the kubelet, 225 and 324 of containerd.
		waitFor(t, tb, `(document.querySelector('.ranged b') || {textContent: ''}).textContent.startsWith('t3 to t6')`)
		if got := ask[string](t, tb, `document.querySelector('.ranged b').textContent`); got != "t3 to t6: +12 pod starts, 0 ended; goroutines +99, descriptors +51" {
			t.Errorf("it says %q", got)
		}
		if got := ask[string](t, tb, `document.querySelector('.statebar').textContent.replace(/.*%/, '')`); !strings.Contains(got, "12 waiting for a semaphore, none runnable") {
			t.Errorf("the states are %q", got)
		}
		if n := ask[int](t, tb, `document.querySelectorAll('.lanes .wide-only .c-range').length`); n != 1 {
			t.Errorf("%d bands", n)
		}
	})
	step(t, "d compares", func(t *testing.T) {
		tb.do(t, chromedp.Focus("#totals"))
		tb.follow(t, chromedp.KeyEvent("d"))
		if path := tb.path(t); !strings.HasPrefix(path, "/diff/") {
			t.Errorf("it leads to %s", path)
		}
	})
}
