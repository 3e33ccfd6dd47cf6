package browsertest

import (
	"context"
	"fmt"
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

// unfold opens details, since what nobody sees is not checked: of many of one kind the
// first three. Menus lie over what is below them, so that they are closed again where the
// size of targets is measured.
const unfold = `(menus => {
	const seen = {};
	for (const d of document.querySelectorAll('main details')) {
		const kind = d.className + ' in ' + d.parentElement.className + ' in ' + (d.closest('section, article, table, nav') || document.body).className;
		seen[kind] = (seen[kind] || 0) + 1;
		d.open = seen[kind] <= 3 && (menus || !d.matches('.menu'));
	}
})`

// findings runs the rules that its argument chooses and gives what is serious or
// critical, and landmarks that nobody can tell apart.
const findings = `(async (only) => {
	const found = await axe.run(document, Object.assign({ resultTypes: ['violations'] }, only));
	return found.violations.filter(v => v.impact === 'serious' || v.impact === 'critical' || v.id === 'landmark-unique').map(v => ({
		ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.slice(0, 4).map(n => n.target.join(' ') + ': ' + (n.failureSummary || '').replace(/\s+/g, ' ').slice(0, 200)),
	}));
})`

// axePatience is how long the rules may take on the largest page of a busy machine.
const axePatience = 3 * time.Minute

// axe is the script of the rules. make tools installs it.
func axe(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile(axeScript)
	if os.IsNotExist(err) && os.Getenv("CI") != "true" {
		t.Skipf("%s is missing: run npm ci in web/browsertest", axeScript)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

func TestNoPageBreaksARuleOfAccessibilityThatHurts(t *testing.T) {
	t.Parallel()
	script := axe(t)
	base := startProgram(t)
	pages := everyPage(t, base)
	// Two browsers share the pages.
	for browser := range 2 {
		t.Run(fmt.Sprintf("browser %d", browser+1), func(t *testing.T) {
			t.Parallel()
			tb := openTab(t, base)
			for i := browser; i < len(pages); i += 2 {
				t.Run(pages[i].name, func(t *testing.T) { followsTheRules(t, tb, pages[i].path, script) })
			}
		})
	}
}

// followsTheRules loads a page wide and narrow and runs the rules on it.
func followsTheRules(t *testing.T, tb *tab, path, script string) {
	// A theme changes colours alone, a width sizes. The size of targets is of WCAG 2.2,
	// whose rules are off unless asked for.
	loaded := int64(0)
	for _, look := range []struct {
		theme string
		width int64
		menus string
		only  string
	}{
		{"light", wide, "true", "({})"},
		{"dark", wide, "true", "({ runOnly: ['color-contrast', 'link-in-text-block'] })"},
		{"light", wide, "false", "({ runOnly: ['target-size'] })"},
		{"light", narrow, "false", "({ runOnly: ['target-size'] })"},
	} {
		tb.do(t, prefer(look.theme))
		if look.width != loaded {
			loaded = look.width
			tb.do(t, chromedp.EmulateViewport(look.width, 900))
			tb.open(t, path)
			run(t, tb, chromedp.Evaluate[chromedp.Void](script+"; undefined"))
		}
		run(t, tb, chromedp.Evaluate[chromedp.Void](unfold+"("+look.menus+")"))
		tb.do(t, settled)
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
}
