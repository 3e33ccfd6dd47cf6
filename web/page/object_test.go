package page

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/web/view"
)

// sampleObjects are connections of two goroutines each, one of which holds a descriptor by
// equal numbers.
func sampleObjects() report.Object {
	const conn = "example.org/app/wire.(*Conn)"
	return report.Object{
		ID: "o1", Name: "*wire.Conn", Type: conn, Counts: counts(2, 4, 6), Born: analysis.Counts{analysis.Count{}, counts(2)[0], counts(3)[0]}, Ended: analysis.Counts{analysis.Count{}, counts(0)[0], counts(1)[0]},
		Verdict: analysis.Leaking, Level: analysis.ByAddress, PartsLost: 1,
		Each: []report.ObjectParts{{Kind: analysis.KindGoroutine, N: 3, Roles: []report.ObjectRole{
			{Role: conn + ".read", N: 2, Level: analysis.ByAddress}, {Role: "golang.org/x/group.Go.func1 < " + conn + ".write", N: 1, Level: analysis.ByParent},
		}}},
		InStep:   []report.InStep{{Fingerprint: "d1:66666666666666666666666666666666", Kind: analysis.KindDescriptor, Ratio: 1}},
		Holders:  []report.HolderOf{{Type: "example.org/app/wire.(*Server)", Role: conn + ".read", N: 6}, {Type: "main.dial", Role: analysis.CreatedBy, N: 5}},
		Families: []string{housekeeping},
		Evidence: []report.Evidence{reason("cohort", "5 born, 1 ended"), reason("decides", "it would not be leaking if they ended")},
	}
}

func sampleObject(t *testing.T) view.ObjectInput {
	o := sampleObjects()
	life := func(root int64, first, last int) report.ObjectLifeline {
		return report.ObjectLifeline{Root: root, First: first, Last: last, FirstSeen: sampleLabels[first], LastSeen: sampleLabels[last], Goroutines: 3}
	}
	m := report.ObjectMembership{
		Object: o, Process: "kubelet", Snapshots: sampleLabels[:3], At: "t2", MembersTotal: 6, LifelinesTotal: 7,
		Lifelines: []report.ObjectLifeline{life(10, 0, 2), life(20, 0, 1), life(30, 1, 2)},
		Members:   []report.ObjectMember{{ObjectLifeline: life(10, 0, 2), Parts: []report.ObjectPart{{ID: 10, Path: "t2/g.txt"}, {ID: 11}, {ID: 12}}}},
		Stacks: []report.RoleStack{{ObjectRole: o.Each[0].Roles[0], Family: housekeeping, Variant: "e1:00", Members: 11, Of: 12,
			Stack: []report.StackFrame{{Function: "example.org/app/wire.(*Conn).read", File: "/src/wire/conn.go", Line: 41}, {Function: "main.dial", File: "/src/main.go", Line: 7, CreatedBy: true}}}},
	}
	r := sampleReport(t)
	for i := range r.Series[0].Families {
		r.Series[0].Families[i].Counts = r.Series[0].Families[i].Counts[:3]
	}
	return view.ObjectInput{
		CaseID: "cprobe", CaseTitle: "kubelet-probe-leak", SeriesKey: "/kubelet", Objects: m, IDs: r.Series[0].Snapshots[:3], Times: times(t)[:3], Epochs: []int{0, 0, 0},
		SnapshotIndex: 2, Engine: "leakdiff 1.0, engine 1",
		Families: append(r.Series[0].Families, report.Family{Fingerprint: "d1:66666666666666666666666666666666", Kind: analysis.KindDescriptor, Title: "TCP client to db:5432", Counts: counts(2, 4, 6), Verdict: analysis.Leaking}),
		RawURL: func(p *report.ObjectPart) string {
			if p.Path == "" {
				return ""
			}
			return "/raw/b1?path=t2/g.txt"
		},
	}
}

