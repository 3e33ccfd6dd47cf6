package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"leakdiff/cmd/lab/contradiction"
	"leakdiff/samples/corpus"
)

// swept are the paths of one case.
type swept struct {
	name  string
	paths []string
}

// collected are the cases of the collection and the samples: each series as a whole and each of
// its prefixes, each process and capture by itself, and each of the small inputs.
func collected(t *testing.T) []swept {
	out := []swept{}
	for _, sample := range []string{"inotify-leak", "kubelet-probe-leak", "two-dumps"} {
		out = append(out, swept{"samples/" + sample, []string{filepath.Join("..", "..", "samples", sample, sample+".tar.gz")}})
	}
	list := func(elements ...string) []string {
		found, err := filepath.Glob(filepath.Join(append([]string{corpus.Path(t)}, elements...)...))
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(found)
		return slices.DeleteFunc(found, func(path string) bool {
			base := filepath.Base(path)
			return strings.HasPrefix(base, "expected") || strings.HasSuffix(base, ".tsv") || strings.HasSuffix(base, ".md") || strings.HasSuffix(base, ".json") && !strings.Contains(path, "threads")
		})
	}
	root := corpus.Path(t)
	for _, series := range list("series", "*") {
		captures := list("series", filepath.Base(series), "*")
		name, _ := filepath.Rel(root, series)
		for n := 1; n <= len(captures); n++ {
			out = append(out, swept{fmt.Sprintf("%s, the first %d", name, n), captures[:n]})
		}
		if n := len(captures); n > 2 {
			out = append(out, swept{name + ", the last two", captures[n-2:]}, swept{name + ", backwards in time", []string{captures[0], captures[n-1]}})
		}
	}
	for _, pattern := range [][]string{{"inputs3", "*"}, {"why", "*"}, {"gauges", "*"}, {"goroutine", "states", "*"}, {"goroutine", "signals", "*"}, {"descriptors", "zoo", "*"}, {"threads", "jdk-matrix", "*", "jstack*"}} {
		for _, path := range list(pattern...) {
			name, _ := filepath.Rel(root, path)
			out = append(out, swept{name, []string{path}})
		}
	}
	return out
}

// TestNoAnswerContradictsItsFigures sweeps the collection, its prefixes, the samples and
// simulated programs, and prints case, row and words of each answer that the figures of its own
// report rule out. LEAKDIFF_SWEEP names more files or directories, each a case.
func TestNoAnswerContradictsItsFigures(t *testing.T) {
	corpus.Heavy(t)
	binary := program(t)
	cases := collected(t)
	for _, path := range filepath.SplitList(os.Getenv("LEAKDIFF_SWEEP")) {
		found, err := filepath.Glob(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range found {
			cases = append(cases, swept{p, []string{p}})
		}
	}
	answered := 0
	for _, c := range cases {
		report := exec.Command(binary, append([]string{"report", "--format", "json"}, c.paths...)...)
		var stdout, stderr bytes.Buffer
		report.Stdout, report.Stderr = &stdout, &stderr
		var status *exec.ExitError
		if err := report.Run(); err != nil && !errors.As(err, &status) {
			t.Fatal(err)
		}
		if stdout.Len() == 0 {
			t.Errorf("%s: no report: %.200s", c.name, stderr.String())
			continue
		}
		answered++
		judge(t, c.name, stdout.Bytes())
	}
	classes := shortClasses()
	for i, c := range classes {
		for _, n := range []int{2, 5, 10} {
			text, err := c.Series(simulationSeed, i, n).Report(binary, t.TempDir(), n)
			if err != nil {
				t.Fatal(err)
			}
			answered++
			judge(t, fmt.Sprintf("simulated %s, %d captures", c.Name, n), text)
		}
	}
	if answered < 100 {
		t.Errorf("%d answers were swept, want 100 or more", answered)
	}
	t.Logf("%d answers, %d rows", answered, len(contradiction.Table()))
}

func judge(t *testing.T, name string, report []byte) {
	t.Helper()
	found, err := contradiction.Check(report)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for _, f := range found {
		t.Errorf("%s: %s: %s", name, f.Row, f.Words)
	}
}
