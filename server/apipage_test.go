package server

import (
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"leakdiff/samples/corpus"
	"leakdiff/server/intake"
	"leakdiff/server/share"
)

func TestTheLinesOfTheAPIPageDoTheWholeJob(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("curl is missing and CI=true: make tools must install it")
		}
		corpus.LeaveOut(t, "curl is missing: the lines of the page were not run; make tools installs it")
	}
	s := newSite(t)
	page := s.get("/api")
	if page.status != 200 {
		t.Fatalf("%d %.300s", page.status, page.body)
	}
	for _, want := range []string{`href="/api/v1/openapi.json"`, "leakdiff push --server " + s.url + " --share bundle.tgz"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	for _, from := range []string{"/help", "/"} {
		if !strings.Contains(s.get(from).body, `href="/api"`) {
			t.Errorf("%s does not lead to the page", from)
		}
	}
	var lines []string
	for _, m := range regexp.MustCompile(`(?s)<pre class="cmd"[^>]*>(.*?)</pre>`).FindAllStringSubmatch(page.body, -1) {
		if line := html.UnescapeString(m[1]); strings.HasPrefix(line, "curl ") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3: %q", len(lines), lines)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bundle.tgz"), sample(t, "inotify-leak").Archive, 0o600); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, line := range lines {
		run := exec.CommandContext(t.Context(), "sh", "-c", line)
		run.Dir = dir
		out, err := run.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		said = append(said, string(out))
	}
	if up := decode[intake.Uploaded](t, said[0]); up.Status != "done" || len(up.Snapshots) == 0 || up.URL != s.url+up.Link {
		t.Errorf("the upload: %+v", up)
	}
	if !strings.HasPrefix(said[1], "# ") || !strings.Contains(said[1], "## Findings") {
		t.Errorf("the findings: %.500s", said[1])
	}
	frozen := decode[share.Result](t, said[2])
	if r := s.get(strings.TrimPrefix(frozen.URL, s.url)); frozen.URL == "" || r.status != 200 {
		t.Errorf("the frozen link %q gives %d", frozen.URL, r.status)
	}
}
