package report_test

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"leakdiff/analysis/read/bundle"
)

// traced are files of a program that opened 12 sessions and started 6 workers in a trace of 3 s,
// and opened 8 sessions after it.
func traced(names ...string) (out []bundle.Input) {
	for _, name := range names {
		path := filepath.Join("..", "..", "read", "ingest", "testdata", "trace", "go1.26.8", name)
		out = append(out, bundle.Input{Name: "shop/" + name, Size: -1, Open: func() (io.ReadCloser, error) { return os.Open(path) }})
	}
	return out
}

func TestAnAnswerSaysWhatATraceSaw(t *testing.T) {
	const proof, whom = "In 3 s of trace 12 started and none ended.", "started by lib.(*Session).start for lib.Dial session.go:10 (12 of 12 known)"
	for name, tc := range map[string]struct {
		files       []string
		proof, whom string
		counts      string
	}{
		"two dumps and a trace between them": {[]string{"goroutine-1.txt", "trace-2.out", "goroutine-3.txt"},
			"In 3 s of trace 6 started and none ended.", "started by main.grow for main.times main.go:28 (6 of 6 known)", "30 42 50"},
		"a dump before the trace": {[]string{"goroutine-1.txt", "trace-2.out"}, proof, whom, "30 42"},
		"a dump after the trace":  {[]string{"trace-2.out", "goroutine-3.txt"}, proof, whom, "42 50"},
		"two dumps":               {[]string{"goroutine-1.txt", "goroutine-3.txt"}, "", "", "30 50"},
	} {
		t.Run(name, func(t *testing.T) {
			r := built(t, traced(tc.files...)).Report
			d, found := r.Diagnosis, false
			if tc.proof != "" && !strings.HasSuffix(d.Proof, tc.proof) || tc.proof == "" && strings.Contains(d.Proof, "trace") {
				t.Errorf("the proof is %q", d.Proof)
			}
			if d.Cause == nil || tc.whom != "" && !strings.Contains(d.Cause.Reason, tc.whom) || tc.whom == "" && strings.Contains(d.Cause.Reason, " for ") {
				t.Errorf("the cause is %+v", d.Cause)
			}
			for _, f := range r.Series[0].Families {
				if !strings.Contains(f.Title, "keepAlive") {
					continue
				}
				found = true
				var counts []string
				for _, n := range f.Counts {
					counts = append(counts, strconv.Itoa(n.N))
				}
				if got := strings.Join(counts, " "); got != tc.counts {
					t.Errorf("counts %s, want %s", got, tc.counts)
				}
				if of := f.StartedFor; (of != nil) != (tc.whom != "") || of != nil && (of.Count != 12 || of.Of != 12 || of.Function != "example.com/shop/lib.Dial") {
					t.Errorf("started for %+v", of)
				}
			}
			if !found {
				t.Error("the sessions are no family")
			}
		})
	}
}

// A trace prints no arguments: its objects are not shown, and not 0.
func TestObjectsAreNotCountedInATrace(t *testing.T) {
	r := built(t, traced("goroutine-1.txt", "trace-2.out", "goroutine-3.txt")).Report
	if len(r.Series[0].Objects) == 0 {
		t.Fatal("no objects")
	}
	for _, o := range r.Series[0].Objects {
		if n := o.Counts[1]; n.Known() {
			t.Errorf("%s: %d at the trace", o.Name, n.N)
		}
	}
}
