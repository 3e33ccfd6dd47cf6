package browsertest

import (
	"bytes"
	"context"
	"image/png"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// listen makes the page keep what it copies: headless browsers have no clipboard.
const listen = `Object.defineProperty(navigator, 'clipboard', {value: {writeText: text => { window.copied = text; return Promise.resolve(); }}})`

// copiedText waits until something was copied and forgets it.
const copiedText = `new Promise(done => { const look = () => { if (window.copied) { const text = window.copied; window.copied = ''; done(text); } else requestAnimationFrame(look); }; look(); })`

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
			begins, first, more := "# ", "Markdown, redacted", 0
			switch name {
			case "a case":
				begins, first, more = "**", "Ticket, redacted", 4
			case "a frozen result":
				first = "Markdown"
			}
			if got := copied(t); !strings.HasPrefix(got, begins) || !strings.Contains(got, "kubelet") {
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

func TestPprofDrawsItsFlameGraphInsideOfTheFrame(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	up := uploadSample(t, tb.base)
	for name, address := range map[string]string{
		"a snapshot": "/snapshots/" + up.kubelet("t6") + "/pprof" + up.query(), "a comparison": "/diff/" + up.kubelet("t1") + ".." + up.kubelet("t6") + "/pprof" + up.query(),
	} {
		t.Run(name, func(t *testing.T) {
			var box [4]float64
			look := func() {
				tb.open(t, address)
				box = ask[[4]float64](t, tb, `(r => [r.left, r.top, r.width, r.height])(document.querySelector('iframe.expert').getBoundingClientRect())`)
			}
			look()
			// The frame has an origin of its own, which no script outside reaches: what
			// can be looked at is the picture. The flame graph is drawn by pprof's script
			// in many pastel colours.
			// On a busy machine its script may run before the frame has its size.
			colours := 0
			for end, again := time.Now().Add(45*time.Second), time.Now().Add(10*time.Second); colours < 8 && time.Now().Before(end); {
				if time.Now().After(again) {
					look()
					again = time.Now().Add(10 * time.Second)
				}
				colours = coloursOf(t, tb, box)
			}
			if colours < 8 {
				t.Errorf("the frame shows %d colours: no flame graph was drawn", colours)
			}
			if ask[bool](t, tb, `(f => { try { return !!f.contentDocument; } catch (e) { return false; } })(document.querySelector('iframe.expert'))`) {
				t.Error("the page can read the frame: it has no origin of its own")
			}
			tb.open(t, ask[string](t, tb, `new URL(document.querySelector('iframe.expert').src).pathname`))
			if got := ask[int](t, tb, `document.querySelectorAll('.boxbg').length`); got < 50 {
				t.Errorf("pprof drew %d boxes, want more than 50", got)
			}
			if got := ask[string](t, tb, `self.origin`); got != "null" {
				t.Errorf("pprof runs in the origin %s", got)
			}
		})
	}
}

// coloursOf counts the colours that cover at least 60 pixels of a part of the window,
// greys left out.
func coloursOf(t *testing.T, tb *tab, box [4]float64) int {
	t.Helper()
	shot := run(t, tb, func(ctx context.Context, target *chromedp.Target) ([]byte, error) {
		got, err := cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{
			Format: page.CaptureScreenshotFormatPng, Clip: &page.Viewport{X: box[0], Y: box[1], Width: box[2], Height: box[3], Scale: 1},
		})
		return got.Data, err
	})
	img, err := png.Decode(bytes.NewReader([]byte(shot)))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[3]uint32]int{}
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			if r != g || g != b {
				seen[[3]uint32{r >> 8, g >> 8, b >> 8}]++
			}
		}
	}
	n := 0
	for _, count := range seen {
		if count >= 60 {
			n++
		}
	}
	return n
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
