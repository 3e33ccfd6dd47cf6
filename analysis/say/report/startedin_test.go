package report_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"leakdiff/analysis/read/bundle"
)

// byID is a goroutine profile with debug=3: n goroutines in svc/feed.work, started in turn by the parents,
// and each parent that is shown in svc/feed.accept.
func byID(t *testing.T, n int, shown bool, parents ...int64) string {
	t.Helper()
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "goroutine", Unit: "count"}}}
	stack := func(name string, line int64) []*profile.Location {
		f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, Filename: "/src/main.go"}
		l := &profile.Location{ID: f.ID, Address: f.ID, Line: []profile.Line{{Function: f, Line: line}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		return []*profile.Location{l}
	}
	add := func(at []*profile.Location, id, parent int64) {
		numbers := map[string][]int64{"go::goroutine": {id}}
		if parent > 0 {
			numbers["go::goroutine_created_by"] = []int64{parent}
		}
		p.Sample = append(p.Sample, &profile.Sample{Location: at, Value: []int64{1}, NumLabel: numbers, Label: map[string][]string{"go::goroutine_state": {"chan receive"}}})
	}
	work, accept := stack("svc/feed.work", 7), stack("svc/feed.accept", 21)
	for i := range n {
		add(work, int64(100+i), parents[i%len(parents)])
	}
	for _, id := range parents {
		if shown {
			add(accept, id, 0)
		}
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAProfileWithIDsNamesWhoStartedTheGoroutines(t *testing.T) {
	for _, c := range []struct {
		name    string
		shown   bool
		parents []int64
		cause   string
		next    string
	}{
		{"by one", true, []int64{7}, "started by goroutine 7 in feed.accept main.go:21", "Look at what goroutine 7 in feed.accept main.go:21 starts and does not end"},
		{"by several that stand alike", true, []int64{7, 8}, "started by goroutines in feed.accept main.go:21", "Look at what goroutines in feed.accept main.go:21 starts"},
		{"by one that no capture shows", false, []int64{7}, "started by goroutine 7, which no capture shows", "Take a dump with ?debug=2"},
		{"by many that are gone", false, []int64{7, 8, 9}, "the stack shows where they wait, not who should end them", "Take a dump with ?debug=2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var inputs []bundle.Input
			for i := range 5 {
				for name, text := range map[string]string{"goroutine.pb.gz": byID(t, 10+20*i, c.shown, c.parents...), "captured_at": fmt.Sprintf("2026-05-21T03:%02d:00Z\n", 10*i)} {
					inputs = append(inputs, bundle.Input{Name: fmt.Sprintf("t%d/app/%s", i, name), Size: -1, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
				}
			}
			d := built(t, inputs).Report.Diagnosis
			if d.State != "leaking" || d.Cause == nil || d.Cause.Reason != c.cause || !strings.HasPrefix(d.Next.Text, c.next) {
				t.Errorf("%s: %q, cause %+v, next %+v", d.State, d.Sentence, d.Cause, d.Next)
			}
		})
	}
}
