package family_test

import (
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/samples/corpus"
)

func TestTitleOf(t *testing.T) {
	for _, c := range []struct {
		what  string
		stack *analysis.Stack
		want  family.Title
	}{
		{
			"the frame nearest the leaf that is neither standard library nor plumbing",
			stackOf("sync.(*Mutex).Lock", "google.golang.org/grpc.(*ClientConn).Invoke", "example.com/app/store.(*DB).Get", "example.com/app/api.serve", "net/http.(*conn).serve", "<- net/http.(*Server).Serve"),
			family.Title{Text: "store.(*DB).Get <- net/http.(*Server).Serve", Name: "store.(*DB).Get", Function: "example.com/app/store.(*DB).Get", Creator: "net/http.(*Server).Serve"},
		},
		{
			"else the creator, in the plumbing that it runs",
			stackOf("k8s.io/apimachinery/pkg/util/wait.BackoffUntilWithContext", "k8s.io/apimachinery/pkg/util/wait.Until", "<- k8s.io/kubernetes/pkg/kubelet.(*Kubelet).StartGarbageCollection"),
			family.Title{Text: "kubelet.(*Kubelet).StartGarbageCollection in wait.BackoffUntilWithContext", Name: "kubelet.(*Kubelet).StartGarbageCollection in wait.BackoffUntilWithContext", Function: "k8s.io/kubernetes/pkg/kubelet.(*Kubelet).StartGarbageCollection", Creator: "k8s.io/kubernetes/pkg/kubelet.(*Kubelet).StartGarbageCollection"},
		},
		{
			"else the outermost plumbing",
			stackOf("io.ReadFull", "github.com/containerd/ttrpc.readMessageHeader", "github.com/containerd/ttrpc.(*serverConn).run.func1", "<- github.com/containerd/ttrpc.(*serverConn).run"),
			family.Title{Text: "ttrpc.(*serverConn).run in ttrpc.readMessageHeader", Name: "ttrpc.(*serverConn).run in ttrpc.readMessageHeader", Function: "github.com/containerd/ttrpc.(*serverConn).run", Creator: "github.com/containerd/ttrpc.(*serverConn).run"},
		},
		{
			"else the outermost standard library frame outside its machinery",
			stackOf("internal/poll.runtime_pollWait", "internal/poll.(*FD).Read", "net.(*netFD).Read", "net/http.(*persistConn).readLoop", "<- net/http.(*Transport).dialConn"),
			family.Title{Text: "net/http.(*persistConn).readLoop <- net/http.(*Transport).dialConn", Name: "net/http.(*persistConn).readLoop", Function: "net/http.(*persistConn).readLoop", Creator: "net/http.(*Transport).dialConn"},
		},
		{
			"else the creator",
			stackOf("sync.(*Mutex).Lock", "<- time.goFunc"),
			family.Title{Text: "time.goFunc", Name: "time.goFunc", Function: "time.goFunc", Creator: "time.goFunc"},
		},
		{
			"else the outermost frame",
			stackOf("runtime.gopark", "runtime.bgsweep", "runtime.goexit"),
			family.Title{Text: "runtime.bgsweep", Name: "runtime.bgsweep", Function: "runtime.bgsweep"},
		},
		{
			"what a parser did not keep is others",
			&analysis.Stack{Unavailable: analysis.TooManyStacks},
			family.Title{Text: "others: too many distinct stacks"},
		},
		{
			"generated code names nothing",
			&analysis.Stack{Frames: []analysis.Frame{
				{Func: "github.com/containerd/containerd/api/runtime/task/v2.(*taskClient).Stats", File: "/b/shim.pb.go", Line: 1},
				{Func: "github.com/containerd/containerd/runtime/v2.(*shimTask).Stats", File: "/b/shim.go", Line: 1},
			}},
			family.Title{Text: "v2.(*shimTask).Stats", Name: "v2.(*shimTask).Stats", Function: "github.com/containerd/containerd/runtime/v2.(*shimTask).Stats"},
		},
		{
			"a stack that was not available is named for its creator",
			&analysis.Stack{Unavailable: "goroutine running on other thread; stack unavailable", CreatedBy: analysis.Frame{Func: "main.main"}},
			family.Title{Text: "main.main, stack unavailable", Function: "main.main", Creator: "main.main"},
		},
		{"a stack without anything says so", &analysis.Stack{}, family.Title{Text: "goroutine without frames"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			if diff := cmp.Diff(c.want, family.TitleOf(c.stack)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := family.OfStack(c.stack).Title; got != c.want.Text {
				t.Errorf("the family's title is %q", got)
			}
		})
	}
}

// titlesOf returns the titles of stacks as those of one dump.
func titlesOf(stacks ...*analysis.Stack) []string {
	var families []*analysis.Family
	byPrint := map[string][]*analysis.Stack{}
	for _, s := range stacks {
		f := family.OfStack(s)
		if byPrint[f.Fingerprint] == nil {
			families = append(families, f)
		}
		byPrint[f.Fingerprint] = append(byPrint[f.Fingerprint], s)
	}
	titles := family.Titles(families, func(fingerprint string) []*analysis.Stack { return byPrint[fingerprint] })
	out := make([]string, len(families))
	for i, f := range families {
		out[i] = titles[f.Fingerprint]
	}
	return out
}

func TestTitlesTellFamiliesApart(t *testing.T) {
	for _, c := range []struct {
		what   string
		stacks []*analysis.Stack
		want   []string
	}{
		{
			"by the outermost function outside the standard library",
			[]*analysis.Stack{
				stackOf("example.com/cri.List", "example.com/a.Logs", "example.com/b.Loop", "<- example.com/m.Collect"),
				stackOf("example.com/cri.List", "example.com/a.Disks", "example.com/b.Loop", "<- example.com/m.Collect"),
			},
			[]string{"cri.List <- m.Collect via a.Logs", "cri.List <- m.Collect via a.Disks"},
		},
		{
			"by a standard library function, and what has none by the exact name",
			[]*analysis.Stack{
				stackOf("example.com/app.openFifo.func1", "<- example.com/app.openFifo"),
				stackOf("syscall.Open", "os.OpenFile", "example.com/app.openFifo.func2", "<- example.com/app.openFifo"),
			},
			[]string{"app.openFifo (app.openFifo.func1)", "app.openFifo in os.OpenFile"},
		},
		{
			"by the inside of the standard library only where nothing better differs",
			[]*analysis.Stack{
				stackOf("internal/poll.(*FD).Read", "net/http.(*persistConn).readLoop", "<- net/http.(*Transport).dialConn"),
				stackOf("net/http.(*body).Close", "net/http.(*persistConn).readLoop", "<- net/http.(*Transport).dialConn"),
			},
			[]string{
				"net/http.(*persistConn).readLoop <- net/http.(*Transport).dialConn in internal/poll.(*FD).Read",
				"net/http.(*persistConn).readLoop <- net/http.(*Transport).dialConn in net/http.(*body).Close",
			},
		},
		{
			"families with a title of their own stay as they are",
			[]*analysis.Stack{stackOf("main.a", "<- main.main"), stackOf("main.b", "<- main.main")},
			[]string{"main.a <- main.main", "main.b <- main.main"},
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			if diff := cmp.Diff(c.want, titlesOf(c.stacks...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTitlesWithoutStacksAndOfOtherKinds(t *testing.T) {
	stack := family.OfStack(stackOf("main.a", "<- main.main"))
	file := (&family.Sockets{}).OfDescriptor(analysis.Descriptor{Type: "regular", Name: "/etc/passwd"}, -1)
	twin := *file
	twin.Fingerprint = "d1:00112233445566778899aabbccddeeff"
	got := family.Titles([]*analysis.Family{stack, file, &twin, file}, nil)
	want := map[string]string{
		stack.Fingerprint: "main.a <- main.main",
		file.Fingerprint:  "/etc/passwd #" + file.Fingerprint[3:9],
		twin.Fingerprint:  "/etc/passwd #001122",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNoTwoFamiliesShareATitle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seen := map[string]bool{}
		for _, title := range titlesOf(rapid.SliceOfN(stacks(), 0, 20).Draw(t, "stacks")...) {
			if seen[title] {
				t.Fatalf("two families are called %q", title)
			}
			seen[title] = true
		}
	})
}

// dumpTitles returns the title and count of every family of a dump, as "12 title".
func dumpTitles(samples []sample) map[string]int {
	counts := map[string]int{}
	byPrint := map[string][]*analysis.Stack{}
	var families []*analysis.Family
	for _, s := range samples {
		f := family.OfStack(s.stack)
		if counts[f.Fingerprint] == 0 {
			families = append(families, f)
			byPrint[f.Fingerprint] = []*analysis.Stack{s.stack}
		}
		counts[f.Fingerprint] += s.count
	}
	titles := family.Titles(families, func(fingerprint string) []*analysis.Stack { return byPrint[fingerprint] })
	out := map[string]int{}
	for fingerprint, n := range counts {
		out[titles[fingerprint]] = n
	}
	return out
}

// The counts are those of the series' expected files and of grep.
func TestTitlesOfRealDumps(t *testing.T) {
	for _, c := range []struct {
		file []string
		// want holds the parts that a title must have, joined by "…".
		want map[string]int
	}{
		{
			[]string{"series", "kubelet-probe-leak", "t7", "kubelet", "goroutine-debug2.txt"},
			map[string]int{
				"(*remoteRuntimeService).RunPodSandbox <- kubelet.(*podWorkers).UpdatePod":    24,
				"execSyncV1 <- prober.(*manager).AddPod":                                      8,
				"listContainerStatsV1…via…(*logMetricsCollector).":                            6,
				"listContainerStatsV1…via…(*volumeStatsCollector).":                           6,
				"StopContainer <-…killContainersWithSyncResult":                               4,
				"(*Kubelet).StartGarbageCollection in wait.BackoffUntilWithContext":           2,
				"prober.(*worker).run <- prober.(*manager).AddPod":                            40,
				"manager.(*containerData).housekeepingTick <- manager.(*containerData).Start": 64,
			},
		},
		{
			[]string{"series", "kubelet-probe-leak", "t7", "containerd", "goroutine-debug2.txt"},
			map[string]int{
				"ttrpc.(*serverConn).run in ttrpc.readMessageHeader": 28,
				"ttrpc.(*Client).run in ttrpc.readMessageHeader":     32,
				"v2.(*binary).Start in fifo.(*fifo).Read":            32,
				"v2.(*shimTask).Stats <- v1.(*Collector).Collect":    8,
				"(*Namespace).WithConstLabels <-":                    24,
				"(fifo.openFifo.func1)":                              16,
			},
		},
		{
			[]string{"series", "prometheus-hanging-targets", "t6", "prometheus", "goroutine-debug2.txt"},
			map[string]int{
				"net/http.(*persistConn).readLoop <- net/http.(*Transport).dialConn":  240,
				"net/http.(*persistConn).writeLoop <- net/http.(*Transport).dialConn": 240,
				"scrape.(*targetScraper).scrape <- scrape.(*scrapePool).sync":         240,
			},
		},
		{
			[]string{"large", "grpc-100k-debug1.txt"},
			map[string]int{"health.(*Server).Watch": 100_000},
		},
	} {
		t.Run(filepath.Join(c.file...), func(t *testing.T) {
			name := corpus.Path(t, c.file...)
			read := readText
			if strings.Contains(name, "debug1") {
				read = readDebug1
			}
			got := dumpTitles(read(t, open(t, name)))
			for want, count := range c.want {
				total := 0
				for title, n := range got {
					if holds(title, strings.Split(want, "…")) {
						total += n
					}
				}
				if total != count {
					t.Errorf("%d goroutines are called %q, want %d; there are\n%s", total, want, count, lines(got))
				}
			}
			for title := range got {
				for _, alone := range []string{"waitOnHeader", "runtime_pollWait", "gopark"} {
					if strings.HasSuffix(title, alone) {
						t.Errorf("%q names nothing", title)
					}
				}
			}
		})
	}
}

func holds(title string, parts []string) bool {
	for _, part := range parts {
		_, after, ok := strings.Cut(title, part)
		if !ok {
			return false
		}
		title = after
	}
	return true
}

func lines(titles map[string]int) string {
	var out []string
	for title := range titles {
		out = append(out, title)
	}
	sort.Strings(out)
	return strings.Join(out, "\n")
}
