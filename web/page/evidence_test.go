package page

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/report"
	"leakdiff/web/view"
)

func TestPagesOfTheSampleSayWhatTheSampleHolds(t *testing.T) {
	open := url.Values{"open": {podWorker}}
	for _, tt := range []struct {
		name  string
		page  templ.Component
		wants []string
		lacks []string
	}{
		{
			name: "case",
			page: HTML(view.NewCase(sampleCase(t)).Page()),
			wants: []string{
				"cAdvisor containers of kubelet grew from 4 to 64, back at 4 at t8",
				`action="/diff-pick"`, `name="a" value="skubelet0" checked`, "4\u00a0min\u00a050\u00a0s without a snapshot",
				"24 born over six intervals, 0 ended before t8", "All 6 families", "(2)", `href="/snapshots/skubelet3?case=cprobe"`,
				`action="/upload?case=cprobe"`,
			},
		},
		{
			name: "diff",
			page: HTML(view.NewDiff(sampleDiff(t, open)).Page()),
			wants: []string{
				"kubelet grew by 128 goroutines in 7\u00a0min\u00a020\u00a0s: 131 were born, 3 ended.", "▲", "+239", "+111\u00a0%", "CLOSE_WAIT",
				`aria-sort="descending"`, "only in B", "5 frames of google.golang.org/grpc", "≥\u00a03\u00a0min",
				"Shrunk</b> <span class=\"muted\">none", "The dump of t1 is cut", `href="/diff/skubelet6..skubelet1?case=cprobe"`,
			},
		},
		{
			name:  "diff of one kind",
			page:  HTML(view.NewDiff(sampleDiff(t, url.Values{"kind": {"watch"}})).Page()),
			wants: []string{"kubelet grew by 239 inotify watches", "fstype"},
			lacks: []string{"housekeepingTick"},
		},
		{
			name: "family",
			page: HTML(view.NewFamily(sampleFamily(t)).Page()),
			wants: []string{
				"github.com/docker/go-metrics", "24 at t7", "Why leaking", "≥\u00a04\u00a0min", "The cause went away at t8",
				"14140", "t2, 03:03:26", "6\u00a0snapshots", "title of the family", "goroutine 14143 [semacquire, 4 minutes]:", "Figures as a table",
				"line 1\u202f", "In no other case on this server.",
			},
		},
		{
			name: "snapshot",
			page: HTML(view.NewSnapshot(sampleSnapshot(t, nil))),
			wants: []string{
				"kubelet at t6 has 243 goroutines", "355 inotify watches", "20\u202f000", "88\u00a0MB", "captured_at of t6",
				`href="/raw/b1?path=t6%2Fkubelet%2Fgoroutine-debug2.txt`, "inotify max user instances", "2 times",
			},
		},
		{
			name:  "snapshot filtered by part of a function",
			page:  HTML(view.NewSnapshot(sampleSnapshot(t, url.Values{"q": {"HOUSEKEEP"}}))),
			wants: []string{"housekeepingTick"},
			lacks: []string{"RunPodSandbox</span>"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			html := render(t, tt.page)
			keepPage(t, strings.ReplaceAll(tt.name, " ", "-"), html)
			for _, want := range tt.wants {
				if !strings.Contains(html, want) {
					t.Errorf("page lacks %q", want)
				}
			}
			for _, no := range tt.lacks {
				if strings.Contains(html, no) {
					t.Errorf("page has %q", no)
				}
			}
			wellFormed(t, html)
		})
	}
}

var idAttribute = regexp.MustCompile(` id="([^"]*)"`)

