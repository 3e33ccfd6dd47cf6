package page

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/noun"
	"leakdiff/analysis/say/report"
	"leakdiff/web/view"
)

// mostPage is how large a page may be, whatever the case.
const mostPage = 1_000_000

// largeCase is series of a program with 66 families, of which three grow, as a kubelet
// has; each has n snapshots an hour apart. The last series grow most.
func largeCase(series, n, families int) report.Report {
	r := report.Report{Schema: report.Schema}
	began := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	for k := range series {
		s := report.Series{Process: fmt.Sprintf("worker-%03d", k), Units: []report.Unit{}, Limits: []string{"No load is known: a load that grew by as much would look the same."}}
		for i := range n {
			when, total := began.Add(time.Duration(i)*time.Hour), 300+i*(k+1)
			id := fmt.Sprintf("s%03d.%05d", k, i)
			s.Snapshots = append(s.Snapshots, id)
			r.Snapshots = append(r.Snapshots, report.Snapshot{
				ID: id, Label: when.Format("20060102T150405Z"), Process: s.Process, CapturedAt: &when, TimeSource: "directory " + when.Format("20060102T150405Z"),
				Totals: analysis.Totals{Goroutines: &total},
			})
		}
		for f := range families {
			s.Families = append(s.Families, largeFamily(k, f, n))
		}
		s.Findings = largeFindings(s.Families)
		s.Healthy = &report.Healthy{Text: fmt.Sprintf("%d of %d families are normal stacks.", families/2, families)}
		r.Series = append(r.Series, s)
	}
	r.Diagnosis = r.Diagnose(noun.Builtin())
	return r
}

func largeFamily(series, f, n int) report.Family {
	out := report.Family{
		Fingerprint: fmt.Sprintf("g1:%032x", f), Kind: analysis.KindGoroutine, Title: fmt.Sprintf("manager.(*containerData%02d).housekeepingTick", f),
		CreatedBy: "github.com/google/cadvisor/manager.(*containerData).Start", Verdict: analysis.Stable, Attributes: map[string]string{},
		Frames: []string{fmt.Sprintf("github.com/google/cadvisor/manager.(*containerData%02d).housekeepingTick", f), "github.com/google/cadvisor/manager.(*containerData).housekeeping"},
		States: map[string]int{"select": 5},
	}
	for i := range n {
		v := 5 + i%(f+2)
		if f%22 == 0 {
			v = 5 + i*(series+1)
		}
		out.Counts = append(out.Counts, analysis.Counted(v))
	}
	if f%2 == 1 {
		out.Normal = &report.Normal{ID: "n", Library: "client-go", Reason: "A reflector has one of it for every kind of object that is watched."}
	}
	if f%22 == 0 {
		out.Verdict, out.Rise = analysis.Leaking, (n-1)*(series+1)
		out.Evidence = []report.Evidence{
			reason("cohort", fmt.Sprintf("%d born over six intervals, none ended before the last snapshot", out.Rise)),
			reason("trend", "+12/h (95 % interval +11/h to +13/h), p = 0.0001"),
			reason("ages", "the oldest waits at least 240 minutes"),
			reason("steps", "it rose in most of the intervals"),
		}
	}
	return out
}

func largeFindings(families []report.Family) []report.Finding {
	var out []report.Finding
	for i := range families {
		f := &families[i]
		if f.Verdict != analysis.Leaking {
			continue
		}
		finding := report.Finding{
			Rank: len(out) + 1, Verdict: f.Verdict, Title: f.Title + " rises with every interval", Text: f.Title + " has members that were born in several intervals and never leave.",
			Next: "Open the family: its stack names what these goroutines wait for.", Families: []string{f.Fingerprint},
		}
		for k := range 9 {
			finding.Stack = append(finding.Stack, report.StackFrame{Function: fmt.Sprintf("k8s.io/kubernetes/pkg/kubelet.(*podWorkers).podWorkerLoop%d", k), File: "/src/k8s.io/kubernetes/pkg/kubelet/pod_workers.go", Line: 900 + k})
		}
		out = append(out, finding)
	}
	return out
}

func large(r report.Report, query url.Values) view.CaseInput {
	return view.CaseInput{ID: "clarge", Title: "many", Report: r, Query: query, Engine: "leakdiff 1.0, engine 1",
		Bundles: []view.BundleLine{{ID: "b1", Name: "captures.tar.gz", Status: "read", Size: "80 MB", Snapshots: len(r.Snapshots)}}}
}

