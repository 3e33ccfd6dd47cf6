package page

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/noun"
	"leakdiff/analysis/say/report"
	"leakdiff/web/view"
)

// The figures are those of the series kubelet-probe-leak, as its
// expected.kubelet.json and expected.containerd.json give them.
var (
	sampleLabels = []string{"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"}
	sampleTimes  = []string{"02:58:10", "02:58:36", "03:03:26", "03:04:03", "03:04:40", "03:05:18", "03:05:56", "03:06:33", "03:07:16"}
)

func at(t *testing.T, clock string) time.Time {
	t.Helper()
	out, err := time.Parse(time.DateTime, "2026-11-21 "+clock)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func times(t *testing.T) []time.Time {
	t.Helper()
	out := make([]time.Time, len(sampleTimes))
	for i, c := range sampleTimes {
		out[i] = at(t, c)
	}
	return out
}

func counts(values ...int) analysis.Counts {
	return analysis.CountsOf(values...)
}

func snapshotID(process string, i int) string { return fmt.Sprintf("s%s%d", process, i) }

func sampleSeries(t *testing.T, r *report.Report, process string, pid int, goroutines, descriptors, watches analysis.Counts, families []report.Family) {
	t.Helper()
	s := report.Series{Process: process, Families: families, Units: []report.Unit{}, Findings: []report.Finding{}}
	for i, label := range sampleLabels {
		id := snapshotID(process, i)
		when := at(t, sampleTimes[i])
		s.Snapshots = append(s.Snapshots, id)
		r.Snapshots = append(r.Snapshots, report.Snapshot{
			ID: id, Label: label, Process: process, PID: &pid, CapturedAt: &when, TimeSource: "captured_at of " + label,
			Totals: analysis.Totals{Goroutines: &goroutines[i].N, Descriptors: &descriptors[i].N, Watches: &watches[i].N},
		})
	}
	for i := range s.Families {
		f := &s.Families[i]
		if f.Verdict != analysis.Leaking {
			continue
		}
		text := fmt.Sprintf("%s in %s. %s.", f.Title, process, f.Evidence[0].Text)
		s.Findings = append(s.Findings, report.Finding{
			Rank: len(s.Findings) + 1, Verdict: f.Verdict, Title: f.Title + " rises with every interval", Text: text,
			Next: "Open the family: its stack names what these goroutines wait for.", Families: []string{f.Fingerprint},
		})
	}
	r.Series = append(r.Series, s)
}

func goroutines(fingerprint, title, creator string, verdict analysis.Verdict, frames []string, values ...int) report.Family {
	return report.Family{
		Fingerprint: fingerprint, Kind: analysis.KindGoroutine, Title: title, Frames: frames, CreatedBy: creator, Counts: counts(values...),
		Verdict: verdict, Rise: values[7] - values[0], Attributes: map[string]string{}, States: map[string]int{"select": values[7]},
		Evidence: []report.Evidence{
			reason("cohort", fmt.Sprintf("%d born over six intervals, 0 ended before t8", values[7]-values[1])),
			reason("ages", "oldest waits at least 4 min"),
			reason("span", "over 9 min 6 s: a backlog that drains later would look the same"),
		},
	}
}

func reason(rule, text string) report.Evidence {
	return report.Evidence{Text: text, Evidence: analysis.Evidence{Rule: rule}}
}

const housekeeping, podWorker, withConstLabels = "g1:11111111111111111111111111111111", "g1:22222222222222222222222222222222", "g1:6b0f0204687620f237ee8cd728a92eaf"

func sampleReport(t *testing.T) report.Report {
	t.Helper()
	r := report.Report{Schema: report.Schema}
	inotify := report.Family{
		Fingerprint: "w1:33333333333333333333333333333333", Kind: analysis.KindWatch, Title: "inotify watches on cgroup", Verdict: analysis.Leaking, Rise: 359,
		Counts: counts(39, 111, 159, 206, 254, 302, 350, 398, 38), Attributes: map[string]string{"fstype": "cgroup", "mask": "IN_CREATE|IN_DELETE|IN_MOVE"},
		Evidence: []report.Evidence{reason("series", "398 at t7 from 39 at t0")},
	}
	sampleSeries(t, &r, "kubelet", 2706,
		counts(87, 115, 140, 166, 192, 219, 243, 263, 87), counts(23, 24, 25, 26, 27, 28, 29, 30, 23), counts(44, 116, 164, 211, 259, 307, 355, 403, 43),
		[]report.Family{
			goroutines(housekeeping, "manager.(*containerData).housekeepingTick", "github.com/google/cadvisor/manager.(*containerData).Start", analysis.Leaking,
				[]string{"github.com/google/cadvisor/manager.(*containerData).housekeepingTick", "github.com/google/cadvisor/manager.(*containerData).housekeeping"}, 4, 16, 24, 32, 40, 48, 56, 64, 4),
			goroutines(podWorker, "pkg.(*remoteRuntimeService).RunPodSandbox", "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod", analysis.Leaking,
				[]string{"google.golang.org/grpc/internal/transport.(*ClientStream).waitOnHeader", "k8s.io/cri-client/pkg.(*remoteRuntimeService).RunPodSandbox"}, 0, 0, 4, 8, 12, 16, 20, 24, 0),
			inotify,
			goroutines("g1:44444444444444444444444444444444", "prober.(*worker).run", "k8s.io/kubernetes/pkg/kubelet/prober.(*manager).AddPod", analysis.Suspicious,
				[]string{"k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run"}, 0, 8, 15, 23, 31, 36, 42, 48, 0),
			goroutines("g1:55555555555555555555555555555555", "server.(*Server).ListenAndServe", "", analysis.Stable, []string{"k8s.io/kubernetes/pkg/kubelet/server.(*Server).ListenAndServe"}, 1, 1, 1, 1, 1, 1, 1, 1, 1),
		})
	sampleSeries(t, &r, "containerd", 30912,
		counts(28, 151, 192, 225, 258, 291, 324, 357, 28), counts(19, 84, 101, 118, 135, 152, 169, 186, 19), counts(1, 1, 1, 1, 1, 1, 1, 1, 1),
		[]report.Family{goroutines(withConstLabels, "go-metrics.(*Namespace).WithConstLabels", "google.golang.org/grpc.(*Server).serveStreams", analysis.Leaking,
			[]string{"sync.(*Mutex).Lock", "github.com/docker/go-metrics.(*Namespace).WithConstLabels"}, 0, 0, 4, 8, 12, 16, 20, 24, 0)})
	for i := range r.Series {
		id := r.Series[i].Snapshots[8]
		for k := range r.Series[i].Families {
			if r.Series[i].Families[k].Verdict == analysis.Leaking {
				r.Series[i].Families[k].RecoveredAt = &id
			}
		}
	}
	r.Problems = []analysis.Problem{
		{Path: "t1/kubelet/metrics.txt", Offset: -1, Severity: analysis.Warning, What: "an empty metrics page", Why: "it has 0 bytes", Hint: "take it again"},
		{Path: "t2/kubelet/metrics.txt", Offset: -1, Severity: analysis.Warning, What: "an empty metrics page", Why: "it has 0 bytes", Hint: "take it again"},
	}
	return r
}

func sampleCase(t *testing.T) view.CaseInput {
	r := sampleReport(t)
	r.Diagnosis = r.Diagnose(noun.Builtin())
	return view.CaseInput{
		ID: "cprobe", Title: "kubelet-probe-leak", Report: r, Engine: "leakdiff 1.0, engine 1",
		Bundles: []view.BundleLine{{ID: "b1", Name: "kubelet-probe-leak.tgz", Status: "read", Size: "876 kB", Snapshots: 18, Problems: 15}},
	}
}

func stack(creator string, frames ...string) *analysis.Stack {
	s := &analysis.Stack{CreatedBy: analysis.Frame{Func: creator, File: "/src/pod_workers.go", Line: 965}}
	for i, f := range frames {
		s.Frames = append(s.Frames, analysis.Frame{Func: f, File: "/src/" + view.ShortFunc(f)[:3] + ".go", Line: 100 + i})
	}
	return s
}

const kubelet = "k8s.io/kubernetes/pkg/kubelet."

func sampleDiff(t *testing.T, query url.Values) view.DiffInput {
	t.Helper()
	r := sampleReport(t)
	process := analysis.Process{Name: analysis.Fact{Value: "kubelet", Source: "directory t1/kubelet", Confidence: analysis.Medium}}
	a := &analysis.Snapshot{ID: "skubelet1", Label: "t1", Process: process, CapturedAt: at(t, "02:58:36"), Totals: r.Snapshots[1].Totals}
	b := &analysis.Snapshot{ID: "skubelet6", Label: "t6", Process: process, CapturedAt: at(t, "03:05:56"), Totals: r.Snapshots[6].Totals}
	fam := func(fp, title, creator string, frames ...string) *analysis.Family {
		return &analysis.Family{Fingerprint: fp, Kind: analysis.KindGoroutine, Title: title, Loose: frames, LooseCreator: creator}
	}
	grpc := "google.golang.org/grpc"
	busy := stack(kubelet+"(*podWorkers).UpdatePod", grpc+"/internal/transport.(*ClientStream).waitOnHeader", grpc+"/internal/transport.(*ClientStream).RecvCompress", grpc+".(*csAttempt).recvMsg", grpc+".(*clientStream).RecvMsg", grpc+".invoke",
		"k8s.io/cri-api/pkg/apis/runtime/v1.(*runtimeServiceClient).RunPodSandbox", "k8s.io/cri-client/pkg.(*remoteRuntimeService).RunPodSandbox", kubelet+"(*podWorkers).podWorkerLoop.func1", kubelet+"(*podWorkers).podWorkerLoop", kubelet+"(*podWorkers).UpdatePod.func1")
	idle := stack(kubelet+"(*podWorkers).UpdatePod", "sync.runtime_SemacquireWaitGroup", "sync.(*WaitGroup).Wait", kubelet+"(*podWorkers).podWorkerLoop.func1", kubelet+"(*podWorkers).podWorkerLoop", kubelet+"(*podWorkers).UpdatePod.func1")
	rows := []diff.Row{
		{Family: fam(housekeeping, "manager.(*containerData).housekeepingTick", "github.com/google/cadvisor/manager.(*containerData).Start", "github.com/google/cadvisor/manager.(*containerData).housekeepingTick"),
			A: 16, B: 56, Delta: 40, New: 40, Survived: 16, Identified: true, OldestWait: -1, Section: "growing", VariantA: idle, VariantB: idle, StatesA: map[string]int{"select": 16}, StatesB: map[string]int{"select": 56}},
		{Family: fam(podWorker, "pkg.(*remoteRuntimeService).RunPodSandbox", "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod", "k8s.io/cri-client/pkg.(*remoteRuntimeService).RunPodSandbox"),
			A: 4, B: 20, Delta: 16, New: 20, Gone: 4, Identified: true, OldestWait: 3, Section: "growing", VariantA: idle, VariantB: busy, StatesA: map[string]int{"sync.WaitGroup.Wait": 4}, StatesB: map[string]int{"select": 17, "runnable": 3}},
		{Family: &analysis.Family{Fingerprint: "w1:33333333333333333333333333333333", Kind: analysis.KindWatch, Title: "inotify watches on cgroup", Attributes: map[string]string{"fstype": "cgroup", "mask": "IN_CREATE"}},
			A: 111, B: 350, Delta: 239, New: 240, Gone: 1, Survived: 110, Identified: true, OldestWait: -1, Section: "growing"},
		{Family: &analysis.Family{Fingerprint: "d1:66666666666666666666666666666666", Kind: analysis.KindDescriptor, Title: "TCP accepted on port 10255", Attributes: map[string]string{"local": "*:10255", "state": "CLOSE_WAIT"}},
			A: 0, B: 5, Delta: 5, OldestWait: -1, Section: "new"},
		{Family: fam("g1:55555555555555555555555555555555", "server.(*Server).ListenAndServe", "", kubelet[:len(kubelet)-1]+"/server.(*Server).ListenAndServe"), A: 1, B: 1, Survived: 1, Identified: true, OldestWait: -1, Section: "unchanged"},
	}
	b.Groups = []analysis.Group{{Family: rows[1].Family, Count: 20, Waits: [9]int{4, 13, 3}, OldestWait: 3}}
	in := view.DiffInput{
		CaseID: "cprobe", CaseTitle: "kubelet-probe-leak", Series: r.Series[0], Query: query, Labels: sampleLabels, AIndex: 1, BIndex: 6, Engine: "leakdiff 1.0, engine 1",
		Result: diff.Result{Followed: true, A: a, B: b, Rows: rows, TotalA: a.Totals, TotalB: b.Totals,
			Born: map[analysis.Kind]int{analysis.KindGoroutine: 131}, Ended: map[analysis.Kind]int{analysis.KindGoroutine: 3}, Survived: map[analysis.Kind]int{analysis.KindGoroutine: 112},
			Warnings: []diff.Warning{{Form: "cut_with_twin", A: "t1", B: "t6", At: "t1"}}},
		Verdicts: map[string]analysis.Judgement{}, Titles: map[string]string{},
	}
	counts, evidence := map[string]analysis.Counts{}, map[string][]report.Evidence{}
	for _, f := range r.Series[0].Families {
		in.Verdicts[f.Fingerprint] = analysis.Judgement{Verdict: f.Verdict}
		counts[f.Fingerprint], evidence[f.Fingerprint] = f.Counts, f.Evidence
	}
	in.Evidence = func(f *analysis.Family) []report.Evidence { return evidence[f.Fingerprint] }
	in.Counts = func(fingerprint string) analysis.Counts { return counts[fingerprint] }
	for i, id := range r.Series[0].Snapshots {
		in.Snapshots = append(in.Snapshots, view.Choice{Value: id, Label: sampleLabels[i], Text: sampleLabels[i] + ", " + sampleTimes[i], Group: "kubelet"})
	}
	return in
}

func sampleFamily(t *testing.T) view.FamilyInput {
	t.Helper()
	r := sampleReport(t)
	f := r.Series[1].Families[0]
	lock := stack("google.golang.org/grpc.(*Server).serveStreams.func1", "sync.runtime_SemacquireMutex", "sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock",
		"github.com/docker/go-metrics.(*Namespace).WithConstLabels", "github.com/containerd/containerd/metrics/cgroups/v1.(*Collector).Add", "google.golang.org/grpc.(*Server).serveStreams.func1.2")
	in := view.FamilyInput{
		CaseID: "cprobe", CaseTitle: "kubelet-probe-leak", Process: "containerd", Family: f, Labels: sampleLabels, Times: times(t), Counts: f.Counts, SnapshotIndex: 7, Engine: "leakdiff 1.0, engine 1",
		Judgement: analysis.Judgement{Verdict: analysis.Leaking, RecoveredAt: 8, Survivors: 24, Slope: 384, SlopeUnit: "per hour", Rise: 24}, Evidence: f.Evidence,
		Steps: family.Explain(lock), Groups: make([]*analysis.Group, 9), RawTitle: "t7/containerd/goroutine-debug2.txt, line 1121",
		RawExcerpt: []view.RawLine{{Number: "1 121", Text: "goroutine 14143 [semacquire, 4 minutes]:", Marked: true}, {Number: "1 122", Text: "sync.runtime_SemacquireMutex(0x2000107?, 0x0?, 0xc6d35f?)"}, {Number: "1 123", Text: "        runtime/sema.go:77 +0x25"}},
	}
	in.Groups[7] = &analysis.Group{Count: 24, States: map[string]int{"semacquire": 24}, Waits: [9]int{4, 12, 8}, OldestWait: 4, Variants: []analysis.Variant{{Fingerprint: "e1:aa", Stack: lock, Count: 24}}}
	first := []int64{14140, 14376, 14606, 14861, 15116, 15359}
	for cohort, id := range first {
		for k := range int64(4) {
			who := analysis.Identity{ID: id + k*3}
			in.Lifelines = append(in.Lifelines, trend.Lifeline{Identity: who, First: cohort + 2, Last: 7, Seen: 6 - cohort})
			in.Members = append(in.Members, view.FamilyMember{
				Member: analysis.Member{Identity: who, State: "semacquire", Wait: 4 - min(cohort, 4), Place: analysis.Place{Line: 1121 + id%700, Offset: 59860}},
				RawURL: view.RawURL("b1", "t7/containerd/goroutine-debug2.txt", 59860, 900),
			})
		}
	}
	return in
}

func sampleSnapshot(t *testing.T, query url.Values) view.SnapshotInput {
	t.Helper()
	d := sampleDiff(t, nil)
	s := d.Result.B
	s.TimeFact = analysis.Fact{Value: "2026-11-21T03:05:56Z", Source: "captured_at of t6", Confidence: analysis.High}
	s.Figures = map[string]float64{"limit_open_files": 20000, "inotify_max_user_instances": 128, "process_resident_memory_bytes": 88_342_528}
	s.Groups = nil
	for _, r := range d.Result.Rows {
		s.Groups = append(s.Groups, analysis.Group{Family: r.Family, Count: r.B, States: r.StatesB, OldestWait: r.OldestWait})
	}
	s.Artifacts = []analysis.Artifact{
		{Path: "t6/kubelet/goroutine-debug2.txt", Kind: "goroutine-debug2", Reason: "243 goroutine headers, the first on line 1", Confidence: analysis.High, Outcome: "243 goroutines", Size: 198_112},
		{Path: "t6/kubelet/fdinfo/", Kind: "fdinfo", Reason: "pos:, flags: and mnt_id: in 29 files named by numbers", Confidence: analysis.High, Outcome: "29 descriptors, 355 watches", Size: 44_000, Files: 29},
	}
	s.Problems = sampleReport(t).Problems
	return view.SnapshotInput{CaseID: "cprobe", CaseTitle: "kubelet-probe-leak", Snapshot: s, BundleID: "b1", Query: query, Others: d.Snapshots, Engine: "leakdiff 1.0, engine 1",
		Previous: view.Choice{Value: "skubelet5", Label: "t5", Text: "t5, 03:05:18"}, Next: view.Choice{Value: "skubelet7", Label: "t7", Text: "t7, 03:06:33"}}
}

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// keepPage writes the page for a look at it when LEAKDIFF_PAGES names a
// directory.
func keepPage(t *testing.T, name, html string) {
	t.Helper()
	dir := os.Getenv("LEAKDIFF_PAGES")
	if dir == "" {
		return
	}
	var css strings.Builder
	for _, f := range []string{"base.css", "case.css", "raw.css", "inventory.css", "home.css", "print.css", "chart.css"} {
		b, err := os.ReadFile(filepath.Join("..", "asset", f))
		if err != nil {
			t.Fatal(err)
		}
		css.Write(b)
	}
	html = strings.Replace(html, "</head>", "<style>"+css.String()+"</style></head>", 1)
	if err := os.WriteFile(filepath.Join(dir, name+".html"), []byte(html), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTheTitleOfAComparisonNamesWhatGrowsMostAndWhere(t *testing.T) {
	title := func(host string, frozen bool, kind string) string {
		in := sampleDiff(t, url.Values{"kind": {kind}})
		in.Series.Host, in.Frozen = &host, frozen
		return view.NewDiff(in).Shell.Title
	}
	for _, c := range []struct{ name, got, want string }{
		{"goroutines", title("node-a", false, ""), "Δ +40 manager.(*containerData).housekeepingTick · node-a · kubelet, t1 to t6"},
		{"watches", title("node-a", false, "watch"), "Δ +239 inotify watches on cgroup · node-a · kubelet, t1 to t6"},
		{"no host", title("", false, ""), "Δ +40 manager.(*containerData).housekeepingTick · kubelet, t1 to t6"},
	} {
		if got := strings.ReplaceAll(c.got, "\u00a0", " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := title("node-a", true, ""); strings.Contains(got, "node-a") || strings.Contains(got, "housekeeping") {
		t.Errorf("what is frozen has the title %q", got)
	}
}
