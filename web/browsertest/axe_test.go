package browsertest

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// axeScript is the engine of the rules, at the version of package-lock.json.
const axeScript = "node_modules/axe-core/axe.min.js"

// violation is a rule of accessibility that a page breaks, with the first elements.
type violation struct {
	ID, Impact, Help string
	Nodes            []string
}

// findings runs the rules that its argument chooses and gives what is serious or
// critical, and landmarks that nobody can tell apart. Details are unfolded first, since
// what nobody sees is not checked; of many alike the first forty.
const findings = `(async (only) => {
	const unfold = only.runOnly == 'target-size' ? 'main details:not(.menu)' : 'main details'; // menus lie over what is below them
	[...document.querySelectorAll(unfold)].slice(0, 40).forEach(d => d.open = true);
	const found = await axe.run(document, Object.assign({ resultTypes: ['violations'] }, only));
	return found.violations.filter(v => v.impact === 'serious' || v.impact === 'critical' || v.id === 'landmark-unique').map(v => ({
		ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.slice(0, 4).map(n => n.target.join(' ') + ': ' + (n.failureSummary || '').replace(/\s+/g, ' ').slice(0, 200)),
	}));
})`

// axePatience is how long the rules may take on the largest page of a busy machine.
const axePatience = 3 * time.Minute

func TestNoPageBreaksARuleOfAccessibilityThatHurts(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(axeScript)
	if os.IsNotExist(err) {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is missing and CI=true: make tools installs it", axeScript)
		}
		t.Skipf("%s is missing: run npm ci in web/browsertest", axeScript)
	}
	if err != nil {
		t.Fatal(err)
	}
	tb := openTab(t, startProgram(t))
	for _, s := range everyPage(t, tb.base) {
		t.Run(s.name, func(t *testing.T) {
			// A theme changes colours alone, a width sizes. The size of targets is of WCAG 2.2,
			// whose rules are off unless asked for.
			for _, look := range []struct {
				theme string
				width int64
				only  string
			}{
				{"light", wide, "({})"},
				{"dark", wide, "({ runOnly: ['color-contrast', 'link-in-text-block'] })"},
				{"light", wide, "({ runOnly: ['target-size'] })"},
				{"light", narrow, "({ runOnly: ['target-size'] })"},
			} {
				tb.do(t, prefer(look.theme), chromedp.EmulateViewport(look.width, 900))
				tb.open(t, s.path)
				tb.do(t, settled)
				run(t, tb, chromedp.Evaluate[chromedp.Void](string(script)+"; undefined"))
				ctx, cancel := context.WithTimeout(tb.ctx, axePatience)
				found, err := chromedp.Run(ctx, chromedp.Evaluate[[]violation](findings+look.only, chromedp.EvalAwaitPromise))
				cancel()
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range found {
					t.Errorf("%s at %d px, %s: %s (%s)\n\t%s", look.theme, look.width, v.ID, v.Help, v.Impact, strings.Join(v.Nodes, "\n\t"))
				}
			}
		})
	}
}
