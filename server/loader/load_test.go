package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/server/memory"
	"leakdiff/store"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestRequestsForOneCaseThatComeTogetherComputeItOnce(t *testing.T) {
	heavy := &Loaded{}
	began, finish := make(chan struct{}), make(chan struct{})
	for _, tc := range []struct {
		name  string
		fails bool
		want  int // computations
	}{
		{"the first one succeeds", false, 1},
		{"the first one fails", true, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCache(maxReports, func(*Loaded) int { return 1 })
			computed := 0
			first := make(chan error)
			go func() {
				_, err := c.once(t.Context(), "state", func() (*Loaded, error) {
					computed++
					began <- struct{}{}
					<-finish
					if tc.fails {
						return nil, errors.New("no")
					}
					return heavy, nil
				})
				first <- err
			}()
			<-began
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := c.once(gone, "state", nil); !errors.Is(err, context.Canceled) {
				t.Errorf("who left got %v", err)
			}
			second := make(chan *Loaded)
			go func() {
				l, _ := c.once(t.Context(), "state", func() (*Loaded, error) { computed++; return heavy, nil })
				second <- l
			}()
			finish <- struct{}{}
			if err := <-first; (err != nil) != tc.fails {
				t.Errorf("the first one got %v", err)
			}
			if got := <-second; got != heavy || computed != tc.want {
				t.Errorf("the second one got %p of %d computations, want %p of %d", got, computed, heavy, tc.want)
			}
		})
	}
}

// builtin is the catalogue that comes with the program.
type builtin struct{}

func (builtin) Current() (*knowledge.Catalogue, []analysis.Problem) { return knowledge.Builtin(), nil }

// reading is a store with the means to read a dump into it.
type reading struct {
	*store.Store
	t *testing.T
}

func newReading(t *testing.T) reading {
	t.Helper()
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return reading{st, t}
}

// add reads a dump into a case, a new one where none is named.
func (x reading) add(caseID, name, dump string) store.Bundle {
	x.t.Helper()
	ctx := x.t.Context()
	ref, err := x.Blobs().Put(ctx, strings.NewReader(dump), 1<<20)
	if err != nil {
		x.t.Fatal(err)
	}
	files := []store.File{{Name: name, SHA256: ref.SHA256, Size: ref.Size}}
	var b store.Bundle
	if caseID == "" {
		_, b, _, err = x.OpenCase(ctx, "a case", "", name, files)
	} else {
		b, _, err = x.AddBundle(ctx, caseID, name, files)
	}
	if err != nil {
		x.t.Fatal(err)
	}
	job, claimed, err := x.ClaimJob(ctx)
	if err != nil || !claimed {
		x.t.Fatal(claimed, err)
	}
	read, err := ingest.Run(ctx, ingest.Config{Bundle: bundle.Config{TempDir: x.t.TempDir(), Now: time.Now}, Now: time.Now, Packed: true}, []bundle.Input{{
		Name: name, Size: ref.Size, Open: func() (io.ReadCloser, error) { return x.Blobs().Open(ctx, ref.SHA256) },
	}})
	if err != nil {
		x.t.Fatal(err)
	}
	if err := x.FinishJob(ctx, job, store.Result{Artifacts: read.Artifacts, Problems: read.Problems, Snapshots: read.Snapshots, Unpacked: read.Unpacked, Engine: ingest.Engine}); err != nil {
		x.t.Fatal(err)
	}
	return b
}

// TestWhatWasReadOfAMovingCaseIsNotKept lets an upload end between the question for the
// state of a case and the reading of its snapshots, and takes it away again.
func TestWhatWasReadOfAMovingCaseIsNotKept(t *testing.T) {
	x := newReading(t)
	s := New(Config{Store: x, Knowledge: builtin{}})
	dump := func(n int) string {
		return fmt.Sprintf("goroutine 7 [select]:\nmain.main()\n\t/src/main.go:7 +0x1\n\ngoroutine %d [select]:\nmain.work()\n\t/src/main.go:9 +0x1\n\n", n)
	}
	caseID := x.add("", "t0.txt", dump(8)).CaseID
	before, err := x.Case(t.Context(), caseID)
	if err != nil {
		t.Fatal(err)
	}
	later := x.add(caseID, "t1.txt", dump(9))
	known, _ := s.knowledge.Current()
	key := revisionKey(before, known)
	said, err := s.reportOf(t.Context(), before, known, nil)
	if said == nil || !errors.Is(err, errMoved) || s.reports.get(key) != nil {
		t.Errorf("the report: got %v, want errMoved and nothing kept", err)
	}
	_, err = s.cases.once(t.Context(), key, func() (*Loaded, error) { return s.compute(t.Context(), before, known, said, nil, nil, false) })
	if !errors.Is(err, errMoved) || s.cases.get(key) != nil {
		t.Errorf("got %v, want errMoved and nothing kept", err)
	}
	if err := x.RemoveBundle(t.Context(), later.ID); err != nil {
		t.Fatal(err)
	}
	now, err := s.Evidence(t.Context(), caseID, Part{})
	if err != nil || len(now.Said.Snapshots) != 1 {
		t.Errorf("%+v, %v", now, err)
	}
}

