package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"leakdiff/analysis"
	"leakdiff/server/intake"
	"leakdiff/store"
)

// lame has little room and a queue that stands, as a test says.
type lame struct {
	Blobs
	free int64
}

func (l *lame) Free() (int64, error) { return l.free, nil }

func TestReadinessSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	st, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	room := &lame{st.Blobs(), 1 << 40}
	s := startSite(t, st, Config{Blobs: room, Now: func() time.Time { return now }})
	ready := func(status int, state, check, why string) {
		t.Helper()
		r := s.get("/readyz")
		got := decode[Readiness](t, r.body)
		if r.status != status || got.Status != state || len(got.Checks) != 4 {
			t.Errorf("%d: %s", r.status, r.body)
		}
		for _, c := range got.Checks {
			if c.OK != (c.Name != check) || c.OK != (c.Why == "") || !c.OK && !strings.Contains(c.Why, why) {
				t.Errorf("%+v, want %s to say %q", c, check, why)
			}
		}
		if strings.Contains(r.body, dir) {
			t.Error("it names a directory of the machine")
		}
	}
	up := s.put("dump.txt", []byte(tinyDump))
	ready(http.StatusOK, "ready", "", "")
	room.free = intake.Spare - 1
	ready(http.StatusServiceUnavailable, "not ready", "disk", "uploads are refused")
	room.free = 1 << 40
	file := storedFile(t, dir)
	if err := os.Truncate(file, 3); err != nil {
		t.Fatal(err)
	}
	s.readAgain(up.ID)
	ready(http.StatusOK, "degraded", "uploads", "1 upload is damaged")
	s.put("again.txt", []byte(tinyDump))
	ready(http.StatusOK, "ready", "", "")

	s.stop() // nobody reads any more
	s.s.Wait()
	if r := s.do("PUT", "/api/v1/bundles/waits.txt", strings.NewReader(dumpOf(3))); r.status != http.StatusCreated {
		t.Fatal(r.status)
	}
	ready(http.StatusOK, "ready", "", "")
	now = now.Add(mostQueued + time.Minute)
	ready(http.StatusServiceUnavailable, "not ready", "queue", "to be read")
}

// figuresOf are the samples of /metrics by name and labels.
func (s *site) figuresOf(t *testing.T) (names map[string]bool, value func(name, label string) float64) {
	t.Helper()
	r := s.get("/metrics")
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(r.body))
	if r.status != http.StatusOK || err != nil {
		t.Fatalf("%d, %v", r.status, err)
	}
	names = map[string]bool{}
	for name, f := range families {
		names[name] = true
		if f.GetType().String() == "HISTOGRAM" {
			names[name+"_bucket"], names[name+"_sum"], names[name+"_count"] = true, true, true
		}
	}
	return names, func(name, label string) float64 {
		for _, m := range families[name].GetMetric() {
			is := label == "" && len(m.GetLabel()) == 0
			for _, l := range m.GetLabel() {
				is = is || l.GetValue() == label
			}
			switch {
			case is && m.GetHistogram() != nil:
				return float64(m.GetHistogram().GetSampleCount())
			case is:
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
		t.Errorf("no %s of %q", name, label)
		return -1
	}
}

// exercised is a site on which everything happened that is counted.
func exercised(t *testing.T) *site {
	st := openStore(t)
	ends := &endStorage{Storage: st}
	s := startSite(t, st, Config{Store: ends, UploadLimit: 5000})
	s.put("dump.txt", []byte(tinyDump))
	ends.finish = func(string) error { return &analysis.Fault{Code: "unreadable", What: "no"} }
	s.put("bad.txt", []byte(tinyDump))
	ends.finish = nil
	for body, status := range map[string]int{"": http.StatusBadRequest, strings.Repeat("x", 5001): http.StatusRequestEntityTooLarge} {
		if r := s.do("PUT", "/api/v1/bundles/x.txt", strings.NewReader(body)); r.status != status {
			t.Errorf("%d: %s", r.status, r.body)
		}
	}
	return s
}

func TestMetricsCountWhatHappened(t *testing.T) {
	_, value := exercised(t).figuresOf(t)
	for _, want := range []struct {
		name, label string
		value       float64
	}{
		{"leakdiff_uploads_total", "", 2}, {"leakdiff_upload_bytes_total", "", float64(2 * len(tinyDump))},
		{"leakdiff_uploads_refused_total", "empty", 1}, {"leakdiff_uploads_refused_total", "too_large", 1},
		{"leakdiff_ingest_failures_total", "unreadable", 1}, {"leakdiff_ingest_seconds", "", 1},
		{"leakdiff_jobs", "queued", 0}, {"leakdiff_queue_age_seconds", "", 0}, {"leakdiff_damaged_uploads", "", 0},
	} {
		if got := value(want.name, want.label); got != want.value {
			t.Errorf("%s %s is %v, want %v", want.name, want.label, got, want.value)
		}
	}
	if value("leakdiff_disk_free_bytes", "") <= 0 {
		t.Error("no free space")
	}
}

func TestMetricsAreNamedAsPrometheusAsks(t *testing.T) {
	s, _ := leaking(t)
	r := s.get("/metrics")
	problems, err := promlint.New(strings.NewReader(r.body)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("promtool check metrics would say %v, %v", problems, err)
	}
}

// leaking is a site of November 21, 2026, with a case of the day before in which a program leaks on
// node-1.
func leaking(t *testing.T) (*site, intake.Uploaded) {
	s := startSite(t, openStore(t), Config{Now: func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }})
	return s, s.grows("node-1", 0, leaks...)
}

// waitForSummaries waits until every case is summed up, which follows its report.
func (s *site) waitForSummaries() {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		state, err := s.s.cfg.Store.State(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		if state.OutdatedSince.IsZero() {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("a case waits for its summary since %v", state.OutdatedSince)
		}
	}
}

