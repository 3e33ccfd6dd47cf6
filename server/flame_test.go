package server

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"leakdiff/server/casepage"
	"leakdiff/server/intake"
	"leakdiff/server/share"
)

// calling is a dump of goroutines that main.start created: n in main.Pool.read below
// main.Pool.run, m in main.Pool.idle.
func calling(n, m int) string {
	var b strings.Builder
	b.WriteString("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:10 +0x1d\n\n")
	id := 5
	for range n {
		fmt.Fprintf(&b, "goroutine %d [IO wait, 4 minutes]:\nmain.(*Pool).read(0xc000010000)\n\t/src/pool.go:30 +0x1d\nmain.(*Pool).run(0xc000010000)\n\t/src/pool.go:20 +0x1d\ncreated by main.start in goroutine 1\n\t/src/main.go:9 +0x1d\n\n", id)
		id++
	}
	id = 5000
	for range m {
		fmt.Fprintf(&b, "goroutine %d [select]:\nmain.(*Pool).idle(0xc000010000)\n\t/src/pool.go:40 +0x1d\ncreated by main.start in goroutine 1\n\t/src/main.go:9 +0x1d\n\n", id)
		id++
	}
	return b.String()
}

// series uploads dumps one after the other as t0, t1, ... of one process.
func (s *site) series(dumps ...string) intake.Uploaded {
	s.t.Helper()
	files := map[string]string{}
	for i, d := range dumps {
		files[fmt.Sprintf("t%d.txt", i)] = d
	}
	body, kind := form(s.t.(*testing.T), files, nil)
	r := s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind)
	if r.status != http.StatusCreated {
		s.t.Fatalf("uploading gave %d: %s", r.status, r.body)
	}
	return decode[intake.Uploaded](s.t, r.body)
}

// figures are the label and figure of each box of the wide drawing.
func figures(html string) []string {
	wide, _, _ := strings.Cut(html, `<div class="narrow-only"><svg class="flame"`)
	var out []string
	for _, m := range regexp.MustCompile(`class="fb[^>]*><title>([^<]*)</title>`).FindAllStringSubmatch(wide, -1) {
		out = append(out, m[1])
	}
	return out
}

func TestAFlameGraphCountsEveryGoroutineAndZooms(t *testing.T) {
	s := newSite(t)
	up := s.series(calling(30, 10))
	page := "/snapshots/" + up.Snapshots[0].ID + "/flame"
	whole := s.get(page)
	if whole.status != 200 {
		t.Fatalf("status %d: %s", whole.status, whole.body)
	}
	boxes := strings.Join(figures(whole.body), "\n")
	for _, want := range []string{"all: 40 goroutines, 100.0\u00a0%", "created by main.start: 40 goroutines", "main.(*Pool).run: 30 goroutines, 75.0\u00a0%", "main.(*Pool).read: 30 goroutines", "main.(*Pool).idle: 10 goroutines, 25.0\u00a0%"} {
		if !strings.Contains(boxes, want) {
			t.Errorf("no box says %q:\n%s", want, boxes)
		}
	}
	zoom := regexp.MustCompile(`href="([^"]*zoom=[0-9a-f]{16})"><title>main\.\(\*Pool\)\.run:`).FindStringSubmatch(whole.body)
	if zoom == nil {
		t.Fatal("the box of main.(*Pool).run has no link")
	}
	closer := s.get(strings.ReplaceAll(zoom[1], "&amp;", "&"))
	if got := figures(closer.body); len(got) != 2 || !strings.HasPrefix(got[0], "main.(*Pool).run: 30") {
		t.Errorf("the zoomed graph has the boxes %q", got)
	}
	for _, want := range []string{"30 goroutines in main.(*Pool).run.", `aria-label="Path to this box"`, "all goroutines", "main.(*Pool).read"} {
		if !strings.Contains(closer.body, want) {
			t.Errorf("the zoomed page lacks %q", want)
		}
	}
	s.run(t, []scenario{
		{name: "a search marks functions and counts who is in them", path: page + "?q=POOL).r", status: 200, want: []string{`class="fb f1 found"`, "2\u00a0calls with “POOL).r”, on the stacks of 30 of 40 goroutines."}},
		{name: "a search for nothing there says so", path: page + "?q=nowhere", status: 200, want: []string{"No function here has “nowhere” in its name."}, never: []string{" found\""}},
		{name: "a search is escaped", path: page + "?q=%3Cscript%3E", status: 200, never: []string{"<script>"}},
		{name: "an unknown box leads to the whole", path: page + "?zoom=ffffffffffffffff", status: 200, want: []string{"The box that the address names is not in this graph", "all: 40 goroutines"}},
		{name: "a function is shown with its callers and callees", path: page + "?function=main.(*Pool).run", status: 200, want: []string{"30 goroutines in main.(*Pool).run.", "Callers and callees", "created by main.start: 30 goroutines, 100.0", "main.(*Pool).read: 30 goroutines", "Families with this function"}, never: []string{"main.(*Pool).idle: "}},
		{name: "a function that no stack has leads to the whole", path: page + "?function=main.none%3Cb%3E", status: 200, want: []string{"No stack at t0 has the function that the address names; the whole is shown.", "all: 40 goroutines"}, never: []string{"none<b>"}},
		{name: "one function is chosen from all", path: page + "?list=own", status: 200, want: []string{"2\u00a0functions, each with the goroutines", "function=main.%28%2APool%29.idle", "10 end in it"}, never: []string{"function=main.%28%2APool%29.run"}},
		{name: "a box leads to its function in all stacks", path: strings.ReplaceAll(zoom[1], "&amp;", "&"), status: 200, want: []string{"Callers and callees of main.(*Pool).run in all stacks</a>"}},
		{name: "the callers and callees are data as well", path: page + ".json?function=main.(*Pool).run", status: 200, want: []string{`"callers"`, `"callees"`}},
		{name: "without a function there are none", path: page + ".json?function=main.none", status: 200, never: []string{`"callers"`}},
		{name: "it is Markdown as well", path: page + ".md", status: 200, want: []string{"# ", "40 goroutines", "main.(\\*Pool).read"}},
		{name: "it is text as well", path: page + ".txt", status: 200, want: []string{"40 goroutines"}},
		{name: "it is data as well", path: page + ".json", status: 200, want: []string{`"schema": "leakdiff.flame/1"`, `"function": "main.(*Pool).read"`, `"count": 40`}, never: []string{`"before"`}},
		{name: "the snapshot shows its upper part and leads there", path: "/snapshots/" + up.Snapshots[0].ID, status: 200, want: []string{"Open the flame graph", "main.(*Pool).run: 30 goroutines", "Waiting at least, minutes"}},
		{name: "there is no other page below a snapshot", path: "/snapshots/" + up.Snapshots[0].ID + "/icicle", status: 404, want: []string{"there is no such page"}},
		{name: "a snapshot that is not there has none", path: "/snapshots/snone/flame", status: 404, want: []string{"there is no such snapshot"}},
	})
}

