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
// critical. Details are unfolded first, since what nobody sees is not checked; of many
// alike the first forty.
const findings = `(async (only) => {
	[...document.querySelectorAll('main details')].slice(0, 40).forEach(d => d.open = true);
	const found = await axe.run(document, Object.assign({ resultTypes: ['violations'] }, only));
	return found.violations.filter(v => v.impact === 'serious' || v.impact === 'critical').map(v => ({
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
			// A theme changes colours alone.
			for theme, only := range map[string]string{"light": "({})", "dark": "({ runOnly: ['color-contrast', 'link-in-text-block'] })"} {
				tb.do(t, prefer(theme))
				tb.open(t, s.path)
				tb.do(t, settled)
				run(t, tb, chromedp.Evaluate[chromedp.Void](string(script)+"; undefined"))
				ctx, cancel := context.WithTimeout(tb.ctx, axePatience)
				found, err := chromedp.Run(ctx, chromedp.Evaluate[[]violation](findings+only, chromedp.EvalAwaitPromise))
				cancel()
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range found {
					t.Errorf("%s, %s: %s (%s)\n\t%s", theme, v.ID, v.Help, v.Impact, strings.Join(v.Nodes, "\n\t"))
				}
			}
		})
	}
}