func TestThePageOfObjectsSays(t *testing.T) {
	for name, tc := range map[string]struct {
		change    func(*view.ObjectInput)
		want, not []string
	}{
		"what one object is, and what holds it": {nil, []string{
			"<h1>", "*wire.", "Conn", "kubelet: 2 to 6 objects, each 3 goroutines + 1 descriptor, 1 ended.", "they show the same address",
			"6 hang on one wire.(*Server)", "5 started by main.dial", ">2 ×<", "TCP client to db:5432", "went on with fewer goroutines",
		}, []string{"0x"}},
		"where its parts are": {nil, []string{"conn.go:41", "main.go:7", "Stack of 11 of 12 goroutines at t2", `href="/raw/b1?path=t2/g.txt">10</a>`, "/families/" + housekeeping}, nil},
		"its life":            {nil, []string{"Born and ended", "life-460", "objects-700", "The oldest 1 of 6."}, nil},
		"one snapshot alone": {func(in *view.ObjectInput) {
			o := &in.Objects
			o.Snapshots, o.Counts, o.Born, o.Ended, o.Lifelines, in.IDs, in.Times, in.Epochs, in.SnapshotIndex = o.Snapshots[:1], o.Counts[:1], o.Born[:1], o.Ended[:1], nil, in.IDs[:1], in.Times[:1], in.Epochs[:1], 0
			for i := range in.Families {
				in.Families[i].Counts = in.Families[i].Counts[:1]
			}
			o.Verdict, o.Evidence, o.PartsLost = analysis.TooFewPoints, nil, 0
		}, []string{"One snapshot has no lifelines", "too few points"}, []string{"life-460", "born</dt>"}},
		"a restart":     {func(in *view.ObjectInput) { in.Epochs = []int{0, 0, 1} }, []string{"dashed: restart"}, []string{"since t0"}},
		"nothing there": {func(in *view.ObjectInput) { in.Objects.Members, in.Objects.MembersTotal = nil, 0 }, []string{"No object is here at t2."}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := sampleObject(t)
			if tc.change != nil {
				tc.change(&in)
			}
			v := view.NewObject(in)
			html := render(t, HTML(v))
			wellFormed(t, html)
			keepPage(t, "objects-"+strings.ReplaceAll(name, " ", "-"), html)
			for _, want := range tc.want {
				if !strings.Contains(html, want) {
					t.Errorf("%q is missing", want)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(html, not) {
					t.Errorf("%q must not be there", not)
				}
			}
			if text := v.Body.Text(); !strings.Contains(text, in.Objects.Name) || strings.Contains(text, "0x") {
				t.Errorf("the text: %s", text)
			}
		})
	}
}