func TestADifferentialFlameGraphTellsRisesAndFalls(t *testing.T) {
	s := newSite(t)
	up := s.series(calling(30, 10), calling(70, 4), calling(70, 4)+"\n")
	id := func(i int) string { return up.Snapshots[i].ID }
	page := "/diff/" + id(0) + ".." + id(1) + "/flame"
	r := s.get(page)
	boxes := strings.Join(figures(r.body), "\n")
	for _, want := range []string{"all: 40 → 74 goroutines, ▲+34 (+40 and −6)", "main.(*Pool).run: 30 → 70 goroutines, ▲+40", "main.(*Pool).idle: 10 → 4 goroutines, ▼−6"} {
		if !strings.Contains(boxes, want) {
			t.Errorf("no box says %q:\n%s", want, boxes)
		}
	}
	s.run(t, []scenario{
		{name: "growth and shrinking are hatched against each other", path: page, status: 200, want: []string{`class="pt up"`, `class="pt down"`, ">▲+40<", ">▼−6<", "+40 and −6 goroutines"}},
		{name: "it can be as wide as its members", path: page + "?width=members", status: 200, want: []string{"A box is as wide as its goroutines at t1", "▼−6"}},
		{name: "nothing rose or fell", path: "/diff/" + id(1) + ".." + id(2) + "/flame", status: 200, want: []string{"No call rose or fell from t1 to t2.", "no change among 74 goroutines"}, never: []string{`<svg class="flame"`}},
		{name: "it is data with both figures", path: page + ".json", status: 200, want: []string{`"before": 40`, `"rise": 40`, `"fall": 6`}},
		{name: "the comparison leads there", path: "/diff/" + id(0) + ".." + id(1), status: 200, want: []string{`/flame?case=` + up.Case + `">Flame graph</a>`}},
		{name: "one snapshot alone is no pair", path: "/diff/" + id(0) + "/flame", status: 404},
	})
}

func TestACutDumpHasNoDifferentialFlameGraph(t *testing.T) {
	s := newSite(t)
	whole := calling(70, 4)
	up := s.series(calling(30, 10), whole[:len(whole)/2])
	page := "/diff/" + up.Snapshots[0].ID + ".." + up.Snapshots[1].ID + "/flame"
	s.run(t, []scenario{
		{name: "nothing can be said to have risen or fallen", path: page, status: 200, want: []string{"≥\u00a0"}, never: []string{"▲", "▼", "rose and what fell"}},
		{name: "the graph of the cut dump alone says that it is a lower bound", path: "/snapshots/" + up.Snapshots[1].ID + "/flame", status: 200, want: []string{"every figure is a lower bound", "≥\u00a0"}},
	})
}

