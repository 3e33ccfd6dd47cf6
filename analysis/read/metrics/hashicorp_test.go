package metrics

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
	"leakdiff/internal/test/endless"
	"leakdiff/samples/corpus"
)

// nomadMetrics are the four metrics.json of the nomad bundle, in order.
func nomadMetrics(t *testing.T) [][]byte {
	t.Helper()
	found, err := filepath.Glob(corpus.Path(t, "bundles", "nomad", "*.tar.gz"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	f, err := os.Open(found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if path.Base(h.Name) == "metrics.json" {
			if files[h.Name], err = io.ReadAll(tr); err != nil {
				t.Fatal(err)
			}
		}
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	var out [][]byte
	for _, name := range names {
		out = append(out, files[name])
	}
	return out
}

// TestTheMetricsOfTheNomadBundleAreRead: values taken with grep.
func TestTheMetricsOfTheNomadBundleAreRead(t *testing.T) {
	want := []struct {
		at      string
		figures map[string]float64
	}{
		{"2026-11-21T02:55:30Z", map[string]float64{"go_goroutines": 83, "go_memstats_alloc_bytes": 14566184, "go_memstats_sys_bytes": 27105544, "go_memstats_heap_objects": 81307}},
		{"2026-11-21T02:55:50Z", map[string]float64{"go_goroutines": 459, "go_memstats_alloc_bytes": 24189152, "go_memstats_sys_bytes": 44144904, "go_memstats_heap_objects": 72313}},
		{"2026-11-21T02:56:10Z", map[string]float64{"go_goroutines": 819, "go_memstats_alloc_bytes": 27584856, "go_memstats_sys_bytes": 52533510, "go_memstats_heap_objects": 77741}},
		{"2026-11-21T02:56:30Z", map[string]float64{"go_goroutines": 1179, "go_memstats_alloc_bytes": 33606870, "go_memstats_sys_bytes": 52795656, "go_memstats_heap_objects": 89444}},
	}
	files := nomadMetrics(t)
	if len(files) != len(want) {
		t.Fatalf("%d files, want %d", len(files), len(want))
	}
	for i, raw := range files {
		figures, info, problems, err := figuresOf(PagesJSON(bytes.NewReader(raw), "metrics.json"))
		if err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
		want[i].figures["nomad_nomad_job_status_running"] = 0
		if diff := cmp.Diff(want[i].figures, figures); diff != "" {
			t.Errorf("%d: figures (-want +got):\n%s", i, diff)
		}
		if got := info.Time.Format(time.RFC3339); got != want[i].at || info.Program != "nomad" || info.Host != "vm" {
			t.Errorf("%d: %+v, want %s of nomad on vm", i, info, want[i].at)
		}
	}
	joined := bytes.Join(files, []byte("\n"))
	var intervals []interval
	problems, err := parseJSON(bytes.NewReader(joined), "metrics.json", func(i interval) error {
		intervals = append(intervals, i)
		return nil
	})
	if err != nil || len(problems) > 0 || len(intervals) != 4 {
		t.Fatal(err, problems, len(intervals))
	}
	for i, got := range intervals {
		if !bytes.Equal(bytes.TrimSpace(files[i]), joined[got.Offset:got.Offset+got.Length]) || got.Figures["go_goroutines"] != want[i].figures["go_goroutines"] {
			t.Errorf("interval %d lies at %d, %d bytes", i, got.Offset, got.Length)
		}
	}
	if _, info, _, _ := figuresOf(PagesJSON(bytes.NewReader(joined), "metrics.json")); info.Time.Format(time.RFC3339) != want[3].at {
		t.Errorf("the last interval counts, got that of %v", info.Time)
	}
}

// page is an object as go-metrics writes it, with these gauges.
func page(stamp string, gauges ...string) string {
	return `{"Timestamp":"` + stamp + `","Gauges":[` + strings.Join(gauges, ",") + `],"Points":[],"Counters":[],"Samples":[{"Name":"x.runtime.num_goroutines","Count":1}]}` + "\n"
}

const stamp = "2026-11-21 02:55:40 +0000 UTC"

func TestGaugesOfEveryNamingAreRead(t *testing.T) {
	for name, tt := range map[string]struct {
		in            string
		figures       map[string]float64
		program, host string
		problems      int
	}{
		"without a host":               {page(stamp, `{"Name":"vault.runtime.num_goroutines","Value":88,"Labels":{}}`), map[string]float64{"go_goroutines": 88}, "vault", "", 0},
		"a host in a label":            {page(stamp, `{"Name":"nomad.runtime.num_goroutines","Value":459,"Labels":{"x":"y","host":"vm"}}`), map[string]float64{"go_goroutines": 459}, "nomad", "vm", 0},
		"a host with dots in the name": {page(stamp, `{"Name":"consul.web-1.dc1.runtime.alloc_bytes","Value":1.5e7,"Labels":null}`), map[string]float64{"go_memstats_alloc_bytes": 1.5e7}, "consul", "web-1.dc1", 0},
		"demand is added up":           {page(stamp, `{"Name":"nomad.client.allocations.running","Value":2}`, `{"Name":"nomad.client.allocations.running","Value":3}`), map[string]float64{"nomad_client_allocations_running": 5}, "", "", 0},
		"other gauges are left out":    {page(stamp, `{"Name":"nomad.runtime.total_gc_runs","Value":2}`, `{"Name":"my.num_goroutines","Value":3}`, `7`, `[{"Name":"a"}]`, `{"Name":"nomad.runtime.num_goroutines","Value":"9"}`), map[string]float64{}, "", "", 0},
		"two processes in one object":  {page(stamp, `{"Name":"a.runtime.num_goroutines","Value":2}`, `{"Name":"b.runtime.num_goroutines","Value":3}`), map[string]float64{}, "b", "", 1},
		"no finite number":             {page(stamp, `{"Name":"a.runtime.num_goroutines","Value":1e999}`), map[string]float64{}, "a", "", 1},
		"the last of several counts":   {page(stamp, `{"Name":"a.runtime.num_goroutines","Value":2}`) + page(stamp, `{"Name":"a.runtime.num_goroutines","Value":3}`), map[string]float64{"go_goroutines": 3}, "a", "", 0},
		"the stamp may come last":      {`{"Gauges":[{"Value":5,"Name":"a.runtime.num_goroutines"}],"Timestamp":"` + stamp + `"}`, map[string]float64{"go_goroutines": 5}, "a", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			figures, info, problems, err := figuresOf(PagesJSON(strings.NewReader(tt.in), "metrics.json"))
			if err != nil || len(problems) != tt.problems {
				t.Fatal(err, problems)
			}
			if diff := cmp.Diff(tt.figures, figures); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			want := Info{Time: time.Date(2026, 11, 21, 2, 55, 40, 0, time.UTC), Program: tt.program, Host: tt.host}
			if diff := cmp.Diff(want, info); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStampsAreTimesOfTheAgent(t *testing.T) {
	for in, want := range map[string]string{
		"2026-11-21 02:55:40 +0000 UTC":               "2026-11-21T02:55:40Z",
		"2026-11-21 03:55:40.25 +0100 CET":            "2026-11-21T02:55:40Z",
		"2026-11-21 02:55:40 +0000 UTC m=+12.0000001": "2026-11-21T02:55:40Z",
		"yesterday": "",
		"":          "",
	} {
		_, info, problems, err := figuresOf(PagesJSON(strings.NewReader(page(in)), "metrics.json"))
		got := ""
		if !info.Time.IsZero() {
			got = info.Time.Format(time.RFC3339)
		}
		if err != nil || got != want || (len(problems) == 0) != (want != "") {
			t.Errorf("%q: %s, problems %+v, err %v; want %q", in, got, problems, err, want)
		}
	}
}

func TestWhatIsNoHashiCorpPageIsSaidToBeNone(t *testing.T) {
	for name, tt := range map[string]struct{ in, what string }{
		"other JSON":         {`{"header":{}}`, "no page of HashiCorp metrics"},
		"a list":             {`[1,2]`, "no page of HashiCorp metrics"},
		"Prometheus text":    {"# HELP go_goroutines Number\ngo_goroutines 7\n", "no JSON"},
		"nothing":            {"", "cut off"},
		"a page of an error": {"404 page not found", "no page of HashiCorp metrics"},
	} {
		figures, _, problems, err := figuresOf(PagesJSON(strings.NewReader(tt.in), "metrics.json"))
		if err != nil || len(figures) != 0 || len(problems) != 1 || !strings.Contains(problems[0].What, tt.what) {
			t.Errorf("%s: %v, %+v, %v; want %q", name, figures, problems, err, tt.what)
		}
	}
}

// TestAPrefixOfAStreamGivesAPrefixOfItsIntervals cuts a stream anywhere.
func TestAPrefixOfAStreamGivesAPrefixOfItsIntervals(t *testing.T) {
	one := page(stamp, `{"Name":"a.runtime.num_goroutines","Value":2,"Labels":{"host":"h"}}`)
	whole := strings.Repeat(one, 3)
	rapid.Check(t, func(rt *rapid.T) {
		cut := rapid.IntRange(1, len(whole)).Draw(rt, "cut")
		got := 0
		problems, err := parseJSON(strings.NewReader(whole[:cut]), "x", func(i interval) error {
			if i.Figures["go_goroutines"] != 2 || i.Line != int64(got+1) || i.Offset != int64(got*len(one)) {
				rt.Fatalf("interval %d: %+v", got, i)
			}
			got++
			return nil
		})
		// Without its line feed an object is whole as well.
		want := (cut + 1) / len(one)
		clean := cut%len(one) == 0 || (cut+1)%len(one) == 0
		if err != nil || got != want || (len(problems) == 0) != clean {
			rt.Fatalf("cut at %d: %d intervals, problems %+v, err %v; want %d", cut, got, problems, err, want)
		}
	})
}

func TestFailuresOfAJSONReaderAndItsVisitorAreReturned(t *testing.T) {
	broken := errors.New("disk on fire")
	one := page(stamp, `{"Name":"a.runtime.num_goroutines","Value":2}`)
	figures, _, problems, err := figuresOf(PagesJSON(io.MultiReader(strings.NewReader(one+one[:20]), iotest.ErrReader(broken)), "x.json"))
	if !errors.Is(err, broken) || len(problems) != 0 || figures["go_goroutines"] != 2 || !strings.Contains(err.Error(), "x.json") {
		t.Errorf("%v, %v, %v", figures, problems, err)
	}
	if _, err := parseJSON(strings.NewReader(one+one), "x.json", func(interval) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestHostileJSONStaysBounded(t *testing.T) {
	for name, tt := range map[string]struct{ begin, chunk string }{
		"one string of megabytes":    {`{"Timestamp":"`, strings.Repeat("x", 500)},
		"megabytes of blanks":        {`{"Gauges":`, strings.Repeat(" \n", 250)},
		"brackets without an end":    {`{"Gauges":`, strings.Repeat("[", 500)},
		"megabytes of gauges":        {`{"Gauges":[`, strings.Repeat(`{"Name":"a.runtime.num_goroutines","Value":1},`, 11)},
		"megabytes of broken stamps": {``, strings.Repeat(`{"Timestamp":"never"}`, 20)},
	} {
		r := endless.New(tt.begin, tt.chunk)
		figures, _, problems, err := figuresOf(PagesJSON(r, "x.json"))
		if err != nil || len(figures) != 0 || len(problems) == 0 || len(problems) > line.MaxProblems+1 {
			t.Errorf("%s: %v, %d problems, %v", name, figures, len(problems), err)
		}
		if grown := r.Grown(); grown > 8 {
			t.Errorf("%s: held %d MiB more than before", name, grown)
		}
	}
}

func FuzzHashiCorp(f *testing.F) {
	one := page(stamp, `{"Name":"nomad.runtime.num_goroutines","Value":459,"Labels":{"host":"vm"}}`, `{"Name":"nomad.nomad.job_status.running","Value":1}`)
	f.Add([]byte(one))
	f.Add([]byte(one + one[:60]))
	f.Add([]byte(page("2026-11-21 03:55:40.25 +0100 CET m=+1", `{"Name":"consul.h.runtime.alloc_bytes","Value":1e999}`, `[]`, `null`)))
	f.Add([]byte(`{"Gauges":{"a":[1]}}[]`))
	f.Fuzz(func(t *testing.T, in []byte) {
		last := int64(0)
		problems, err := parseJSON(bytes.NewReader(in), "f", func(i interval) error {
			if i.Offset < last || i.Length < 2 || i.Offset+i.Length > int64(len(in)) || in[i.Offset] != '{' || in[i.Offset+i.Length-1] != '}' ||
				i.Line != int64(bytes.Count(in[:i.Offset], []byte("\n")))+1 || len(i.Figures) > 9 {
				t.Fatalf("%+v", i)
			}
			last = i.Offset + i.Length
			return nil
		})
		if err != nil || len(problems) > line.MaxProblems+1 {
			t.Fatal(err, problems)
		}
		for _, p := range problems {
			if p.Severity == "" || p.Hint == "" || p.Offset > int64(len(in)) {
				t.Fatalf("%+v", analysis.Problem(p))
			}
		}
	})
}
