package server

import (
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis/say/report"
	"leakdiff/server/share"
)

// sandbox is the stack of the sample's 24 calls that wait for one lock, in texts: twelve
// of sixteen frames, the code of containerd marked.
var sandbox = []string{
	"  sync.runtime_SemacquireMutex", "sema.go:77\n",
	"  github.com/docker/go-metrics.(*Namespace).WithConstLabels", "namespace.go:43\n",
	"> github.com/containerd/containerd/metrics/cgroups/v1.(*Collector).Add", "metrics.go:180\n",
	"> github.com/containerd/containerd/pkg/cri/server.(*criService).RunPodSandbox", "sandbox_run.go:349\n",
	"  … 4 more frames\n",
	"  created by google.golang.org/grpc.(*Server).serveStreams.func1", "server.go:869\n",
}

func TestEveryFormOfACaseShowsOnWhichLineItGrows(t *testing.T) {
	s := newSite(t)
	k := uploadKubelet(t, s)
	answer := s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+k.up.Case+`"}`))
	if answer.status != 201 {
		t.Fatalf("freezing gave %d: %s", answer.status, answer.body)
	}
	for name, link := range map[string]string{"live": k.up.Link, "frozen": decode[share.Result](t, answer.body).Link} {
		t.Run(name, func(t *testing.T) {
			for _, suffix := range []string{".md", ".jira", ".txt"} {
				text := s.get(link + suffix).body
				at := strings.Index(text, "24 goroutines at t7 (")
				if at < 0 {
					t.Fatalf("%s has no stack: %.2000s", suffix, text)
				}
				if suffix != ".txt" && !strings.Contains(text[at:at+60], "> own code") && !strings.Contains(text[at:at+60], "&gt; own code") {
					t.Errorf("%s does not say what > means: %.80s", suffix, text[at:])
				}
				for _, want := range sandbox {
					next := strings.Index(text[at:], want)
					if next < 0 {
						t.Fatalf("%s lacks %q behind\n%.3000s", suffix, want, text[at:])
					}
					at += next
				}
			}
			for _, suffix := range []string{"", ".html"} {
				page := s.get(link + suffix).body
				own := strings.Index(page, `<li class="fr own">`)
				if own < 0 || !strings.Contains(page[own:own+200], "own code:") {
					t.Errorf("page%s marks no own code for who sees it and who hears it", suffix)
				}
				for _, want := range []string{">sandbox_run.go:349<", ">worker.go:189<", ">container.go:575<", ">… 8 more frames<", `<li class="fr own cr">`, "No own code is in this stack."} {
					if !strings.Contains(page, want) {
						t.Errorf("page%s lacks %q", suffix, want)
					}
				}
			}
			doc := decode[report.Report](t, s.get(link+".json").body)
			found := false
			for _, series := range doc.Series {
				for _, f := range series.Findings {
					found = found || slices.Contains(f.Stack, report.StackFrame{Function: "github.com/containerd/containerd/pkg/cri/server.(*criService).RunPodSandbox",
						File: "github.com/containerd/containerd/pkg/cri/server/sandbox_run.go", Line: 349, Own: true})
				}
			}
			if !found {
				t.Error("no finding of the JSON holds the frame")
			}
		})
	}
	diff := "/diff/" + k.t1 + ".." + k.t6
	s.run(t, []scenario{
		{name: "a comparison repeats it with what it repeats of the findings", path: diff + "?case=" + k.up.Case, status: 200, want: []string{`class="stk"`, ">container.go:575<"}},
		{name: "and as text", path: diff + ".txt?case=" + k.up.Case, status: 200, want: []string{"Stack of all 64 goroutines at t7:", "container.go:575\n"}},
	})
}
