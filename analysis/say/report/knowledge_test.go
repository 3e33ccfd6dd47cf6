package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
)

// kubelet is a series of a kubelet with one worker and three idle probers for each pod,
// and extra more workers.
func kubelet(pods []int, extra int) []analysis.Snapshot {
	var out []analysis.Snapshot
	for i, n := range pods {
		s := snapshot("kubelet", fmt.Sprintf("t%d", i), i*10, map[string][]int64{
			"k8s.io/kubernetes/pkg/kubelet.(*podWorkers).podWorkerLoop": upTo(int64(n + i*extra)),
			"k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run":        upTo(int64(3 * n)),
		})
		s.Figures = map[string]float64{"kubelet_running_pods": float64(n)}
		out = append(out, s)
	}
	return out
}

func TestWhatScalesWithItsLoadHasNoCause(t *testing.T) {
	r := Build(kubelet([]int{60, 110}, 0), nil, Options{}).Report
	if len(r.Series[0].Findings) == 0 {
		t.Fatal("nothing is found")
	}
	for _, f := range r.Series[0].Findings {
		if f.Verdict != analysis.Scaling || len(f.Classes)+len(f.Known) > 0 || len(r.Advice(&f)) != 1 {
			t.Errorf("%s, %s: %v, %v", f.Verdict, f.Title, f.Classes, r.Advice(&f))
		}
	}
	if len(r.Knowledge.Classes) > 0 {
		t.Errorf("%d classes are told", len(r.Knowledge.Classes))
	}
}

func TestAWorkerAtRestIsNotStuck(t *testing.T) {
	r := Build(kubelet([]int{60, 60, 60, 60, 60, 60}, 20), nil, Options{}).Report
	f := r.Series[0].Findings[0]
	if f.Verdict != analysis.Leaking || slices.Contains(f.Classes, "pod_worker") {
		t.Errorf("%s: %s, %v", f.Title, f.Verdict, f.Classes)
	}
}

// node is a series of a Node process with sockets to one address and the statement that
// they are unreferenced.
func node(sockets ...int) []analysis.Snapshot {
	f := &analysis.Family{Fingerprint: "d1:" + strings.Repeat("1", 32), Kind: analysis.KindDescriptor, Title: "TCP client to 10.0.0.1:443",
		Attributes: map[string]string{"type": "tcp", "role": "client", "remote": "10.0.0.1:443", "state": "ESTABLISHED"}}
	var out []analysis.Snapshot
	for i, n := range sockets {
		s := snapshot("node", fmt.Sprintf("t%d", i), i*10, nil)
		s.Totals.Goroutines = nil
		g := analysis.Group{Family: f, Count: n, OldestWait: -1}
		g.Members.Fill().ID = append(g.Members.Fill().ID, upTo(int64(n))...)
		s.Groups, s.Totals.Descriptors = []analysis.Group{g}, &n
		s.Statements = []analysis.Statement{{Key: "unreferenced handles", Title: fmt.Sprintf("%d of %d TCP handles are unreferenced", n, n), Text: "They lie idle."}}
		out = append(out, s)
	}
	return out
}

func TestIdleSocketsAccuseOnlyWhereTheyGrow(t *testing.T) {
	for _, tt := range []struct {
		name    string
		sockets []int
		want    bool
	}{
		{"a warm pool", []int{40, 40, 40, 40}, false},
		{"one snapshot", []int{85}, false},
		{"an agent for each call", []int{85, 183, 286, 394, 504, 618}, true},
	} {
		r := Build(node(tt.sockets...), nil, Options{}).Report
		at := slices.IndexFunc(r.Series[0].Findings, func(f Finding) bool { return f.Kind == FactFinding })
		if at < 0 {
			t.Errorf("%s: the fact is not told", tt.name)
			continue
		}
		f := r.Series[0].Findings[at]
		if got := slices.Contains(f.Classes, "node-agent"); got != tt.want {
			t.Errorf("%s: classes %v", tt.name, f.Classes)
		}
		if got := len(r.Advice(&f)) > 0; got != tt.want {
			t.Errorf("%s: %v", tt.name, r.Advice(&f))
		}
	}
}

