package browsertest

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
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
		tb.follow(t, chromedp.Click(`//form[@id="upload"]//button[normalize-space()!=""][span]`, chromedp.NodeVisible))
	})
	step(t, "the bundle page refreshes itself until it is done", func(t *testing.T) {
		tb.do(t, see(caseLink))
		tb.follow(t, chromedp.Click(chromedp.CSS(caseLink)))
	})
	step(t, "the case can be read", func(t *testing.T) {
		if diff := cmp.Diff(kubeletGoroutines, figuresOf(t, tb, "kubelet", "Goroutines")); diff != "" {
			t.Errorf("goroutines of kubelet (-want +got):\n%s", diff)
		}
	})
	step(t, "two snapshots are compared by the form", func(t *testing.T) {
		tb.do(t, chooseOption("a", "t1,", "115 goroutines"), chooseOption("b", "t6,", "243 goroutines"))
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
	step(t, "the result is frozen and can be read", func(t *testing.T) {
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