func TestMetricsLeaveOutSamplesAndLeaksThatRecovered(t *testing.T) {
	for name, c := range map[string]struct {
		sample   string
		uploaded bool
		leaks    string
		marked   bool
	}{
		"a sample":               {"inotify-leak", false, "0", false},
		"the same as an upload":  {"inotify-leak", true, "1", true},
		"a leak that recovered":  {"kubelet-probe-leak", true, "0", true},
		"a sample that recovers": {"kubelet-probe-leak", false, "0", false},
	} {
		t.Run(name, func(t *testing.T) {
			found := sample(t, c.sample)
			cfg := Config{Now: func() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) }}
			if !c.uploaded {
				cfg.Samples = []Sample{{Name: found.Name, Title: "x", Data: found.Archive}}
			}
			s := startSite(t, openStore(t), cfg)
			if err := s.s.LoadSamples(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c.uploaded {
				s.put("x.tar.gz", found.Archive)
			}
			cases, _, err := s.s.cfg.Store.Cases(t.Context(), store.CaseQuery{Everything: true, Limit: 2})
			if err != nil || len(cases) != 1 {
				t.Fatalf("%d cases, %v", len(cases), err)
			}
			s.waitForReport(cases[0].ID)
			s.waitForSummaries()
			body := s.get("/metrics").body
			if got := regexp.MustCompile(`(?m)^leakdiff_leaking_processes (.*)$`).FindStringSubmatch(body)[1]; got != c.leaks || strings.Contains(body, "leakdiff_leaking_families{") != (c.leaks != "0") {
				t.Errorf("%s processes leak, want %s", got, c.leaks)
			}
			if marks := s.get("/api/v1/annotations?from=0").body; (strings.TrimSpace(marks) != "[]") != c.marked {
				t.Errorf("the annotations are %s", marks)
			}
		})
	}
}

func TestMetricsNameWhatLeaks(t *testing.T) {
	s, up := leaking(t)
	s.grows("node-2", 0, 3, 3, 3, 3, 3, 3)
	s.waitForSummaries()
	labels := `{case="` + up.Case + `",host="node-1",process=""}`
	began := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	body := s.get("/metrics").body
	for _, want := range []string{
		"leakdiff_leaking_processes 1\n", "leakdiff_leaking_families" + labels + " 1\n",
		fmt.Sprintf("leakdiff_leaking_since_timestamp_seconds%s %v\n", labels, float64(began.Unix())),
		fmt.Sprintf("leakdiff_leaking_captured_timestamp_seconds%s %v\n", labels, float64(began.Add(5*time.Hour).Unix())),
	} {
		if !strings.Contains(body, want) {
			t.Errorf("/metrics lacks %q", want)
		}
	}
	if strings.Contains(body, "node-2") {
		t.Error("/metrics names a host on which nothing leaks")
	}

	type annotation struct {
		Time, TimeEnd int64
		Title, Text   string
		Tags          []string
	}
	marks := func(query string) []annotation {
		t.Helper()
		r := s.get("/api/v1/annotations" + query)
		if r.status != http.StatusOK {
			t.Fatalf("%s gave %d: %s", query, r.status, r.body)
		}
		return decode[[]annotation](t, r.body)
	}
	got := marks(fmt.Sprintf("?from=%d&to=%d", began.UnixMilli(), began.Add(time.Hour).UnixMilli()))
	if len(got) != 1 || got[0].Time != began.UnixMilli() || got[0].TimeEnd != began.Add(5*time.Hour).UnixMilli() ||
		got[0].Text != "1 family leaks on node-1. "+s.url+"/cases/"+up.Case || !slices.Equal(got[0].Tags, []string{"leaking", "node-1"}) || got[0].Title == "" {
		t.Errorf("the annotations are %+v", got)
	}
	for _, query := range []string{fmt.Sprintf("?from=0&to=%d", began.UnixMilli()-1), fmt.Sprintf("?from=%d", began.Add(6*time.Hour).UnixMilli())} {
		if got := marks(query); len(got) != 0 {
			t.Errorf("%s has %+v", query, got)
		}
	}
}

// metricName matches what alerts and dashboards name, apart from the words of the query
// language.
var metricName = regexp.MustCompile(`\b(?:leakdiff|process|go)_[a-z_]+`)

func TestAlertsAndDashboardNameMetricsThatExist(t *testing.T) {
	names, _ := exercised(t).figuresOf(t)
	s, _ := leaking(t)
	more, _ := s.figuresOf(t)
	maps.Copy(names, more)
	folder := filepath.Join("..", "docs", "monitoring")
	alerts, err := os.ReadFile(filepath.Join(folder, "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	shown := ""
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			shown += target.Expr + "\n"
		}
	}
	expr := ""
	for line := range strings.Lines(string(alerts)) {
		if _, query, found := strings.Cut(line, "expr: "); found {
			expr += query
		}
	}
	for what, text := range map[string]string{"alerts.yml": expr, "dashboard.json": shown} {
		found := metricName.FindAllString(text, -1)
		if len(found) < 8 {
			t.Errorf("%s names %d metrics", what, len(found))
		}
		for _, name := range found {
			if !names[name] {
				t.Errorf("%s names %s, which /metrics does not have", what, name)
			}
		}
	}
	for name := range names {
		if strings.HasPrefix(name, "leakdiff_") && !strings.HasSuffix(name, "_sum") && !strings.HasSuffix(name, "_count") && name != "leakdiff_ingest_seconds" &&
			!slices.Contains(metricName.FindAllString(shown, -1), name) {
			t.Errorf("no panel shows %s", name)
		}
	}
}
