package browsertest

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// codeScreen is an expression that measures where the stack of a page stands.
const codeScreen = `(() => {
	const box = e => e.getBoundingClientRect();
	const rows = [...document.querySelectorAll('.code .stacks .fr')].filter(e => e.checkVisibility() && !e.closest('details:not([open]) > :not(summary)'));
	const after = ['h-why', 'h-seen', 'h-known', 'h-unit', 'h-shape', 'p-key', 'p-stacks', 'p-members'].map(id => document.getElementById(id)).filter(e => e);
	return {
		Rows: rows.length,
		First: rows.length ? box(rows[0]).top : 1e9,
		Last: rows.length ? Math.max(...rows.map(e => box(e).bottom)) : 1e9,
		Places: rows.filter(e => /\.(go|s):\d+$/.test(e.querySelector('.loc')?.innerText.trim() ?? '')).length,
		Start: document.querySelector('.start .at')?.innerText ?? '',
		StartAt: document.querySelector('.start') ? box(document.querySelector('.start')).top : 1e9,
		Links: [...document.querySelectorAll('.code .loc a')].filter(a => /^https:\/\/(github\.com|gitlab\.com|go\.googlesource\.com)\//.test(a.href) && a.rel == 'noreferrer noopener').length,
		AllLinks: document.querySelectorAll('.code a').length - document.querySelectorAll('.start a').length,
		After: after.length,
		Next: Math.min(1e9, ...after.map(e => box(e).top)),
		Excerpt: [...document.querySelectorAll('.excerpt .hl code')].map(e => e.innerText).join(),
		Wide: document.documentElement.scrollWidth > innerWidth,
	};
})()`

type codeMeasures struct {
	Rows, Places, Links, AllLinks, After int
	First, Last, StartAt, Next           float64
	Start, Excerpt                       string
	Wide                                 bool
}

// started is the source of what starts the goroutines of the sample of two dumps.
const started = "package main\n\n\n\n\n\n\n\n\n\n\n\n\n\nfunc startWorkers() {\n\tfor range 100 {\n\t\tw := &worker{}\n\t\tgo w.wait()\n\t}\n}\n"

func TestTheStackIsOnTheFirstScreen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(started), 0o600); err != nil {
		t.Fatal(err)
	}
	tb := openTab(t, startProgram(t, "--source", dir))
	kubelet := uploadSample(t, tb.base)
	two, err := os.Open("../../samples/two-dumps/two-dumps.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	var leaky uploaded
	send(t, http.MethodPut, tb.base+"/api/v1/bundles/two-dumps.tar.gz?wait=1", two, &leaky)
	for _, c := range []struct {
		sight
		rows, links    int
		start, excerpt string
	}{
		{sight{"a family with own code and its source", firstFamily(t, tb.base, leaky, "leaky")}, 2, 0, "main.go:18", "        go w.wait()"},
		{sight{"a family of a library with a version", firstFamily(t, tb.base, kubelet, "kubelet")}, 3, 3, "container.go:120", ""},
		{sight{"a family with a long stack", firstFamily(t, tb.base, kubelet, "containerd")}, 10, 0, "", ""},
		{sight{"a kind of objects", "/objects/o1?case=" + kubelet.Case}, 3, 3, "container.go:120", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tb.do(t, chromedp.EmulateViewport(wide, 900))
			tb.open(t, c.path)
			got := ask[codeMeasures](t, tb, codeScreen)
			if got.Rows < c.rows || got.Places < c.rows || got.Last > 900 {
				t.Errorf("%d frames, %d with file and line, end at %.0f px: %+v", got.Rows, got.Places, got.Last, got)
			}
			if got.Links < c.links || got.Links != got.AllLinks {
				t.Errorf("%d links to source of %d, want at least %d", got.Links, got.AllLinks, c.links)
			}
			if c.start != "" && got.Start[:min(len(got.Start), len(c.start))] != c.start || got.Start == "" || got.StartAt > 900 {
				t.Errorf("started at %q at %.0f px, want %q", got.Start, got.StartAt, c.start)
			}
			if got.Excerpt != c.excerpt {
				t.Errorf("the marked line is %q, want %q", got.Excerpt, c.excerpt)
			}
			if got.After < 3 || got.Next < got.Last {
				t.Errorf("%d further parts, the first at %.0f px, the stack ends at %.0f px", got.After, got.Next, got.Last)
			}
			tb.do(t, chromedp.EmulateViewport(narrow, 844))
			tb.open(t, c.path)
			got = ask[codeMeasures](t, tb, codeScreen)
			if got.Wide || got.First > 844 || got.StartAt > 844 {
				t.Errorf("on a phone the stack begins at %.0f px and what started it at %.0f px: %+v", got.First, got.StartAt, got)
			}
		})
	}
}

// firstFamily is the address of the first family of the first finding of a process that has
// a stack.
func firstFamily(t *testing.T, base string, up uploaded, process string) string {
	t.Helper()
	var found struct {
		Series []struct {
			Process  string
			Findings []struct {
				StackOf *struct{ Family string } `json:"stack_of"`
			}
		}
	}
	if err := json.Unmarshal([]byte(get(t, base+"/cases/"+up.Case+".json")), &found); err != nil {
		t.Fatal(err)
	}
	for _, s := range found.Series {
		for _, f := range s.Findings {
			if s.Process == process && f.StackOf != nil {
				return "/families/" + f.StackOf.Family + "?case=" + up.Case
			}
		}
	}
	t.Fatalf("no finding of %s has a stack", process)
	return ""
}