func TestTheCasePageListsObjectsThatMatter(t *testing.T) {
	in := sampleCase(t)
	without := render(t, HTML(view.NewCase(in).Page()))
	if strings.Contains(without, `id="h-o"`) || strings.Contains(view.NewCase(in).Page().Body.Markdown(), "## Objects") {
		t.Error("a case without objects has a table of them")
	}
	still, single := sampleObjects(), sampleObjects()
	still.Name = "*wire.Listener"
	still.ID, still.Verdict = "o2", analysis.Stable
	single.ID, single.Name, single.Verdict = "o3", "*wire.Timer", analysis.Stable
	single.Each = []report.ObjectParts{{Kind: analysis.KindGoroutine, N: 1}}
	in.Report.Series[0].Objects = []report.Object{sampleObjects(), still, single}
	in.Report.Series[0].Findings[0].Object = "o1"
	html, text := render(t, HTML(view.NewCase(in).Page())), view.NewCase(in).Page().Body.Markdown()
	wellFormed(t, html)
	for _, want := range []string{`id="h-o"`, `href="/objects/o1?case=cprobe&amp;series=%2Fkubelet">Open the objects`, `/objects/o2?`, "3 goroutines + 1 descriptor", "2 to 6", "6 hang on one wire.(*Server)"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(html, "Timer") {
		t.Error("the page lists single goroutines that did not rise")
	}
	if !strings.Contains(text, `| \*wire.Conn | 3 goroutines + 1 descriptor | 2 to 6 | 5 | 1 | 6 hang on one wire.(\*Server) | leaking |`) {
		t.Errorf("the text lacks the row: %s", text)
	}
	for range 70 {
		in.Report.Series[0].Objects = append(in.Report.Series[0].Objects, still)
	}
	c := view.NewCase(in)
	if o := c.Objects[0]; len(o.Rows) != 12 || len(o.MoreRows) != 48 || !strings.HasPrefix(o.Note, "12\u00a0more kinds are") {
		t.Errorf("%d open, %d folded, %q", len(o.Rows), len(o.MoreRows), o.Note)
	}
	if first, second := c.Objects[0].Rows[0].Aside, c.Objects[0].Rows[2].Aside; first != "" || second != "in wire.(*Conn).read" {
		t.Errorf("%q tells apart what has no namesake, %q what has some", first, second)
	}
	in.Frozen = true
	if html := render(t, HTML(view.NewCase(in).Page())); strings.Contains(html, "/objects/") || !strings.Contains(html, `id="h-o"`) {
		t.Error("a frozen case must list its objects and link to none")
	}
	if slices.ContainsFunc(view.NewCase(in).Objects[0].Rows, func(o view.CaseObject) bool { return o.URL != "" }) {
		t.Error("a frozen row has an address")
	}
}

func TestTheDiffPageListsObjectsThatChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		change    func(*view.DiffInput, *report.Object)
		want, not []string
	}{
		"from A to B":         {nil, []string{`id="h-o"`, `href="/objects/o1?case=cprobe`, ">+23<", "3 goroutines + 1 descriptor"}, nil},
		"from B to A":         {func(in *view.DiffInput, o *report.Object) { in.AIndex, in.BIndex = 6, 1 }, []string{">−23<", "–"}, nil},
		"frozen":              {func(in *view.DiffInput, o *report.Object) { in.Frozen = true }, []string{`id="h-o"`}, []string{"/objects/"}},
		"equal numbers":       {func(in *view.DiffInput, o *report.Object) { o.Counts = counts(9, 9, 9, 9, 9, 9, 9, 9, 9) }, nil, []string{`id="h-o"`}},
		"another case":        {func(in *view.DiffInput, o *report.Object) { in.AIndex = -1 }, nil, []string{`id="h-o"`}},
		"a filter":            {func(in *view.DiffInput, o *report.Object) { in.Query = url.Values{"q": {"func:x"}} }, nil, []string{`id="h-o"`}},
		"watches alone":       {func(in *view.DiffInput, o *report.Object) { in.Query = url.Values{"kind": {"watch"}} }, nil, []string{`id="h-o"`}},
		"single ones at rest": {func(in *view.DiffInput, o *report.Object) { o.Verdict, o.Each[0].N = analysis.Stable, 1 }, nil, []string{`id="h-o"`}},
	} {
		t.Run(name, func(t *testing.T) {
			in, o := sampleDiff(t, nil), sampleObjects()
			o.Counts, o.Born, o.Ended = counts(2, 4, 6, 8, 10, 12, 27, 30, 2), counts(0, 3, 3, 2, 2, 2, 16, 3, 0), counts(0, 1, 1, 0, 0, 0, 1, 0, 28)
			if tc.change != nil {
				tc.change(&in, &o)
			}
			in.Series.Objects = []report.Object{o}
			v := view.NewDiff(in)
			html := render(t, HTML(v.Page()))
			wellFormed(t, html)
			for _, want := range tc.want {
				if !strings.Contains(html, want) {
					t.Errorf("%q is missing", want)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(html, not) {
					t.Errorf("%q must not be there", not)
				}
			}
			if name == "from A to B" && !strings.Contains(v.Page().Body.Markdown(), `| \*wire.Conn | 3 goroutines + 1 descriptor | 4 | 27 | +23 | 25 | 2 |`) {
				t.Errorf("the text lacks the row: %s", v.Page().Body.Markdown())
			}
		})
	}
}