func largeChoices(r report.Report) []view.Choice {
	var out []view.Choice
	for _, s := range r.Snapshots {
		out = append(out, view.Choice{Value: s.ID, Label: s.Label, Text: s.Label + ", 03:05:56, 300 goroutines", Group: s.Process})
	}
	return out
}

// largeIdentity returns what was recognised in such a case.
func largeIdentity(r report.Report, query url.Values) view.IdentityInput {
	in := view.IdentityInput{CaseID: "clarge", CaseTitle: "many", Query: query, NeedsKey: true}
	var found []analysis.Snapshot
	for i, s := range r.Snapshots {
		found = append(found, analysis.Snapshot{
			ID: s.ID, Label: s.Label, Order: i, CapturedAt: *s.CapturedAt, TimeFact: analysis.Fact{Value: s.Label, Source: s.TimeSource, Confidence: analysis.High}, Totals: s.Totals,
			Process:   analysis.Process{Name: analysis.Fact{Value: s.Process, Source: "directory " + s.Process, Confidence: analysis.Medium}},
			Artifacts: []analysis.Artifact{{Path: s.Label + "/goroutine-debug2.txt", Kind: "goroutine-debug2", Reason: "243 goroutine headers, the first on line 1", Confidence: analysis.High, Outcome: "300 goroutines"}},
		})
	}
	in.Said = identity.Resolve(found, nil)
	in.Series = report.Group(in.Said.Snapshots)
	return in
}

// largePages are a page of each kind of a case, the first and the last where there are
// several.
func largePages(t *testing.T, r report.Report) map[string]templ.Component {
	out := map[string]templ.Component{}
	asked := func(page, q string) url.Values { return url.Values{"page": {page}, "q": {q}} }
	for name, query := range map[string]url.Values{"case": nil, "case 2": asked("2", ""), "case last": asked("9999", ""), "case filtered": asked("", "manager")} {
		out[name] = HTML(view.NewCase(large(r, query)).Page())
	}
	drawn := large(r, url.Values{"charts": {"1"}})
	drawn.Charts, drawn.More = "1", make([]view.CaseMore, len(r.Series))
	for i := range drawn.More[:min(len(r.Series), 4)] {
		s := &report.Drawn{States: map[analysis.Kind][]map[string]int{}, Cohorts: map[string][]trend.Cohort{}}
		for k := range r.Series[i].Snapshots {
			s.States[analysis.KindGoroutine] = append(s.States[analysis.KindGoroutine], map[string]int{"select": 100, "IO wait": 50, "chan receive": 20, "sleep": 9, "semacquire": 4, "syscall": 3, "running": 1, "runnable": k % 3})
			for _, f := range r.Series[i].Families {
				if f.Verdict == analysis.Leaking && k > 0 {
					s.Cohorts[f.Fingerprint] = append(s.Cohorts[f.Fingerprint], trend.Cohort{From: k - 1, To: k, Born: 3})
				}
			}
		}
		drawn.More[i].Drawn = s
	}
	out["case charts"] = HTML(view.NewCase(drawn).Page())
	frozen := large(r, nil)
	frozen.Frozen = true
	out["case frozen"] = HTML(view.NewCase(frozen).Page())
	out["identity"], out["identity last"] = HTML(view.NewIdentity(largeIdentity(r, nil)).Page()), HTML(view.NewIdentity(largeIdentity(r, asked("9999", ""))).Page())

	s := &r.Series[len(r.Series)-1]
	labels, times := make([]string, len(s.Snapshots)), make([]time.Time, len(s.Snapshots))
	for i := range labels {
		snap := r.Snapshots[len(r.Snapshots)-len(labels)+i]
		labels[i], times[i] = snap.Label, *snap.CapturedAt
	}
	choices := largeChoices(r)

	d := sampleDiff(t, nil)
	d.Series, d.Labels, d.AIndex, d.BIndex, d.Snapshots = *s, labels, 0, len(labels)-1, choices
	d.Result.A.ID, d.Result.B.ID = s.Snapshots[0], s.Snapshots[len(labels)-1]
	d.Result.Rows = nil
	counts := map[string]analysis.Counts{}
	for i := range s.Families {
		f := &s.Families[i]
		counts[f.Fingerprint] = f.Counts
		d.Result.Rows = append(d.Result.Rows, diff.Row{
			Family: &analysis.Family{Fingerprint: f.Fingerprint, Kind: f.Kind, Title: f.Title, Loose: f.Frames, LooseCreator: f.CreatedBy},
			A:      5, B: 5 + i, Delta: i, New: i, Survived: 5, Identified: true, OldestWait: -1, Section: "growing", VariantA: stack(f.CreatedBy, f.Frames...), VariantB: stack(f.CreatedBy, f.Frames...),
		})
	}
	d.Counts = func(print string) analysis.Counts { return counts[print] }
	out["diff"] = HTML(view.NewDiff(d).Page())

	f := sampleFamily(t)
	f.Family, f.Labels, f.Times, f.Counts, f.Groups, f.SnapshotIndex, f.IDs = s.Families[0], labels, times, s.Families[0].Counts, make([]*analysis.Group, len(labels)), len(labels)-1, s.Snapshots
	f.Judgement.RecoveredAt = -1
	f.Lifelines = nil
	for i := range labels {
		f.Groups[i] = &analysis.Group{Count: 5 + i, States: map[string]int{"select": 5, "chan receive": i}}
		f.Lifelines = append(f.Lifelines, trend.Lifeline{Identity: analysis.Identity{ID: int64(i)}, First: i, Last: len(labels) - 1, Seen: len(labels) - i})
	}
	out["family"] = HTML(view.NewFamily(f).Page())

	snap := sampleSnapshot(t, nil)
	snap.Snapshot.ID, snap.Others, snap.Families = s.Snapshots[0], choices, s.Families
	out["snapshot"] = HTML(view.NewSnapshot(snap))
	out["compare"] = HTML(view.NewCompare(view.CompareInput{
		CaseID: "clarge", CaseTitle: "many", Series: *s, Snapshots: choices, Result: diff.Many{Snapshots: []*analysis.Snapshot{d.Result.A, d.Result.B}},
		Columns: []view.CompareColumn{{Value: d.Result.A.ID}, {Value: d.Result.B.ID}},
	}))
	return out
}

