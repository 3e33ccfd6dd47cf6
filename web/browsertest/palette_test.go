package browsertest

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// withControl is a press of a key with Control held, as a keyboard sends it.
func withControl(key string) chromedp.Action[chromedp.Void] {
	const control = 2
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
			if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: key, Modifiers: control}); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestEverythingOfAPageIsFoundByItsWords(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	at := map[string]string{}
	for _, s := range everyPage(t, tb.base) {
		at[s.name] = s.path
	}
	options := `[...document.querySelectorAll('#commands [role=option]')].map(o => o.firstChild.textContent)`

	t.Run("Ctrl+K lists links, keys and sections", func(t *testing.T) {
		tb.open(t, at["case"])
		tb.do(t, withControl("k"), see("dialog#palette[open]"))
		if got := ask[string](t, tb, focused); !strings.HasPrefix(got, "input") {
			t.Fatalf("the focus is on %s, want the box of the palette", got)
		}
		all := strings.Join(ask[[]string](t, tb, options), "\n")
		for _, want := range []string{"Findings", "Timeline", "Share", "Help"} {
			if !strings.Contains(all, want) {
				t.Errorf("%q is not among the commands:\n%s", want, all)
			}
		}
	})
	t.Run("words narrow it and Enter goes to a section", func(t *testing.T) {
		tb.do(t, chromedp.KeyEvent("findin"))
		if got := ask[[]string](t, tb, options); len(got) != 2 || got[0] != "Findings" || !strings.HasPrefix(got[1], "Search the whole server") {
			t.Fatalf("commands %q, want the section and a search", got)
		}
		tb.do(t, chromedp.KeyEvent(kb.Enter), chromedp.WaitNotPresent(chromedp.CSS("dialog#palette[open]")))
		if got := ask[string](t, tb, `document.activeElement.textContent.trim()`); got != "Findings" {
			t.Errorf("the focus is on %q, want the heading", got)
		}
	})
	t.Run("what is no command is searched for on the whole server", func(t *testing.T) {
		tb.do(t, withControl("k"), see("dialog#palette[open]"), chromedp.KeyEvent("housekeepingTick"))
		tb.follow(t, chromedp.KeyEvent(kb.Enter))
		if got := tb.path(t); got != "/search?q=housekeepingTick" {
			t.Errorf("it leads to %s", got)
		}
	})
	t.Run("j and k go through the findings and Enter opens one", func(t *testing.T) {
		tb.open(t, at["diff"])
		tb.do(t, stroke("j"), stroke("j"))
		second := ask[string](t, tb, `document.activeElement.closest('tr').id`)
		tb.do(t, stroke("k"))
		if first := ask[string](t, tb, `document.activeElement.closest('tr').id`); first == second || first == "" && second == "" {
			t.Errorf("j, j, k stay on %q", first)
		}
	})
	t.Run("Enter opens a row, which keeps the focus", func(t *testing.T) {
		tb.open(t, at["diff"])
		tb.do(t, stroke("j"), stroke("j"), stroke("j"))
		row := `document.activeElement.closest('tr')?.id ?? ''`
		third := ask[string](t, tb, row)
		for _, open := range []string{"true", "false"} {
			tb.follow(t, chromedp.KeyEvent(kb.Enter))
			tb.do(t, see("#"+third+" .tw[aria-expanded='"+open+"']"))
			// The browser gives the focus when it first draws the page.
			got := run(t, tb, chromedp.Evaluate[string](`new Promise(done => { const look = () => document.activeElement === document.body ? requestAnimationFrame(look) : done(`+row+`); look(); })`, chromedp.EvalAwaitPromise))
			if got != third {
				t.Errorf("after Enter the focus is in the row %q, want %q", got, third)
			}
		}
		tb.do(t, stroke("j"))
		if got := ask[string](t, tb, row); got == third || got == ask[string](t, tb, `document.querySelector('main tbody tr[id]').id`) {
			t.Errorf("then j goes to %q", got)
		}
	})
	t.Run("export lists every form of the page", func(t *testing.T) {
		tb.open(t, at["diff"])
		tb.do(t, withControl("k"), see("dialog#palette[open]"), chromedp.KeyEvent("export"))
		all := strings.Join(ask[[]string](t, tb, options), "\n")
		for _, want := range []string{"Export CSV", "Export JSON", "Export this page as a file"} {
			if !strings.Contains(all, want) {
				t.Errorf("%q is not among the commands:\n%s", want, all)
			}
		}
		tb.do(t, chromedp.KeyEvent(kb.Escape))
	})
	t.Run("x chooses A and then B, and d compares them", func(t *testing.T) {
		tb.open(t, at["case"])
		chosen := `(e => e.name + '=' + e.value)(document.activeElement)`
		tb.do(t, stroke("x"), chromedp.KeyEvent(kb.ArrowRight))
		a := ask[string](t, tb, chosen)
		tb.do(t, stroke("x"), chromedp.KeyEvent(kb.ArrowLeft))
		b := ask[string](t, tb, chosen)
		if !strings.HasPrefix(a, "a=s") || !strings.HasPrefix(b, "b=s") {
			t.Fatalf("x goes to %q, then to %q", a, b)
		}
		tb.follow(t, stroke("d"))
		if got, want := tb.path(t), "/diff/"+a[2:]+".."+b[2:]; !strings.HasPrefix(got, want) {
			t.Errorf("d leads to %s, want %s", got, want)
		}
	})
	t.Run("g d leads to the comparison from its case, a snapshot and its flame graph", func(t *testing.T) {
		flame, query, _ := strings.Cut(at["diff"], "?")
		for name, from := range map[string]string{"case": at["case"], "snapshot": at["snapshot"], "flame graph": flame + "/flame?" + query} {
			tb.open(t, from)
			tb.do(t, stroke("g"))
			tb.follow(t, stroke("d"))
			if got := tb.path(t); !strings.HasPrefix(got, "/diff/") || strings.Contains(got, "/flame") {
				t.Errorf("from the %s g d leads to %s", name, got)
			}
		}
	})
	t.Run("switched off, only Ctrl and letters do nothing", func(t *testing.T) {
		tb.open(t, at["case"])
		tb.do(t, stroke("?"), see("dialog#keys[open]"), chromedp.Click(chromedp.CSS("#keys-on")), chromedp.KeyEvent(kb.Escape))
		tb.do(t, withControl("k"), stroke("j"))
		if ask[bool](t, tb, `!!document.querySelector('dialog[open]') || !!document.activeElement.closest('tr, .finding')`) {
			t.Error("keys act although they were switched off")
		}
		tb.do(t, stroke("?"))
		if ask[bool](t, tb, `!!document.querySelector('dialog[open]')`) {
			t.Error("the question mark acts although it is a single key")
		}
	})
	t.Run("and a button at the end of the page switches them on again", func(t *testing.T) {
		tb.do(t, chromedp.Click(chromedp.CSS("#keys-open")), see("dialog#keys[open]"), chromedp.Click(chromedp.CSS("#keys-on")), chromedp.KeyEvent(kb.Escape))
		tb.do(t, chromedp.WaitNotPresent(chromedp.CSS("dialog#keys[open]")), stroke("?"), see("dialog#keys[open]"))
	})
}
