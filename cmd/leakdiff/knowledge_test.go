package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/report"
	"leakdiff/samples"
	"leakdiff/samples/corpus"
)

// baselines are the first snapshots of every series of the corpus.
func baselines(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Join(corpus.Path(t), "series")
	series, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range series {
		inside, err := os.ReadDir(filepath.Join(root, s.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range inside { // sorted by name: the first is the earliest
			if d.IsDir() {
				out[s.Name()] = filepath.Join(root, s.Name(), d.Name())
				break
			}
		}
	}
	return out
}

func TestHealthyDumpsAreAccusedOfNothing(t *testing.T) {
	dirs := baselines(t)
	if len(dirs) != 10 {
		t.Fatalf("%d series, the corpus has 10", len(dirs))
	}
	for name, dir := range dirs {
		t.Run(name, func(t *testing.T) {
			for _, s := range reportOf(t, ofDirectory(t, dir)).Series {
				for _, f := range s.Families {
					if f.Verdict == analysis.Leaking || f.Verdict == analysis.Suspicious || len(f.Known) > 0 {
						t.Errorf("%s: %s is %s, known leaks %v", s.Process, f.Title, f.Verdict, f.Known)
					}
				}
			}
		})
	}
}

// Of the goroutines of an idle program the list of normal stacks explains at least the
// first figure.
func TestNormalStacksExplainIdlePrograms(t *testing.T) {
	dirs := baselines(t)
	for _, tt := range []struct {
		series, process string
		least, of       int
	}{
		{"kubelet-probe-leak", "kubelet", 60, 87},
		{"kubelet-probe-leak", "containerd", 19, 28},
		{"prometheus-hanging-targets", "prometheus", 18, 27},
		{"clientgo-informer-recreate", "informer", 26, 28},
	} {
		t.Run(tt.process, func(t *testing.T) {
			for _, s := range reportOf(t, ofDirectory(t, dirs[tt.series])).Series {
				if s.Process != tt.process {
					continue
				}
				if s.Healthy == nil || s.Healthy.Of != tt.of || s.Healthy.Members < tt.least {
					t.Errorf("%+v, want at least %d of %d", s.Healthy, tt.least, tt.of)
				}
				return
			}
			t.Error("no such process")
		})
	}
}

// classesOf are the classes that the findings of a process name.
func classesOf(r report.Report, process string) []string {
	var out []string
	for _, s := range r.Series {
		if process != "" && s.Process != process {
			continue
		}
		for _, f := range s.Findings {
			for _, c := range f.Classes {
				if !slices.Contains(out, c) {
					out = append(out, c)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestFindingsOfTheCorpusNameTheirClasses(t *testing.T) {
	root := filepath.Join(corpus.Path(t), "series")
	for _, tt := range []struct {
		series, process string
		want            []string
	}{
		{"kubelet-probe-leak", "kubelet", []string{"housekeeping", "inotify", "pod_worker", "prober", "runtime-call"}},
		{"inotify-leak", "", []string{"inotify"}},
		{"clientgo-informer-recreate", "", []string{"watch-informer"}},
		{"node-agent-leak", "", []string{"node-agent"}},
		{"okhttp-leak", "", []string{"okhttp"}},
		{"okhttp-leak-supportcore", "", []string{"okhttp"}},
		{"groovy-k8s-clients", "", []string{"okhttp", "queue-saturation"}},
		{"socket-leak", "", nil},
		{"restart", "", nil},
		{"prometheus-hanging-targets", "", nil},
	} {
		t.Run(tt.series, func(t *testing.T) {
			r := reportOf(t, ofDirectory(t, filepath.Join(root, tt.series)))
			if d := cmp.Diff(tt.want, classesOf(r, tt.process)); d != "" {
				t.Error(d)
			}
			for _, key := range tt.want {
				class := r.ClassOf(key)
				if class == nil || class.FirstCheck == "" || len(class.Remedy) == 0 {
					t.Errorf("%s comes without advice", key)
				}
			}
		})
	}
}

// sampleReport is the report of a sample that comes with the program.
func sampleReport(t *testing.T, name string) (report.Report, string) {
	t.Helper()
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == name {
			file := filepath.Join(t.TempDir(), name+".tar.gz")
			if err := os.WriteFile(file, s.Archive, 0o600); err != nil {
				t.Fatal(err)
			}
			return reportOf(t, ofBytes(name+".tar.gz", s.Archive)), file
		}
	}
	t.Fatalf("no sample %s", name)
	return report.Report{}, ""
}

func TestTheKubeletSampleIsToldWithTheRightAdvice(t *testing.T) {
	r, file := sampleReport(t, "kubelet-probe-leak")
	if d := cmp.Diff([]string{"housekeeping", "inotify", "pod_worker", "prober", "runtime-call"}, classesOf(r, "kubelet")); d != "" {
		t.Error(d)
	}
	for format, known := range map[string][]string{
		"text": {"Known leaks: • k8s-114751 ", "Known leaks: None matches", "What it is: cAdvisor housekeeping accumulation", "What it is: Probe accumulation", "What it is: Stuck pod workers",
			"Do this: Something released all 40 between 03:06:33 and 03:07:16: check what restarted or was deleted.", "Where the workers stand in ExecSync, look at the container runtime first", "Take care: Restarting the kubelet is disruptive"},
		"md": {"Known leaks: - k8s-114751 ", "Known leaks: None matches", "What it is: cAdvisor housekeeping accumulation", "What it is: Probe accumulation", "What it is: Stuck pod workers",
			"Check first: kubectl get pods -A --field-selector spec.nodeName=NODE", "Do this: Where the workers stand in ExecSync, look at the container runtime first", "Take care: Restarting the kubelet is disruptive", "+176 from t0 to t7"},
	} {
		var out bytes.Buffer
		m := &Main{Stdout: &out, Stderr: &out}
		if status := m.Run(t.Context(), []string{"report", "--verbose", "--format", format, file}); status != exitDone {
			t.Fatalf("%s: status %d: %s", format, status, out.String())
		}
		flat := strings.NewReplacer("**", "", "\\", "").Replace(strings.Join(strings.Fields(out.String()), " "))
		for _, part := range known {
			if !strings.Contains(flat, part) {
				t.Errorf("%s lacks %q", format, part)
			}
		}
	}
}

func TestAProofBeatsTheNormalStackAndSaysSo(t *testing.T) {
	r, _ := sampleReport(t, "kubelet-probe-leak")
	checked := 0
	for _, f := range r.Series[0].Families {
		if f.Verdict != analysis.Leaking || f.Normal == nil {
			continue
		}
		checked++
		if !slices.ContainsFunc(f.Evidence, func(e report.Evidence) bool {
			return e.Rule == knowledge.RuleNormal && strings.Contains(e.Text, "here each one was followed by its id")
		}) {
			t.Errorf("%s: %+v", f.Title, f.Evidence)
		}
	}
	if checked == 0 {
		t.Error("no leaking family of the sample is a normal stack")
	}
}

func TestTheInotifySampleNamesDeadMounts(t *testing.T) {
	r, _ := sampleReport(t, "inotify-leak")
	var signs []string
	for _, f := range r.Series[0].Findings {
		signs = append(signs, f.Signs...)
	}
	// The truth of corpus/series/inotify-leak has 43 watches whose device is in no line of
	// mountinfo at t3.
	if !slices.Contains(signs, "43 watches on mounts that are gone (device in no line of mountinfo)") {
		t.Errorf("signs %q", signs)
	}
	// The truth has 100 instances. Two of them were there before.
	if !slices.Contains(signs, "98 of 100 inotify instances") {
		t.Errorf("signs %q", signs)
	}
}

func TestLiveCgroupsAreNotCalledDead(t *testing.T) {
	r, _ := sampleReport(t, "kubelet-probe-leak")
	for _, s := range r.Series {
		for i := range s.Findings {
			f := &s.Findings[i]
			for _, a := range r.Advice(f) {
				if a.Label == "Cause" && strings.Contains(a.Text, "dead mounts") {
					t.Errorf("%s: cause %q, and no target is known to be gone", f.Title, a.Text)
				}
				if strings.Contains(a.Text, "Upgrade to a kubelet that vendors cAdvisor 0.44.0") {
					t.Errorf("an upgrade to 0.44.0 is advised where 0.52.1 was seen: %s", a.Text)
				}
			}
		}
	}
	first := &r.Series[0].Findings[0]
	if len(first.SignsOfClass("housekeeping")) > 0 || len(first.SignsOfClass("inotify")) != 1 {
		t.Errorf("signs %q of %q", first.Signs, first.SignsOf)
	}
	var told []string
	for _, a := range r.Advice(first) {
		told = append(told, a.Text)
	}
	for _, part := range []string{"Inotify watches inside cgroup hierarchies that are mounted (392 of 398 watches", "No upgrade of cadvisor is needed for what 0.44.0 mended: seen github.com/google/cadvisor v0.52.1"} {
		if !strings.Contains(strings.Join(told, "\n"), part) {
			t.Errorf("lacks %q:\n%s", part, strings.Join(told, "\n"))
		}
	}
}

func TestThresholdsOfEveryProcessStandBesideEverySeries(t *testing.T) {
	root := filepath.Join(corpus.Path(t), "series")
	for _, tt := range []struct {
		series, process string
		want            map[string]string
		passed          string
	}{
		{"prometheus-hanging-targets", "prometheus", map[string]string{"above baseline": "+720 from t0 to t6, back at 65 at t7: they did not stay"}, ""},
		{"restart", "", map[string]string{"above baseline": "+149 from t1 to t5"}, "above baseline"},
		{"kubelet-probe-leak", "kubelet", map[string]string{"floor": "87 at t0, 263 at t7", "above baseline": "+176 from t0 to t7, back at 87 at t8: they did not stay"}, ""},
		{"kubelet-probe-leak", "containerd", map[string]string{"above baseline": "+329 from t0 to t7, back at 28 at t8: they did not stay"}, ""},
	} {
		r := reportOf(t, ofDirectory(t, filepath.Join(root, tt.series)))
		for _, s := range r.Series {
			if tt.process != "" && s.Process != tt.process {
				continue
			}
			got := map[string]string{}
			for _, x := range s.Thresholds {
				if x.Seen != "" {
					got[x.Name] = x.Seen
				}
				if x.Passed != (x.Name == tt.passed) {
					t.Errorf("%s %s: %s passed is %v", tt.series, s.Process, x.Name, x.Passed)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("%s %s: %s", tt.series, s.Process, d)
			}
		}
	}
}

func TestTheVersionOfTheEvidenceIsComparedWithTheFix(t *testing.T) {
	r, _ := sampleReport(t, "kubelet-probe-leak")
	for _, f := range r.Series[0].Findings {
		if slices.ContainsFunc(f.Known, func(k report.KnownLeak) bool { return k.ID == "k8s-100241" }) {
			t.Errorf("%s is said to be k8s-100241, which the version seen has mended", f.Title)
		}
	}
	for _, f := range r.Series[0].Families {
		for _, k := range f.KnownLeaks {
			if k.ID == "k8s-100241" {
				if k.Seen != "github.com/google/cadvisor v0.52.1" || k.Verdict != knowledge.VersionFixed || k.Basis != knowledge.Looks {
					t.Errorf("%+v", k)
				}
				return
			}
		}
	}
	t.Error("k8s-100241 is not compared")
}

// backlog writes captures, step minutes apart, of a program whose goroutines in one known
// place rise. Each goroutine stays for the given minutes, and every capture brings 20 more
// than the one before.
func backlog(t *testing.T, step, captures, stays int) string {
	t.Helper()
	dir := t.TempDir()
	for at := range captures {
		var dump strings.Builder
		dump.WriteString("goroutine 1 [chan receive, 30 minutes]:\nmain.main()\n\t/src/main.go:10 +0x1d\n\n")
		for k := range at + 1 {
			age := (at - k) * step
			if age > stays {
				continue
			}
			state := "chan send"
			if age > 0 {
				state += fmt.Sprintf(", %d minutes", age)
			}
			for i := range 5 + 20*k {
				fmt.Fprintf(&dump, "goroutine %d [%s]:\ngithub.com/moby/spdystream.(*Connection).shutdown(0xc000123456)\n\t/src/x.go:10 +0x1d\n"+
					"created by github.com/moby/spdystream.(*Connection).CloseWait in goroutine 1\n\t/src/y.go:20 +0x2d\n\n", 1000*(k+1)+i, state)
			}
		}
		process := filepath.Join(dir, fmt.Sprintf("t%d", at), "prog")
		if err := os.MkdirAll(process, 0o700); err != nil {
			t.Fatal(err)
		}
		taken := time.Date(2026, 11, 1, 0, at*step, 0, 0, time.UTC).Format(time.RFC3339) + "\n"
		for name, text := range map[string]string{filepath.Join(process, "goroutine-debug2.txt"): dump.String(), filepath.Join(dir, fmt.Sprintf("t%d", at), "captured_at"): taken} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// besidesEntry is the verdict in evidence that the figures alone would have, without the entry
// of the catalogue. No family and no finding has it.
var besidesEntry = regexp.MustCompile(`("form": "backlog_[a-z]+"), "verdict": "[a-z]+"`)

func TestAKnownBacklogIsSetAsideOnlyWhereItWasSeenToDrain(t *testing.T) {
	run := func(dir string, args ...string) (int, string) {
		var out bytes.Buffer
		m := &Main{Stdout: &out, Stderr: &out}
		status := m.Run(t.Context(), append([]string{"report", "--verbose", "--fail-on", "suspicious", dir}, args...))
		return status, besidesEntry.ReplaceAllString(strings.Join(strings.Fields(out.String()), " "), "$1")
	}
	short, drains, stays := backlog(t, 1, 5, 60), backlog(t, 2, 10, 8), backlog(t, 60, 5, 600)
	for _, tt := range []struct {
		name, dir, format string
		status            int
		want, never       []string
	}{
		{"four minutes decide nothing", short, "text", exitVerdict,
			[]string{"none ended so far", "may be the bounded backlog k8s-105830, which drains within 10 minutes: at", "a capture after 00:16Z decides"}, []string{"no leak", "sets that aside", "leaking, prog"}},
		{"nor in JSON", short, "json", exitVerdict, []string{`"verdict": "suspicious"`, `"set_aside": []`}, []string{`"kind": "no_leak"`, `"verdict": "leaking"`}},
		{"seen to drain", drains, "text", exitDone,
			[]string{"What grows is known, and no leak", "1. No leak: shutdowns of SPDY connections grew", "no leak, prog", "k8s-105830 sets that aside", "Known leaks: • k8s-105830 "}, []string{"suspicious, prog", "may leak, prog"}},
		{"seen to drain, in Markdown", drains, "md", exitDone, []string{"which is known and normal", "no leak, prog", "k8s-105830 sets that aside", "Known leaks: - k8s-105830 "}, nil},
		{"seen to drain, in JSON", drains, "json", exitDone, []string{`"kind": "no_leak"`, `"entry": "k8s-105830"`}, []string{`"verdict": "suspicious"`}},
		{"older than its bound", stays, "text", exitVerdict, []string{"leaking, prog"}, []string{"sets that aside", "may be the bounded backlog"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out := run(tt.dir, "--format", tt.format)
			if status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			for _, part := range tt.want {
				if !strings.Contains(out, part) {
					t.Errorf("no %q in:\n%s", part, out)
				}
			}
			for _, part := range tt.never {
				if strings.Contains(out, part) {
					t.Errorf("%q in:\n%s", part, out)
				}
			}
		})
	}
}

func TestOwnKnowledgeIsReadFromADirectory(t *testing.T) {
	_, file := sampleReport(t, "inotify-leak")
	dir := t.TempDir()
	own := `{"schema": "leakdiff.knowledge/1", "known": [
	 {"id": "own-7", "title": "our watcher forgets its instance", "status": "leak", "remedy": "close it", "signature": {"resources": [{"kind": "descriptor", "attributes": {"name": "inotify"}}]}},
	 {"id": "own-8", "title": "half an entry"}]}`
	if err := os.WriteFile(filepath.Join(dir, "own.json"), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (int, string) {
		var out bytes.Buffer
		m := &Main{Stdout: &out, Stderr: &out}
		status := m.Run(t.Context(), append(args, file))
		return status, strings.Join(strings.Fields(out.String()), " ")
	}
	status, out := run("report", "--verbose", "--knowledge", dir)
	second := fmt.Sprintf(`this entry is ignored: known[1] (own-8) lacks "status": own.json, line 3, byte %d;`, strings.Index(own, `{"id": "own-8"`))
	for _, part := range []string{"Known leaks: • own-7 our watcher forgets its instance: ", second} {
		if status != exitDone || !strings.Contains(out, part) {
			t.Errorf("status %d, lacks %q:\n%s", status, part, out)
		}
	}
	t.Setenv("LEAKDIFF_KNOWLEDGE", dir)
	if _, out := run("report"); !strings.Contains(out, "own-7") {
		t.Error("LEAKDIFF_KNOWLEDGE is not read")
	}
	if status, out := run("report", "--knowledge", filepath.Join(dir, "missing")); status != exitError || !strings.Contains(out, "this is no directory") {
		t.Errorf("status %d: %s", status, out)
	}
}

func TestOwnNounsAreReadBesideOwnKnowledge(t *testing.T) {
	_, file := sampleReport(t, "two-dumps")
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "nouns.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`[{"match": ["main.(*worker)"], "one": "import job", "many": "import jobs", "began": "started", "ended": "finished", "source": "docs/jobs.md"}]`)
	if got := execute(t, nil, "report", "--knowledge", dir, file).stdout; !strings.Contains(got, "\n\nImport jobs of leaky grew from 212 to ") {
		t.Errorf("own words are not used:\n%.300s", got)
	}
	write(`[{"match": ["main.(*worker)"]}]`)
	got := strings.Join(strings.Fields(execute(t, nil, "report", "--knowledge", dir, file).stdout), " ")
	if !strings.Contains(got, "Goroutines in main.(*worker).wait of leaky") || !strings.Contains(got, "nouns.json") {
		t.Errorf("half an entry:\n%.300s", got)
	}
}

// A wrong argument is reported before minutes of reading.
func TestAWrongDirectoryOfKnowledgeIsToldBeforeAnythingIsRead(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	// Nobody writes to the pipe, so reading it would never end.
	if got := execute(t, nil, "report", "--knowledge", "none", pipe); got.status != 2 || !strings.Contains(got.stderr, "this is no directory") {
		t.Errorf("status %d: %s", got.status, got.stderr)
	}
}