func TestNoPageIsAboveOneMegabyteWhateverTheCase(t *testing.T) {
	for _, c := range []struct{ series, snapshots, families int }{{500, 4, 66}, {1, 10_000, 66}, {200, 100, 8}, {20, 100, 66}, {100, 1, 66}} {
		r := largeCase(c.series, c.snapshots, c.families)
		name := fmt.Sprintf("%d series of %d", c.series, c.snapshots)
		for kind, page := range largePages(t, r) {
			html := render(t, page)
			keepPage(t, strings.ReplaceAll(name+" "+kind, " ", "-"), html)
			t.Logf("%s, %s: %d kB", name, kind, len(html)/1000)
			if len(html) > mostPage {
				t.Errorf("%s, %s: %d kB", name, kind, len(html)/1000)
			}
		}
		text := view.NewCase(large(r, nil))
		for kind, words := range map[string]string{"Markdown": text.Page().Body.Markdown(), "Jira": text.Page().Body.Jira(), "text": text.Page().Body.Text()} {
			if len(words) > mostPage/4 {
				t.Errorf("%s, %s: %d kB", name, kind, len(words)/1000)
			}
		}
	}
}

func TestEveryProcessAndEveryFindingOfALargeCaseIsOnOnePage(t *testing.T) {
	r := largeCase(45, 4, 66)
	processes, findings, numbers := map[string]int{}, map[string]int{}, []string{}
	for n := 1; n <= 3; n++ {
		v := view.NewCase(large(r, url.Values{"page": {fmt.Sprint(n)}}))
		for _, id := range v.Identity {
			processes[id.Process]++
		}
		for _, g := range v.Groups {
			findings["rows of "+g.Process]++
		}
		for _, o := range v.Others {
			findings["rows of "+o.Process]++
		}
		for _, f := range v.Findings {
			findings[f.Process+f.Title]++
			numbers = append(numbers, f.Number)
		}
		for _, l := range v.Listed {
			if l.URL == "" { // of this page, too many to tell in full
				findings[l.Process+l.Title]++
				numbers = append(numbers, l.Number)
			}
		}
	}
	if len(processes) != 45 || len(findings) != 45+3*45 {
		t.Errorf("%d processes, %d findings and rows", len(processes), len(findings))
	}
	for what, seen := range map[string]map[string]int{"process": processes, "finding": findings} {
		for name, n := range seen {
			if n != 1 {
				t.Errorf("%s %s is on %d pages", what, name, n)
			}
		}
	}
	for i, number := range numbers {
		if number != fmt.Sprint(i+1) {
			t.Fatalf("finding %d has the number %s", i+1, number)
		}
	}
	first := view.NewCase(large(r, nil))
	if first.Identity[0].Process != "worker-044" || first.Identity[19].Process != "worker-025" {
		t.Errorf("what grew most does not stand first: %s to %s", first.Identity[0].Process, first.Identity[19].Process)
	}
	// The first page ranks what the others tell.
	var of, pages []string
	for _, l := range first.Listed {
		if l.URL != "" {
			address, _, _ := strings.Cut(l.URL, "#")
			of, pages = append(of, l.Process), append(pages, address)
		}
	}
	if len(of) != 75 || of[0] != "worker-024" || of[15] != "worker-019" || !slices.IsSorted(pages) {
		t.Errorf("%d findings of other pages, %q, %q", len(of), of, pages)
	}
	at := first.Listed[len(first.Listed)-75]
	second := render(t, HTML(view.NewCase(large(r, url.Values{"page": {"2"}})).Page()))
	if at.URL != "/cases/clarge?page=2#f-61" || !strings.Contains(second, `id="f-61"`) {
		t.Errorf("the first finding of the second page is at %s", at.URL)
	}
}