// largeMemory leaves a gate room for a single estimate, and evidence of largeMembers waits for it.
const largeMemory, largeMembers = 64 << 20, 200_000

func TestARequestHoldsWhatItLoadedUntilItIsAnswered(t *testing.T) {
	x, gate := newReading(t), memory.New(largeMemory)
	s := New(Config{Store: x, Knowledge: builtin{}, Program: func() string { return "test" }, Gate: gate})
	dump := fmt.Sprintf("goroutine profile: total %d\n%[1]d @ 0x43 0x44\n#\t0x43\tmain.work+0x1\t/src/main.go:9\n#\t0x44\tmain.main+0x1\t/src/main.go:7\n", largeMembers)
	caseID := x.add("", "t0.txt", dump).CaseID
	if _, _, err := s.Judge(t.Context(), caseID); err != nil {
		t.Fatal(err)
	}
	free := func() bool {
		leave, fits := gate.EnterAlso(memory.Reading)
		leave()
		return fits
	}
	if !free() {
		t.Fatal("who judged a case did not leave")
	}
	answer := PerRequest(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.Evidence(r.Context(), caseID, Part{}); err != nil {
			t.Error(err)
		}
		if free() {
			t.Error("the gate lets others in while the request has its evidence")
		}
		if _, err := s.Evidence(r.Context(), caseID, Part{Objects: true}); err != nil {
			t.Errorf("a request waits for itself: %v", err)
		}
	}))
	answer.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if !free() {
		t.Error("a request that was answered did not leave")
	}
	if _, err := s.Evidence(t.Context(), caseID, Part{}); err != nil {
		t.Fatal(err)
	}
	if !free() {
		t.Error("who is no request did not leave")
	}
}

// TestACaptureThatIsNotJudgedIsReadWhereItIsAskedFor has 66 captures, of which the second is not
// judged.
func TestACaptureThatIsNotJudgedIsReadWhereItIsAskedFor(t *testing.T) {
	x := newReading(t)
	s := New(Config{Store: x, Knowledge: builtin{}, Program: func() string { return "test" }})
	caseID := ""
	for i := range 66 {
		caseID = x.add(caseID, fmt.Sprintf("t%d.txt", i), fmt.Sprintf("goroutine 7 [select]:\nmain.main()\n\t/src/main.go:7 +0x1\n\ngoroutine %d [select]:\nmain.work()\n\t/src/main.go:9 +0x1\n\n", 8+i)).CaseID
	}
	_, said, err := s.Judge(t.Context(), caseID)
	if err != nil {
		t.Fatal(err)
	}
	series := &said.Report.Series[0]
	if len(series.Captures) != 66 || len(series.Snapshots) != 65 {
		t.Fatalf("%d of %d captures are judged", len(series.Snapshots), len(series.Captures))
	}
	judged, not := series.Captures[0], series.Captures[1]
	for _, test := range []struct {
		name, id string
		shown    []string
		captures int // of the series, 0 for none
	}{
		{"one that is judged", judged, []string{judged}, 65},
		{"one that is not", not, []string{not}, 1},
		{"one that is not, and was not asked for", not, nil, 0},
		{"one that the case does not have", "s0", []string{"s0"}, 0},
	} {
		l, err := s.Evidence(t.Context(), caseID, Part{Series: SeriesOf(test.id), Shown: test.shown})
		if err != nil {
			t.Fatal(err)
		}
		line, i := l.Line(test.id)
		switch {
		case line == nil:
			if test.captures != 0 {
				t.Errorf("%s is not found", test.name)
			}
		case len(line.Snapshots) != test.captures || line.Snapshots[i].ID != test.id || len(line.Snapshots[i].Groups) == 0:
			t.Errorf("%s: snapshot %d of %d, with %d groups", test.name, i, len(line.Snapshots), len(line.Snapshots[i].Groups))
		}
	}
	ctx, _ := WithWholeCases(t.Context())
	if l, err := s.Evidence(ctx, caseID, PartOf(not)); err != nil {
		t.Error(err)
	} else if line, _ := l.Line(not); line == nil {
		t.Error("a case that is read as a whole does not show a capture that is not judged")
	}
}
