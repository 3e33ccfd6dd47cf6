package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/samples/corpus"
)

// Each kernel runs in one process: kernelPer times in each of kernelRounds rounds,
// with a dump before the first and after each.
const (
	kernelRounds = 6
	kernelPer    = 3
	kernelTime   = 30 * time.Second
)

// someKernels leak on every schedule and start few goroutines: the choice of a quick run,
// which must not depend on how busy the machine is.
func someKernels() []string {
	return []string{"Cockroach1055", "Etcd6873", "Grpc1275", "Grpc862", "Kubernetes5316", "Kubernetes6632", "Moby33781", "Syncthing5795"}
}

// TestLeakingKernelsOfTheToolchain runs real bugs for real: the goroutine-leak
// kernels that ship with Go, built with the runtime's leak profile, whose marks
// are the truth. The verdicts are made without the marks, from plain dumps.
func TestLeakingKernelsOfTheToolchain(t *testing.T) {
	corpus.Heavy(t)
	program, names := buildKernels(t)
	if os.Getenv("LEAKDIFF_KERNELS") != "all" { // as make lab says
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(someKernels(), name) })
	}
	if len(names) == 0 {
		t.Fatal("no kernel of this name is registered")
	}
	var mu sync.Mutex
	var total kernelScore
	var wait sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, name := range names {
		wait.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			score, err := runKernel(t.TempDir(), program, name, kernelPer)
			if err != nil {
				// Some start hundreds of goroutines that never rest.
				score, err = runKernel(t.TempDir(), program, name, 1)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Logf("%s: left out: %v", name, err)
				return
			}
			total.add(score)
			t.Logf("%s: %d of %d leaking families suspected, %d called leaking; of %d others %d and %d%s", name, score.found, score.leaking, score.called, score.others, score.suspected, score.accused, score.missed)
		})
	}
	wait.Wait()
	t.Logf("%d kernels, %d of which leaked: at least suspicious are %d of %d leaking families and %d of %d others, leaking %d and %d", total.kernels, total.leaked,
		total.found, total.leaking, total.suspected, total.others, total.called, total.accused)
	if total.leaking == 0 {
		t.Fatal("no kernel leaked: the marks are missing")
	}
	if 4*total.kernels < 3*len(names) {
		t.Errorf("only %d of %d kernels ran to their end", total.kernels, len(names))
	}
	if 20*total.accused > total.others {
		t.Errorf("%d of %d families without a mark are called leaking, want at most one of twenty", total.accused, total.others)
	}
	if 8*total.suspected > total.others {
		t.Errorf("%d of %d families without a mark are at least suspicious, want at most one of eight", total.suspected, total.others)
	}
	if 10*total.found < 9*total.leaking {
		t.Errorf("%d of %d leaking families were found, want nine of ten", total.found, total.leaking)
	}
}

// kernelScore counts families with marks of the runtime and others alike: found and
// suspected are at least suspicious, called and accused are leaking.
type kernelScore struct {
	kernels, leaked            int
	leaking, found, called     int
	others, suspected, accused int
	missed                     string
}

func (k *kernelScore) add(other kernelScore) {
	k.kernels++
	if other.leaking > 0 {
		k.leaked++
	}
	k.leaking += other.leaking
	k.found += other.found
	k.called += other.called
	k.others += other.others
	k.suspected += other.suspected
	k.accused += other.accused
}

