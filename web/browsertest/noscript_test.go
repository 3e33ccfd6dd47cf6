package browsertest

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
)

// withoutScripts switches the scripts of pages off. What the test asks on a page
// still runs.
var withoutScripts = chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
	_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	return err
})

func TestEverythingWorksWithoutScripts(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	tb.do(t, withoutScripts)
	var sentence string

	step(t, "the form uploads by itself", func(t *testing.T) {
		tb.open(t, "/")
		if ask[bool](t, tb, `document.documentElement.classList.contains('js')`) {
			t.Fatal("the page's scripts ran although they are switched off")
		}
		tb.do(t, chromedp.SetUploadFiles(chromedp.CSS("#files"), []string{absolute(t, kubeletSample)}, chromedp.NodeVisible))
		tb.follow(t, chromedp.Click(`//form[@id="upload"]//button[normalize-space()="Upload"]`, chromedp.NodeVisible))
	})
	step(t, "the page refreshes itself until the answer is there", func(t *testing.T) {
		tb.do(t, see(answerShown))
		if at := tb.path(t); !strings.HasPrefix(at, "/cases/") {
			t.Fatalf("the form led to %s", at)
		}
	})
	step(t, "the case can be read", func(t *testing.T) {
		if diff := cmp.Diff(kubeletGoroutines, figuresOf(t, tb, "kubelet", "Goroutines")); diff != "" {
			t.Errorf("goroutines of kubelet (-want +got):\n%s", diff)
		}
	})
	step(t, "two snapshots are compared by the form", func(t *testing.T) {
		tb.do(t, openPart("Dumps"), chooseOption("a", "t1,", "115 goroutines"), chooseOption("b", "t6,", "243 goroutines"))
		tb.follow(t, chromedp.Click(chromedp.CSS("form.compare button")))
		sentence = run(t, tb, chromedp.Text(chromedp.CSS("main h1")))
		if !strings.Contains(sentence, "128 goroutines") {
			t.Errorf("the headline %q does not say 128 goroutines", sentence)
		}
	})
	step(t, "a row opens by its link", func(t *testing.T) {
		tb.follow(t, chromedp.Click(chromedp.CSS(`a.tw[aria-expanded="false"][aria-label*="housekeepingTick"]`)))
		tb.do(t, see("tr.open .stacks.wide-grid"))
	})
	compared := tb.path(t)
	step(t, "a filter narrows the comparison, and a mistake in it is told under the box", func(t *testing.T) {
		all := ask[int](t, tb, `document.querySelectorAll('table.diff a.tw').length`)
		tb.do(t, fill("#f", "func:housekeepingTick delta>0"))
		tb.follow(t, chromedp.SendKeys(chromedp.CSS("#f"), kb.Enter))
		if n := ask[int](t, tb, `document.querySelectorAll('table.diff a.tw').length`); n != 1 {
			t.Errorf("%d families pass, want one", n)
		}
		tb.do(t, fill("#f", "fun:x"))
		tb.follow(t, chromedp.SendKeys(chromedp.CSS("#f"), kb.Enter))
		if told := ask[string](t, tb, `document.querySelector('main [role=alert]')?.textContent ?? ''`); !strings.Contains(told, "fun") || !strings.Contains(told, "func") {
			t.Errorf("told %q, want the word and what was meant", told)
		}
		if n := ask[int](t, tb, `document.querySelectorAll('table.diff a.tw').length`); n != all || all < 2 {
			t.Errorf("the mistake leaves %d families of %d", n, all)
		}
	})
	var family string
	step(t, "a family is marked, with a reason", func(t *testing.T) {
		tb.open(t, compared)
		tb.follow(t, press("Open family"))
		family = tb.path(t)
		tb.do(t, chromedp.Click(`//label[normalize-space()="Suspicious"]`), fill("#note", "one more for each pod that starts"))
		tb.follow(t, chromedp.Click(`//form[contains(@action,"/triage")]//button`))
		if said := run(t, tb, chromedp.Text(chromedp.CSS("#triage"))); !strings.Contains(said, "Marked suspicious") || !strings.Contains(said, "one more for each pod") {
			t.Errorf("the page says %q", said)
		}
	})
	step(t, "the case takes a ticket and shows the mark", func(t *testing.T) {
		tb.follow(t, chromedp.Click(`(//nav[@aria-label="Breadcrumb"]//a)[2]`))
		tb.do(t, openPart("Also"))
		if !strings.Contains(run(t, tb, chromedp.Text(chromedp.CSS("ol.findings"))), "marked suspicious") {
			t.Error("no finding tells the mark")
		}
		tb.do(t, openPart("Files"), fill("#case-ticket", "INC-4711"))
		tb.follow(t, chromedp.Click(chromedp.CSS("#about button")))
		if !strings.Contains(run(t, tb, chromedp.Text(chromedp.CSS("p.ticket"))), "INC-4711") {
			t.Error("the ticket is not shown")
		}
	})
	step(t, "several snapshots stand side by side", func(t *testing.T) {
		tb.do(t, openPart("Dumps"))
		tb.follow(t, press("Several side by side"))
		if n := ask[int](t, tb, `document.querySelectorAll('table.many thead th').length || document.querySelectorAll('main table thead th').length`); n < 9 {
			t.Errorf("%d columns, want nine snapshots", n)
		}
	})
	step(t, "the list of cases finds the ticket, and the search the function", func(t *testing.T) {
		tb.open(t, "/?text=inc-4711")
		if got := run(t, tb, chromedp.Text(chromedp.CSS("table.cases"))); strings.Count(got, "INC-4711") != 1 {
			t.Errorf("the list holds %q", got)
		}
		tb.open(t, "/")
		tb.do(t, fill("#q", "housekeepingTick"))
		tb.follow(t, chromedp.SendKeys(chromedp.CSS("#q"), kb.Enter))
		if !strings.Contains(run(t, tb, chromedp.Text(chromedp.CSS("main"))), "housekeepingTick") {
			t.Error("the search does not find it")
		}
	})
	step(t, "the family is remembered and stands in the catalogue", func(t *testing.T) {
		tb.open(t, family)
		tb.do(t, chromedp.Click(`//summary[normalize-space()="Remember this family"]`), fill("#r-title", "Housekeeping of dead pods"))
		tb.follow(t, chromedp.Click(`//form[contains(@action,"/remember")]//button`))
		if !strings.Contains(run(t, tb, chromedp.Text(chromedp.CSS("main"))), "Housekeeping of dead pods") {
			t.Error("the catalogue does not list it")
		}
	})
	step(t, "the result is frozen and can be read", func(t *testing.T) {
		tb.open(t, compared)
		tb.follow(t, press("Share…"))
		tb.follow(t, press("Freeze"))
		tb.follow(t, press("Open it as the recipient sees it"))
		checkFrozen(t, tb, sentence)
	})
}

// chooseOption selects, in the box of the comparing form with this name, the
// option whose text has these beginnings and parts.
func chooseOption(name, beginning, part string) chromedp.Action[chromedp.Void] {
	box := `//form[contains(@class,"compare")]//select[@name="` + name + `"]`
	option := box + `//option[starts-with(normalize-space(),"` + beginning + `") and contains(.,"` + part + `")]`
	return func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		value, err := chromedp.AttributeValue(option, "value")(ctx, target)
		if err != nil {
			return chromedp.Void{}, err
		}
		return chromedp.SetValue(box, value.Value)(ctx, target)
	}
}
