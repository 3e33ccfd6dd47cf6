package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/report"
	"leakdiff/samples"
)

// TestFindingsOfTheSampleShowWhereTheirGoroutinesAre has the frames of t7 of the
// sample, the last snapshot before the cause went away. ">" is own code.
func TestFindingsOfTheSampleShowWhereTheirGoroutinesAre(t *testing.T) {
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	var input bundle.Input
	for _, s := range all {
		if s.Name == "kubelet-probe-leak" {
			input = bundle.Input{Name: s.Name + ".tar.gz", Size: -1, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(s.Archive)), nil }}
		}
	}
	result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, []bundle.Input{input})
	if err != nil {
		t.Fatal(err)
	}
	r := report.Build(result.Snapshots, result.Problems, report.Options{}).Report
	label := map[string]string{}
	for _, s := range r.Snapshots {
		label[s.ID] = s.Label
	}
	got := map[string]string{}
	for _, s := range r.Series {
		for _, f := range s.Findings {
			var b strings.Builder
			fmt.Fprintf(&b, "%d of %d %ss at %s\n", f.StackOf.Members, f.StackOf.Of, f.StackOf.Kind, label[f.StackOf.Snapshot])
			for _, x := range f.Stack {
				mark := "  "
				if x.Own {
					mark = "> "
				}
				if x.CreatedBy {
					mark += "created by "
				}
				fmt.Fprintf(&b, "%s%s %s:%d\n", mark, x.Function, x.File, x.Line)
			}
			got[fmt.Sprint(s.Process, " ", f.Rank)] = b.String()
			if none := !strings.Contains(b.String(), "> "); none != (f.StackNote == "No own code is in this stack.") {
				t.Errorf("%s %d says %q of its own code", s.Process, f.Rank, f.StackNote)
			}
		}
	}
	for finding, want := range map[string]string{
		"kubelet 1": `64 of 64 goroutines at t7
  github.com/google/cadvisor/manager.(*containerData).housekeepingTick github.com/google/cadvisor@v0.52.1/manager/container.go:575
  github.com/google/cadvisor/manager.(*containerData).housekeeping github.com/google/cadvisor@v0.52.1/manager/container.go:533
  created by github.com/google/cadvisor/manager.(*containerData).Start github.com/google/cadvisor@v0.52.1/manager/container.go:120
`,
		// Of the 40 workers that wait for their probe 24 wait in line 189.
		"kubelet 2": `24 of 40 goroutines at t7
> k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run k8s.io/kubernetes@v1.34.4/pkg/kubelet/prober/worker.go:189
> created by k8s.io/kubernetes/pkg/kubelet/prober.(*manager).AddPod k8s.io/kubernetes@v1.34.4/pkg/kubelet/prober/prober_manager.go:210
`,
		"containerd 5": `24 of 24 goroutines at t7
  sync.runtime_SemacquireMutex runtime/sema.go:77
  sync.(*Mutex).lockSlow sync/mutex.go:171
  sync.(*Mutex).Lock sync/mutex.go:90
  github.com/docker/go-metrics.(*Namespace).WithConstLabels github.com/docker/go-metrics/namespace.go:43
> github.com/containerd/containerd/metrics/cgroups/v1.(*Collector).Add github.com/containerd/containerd/metrics/cgroups/v1/metrics.go:180
> github.com/containerd/containerd/metrics/cgroups/v1.(*cgroupsMonitor).Monitor github.com/containerd/containerd/metrics/cgroups/v1/cgroups.go:60
> github.com/containerd/containerd/services/tasks.(*local).Create github.com/containerd/containerd/services/tasks/local.go:233
> github.com/containerd/containerd.(*container).NewTask github.com/containerd/containerd/container.go:298
> github.com/containerd/containerd/pkg/cri/server.(*criService).RunPodSandbox github.com/containerd/containerd/pkg/cri/server/sandbox_run.go:349
> github.com/containerd/containerd/pkg/cri/server.(*instrumentedService).RunPodSandbox github.com/containerd/containerd/pkg/cri/server/instrumented_service.go:83
  github.com/containerd/containerd/vendor/k8s.io/cri-api/pkg/apis/runtime/v1._RuntimeService_RunPodSandbox_Handler.func1 github.com/containerd/containerd/vendor/k8s.io/cri-api/pkg/apis/runtime/v1/api.pb.go:9502
  github.com/grpc-ecosystem/go-grpc-prometheus.(*ServerMetrics).UnaryServerInterceptor.func1 github.com/grpc-ecosystem/go-grpc-prometheus/server_metrics.go:108
  github.com/containerd/containerd/vendor/k8s.io/cri-api/pkg/apis/runtime/v1._RuntimeService_RunPodSandbox_Handler github.com/containerd/containerd/vendor/k8s.io/cri-api/pkg/apis/runtime/v1/api.pb.go:9504
  google.golang.org/grpc.(*Server).processUnaryRPC google.golang.org/grpc/server.go:1210
  google.golang.org/grpc.(*Server).handleStream google.golang.org/grpc/server.go:1533
  google.golang.org/grpc.(*Server).serveStreams.func1.2 google.golang.org/grpc/server.go:871
  created by google.golang.org/grpc.(*Server).serveStreams.func1 google.golang.org/grpc/server.go:869
`,
		"containerd 6": `1 of 1 goroutines at t7
  sync.runtime_Semacquire runtime/sema.go:62
  sync.(*WaitGroup).Wait sync/waitgroup.go:139
> github.com/containerd/containerd/metrics/cgroups/v1.(*Collector).Collect github.com/containerd/containerd/metrics/cgroups/v1/metrics.go:132
  github.com/docker/go-metrics.(*Namespace).Collect github.com/docker/go-metrics/namespace.go:141
  github.com/prometheus/client_golang/prometheus.(*Registry).Gather.func1 github.com/prometheus/client_golang/prometheus/registry.go:456
  created by github.com/prometheus/client_golang/prometheus.(*Registry).Gather github.com/prometheus/client_golang/prometheus/registry.go:467
`,
	} {
		if d := cmp.Diff(want, got[finding]); d != "" {
			t.Errorf("%s: %s", finding, d)
		}
	}
}