func TestAFilterLooksIntoAllPages(t *testing.T) {
	r := largeCase(45, 4, 66)
	r.Series[0].Families[5].Title = "special.run"
	r.Series[0].Families[5].Frames = []string{"special.run"}
	v := view.NewCase(large(r, url.Values{"q": {"special"}}))
	if len(v.Families) != 1 || v.Families[0].Process != "worker-000" || slices.Contains(v.Families[0].Counts, "–") || !strings.HasPrefix(v.Box.Note, "1 of") {
		t.Errorf("%+v, %q", v.Families, v.Box.Note)
	}
	if v.Paging.Next != "/cases/clarge?page=2&q=special" {
		t.Errorf("the next page is %s", v.Paging.Next)
	}
}

func TestPagesOfACaseAreLinkedAndSayWhereOneIs(t *testing.T) {
	r := largeCase(500, 4, 8)
	html := render(t, HTML(view.NewCase(large(r, url.Values{"page": {"2"}})).Page()))
	for _, want := range []string{
		"Processes 21 to 40 of 500.", `<nav class="act" aria-label="Pages of the processes">`, `<nav class="act" aria-label="Pages of the processes, once more">`,
		`<a class="btn quiet" href="/cases/clarge" rel="prev">Previous</a>`, `<a class="btn quiet" href="/cases/clarge?page=3" rel="next">Next</a>`,
		`<span class="btn" aria-current="page">2</span>`, `<a class="btn quiet" href="/cases/clarge?page=25" aria-label="Page 25">25</a>`, "/cases/clarge.md?page=2",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if n := len(regexp.MustCompile(`aria-current="page">\d`).FindAllString(html, -1)); n != 2 {
		t.Errorf("%d marks of the shown page", n)
	}
	frozen := large(r, url.Values{"page": {"2"}})
	frozen.Frozen = true
	html = render(t, HTML(view.NewCase(frozen).Page()))
	if !strings.Contains(html, "Processes 21 to 40 of 500.") || !strings.Contains(html, "The others are in the JSON") || strings.Contains(html, "Pages of the processes") {
		t.Error("a kept page does not say what it leaves out, or leads to live pages")
	}
	if html := render(t, HTML(view.NewCase(large(largeCase(20, 4, 8), nil)).Page())); strings.Contains(html, "Pages of the processes") {
		t.Error("a case that fits on one page has several")
	}
}

func TestASelectBoxOfALongCaseOffersSomeAndAnyByItsLabel(t *testing.T) {
	choices := largeChoices(largeCase(2, 1000, 1))
	in := sampleSnapshot(t, nil)
	in.Snapshot.ID, in.Others = "s000.00500", choices
	html := render(t, HTML(view.NewSnapshot(in)))
	for _, want := range []string{`value="s000.00000"`, `value="s000.00499"`, `value="s000.00501"`, `value="s000.00999"`, `value="s001.00000"`, `value="s001.00999"`, `name="find-a"`} {
		if !strings.Contains(html, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if n := strings.Count(html, "<option"); n > 210 {
		t.Errorf("%d options", n)
	}
	label := "20261003T120000Z"
	for _, c := range []struct{ text, near, want string }{
		{label, "", "s000.00060"}, {label, "s001.00003", "s001.00060"}, {"worker-001 " + label, "", "s001.00060"}, {"s001.00007", "", "s001.00007"}, {"t3", "", "t3"},
	} {
		if got := view.Named(choices, c.text, c.near); got != c.want {
			t.Errorf("%q near %q is %s, want %s", c.text, c.near, got, c.want)
		}
	}
}
