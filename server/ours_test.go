package server

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leakdiff/analysis/say/report"
	"leakdiff/server/intake"
	"leakdiff/store"
)

func TestAProgramThatIsOursIsOursInEveryCaseUntilItIsTakenBack(t *testing.T) {
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "knowledge")
	s := startSite(t, st, Config{Knowledge: os.DirFS(dir), KnowledgeDir: dir})
	put := func(program string, n int) intake.Uploaded {
		return s.put(program+".tar.gz", tgz(t, map[string]string{
			"t0/" + program + "/goroutine.txt": pileOf(n), "t1/" + program + "/goroutine.txt": pileOf(2 * n), "t2/" + program + "/goroutine.txt": pileOf(3 * n),
			"t0/captured_at": "2026-06-01T00:00:00Z\n", "t1/captured_at": "2026-06-01T01:00:00Z\n", "t2/captured_at": "2026-06-01T02:00:00Z\n",
		}))
	}
	project := func(up intake.Uploaded) string {
		return decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body).Series[0].Project
	}
	first, second, other := put("kubelet", 20), put("kubelet", 25), put("consul", 20)
	for _, up := range []intake.Uploaded{first, second, other} {
		if project(up) == "" {
			t.Fatalf("the catalogue knows the program of %+v", up)
		}
	}
	r := s.do("POST", "/api/v1/cases/"+first.Case+"/edits", bytes.NewReader([]byte(`{"kind": "ours", "target": "series:`+first.Snapshots[0].ID+`"}`)), "Authorization", "Bearer "+first.OwnerKey, "Content-Type", "application/json")
	if r.status != 201 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if a, b, c := project(first), project(second), project(other); a != "" || b != "" || c == "" {
		t.Errorf("ours here: %q, in another case: %q, another program: %q", a, b, c)
	}
	if page := s.get("/knowledge"); !strings.Contains(page.body, "they are their own: kubelet.") {
		t.Error("the page of knowledge does not list it")
	}
	if r := s.do("DELETE", r.header.Get("Location"), nil, "Authorization", "Bearer "+first.OwnerKey); r.status != 204 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if a, b := project(first), project(second); a == "" || b == "" {
		t.Errorf("taken back here: %q, in another case: %q", a, b)
	}
}

func TestAMetricThatIsALoadIsOneInEveryCaseUntilItIsTakenBack(t *testing.T) {
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "knowledge")
	s := startSite(t, st, Config{Knowledge: os.DirFS(dir), KnowledgeDir: dir})
	put := func(name string, from int) intake.Uploaded {
		files := map[string]string{}
		for i, at := range []string{"00", "01", "02", "03", "04"} {
			n := from + 20*i
			files["t"+at+"/app/goroutine.txt"] = pileOf(n)
			files["t"+at+"/app/metrics.txt"] = fmt.Sprintf("# TYPE app_tenants gauge\napp_tenants %d\n", n)
			files["t"+at+"/captured_at"] = "2026-06-01T" + at + ":00:00Z\n"
		}
		return s.put(name+".tar.gz", tgz(t, files))
	}
	state := func(up intake.Uploaded) string {
		return decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body).Diagnosis.State
	}
	first, second := put("first", 20), put("second", 30)
	if a, b := state(first), state(second); a != string(report.MayLeak) || b != string(report.MayLeak) {
		t.Fatalf("before: %q, %q", a, b)
	}
	edit := func(value string) reply {
		return s.do("POST", "/api/v1/cases/"+first.Case+"/edits", strings.NewReader(`{"kind": "load", "target": "series:`+first.Snapshots[0].ID+`", "value": "`+value+`"}`), "Authorization", "Bearer "+first.OwnerKey, "Content-Type", "application/json")
	}
	if r := edit("app_customers;"); r.status != 422 && r.status != 400 {
		t.Errorf("a metric that no capture has: %d %s", r.status, r.body)
	}
	r := edit("app_tenants;")
	if r.status != 201 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if a, b := state(first), state(second); a != string(report.NoLeak) || b != string(report.NoLeak) {
		t.Errorf("said: %q, in another case %q", a, b)
	}
	if page := s.get("/knowledge"); !strings.Contains(page.body, "that they are load: app: app_tenants.") && !strings.Contains(page.body, ": app_tenants.") {
		t.Error("the page of knowledge does not list it")
	}
	if r := s.do("DELETE", r.header.Get("Location"), nil, "Authorization", "Bearer "+first.OwnerKey); r.status != 204 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if a, b := state(first), state(second); a != string(report.MayLeak) || b != string(report.MayLeak) {
		t.Errorf("taken back: %q, in another case %q", a, b)
	}
}