// group is n members of a stack: "function file:line" lines, and its creator after
// "by".
func group(kind analysis.Kind, first int64, counts map[string]int, order ...string) analysis.Group {
	var g analysis.Group
	for _, text := range order {
		s := &analysis.Stack{}
		for _, line := range strings.Split(text, "\n") {
			name, isCreator := strings.CutPrefix(strings.TrimSpace(line), "by ")
			var f analysis.Frame
			fmt.Sscanf(strings.Replace(name, ":", " ", 1), "%s %s %d", &f.Func, &f.File, &f.Line)
			if isCreator {
				s.CreatedBy = f
			} else {
				s.Frames = append(s.Frames, f)
			}
		}
		if g.Family == nil {
			g.Family = new(family.Stacks).OfStack(s)
			g.Family.Kind = kind
			g.OldestWait = -1
		}
		g.Variants = append(g.Variants, analysis.Variant{Fingerprint: new(family.Stacks).Exact(s), Stack: s, Count: counts[text]})
		for range counts[text] {
			g.Members.Fill().ID = append(g.Members.Fill().ID, first)
			first += 10
		}
		g.Count += counts[text]
	}
	return g
}

func at(minute int, groups ...analysis.Group) analysis.Snapshot {
	s := analysis.Snapshot{ID: fmt.Sprintf("s%d", minute), Label: fmt.Sprintf("t%d", minute/10), Order: minute, CapturedAt: time.Date(2026, 11, 21, 3, minute, 0, 0, time.UTC), Groups: groups}
	s.Process.Name.Value = "shop"
	total := 0
	for _, g := range groups {
		total += g.Count
	}
	s.MaxGoroutineID = int64(10000 + minute) // of one run of the process
	if groups[0].Family.Kind == analysis.KindThread {
		s.Totals.Threads = &total
	} else {
		s.Totals.Goroutines = &total
	}
	return s
}

func TestAFindingShowsTheMostFrequentStackOfTheSnapshotThatIsJudged(t *testing.T) {
	const (
		main = "main.main /src/shop/cmd/shop/main.go:7"
		wait = "sync.(*Mutex).Lock /usr/local/go/src/sync/mutex.go:90\n\tmain.wait /src/shop/cmd/shop/wait.go:20\n\tby main.main /src/shop/cmd/shop/main.go:9"
		late = "sync.(*Mutex).Lock /usr/local/go/src/sync/mutex.go:90\n\tmain.wait /src/shop/cmd/shop/wait.go:33\n\tby main.main /src/shop/cmd/shop/main.go:9"
	)
	var all []analysis.Snapshot
	for i, counts := range []map[string]int{{wait: 2}, {wait: 12}, {wait: 22}, {wait: 20, late: 12}, {wait: 10, late: 32}, {late: 2}} {
		all = append(all, at(10*i, group(analysis.KindGoroutine, 1, map[string]int{main: 1}, main), group(analysis.KindGoroutine, 100, counts, wait, late)))
	}
	var b bytes.Buffer
	c := report.Build(all, nil, report.Options{})
	if err := report.Text(&b, c, report.Terminal{}); err != nil {
		t.Fatal(err)
	}
	// It went back to 2 at t5.
	const want = `where 32 of the 42 wait at t4
  sync.(*Mutex).Lock                                                 mutex.go:90
▌ main.wait                                                  cmd/shop/wait.go:33
▌ created by main.main                                        cmd/shop/main.go:9
`
	if !strings.Contains(b.String(), want) {
		t.Errorf("the text lacks\n%sin\n%s", want, b.String())
	}
	if stack, next := strings.Index(b.String(), "where 32"), strings.Index(b.String(), "\ndo "); stack < 0 || stack > next {
		t.Errorf("stack at %d, next step at %d: they are not in this order", stack, next)
	}
	doc, err := json.Marshal(c.Report.Series[0].Findings[0].Stack)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(`[{"function":"sync.(*Mutex).Lock","file":"/usr/local/go/src/sync/mutex.go","line":90},`+
		`{"function":"main.wait","file":"/src/shop/cmd/shop/wait.go","line":33,"own":true},`+
		`{"function":"main.main","file":"/src/shop/cmd/shop/main.go","line":9,"own":true,"created_by":true}]`, string(doc)); d != "" {
		t.Error(d)
	}
}

