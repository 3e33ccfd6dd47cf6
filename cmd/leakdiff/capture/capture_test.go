//go:build linux

package capture_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/cmd/leakdiff/capture"
)

// A taker captures a process once, by whatever means, and names the archive.
type taker struct {
	name string
	take func(t *testing.T, cfg capture.Config) string
}

// takers are all the ways that are here.
func takers(t *testing.T) []taker {
	t.Helper()
	out := []taker{{"leakdiff collect", runCollect}}
	if shell, here := have(t, "dash"); here {
		out = append(out, taker{"collect.sh under dash", runScript(shell, nil)})
	} else {
		t.Log("dash is not installed: collect.sh is not run by it")
	}
	if box, here := have(t, "busybox"); here {
		// Nothing but BusyBox is there, apart from curl.
		out = append(out, taker{"collect.sh under BusyBox", runScript("", busyboxOnly(t, box))})
	} else {
		t.Log("busybox is not installed: collect.sh is not run by it")
	}
	return out
}

// collectOnly is the way of what the script does not take.
func collectOnly() []taker { return []taker{{"leakdiff collect", runCollect}} }

func (by taker) isScript() bool { return by.name != "leakdiff collect" }

func runCollect(t *testing.T, cfg capture.Config) string {
	t.Helper()
	file, sum, err := collect(t, t.Context(), cfg)
	if err != nil {
		t.Fatalf("%v, %+v", err, sum)
	}
	return file
}

func collect(t *testing.T, ctx context.Context, cfg capture.Config) (string, capture.Summary, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "capture.tar.gz")
	a, err := capture.NewArchive(file)
	if err != nil {
		t.Fatal(err)
	}
	cfg.NoLsof = true // its figures are compared apart
	sum, err := capture.Run(ctx, cfg, a)
	return file, sum, errors.Join(err, a.Close())
}

// fetchers are the ways of the script to reach an endpoint without curl.
func fetchers(t *testing.T) []taker {
	t.Helper()
	var out []taker
	if wget, here := have(t, "wget"); here {
		out = append(out, taker{"collect.sh with GNU wget", runScript(tool(t, "dash"), []string{pathWithout(t, "curl"), "TMPDIR=" + t.TempDir()})})
		t.Logf("%s takes the place of curl", wget)
	}
	if box, here := have(t, "busybox"); here {
		env := busyboxOnly(t, box)
		if err := os.Remove(filepath.Join(strings.TrimPrefix(env[0], "PATH="), "curl")); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		out = append(out, taker{"collect.sh with the wget of BusyBox", runScript("", env)})
	}
	return out
}

// pathWithout is a PATH of all programs that are here, apart from some.
func pathWithout(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	letIn(t, dir)
	for _, from := range filepath.SplitList(os.Getenv("PATH")) {
		entries, _ := os.ReadDir(from)
		for _, e := range entries {
			if !slices.Contains(names, e.Name()) {
				// The first of a name is the one that is run.
				_ = os.Symlink(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name()))
			}
		}
	}
	return "PATH=" + dir
}

// busyboxOnly is a PATH of BusyBox's tools, and curl.
func busyboxOnly(t *testing.T, box string) []string {
	t.Helper()
	dir := t.TempDir()
	letIn(t, dir)
	applets, err := exec.Command(box, "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range strings.Fields(string(applets)) {
		if name != "busybox" {
			link(box, name)
		}
	}
	if program, err := exec.LookPath("curl"); err == nil {
		link(program, "curl")
	}
	return []string{"PATH=" + dir, "TMPDIR=" + t.TempDir()}
}

func runScript(shell string, env []string) func(*testing.T, capture.Config) string {
	return func(t *testing.T, cfg capture.Config) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), "capture.tar.gz")
		cmd := scriptCommand(t, shell, env, append(arguments(cfg), "-o", file)...)
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
		// What the shell itself says is a defect of the script.
		for line := range strings.Lines(said.String()) {
			if !strings.HasPrefix(line, "leakdiff: ") {
				t.Errorf("the script let the shell say: %s", line)
			}
		}
		return file
	}
}

func scriptCommand(t *testing.T, shell string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	script := filepath.Join(t.TempDir(), "collect.sh")
	if err := os.WriteFile(script, capture.Script(), 0o600); err != nil {
		t.Fatal(err)
	}
	if env == nil {
		env = os.Environ()
	}
	if shell == "" {
		shell = filepath.Join(strings.TrimPrefix(env[0], "PATH="), "sh")
	}
	cmd := exec.Command(shell, append([]string{script}, args...)...)
	cmd.Env = env
	return cmd
}

// arguments are those of the script for a Config.
func arguments(cfg capture.Config) []string {
	var out []string
	for _, target := range cfg.Targets {
		if target.PID != 0 {
			out = append(out, "--pid", strconv.Itoa(target.PID))
		} else {
			out = append(out, "--name", target.Name)
		}
		if len(cfg.Targets) > 1 {
			whose := target.Name + "="
			if target.PID != 0 {
				whose = strconv.Itoa(target.PID) + "="
			}
			if target.Pprof != "" {
				out = append(out, "--pprof", whose+target.Pprof)
			}
			continue
		}
		if target.Pprof != "" {
			out = append(out, "--pprof", target.Pprof)
		}
	}
	option := func(name string, set bool, value string) {
		if set {
			out = append(out, name)
			if value != "" {
				out = append(out, value)
			}
		}
	}
	option("--count", true, strconv.Itoa(max(cfg.Count, 1)))
	option("--every", cfg.Every > 0, strconv.Itoa(int(max(cfg.Every, time.Second)/time.Second))+"s")
	option("--step-timeout", cfg.Budget > 0, strconv.Itoa(int(max(cfg.Budget, time.Second)/time.Second)))
	option("--header-file", cfg.HeaderFile != "", cfg.HeaderFile)
	option("--max-goroutines", cfg.MaxGoroutines > 0, strconv.Itoa(cfg.MaxGoroutines))
	return out
}

