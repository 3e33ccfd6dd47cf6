package goroutine_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"leakdiff/analysis/read/goroutine"
	"leakdiff/samples/corpus"
)

// identified is a profile with a sample for each set of labels.
func identified(t testing.TB, samples ...profile.Sample) *bytes.Reader {
	t.Helper()
	f := &profile.Function{ID: 1, Name: "main.work", Filename: "/src/main.go"}
	l := &profile.Location{ID: 1, Address: 1, Line: []profile.Line{{Function: f, Line: 7}}}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "goroutine", Unit: "count"}}, Function: []*profile.Function{f}, Location: []*profile.Location{l}}
	for _, s := range samples {
		if s.Value == nil {
			s.Value = []int64{1}
		}
		s.Location = []*profile.Location{l}
		p.Sample = append(p.Sample, &s)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(out.Bytes())
}

type ids = map[string][]int64
type words = map[string][]string

func TestASampleOfDebug3IsAGoroutine(t *testing.T) {
	for name, c := range map[string]struct {
		sample profile.Sample
		want   goroutine.Goroutine
		labels map[string]string
	}{
		"with all labels of the runtime and one of the program": {
			profile.Sample{NumLabel: ids{"go::goroutine": {41}, "go::goroutine_created_by": {7}, "go::goroutine_wait_minutes": {12}}, Label: words{"go::goroutine_state": {"chan receive"}, "tenant": {"a"}}},
			goroutine.Goroutine{ID: 41, Parent: 7, State: "chan receive", Wait: 12, Labels: `{"tenant": "a"}`}, map[string]string{"tenant": "a"},
		},
		"with numbers written as text": {
			profile.Sample{Label: words{"go::goroutine": {"41"}, "go::goroutine_created_by": {"7"}, "go::goroutine_wait_minutes": {"3"}}},
			goroutine.Goroutine{ID: 41, Parent: 7, Wait: 3}, map[string]string{},
		},
		"without creator and wait": {
			profile.Sample{NumLabel: ids{"go::goroutine": {1}}, Label: words{"go::goroutine_state": {"running"}}},
			goroutine.Goroutine{ID: 1, State: "running", Wait: -1}, map[string]string{},
		},
		"with a state that has the mark of a leak": {
			profile.Sample{NumLabel: ids{"go::goroutine": {5}}, Label: words{"go::goroutine_state": {"chan send (leaked)"}}},
			goroutine.Goroutine{ID: 5, State: "chan send", Leaked: true, Wait: -1}, map[string]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := parseProfile(t, goroutine.ParseProto, identified(t, c.sample))
			if !got.Identified || len(got.list) != 1 || got.list[0].Goroutine == nil {
				t.Fatalf("got %+v, want one goroutine", got.Profile)
			}
			g := *got.list[0].Goroutine
			c.want.Stack = g.Stack
			if d := cmp.Diff(c.want, g); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.labels, got.list[0].Labels); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAProfileIsIdentifiedIfEachSampleIsAGoroutineOfItsOwn(t *testing.T) {
	one := profile.Sample{NumLabel: ids{"go::goroutine": {1}}}
	other := profile.Sample{NumLabel: ids{"go::goroutine": {2}}}
	for name, c := range map[string]struct {
		samples    []profile.Sample
		identified bool
		says       string
	}{
		"two ids":                     {[]profile.Sample{one, other}, true, ""},
		"one id twice":                {[]profile.Sample{one, one}, false, "1 of 2 samples"},
		"a sample without an id":      {[]profile.Sample{one, other, {}}, false, "2 of 3 samples"},
		"a sample of two goroutines":  {[]profile.Sample{one, {Value: []int64{2}, NumLabel: ids{"go::goroutine": {2}}}}, false, "1 of 2 samples"},
		"no ids":                      {[]profile.Sample{{}, {}}, false, ""},
		"an id that no goroutine has": {[]profile.Sample{{NumLabel: ids{"go::goroutine": {0}}}}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := parseProfile(t, goroutine.ParseProto, identified(t, c.samples...))
			said := ""
			for _, p := range got.problems {
				said += p.What
			}
			if got.Identified != c.identified || !strings.Contains(said, c.says) || c.says == "" && said != "" {
				t.Errorf("identified %v, says %q", got.Identified, said)
			}
		})
	}
}

func TestDebug3ProfilesOfADatabaseHaveIdsOfAllGoroutines(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus.Path(t, "why", "debug3"), "*.pb.gz"))
	if err != nil || len(files) != 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for i, file := range files {
		got := parseProfile(t, goroutine.ParseProto, open(t, file))
		if want := 18 + 20*i; !got.Identified || got.Sum != want || len(got.list) != want { // VALUES.tsv
			t.Errorf("%s: identified %v, %d goroutines, want %d", filepath.Base(file), got.Identified, got.Sum, want)
		}
	}
}
