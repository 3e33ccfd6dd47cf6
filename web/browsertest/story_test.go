package browsertest

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
)

// answerShown is on the page of a case that was read.
const answerShown = `details.part > summary`

// figuresOf gives a row of the table on a case page: the figures of a process
// ("kubelet") in a row ("Goroutines") as text, one per snapshot.
func figuresOf(t *testing.T, tb *tab, process, row string) []string {
	t.Helper()
	return ask[[]string](t, tb, `(() => {
		let rows = [...document.querySelectorAll('table.snaps tbody tr')];
		const text = el => el.textContent.trim();
		const start = rows.findIndex(tr => tr.matches('.grp') && text(tr).startsWith('`+process+` '));
		const found = rows.slice(start + 1).find(tr => text(tr.cells[0]) === '`+row+`');
		return start < 0 || !found ? [] : [...found.cells].slice(1).map(text);
	})()`)
}

// Expected figures are those of samples/kubelet-probe-leak/found.json.
var (
	kubeletGoroutines = []string{"87", "115", "140", "166", "192", "219", "243", "263", "87"}
	kubeletWatches    = []string{"44", "116", "164", "211", "259", "307", "355", "403", "43"}
)

func TestAnEngineerFindsTheLeakAndSharesIt(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	var sentence, link string

	step(t, "the sample is uploaded through the file dialog", func(t *testing.T) {
		tb.open(t, "/")
		tb.choose(t, press("Choose files"), absolute(t, kubeletSample))
		tb.do(t, see(answerShown))
		if at := tb.path(t); !strings.HasPrefix(at, "/cases/") {
			t.Fatalf("after the upload the page is %s, not the answer", at)
		}
	})
	step(t, "the case shows the figures of every snapshot", func(t *testing.T) {
		if diff := cmp.Diff(kubeletGoroutines, figuresOf(t, tb, "kubelet", "Goroutines")); diff != "" {
			t.Errorf("goroutines of kubelet (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(kubeletWatches, figuresOf(t, tb, "kubelet", "Watches")); diff != "" {
			t.Errorf("watches of kubelet (-want +got):\n%s", diff)
		}
	})
	step(t, "t1 and t6 of kubelet are picked in the table and compared", func(t *testing.T) {
		tb.do(t, openPart("Dumps"), press("A = kubelet t1"), press("B = kubelet t6"))
		tb.follow(t, press("Compare A and B"))
		sentence = run(t, tb, chromedp.Text(chromedp.CSS("main h1")))
		if !strings.Contains(sentence, "128 goroutines") {
			t.Errorf("the headline %q does not say 128 goroutines", sentence)
		}
		if got := run(t, tb, chromedp.Text(chromedp.CSS(".abcell.delta"))); !strings.Contains(got, "+128") {
			t.Errorf("the change is shown as %q, want +128", got)
		}
	})
	step(t, "the ticker of cAdvisor leaks, above what did not change", func(t *testing.T) {
		got := ask[map[string]string](t, tb, growingRow("housekeepingTick"))
		want := map[string]string{"a": "16", "b": "56", "delta": "▲+40", "verdict": "▲leaking", "above": "true"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("row of housekeepingTick (-want +got):\n%s", diff)
		}
	})
	step(t, "an opened row shows two stacks side by side", func(t *testing.T) {
		tb.follow(t, chromedp.Click(chromedp.CSS(`a.tw[aria-expanded="false"][aria-label*="housekeepingTick"]`)))
		tb.do(t, see("tr.open .stacks.wide-grid"))
		beside := ask[bool](t, tb, `(() => {
			const [a, b] = [...document.querySelectorAll('tr.open .stacks.wide-grid > h4')].map(e => e.getBoundingClientRect());
			return a.top === b.top && a.right <= b.left && a.width > 200 && b.width > 200;
		})()`)
		if !beside {
			t.Error("the stacks of A and B do not stand side by side")
		}
		inA := ask[int](t, tb, `[...document.querySelectorAll('tr.open .stacks.wide-grid > div.fr:not(.pad) .n')].filter(e => e.getClientRects().length && e.textContent.includes('housekeepingTick')).length`)
		if inA != 2 {
			t.Errorf("housekeepingTick stands %d times in the two stacks, want once in each", inA)
		}
	})
	step(t, "the family has its counts in every snapshot", func(t *testing.T) {
		tb.follow(t, chromedp.Click(chromedp.CSS("tr.open .dhead a")))
		text := run(t, tb, chromedp.TextContent(chromedp.CSS("main")))
		if want := "t0 4, t1 16, t2 24, t3 32, t4 40, t5 48, t6 56, t7 64, t8 4"; !strings.Contains(text, want) {
			t.Errorf("the family page does not say %q\n%s", want, tb.where())
		}
	})
	step(t, "a raw line leads to the lines of the file", func(t *testing.T) {
		tb.do(t, chromedp.Click(chromedp.CSS("#p-members > summary")))
		tb.follow(t, chromedp.Click(chromedp.CSS(`table.members a[href^="/raw/"]`)))
		marked := run(t, tb, chromedp.TextContent(chromedp.CSS(".raw tr.hl td")))
		if !strings.HasPrefix(marked, "goroutine ") {
			t.Errorf("the first marked line is %q, want the header of a goroutine", marked)
		}
	})
	step(t, "the way back leads to the comparison", func(t *testing.T) {
		tb.do(t, chromedp.NavigateBack(), chromedp.NavigateBack())
		if at := tb.path(t); !strings.HasPrefix(at, "/diff/") {
			t.Fatalf("two steps back is %s, want the comparison", at)
		}
	})
	step(t, "sharing with the defaults gives a link and an owner key", func(t *testing.T) {
		tb.follow(t, press("Share…"))
		tb.follow(t, press("Freeze"))
		link = run(t, tb, chromedp.Value(chromedp.CSS("#link")))
		if !strings.HasPrefix(link, tb.base+"/p/") {
			t.Fatalf("the link is %q", link)
		}
		if key := run(t, tb, chromedp.Value(chromedp.CSS("#key"))); len(key) < 20 {
			t.Errorf("the owner key is %q", key)
		}
	})
	step(t, "a stranger reads the same and nothing else", func(t *testing.T) {
		stranger := openTab(t, tb.base)
		stranger.open(t, strings.TrimPrefix(link, tb.base))
		checkFrozen(t, stranger, sentence)
	})
	step(t, "the twins of the link answer without the names that were taken out", func(t *testing.T) {
		for _, suffix := range []string{".md", ".json"} {
			if body := get(t, link+suffix); strings.Contains(body, "realnode1") || !strings.Contains(body, "housekeepingTick") {
				t.Errorf("%s: want housekeepingTick and no host name in it:\n%.2000s", suffix, body)
			}
		}
	})
}

// growingRow is an expression that gives the figures of the row of a function in
// the growing section, and whether that stands above the unchanged ones.
func growingRow(function string) string {
	return `(() => {
		const row = [...document.querySelectorAll('section.dsec[aria-labelledby="h-growing"] tbody tr')].find(tr => tr.textContent.includes('` + function + `'));
		if (!row) return {};
		const cell = l => row.querySelector('td[data-l="' + l + '"]').textContent.trim();
		const unchanged = [...document.querySelectorAll('.dsec')].find(e => e.textContent.trim().startsWith('Unchanged'));
		const above = unchanged && row.getBoundingClientRect().bottom <= unchanged.getBoundingClientRect().top;
		return {a: cell('A'), b: cell('B'), delta: cell('Δ'), verdict: row.querySelector('.ver').textContent.trim(), above: String(above)};
	})()`
}

// checkFrozen demands that a permalink says this sentence, leads to no live page
// and names no host.
func checkFrozen(t *testing.T, tb *tab, sentence string) {
	t.Helper()
	if got := run(t, tb, chromedp.Text(chromedp.CSS("main h1"))); got != sentence {
		t.Errorf("the frozen result says %q, want %q", got, sentence)
	}
	live := ask[[]string](t, tb, `[...document.querySelectorAll('[href],[action]')]
		.map(e => e.getAttribute('href') || e.getAttribute('action'))
		.filter(h => /^(\/(cases|diff|families|snapshots|bundles|raw|search|share|series)|\/$)/.test(h))`)
	if diff := cmp.Diff([]string{}, live); diff != "" {
		t.Errorf("links to live pages (-want +got):\n%s", diff)
	}
	if source := ask[string](t, tb, `document.documentElement.outerHTML`); strings.Contains(source, "realnode1") {
		i := strings.Index(source, "realnode1")
		t.Errorf("the host name is in the frozen page: …%s…", source[max(i-200, 0):i+9])
	}
}

// get is the body of an address that must answer 200.
func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s\n%.500s", url, answer.Status, body)
	}
	return string(body)
}