// read reads archives as one case, as `leakdiff report` and the server do.
func read(t *testing.T, files ...string) ingest.Result {
	t.Helper()
	var inputs []bundle.Input
	for i, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, bundle.Input{
			Name: fmt.Sprintf("%d-%s", i, filepath.Base(file)), Size: info.Size(), ModTime: info.ModTime(),
			Open: func() (io.ReadCloser, error) { return os.Open(file) },
		})
	}
	r, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, inputs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// counted is how many members of a snapshot have a text in a function, title or
// attribute.
func counted(s *analysis.Snapshot, kind analysis.Kind, text string) int {
	n := 0
	for _, g := range s.Groups {
		if g.Family.Kind != kind {
			continue
		}
		words := g.Family.Title + strings.Join(g.Family.Loose, " ")
		for _, v := range g.Family.Attributes {
			words += " " + v
		}
		if strings.Contains(words, text) {
			n += g.Count
		}
	}
	return n
}

// members unpacks an archive: content by path, "-> TARGET" for a link.
func members(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatalf("the archive is not whole: %v", err)
		}
		body, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeSymlink {
			body = []byte("-> " + h.Linkname)
		}
		out[strings.TrimPrefix(h.Name, "./")] = string(body)
	}
}

// problems are those that cost evidence, in words.
func problems(r ingest.Result) []string {
	var out []string
	for _, p := range r.Problems {
		if p.Severity != analysis.Note {
			out = append(out, p.What+": "+p.Why)
		}
	}
	return out
}

func said(r ingest.Result, text string) bool {
	return slices.ContainsFunc(r.Problems, func(p analysis.Problem) bool { return strings.Contains(p.What+": "+p.Why, text) })
}

// one is a capture of one round.
func one(pid int, pprof string) capture.Config {
	return capture.Config{Targets: []capture.Target{{PID: pid, Pprof: pprof}}, Host: ""}
}

// figures are what a snapshot says of the server.
type figures struct{ Leaked, Descriptors, Zeros, Metric int }

func TestEveryFigureIsWhatTheProcessReallyHad(t *testing.T) {
	for _, by := range append(takers(t), fetchers(t)...) {
		for _, over := range []string{"TCP", "a unix socket"} {
			if over != "TCP" && by.isScript() {
				continue // it knows no such sockets
			}
			t.Run(by.name+" over "+over, func(t *testing.T) {
				p, about := server(t)
				address := "http://" + about.Address
				if over != "TCP" {
					address = "unix:" + about.Socket
				}
				var files []string
				var want []figures
				for step := range 3 {
					p.ask(fmt.Sprintf("leak %d", 7+step), &about)
					p.ask(fmt.Sprintf("open %d", 3-step), &about)
					want = append(want, figures{about.Leaked, settled(t, p, about), about.Open, about.Leaked})
					cfg := one(p.pid(), address)
					cfg.Targets[0].Metrics = "http://" + about.Address + "/metrics"
					files = append(files, by.take(t, cfg))
				}
				r := read(t, files...)
				if lost := problems(r); len(lost) > 0 {
					t.Errorf("problems: %q", lost)
				}
				var got []figures
				for i := range r.Snapshots {
					s := &r.Snapshots[i]
					got = append(got, figures{
						counted(s, analysis.KindGoroutine, "(*profileServer).leak"), *s.Totals.Descriptors,
						counted(s, analysis.KindDescriptor, "/dev/zero"), int(s.Figures["leaked_goroutines"]),
					})
					sameProcess(t, s, p)
				}
				for i := range want {
					if _, ok := r.Snapshots[i].Figures["leaked_goroutines"]; !ok {
						want[i].Metric = 0 // the reader keeps the figures that it knows
					}
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// settled is the number of descriptors once the connections of the last capture are
// closed: those that it listens on, standard ones, and what was opened on demand.
func settled(t *testing.T, p *program, about served) int {
	t.Helper()
	for {
		sockets := 0
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.pid()))
		for _, link := range links {
			if target, _ := os.Readlink(link); strings.HasPrefix(target, "socket:") {
				sockets++
			}
		}
		if sockets == 2 {
			return p.descriptors()
		}
		// Every answer is a round trip: the server has gone on.
		p.ask("hang", &about)
	}
}

func sameProcess(t *testing.T, s *analysis.Snapshot, p *program) {
	t.Helper()
	host, _ := os.Hostname()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid()))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')'):]))
	type who struct{ Host, Name, PID, Start string }
	want := who{host, filepath.Base(os.Args[0]), strconv.Itoa(p.pid()), fields[20]}
	got := who{s.Process.Host.Value, s.Process.Name.Value, s.Process.PID.Value, s.Process.Start.Value}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if s.CapturedAt.IsZero() || s.TimeFact.Confidence != analysis.High {
		t.Errorf("captured at %v by %+v", s.CapturedAt, s.TimeFact)
	}
}
