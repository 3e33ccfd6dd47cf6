package browsertest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// shown counts the elements that have a box on the page.
func shown(selector string) string {
	return `[...document.querySelectorAll('` + selector + `')].filter(e => e.getClientRects().length).length`
}

// medium makes the browser lay pages out for "print" or "screen".
func medium(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: name})
		return err
	})
}

func TestGrowthCanBeReadChosenAndPrinted(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	address := uploadSample(t, tb.base).address()

	t.Run("the keys a, b and d choose and compare", func(t *testing.T) {
		tb.open(t, address)
		for _, key := range []string{"a", "b"} {
			tb.do(t, stroke(key))
			if got := ask[string](t, tb, `document.activeElement.name`); got != key {
				t.Fatalf("after %s the focus is on %q", key, got)
			}
			ask[chromedp.Void](t, tb, `document.activeElement.blur()`)
		}
		tb.do(t, chooseOption("a", "t1,", "115 goroutines"), chooseOption("b", "t6,", "243 goroutines"))
		tb.follow(t, stroke("d"))
		if got := run(t, tb, chromedp.Text(chromedp.CSS("main h1"))); !strings.Contains(got, "128 goroutines") {
			t.Errorf("the headline %q does not say 128 goroutines", got)
		}
	})
	t.Run("a unit unfolds to its families, without scripts", func(t *testing.T) {
		tb.do(t, withoutScripts)
		tb.open(t, address)
		tb.do(t, openPart("Groups"))
		if n := ask[int](t, tb, shown(".unit tr:not(.u)")); n != 0 {
			t.Fatalf("%d families of units are shown before any unit is opened", n)
		}
		tb.do(t, chromedp.Click(chromedp.CSS(".unit .u input")))
		if n := ask[int](t, tb, shown(".unit:has(:checked) tr:not(.u)")); n != 7 {
			t.Errorf("%d families of the first unit are shown, want 7", n)
		}
		if all, open := ask[int](t, tb, shown(".unit tr:not(.u)")), ask[int](t, tb, shown(".unit:has(:checked) tr:not(.u)")); all != open {
			t.Errorf("%d families are shown, %d of the opened unit", all, open)
		}
	})
	t.Run("printed it is a report", func(t *testing.T) {
		tb.open(t, address)
		tb.do(t, medium("print"))
		if n := ask[int](t, tb, shown(".btn, .bar, .compare, .unit input, .pickrow")); n != 0 {
			t.Errorf("%d controls are printed", n)
		}
		if n := ask[int](t, tb, shown(".unit tr:not(.u)")); n < 20 {
			t.Errorf("%d families of units are printed, want all", n)
		}
		folded := ask[[]string](t, tb, `[...document.querySelectorAll('main details > :not(summary)')].filter(e => !e.closest('.noprint') && !e.getClientRects().length).map(e => e.className || e.tagName)`)
		if len(folded) > 0 {
			t.Errorf("folded on paper: %s", strings.Join(folded, ", "))
		}
		tb.do(t, medium("screen"))
	})
	t.Run("the chart of a growing family shows when it began", func(t *testing.T) {
		var found struct {
			Series []struct {
				Families []struct{ Fingerprint, Title string }
			}
		}
		if err := json.Unmarshal([]byte(get(t, tb.base+address+".json")), &found); err != nil {
			t.Fatal(err)
		}
		for _, s := range found.Series {
			for _, f := range s.Families {
				if !strings.Contains(f.Title, "WithConstLabels") {
					continue
				}
				tb.open(t, "/families/"+f.Fingerprint+"?case="+strings.TrimPrefix(address, "/cases/"))
				for _, what := range []string{".wide-only .c-onset", ".lifelines .lf", "#h-hold", "#h-unit"} {
					tb.do(t, see(what))
				}
				return
			}
		}
		t.Error("the family that waits for the collector is not in the case")
	})
}
