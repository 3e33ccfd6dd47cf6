package ingest

import (
	"io"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/say/wording"
)

// manifestLimit is more than any such file has.
const manifestLimit = 1 << 20

var (
	manifestHost = expression.Lazy(`(?mi)(?:"hostname"\s*:\s*"([^"]+)"|^HOSTNAME=(\S+)$|^\s*host ?name\s*:\s*"?([^\s"]+)"?\s*$)`)
	manifestPID  = expression.Lazy(`(?mi)^\s*pid\s*:\s*(\d+)\s*$`)
)

// dateLayouts are what date(1) prints in common locales.
var dateLayouts = []string{
	time.UnixDate, "Mon Jan _2 15:04:05 PM MST 2006", "Mon Jan _2 03:04:05 PM MST 2006", "Mon _2 Jan 2006 03:04:05 PM MST", "Mon _2 Jan 15:04:05 MST 2006",
	"Mon _2 Jan 2006 15:04:05 MST", time.RFC3339, "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05",
}

// readManifest reads the host and the time of a collector: the files hostname and date
// of sos, agent-host.json of HashiCorp, the environment of Alloy, and the diagnostics
// of Mattermost. Nothing else of them is kept.
func readManifest(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	text, err := io.ReadAll(io.LimitReader(body, manifestLimit))
	if err != nil {
		return err
	}
	line := strings.TrimSpace(string(text))
	if at, ok := dateOf(line); ok && at.Year() >= 2000 && at.Before(r.cfg.Now().Add(24*time.Hour)) {
		p.ran = at.UTC()
		a.Outcome = wording.FileTime(p.ran)
		return nil
	}
	if m := manifestHost.FindStringSubmatch(line); m != nil {
		p.host = strings.Join(m[1:], "")
	} else if !strings.ContainsAny(line, "\n\t {") {
		p.host = line
	}
	if m := manifestPID.FindStringSubmatch(line); m != nil {
		p.placing.take("pid", m[1])
		p.pid = p.placing.pid
	}
	if p.host != "" {
		a.Outcome = "host " + p.host
	}
	return nil
}

func dateOf(line string) (time.Time, bool) {
	for _, layout := range dateLayouts {
		if at, err := time.Parse(layout, line); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