func TestWhatAFindingSaysWhereNoOwnCodeIsMarked(t *testing.T) {
	grown := func(kind analysis.Kind, stacks ...string) report.Case {
		var all []analysis.Snapshot
		for i := range 6 {
			var groups []analysis.Group
			for k, s := range stacks {
				groups = append(groups, group(kind, int64(1+5000*k), map[string]int{s: []int{2 + 9*i, 2 + 4*i*i}[k]}, s)) // two rhythms: no unit
			}
			all = append(all, at(10*i, groups...))
		}
		return report.Build(all, nil, report.Options{})
	}
	const (
		notKnown = "Which code is your own cannot be told from these dumps."
		none     = "No own code is in this stack."
	)
	for _, tt := range []struct {
		name    string
		built   report.Case
		note    string
		printed string
		// times is how often the report prints it, over both findings.
		times int
	}{
		{"no dump shows package main, and the creators are libraries", grown(analysis.KindGoroutine, "example.com/a.One /x/a/one.go:1\n\tby net/http.(*Server).Serve net/http/server.go:3", "example.com/b.Two /x/b/two.go:2"), notKnown, "one.go:1", 1},
		{"a dump of a JVM", grown(analysis.KindThread, "com.acme.Pool.run Pool.java:123", "com.acme.Client.call Client.java:7"), notKnown, "Pool.java:123", 1},
		{"the program's main is seen, and none of its code in the stack", grown(analysis.KindGoroutine, "example.com/a.One /m/a@v1.0.0/one.go:1", "example.com/b.Two /m/b@v1.0.0/two.go:2\n\tmain.main /src/shop/main.go:3"), none, "one.go:1", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, text, _ := strings.Cut(pageText(tt.built), " Findings -------- ") // the answer above has the stack as well
			noted := 0
			for _, f := range tt.built.Report.Series[0].Findings {
				for _, x := range f.Stack {
					if f.StackNote != "" && x.Own {
						t.Errorf("%q marks %s and says %q", f.Title, x.Function, f.StackNote)
					}
				}
				if f.StackNote == tt.note {
					noted++
				}
			}
			if noted == 0 || tt.note == notKnown && noted != 2 {
				t.Errorf("%d findings say %q", noted, tt.note)
			}
			if n := strings.Count(text, tt.note); n != tt.times || !strings.Contains(text, tt.printed) {
				t.Errorf("the note stands %d times, want %d, with %s:\n%s", n, tt.times, tt.printed, text)
			}
		})
	}
}

func TestAFindingWithoutAStackHasAnEmptyListAndPrintsNothing(t *testing.T) {
	var all []analysis.Snapshot
	for i := range 6 {
		s := analysis.Snapshot{ID: fmt.Sprint("s", i), Label: fmt.Sprint("t", i), Order: i, CapturedAt: time.Date(2026, 11, 21, 3, 10*i, 0, 0, time.UTC)}
		s.Process.Name.Value = "shop"
		g := analysis.Group{Family: family.NewSockets(nil).OfDescriptor(analysis.Descriptor{FD: 3, Type: "tcp", Protocol: "TCP", Local: "10.0.0.1:1", Remote: "10.0.0.2:443", State: "ESTABLISHED"}, 0), Count: 5 + 10*i, OldestWait: -1}
		for k := range g.Count {
			g.Members.Fill().ID = append(g.Members.Fill().ID, int64(k))
		}
		s.Groups = []analysis.Group{g}
		s.Totals.Descriptors = &g.Count
		all = append(all, s)
	}
	c := report.Build(all, nil, report.Options{})
	var doc bytes.Buffer
	if err := report.JSON(&doc, c.Report); err != nil {
		t.Fatal(err)
	}
	if n := len(c.Report.Series[0].Findings); n == 0 || strings.Count(doc.String(), `"stack":[]`) != n || strings.Contains(doc.String(), "stack_") || strings.Contains(pageText(c), "Stack of") {
		t.Errorf("%d findings:\n%s\n%s", n, pageText(c), doc.String())
	}
}