// wellFormed checks what every page owes: one h1, unique ids, references that
// resolve, nothing that the content security policy would refuse.
func wellFormed(t *testing.T, html string) {
	t.Helper()
	if n := strings.Count(html, "<h1"); n != 1 {
		t.Errorf("page has %d h1, want 1", n)
	}
	for _, no := range []string{" style=", "<style", " onclick=", "javascript:", "<script>"} {
		if strings.Contains(html, no) {
			t.Errorf("page has %q", no)
		}
	}
	ids := map[string]bool{}
	for _, m := range idAttribute.FindAllStringSubmatch(html, -1) {
		if ids[m[1]] {
			t.Errorf("id %q stands twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(` aria-labelledby="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		for _, id := range strings.Fields(m[1]) {
			if !ids[id] {
				t.Errorf("aria-labelledby names %q, which is nowhere", id)
			}
		}
	}
	if n := strings.Count(html, `class="btn primary"`); n > 1 {
		t.Errorf("page has %d primary buttons", n)
	}
}

func TestFrozenPagesLinkToNoLivePage(t *testing.T) {
	c, d, f, s, o := sampleCase(t), sampleDiff(t, nil), sampleFamily(t), sampleSnapshot(t, nil), sampleObject(t)
	c.Frozen, d.Frozen, f.Frozen, s.Frozen, o.Frozen = true, true, true, true, true
	f.Sightings = []view.Sighting{{CaseTitle: "another", URL: "/cases/cother", Counts: "0 to 7"}}
	seal := &view.Seal{Made: "2026-11-21"}
	cv, dv, fv, sv := view.NewCase(c), view.NewDiff(d), view.NewFamily(f), view.NewSnapshot(s)
	ov := view.NewObject(o)
	cv.Shell.Seal, dv.Shell.Seal, fv.Shell.Seal, sv.Shell.Seal, ov.Shell.Seal = seal, seal, seal, seal, seal
	for name, page := range map[string]templ.Component{"case": HTML(cv.Page()), "diff": HTML(dv.Page()), "family": HTML(fv.Page()), "snapshot": HTML(sv), "objects": HTML(ov)} {
		t.Run(name, func(t *testing.T) {
			html := render(t, page)
			keepPage(t, "frozen-"+name, html)
			for _, no := range []string{"/cases/", "/diff", "/families/", "/objects/", "/snapshots/", "/bundles/", "/raw/", "/upload", "<form", "/search"} {
				for _, attr := range []string{`href="` + no, `action="` + no} {
					if strings.Contains(html, attr) {
						t.Errorf("frozen page has %s", attr)
					}
				}
			}
			if strings.Contains(html, "<form") {
				t.Error("frozen page has a form")
			}
			wellFormed(t, html)
		})
	}
	if html := render(t, HTML(dv.Page())); !strings.Contains(html, "waitOnHeader") {
		t.Error("a frozen diff lacks the stacks that its reader cannot ask for")
	}
}

const hostile = "<script>alert(1)</script>\u202egnp|`x`\n[a](http://evil)"

func TestHostileNamesAreEscapedEverywhere(t *testing.T) {
	c := sampleCase(t)
	c.Title, c.Bundles[0].Name = hostile, hostile
	c.Report.Series[0].Process = hostile
	c.Report.Series[0].Families[0].Title = hostile
	c.Report.Series[0].Families[0].Evidence[0].Text = hostile
	c.Report.Series[0].Findings[0].Title, c.Report.Series[0].Findings[0].Text = hostile, hostile
	c.Report.Problems[0].What, c.Report.Problems[0].Path = hostile, hostile
	for i := range c.Report.Snapshots {
		c.Report.Snapshots[i].Label = hostile
	}
	d := sampleDiff(t, url.Values{"open": {podWorker, "w1:33333333333333333333333333333333"}, "q": {""}})
	d.Result.Rows[1].Family.Title = hostile
	d.Result.Rows[1].VariantB.Frames[6].Func = hostile
	d.Result.Rows[1].StatesB = map[string]int{hostile: 1}
	d.Result.Rows[2].Family.Attributes[hostile] = hostile
	d.Result.Warnings = []diff.Warning{{Form: "versions", A: hostile, B: hostile, Was: hostile, Is: hostile}}
	f := sampleFamily(t)
	f.Family.Title, f.Process, f.RawTitle = hostile, hostile, hostile
	f.Steps[0].Printed = hostile
	f.Groups[7].States = map[string]int{hostile: 24}
	f.Members[0].Member.State = hostile
	f.RawExcerpt[0].Text = view.Visible(hostile)
	s := sampleSnapshot(t, nil)
	s.Snapshot.Process.Name.Value, s.Snapshot.Label = hostile, hostile
	s.Snapshot.Artifacts[0].Path, s.Snapshot.Artifacts[0].Reason = hostile, hostile
	s.Snapshot.Figures[hostile] = 1
	s.Snapshot.Groups[0].Family.Title = hostile
	o := sampleObject(t)
	o.Objects.Name, o.Objects.Type, o.Objects.Process, o.Objects.At = hostile, hostile, hostile, hostile
	o.Objects.Each[0].Roles[0].Role, o.Objects.Stacks[0].Role, o.Objects.Stacks[0].Stack[0].Function = hostile, hostile, hostile
	o.Objects.Holders[0].Type, o.Objects.Evidence[0].Text = hostile, hostile
	c.Report.Series[0].Objects = []report.Object{o.Objects.Object}
	cv, dv, fv, sv, ov := view.NewCase(c), view.NewDiff(d), view.NewFamily(f), view.NewSnapshot(s), view.NewObject(o)
	for name, page := range map[string]templ.Component{"case": HTML(cv.Page()), "diff": HTML(dv.Page()), "family": HTML(fv.Page()), "snapshot": HTML(sv), "objects": HTML(ov)} {
		t.Run(name, func(t *testing.T) {
			html := render(t, page)
			for _, no := range []string{"<script>alert", "\u202e", " style=", " onclick="} {
				if strings.Contains(html, no) {
					t.Errorf("page has %q", no)
				}
			}
			if !strings.Contains(html, "&lt;script&gt;alert(1)") {
				t.Error("the hostile name is nowhere: the test proves nothing")
			}
		})
	}
	for name, text := range map[string]string{"case": cv.Page().Body.Markdown(), "diff": dv.Page().Body.Markdown(), "family": fv.Page().Body.Markdown(), "snapshot": sv.Body.Markdown(), "objects": ov.Body.Markdown()} {
		t.Run(name+" as Markdown", func(t *testing.T) {
			outside := withoutFences(text)
			for _, no := range []string{"<script>", "\u202e", "http://evil", "[a](", " `x`"} {
				if strings.Contains(outside, no) {
					t.Errorf("text has %q", no)
				}
			}
			if !strings.Contains(text, "alert(1)") {
				t.Error("the hostile name is nowhere: the test proves nothing")
			}
		})
	}
}

// withoutFences drops code blocks, whose content is not read as Markdown.
func withoutFences(text string) string {
	var out []string
	fence := ""
	for _, l := range strings.Split(text, "\n") {
		ticks := l[:len(l)-len(strings.TrimLeft(l, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3:
			fence = ticks
		case fence != "" && l == fence:
			fence = ""
		case fence == "":
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}

func TestADiffOfFourHundredFamiliesStaysSmall(t *testing.T) {
	in := sampleDiff(t, url.Values{})
	row := in.Result.Rows[4]
	for range 400 {
		in.Result.Rows = append(in.Result.Rows, row)
	}
	in.Result.Rows[4].VariantA = stack("x.y", "unchanged.stack")
	html := render(t, HTML(view.NewDiff(in).Page()))
	if strings.Contains(html, "unchanged.stack") {
		t.Error("an unchanged row carries its stack")
	}
	if len(html) > 150_000 {
		t.Errorf("page has %d bytes", len(html))
	}
	if n := strings.Count(html, `<tr id="unchanged-`); n != 50 {
		t.Errorf("page has %d unchanged rows, want the first 50", n)
	}
	for _, want := range []string{"351\u00a0more families are not shown.", "all=1"} {
		if !strings.Contains(html, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	in.Query = url.Values{"all": {"1"}}
	if n := strings.Count(render(t, HTML(view.NewDiff(in).Page())), `<tr id="unchanged-`); n != 401 {
		t.Errorf("the whole page has %d unchanged rows, want 401", n)
	}
}

func TestACaseBeingReadSaysSo(t *testing.T) {
	html := render(t, HTML(view.NewCase(view.CaseInput{ID: "c", Title: "new", Bundles: []view.BundleLine{{ID: "b9", Name: "big.tgz", Status: "reading"}}}).Page()))
	for _, want := range []string{"big.tgz is being read.", `href="/bundles/b9"`, `role="status"`} {
		if !strings.Contains(html, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	wellFormed(t, html)
}

func TestDescriptorFamiliesShowAttributesInsteadOfStacks(t *testing.T) {
	in := sampleFamily(t)
	in.Steps, in.Lifelines, in.Members = nil, nil, nil
	in.Family.Kind, in.Family.Title = analysis.KindDescriptor, "TCP to 10.0.0.1:443"
	in.Family.Attributes = map[string]string{"remote": "10.0.0.1:443", "state": "CLOSE_WAIT"}
	html := render(t, HTML(view.NewFamily(in).Page()))
	for _, want := range []string{"CLOSE_WAIT", "10.0.0.1:443", "They share every one of these attributes", "cannot be followed"} {
		if !strings.Contains(html, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	wellFormed(t, html)
}
