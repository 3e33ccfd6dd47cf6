package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/demand"
	"leakdiff/analysis/read/line"
	"leakdiff/samples/corpus"
)

func sampleFile(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func parse(t testing.TB, raw []byte) ([]sample, pageSummary, []analysis.Problem) {
	t.Helper()
	var samples []sample
	page, problems, err := parsePage(bytes.NewReader(raw), "metrics.txt", nil, func(s sample) error {
		samples = append(samples, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return samples, page, problems
}

// key names a sample; bounds of buckets are compared as numbers.
func key(name string, labels map[string]string) string {
	var parts []string
	for k, v := range labels {
		if f, err := strconv.ParseFloat(v, 64); err == nil && (k == "le" || k == "quantile") {
			v = strconv.FormatFloat(f, 'g', -1, 64)
		}
		parts = append(parts, k+"="+strconv.Quote(v))
	}
	slices.Sort(parts)
	return name + "{" + strings.Join(parts, ",") + "}"
}

// oracle reads a page with the parser that Prometheus itself uses and flattens it.
func oracle(t testing.TB, raw []byte) map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			with := func(k string, v float64) map[string]string {
				all := map[string]string{k: strconv.FormatFloat(v, 'g', -1, 64)}
				for name, value := range labels {
					all[name] = value
				}
				return all
			}
			switch {
			case m.GetHistogram() != nil:
				h := m.GetHistogram()
				out[key(name+"_count", labels)] = float64(h.GetSampleCount())
				out[key(name+"_sum", labels)] = h.GetSampleSum()
				for _, b := range h.GetBucket() {
					out[key(name+"_bucket", with("le", b.GetUpperBound()))] = float64(b.GetCumulativeCount())
				}
			case m.GetSummary() != nil:
				s := m.GetSummary()
				out[key(name+"_count", labels)] = float64(s.GetSampleCount())
				out[key(name+"_sum", labels)] = s.GetSampleSum()
				for _, q := range s.GetQuantile() {
					out[key(name, with("quantile", q.GetQuantile()))] = q.GetValue()
				}
			default:
				out[key(name, labels)] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
			}
		}
	}
	return out
}

func flat(samples []sample) map[string]float64 {
	out := map[string]float64{}
	for _, s := range samples {
		out[key(s.Name, s.Labels)] = s.Value
	}
	return out
}

func TestRealPagesReadAsPrometheusReadsThem(t *testing.T) {
	counted := map[string]int{"prometheus.txt": 299, "kubelet-process.txt": 20} // grep -c '^[^#]'
	for name, want := range counted {
		raw := sampleFile(t, name)
		samples, page, problems := parse(t, raw)
		if len(problems) > 0 || page.Samples != want || len(samples) != want {
			t.Errorf("%s: got %+v, %+v, want %d samples", name, page, problems, want)
		}
		if diff := cmp.Diff(oracle(t, raw), flat(samples), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestLinesOfTheFormatAreRead(t *testing.T) {
	nan := math.NaN()
	tests := map[string]struct {
		in   string
		want sample
		bad  bool
	}{
		"a bare name":              {in: "process_open_fds 54", want: sample{Name: "process_open_fds", Value: 54}},
		"tabs and blanks":          {in: "  a\t 1 \t", want: sample{Name: "a", Value: 1}},
		"labels and a time stamp":  {in: `a{b="c",d="e",} 1.5 1395066363000`, want: sample{Name: "a", Labels: map[string]string{"b": "c", "d": "e"}, Value: 1.5}},
		"blanks around labels":     {in: `a { b = "c" , d="e" } 1`, want: sample{Name: "a", Labels: map[string]string{"b": "c", "d": "e"}, Value: 1}},
		"no labels between braces": {in: "a{} 1", want: sample{Name: "a", Value: 1}},
		"escapes":                  {in: `a{b="C:\\DIR\\x\n\"q\""} 1`, want: sample{Name: "a", Labels: map[string]string{"b": "C:\\DIR\\x\n\"q\""}, Value: 1}},
		"braces in a value":        {in: `a{b="}{ # {"} 1`, want: sample{Name: "a", Labels: map[string]string{"b": "}{ # {"}, Value: 1}},
		"an exemplar":              {in: `a_bucket{le="0.1"} 8 # {trace_id="x"} 0.067 1520879607.789`, want: sample{Name: "a_bucket", Labels: map[string]string{"le": "0.1"}, Value: 8}},
		"a time stamp in seconds":  {in: "a 17 1520879607.789", want: sample{Name: "a", Value: 17}},
		"a quoted name":            {in: `{"my.metric",le="0.5"} 3`, want: sample{Name: "my.metric", Labels: map[string]string{"le": "0.5"}, Value: 3}},
		"infinity":                 {in: "a -Inf", want: sample{Name: "a", Value: math.Inf(-1)}},
		"no number":                {in: "a NaN", want: sample{Name: "a", Value: nan}},
		"a large number":           {in: "a 1.8446744073709552e+19", want: sample{Name: "a", Value: 18446744073709551615}},
		"no value":                 {in: "process_open_fds", bad: true},
		"a name alone":             {in: "process_open_fds ", bad: true},
		"a word for a value":       {in: "404 page not found", bad: true},
		"a hex value":              {in: "a 0x10", bad: true},
		"an open label":            {in: `a{b="c 1`, bad: true},
		"an open brace":            {in: "a{", bad: true},
		"a label twice":            {in: `a{b="c",b="d"} 1`, bad: true},
		"no name":                  {in: `{b="c"} 1`, bad: true},
		"three numbers":            {in: "a 1 2 3", bad: true},
		"a label without quotes":   {in: "a{b=c} 1", bad: true},
		"markup":                   {in: "<html><body>", bad: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			samples, page, problems := parse(t, []byte("# a comment\n"+tt.in+"\nlast 1\n"))
			if tt.bad {
				if len(samples) != 1 || page.Malformed != 1 || len(problems) != 1 || problems[0].Line != 2 || problems[0].Offset != 12 {
					t.Errorf("got %+v, %+v, %+v", samples, page, problems)
				}
				return
			}
			if len(samples) != 2 || len(problems) != 0 {
				t.Fatalf("got %+v, %+v", samples, problems)
			}
			tt.want.Line, tt.want.Offset = 2, 12
			if diff := cmp.Diff(tt.want, samples[0], cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFiguresOfTheProcessAreFound(t *testing.T) {
	tests := map[string]struct {
		figures map[string]float64
		info    Info
		version string
	}{
		"kubelet-process.txt": {
			map[string]float64{
				"process_start_time_seconds": 1.79522987797e+09, "process_open_fds": 24, "process_max_fds": 20000,
				"process_resident_memory_bytes": 84488192, "go_goroutines": 92, "go_threads": 12,
			},
			Info{GoVersion: "go1.26.8", Builds: []Build{{"kubernetes_build_info", "v1.34.4"}}}, "v1.34.4",
		},
		"containerd-head.txt": {map[string]float64{"go_goroutines": 33, "go_threads": 47, "grpc_server_handled_total": 0}, Info{GoVersion: "go1.19.8", Builds: []Build{{"containerd_build_info_total", "1.6.20~ds1"}}, Counters: 1}, "1.6.20~ds1"},
	}
	for name, tt := range tests {
		figures, info, problems, err := figuresOf(Pages(bytes.NewReader(sampleFile(t, name)), name))
		if err != nil || len(problems) > 0 {
			t.Fatal(name, err, problems)
		}
		if diff := cmp.Diff(tt.figures, figures); diff != "" {
			t.Errorf("%s: figures (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tt.info, info); diff != "" || info.Version() != tt.version {
			t.Errorf("%s: info (-want +got):\n%s", name, diff)
		}
	}
}

func TestAPageOfSeveralProcessesGivesNoFigure(t *testing.T) {
	const in = "process_open_fds{job=\"a\"} 5\nprocess_open_fds{job=\"b\"} 6\ngo_threads NaN\ngo_goroutines 7\n"
	figures, _, problems, err := figuresOf(Pages(strings.NewReader(in), "federate"))
	if err != nil || len(problems) != 2 {
		t.Fatal(err, problems)
	}
	if diff := cmp.Diff(map[string]float64{"go_goroutines": 7}, figures); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCountersOfDemandAreSummedOverTheirLabels(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want map[string]float64
	}{
		"labels are summed": {"http_requests_total{code=\"200\"} 5\nhttp_requests_total{code=\"500\"} 2\n", map[string]float64{"http_requests_total": 7}},
		"a histogram counts by its count": {"http_request_duration_seconds_bucket{le=\"1\"} 3\nhttp_request_duration_seconds_sum 9\nhttp_request_duration_seconds_count 4\n",
			map[string]float64{"http_request_duration_seconds_count": 4}},
		"scrapes, profiles and probes are those of an observer": {"http_requests_total{handler=\"/metrics\"} 5\nhttp_requests_total{path=\"/debug/pprof/heap\"} 2\nhttp_requests_total{path=\"/healthz\"} 1\nhttp_requests_total{path=\"/buy\"} 3\n" +
			"grpc_server_started_total{grpc_service=\"grpc.health.v1.Health\"} 9\n", map[string]float64{"http_requests_total": 3}},
		"what the process asks of others is left out": {"rest_client_requests_total 5\nhttp_client_http_requests_total 6\n", map[string]float64{}},
		"no count is left out":                        {"http_requests_total{a=\"1\"} NaN\nhttp_requests_total{a=\"2\"} +Inf\nhttp_requests_total{a=\"3\"} 4\n", map[string]float64{"http_requests_total": 4}},
	} {
		figures, _, problems, err := figuresOf(Pages(strings.NewReader(tc.in), "metrics.txt"))
		if err != nil || len(problems) > 0 {
			t.Error(name, err, problems)
		}
		if diff := cmp.Diff(tc.want, figures); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestGaugesOfTheProgramAreKeptIfTheyMayBeALoad(t *testing.T) {
	page := "# HELP app_tenants How many.\n# TYPE app_tenants gauge\napp_tenants{plan=\"a\"} 20\napp_tenants{plan=\"b\"} 3\n" +
		"# TYPE app_sessions_open gauge\napp_sessions_open 9\n# TYPE app_jobs counter\napp_jobs 7\napp_untyped 5\n# TYPE app_share gauge\napp_share 0.5\n"
	pages, problems, err := Pages(strings.NewReader(page), "metrics.txt")
	if err != nil || len(problems) > 0 || len(pages) != 1 {
		t.Fatal(pages, problems, err)
	}
	if got := pages[0].Figures; len(got) != 1 || got[demand.FigureOf("app_tenants")] != 23 {
		t.Errorf("%v, want 23 tenants alone", got)
	}
	var many strings.Builder
	for i := range maxGauges + 5 {
		fmt.Fprintf(&many, "# TYPE app_g%d gauge\napp_g%d 1\n", i, i)
	}
	if pages, _, _ = Pages(strings.NewReader(many.String()), "metrics.txt"); len(pages[0].Figures) != maxGauges {
		t.Errorf("%d gauges are kept, want %d", len(pages[0].Figures), maxGauges)
	}
}

func TestAHostilePageKeepsFewCounters(t *testing.T) {
	var in strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&in, "a%d_http_requests_total 1\n", i)
	}
	figures, _, _, err := figuresOf(Pages(strings.NewReader(in.String()), "metrics.txt"))
	if err != nil || len(figures) != 16 || figures["a15_http_requests_total"] != 1 {
		t.Errorf("%d figures, %v", len(figures), err)
	}
}

func TestWhatIsNoPageIsSaidToBeNone(t *testing.T) {
	_, page, problems := parse(t, sampleFile(t, "informer-404.txt"))
	if page.Samples != 0 || page.Malformed != 1 || len(problems) != 2 {
		t.Fatalf("got %+v, %+v", page, problems)
	}
	if last := problems[1]; last.Severity != analysis.Error || !strings.Contains(last.Why, "404 page not found") {
		t.Errorf("got %+v", problems)
	}
	if samples, page, problems := parse(t, nil); len(samples)+page.Samples+len(problems) != 0 {
		t.Errorf("an empty page: got %+v, %+v", page, problems)
	}
}

// TestAPrefixOfAPageGivesAPrefixOfItsSamples cuts a real page anywhere.
func TestAPrefixOfAPageGivesAPrefixOfItsSamples(t *testing.T) {
	raw := sampleFile(t, "prometheus.txt")
	whole, _, _ := parse(t, raw)
	rapid.Check(t, func(rt *rapid.T) {
		cut := rapid.IntRange(0, len(raw)).Draw(rt, "cut")
		part, page, problems := parse(t, raw[:cut])
		complete := raw[:bytes.LastIndexByte(raw[:cut], '\n')+1]
		want := 0
		for l := range bytes.Lines(complete) {
			if l[0] != '#' {
				want++
			}
		}
		tail := raw[len(complete):cut]
		if wantCut := len(tail) > 0 && tail[0] != '#'; page.Truncated != wantCut || len(part) != want || (len(problems) > 0) != wantCut {
			rt.Fatalf("got %d samples of %d, truncated %v, problems %+v", len(part), want, page.Truncated, problems)
		}
		if diff := cmp.Diff(whole[:want], part, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestALongLineAndErrorsCostThemselvesOnly(t *testing.T) {
	in := "a{b=\"" + strings.Repeat("x", 1<<20) + "\"} 1\n" + strings.Repeat("what?\n", 5000) + "process_open_fds 3\n"
	samples, page, problems := parse(t, []byte(in))
	if len(samples) != 1 || samples[0].Line != 5002 || page.Malformed != 5001 || len(problems) != line.MaxProblems+1 {
		t.Errorf("got %d samples, %+v, %d problems", len(samples), page, len(problems))
	}
	broken := errors.New("disk on fire")
	page, _, err := parsePage(io.MultiReader(strings.NewReader("a 1\n"), iotest.ErrReader(broken)), "x.txt", nil, func(sample) error { return nil })
	if !errors.Is(err, broken) || page.Samples != 1 || !page.Truncated || !strings.Contains(err.Error(), "x.txt") {
		t.Errorf("got %+v, %v", page, err)
	}
	if _, _, err := parsePage(strings.NewReader("a 1\nb 2\n"), "x.txt", nil, func(sample) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestEveryPageOfTheCorpusReadsAsPrometheusReadsIt(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus.Path(t), "series", "*", "t*", "*", "metrics.txt"))
	if err != nil {
		t.Fatal(err)
	}
	full := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) < 100 { // empty, or "404 page not found"
			continue
		}
		full++
		samples, page, problems := parse(t, raw)
		if len(problems) > 0 || page.Bytes != int64(len(raw)) {
			t.Errorf("%s: got %+v, %+v", file, page, problems)
		}
		if diff := cmp.Diff(oracle(t, raw), flat(samples), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
	if len(files) != 33 || full != 12 { // counted with find and wc
		t.Errorf("got %d pages, %d of them full, want 33 and 12", len(files), full)
	}
}

func FuzzMetrics(f *testing.F) {
	for _, name := range []string{"prometheus.txt", "kubelet-process.txt", "containerd-head.txt", "informer-404.txt"} {
		raw := sampleFile(f, name)
		f.Add(raw[:min(len(raw), 4<<10)])
	}
	f.Add([]byte(`a_bucket{le="0.1"} 8 # {trace_id="x"} 0.067 1520879607.789` + "\n" + `{"my.metric",le="0.5"} 3` + "\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		count := 0
		page, problems, err := parsePage(bytes.NewReader(in), "f", nil, func(s sample) error {
			count++
			if s.Name == "" || s.Line < 1 || s.Offset < 0 || s.Offset >= int64(len(in)) {
				t.Fatalf("sample %+v", s)
			}
			return nil
		})
		if err != nil || page.Samples != count || page.Bytes != int64(len(in)) || len(problems) > line.MaxProblems+1 {
			t.Fatalf("%v, %+v, %d samples, %d problems", err, page, count, len(problems))
		}
		pages, _, err := Pages(bytes.NewReader(in), "f")
		if err != nil || len(pages) > mostPages {
			t.Fatalf("%v, %d pages", err, len(pages))
		}
		for _, p := range pages {
			if len(p.Figures) > 12+maxBuckets || p.Begins < 0 || p.Begins > int64(len(in)) {
				t.Fatalf("%+v", p)
			}
		}
	})
}

func TestVersionsStandUnderTheLabelsOfAllReleases(t *testing.T) {
	for page, want := range map[string]string{
		`kubernetes_build_info{buildDate="2019-09-18T14:27:17Z",compiler="gc",gitVersion="v1.14.7",goVersion="go1.12.9",major="1",minor="14"} 1`: "v1.14.7",
		`kubernetes_build_info{git_version="v1.34.4",go_version="go1.26.8"} 1`:                                                                   "v1.34.4",
		`etcd_server_version{server_version="3.5.16"} 1`:                                                                                         "3.5.16",
		`containerd_build_info_total{version="1.7.29"} 1`:                                                                                        "1.7.29",
		`etcd_cluster_version{cluster_version="3.5"} 1`:                                                                                          "",
	} {
		_, info, problems, err := figuresOf(Pages(strings.NewReader("go_goroutines 30\n"+page+"\n"), "metrics.txt"))
		if err != nil || len(problems) > 0 || info.Version() != want {
			t.Errorf("%s: %q, %v, %v; want %q", page, info.Version(), err, problems, want)
		}
	}
}

// figuresOf are those of a file with one page.
func figuresOf(pages []Page, problems []analysis.Problem, err error) (map[string]float64, Info, []analysis.Problem, error) {
	if len(pages) != 1 {
		panic(fmt.Sprintf("%d pages", len(pages)))
	}
	return pages[0].Figures, pages[0].Info, problems, err
}

func TestPagesOfOneFileAreApart(t *testing.T) {
	page := func(n int) string {
		return fmt.Sprintf("# HELP go_goroutines x\n# TYPE go_goroutines gauge\ngo_goroutines %d\n# HELP process_open_fds x\n# TYPE process_open_fds gauge\nprocess_open_fds %d\n", n, n/2)
	}
	for _, test := range []struct {
		name, text string
		want       []float64
	}{
		{"one", page(10), []float64{10}},
		{"three with dates between", "Wed Mar  4 00:00:01 UTC 2026\n" + page(10) + "Wed Mar  4 01:00:01 UTC 2026\n" + page(20) + page(30), []float64{10, 20, 30}},
		{"short pages below dates", "2026-03-04T00:00:00Z\n# TYPE go_goroutines gauge\ngo_goroutines 10\n2026-03-04T01:00:00Z\n# TYPE go_goroutines gauge\ngo_goroutines 20\n", []float64{10, 20}},
		{"pages without comments below the time of their scrape", "# scraped 2026-03-04T00:00:00Z\ngo_goroutines 10\n# scraped 2026-03-04T01:00:00Z\ngo_goroutines 20\n", []float64{10, 20}},
		{"samples above the first comment", "go_goroutines 10\n# TYPE b gauge\nb 1\n# TYPE c gauge\nc 1\n", []float64{10}},
		{"two metrics, again and again", "# TYPE go_goroutines gauge\ngo_goroutines 10\n# TYPE b gauge\nb 1\n# TYPE go_goroutines gauge\ngo_goroutines 20\n# TYPE b gauge\nb 1\n", []float64{10, 20}},
		{"the comment of one metric above each of its samples", "# TYPE a counter\na{x=\"1\"} 1\n# TYPE a counter\na{x=\"2\"} 1\n# TYPE go_goroutines gauge\ngo_goroutines 5\n", []float64{5}},
	} {
		pages, problems, err := Pages(strings.NewReader(test.text), "metrics.txt")
		var got []float64
		for i, p := range pages {
			got = append(got, p.Figures["go_goroutines"])
			if i > 0 && !strings.HasPrefix(test.text[p.Begins:], "#") {
				t.Errorf("%s: page %d begins at %d", test.name, i, p.Begins)
			}
		}
		if err != nil || len(problems) > 0 || !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v; %v, %v", test.name, got, test.want, problems, err)
		}
	}
	many, problems, _ := Pages(strings.NewReader(strings.Repeat(page(7), 1001)), "metrics.txt")
	if len(many) != 251 || len(problems) != 1 || !strings.Contains(problems[0].What, "of 1001 pages") {
		t.Errorf("%d pages, %v", len(many), problems)
	}
}