func TestAnEntryThatAVersionRulesOutIsToldWithTheReason(t *testing.T) {
	series := func(version string) Finding {
		var snaps []analysis.Snapshot
		for i := range 5 {
			s := snapshot("containerd", fmt.Sprintf("t%d", i), i*10, map[string][]int64{"github.com/containerd/containerd/pkg/cri/io.(*ContainerIO).Attach.func1": upTo(int64(20 + 40*i))})
			s.Groups[0].States = map[string]int{"semacquire": s.Groups[0].Count}
			s.Process.Version = analysis.Fact{Value: version, Source: "metrics.txt"}
			snaps = append(snaps, s)
		}
		return Build(snaps, nil, Options{}).Report.Series[0].Findings[0]
	}
	f := series("v1.7.28")
	if len(f.Known) != 1 || f.Known[0].ID != "containerd-11120" || len(f.RuledOut) > 0 {
		t.Errorf("before the fix: %+v", f.Known)
	}
	if got := f.Known[0].sentence(); !strings.Contains(got, "CVE-2025-64329 (GHSA-m6hq-p25p-ffr2, GO-2025-4108), fixed in 1.7.29, 2.0.7, 2.1.5, 2.2.0, you run v1.7.28 (metrics.txt): affected.") {
		t.Errorf("%s", got)
	}
	if want := []string{"CVE-2025-64329", "GHSA-m6hq-p25p-ffr2", "GO-2025-4108"}; !slices.Equal(f.Advisories, want) {
		t.Errorf("advisories %q, want %q", f.Advisories, want)
	}
	f = series("v1.7.29")
	if len(f.Advisories) > 0 {
		t.Errorf("advisories %q of a version with the fix", f.Advisories)
	}
	if len(f.Known) > 0 || len(f.RuledOut) != 1 || !f.RuledOut[0].RuledOut {
		t.Fatalf("with the fix: %+v, %+v", f.Known, f.RuledOut)
	}
	const want = "none is accused. containerd-11120 has this stack, state and growth; CVE-2025-64329 (GHSA-m6hq-p25p-ffr2, GO-2025-4108), fixed in 1.7.29, 2.0.7, 2.1.5, 2.2.0, you run v1.7.29 (metrics.txt): the fix is in it, so that this growth has another cause or the fix does not hold."
	if got := f.NoneKnown(); got != want {
		t.Errorf("%s", got)
	}
}

func TestThresholdsSayWhatTheSeriesShows(t *testing.T) {
	var flat []analysis.Snapshot
	for i := range 4 {
		flat = append(flat, snapshot("app", fmt.Sprintf("t%d", i), i, map[string][]int64{"app.pool": upTo(10)}))
	}
	all := Build(flat, nil, Options{}).Report.Series[0].Thresholds
	if !slices.ContainsFunc(all, func(t Threshold) bool { return t.Seen == "+0 from t0 to t3" }) || slices.ContainsFunc(all, func(t Threshold) bool { return t.Passed }) {
		t.Errorf("%+v", all)
	}
}

func TestAStackOfEveryClientIsSimilarAndNoMore(t *testing.T) {
	const loop = "net/http.(*persistConn).writeLoop"
	series := func(other string) Finding {
		var snaps []analysis.Snapshot
		for i := range 7 {
			ids := upTo(int64(10 + 10*i))
			s := snapshot("informer", fmt.Sprintf("t%d", i), i*10, map[string][]int64{other: ids, loop: ids})
			for k := range s.Groups {
				if g := &s.Groups[k]; g.Variants[0].Stack.Frames[0].Func == loop {
					stack := *g.Variants[0].Stack
					stack.CreatedBy.Func = "net/http.(*Transport).dialConn"
					g.Family, g.Variants[0].Stack, g.Variants[0].Fingerprint = new(family.Stacks).OfStack(&stack), &stack, new(family.Stacks).Exact(&stack)
				}
			}
			snaps = append(snaps, s)
		}
		return Build(snaps, nil, Options{}).Report.Series[0].Findings[0]
	}
	for _, other := range []string{"k8s.io/client-go/tools/cache.(*RealFIFO).Pop", "main.call"} {
		f := series(other)
		if len(f.Known) > 0 || !slices.Contains(f.Similar, "distribution-473") {
			t.Errorf("beside %s: known %+v, similar %v", other, f.Known, f.Similar)
		}
		if !strings.Contains(f.NoneKnown(), "Similar, by functions of libraries that every program uses: ") {
			t.Errorf("%s", f.NoneKnown())
		}
	}
	if f := series("k8s.io/client-go/tools/cache.(*RealFIFO).Pop"); !slices.Contains(f.Classes, "watch-informer") {
		t.Errorf("classes %v", f.Classes)
	}
}

func TestWatchesOnWhatIsGoneAreToldWithoutGrowth(t *testing.T) {
	series := func(status string, counts ...int) []Finding {
		f := &analysis.Family{Fingerprint: "w1:" + strings.Repeat("2", 32), Kind: analysis.KindWatch, Title: "inotify watch inside a file system not in mountinfo", Attributes: map[string]string{"status": status, "fstype": "unknown"}}
		var snaps []analysis.Snapshot
		for i, n := range counts {
			s := snapshot("kubelet", fmt.Sprintf("t%d", i), i*10, nil)
			s.Totals.Goroutines = nil
			g := analysis.Group{Family: f, Count: n, OldestWait: -1}
			g.Members.Fill().ID = append(g.Members.Fill().ID, upTo(int64(n))...)
			total := n + 8
			s.Groups, s.Totals.Watches = []analysis.Group{g}, &total
			snaps = append(snaps, s)
		}
		return Build(snaps, nil, Options{}).Report.Series[0].Findings
	}
	for _, counts := range [][]int{{11}, {11, 11}} {
		all := series("not in mountinfo", counts...)
		if len(all) != 1 || all[0].Kind != FactFinding || all[0].Title != "11 of 19 watches are on what is gone" || !slices.Equal(all[0].Classes, []string{"inotify"}) || len(all[0].Signs) != 1 {
			t.Errorf("%v: %+v", counts, all)
		}
		if all := series("mounted", counts...); len(all) > 0 {
			t.Errorf("mounted, %v: %+v", counts, all)
		}
	}
	for _, f := range series("removed cgroup", 10, 20, 30, 40, 50, 60, 70) {
		if f.Kind == FactFinding {
			t.Errorf("what is accused is told twice: %s", f.Title)
		}
	}
}
