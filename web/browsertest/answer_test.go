package browsertest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// The budget of the first screen of a case.
const (
	mostWords = 150
	mostChips = 3
)

// firstScreen is an expression that counts the words of main whose line begins on the first
// screen, without stacks, commands, drawings and the lines of folded parts, and the chips
// that have a colour.
const firstScreen = `(() => {
	const quiet = '.stk, .cmd, .part, svg, .vh, .crumb, table';
	const folds = [...document.querySelectorAll('.part > summary')].filter(e => e.getBoundingClientRect().top < 900).length;
	const below = [...document.querySelectorAll('main *')].filter(e => e.matches(quiet) || e.getBoundingClientRect().top >= 900);
	for (const e of below) e.style.display = 'none';
	const said = document.querySelector('main').innerText.replace(/\u200b/g, '').replace(/(\d)\s(?=\d{3})/g, '$1');
	const words = said.split(/\s+/).filter(w => /[\p{L}\d]/u.test(w)).length;
	const chips = [...document.querySelectorAll('main .v')].filter(e => e.checkVisibility() && /leaking|suspicious|new|shrinking|gone|limit/.test(e.className));
	return { Words: words, Chips: chips.length, Said: said, Folds: folds };
})()`

// oneSnapshot is the sample with the files of one directory alone.
func oneSnapshot(t *testing.T, directory string) io.Reader {
	t.Helper()
	archive, err := os.Open(kubeletSample)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	unpacked, err := gzip.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(h.Name, directory) {
			continue
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

// answered are cases of different kinds: a leak of two processes, growth between two
// dumps, watches, and one dump.
func answered(t *testing.T, base string) []sight {
	t.Helper()
	out := []sight{{"a leak of two processes", uploadSample(t, base).address()}}
	for name, sample := range map[string]string{"two dumps": "two-dumps", "watches": "inotify-leak"} {
		file, err := os.Open("../../samples/" + sample + "/" + sample + ".tar.gz")
		if err != nil {
			t.Fatal(err)
		}
		var up uploaded
		send(t, http.MethodPut, base+"/api/v1/bundles/"+sample+".tar.gz?wait=1", file, &up)
		file.Close()
		out = append(out, sight{name, up.address()})
	}
	var up uploaded
	send(t, http.MethodPut, base+"/api/v1/bundles/containerd.tar?wait=1", oneSnapshot(t, "t7/containerd/"), &up)
	return append(out, sight{"one dump", up.address()})
}

func TestTheAnswerOfACaseIsOneScreen(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	for _, s := range answered(t, tb.base) {
		t.Run(s.name, func(t *testing.T) {
			tb.do(t, chromedp.EmulateViewport(wide, 900))
			tb.open(t, s.path)
			got := ask[struct {
				Words, Chips, Folds int
				Said                string
			}](t, tb, firstScreen)
			if got.Words > mostWords || got.Words < 5 {
				t.Errorf("%d words above the fold, want at most %d: %s", got.Words, mostWords, got.Said)
			}
			if got.Chips > mostChips {
				t.Errorf("%d coloured chips, want at most %d", got.Chips, mostChips)
			}
			if got.Folds == 0 {
				t.Error("the first screen ends above the folded parts")
			}
			tb.do(t, chromedp.EmulateViewport(narrow, 900))
			tb.open(t, s.path)
			if !ask[bool](t, tb, `document.documentElement.scrollWidth <= innerWidth`) {
				t.Error("a phone scrolls sideways")
			}
			if below := ask[bool](t, tb, `(() => {
				const top = s => document.querySelector(s)?.getBoundingClientRect().top ?? 1e9;
				return top('.dofirst') < Math.min(top('.lanes'), top('.stk'), top('.largest'), top('.q'));
			})()`); !below {
				t.Error("what to do does not stand above the drawing on a phone")
			}
		})
	}
}

// seenAt is an expression that says whether the element with an id is seen.
func seenAt(id string) string {
	return fmt.Sprintf(`(e => !!e && e.checkVisibility() && !e.closest('details:not([open]) > :not(summary)'))(document.getElementById(%q))`, id)
}

func TestAddressesOpenTheFoldThatTheyLeadTo(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	up := uploadSample(t, tb.base)
	for name, address := range map[string]string{"a finding": "#f-1", "the groups": "#h-all", "the timeline": "#h-time"} {
		t.Run(name, func(t *testing.T) {
			tb.open(t, "/help")
			tb.open(t, up.address()+address)
			if !ask[bool](t, tb, seenAt(address[1:])) {
				t.Errorf("%s is folded", address)
			}
		})
	}
	t.Run("the name of a lane", func(t *testing.T) {
		tb.open(t, up.address())
		if ask[bool](t, tb, seenAt("f-1")) {
			t.Fatal("the findings are not folded")
		}
		tb.do(t, chromedp.Click(chromedp.CSS(".lanes .wide-only a")))
		if !ask[bool](t, tb, seenAt("f-1")) {
			t.Error("its finding is folded")
		}
	})
	t.Run("pointing at a lane marks its stack, also over the line of an instant", func(t *testing.T) {
		tb.open(t, up.address())
		const marked = `[...document.querySelectorAll('#range [class*=of]')].filter(e => /\bof\d/.test(e.className) && getComputedStyle(e).outlineStyle === 'solid').length`
		if n := ask[int](t, tb, marked); n != 0 {
			t.Errorf("%d stacks are marked before", n)
		}
		at := ask[[]float64](t, tb, `(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector('.wide-only .ln-b rect').getBoundingClientRect())`)
		for range 2 { // the first move draws the line
			tb.do(t, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]))
		}
		if n := ask[int](t, tb, marked); n == 0 {
			t.Error("no stack is marked")
		}
	})
	t.Run("a key", func(t *testing.T) {
		tb.open(t, up.address())
		tb.do(t, stroke("a"))
		if got := ask[string](t, tb, `document.activeElement.name ?? ''`); got != "a" || !ask[bool](t, tb, seenAt("h-time")) {
			t.Errorf("the focus is on %q", got)
		}
	})
	t.Run("without scripts", func(t *testing.T) {
		tb.do(t, withoutScripts)
		tb.open(t, up.address()+"?open=findings#f-1")
		if !ask[bool](t, tb, seenAt("f-1")) {
			t.Error("the finding is folded")
		}
		tb.open(t, up.address()+"?q=kind:goroutine#h-all")
		if !ask[bool](t, tb, seenAt("h-all")) {
			t.Error("the groups that pass the filter are folded")
		}
	})
	t.Run("where a line begins, by keys and without scripts", func(t *testing.T) {
		tb.open(t, up.address())
		ask[chromedp.Void](t, tb, `document.querySelector('.wide-only a.ln-b').focus()`)
		want := ask[string](t, tb, `document.activeElement.querySelector('title').textContent`)
		tb.follow(t, chromedp.KeyEvent("\r"))
		name, _, _ := strings.Cut(want, ",")
		if got := run(t, tb, chromedp.Text(chromedp.CSS("main h1"))); !strings.HasPrefix(got, name+" of ") {
			t.Errorf("the page of %q is %q", want, got)
		}
	})
}
