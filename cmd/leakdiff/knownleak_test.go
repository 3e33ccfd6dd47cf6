package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
)

// namedOf are the known leaks that the findings of a report accuse.
func namedOf(r report.Report) []string {
	var out []string
	for _, s := range r.Series {
		for _, f := range s.Findings {
			for _, k := range f.Known {
				if k.Status == knowledge.Leak && k.Basis != knowledge.Possible && !slices.Contains(out, k.ID) {
					out = append(out, k.ID)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// The series of the corpus with a published leak name it. The others name none.
func TestSeriesOfTheCorpusNameTheirPublishedLeaks(t *testing.T) {
	for series, want := range map[string][]string{
		"kubelet-probe-leak":         {"cadvisor-1869", "cadvisor-3218", "k8s-114751"},
		"clientgo-informer-recreate": nil,
		"okhttp-leak":                nil,
		"okhttp-leak-supportcore":    nil,
		"node-agent-leak":            nil,
		"groovy-k8s-clients":         nil,
		"inotify-leak":               nil,
		"prometheus-hanging-targets": nil,
		"restart":                    nil,
		"socket-leak":                nil,
	} {
		t.Run(series, func(t *testing.T) {
			if d := cmp.Diff(want, namedOf(reportOf(t, ofDirectory(t, filepath.Join(corpus.Path(t), "series", series))))); d != "" {
				t.Error(d)
			}
		})
	}
}

// stacksOfCorpus are the families of goroutines of healthy captures and of single public
// dumps, with the file that they are from.
func stacksOfCorpus(t *testing.T) map[string]report.Family {
	t.Helper()
	root := corpus.Path(t)
	out := map[string]report.Family{}
	add := func(name string, r report.Report) {
		for _, s := range r.Series {
			for _, f := range s.Families {
				if f.Kind == analysis.KindGoroutine && len(f.Frames) > 0 {
					out[name+" "+s.Process+" "+f.Fingerprint] = f
				}
			}
		}
	}
	for name, dir := range baselines(t) {
		add(name, reportOf(t, ofDirectory(t, dir)))
	}
	for _, folder := range []string{"goroutine/public", "goroutine/gen", "goroutine/states", "goroutine/signals"} {
		if !corpus.Has(t, folder) {
			continue
		}
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(file, ".tsv") {
				return err
			}
			add(folder+"/"+d.Name(), reportOf(t, ofFile(t, file)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// ownStacks are known leaks whose stack healthy captures of their own program hold. Only
// growth makes it a leak, and the test below pretends it.
var ownStacks = map[string]string{"k8s-114751": "kubelet", "cadvisor-3218": "kubelet", "cadvisor-1869": "kubelet", "k8s-100241": "kubelet", "containerd-9668": "containerd"}

// Every stack of the healthy captures and public dumps is matched as if it grew. Nothing
// may be called a known leak but the place of a leak in its own program.
func TestNoStackOfHealthyProgramsIsAKnownLeak(t *testing.T) {
	m := knowledge.Builtin().NewMatcher()
	stacks, wrong := stacksOfCorpus(t), map[string][]string{}
	generic := 0
	for name, f := range stacks {
		stack := &analysis.Stack{CreatedBy: analysis.Frame{Func: f.CreatedBy}}
		foreign := false
		for _, fn := range f.Frames {
			stack.Frames = append(stack.Frames, analysis.Frame{Func: fn, File: "x.go", Line: 1})
			first, _, _ := strings.Cut(fn, "/")
			foreign = foreign || strings.Contains(first, ".") && strings.Contains(fn, "/")
		}
		if !foreign {
			generic++
		}
		r := m.Match(knowledge.Seen{Family: new(family.Stacks).OfStack(stack), States: f.States, Count: 40, OldestWait: 30, Timed: true, Verdict: analysis.Leaking, Proven: true})
		for _, k := range r.Known {
			own := ownStacks[k.Entry.ID]
			if k.Speaks() && k.Entry.Status == knowledge.Leak && (own == "" || !strings.Contains(name, own)) {
				wrong[k.Entry.ID] = append(wrong[k.Entry.ID], name)
				if !foreign {
					t.Errorf("%s accuses a generic stack of %s: %q", k.Entry.ID, name, f.Frames)
				}
			}
		}
	}
	t.Logf("%d stacks, %d of them generic", len(stacks), generic)
	for id, names := range wrong {
		t.Errorf("%s accuses %d stacks: %s", id, len(names), names[0])
	}
}

// attached writes captures of containerd 1.6.11 whose goroutines of failed execs rise.
func attached(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for at := range 6 {
		var dump strings.Builder
		dump.WriteString("goroutine 1 [chan receive, 300 minutes]:\nmain.main()\n\t/src/main.go:10 +0x1d\n\n")
		for i := range 10 + 20*at {
			fmt.Fprintf(&dump, "goroutine %d [chan send, %d minutes]:\ngithub.com/containerd/containerd/pkg/cri/streaming/remotecommand.handleResizeEvents(0xc000123456)\n\t/src/x.go:10 +0x1d\n"+
				"created by github.com/containerd/containerd/pkg/cri/streaming/remotecommand.createStreams\n\t/src/y.go:20 +0x2d\n\n", 100+i, 10*(at-max(0, (i-10)/20)))
		}
		process := filepath.Join(dir, fmt.Sprintf("t%d", at), "containerd")
		if err := os.MkdirAll(process, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			filepath.Join(process, "goroutine-debug2.txt"):      dump.String(),
			filepath.Join(process, "metrics.txt"):               "# HELP containerd_build_info_total containerd build information\n# TYPE containerd_build_info_total counter\ncontainerd_build_info_total{revision=\"x\",version=\"v1.6.11\"} 1\n# HELP go_goroutines Number of goroutines that currently exist.\n# TYPE go_goroutines gauge\ngo_goroutines 12\n",
			filepath.Join(filepath.Dir(process), "captured_at"): time.Date(2026, 11, 1, 0, at*10, 0, 0, time.UTC).Format(time.RFC3339) + "\n",
		} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func TestAnAdvisoryIsToldInEveryForm(t *testing.T) {
	dir := attached(t)
	r := reportOf(t, ofDirectory(t, dir))
	if got := r.Series[0].Findings[0].Advisories; !slices.Contains(got, "CVE-2022-23471") || !slices.Contains(got, "GHSA-2qjp-425j-52j9") || !slices.Contains(got, "GO-2022-1147") {
		t.Errorf("advisories %q", got)
	}
	const want = "CVE-2022-23471 (GHSA-2qjp-425j-52j9, GO-2022-1147), fixed in 1.5.16, 1.6.12, you run v1.6.11 (metrics.txt): affected"
	for _, arguments := range [][]string{{}, {"--format", "md"}, {"--format", "html"}, {"--format", "json"}} {
		got := execute(t, nil, append(append([]string{"report"}, arguments...), dir)...).stdout
		flat := strings.Join(strings.Fields(strings.ReplaceAll(got, "\\", "")), " ")
		if !strings.Contains(flat, want) {
			t.Errorf("%q lacks the advisory:\n%.3000s", arguments, flat)
		}
	}
}
