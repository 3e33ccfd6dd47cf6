package browsertest

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestTheDemoIsASiteOfFiles walks through the site that make demo-site writes, from the disk, as somebody
// does who unpacked it. What a page asks of a server would be heard as a failed request.
func TestTheDemoIsASiteOfFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// The program is built already, and others run it.
	make := exec.Command("make", "--no-print-directory", "--old-file=build", "demo-site", "BINARY="+absolute(t, os.Getenv(binaryVariable)), "SITE="+dir)
	make.Dir = filepath.Join("..", "..")
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tb := openTab(t, (&url.URL{Scheme: "file", Path: dir}).String())
	open := func(path string) { tb.do(t, chromedp.Navigate(tb.base+path)) }
	open("/index.html")
	type listed struct{ Link, Sentence string }
	cases := ask[[]listed](t, tb, `[...document.querySelectorAll('main a[href$="/index.html"]')].map(a => ({Link: a.getAttribute('href'), Sentence: a.textContent.trim()}))`)
	if len(cases) != 6 {
		t.Fatalf("the index lists %d cases: %v", len(cases), cases)
	}
	drawn := 0
	for _, c := range cases {
		open("/" + c.Link)
		if got := ask[string](t, tb, `document.querySelector('main h1').textContent.trim().replaceAll('\u00a0', ' ')`); got == "" || got != c.Sentence {
			t.Errorf("%s answers %q, and the index %q", c.Link, got, c.Sentence)
		}
		if wide := ask[bool](t, tb, `document.documentElement.scrollWidth > document.documentElement.clientWidth`); wide {
			t.Errorf("%s is wider than the window", c.Link)
		}
		if dead := ask[[]string](t, tb, `[...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href')).filter(h => h.startsWith('/'))`); len(dead) > 0 {
			t.Errorf("%s leads to pages of a server: %v", c.Link, dead)
		}
		drawn += ask[int](t, tb, `document.querySelectorAll('main svg').length > 0 ? 1 : 0`)
		for _, twin := range []string{"report.md", "ticket.md", "report.json"} {
			open("/" + filepath.Dir(c.Link) + "/" + twin)
			if text := ask[string](t, tb, `document.body.textContent`); len(text) < 100 {
				t.Errorf("%s of %s has %q", twin, c.Link, text)
			}
		}
	}
	if drawn < 3 {
		t.Errorf("%d of 6 cases have a drawing", drawn)
	}
}
