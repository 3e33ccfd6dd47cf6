package browsertest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// focused is an expression that names what has the focus: "input#q".
const focused = `(e => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + (e.className ? '.' + e.className : ''))(document.activeElement)`

// stroke is one press of a printable key as a keyboard sends it: the page can
// prevent the character, which chromedp.KeyEvent sends on its own.
func stroke(key string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: key, Text: key}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, target, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: key})
		return err
	})
}

func TestTheKeyboardReachesWhatMatters(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))

	t.Run("a slash goes to the search box and searches", func(t *testing.T) {
		tb.open(t, "/help")
		tb.do(t, stroke("/"))
		if got := ask[string](t, tb, focused); got != "input#q" {
			t.Fatalf("after / the focus is on %s, want the search box", got)
		}
		tb.do(t, chromedp.KeyEvent("a/b"))
		if got := run(t, tb, chromedp.Value(chromedp.CSS("#q"))); got != "a/b" {
			t.Errorf("the box holds %q after typing a/b", got)
		}
		tb.follow(t, chromedp.KeyEvent(kb.Enter))
		if got := tb.path(t); got != "/search?q=a%2Fb" {
			t.Errorf("Enter leads to %s", got)
		}
	})
	t.Run("a slash on a case goes to the search box, and to the filter of the groups once they are open", func(t *testing.T) {
		address := "/cases/" + uploadSample(t, tb.base).Case
		tb.open(t, address)
		tb.do(t, stroke("/"))
		if got := ask[string](t, tb, focused); got != "input#q" {
			t.Fatalf("after / the focus is on %s, want the search box", got)
		}
		tb.do(t, chromedp.KeyEvent("a/b"))
		if got := run(t, tb, chromedp.Value(chromedp.CSS("#q"))); got != "a/b" {
			t.Errorf("the box holds %q after typing a/b", got)
		}
		tb.open(t, address)
		ask[chromedp.Void](t, tb, `document.getElementById('p-groups').open = true, undefined`)
		tb.do(t, stroke("/"))
		if got := ask[string](t, tb, focused); !strings.HasPrefix(got, "input#f") {
			t.Errorf("after / with the groups open the focus is on %s, want their filter", got)
		}
	})
	t.Run("the first Tab reaches the link over the bar and shows it", func(t *testing.T) {
		tb.open(t, "/help")
		tb.do(t, chromedp.KeyEvent(kb.Tab))
		if got := ask[string](t, tb, focused); got != "a.skip" {
			t.Fatalf("after Tab the focus is on %s, want the skip link", got)
		}
		if !ask[bool](t, tb, `(r => r.left >= 0 && r.top >= 0 && r.width > 20 && r.height > 10)(document.activeElement.getBoundingClientRect())`) {
			t.Error("the focused skip link is not on the screen")
		}
		tb.do(t, chromedp.KeyEvent(kb.Enter))
		if got := ask[string](t, tb, focused); got != "main#main" {
			t.Errorf("the skip link leads to %s, want the content", got)
		}
	})
	t.Run("a question mark lists the keys and Escape closes the list", func(t *testing.T) {
		tb.open(t, "/help")
		tb.do(t, stroke("?"), see("dialog#keys[open]"), chromedp.KeyEvent(kb.Escape), chromedp.WaitNotPresent(chromedp.CSS("dialog#keys[open]")))
	})
}

// The other tests trust that trouble on a page is heard; this one makes some.
func TestTroubleOnAPageIsHeard(t *testing.T) {
	t.Parallel()
	tb := openUnwatchedTab(t, startProgram(t))
	for _, c := range []struct{ name, script string }{
		{"an exception", `setTimeout(() => { throw new Error('made by the test'); })`},
		{"a console error", `console.error('made by the test')`},
		{"an inline script against the policy", `document.head.append(Object.assign(document.createElement('script'), {textContent: '1'}))`},
		{"a style attribute against the policy", `document.body.setAttribute('style', 'color: red')`},
		{"an answer 404", `fetch('/no-such-page').then(r => r.text())`},
		{"a request to another host", `fetch('http://127.0.0.1:9/').catch(() => {})`},
	} {
		t.Run(c.name+" is heard", func(t *testing.T) {
			tb.open(t, "/help")
			before := len(tb.troubles())
			ask[chromedp.Void](t, tb, c.script)
			// Two requests may be answered in any order, and so may what is said of them.
			for end := time.Now().Add(patience); len(tb.troubles()) == before; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("nothing was heard")
				}
			}
		})
	}
}
