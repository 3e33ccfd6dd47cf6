package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"leakdiff/samples/corpus"
)

// TestAlertsOfAlertmanagerBecomeEventsOfACase has the real program send an alert, repeat it and
// resolve it. Building it takes minutes, so that it is given by LEAKDIFF_ALERTMANAGER.
func TestAlertsOfAlertmanagerBecomeEventsOfACase(t *testing.T) {
	program := os.Getenv("LEAKDIFF_ALERTMANAGER")
	if program == "" {
		corpus.LeaveOut(t, "LEAKDIFF_ALERTMANAGER names no program of Alertmanager; make long builds one")
	}
	s := serve(t, t.TempDir(), "--no-samples")
	up := s.put("dump.txt", strings.NewReader("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:10 +0x1d\n"))
	dir := t.TempDir()
	config := filepath.Join(dir, "alertmanager.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `
route: {receiver: leakdiff, group_wait: 0s, group_interval: 100ms, repeat_interval: 100ms}
receivers:
- name: leakdiff
  webhook_configs:
  - {url: %q, send_resolved: true}
`, s.url+"/api/v1/alertmanager"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := newOutput()
	cmd := exec.Command(program, "--config.file", config, "--storage.path", dir, "--web.listen-address", "127.0.0.1:0", "--cluster.listen-address=")
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	listens := regexp.MustCompile(`msg="Listening on" address=(\S+)`)
	waitFor(t, "Alertmanager to listen", func() bool { return listens.MatchString(log.String()) })
	address := "http://" + listens.FindStringSubmatch(log.String())[1]

	begin := time.Now().UTC().Truncate(time.Second)
	alert := func(more string) {
		t.Helper()
		body := fmt.Sprintf(`[{"labels": {"alertname": "GoroutinesGrow", "leakdiff_case": %q}, "annotations": {"summary": "over 1000"}, "startsAt": %q%s}]`, up.Case, begin.Format(time.RFC3339), more)
		res, err := http.Post(address+"/api/v2/alerts", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
			t.Fatalf("Alertmanager answers %s: %s", res.Status, text)
		}
	}
	sent := regexp.MustCompile(`alertmanager_notifications_total\{integration="webhook"\} ([3-9]|\d\d)`)
	alert("")
	waitFor(t, "the alert to be repeated", func() bool {
		res, err := http.Get(address + "/metrics")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return sent.Match(text)
	})
	alert(fmt.Sprintf(`, "endsAt": %q`, time.Now().UTC().Format(time.RFC3339Nano)))
	edits := "/api/v1/cases/" + up.Case + "/edits"
	waitFor(t, "the end of the alert", func() bool { return strings.Contains(s.get(edits), `"kind": "resolved"`) })
	got := decode[struct {
		Events []struct{ Kind, Text string }
	}](t, s.get(edits)).Events
	if len(got) != 2 || got[0].Kind != "alert" || got[0].Text != "GoroutinesGrow: over 1000" || got[1].Text != "GoroutinesGrow" {
		t.Errorf("the events are %+v", got)
	}
}
