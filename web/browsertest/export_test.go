package browsertest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// listen makes the page keep what it copies: headless browsers have no clipboard.
const listen = `Object.defineProperty(navigator, 'clipboard', {value: {write: items => { window.writes = (window.writes || 0) + 1; return items[0].getType('text/plain').then(blob => blob.text()).then(text => { window.copied = text; }); }}})`

// copiedText waits until something was copied and forgets it.
const copiedText = `new Promise(done => { const look = () => { if (window.copied) { const text = window.copied; window.copied = ''; done(text); } else requestAnimationFrame(look); }; look(); })`

func TestOneClickCopiesATicketWithItsFrozenLink(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	up := uploadSample(t, tb.base)
	tb.open(t, up.address())
	ask[chromedp.Void](t, tb, listen)
	// The write begins in the click, before the server answered: Safari refuses any other.
	if got := ask[int](t, tb, `(document.querySelector('[data-freeze]').click(), window.writes || 0)`); got != 1 {
		t.Errorf("the click began %d writes", got)
	}
	text := run(t, tb, chromedp.Evaluate[string](copiedText, chromedp.EvalAwaitPromise))
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if n := len(lines); n > 12 || strings.Contains(text, "/cases/") {
		t.Errorf("%d lines, want at most 12 and the frozen link alone:\n%s", n, text)
	}
	link := lines[len(lines)-1]
	if at := strings.Index(link, "/p/"); at < 0 || strings.Contains(text, "realnode1") {
		t.Fatalf("copied %q, want a redacted ticket that ends with a permalink", text)
	} else {
		tb.open(t, link[at:])
	}
	if got := ask[string](t, tb, `document.body.textContent`); !strings.Contains(got, "kubelet") {
		t.Errorf("the link leads to %.200q", got)
	}
	tb.open(t, up.address())
	if got := ask[string](t, tb, `document.querySelector('[data-key="c"]').textContent`); !strings.Contains(got, "redacted") {
		t.Errorf("the button says %q", got)
	}
}

func TestOneKeyCopiesThePageForATicket(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	up := uploadSample(t, tb.base)
	diff := "/diff/" + up.kubelet("t1") + ".." + up.kubelet("t6") + up.query()
	var frozen struct{ Link string }
	send(t, http.MethodPost, tb.base+"/api/v1/permalinks", strings.NewReader(`{"view": "`+diff+`"}`), &frozen)
	copied := func(t *testing.T) string {
		t.Helper()
		return run(t, tb, chromedp.Evaluate[string](copiedText, chromedp.EvalAwaitPromise))
	}
	for name, address := range map[string]string{"a case": up.address(), "a comparison": diff, "a snapshot": "/snapshots/" + up.kubelet("t6") + up.query(), "a frozen result": frozen.Link} {
		t.Run(name, func(t *testing.T) {
			tb.open(t, address)
			ask[chromedp.Void](t, tb, listen)
			tb.do(t, stroke("c"))
			begins, process, first, more := "# ", "kubelet", "Markdown, redacted", 0
			switch name {
			case "a case":
				begins, process, first, more = "**", "containerd", "Ticket, redacted", 4
			case "a frozen result":
				first = "Markdown"
			}
			if got := copied(t); !strings.HasPrefix(got, begins) || !strings.Contains(got, process) {
				t.Errorf("c copied %.80q", got)
			}
			if more > 0 {
				tb.do(t, stroke("L"), see(".menu[open]"))
				if got := copied(t); !strings.HasPrefix(got, "# ") {
					t.Errorf("L copied %.80q", got)
				}
				tb.do(t, chromedp.KeyEvent(kb.Escape))
			}
			tb.do(t, stroke("C"), see(".menu[open] ul :focus")) // the menu opens before it is told so
			if got := ask[string](t, tb, `document.activeElement.textContent`); got != first {
				t.Fatalf("after C the focus is on %q, want the first of the menu", got)
			}
			for range more {
				tb.do(t, chromedp.KeyEvent(kb.Tab))
			}
			tb.do(t, chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
			if got := copied(t); !strings.HasPrefix(got, "h1. ") {
				t.Errorf("the second of the menu copied %.80q", got)
			}
			tb.do(t, chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
			if got := copied(t); !strings.Contains(got, "\n====") {
				t.Errorf("the third of the menu copied %.80q", got)
			}
			tb.do(t, chromedp.KeyEvent(kb.Escape))
			if ask[bool](t, tb, `!!document.querySelector('.menu[open]')`) {
				t.Error("Escape leaves the menu open")
			}
			if got := ask[string](t, tb, focused); got != "summary" {
				t.Errorf("after Escape the focus is on %s", got)
			}
		})
	}
}

func TestFilesThatStandAloneFollowTheColourScheme(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	up := uploadSample(t, tb.base)
	for name, c := range map[string]struct{ address, expression, light, dark string }{
		"the case as one file": {up.address() + ".html", `getComputedStyle(document.documentElement).backgroundColor`, "rgb(250, 250, 248)", "rgb(14, 17, 22)"},
		"its timeline":         {up.address() + ".svg", `getComputedStyle(document.querySelector('.c-line.up')).stroke`, "rgb(179, 64, 10)", "rgb(255, 158, 100)"},
	} {
		t.Run(name, func(t *testing.T) {
			for scheme, want := range map[string]string{"light": c.light, "dark": c.dark} {
				tb.do(t, prefer(scheme))
				tb.open(t, c.address)
				if got := ask[string](t, tb, c.expression); got != want {
					t.Errorf("%s: the colour is %s, want %s", scheme, got, want)
				}
			}
		})
	}
	tb.do(t, prefer("light"))
	tb.open(t, up.address()+".html")
	if got := ask[int](t, tb, `document.querySelectorAll('script, link, iframe, img, form').length`); got != 0 {
		t.Errorf("the file holds %d elements that ask for something", got)
	}
	if got := ask[int](t, tb, `document.querySelectorAll('svg[role=img]').length`); got < 10 {
		t.Errorf("the file holds %d charts", got)
	}
}