func TestFrozenFlameGraphsLinkNowhere(t *testing.T) {
	s := newSite(t)
	up := s.series(calling(30, 10), calling(70, 4))
	a, b := up.Snapshots[0].ID, up.Snapshots[1].ID
	for _, view := range []string{"/snapshots/" + a + "/flame", "/snapshots/" + a + "/flame?function=main.(*Pool).run", "/diff/" + a + ".." + b + "/flame", "/snapshots/" + a, "/cases/" + up.Case + "?charts=1"} {
		answer := s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+up.Case+`","view":"`+view+`"}`))
		if answer.status != 201 {
			t.Fatalf("%s: freezing gave %d: %s", view, answer.status, answer.body)
		}
		kept := decode[share.Result](t, answer.body)
		for _, suffix := range []string{"", ".md", ".json"} {
			r := s.get(kept.Link + suffix)
			if r.status != 200 {
				t.Fatalf("%s%s gave %d", view, suffix, r.status)
			}
			for _, never := range []string{`href="/cases`, `href="/diff`, `href="/families`, `href="/snapshots`, "<form", up.Case} {
				if strings.Contains(r.body, never) {
					t.Errorf("%s%s holds %q", view, suffix, never)
				}
			}
		}
		if r := s.get(kept.Link); !strings.Contains(r.body, `<svg class="flame"`) && !strings.Contains(r.body, `<svg class="stack"`) {
			t.Errorf("%s: the kept page draws nothing", view)
		}
	}
}

func TestTheFurtherChartsOfALargeCaseAreMadeWhenAskedFor(t *testing.T) {
	s := newSite(t)
	files := map[string]string{}
	for _, process := range []string{"alpha", "beta", "gamma", "delta", "epsilon"} {
		for i := range 21 {
			n := 5
			if process == "gamma" {
				n += 10 * i
			}
			files[fmt.Sprintf("capture/202611%02dT000000Z/%s/goroutine-debug2.txt", i+1, process)] = calling(n, 3)
		}
	}
	body, kind := form(t, files, nil)
	r := s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind)
	up := decode[intake.Uploaded](t, r.body)
	if len(up.Snapshots) != 105 {
		t.Fatalf("%d snapshots, want 105: %s", len(up.Snapshots), r.body)
	}
	drawn := func(path string) (n int, html string) {
		r := s.get(path)
		if r.status != 200 {
			t.Fatalf("%s gave %d", path, r.status)
		}
		return strings.Count(r.body, `class="proccharts"`), r.body
	}
	if n, html := drawn(up.Link); n != 0 || !strings.Contains(html, "?charts=1#charts") || !strings.Contains(html, "?charts=%2Fbeta#charts") {
		t.Errorf("%d processes are drawn unasked, want links to draw them", n)
	}
	if n, html := drawn(up.Link + "?charts=1"); n != casepage.MaxDrawn || !strings.Contains(html, "4 of 5\u00a0processes are drawn") {
		t.Errorf("%d processes are drawn, want the first %d", n, casepage.MaxDrawn)
	}
	if _, html := drawn(up.Link + "?charts=1"); !strings.Contains(html, `<h3 id="h-pc0">gamma</h3>`) {
		t.Error("the process that grows is not drawn first")
	}
	if n, html := drawn(up.Link + "?charts=%2Fbeta"); n != 1 || !strings.Contains(html, `<h3 id="h-pc0">beta</h3>`) {
		t.Errorf("%d processes are drawn, want beta alone", n)
	}
}

func TestTheFurtherChartsAreDrawnOnRequestAndInWhatIsSaved(t *testing.T) {
	s := newSite(t)
	up := s.series(calling(10, 3), calling(30, 3), calling(50, 3), calling(70, 3))
	if r := s.get(up.Link); !strings.Contains(r.body, "?charts=1#charts") || strings.Contains(r.body, "Births per snapshot") {
		t.Error("the page has the charts, want a link to them")
	}
	for _, path := range []string{up.Link + "?charts=1", up.Link + ".html"} {
		_, charts, found := strings.Cut(s.get(path).body, `id="charts"`)
		if !found {
			t.Fatalf("%s has no further charts", path)
		}
		for _, want := range []string{"Goroutines by family", "States of its goroutines", "Births per snapshot", "main.(*Pool).read", "10 → 70", "t0 to t1: 20 born"} {
			if !strings.Contains(charts, want) {
				t.Errorf("%s: the charts lack %q", path, want)
			}
		}
	}
	if one := s.get(s.series(calling(1, 1)).Link); strings.Contains(one.body, `id="charts"`) {
		t.Error("one snapshot has charts over time")
	}
}