// buildKernels copies the kernels beside our main and builds them. Who asks for them has
// a toolchain that can.
func buildKernels(t *testing.T) (program string, names []string) {
	t.Helper()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Fatalf("no go command: %v", err)
	}
	root, err := exec.Command(tool, "env", "GOROOT").Output()
	if err != nil {
		t.Fatalf("go env GOROOT: %v", err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "runtime", "testdata", "testgoroutineleakprofile", "goker")
	files, err := filepath.Glob(filepath.Join(source, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("this toolchain has no leak kernels (Go 1.26 and later have): %s", source)
	}
	dir := t.TempDir()
	registered := regexp.MustCompile(`register\("(\w+)"`)
	for _, file := range files {
		if filepath.Base(file) == "main.go" {
			continue
		}
		text := copyFile(t, file, filepath.Join(dir, filepath.Base(file)))
		for _, m := range registered.FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
	}
	copyFile(t, filepath.Join("testdata", "kernel", "main.go"), filepath.Join(dir, "main.go"))
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module kernels\n\ngo 1.26\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	program = filepath.Join(dir, "kernels")
	build := exec.CommandContext(ctx, tool, "build", "-o", program, ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOEXPERIMENT=goroutineleakprofile", "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("this toolchain does not build the kernels: %v\n%s", err, out)
	}
	slices.Sort(names)
	return program, names
}

func copyFile(t *testing.T, from, to string) string {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// runKernel runs one kernel and compares the verdicts with the marks.
func runKernel(dir, program, name string, per int) (kernelScore, error) {
	ctx, cancel := context.WithTimeout(context.Background(), kernelTime)
	defer cancel()
	run := exec.CommandContext(ctx, program, name, dir, strconv.Itoa(kernelRounds), strconv.Itoa(per))
	if out, err := run.CombinedOutput(); err != nil {
		return kernelScore{}, fmt.Errorf("%w: %.200s", err, out)
	}
	var snaps []*analysis.Snapshot
	for round := range kernelRounds + 1 {
		snap, err := readDump(filepath.Join(dir, fmt.Sprintf("t%d.txt", round)))
		if err != nil {
			return kernelScore{}, err
		}
		snap.Label = "t" + strconv.Itoa(round)
		snaps = append(snaps, snap)
	}
	truth, err := readDump(filepath.Join(dir, "truth.txt"))
	if err != nil {
		return kernelScore{}, err
	}
	return compare(snaps, truth), nil
}

// readDump makes a snapshot of one dump, at the time at which the file was
// finished.
func readDump(name string) (*analysis.Snapshot, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	groups := make(map[string]*analysis.Group)
	families := make(map[*analysis.Stack]*analysis.Family)
	var stacks family.Stacks
	dump, _, err := goroutine.ParseText(file, goroutine.Config{Path: filepath.Base(name)}, func(g *goroutine.Goroutine) error {
		if g.Dumper || g.System || g.ID == 0 {
			return nil
		}
		if families[g.Stack] == nil {
			families[g.Stack] = stacks.OfStack(g.Stack)
		}
		f := families[g.Stack]
		group := groups[f.Fingerprint]
		if group == nil {
			group = &analysis.Group{Family: f, States: map[string]int{}, OldestWait: -1}
			groups[f.Fingerprint] = group
		}
		group.Count++
		group.States[g.State]++
		if g.Leaked {
			group.Leaked++
		}
		group.Members.Fill().ID = append(group.Members.Fill().ID, g.ID)
		group.Members.Fill().Wait = append(group.Members.Fill().Wait, int32(g.Wait))
		group.OldestWait = max(group.OldestWait, g.Wait)
		return nil
	})
	if err != nil {
		return nil, err
	}
	snap := &analysis.Snapshot{CapturedAt: info.ModTime(), MaxGoroutineID: dump.MaxID, Truncated: dump.Truncated, LowerBound: dump.Truncated}
	snap.Process.PID.Value = "1"
	total := dump.Goroutines
	snap.Totals.Goroutines = &total
	for _, group := range groups {
		snap.Groups = append(snap.Groups, *group)
	}
	return snap, nil
}

// compare judges the plain dumps without marks. A family leaks by truth when the
// profile marks at least one member for each round and its count rose by as many;
// it is found when it is leaking or suspicious, and so are the others suspected.
func compare(snaps []*analysis.Snapshot, truth *analysis.Snapshot) kernelScore {
	for _, snap := range snaps {
		for g := range snap.Groups {
			snap.Groups[g].Leaked = 0
		}
	}
	s := trend.NewSeries(trend.Input{Snapshots: snaps})
	marked := make(map[string]int)
	for _, group := range truth.Groups {
		marked[group.Family.Fingerprint] = group.Leaked
	}
	score := kernelScore{}
	verdicts := s.Verdicts()
	for _, f := range s.Families {
		verdict := verdicts[f.Fingerprint]
		blamed := verdict == analysis.Leaking || verdict == analysis.Suspicious
		counts := s.Counts(f.Fingerprint)
		rose := counts[len(counts)-1].N - counts[0].N
		switch n := marked[f.Fingerprint]; {
		case n >= kernelRounds && rose >= kernelRounds:
			score.leaking++
			if blamed {
				score.found++
				if verdict == analysis.Leaking {
					score.called++
				}
			} else {
				score.missed += fmt.Sprintf("; missed %s (%s)", f.Title, words(counts))
			}
		case n == 0:
			score.others++
			if blamed {
				score.suspected++
			}
			if verdict == analysis.Leaking {
				score.accused++
			}
		}
	}
	return score
}

func words(counts analysis.Counts) string {
	out := make([]string, len(counts))
	for i, c := range counts {
		out[i] = "-"
		if c.Known() {
			out[i] = strconv.Itoa(c.N)
		}
	}
	return strings.Join(out, " ")
}
